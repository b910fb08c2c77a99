"""Rate limiting by the generic cell rate algorithm: one stored instant per limit.

Times are milliseconds since 1970. A limit allows `quota` requests at once and then one more every
`window / quota`; the stored instant is when the bucket will be empty again.
"""

from collections.abc import Sequence

import msgspec

from balcao.core.access import Caller
from balcao.core.clock import SMALL_MS


class Limit(msgspec.Struct, frozen=True, cache_hash=True):
    """A limit of `quota` requests per `window_ms`."""

    name: str  # in the RateLimit headers: "minuto", "dia", "chave-minuto", "chave-dia"
    quota: int
    window_ms: int
    of_key: bool = False  # counted by key, not by account


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The decision of one limit about one request."""

    limit: Limit
    allowed: bool
    empty_at_ms: float  # to be stored, whether the request is allowed or not
    remaining: int  # requests that could follow at once
    reset_ms: float  # until the whole quota is available again
    retry_ms: float  # 0, or the time until this limit allows the request


def spend(limit: Limit, empty_at_ms: float, now_ms: float) -> Verdict:
    """Add one request to a limit's bucket if it fits, and return the decision.

    `empty_at_ms`: the stored value, 0 for a new bucket.
    """
    window_ms = limit.window_ms
    interval_ms = window_ms / limit.quota
    # Idle time is not accumulated: a stored instant in the past counts as now. One that is too far
    # in the future for the allowed difference of clocks (contract 9.8) is ignored.
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
    """Return whether all limits allow the request."""
    for verdict in verdicts:  # noqa: SIM110 - a generator would double the cost
        if not verdict.allowed:
            return False
    return True


def bucket_of(limit: Limit, caller: Caller) -> str:
    """Return the name of a caller's bucket for a limit, the same in every engine."""
    return f"{limit.name}:{caller.key_id if limit.of_key else caller.account_id}"


def refused(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the refusal with the longest wait, or None if all limits allow the request."""
    worst: Verdict | None = None
    for verdict in verdicts:
        if not verdict.allowed and (worst is None or verdict.retry_ms > worst.retry_ms):
            worst = verdict
    return worst
