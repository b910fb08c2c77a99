"""Rate limiting by the generic cell rate algorithm: one stored instant per limit.

Times are milliseconds since 1970. A limit lets `quota` requests come at once and then one
more every `window / quota`; the stored instant is when the bucket will be empty again.
"""

from collections.abc import Sequence

import msgspec

from balcao.core.clock import SMALL_MS


class Limit(msgspec.Struct, frozen=True):
    """`quota` requests per `window_ms`."""

    name: str  # in the RateLimit headers: "minuto", "dia", "chave-minuto", "chave-dia"
    quota: int
    window_ms: int
    of_key: bool = False  # counted by key, not by account


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What one request means for one limit."""

    limit: Limit
    allowed: bool
    empty_at_ms: float  # the one value to store, whether the request is let through or not
    remaining: int  # requests that could follow at once
    reset_ms: float  # until the whole quota is there again
    retry_ms: float  # 0, or after how long the same request is not refused for this reason


def spend(limit: Limit, empty_at_ms: float, now_ms: float) -> Verdict:
    """Put one request into the bucket, or say when there will be room for it."""
    interval = limit.window_ms / limit.quota
    # Idle time is not saved up: a bucket can be empty, never emptier. Nor can it be fuller
    # than full: by more than clocks of nodes may differ, no clock that is right has written that
    # (decisions 9.8), and it says nothing.
    full = now_ms + limit.window_ms
    start = empty_at_ms if now_ms < empty_at_ms <= full + SMALL_MS else now_ms
    start = min(start, full)
    room_ms = full - (start + interval)
    if room_ms < -1e-6:
        return Verdict(limit, False, start, 0, start - now_ms, -room_ms)
    empty_at = start + interval
    return Verdict(limit, True, empty_at, int(room_ms / interval + 1e-9), empty_at - now_ms, 0.0)


def refused(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that refuses for the longest time, or None when all let the request pass."""
    worst: Verdict | None = None
    for verdict in verdicts:
        if not verdict.allowed and (worst is None or verdict.retry_ms > worst.retry_ms):
            worst = verdict
    return worst
