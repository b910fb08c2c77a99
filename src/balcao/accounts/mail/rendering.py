"""Messages as MIME: a text part, and an HTML part that needs no images and fits a phone."""

from collections.abc import Iterator
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from html import escape

from balcao.core.mail import MailLine, MailText, domain_of

_NAME = "Balcão"
_PAGE = """\
<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{subject}</title>
</head>
<body style="margin:0;padding:24px 16px;background:#f6f3ec;color:#22231f;\
font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:520px;margin:0 auto;padding:24px;background:#fffdf8;\
border:1px solid #ddd6c6;border-radius:6px">
<p style="margin:0 0 16px;font:bold 20px/1.2 Georgia,serif;color:#1d5c43">Balcão</p>
{body}
</div>
</body>
</html>
"""
_PARAGRAPH = '<p style="margin:0 0 16px;overflow-wrap:anywhere">{text}</p>'
_BUTTON = (
    '<p style="margin:24px 0"><a href="{address}" style="display:inline-block;padding:12px 20px;'
    "background:#1d5c43;color:#ffffff;border-radius:4px;text-decoration:none;"
    'font-weight:bold">{label}</a></p>'
)
_TITLE = '<h2 style="margin:24px 0 8px;font-size:16px;line-height:1.3">{text}</h2>'
_LIST = '<ul style="margin:0 0 16px;padding:0 0 0 20px">{items}</ul>'
_ITEM = '<li style="margin:0 0 8px;overflow-wrap:anywhere">{text}</li>'
_LINK = '<a href="{address}" style="color:#1d5c43">{text}</a>'
_UNSUBSCRIBE = "Parar de receber estes avisos"
_SMALL = '<p style="margin:0 0 12px;font-size:14px;color:#5b5a52;overflow-wrap:anywhere">{text}</p>'


def mime_message(
    mail_id: str, sender: str, to: str, text: MailText, queued_ms: int
) -> EmailMessage:
    """Return the message. It is the same at every attempt, so that a repetition is recognised."""
    message = EmailMessage(policy=SMTP)
    domain = domain_of(sender)
    message["From"] = Address(_NAME, addr_spec=sender)
    message["To"] = Address(addr_spec=to)
    message["Subject"] = text.subject
    message["Date"] = formatdate(queued_ms / 1000)
    message["Message-ID"] = f"<{mail_id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    if text.unsubscribe:
        message["List-Unsubscribe"] = f"<{text.unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_plain(text))
    message.add_alternative(_html(text), subtype="html")
    return message


def _plain(text: MailText) -> str:
    parts = [*text.paragraphs]
    for section in text.sections:
        parts.append(section.title.upper())
        parts += ["\n".join(_plain_line(line)) for line in section.lines]
    if text.button is not None:
        parts.append(f"{text.button.label}:\n{text.button.address}")
    if text.note:
        parts.append(text.note)
    if text.unsubscribe:
        parts.append(f"{_UNSUBSCRIBE}:\n{text.unsubscribe}")
    return "\n\n".join(parts) + "\n"


def _plain_line(line: MailLine) -> Iterator[str]:
    yield f"- {line.text}"
    for detail in line.details:
        yield f"  {detail}"
    if line.address:
        yield f"  {line.address}"


def _html(text: MailText) -> str:
    parts = [_PARAGRAPH.format(text=escape(paragraph)) for paragraph in text.paragraphs]
    for section in text.sections:
        parts.append(_TITLE.format(text=escape(section.title)))
        parts.append(_LIST.format(items="\n".join(map(_html_line, section.lines))))
    if text.button is not None:
        address = escape(text.button.address)
        parts.append(_BUTTON.format(address=address, label=escape(text.button.label)))
        parts.append(_SMALL.format(text=f"Se o botão não abrir, copie este endereço:<br>{address}"))
    if text.note:
        parts.append(_SMALL.format(text=escape(text.note)))
    if text.unsubscribe:
        link = _LINK.format(address=escape(text.unsubscribe), text=_UNSUBSCRIBE)
        parts.append(_SMALL.format(text=link))
    return _PAGE.format(subject=escape(text.subject), body="\n".join(parts))


def _html_line(line: MailLine) -> str:
    text = escape(line.text)
    if line.address:
        text = _LINK.format(address=escape(line.address), text=text)
    details = "".join(f"<br>{escape(detail)}" for detail in line.details)
    return _ITEM.format(text=text + details)
