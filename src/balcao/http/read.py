"""From an ASGI scope to what the service needs of a request."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from balcao.core.access import Caller
from balcao.core.errors import InvalidRequest, RequestTooLarge, UnsupportedMediaType

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]


class Request(msgspec.Struct, frozen=True):
    """One request. Header names are lower case; of repeated headers the first counts."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    repeated: tuple[bytes, ...] = ()  # names of headers that came more than once
    rest: str = ""  # what follows the route's own part of the path
    caller: Caller | None = None  # whose key was sent, where the route wants one
    body: bytes = b""  # where the route takes one
    pieces: AsyncIterator[bytes] | None = None  # of a body that is not read as a whole
    request_id: str = ""  # its number, where it is no lookup
    client: str = ""  # the address at the other end of the connection, where it is no lookup
    server: str = ""  # and at ours

    def numbered(self, answer: bytes) -> bytes:
        """An answer in JSON that says which one it is; one that does already stays as it is."""
        if not answer.startswith(b'{"') or answer.startswith(b'{"request_id":'):
            return answer
        return b'{"request_id":"' + self.request_id.encode() + b'",' + answer[1:]

    @property
    def account_id(self) -> int:
        """Whose request it is, where the route wants a key."""
        assert self.caller is not None, "the route takes requests without a key"
        return self.caller.account_id

    @property
    def wants_gzip(self) -> bool:
        """Compress only when asked (contract 1.9)."""
        return accepts_gzip(self.headers.get(b"accept-encoding"))

    def preferred(self, offered: Sequence[bytes]) -> bytes:
        """Which of these media types the caller's Accept wants most (RFC 9110, 12.5.1).

        The first one where they are wanted alike, or none of them is. What is named outright is
        wanted more than what a wildcard lets through with the same weight.
        """
        ranges = _weighed(self.headers.get(b"accept", b"*/*"))

        def wanted(media_type: bytes) -> tuple[float, int]:
            wildcards = (b"*/*", media_type.partition(b"/")[0] + b"/*", media_type)
            matching = [(wildcards.index(r), weight) for r, weight in ranges if r in wildcards]
            closeness, weight = max(matching, default=(0, 0.0))
            return weight, closeness if weight else 0

        return max(offered, key=wanted)


def wants_page(headers: Mapping[bytes, bytes]) -> bool:
    """Whether somebody would rather have a page than JSON, as browsers would and programs not."""
    page = b"text/html"
    return Request("GET", "", b"", headers).preferred((b"application/json", page)) == page


def accepts_gzip(accept_encoding: bytes | None) -> bool:
    """Whether an `Accept-Encoding` names gzip (RFC 9110, 12.5.3); `*` is no wish."""
    ranges = () if accept_encoding is None else _weighed(accept_encoding)
    return next((weight > 0 for name, weight in ranges if name == b"gzip"), False)


_WEIGHT = re.compile(rb"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*")


def _weighed(header: bytes) -> Sequence[tuple[bytes, float]]:
    """What a header of the Accept family names, in lower case, with the weights (RFC 9110, 12.4.2).

    A weight that is none counts as 1; other parameters do not count.
    """
    found = []
    for part in header.lower().split(b","):
        name, *parameters = part.split(b";")
        weights = [match[1] for each in parameters if (match := _WEIGHT.fullmatch(each))]
        found.append((name.strip(), float(weights[0]) if weights else 1.0))
    return found


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """What a route takes besides the address: at most so many bytes, of one of these types."""

    bytes_max: int
    media_types: tuple[bytes, ...]
    seconds: float = 10.0  # what is small comes at once
    may_be_empty: bool = False  # there need not be one

    async def read(self, headers: Mapping[bytes, bytes], pieces: AsyncIterator[bytes]) -> bytes:
        """The whole body. Raises `UnsupportedMediaType`, `RequestTooLarge`, `InvalidRequest`.

        What announces too much is not read at all; of what announces nothing, no more than that.
        """
        announced = headers.get(b"content-length", b"0")
        if self.may_be_empty and announced == b"0" and b"transfer-encoding" not in headers:
            return b""
        self.admit(headers)
        body = b""
        try:
            async with asyncio.timeout(self.seconds):
                async for piece in pieces:
                    body += piece
                    if len(body) > self.bytes_max:
                        raise RequestTooLarge(body_bytes_max=self.bytes_max)
        except TimeoutError:
            raise InvalidRequest(408) from None
        return body

    def admit(self, headers: Mapping[bytes, bytes]) -> str:
        """The media type, before anything is read. Raises `UnsupportedMediaType`, and
        `RequestTooLarge` for what is announced."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind not in self.media_types:
            raise UnsupportedMediaType
        announced = headers.get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:10]) > self.bytes_max:
            raise RequestTooLarge(body_bytes_max=self.bytes_max)
        return kind.decode()

    async def bounded(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The body as it comes, for who keeps it in pieces. Raises `RequestTooLarge`.

        How long it may take, the connection says (`http/wire`).
        """
        size = 0
        async for piece in pieces:
            size += len(piece)
            if size > self.bytes_max:
                raise RequestTooLarge(body_bytes_max=self.bytes_max)
            yield piece


async def pieces_of(receive: Receive) -> AsyncIterator[bytes]:
    """A request's body as it comes (ASGI). Raises `InvalidRequest` where the rest never will."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidRequest(408)
        yield message.get("body", b"")
        more = message.get("more_body", False)


def read(scope: Scope, header_bytes_max: int, *, bodiless: bool = True) -> Request:
    """Take the request apart. Raises `RequestTooLarge` for too long a head (7.4).

    So it does for a body, where there is to be none.
    """
    path: str = scope["path"]
    query: bytes = scope["query_string"]
    headers: dict[bytes, bytes] = {}
    repeated: tuple[bytes, ...] = ()
    # As it came over the wire: decoded, a path of escapes is a third as long.
    size = len(scope.get("raw_path") or path) + len(query)
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name in headers:
            repeated = (*repeated, name)
        else:
            headers[name] = value
    if size > header_bytes_max:
        raise RequestTooLarge(headers=True)
    if bodiless and (
        b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
    ):
        raise RequestTooLarge
    return Request(scope["method"], path, query, headers, repeated)
