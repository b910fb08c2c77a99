"""From an ASGI scope to what the house needs of a request."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from balcao.errors import RequestTooLarge

Scope: TypeAlias = Mapping[str, Any]


class Request(msgspec.Struct, frozen=True):
    """One request. Header names are lower case; of repeated headers the first counts."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    repeated: tuple[bytes, ...] = ()  # names of headers that came more than once

    @property
    def wants_gzip(self) -> bool:
        """Compress only when asked (decisions 1.9)."""
        return accepts_gzip(self.headers.get(b"accept-encoding"))


def accepts_gzip(accept_encoding: bytes | None) -> bool:
    """Whether an `Accept-Encoding` names gzip (RFC 9110, 12.5.3); `*` is no wish."""
    if accept_encoding is None:
        return False
    for part in accept_encoding.lower().split(b","):
        name, _, quality = part.strip().partition(b";")
        if name.strip() == b"gzip":
            return quality.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def read(scope: Scope, header_bytes_max: int) -> Request:
    """Take the request apart. Raises `RequestTooLarge` for a body or too long a head (7.4)."""
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
    if b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0":
        raise RequestTooLarge(headers=False)
    return Request(scope["method"], path, query, headers, repeated)
