"""May the answer we keep be served, or must a source be asked?

Specification, "Cache strategies"; contract 4.1, 4.2.
"""

import msgspec

from balcao.core.questions import Strategy

DAY_MS = 86_400_000

# Another machine may have written an entry with a clock that is slightly ahead of ours.
AHEAD_MS = 60_000


class Kept(msgspec.Struct, frozen=True, gc=False):
    """An entry of the cache: a source's answer, encoded, and when the source was asked."""

    body: bytes
    asked_ms: int
    source: str


def is_ahead(asked_ms: int, now_ms: int) -> bool:
    """Whether an entry was stamped by a clock that was wrong: it is no fresh one, ever.

    Nor is it newer than any other: the next answer takes its place.
    """
    return asked_ms > now_ms + AHEAD_MS


class Serve(msgspec.Struct, frozen=True, gc=False):
    """Deliver what we keep."""

    kept: Kept


class Ask(msgspec.Struct, frozen=True, gc=False):
    """Ask a source; `fallback` may still be delivered if nobody answers."""

    fallback: Kept | None


# The strategies that look at what we keep before anybody is asked.
CACHE_FIRST = frozenset({Strategy.CACHE_SE_EXISTIR, Strategy.CACHE_PREFERENCIAL, Strategy.SO_CACHE})


def decide(
    kept: Kept | None,
    strategy: Strategy,
    max_age_days: int,
    now_ms: int,
    *,
    error_fallback: bool = False,
) -> Serve | Ask:
    """Decide for one key.

    `CACHE_SE_EXISTIR` serves any age; `CACHE_PREFERENCIAL` an age within `max_age_days`;
    `ONLINE_PREFERENCIAL` keeps such an entry as a fallback; `SO_ONLINE` has none.
    `error_fallback` makes an entry of any age a fallback, whatever the strategy.
    """
    if kept is None:
        return Ask(None)
    if strategy is Strategy.CACHE_SE_EXISTIR:
        return Serve(kept)
    # `cache=0` asks for a fresh answer: not even an entry of this very instant matches.
    young = max_age_days > 0 and now_ms - kept.asked_ms <= max_age_days * DAY_MS
    young = young and not is_ahead(kept.asked_ms, now_ms)
    if strategy is Strategy.CACHE_PREFERENCIAL and young:
        return Serve(kept)
    usable = error_fallback or (strategy is Strategy.ONLINE_PREFERENCIAL and young)
    return Ask(kept if usable else None)
