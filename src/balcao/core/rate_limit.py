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


def spend(limit: Limit, empty_at_ms: float, now_ms: float) -> Verdict:
    """Put one request into a bucket, or find that there is no room for it.

    All the arithmetic of limits. `empty_at_ms`: as it is stored, 0 of a bucket that is new.
    """
    window_ms = limit.window_ms
    interval_ms = window_ms / limit.quota
    # Idle time is not saved up: a bucket can be empty, never emptier. Nor can it be fuller
    # than full: by more than clocks of nodes may differ, no clock that is right has written that
    # (contract 9.8), and it says nothing.
    full = now_ms + window_ms
    if now_ms < empty_at_ms <= full + SMALL_MS:
        start = empty_at_ms if empty_at_ms < full else full
    else:
        start = now_ms
    empty_at = start + interval_ms
    room_ms = full - empty_at
    if room_ms < -1e-6:  # more than what rounding leaves over
        return Verdict(limit, False, start, 0, start - now_ms, -room_ms)
    remaining = int(room_ms / interval_ms + 1e-9) if room_ms > 0 else 0
    return Verdict(limit, True, empty_at, remaining, empty_at - now_ms, 0.0)


def all_allow(verdicts: Sequence[Verdict]) -> bool:
    """Whether no limit refuses."""
    for verdict in verdicts:  # noqa: SIM110 - a generator costs as much as all the rest of it
        if not verdict.allowed:
            return False
    return True


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
