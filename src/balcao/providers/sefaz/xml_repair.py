"""Repair of harmless faults in the treasuries' XML.

No value is changed. Repaired are byte order marks and white space around the document, a
declaration of a wrong encoding, HTML entities, bare ampersands, undeclared prefixes and control
characters. Document types, unknown entities and truncated documents are not repaired.
"""

import re
from html.entities import name2codepoint

PREFIXES_MAX = 10

# Characters beyond ASCII of Portuguese texts in Latin-1 or Windows-1252. Others mean damage.
_PORTUGUESE = frozenset("ÀÁÂÃÄÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜàáâãäçèéêëìíîïñòóôõöùúûüªº°§´¨·–—‘’“”•…\xa0")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")

_AROUND = "\ufeff\x00 \t\r\n"
_MARK_READ_AS_LATIN_1 = "ï»¿"
_DECLARATION = re.compile(r"\A<\?xml\b[^>]*\?>", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NAMED = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,8});")
_BARE_AMPERSAND = re.compile(r"&(?!#[0-9]{1,7};|#x[0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{0,30};)")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ROOT = re.compile(r"<[A-Za-z_][^\s/>]*")
_PREFIX = re.compile(r"</?([A-Za-z_][\w.-]{0,40}):|\s([A-Za-z_][\w.-]{0,40}):[\w.-]+\s*=\s*[\"']")


def repaired(body: bytes, charset: str | None) -> str | None:
    """Return the repaired document as text without a declaration; None if it cannot be decoded.

    `charset`: the encoding in the `Content-Type`.
    """
    text = _text(body, charset)
    return None if text is None else repaired_text(text)


def repaired_text(text: str) -> str:
    """Return the repaired document, without a declaration."""
    text = _CONTROLS.sub("", text.strip(_AROUND).removeprefix(_MARK_READ_AS_LATIN_1).strip(_AROUND))
    while (declaration := _DECLARATION.match(text)) is not None:
        text = text[declaration.end() :].lstrip(_AROUND)
    text = _NAMED.sub(_character, text)
    return _with_prefixes_declared(_BARE_AMPERSAND.sub("&amp;", text))


def _text(body: bytes, charset: str | None) -> str | None:
    for encoding in ("utf-8", charset):
        if encoding is not None:
            try:
                return body.decode(encoding)
            except (LookupError, ValueError):
                continue
    try:
        text = body.decode("windows-1252")
    except UnicodeDecodeError:
        return None
    return text if _PORTUGUESE.issuperset(_BEYOND_ASCII.findall(text)) else None


def _character(named: re.Match[str]) -> str:
    known = None if named[1] in _OF_XML else name2codepoint.get(named[1])
    return named[0] if known is None else chr(known)


def _with_prefixes_declared(text: str) -> str:
    """Return the document with declarations of all prefixes: only local names matter."""
    root = _ROOT.search(text)
    if root is None:
        return text
    beginning = text[: text.find(">") + 1]
    used = {tag or attribute for tag, attribute in _PREFIX.findall(text)} - {"xmlns", "xml"}
    missing = sorted(each for each in used if f"xmlns:{each}" not in beginning)
    if not 0 < len(missing) <= PREFIXES_MAX:
        return text
    added = "".join(f' xmlns:{each}="urn:undeclared:{each}"' for each in missing)
    return text[: root.end()] + added + text[root.end() :]
