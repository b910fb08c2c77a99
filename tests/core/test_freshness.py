"""May what we keep be served? The tables of the specification, row by row.

Specification, "Cache strategies (state registrations, rural producer, company registry)" and
the parameters `cache` and `error_fallback`; contract 4.2 where it leaves something open.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.freshness import DAY_MS, Ask, CacheEntry, Serve, decide
from balcao.core.questions import Strategy

NOW = 1_785_000_000_000
HOUR_MS = 3_600_000

# Ages around every border: just asked, within a day, the last instant of the seventh day and
# the first after it, a year, half a minute in the future (another machine's clock), and more than a
# minute: that clock was wrong, and nobody knows when the source was asked.
AGES_MS = {
    "now": 0,
    "1 h": HOUR_MS,
    "1 day": DAY_MS,
    "1 day + 1 ms": DAY_MS + 1,
    "7 days": 7 * DAY_MS,
    "7 days + 1 ms": 7 * DAY_MS + 1,
    "365 days": 365 * DAY_MS,
    "366 days": 366 * DAY_MS,
    "from the future": -30_000,
    "far from the future": -60_001,
}

# Which of these ages are at most `cache` days. `cache=0` never matches by age.
YOUNG = {
    0: set[str](),
    1: {"now", "1 h", "1 day", "from the future"},
    7: {"now", "1 h", "1 day", "1 day + 1 ms", "7 days", "from the future"},
    365: set(AGES_MS) - {"366 days", "far from the future"},
}

# The specification of each strategy, for an entry that is young enough and for one
# that is too old: served at once, or a source is asked and the entry may stand in for it.
SERVE, ASK, ASK_WITH_FALLBACK = "serve", "ask", "ask, fall back"
TABLE = {
    #                               young              too old
    Strategy.CACHE_SE_EXISTIR: (SERVE, SERVE),  # "any stored result regardless of age"
    Strategy.CACHE_PREFERENCIAL: (SERVE, ASK),  # "within the age; otherwise queries online"
    Strategy.SO_ONLINE: (ASK, ASK),  # "always queries online; no cache fallback on failure"
    Strategy.ONLINE_PREFERENCIAL: (ASK_WITH_FALLBACK, ASK),  # "fallback: valid cache"
}


def kept(age_ms: int) -> CacheEntry:
    return CacheEntry(b"{}", NOW - age_ms, "serpro")


def said(decision: Serve | Ask, entry: CacheEntry) -> str:
    if isinstance(decision, Serve):
        assert decision.kept is entry
        return SERVE
    if decision.fallback is None:
        return ASK
    assert decision.fallback is entry
    return ASK_WITH_FALLBACK


@pytest.mark.parametrize(("strategy", "days", "age"), list(product(TABLE, YOUNG, AGES_MS)))
def test_each_strategy_at_each_age(strategy: Strategy, days: int, age: str) -> None:
    entry = kept(AGES_MS[age])
    expected = TABLE[strategy][0 if age in YOUNG[days] else 1]

    assert said(decide(entry, strategy, days, NOW), entry) == expected

    # "When true and the online source is unavailable, a cached result may be returned, whatever
    # the strategy": it changes what follows a failure, never whether a source is asked.
    with_fallback = decide(entry, strategy, days, NOW, error_fallback=True)
    assert said(with_fallback, entry) == (SERVE if expected == SERVE else ASK_WITH_FALLBACK)


@pytest.mark.parametrize(
    ("strategy", "days", "fallback"), list(product(TABLE, YOUNG, [False, True]))
)
def test_without_an_entry_a_source_is_asked(strategy: Strategy, days: int, fallback: bool) -> None:
    assert decide(None, strategy, days, NOW, error_fallback=fallback) == Ask(None)


@given(st.sampled_from(list(TABLE)), st.integers(0, 365), st.integers(-HOUR_MS, 400 * DAY_MS))
def test_a_more_patient_caller_is_never_asked_to_wait_longer(
    strategy: Strategy, days: int, age_ms: int
) -> None:
    """A larger `cache` serves at least what a smaller one serves; so does a younger entry, but for
    one that is younger than this instant."""
    order = {ASK: 0, ASK_WITH_FALLBACK: 1, SERVE: 2}
    entry, younger = kept(age_ms), kept(max(age_ms - HOUR_MS, min(age_ms, 0)))
    here = order[said(decide(entry, strategy, days, NOW), entry)]
    assert here <= order[said(decide(entry, strategy, days + 1, NOW), entry)]
    assert here <= order[said(decide(younger, strategy, days, NOW), younger)]
