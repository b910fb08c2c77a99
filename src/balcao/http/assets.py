"""Static contents: files, and pages made at the start of the process.

Browsers keep a file without asking if its address contains a digest, and otherwise revalidate it.
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
    """Return the digest of a content, for its address."""
    return hashlib.blake2b(content, digest_size=6).hexdigest()


@dataclass(slots=True)
class Asset:
    """One static content. `more`: additional headers."""

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
        """Return the content, or 304 if the client has it."""
        known = request.headers.get(b"if-none-match", b"").split(b",")
        # `*` matches any content (RFC 9110, 13.1.2).
        if {self._etag, b"*"} & {part.strip() for part in known}:
            return 304, list(self._headers), b""
        headers = [(b"content-type", self.content_type), *self._headers]
        if not request.accepts_gzip:
            return 200, headers, self.body
        if self._compressed is None:
            self._compressed = await asyncio.to_thread(
                gzip.compress, self.body, _GZIP_LEVEL, mtime=0
            )
        return 200, [*headers, (b"content-encoding", b"gzip")], self._compressed
