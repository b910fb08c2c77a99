"""Bars of the status page, and incidents (contract 17)."""

import random
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from balcao.core.availability import (
    FORGOTTEN_MS,
    MINUTE_MS,
    WELL_MS,
    Episode,
    SourceCounts,
    Standing,
    advance_episodes,
    bars,
    incidents,
    spans,
    standings,
    usual_minutes,
)
from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms

NOON = day_starts_ms(date(2026, 11, 12)) + 12 * HOUR_MS


def minute(
    number: int, asked: int, answered: int, *, uf: str = "SP", source: str = "a", away: int = 0
) -> SourceCounts:
    at_ms = NOON + number * MINUTE_MS
    return SourceCounts(at_ms, "state_registration", uf, source, asked, answered, away)


def followed(minutes: Sequence[SourceCounts], until: int) -> Sequence[Episode]:
    return advance_episodes((), minutes, NOON + until * MINUTE_MS)


def test_the_best_source_speaks_and_nobody_for_what_was_not_asked() -> None:
    place = ("state_registration", "SP")
    assert standings([]) == {}
    assert standings([minute(0, 10, 0), minute(0, 10, 10, source="b")])[place] == "ok"
    assert standings([minute(0, 10, 0), minute(0, 9, 9, source="b", uf="BR")])[place] == "ok"
    # Of one that failed, nobody says that all is down; who was turned away got nothing either.
    assert standings([minute(0, 1, 0)])[place] == "degraded"
    assert standings([minute(0, 1, 0, away=4)])[place] == "down"
    assert standings([minute(0, 20, 19)])[place] == "ok"


def test_an_incident_begins_with_the_first_failure_and_ends_with_the_first_answer() -> None:
    minutes = [minute(0, 1, 1), minute(2, 3, 0), minute(3, 0, 0, away=4), minute(9, 2, 2)]
    (going,) = followed(minutes, 20)
    assert (going.ended_ms, going.is_incident, going.standing) == (None, True, "down")
    (ended,) = advance_episodes([going], [minute(21, 5, 5)], NOON + 9 * MINUTE_MS + WELL_MS)
    assert (ended.began_ms, ended.ended_ms) == (NOON + 2 * MINUTE_MS, NOON + 9 * MINUTE_MS)
    assert ended.has_recovered
    # A failure soon after is still the same one.
    (again,) = advance_episodes([going], [minute(12, 2, 0)], NOON + 20 * MINUTE_MS)
    assert (again.began_ms, again.well_ms) == (going.began_ms, None)


def test_when_nobody_asks_any_more_the_end_is_not_claimed_to_be_known() -> None:
    minutes = [minute(0, 6, 0)]
    assert followed(minutes, 30)[0].ended_ms is None
    (forgotten,) = advance_episodes((), minutes, NOON + MINUTE_MS + FORGOTTEN_MS)
    assert forgotten.ended_ms == NOON + MINUTE_MS
    assert not forgotten.has_recovered


def test_a_few_odd_failures_are_no_incident() -> None:
    minutes = [minute(0, 1, 0), minute(1, 1, 0), minute(2, 1, 1)]
    assert incidents(followed(minutes, 10)) == []
    assert followed(minutes, 30) == []


def test_in_whatever_strokes_minutes_are_followed_the_incidents_are_the_same() -> None:
    chance = random.Random(17)
    minutes = [
        minute(number, asked, chance.choice([0, 0, asked, asked]), uf=uf)
        for number in range(0, 600, 3)
        for uf in ("SP", "MG")
        if (asked := chance.choice([0, 0, 0, 1, 4]))
    ]
    whole = {one for one in followed(minutes, 1000) if one.ended_ms is not None}
    assert len(whole) > 4
    going: Sequence[Episode] = ()
    ended: set[Episode] = set()
    begins_ms, end_ms = NOON, NOON + 1000 * MINUTE_MS
    while begins_ms < end_ms:
        until_ms = min(begins_ms + chance.randint(1, 40) * MINUTE_MS, end_ms)
        some = [one for one in minutes if begins_ms <= one.begins_ms < until_ms]
        known = advance_episodes(going, some, until_ms)
        going = [one for one in known if one.ended_ms is None]
        ended |= {one for one in known if one.ended_ms is not None}
        begins_ms = until_ms
    assert ended == whole


def test_ufs_that_fail_together_are_one_incident_whose_name_stays() -> None:
    sp, mg = [
        Episode("s", uf, NOON + at * MINUTE_MS, NOON, NOON, 9, 0, ended_ms)
        for uf, at, ended_ms in (("SP", 0, NOON + HOUR_MS), ("MG", 5, None))
    ]
    (alone,), (both,) = incidents([sp]), incidents([mg, sp])
    assert (both.subject, both.began_ms) == (alone.subject, alone.began_ms)
    assert (both.ufs, both.ended_ms) == (["MG", "SP"], None)
    other = Episode("s", "RJ", NOON + 11 * MINUTE_MS, NOON, NOON, 9, 0)
    assert [one.ufs for one in incidents([sp, mg, other])] == [["RJ"], ["MG", "SP"]]


def test_how_long_they_last_is_told_of_enough_of_them() -> None:
    def lasted(number: int, minutes: int) -> Episode:
        began_ms = NOON + number * HOUR_MS
        ended_ms = began_ms + minutes * MINUTE_MS
        return Episode("s", "", began_ms, began_ms, ended_ms, 9, 0, ended_ms)

    two = [lasted(0, 10), lasted(1, 50)]
    assert usual_minutes(incidents(two), "s") is None
    assert usual_minutes(incidents([*two, lasted(2, 20)]), "s") == 20


def test_bars_where_a_day_has_another_number_of_hours() -> None:
    # In 2018 clocks went forward at midnight of 4 November, and back on 18 February.
    for day, hours in ((date(2018, 11, 4), 23), (date(2018, 2, 17), 25), (date(2026, 11, 12), 24)):
        now_ms = day_starts_ms(day) + 5 * HOUR_MS
        days = spans("day", now_ms, 90)
        assert len(days) == 90
        assert days[-1] == (day_starts_ms(day), day_starts_ms(day) + hours * HOUR_MS)
        assert all(one[1] == following[0] for one, following in pairwise(days))
        assert civil_day(days[0][0]) == date.fromordinal(day.toordinal() - 89)


def test_a_bar_with_an_incident_in_it_is_not_well_and_one_nobody_asked_in_is_nothing() -> None:
    hours = spans("hour", NOON, 3)
    known: dict[int, list[Standing]] = {hours[0][0]: ["ok"], hours[1][0]: ["ok", "quiet"]}
    trouble = Episode("s", "", hours[1][0] + 1, hours[1][0], None, 9, 0, None)
    told = [one.standing for one in bars(hours, known, [trouble])]
    assert told == ["ok", "degraded", "quiet"]
