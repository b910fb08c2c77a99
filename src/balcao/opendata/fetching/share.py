"""The places where months are published: a Nextcloud share in its two forms, or our own mirror.

The protocol: `rfb-open-data.md`, section 1.1. Tokens and folders have changed and will change
again, so each place is an address that an operator can copy from a browser.

Listings are untrusted: documents with a type declaration are refused, nothing external is loaded,
and nothing is read beyond the limits.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, quote, unquote, urlsplit

from balcao.opendata.errors import FetchFailed, ShareFailed
from balcao.opendata.fetching.month_selection import (
    TAX_REGIME_FOLDER,
    TAX_REGIME_ZIPS,
    ZIP_NAMES,
    Sizes,
    is_month,
)
from balcao.opendata.fetching.share_client import ShareClient

# Some months of some 40 files each, and unrelated files.
BYTES_MAX = 4_000_000
_ENTRIES_MAX = 10_000

_RESPONSE, _HREF, _LENGTH = "{DAV:}response", "{DAV:}href", "{DAV:}getcontentlength"


def read_multistatus(body: bytes) -> Mapping[str, int]:
    """Return bytes by name of a folder's entries, and of the folder itself; 0 where unspecified.

    Raises `ShareFailed`.
    """
    if b"<!DOCTYPE" in body or body.count(b"<") > 40 * _ENTRIES_MAX:
        raise ShareFailed("a lista não é a de um compartilhamento")
    from lxml import etree  # noqa: PLC0415 - slow to import

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
    # Another encoding could have hidden a type declaration from the check above.
    if root.getroottree().docinfo.internalDTD is not None or root.tag != "{DAV:}multistatus":
        raise ShareFailed("a lista não é a de um compartilhamento")
    found: dict[str, int] = {}
    for response in root.iterfind(_RESPONSE):
        name = _last_name(response.findtext(_HREF) or "")
        if name:
            found[name] = _parse_bytes(next((e.text for e in response.iter(_LENGTH)), None))
    return found


def read_page(body: bytes) -> frozenset[str]:
    """Return the names that a page of links points to, such as a web server's index of a folder.

    Raises `ShareFailed`.
    """
    from lxml import etree, html  # noqa: PLC0415 - slow to import

    parser = html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        raise ShareFailed("a lista não é uma página")
    links = [str(link.get("href", "")) for link in root.iter("a")][:_ENTRIES_MAX]
    return frozenset(filter(None, map(_last_name, links)))


def _last_name(href: str) -> str:
    """Return the last name in an address, of a file or a folder."""
    try:
        path = urlsplit(href).path
    except ValueError:  # an invalid IPv6 address
        return ""
    return unquote(path.rstrip("/").rsplit("/", 1)[-1])


def _parse_bytes(text: str | None) -> int:
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
    token: str | None = None  # the user name, with an empty password
    plain: bool = False  # a page of links, not WebDAV
    tax_regimes_apart: bool = False  # there is a folder of them next to the months

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request to the folder."""
        if self.token is None:
            return {}
        signed = base64.b64encode(f"{self.token}:".encode()).decode()
        return {"authorization": f"Basic {signed}"}

    def file(self, month: str, name: str) -> str:
        apart = self.tax_regimes_apart and name in TAX_REGIME_ZIPS
        return f"{self.url}{TAX_REGIME_FOLDER if apart else month}/{quote(name)}"

    async def published(self, client: ShareClient) -> "PublishedMonths":
        """Return the published months, unordered. Raises `FetchFailed`."""
        names = await self._names(client, self.url)
        folder = replace(self, tax_regimes_apart=TAX_REGIME_FOLDER in names)
        return PublishedMonths(folder, [name for name in names if is_month(name)])

    async def sizes(self, client: ShareClient, month: str) -> Sizes:
        """Return the sizes of the month's zips, without other files. Raises `FetchFailed`.

        Those of tax regimes, which are optional, only if they have content.
        """
        found = await self._names(client, f"{self.url}{month}/")
        zips = {name: size for name, size in found.items() if name in ZIP_NAMES | TAX_REGIME_ZIPS}
        if self.tax_regimes_apart:
            zips = {name: size for name, size in zips.items() if name in ZIP_NAMES}
            with suppress(FetchFailed):
                more = await self._names(client, f"{self.url}{TAX_REGIME_FOLDER}/")
                zips |= {name: size for name, size in more.items() if name in TAX_REGIME_ZIPS}
        if self.plain:
            zips = {name: await self._size(client, self.file(month, name)) for name in sorted(zips)}
        return {name: size for name, size in zips.items() if size or name in ZIP_NAMES}

    async def head(self, client: ShareClient, month: str, name: str) -> bytes:
        """Return the first bytes of a zip. Raises `FetchFailed`."""
        headers = self.headers | {"range": f"bytes=0-{HEAD_BYTES - 1}"}
        reply = await client.request(
            "GET",
            self.file(month, name),
            headers,
            expected={200, 206},
            bytes_max=HEAD_BYTES,
            truncate=True,
        )
        return reply.body

    async def _names(self, client: ShareClient, url: str) -> dict[str, int]:
        method, expected = ("GET", 200) if self.plain else ("PROPFIND", 207)
        depth = {} if self.plain else {"depth": "1"}
        reply = await client.request(
            method, url, self.headers | depth, expected={expected}, bytes_max=BYTES_MAX
        )
        if self.plain:
            return dict.fromkeys(read_page(reply.body), 0)
        return dict(read_multistatus(reply.body))

    async def _size(self, client: ShareClient, url: str) -> int:
        reply = await client.request("HEAD", url, self.headers, expected={200}, bytes_max=0)
        length = reply.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() else 0


@dataclass(frozen=True, slots=True)
class PublishedMonths:
    """A folder that answered, and its months."""

    folder: Folder
    months: Sequence[str]


def candidate_folders(address: str) -> Sequence[Folder]:
    """Return the folders that an address may stand for, in the order of trying."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    share = _SHARE.fullmatch(parts.path)
    if share is None:
        url = f"{origin}{parts.path.rstrip('/')}/"
        return Folder(url), Folder(url, plain=True)
    query = parse_qs(parts.query)
    below = quote(next(iter(query.get("dir", query.get("path", []))), "").strip("/"))
    below = f"{below}/" if below else ""
    public, token = f"{origin}{share['base']}/public.php", share["token"]
    return (
        Folder(f"{public}/webdav/{below}", token),
        Folder(f"{public}/dav/files/{token}/{below}"),
    )


async def list_published(
    client: ShareClient, addresses: Sequence[str]
) -> Sequence[PublishedMonths]:
    """Return the addresses that answer, each in the first form that works, in their order.

    Raises `ShareFailed` if none does.
    """
    found: list[PublishedMonths] = []
    reasons: dict[str, None] = {}  # keeps the order, drops repetitions
    for address in addresses:
        for folder in candidate_folders(address):
            try:
                found.append(await folder.published(client))
                break
            except FetchFailed as error:
                reasons[str(error)] = None
    if not found:
        raise ShareFailed("; ".join(reasons) or "nenhum endereço de onde baixar")
    return found


def folder_of_month(places: Sequence[PublishedMonths], month: str) -> Folder | None:
    """Return the first place that has the month."""
    return next((place.folder for place in places if month in place.months), None)
