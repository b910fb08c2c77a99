"""What a share's listings say: a WebDAV answer, or the page of a plain server. No I/O.

They come from outside: documents with a type of their own are refused, nothing is loaded, and
what is too much is not read.
"""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from lxml import etree, html

from balcao.opendata.errors import ShareFailed

# Some months of some 40 files each, and whatever else somebody has put there.
BYTES_MAX = 4_000_000
_ENTRIES_MAX = 10_000

_RESPONSE, _HREF, _LENGTH = "{DAV:}response", "{DAV:}href", "{DAV:}getcontentlength"


def read_multistatus(body: bytes) -> Mapping[str, int]:
    """Bytes by name, of what lies in a folder and of the folder itself; 0 where it has none.

    Raises `ShareFailed`.
    """
    if b"<!DOCTYPE" in body or body.count(b"<") > 40 * _ENTRIES_MAX:
        raise ShareFailed("a lista não é a de um compartilhamento")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise ShareFailed("a lista não é XML") from None
    # Other encodings could have hidden it.
    if root.getroottree().docinfo.internalDTD is not None or root.tag != "{DAV:}multistatus":
        raise ShareFailed("a lista não é a de um compartilhamento")
    found: dict[str, int] = {}
    for response in root.iterfind(_RESPONSE):
        name = _last(response.findtext(_HREF) or "")
        if name:
            found[name] = _bytes(next((e.text for e in response.iter(_LENGTH)), None))
    return found


def read_page(body: bytes) -> frozenset[str]:
    """The names that a page of links leads to, as web servers make them of a folder.

    Raises `ShareFailed`.
    """
    parser = html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        raise ShareFailed("a lista não é uma página")
    links = [str(link.get("href", "")) for link in root.iter("a")][:_ENTRIES_MAX]
    return frozenset(filter(None, map(_last, links)))


def _last(href: str) -> str:
    """The name at the end of an address, be it a file's or a folder's."""
    try:
        path = urlsplit(href).path
    except ValueError:  # as of an IPv6 address that is none
        return ""
    return unquote(path.rstrip("/").rsplit("/", 1)[-1])


def _bytes(text: str | None) -> int:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
