"""Addresses that are not lookups: health, measurements, the OpenAPI document, documentation."""

import asyncio
import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources

import msgspec

from balcao import __version__
from balcao.core.clock import ClockState
from balcao.core.questions import Mode, Subject
from balcao.errors import ClockOff, StorageFailed
from balcao.http import openapi
from balcao.http.front import Page
from balcao.http.read import Request
from balcao.http.write import Headers
from balcao.observability.metrics import Metrics
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.providers.opendata.adapter import ImportedRegistry
from balcao.settings import Settings
from balcao.storage.contract import Desk

_JSON: Headers = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
]

CLOCK_RIGHT = "certo"

VERDICT_MS = 1_000  # how long it is believed that the desk can, or cannot, write

_encode = msgspec.json.Encoder().encode


def build_pages(
    metrics: Metrics,
    desk: Desk,
    snapshots: Mapping[Mode, ImportedRegistry],
    settings: Settings,
    now_ms: Callable[[], int],
    *,
    operations: Mapping[Subject, Operation] = OPERATIONS,
    clock: Callable[[], ClockState] = ClockState,
) -> Mapping[str, Page]:
    """The pages by path."""

    async def alive(_: Request) -> tuple[int, Headers, bytes]:
        """The process answers. Says nothing about what it depends on."""
        return 200, _JSON, b'{"status":"ok"}'

    heart = _Heart(desk, now_ms)

    async def ready(_: Request) -> tuple[int, Headers, bytes]:
        """Whether requests may be sent here: the desk must be able to write, or it is a 503.

        So must the clock be the database's. One that jumped is told of, and does no harm.
        """
        if (seen := clock()).is_off:
            raise ClockOff(f"{seen.system_ahead_ms // 1000} s")
        if (complaint := await heart.complaint()) is not None:
            raise StorageFailed(complaint)
        months = {
            mode: None if snapshot.extraction_date is None else snapshot.extraction_date.isoformat()
            for mode, snapshot in snapshots.items()
        }
        said = _of_clock(seen)
        body = {"status": "ok", "gravação": True, "relógio": said, "dados_abertos": months}
        return 200, _JSON, _encode(body)

    async def measurements(_: Request) -> tuple[int, Headers, bytes]:
        """Prometheus' text format."""
        headers = [
            (b"content-type", metrics.content_type.encode()),
            (b"cache-control", b"no-store"),
        ]
        return 200, headers, metrics.exposition()

    return {
        "/livez": alive,
        "/readyz": ready,
        "/metrics": measurements,
        **documentation(settings, operations),
    }


def _of_clock(seen: ClockState) -> str:
    """What `/readyz` says of the clock; `balcao doctor` hands it on."""
    if seen.jump_ms:
        return (
            f"saltou {_seconds(seen.jump_ms)}; vale a hora de antes, até que o salto seja desfeito"
            " ou dure uma hora"
        )
    if seen.books_ahead_ms:
        return (
            f"no início estava {_seconds(-seen.books_ahead_ms)} em relação ao último lançamento;"
            " nada vence em definitivo antes de uma hora"
        )
    return CLOCK_RIGHT


def _seconds(apart_ms: int) -> str:
    return f"{apart_ms // 1000:+d} s"


@dataclass(slots=True)
class _Heart:
    """Whether the desk can write, found out by writing. A verdict holds for a second, so that
    nobody can make us write all the time by asking."""

    desk: Desk
    now_ms: Callable[[], int]
    _beating: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asked_ms: int | None = None
    _complaint: str | None = None

    async def complaint(self) -> str | None:
        """What kept it from writing, or None."""
        async with self._beating:
            now = self.now_ms()
            if self._asked_ms is None or abs(now - self._asked_ms) >= VERDICT_MS:
                self._complaint = await self._beat(now)
                self._asked_ms = now
            return self._complaint

    async def _beat(self, now: int) -> str | None:
        try:
            await self.desk.heartbeat(now)
        except Exception as error:
            return type(error).__name__
        return None


# Documentation. Nothing it shows is loaded from elsewhere.

_TYPES: Mapping[str, bytes] = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "txt": b"text/plain; charset=utf-8",
}
_FILES = (
    "docs.css",
    "init.js",
    "theme.js",
    "swagger-ui/swagger-ui.css",
    "swagger-ui/swagger-ui-bundle.js",
    "swagger-ui/swagger-ui-bundle.js.LICENSE.txt",
    "swagger-ui/LICENSE.txt",
    "swagger-ui/NOTICE.txt",
)
# Files have their content's digest in the address and never change; pages are asked again.
_FOR_EVER = b"public, max-age=31536000, immutable"
_ASK_AGAIN = b"no-cache"
_SECURE: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
_GZIP_LEVEL = 9  # compressed once per process


def documentation(
    settings: Settings, operations: Mapping[Subject, Operation]
) -> Mapping[str, Page]:
    """`/openapi.json`, and the documentation page with its files."""
    folder = resources.files("balcao.http").joinpath("static")
    contents = {name: folder.joinpath(name).read_bytes() for name in _FILES}
    digest = hashlib.blake2b(b"".join(contents.values()), digest_size=6).hexdigest()
    prefix = f"/docs/{digest}"
    pages: dict[str, Page] = {}
    for name, body in contents.items():
        short = name.rpartition("/")[2]
        pages[f"{prefix}/{short}"] = _Static(body, _TYPES[name.rpartition(".")[2]], _FOR_EVER)

    def page(name: str) -> _Static:
        html = folder.joinpath(name).read_text("utf-8").replace("{{files}}", prefix)
        return _Static(html.encode(), _TYPES["html"], _ASK_AGAIN, [_POLICY])

    pages["/docs"] = pages["/docs/"] = page("docs.html")
    pages["/docs/sandbox"] = page("sandbox.html")
    pages["/openapi.json"] = _Static(
        _encode(
            openapi.document(
                __version__,
                settings.address,
                settings.idempotency_hours,
                operations,
                public=bool(settings.public_url),
            )
        ),
        b"application/json; charset=utf-8",
        _ASK_AGAIN,
        [(b"access-control-allow-origin", b"*")],
    )
    pages["/"] = _to_application
    return pages


async def _to_application(_: Request) -> tuple[int, Headers, bytes]:
    return 302, [(b"location", b"/app"), (b"cache-control", b"no-store")], b""


@dataclass(slots=True)
class _Static:
    """A page whose bytes do not change while the process runs."""

    body: bytes
    content_type: bytes
    caching: bytes
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
            *_SECURE,
            *self.more,
        ]

    async def __call__(self, request: Request) -> tuple[int, Headers, bytes]:
        """200, or 304 for those who have it already."""
        known = request.headers.get(b"if-none-match", b"")
        if self._etag in (part.strip() for part in known.split(b",")):
            return 304, list(self._headers), b""
        headers = [(b"content-type", self.content_type), *self._headers]
        if not request.wants_gzip:
            return 200, headers, self.body
        if self._compressed is None:
            self._compressed = await asyncio.to_thread(
                gzip.compress, self.body, _GZIP_LEVEL, mtime=0
            )
        return 200, [*headers, (b"content-encoding", b"gzip")], self._compressed
