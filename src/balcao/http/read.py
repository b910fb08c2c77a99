"""Requests read from ASGI scopes, and their bodies."""

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
    repeated: tuple[bytes, ...] = ()  # names of headers that were sent more than once
    rest: str = ""  # the value of the path's parameter
    caller: Caller | None = None  # None if the route needs no key
    body: bytes = b""  # empty if the route has none
    pieces: AsyncIterator[bytes] | None = None  # of a body that is not read as a whole
    request_id: str = ""  # not set for lookups
    client: str = ""  # the client's address; not set for lookups
    server: str = ""  # our address; not set for lookups

    def numbered(self, answer: bytes) -> bytes:
        """Add the `request_id` to an answer in JSON that does not have one."""
        if not answer.startswith(b'{"') or answer.startswith(b'{"request_id":'):
            return answer
        return b'{"request_id":"' + self.request_id.encode() + b'",' + answer[1:]

    @property
    def account_id(self) -> int:
        """The caller's account; only for routes that need a key."""
        assert self.caller is not None, "the route takes requests without a key"
        return self.caller.account_id

    @property
    def accepts_gzip(self) -> bool:
        """Whether the client accepts compressed answers (contract 1.9)."""
        return accepts_gzip(self.headers.get(b"accept-encoding"))

    def preferred(self, offered: Sequence[bytes]) -> bytes:
        """Return the media type that the header Accept prefers (RFC 9110, 12.5.1).

        The first one if all are preferred equally, or none is accepted. A name has precedence over
        a wildcard of the same weight.
        """
        ranges = _weighed(self.headers.get(b"accept", b"*/*"))

        def preference(media_type: bytes) -> tuple[float, int]:
            wildcards = (b"*/*", media_type.partition(b"/")[0] + b"/*", media_type)
            matching = [(wildcards.index(r), weight) for r, weight in ranges if r in wildcards]
            closeness, weight = max(matching, default=(0, 0.0))
            return weight, closeness if weight else 0

        return max(offered, key=preference)


def prefers_page(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the client prefers HTML to JSON, as browsers do."""
    page = b"text/html"
    return Request("GET", "", b"", headers).preferred((b"application/json", page)) == page


def accepts_gzip(accept_encoding: bytes | None) -> bool:
    """Return whether an `Accept-Encoding` names gzip (RFC 9110, 12.5.3); `*` does not count."""
    ranges = () if accept_encoding is None else _weighed(accept_encoding)
    return next((weight > 0 for name, weight in ranges if name == b"gzip"), False)


_WEIGHT = re.compile(rb"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*")


def _weighed(header: bytes) -> Sequence[tuple[bytes, float]]:
    """Return the names in a header of the Accept family, in lower case, with their weights.

    RFC 9110, 12.4.2. An invalid weight counts as 1; other parameters are ignored.
    """
    found = []
    for part in header.lower().split(b","):
        name, *parameters = part.split(b";")
        weights = [match[1] for each in parameters if (match := _WEIGHT.fullmatch(each))]
        found.append((name.strip(), float(weights[0]) if weights else 1.0))
    return found


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Limits of a route's request body."""

    bytes_max: int
    media_types: tuple[bytes, ...]
    seconds: float = 10.0  # for the whole body
    may_be_empty: bool = False  # the body is optional

    async def read(self, headers: Mapping[bytes, bytes], pieces: AsyncIterator[bytes]) -> bytes:
        """Return the whole body. Reads at most the limit, and nothing if more is announced.

        Raises `UnsupportedMediaType`, `RequestTooLarge`, `InvalidRequest`.
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
        """Check the announced type and length, and return the media type.

        Raises `UnsupportedMediaType`, `RequestTooLarge`.
        """
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind not in self.media_types:
            raise UnsupportedMediaType
        announced = headers.get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:10]) > self.bytes_max:
            raise RequestTooLarge(body_bytes_max=self.bytes_max)
        return kind.decode()

    async def bounded(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the body's pieces. Raises `RequestTooLarge`.

        The connection limits the time (`http/wire`).
        """
        size = 0
        async for piece in pieces:
            size += len(piece)
            if size > self.bytes_max:
                raise RequestTooLarge(body_bytes_max=self.bytes_max)
            yield piece


async def pieces_of(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the pieces of a body (ASGI). Raises `InvalidRequest` if the client disconnects."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidRequest(408)
        yield message.get("body", b"")
        more = message.get("more_body", False)


def read(scope: Scope, header_bytes_max: int, *, bodiless: bool = True) -> Request:
    """Return the request of an ASGI scope.

    Raises `RequestTooLarge` if the head is too long (7.4), or if a `bodiless` request has a body.
    """
    path: str = scope["path"]
    query: bytes = scope["query_string"]
    headers: dict[bytes, bytes] = {}
    repeated: tuple[bytes, ...] = ()
    # The undecoded path: decoded, a path of escapes is a third as long.
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
