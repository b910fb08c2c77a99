"""Bytes that do not change while the process runs: files, and pages made at its start.

A file whose address has its content's digest is kept by browsers for ever; what has a lasting
address is asked for again, and is then a 304.
"""

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from balcao.http.read import Request
from balcao.http.write import Headers

TYPES: Mapping[str, bytes] = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml; charset=utf-8",
}
FOR_EVER = b"public, max-age=31536000, immutable"
ASK_AGAIN = b"no-cache"

_GZIP_LEVEL = 9  # compressed once per process


def digest_of(content: bytes) -> str:
    """What stands in an address: another content has another one."""
    return hashlib.blake2b(content, digest_size=6).hexdigest()


@dataclass(slots=True)
class Asset:
    """One of them, with the headers that it has beside its own."""

    body: bytes
    content_type: bytes
    caching: bytes = FOR_EVER
    more: Headers = field(default_factory=list)
    _headers: Headers = field(init=False)
    _etag: bytes = field(init=False)
    _compressed: bytes | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        digest = hashlib.blake2b(self.body, digest_size=12).hexdigest()
        self._etag = f'W/"{digest}"'.encode()
        self._headers = [
            (b"cache-control", self.caching),
            (b"etag", self._etag),
            (b"vary", b"accept-encoding"),
            *self.more,
        ]

    async def __call__(self, request: Request) -> tuple[int, Headers, bytes]:
        """200, or 304 for those who have it already."""
        known = request.headers.get(b"if-none-match", b"").split(b",")
        # `*`: whatever there is (RFC 9110, 13.1.2).
        if {self._etag, b"*"} & {part.strip() for part in known}:
            return 304, list(self._headers), b""
        headers = [(b"content-type", self.content_type), *self._headers]
        if not request.wants_gzip:
            return 200, headers, self.body
        if self._compressed is None:
            self._compressed = await asyncio.to_thread(
                gzip.compress, self.body, _GZIP_LEVEL, mtime=0
            )
        return 200, [*headers, (b"content-encoding", b"gzip")], self._compressed
