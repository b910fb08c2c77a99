"""Counts of sources' answers and incidents, on every engine (ADR 0058)."""

from dataclasses import replace

from balcao.core.availability import MINUTE_MS, Episode, SourceCounts, begins_ms
from balcao.core.calendar import HOUR_MS
from balcao.core.freshness import DAY_MS
from balcao.storage.desk.availability import MINUTES_KEPT_MS, SETTLED_MS
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.world import brasilia

LATE = brasilia("2026-11-12 23:40:00")
SINCE = (0, 0, 0, 0)


def row(at_ms: int, *counts: int, source: str = "a") -> SourceCounts:
    return SourceCounts(at_ms, "suframa", "", source, *counts)


def test_nodes_add_up_in_minutes_hours_and_days(engine: Engine, desk: Desk) -> None:
    other = engine.open()
    tomorrow = LATE + 20 * MINUTE_MS
    engine.run(desk.availability.add("live", [row(LATE, 3, 2, 1), row(tomorrow, 1, 1, 0)]))
    engine.run(other.availability.add("live", [row(LATE, 2, 2, 0), row(LATE, 1, 0, 0, source="b")]))
    engine.run(other.availability.add("test", [row(LATE, 7, 7, 0)]))
    seen = desk.availability.read("live", SINCE, tomorrow)
    b = row(LATE, 1, 0, 0, source="b")
    assert seen.minutes == [row(LATE, 5, 4, 1), b, row(tomorrow, 1, 1, 0)]
    hour, day = begins_ms("hour", LATE), begins_ms("day", LATE)
    assert [(one.begins_ms, one.asked) for one in seen.hours] == [
        (hour, 5), (hour, 1), (tomorrow, 1),
    ]  # fmt: skip
    assert [(one.begins_ms, one.asked) for one in seen.days] == [(day, 5), (day, 1), (tomorrow, 1)]
    # Counts written by a clock that was ahead are not shown before their time.
    assert desk.availability.read("live", SINCE, LATE).minutes == [row(LATE, 5, 4, 1), b]


def test_incidents_are_made_once_by_any_process(engine: Engine, desk: Desk) -> None:
    other = engine.open()
    settled = LATE + MINUTE_MS + SETTLED_MS
    engine.run(desk.availability.add("live", [row(LATE, 6, 0, 0)]))
    assert not engine.run(desk.availability.follow("live", settled - 1))
    assert desk.availability.read("live", SINCE, settled).episodes == []
    for each in (desk, other, desk):
        assert not engine.run(each.availability.follow("live", settled))
    going = Episode("suframa", "", LATE, LATE, None, 6, 0)
    assert desk.availability.read("live", SINCE, settled).episodes == [going]
    well = LATE + 3 * MINUTE_MS
    engine.run(other.availability.add("live", [row(well, 1, 1, 0)]))
    assert not engine.run(desk.availability.follow("live", LATE + HOUR_MS))
    ended = replace(going, well_ms=well, ended_ms=well)
    assert other.availability.read("live", SINCE, settled).episodes == [ended]
    assert other.availability.read("test", SINCE, settled).episodes == []


def test_a_clock_that_was_ahead_does_not_stop_incidents(engine: Engine, desk: Desk) -> None:
    ahead = LATE + 300 * DAY_MS
    engine.run(desk.availability.add("live", [row(ahead, 6, 0, 0)]))
    engine.run(desk.availability.follow("live", ahead + HOUR_MS))
    assert len(desk.availability.read("live", SINCE, ahead).episodes) == 1
    engine.run(desk.availability.follow("live", LATE))
    assert desk.availability.read("live", SINCE, ahead).episodes == []
    engine.run(desk.availability.add("live", [row(LATE, 6, 0, 0)]))
    engine.run(desk.availability.follow("live", LATE + HOUR_MS // 2))
    (found,) = desk.availability.read("live", SINCE, LATE).episodes
    assert found.began_ms == LATE


def test_minutes_are_purged_soon_and_the_rest_later(engine: Engine, desk: Desk) -> None:
    old = LATE - 100 * DAY_MS
    for at_ms in (old, LATE - MINUTES_KEPT_MS - HOUR_MS, LATE):
        engine.run(desk.availability.add("live", [row(at_ms, 6, 0, 0)]))
    while engine.run(desk.availability.follow("live", LATE + HOUR_MS)):
        pass
    while engine.run(desk.availability.purge(LATE, LATE - 92 * DAY_MS)):
        pass
    seen = desk.availability.read("live", SINCE, LATE)
    assert [len(each) for each in (seen.minutes, seen.hours, seen.days, seen.episodes)] == [
        1, 2, 2, 2,
    ]  # fmt: skip
