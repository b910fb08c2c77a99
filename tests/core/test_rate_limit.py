"""The limiter allows its quota, and its wait is exact."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.rate_limit import Limit, Verdict, refused, spend

NOW = 1_785_000_000_000
MINUTE = 60_000
DAY = 86_400_000

# The plans' own numbers among them; 172.8 ms per request is no whole number.
limits = st.one_of(
    st.sampled_from(
        [Limit("minuto", 20, MINUTE), Limit("minuto", 1_200, MINUTE), Limit("dia", 500_000, DAY)]
    ),
    st.builds(Limit, st.just("minuto"), st.integers(1, 50), st.sampled_from([1_000, MINUTE, DAY])),
)
small_limits = st.builds(
    Limit, st.just("minuto"), st.integers(1, 12), st.sampled_from([1_000, MINUTE, DAY])
)


def send(limit: Limit, instants: list[int]) -> list[Verdict]:
    """One request at each instant; the verdicts."""
    stored, verdicts = 0.0, []
    for now in instants:
        verdict = spend(limit, stored, now)
        stored = verdict.empty_at_ms
        verdicts.append(verdict)
    return verdicts


def test_the_whole_quota_may_come_at_once_and_then_one_per_interval() -> None:
    limit = Limit("minuto", 20, MINUTE)
    verdicts = send(limit, [NOW] * 21)
    assert [verdict.allowed for verdict in verdicts] == [True] * 20 + [False]
    assert [verdict.remaining for verdict in verdicts] == [*range(19, -1, -1), 0]
    assert verdicts[20].retry_ms == 3_000

    stored = verdicts[20].empty_at_ms
    assert not spend(limit, stored, NOW + 2_999).allowed
    assert spend(limit, stored, NOW + 3_000).allowed


def test_a_refused_request_costs_nothing() -> None:
    limit = Limit("minuto", 2, MINUTE)
    patient = send(limit, [NOW, NOW, NOW + 30_000])
    stubborn = send(limit, [NOW, NOW, *range(NOW, NOW + 30_000, 1_000), NOW + 30_000])
    assert patient[-1] == stubborn[-1]
    assert stubborn[-1].allowed


def test_idle_time_is_not_saved_up() -> None:
    limit = Limit("minuto", 3, MINUTE)
    verdicts = send(limit, [NOW] + [NOW + 10 * DAY] * 4)
    assert [verdict.allowed for verdict in verdicts] == [True] * 4 + [False]


def test_reset_says_when_the_whole_quota_is_there_again() -> None:
    limit = Limit("minuto", 3, MINUTE)
    (*_, verdict) = send(limit, [NOW, NOW])
    assert verdict.reset_ms == 40_000
    assert spend(limit, verdict.empty_at_ms, NOW + 40_000).remaining == 2
    assert spend(limit, verdict.empty_at_ms, NOW + 39_999).remaining == 1


@given(small_limits, st.lists(st.integers(0, 30), max_size=60))
def test_no_window_ever_sees_more_than_quota_and_refill(limit: Limit, steps: list[int]) -> None:
    """Steps are thirds of an interval: callers who come when there is just room, or not yet."""
    interval = limit.window_ms / limit.quota
    now, passed = NOW, []
    stored = 0.0
    for step in steps:
        now += round(step * interval / 3)
        verdict = spend(limit, stored, now)
        stored = verdict.empty_at_ms
        if verdict.allowed:
            passed.append(now)
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            elapsed = passed[last] - start
            assert last - first + 1 <= limit.quota + elapsed / interval + 1e-6


@given(limits, st.lists(st.integers(0, 100_000), max_size=30))
def test_retry_after_is_truthful_and_not_longer_than_needed(limit: Limit, steps: list[int]) -> None:
    stored, now = float(NOW + limit.window_ms), NOW  # a full bucket
    for step in steps:
        verdict = spend(limit, stored, now)
        stored = verdict.empty_at_ms
        if not verdict.allowed:
            assert verdict.retry_ms > 0
            after = math.ceil(verdict.retry_ms)
            assert spend(limit, stored, now + after).allowed
            assert not spend(limit, stored, now + after - 2).allowed
        else:
            assert verdict.retry_ms == 0
        now += step


@given(limits, st.integers(0, 100_000_000))
def test_remaining_requests_may_follow_at_once_and_then_no_more(limit: Limit, behind: int) -> None:
    stored = float(NOW + limit.window_ms - behind % limit.window_ms)
    verdict = spend(limit, stored, NOW)
    if verdict.allowed and verdict.remaining <= 100:
        followers = []
        for _ in range(verdict.remaining + 1):
            follower = spend(limit, verdict.empty_at_ms, NOW)
            verdict = follower
            followers.append(follower.allowed)
        assert followers == [True] * (len(followers) - 1) + [False]


@given(limits, st.integers(1, 400 * DAY), st.integers(1, 60))
def test_a_clock_set_back_locks_nobody_out_for_longer_than_a_window(
    limit: Limit, back_ms: int, before: int
) -> None:
    (*_, last) = send(limit, [NOW] * before)
    now = NOW - back_ms
    first = spend(limit, last.empty_at_ms, now)
    assert first.reset_ms <= limit.window_ms
    assert first.retry_ms <= limit.window_ms
    if not first.allowed:
        again = spend(limit, first.empty_at_ms, now + math.ceil(first.retry_ms))
        assert again.allowed


@pytest.mark.parametrize("back_ms", [1, 5_000])
def test_clocks_of_nodes_that_differ_a_little_give_no_second_quota(back_ms: int) -> None:
    limit = Limit("minuto", 5, MINUTE)
    (*_, last) = send(limit, [NOW] * 5)
    assert not spend(limit, last.empty_at_ms, NOW - back_ms).allowed


@pytest.mark.parametrize("limit", [Limit("minuto", 30, MINUTE), Limit("dia", 500, DAY)])
def test_a_clock_that_was_a_day_ahead_leaves_the_whole_quota(limit: Limit) -> None:
    """No clock that is right has written an instant later than now and the window (9.8)."""
    (*_, ahead) = send(limit, [NOW + DAY] * limit.quota)
    verdicts, stored = [], ahead.empty_at_ms
    for _ in range(limit.quota + 1):
        verdict = spend(limit, stored, NOW)
        stored = verdict.empty_at_ms
        verdicts.append(verdict.allowed)
    assert verdicts == [True] * limit.quota + [False]


def said_plainly(limit: Limit, empty_at_ms: float, now_ms: float) -> Verdict:
    """The rule as it reads (contract 7.2, 9.8), step by step."""
    interval = limit.window_ms / limit.quota
    full = now_ms + limit.window_ms
    believed = now_ms < empty_at_ms <= full + 5_000
    start = min(empty_at_ms if believed else now_ms, full)
    room = full - (start + interval)
    if room < -1e-6:
        return Verdict(limit, False, start, 0, start - now_ms, -room)
    remaining = int(room / interval + 1e-9)
    return Verdict(limit, True, start + interval, remaining, start + interval - now_ms, 0.0)


@given(
    quota=st.integers(1, 1_000_000),
    window_ms=st.sampled_from([1_000, MINUTE, DAY]),
    steps=st.lists(
        st.one_of(
            st.integers(0, 100),
            st.integers(-10_000, 10_000),  # clocks of nodes, about what they may differ
            st.integers(-3 * DAY, 3 * DAY),  # a clock that is set
            st.floats(0, 100_000),
        ),
        max_size=40,
    ),
    stored=st.floats(-2 * DAY, 2 * DAY),
)
def test_the_quick_arithmetic_says_what_the_rule_says(
    quota: int, window_ms: int, steps: list[float], stored: float
) -> None:
    """On any clock: the same verdict, and the same instant stored, to the last bit."""
    limit = Limit("minuto", quota, window_ms)
    now, empty_at = float(NOW), NOW + stored
    for step in steps:
        now += step
        expected = said_plainly(limit, empty_at, now)
        assert spend(limit, empty_at, now) == expected
        empty_at = expected.empty_at_ms


def test_the_longest_wait_is_the_one_that_is_told() -> None:
    minute = send(Limit("minuto", 1, MINUTE), [NOW, NOW])[-1]
    day = send(Limit("dia", 1, DAY), [NOW, NOW])[-1]
    free = send(Limit("chave-minuto", 5, MINUTE), [NOW])[-1]
    assert refused([minute, day, free]) == day
    assert refused([free]) is None
    assert refused([]) is None
