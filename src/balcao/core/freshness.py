"""The decision between serving a cache entry and asking a source.

Specification, "Cache strategies"; contract 4.1, 4.2.
"""

import msgspec

from balcao.core.questions import Strategy

DAY_MS = 86_400_000

# Another node's clock may be slightly ahead of ours.
AHEAD_MS = 60_000


class CacheEntry(msgspec.Struct, frozen=True, gc=False):
    """A cache entry: a source's encoded answer, and when the source was asked."""

    body: bytes
    asked_ms: int
    source: str


def is_ahead(asked_ms: int, now_ms: int) -> bool:
    """Return whether an entry's time is in the future, by a wrong clock.

    Such an entry is never fresh, and any other answer replaces it.
    """
    return asked_ms > now_ms + AHEAD_MS


class Serve(msgspec.Struct, frozen=True, gc=False):
    """Serve the cache entry."""

    kept: CacheEntry


class Ask(msgspec.Struct, frozen=True, gc=False):
    """Ask a source. If all fail, `fallback` is served."""

    fallback: CacheEntry | None


# The strategies that read the cache before asking a source.
CACHE_FIRST = frozenset({Strategy.CACHE_SE_EXISTIR, Strategy.CACHE_PREFERENCIAL, Strategy.SO_CACHE})


def decide(
    kept: CacheEntry | None,
    strategy: Strategy,
    max_age_days: int,
    now_ms: int,
    *,
    error_fallback: bool = False,
) -> Serve | Ask:
    """Decide for one cache key.

    `CACHE_SE_EXISTIR` serves any age; `CACHE_PREFERENCIAL` an age within `max_age_days`;
    `ONLINE_PREFERENCIAL` uses such an entry as a fallback; `SO_ONLINE` has none. `error_fallback`
    makes an entry of any age a fallback, with every strategy.
    """
    if kept is None:
        return Ask(None)
    if strategy is Strategy.CACHE_SE_EXISTIR:
        return Serve(kept)
    # `cache=0` requires a fresh answer: not even an entry of this instant is served.
    young = max_age_days > 0 and now_ms - kept.asked_ms <= max_age_days * DAY_MS
    young = young and not is_ahead(kept.asked_ms, now_ms)
    if strategy is Strategy.CACHE_PREFERENCIAL and young:
        return Serve(kept)
    usable = error_fallback or (strategy is Strategy.ONLINE_PREFERENCIAL and young)
    return Ask(kept if usable else None)
