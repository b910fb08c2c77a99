"""The check of the mail server: connection, TLS and authentication. Nothing is sent."""

import asyncio
import ssl
from collections.abc import Iterator

from balcao.core.findings import Finding
from balcao.core.mail import MailServer
from balcao.home import Home
from balcao.settings import Settings

MAIL = "e-mail"
_WRONG_PASSWORD = (534, 535)


def mail(settings: Settings, _: Home) -> Iterator[Finding]:
    """Report whether messages could be sent."""
    server = settings.mail_server
    if server is None:
        yield Finding("ok", "desativado. Para enviar convites e avisos, defina BALCAO_SMTP_HOST")
        return
    problem = asyncio.run(_problem(server))
    if problem is not None:
        yield Finding("fail", problem)
    elif not settings.public_url:
        yield Finding(
            "warn",
            f"{server.host} aceita, mas os links das mensagens levariam a {settings.own_address}:"
            " defina BALCAO_PUBLIC_URL",
        )
    elif server.tls == "none" and settings.smtp_plain_text:
        yield Finding("warn", f"{server.host} aceita, mas sem criptografia: use tls ou starttls")
    else:
        yield Finding("ok", f"{server.host}:{server.port} aceita as mensagens de {server.sender}")


async def _problem(server: MailServer) -> str | None:
    from balcao.accounts.mail.sending import connected

    try:
        async with connected(server):
            return None
    except Exception as error:
        text = explain_mail(error, server)
        if text is None:
            raise
        return text


def explain_mail(error: Exception, server: MailServer) -> str | None:
    """Return a failure in words, with its remedy and without addresses; None: it is a bug."""
    import aiosmtplib

    where = f"{server.host}:{server.port}"
    cause = error.__cause__ or error.__context__ or error
    if isinstance(error, ssl.SSLError) or isinstance(cause, ssl.SSLError):
        return (
            f"o certificado de {where} não é válido para este nome, ou a porta usa outra"
            " criptografia. Confira BALCAO_SMTP_HOST, BALCAO_SMTP_PORT e BALCAO_SMTP_TLS"
        )
    match error:
        case aiosmtplib.SMTPAuthenticationError():
            wrong = error.code in _WRONG_PASSWORD
            text = "recusou usuário e senha" if wrong else "não aceitou a autenticação agora"
            return f"{where} {text} ({error.code}). Confira BALCAO_SMTP_USER e BALCAO_SMTP_PASSWORD"
        case aiosmtplib.SMTPRecipientsRefused():
            return f"{where} recusou o destinatário ({error.recipients[0].code})"
        case aiosmtplib.SMTPSenderRefused():
            return f"{where} recusou o remetente ({error.code}). Confira BALCAO_SMTP_FROM"
        case aiosmtplib.SMTPResponseException():
            return f"{where} recusou ({error.code})"
        case aiosmtplib.SMTPTimeoutError():
            return f"{where} não respondeu a tempo. Confira BALCAO_SMTP_HOST e BALCAO_SMTP_PORT"
        case aiosmtplib.SMTPConnectError() | aiosmtplib.SMTPServerDisconnected() | OSError():
            return f"não há conexão com {where}. Confira BALCAO_SMTP_HOST e BALCAO_SMTP_PORT"
        case aiosmtplib.SMTPException():
            return (
                f"{where} não oferece a criptografia ou a autenticação configurada"
                f" ({type(error).__name__})"
            )
        case _:
            return None
