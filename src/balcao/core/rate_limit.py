"""Rate limiting by the generic cell rate algorithm: one stored instant per limit.

Times are milliseconds since 1970. A limit lets `quota` requests come at once and then one
more every `window / quota`; the stored instant is when the bucket will be empty again.
"""

from collections.abc import Sequence

import msgspec

from balcao.core.access import Caller
from balcao.core.clock import SMALL_MS


class Limit(msgspec.Struct, frozen=True, cache_hash=True):
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


def spent(quota: int, window_ms: int, empty_at_ms: float, now_ms: float) -> tuple[float, float]:
    """Put one request into a bucket of `quota` per window, or find that there is no room for it.

    All the arithmetic of limits, on bare numbers. Returns the instant to store and the room that
    is left, in milliseconds; below 0 the request is refused, and so much later it is not.
    """
    # Idle time is not saved up: a bucket can be empty, never emptier. Nor can it be fuller
    # than full: by more than clocks of nodes may differ, no clock that is right has written that
    # (decisions 9.8), and it says nothing.
    full = now_ms + window_ms
    if now_ms < empty_at_ms <= full + SMALL_MS:
        start = empty_at_ms if empty_at_ms < full else full
    else:
        start = now_ms
    empty_at = start + window_ms / quota
    room_ms = full - empty_at
    if room_ms < -1e-6:  # more than what rounding leaves over
        return start, room_ms
    return empty_at, room_ms if room_ms > 0 else 0.0


def spend(limit: Limit, empty_at_ms: float, now_ms: float) -> Verdict:
    """The same for a limit, with all that follows for whoever sent the request."""
    quota, window_ms = limit.quota, limit.window_ms
    empty_at, room_ms = spent(quota, window_ms, empty_at_ms, now_ms)
    if room_ms < 0:
        return Verdict(limit, False, empty_at, 0, empty_at - now_ms, -room_ms)
    remaining = int(room_ms / (window_ms / quota) + 1e-9)
    return Verdict(limit, True, empty_at, remaining, empty_at - now_ms, 0.0)


def bucket_of(limit: Limit, caller: Caller) -> str:
    """The name under which a caller's requests are counted against a limit, in every engine."""
    return f"{limit.name}:{caller.key_id if limit.of_key else caller.account_id}"


def refused(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that refuses for the longest time, or None when all let the request pass."""
    worst: Verdict | None = None
    for verdict in verdicts:
        if not verdict.allowed and (worst is None or verdict.retry_ms > worst.retry_ms):
            worst = verdict
    return worst
