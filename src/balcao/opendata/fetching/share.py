"""Where the months are published: a Nextcloud share in its two forms, or a mirror of our own.

The protocol: `rfb-open-data.md`, section 1.1. Tokens and folders have changed and will again, so
each place is an address that an operator can copy from a browser.

Listings come from outside: documents with a type declaration are refused, nothing is loaded, and
what exceeds the limits is not read.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from lxml import etree, html

from balcao.opendata.errors import FetchFailed, ShareFailed
from balcao.opendata.fetching.gate import NAMES, Sizes, is_month
from balcao.opendata.fetching.line import ShareLine

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


# Enough of a zip for its first header, and the name in it.
HEAD_BYTES = 4096

# `https://HOST/index.php/s/TOKEN?dir=/FOLDER`, as the browser shows it.
_SHARE = re.compile(r"(?P<base>.*?)(?:/index\.php)?/s/(?P<token>[A-Za-z0-9]+)/?")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds one folder for each month."""

    url: str  # ends in a slash
    token: str | None = None  # whom we sign in as, with an empty password
    plain: bool = False  # a page of links, and no WebDAV

    @property
    def host(self) -> str:
        """For people."""
        return urlsplit(self.url).hostname or ""

    @property
    def headers(self) -> dict[str, str]:
        """What every request there needs."""
        if self.token is None:
            return {}
        signed = base64.b64encode(f"{self.token}:".encode()).decode()
        return {"authorization": f"Basic {signed}"}

    def file(self, month: str, name: str) -> str:
        """Where a zip is."""
        return f"{self.url}{month}/{name}"

    async def months(self, line: ShareLine) -> Sequence[str]:
        """The months that are there, in no order. Raises `FetchFailed`."""
        return [name for name in await self._names(line, self.url) if is_month(name)]

    async def sizes(self, line: ShareLine, month: str) -> Sizes:
        """Of the month's zips; other files are none of ours. Raises `FetchFailed`."""
        url = f"{self.url}{month}/"
        found = await self._names(line, url)
        ours = {name: size for name, size in found.items() if name in NAMES}
        if not self.plain:
            return ours
        return {name: await self._size(line, f"{url}{name}") for name in sorted(ours)}

    async def head(self, line: ShareLine, month: str, name: str) -> bytes:
        """The first bytes of a zip. Raises `FetchFailed`."""
        headers = self.headers | {"range": f"bytes=0-{HEAD_BYTES - 1}"}
        answered = await line.ask(
            "GET",
            self.file(month, name),
            headers,
            wanted={200, 206},
            bytes_max=HEAD_BYTES,
            beginning=True,
        )
        return answered.body

    async def _names(self, line: ShareLine, url: str) -> dict[str, int]:
        method, wanted = ("GET", 200) if self.plain else ("PROPFIND", 207)
        depth = {} if self.plain else {"depth": "1"}
        answered = await line.ask(
            method, url, self.headers | depth, wanted={wanted}, bytes_max=BYTES_MAX
        )
        if self.plain:
            return dict.fromkeys(read_page(answered.body), 0)
        return dict(read_multistatus(answered.body))

    async def _size(self, line: ShareLine, url: str) -> int:
        answered = await line.ask("HEAD", url, self.headers, wanted={200}, bytes_max=0)
        length = answered.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Published:
    """A folder that answered, and the months in it."""

    folder: Folder
    months: Sequence[str]


def forms_of(address: str) -> Sequence[Folder]:
    """How an address may be spoken to, in the order of trying."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    share = _SHARE.fullmatch(parts.path)
    if share is None:
        url = f"{origin}{parts.path.rstrip('/')}/"
        return Folder(url), Folder(url, plain=True)
    asked = parse_qs(parts.query)
    below = quote(next(iter(asked.get("dir", asked.get("path", []))), "").strip("/"))
    below = f"{below}/" if below else ""
    public, token = f"{origin}{share['base']}/public.php", share["token"]
    return (
        Folder(f"{public}/webdav/{below}", token),
        Folder(f"{public}/dav/files/{token}/{below}"),
    )


async def look_at(line: ShareLine, addresses: Sequence[str]) -> Sequence[Published]:
    """The addresses that answer, each in the first form that it speaks, in their order.

    Raises `ShareFailed` if none does.
    """
    found: list[Published] = []
    complaints: dict[str, None] = {}  # keeps the order, forgets repetitions
    for address in addresses:
        for folder in forms_of(address):
            try:
                found.append(Published(folder, await folder.months(line)))
                break
            except FetchFailed as error:
                complaints[str(error)] = None
    if not found:
        raise ShareFailed("; ".join(complaints) or "nenhum endereço de onde baixar")
    return found


def place_of_month(places: Sequence[Published], month: str) -> Folder | None:
    """The first of them that has the month."""
    return next((place.folder for place in places if month in place.months), None)
