"""Encoding of replies: status, headers and body (contract 1.8 to 1.10)."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, time
from email.utils import format_datetime
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

from balcao.core.deprecations import PAGE, DeprecatedFeature
from balcao.core.errors import CommitUncertain
from balcao.core.ledger import NO_TAGS, Origin, RequestTags
from balcao.core.outcomes import Reply
from balcao.core.problems import PAGES
from balcao.core.rate_limit import Limit, Verdict
from balcao.http.compat.api import CompatAnswer
from balcao.http.wire.head import header_lines

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Content that is too large to be held in memory as a whole."""

    size_bytes: int | None  # None: not known yet, the answer is sent in chunks
    pieces: AsyncGenerator[bytes, None]


_JSON = (b"content-type", b"application/json; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")
NOSNIFF = (b"x-content-type-options", b"nosniff")
CORS: Headers = [
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"x-request-id, retry-after, ratelimit, ratelimit-policy, x-creditos-cobrados,"
        b" deprecation, sunset, cache-status, age, idempotent-replayed, location, x-cliente,"
        b" x-referencia, x-codigo-erro, link, etag",
    ),
]
_PREFLIGHT: Headers = [
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-allow-headers",
        b"x-api-key, cache, idempotency-key, x-creditos-maximos, x-cliente, x-referencia,"
        b" accept, content-type, if-none-match",
    ),
    (b"access-control-max-age", b"86400"),
]
REPLAYED = (b"idempotent-replayed", b"true")
_VARY = (b"vary", b"accept-encoding")
_HIT = (b"cache-status", b"Balcao; hit")
_MISS = (b"cache-status", b"Balcao; fwd=miss")

# Below this a compressed body is hardly shorter.
_GZIP_BYTES_MIN = 512
_GZIP_LEVEL = 5

GZIP = (b"content-encoding", b"gzip")

# Sizes of window and tables, which decompression does not depend on. Setting up zlib's default of
# 32 kB costs ten times as much as compressing a company with these.
_GZIP_SHORT_BYTES_MAX = 4_096
_GZIP_SHORT = (16 + 12, 5)
_GZIP_LONG = (16 + 15, 8)

# Longer bodies are compressed in a thread: a company with ten thousand partners takes 50 ms.
_GZIP_IN_PLACE_BYTES_MAX = 64_000


def preflight(methods: Sequence[str]) -> Headers:
    """Return the headers of the answer to a preflight request (contract 1.9)."""
    allowed = ", ".join(methods).encode()
    return [
        *_PREFLIGHT,
        (b"access-control-allow-methods", allowed),
        (b"allow", allowed + b", OPTIONS"),
    ]


def lookup_headers(
    reply: Reply,
    verdicts: Sequence[Verdict],
    now_ms: int,
    *,
    deprecated: DeprecatedFeature | None,
) -> Headers:
    """Return the headers of a lookup's answer or refusal."""
    return [
        *_BEFORE,
        (b"x-request-id", reply.request_id.encode()),
        *_AFTER,
        *limit_headers(verdicts),
        *_outcome_headers(*_outcome(reply, now_ms)),
        *deprecation_headers(deprecated),
    ]


def on_the_wire(
    start: bytes,
    reply: Reply,
    verdicts: Sequence[Verdict],
    now_ms: int,
    more: bytes,
    *,
    tags: RequestTags,
    gzipped: bool,
) -> bytes:
    """Return a lookup's whole answer, with the headers of `lookup_headers` in their order.

    `start`: its first line. `more`: the last lines of the head. Made in one step of prepared
    lines, since available answers are frequent.
    """
    body, packed = reply.body, b""
    if gzipped and len(body) >= _GZIP_BYTES_MIN:
        body, packed = _compressed(body), _GZIP_LINE
    limits = b"ratelimit-policy: %b\r\nratelimit: %b\r\n" % _limits(verdicts) if verdicts else b""
    return b"".join(
        (
            start,
            _LINES_BEFORE,
            reply.request_id.encode(),
            _LINES_AFTER,
            limits,
            _outcome_lines(*_outcome(reply, now_ms)),
            b"" if tags is NO_TAGS else header_lines(tag_headers(tags)),
            packed,
            b"content-length: %d\r\n" % len(body),
            more,
            b"\r\n",
            body,
        )
    )


# Credits, origin, age in seconds, seconds to wait, whether it is a replay, code of an error.
_Outcome: TypeAlias = tuple[int, Origin | None, int, int | None, bool, str | None]


def _outcome(reply: Reply, now_ms: int) -> _Outcome:
    """Return the values of the headers about the answer itself, such as price and origin."""
    origin, age = reply.origin, 0
    if origin == "cache":
        if reply.asked_ms is None:
            origin = "online"
        else:
            age = max(0, now_ms - reply.asked_ms) // 1000
    return reply.credits, origin, age, reply.retry_after_seconds, reply.replayed, reply.code


def _outcome_headers(  # noqa: PLR0917  # an `_Outcome`
    credits: int,
    origin: Origin | None,
    age_seconds: int,
    retry_after_seconds: int | None,
    replayed: bool,
    code: str | None,
) -> Headers:
    headers = []
    if code != CommitUncertain.code:  # then it is unknown
        headers.append((b"x-creditos-cobrados", str(credits).encode()))
    if origin is not None:
        headers.append(_HIT if origin == "cache" else _MISS)
        headers.append((b"age", str(age_seconds).encode()))
    if retry_after_seconds is not None:
        headers.append((b"retry-after", str(retry_after_seconds).encode()))
    if replayed:
        headers.append(REPLAYED)
    if code is not None:
        headers.append(help_header(code))
    return headers


@lru_cache(maxsize=4_096)
def _outcome_lines(*outcome: Any) -> bytes:
    """Return the header lines; memoised, since many answers have equal ones."""
    return header_lines(_outcome_headers(*outcome))


def help_header(code: str) -> tuple[bytes, bytes]:
    """Return the link to an error code's documentation (contract 1.12, RFC 8288)."""
    return b"link", f'<{PAGES}{code}>; rel="help"'.encode()


@cache
def deprecation_headers(feature: DeprecatedFeature | None) -> Sequence[tuple[bytes, bytes]]:
    """Return the headers that announce the end of a feature (contract 18.3); None: there is none.

    Deprecation: RFC 9745; Sunset: RFC 8594.
    """
    if feature is None:
        return ()
    since, sunset = (
        datetime.combine(day, time(), tzinfo=UTC) for day in (feature.since, feature.sunset)
    )
    return (
        (b"deprecation", b"@%d" % since.timestamp()),
        (b"sunset", format_datetime(sunset, usegmt=True).encode()),
        (b"link", f'<{PAGE}>; rel="deprecation"; type="text/html"'.encode()),
    )


def tag_headers(tags: RequestTags) -> Headers:
    """Return the headers that repeat the caller's tags (contract 11.1)."""
    both = ((b"x-cliente", tags.client), (b"x-referencia", tags.reference))
    return [(name, mark.encode()) for name, mark in both if mark is not None]


def limit_headers(verdicts: Sequence[Verdict]) -> Headers:
    """Return RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers)."""
    if not verdicts:
        return []
    policy, left = _limits(verdicts)
    return [(b"ratelimit-policy", policy), (b"ratelimit", left)]


def _limits(verdicts: Sequence[Verdict]) -> tuple[bytes, bytes]:
    """Return the values of the headers RateLimit-Policy and RateLimit."""
    limits = tuple(map(_LIMIT, verdicts))
    states: list[str] = []
    for verdict in verdicts:
        left_seconds = -int(-verdict.reset_ms // 1000)
        states.append(f'"{verdict.limit.name}";r={verdict.remaining};t={left_seconds}')
    policy = _policies.get(limits)
    if policy is None:
        if len(_policies) >= _POLICIES_MAX:  # every key may have its own limits
            _policies.clear()
        policy = _policies[limits] = rate_limit_policy(limits)
    return policy, ", ".join(states).encode()


_LIMIT = attrgetter("limit")
_policies: dict[tuple[Limit, ...], bytes] = {}
_POLICIES_MAX = 1_000


def rate_limit_policy(limits: Sequence[Limit]) -> bytes:
    """Return the value of the header RateLimit-Policy."""
    texts = [f'"{limit.name}";q={limit.quota};w={limit.window_ms // 1000}' for limit in limits]
    return ", ".join(texts).encode()


# Before and after the number of the request.
_BEFORE: Headers = [_JSON, _NO_STORE]
_AFTER: Headers = [_VARY, NOSNIFF, *CORS]
_LINES_BEFORE = header_lines(_BEFORE) + b"x-request-id: "
_LINES_AFTER = b"\r\n" + header_lines(_AFTER)
_GZIP_LINE = header_lines([GZIP])


def compat_answer(
    compat: CompatAnswer, headers: Headers, code: str | None
) -> tuple[int, Headers, bytes]:
    """Return an answer in another service's shape, with our headers and our error code."""
    own: Headers = [(b"content-type", compat.media_type)]
    if code is not None:
        own.append((b"x-codigo-erro", code.encode()))
    kept = [header for header in headers if header[0] != b"content-type"]
    return compat.status, own + kept, compat.body


def completed(
    status: int, headers: Headers, body: bytes, *, gzipped: bool
) -> tuple[Headers, bytes]:
    """Add length and compression to a complete answer; return its headers and encoded body."""
    if gzipped and len(body) >= _GZIP_BYTES_MIN:
        body = _compressed(body)
        headers = [*headers, GZIP]
    if status not in (204, 304):  # these have no content, and no length (RFC 9110, 8.6)
        headers.append((b"content-length", str(len(body)).encode()))
    return headers, body


def _compressed(body: bytes) -> bytes:
    packer = compressor(_GZIP_SHORT if len(body) <= _GZIP_SHORT_BYTES_MAX else _GZIP_LONG)
    return packer.compress(body) + packer.flush()


def compressor(sizes: tuple[int, int] = _GZIP_LONG) -> "zlib._Compress":
    """Return a compressor of one answer."""
    return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, *sizes)


async def send_whole(
    send: Send,
    status: int,
    headers: Headers,
    body: bytes,
    *,
    gzipped: bool = False,
    head: bool = False,
) -> None:
    """Send one complete answer. `head`: without its body, to HEAD requests."""
    if gzipped and len(body) > _GZIP_IN_PLACE_BYTES_MAX:
        body = await asyncio.to_thread(_compressed, body)
        headers, gzipped = [*headers, GZIP], False
    headers, body = completed(status, headers, body, gzipped=gzipped)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


async def send_pieces(
    send: Send, status: int, headers: Headers, body: Pieces, *, head: bool = False
) -> None:
    """Send an answer in pieces, as they are.

    Raises the errors of the pieces; then the answer stays incomplete, which the client detects.
    """
    if body.size_bytes is not None:
        headers.append((b"content-length", str(body.size_bytes).encode()))
    async with aclosing(body.pieces) as pieces:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if not head:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
