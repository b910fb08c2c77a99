"""Counts of sources' answers by minute, hour and day, and incidents, on any engine (ADR 0058).

All processes add their counts to the same rows. Hours and days are updated in the same commit, so
that late counts need no special treatment. Any process makes incidents of completed minutes.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from balcao.core.availability import (
    MINUTE_MS,
    Episode,
    SourceCounts,
    Span,
    advance_episodes,
    begins_ms,
)
from balcao.core.calendar import HOUR_MS
from balcao.core.questions import Mode
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.engine import Engine

# Each process writes once a minute: after this time a minute counts as complete. Later counts are
# still shown in the bars.
SETTLED_MS = 2 * MINUTE_MS
# How much one commit catches up after a long pause.
FOLLOWED_AT_ONCE_MS = HOUR_MS
MINUTES_KEPT_MS = 48 * HOUR_MS
# A mark this far ahead was made by a clock that was wrong.
_AHEAD_MS = 10 * MINUTE_MS
_ROWS_PER_STATEMENT = 64

_COLUMNS = "begins_ms, subject, uf, source, asked, answered, turned_away"
_OF_EPISODE = "subject, uf, began_ms, failed_ms, well_ms, wanted, answered, ended_ms"
_COUNTS = (
    f"SELECT {_COLUMNS} FROM availability_count WHERE mode = ? AND span = ?"  # noqa: S608 - ours
    " AND begins_ms >= ? AND begins_ms < ? ORDER BY begins_ms, subject, uf, source"
)
_EPISODES = (
    f"SELECT {_OF_EPISODE} FROM availability_episode WHERE mode = ?"  # noqa: S608
    " AND (began_ms >= ? OR ended_ms IS NULL)"
    " ORDER BY began_ms, subject, uf"
)
_UNDER_WAY = (
    f"SELECT {_OF_EPISODE} FROM availability_episode WHERE mode = ?"  # noqa: S608 - ours
    " AND ended_ms IS NULL"
)
_FORGET_UNDER_WAY = "DELETE FROM availability_episode WHERE mode = ? AND ended_ms IS NULL"
_KEEP = (
    f"INSERT INTO availability_episode (mode, {_OF_EPISODE})"  # noqa: S608 - columns of ours
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (mode, subject, uf, began_ms) DO NOTHING"
)
_MARKED = "SELECT followed_ms FROM availability_mark WHERE mode = ?"
_NOTHING_YET = (
    "INSERT INTO availability_mark (mode, followed_ms) VALUES (?, 0) ON CONFLICT (mode) DO NOTHING"
)
# Read and locked, so that one process at a time continues.
_LOCK = (
    "UPDATE availability_mark SET followed_ms = followed_ms WHERE mode = ? RETURNING followed_ms"
)
_MARK = "UPDATE availability_mark SET followed_ms = ? WHERE mode = ?"
_NEXT = (
    "SELECT min(begins_ms) FROM availability_count WHERE mode = ? AND span = 'minute'"
    " AND begins_ms >= ?"
)
_OLDEST = "SELECT min(begins_ms) FROM availability_count WHERE mode = ? AND span = ?"
_PURGE = "DELETE FROM availability_count WHERE mode = ? AND span = ? AND begins_ms < ? RETURNING 1"
_PURGE_EPISODES = "DELETE FROM availability_episode WHERE ended_ms < ? RETURNING 1"

_MODES: Sequence[Mode] = ("live", "test")


@dataclass(frozen=True, slots=True)
class AvailabilityRecord:
    """Counts of calls, and incidents, of live or sandbox sources, oldest first."""

    minutes: Sequence[SourceCounts]
    hours: Sequence[SourceCounts]
    days: Sequence[SourceCounts]
    episodes: Sequence[Episode]


class Availability:
    """The counts and incidents of a desk. Methods that write raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader: OpenReader = engine.open_reader

    async def add(self, mode: Mode, minutes: Sequence[SourceCounts]) -> None:
        """Add a process's counts to the minutes, hours and days, in one commit."""
        rows = [
            (mode, span, *row)
            for span in ("day", "hour", "minute")
            for row in _by_span(span, minutes)
        ]

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                # In the order of the key, so that nodes writing at the same time cannot deadlock.
                _add(connection, sorted(rows))

        if rows:
            await self._run_in_writer(work)

    async def follow(self, mode: Mode, now_ms: int) -> bool:
        """Update episodes by the minutes that are over. True: call again, there are more."""
        until_ms = begins_ms("minute", now_ms - SETTLED_MS)

        def work(connection: SqlConnection) -> bool:
            if not _is_behind(connection, mode, until_ms):
                return False  # avoid an empty commit
            with connection.transaction():
                return _follow(connection, mode, until_ms)

        return await self._run_in_writer(work)

    def read(self, mode: Mode, since: Sequence[int], now_ms: int) -> AvailabilityRecord:
        """Read minutes, hours, days and episodes since these four instants. In any thread.

        Takes milliseconds for a few sources, and tenths of a second for every UF of all.
        """
        from_minute, from_hour, from_day, from_episode = since
        with self._open_reader() as reading, reading.snapshot():
            minutes = _read(reading, mode, "minute", from_minute, now_ms + 1)
            hours = _read(reading, mode, "hour", from_hour, now_ms + 1)
            days = _read(reading, mode, "day", from_day, now_ms + 1)
            known: Any = reading.execute(_EPISODES, (mode, from_episode)).fetchall()
        return AvailabilityRecord(minutes, hours, days, [Episode(*row) for row in known])

    async def purge(self, now_ms: int, before_ms: int) -> int:
        """Remove some minutes older than two days, and hours, days and incidents before an instant.

        Returns the count; 0: none are left.
        """

        def work(connection: SqlConnection) -> int:
            count = 0
            for mode in _MODES:
                for span, kept_from_ms, stride_ms in (
                    ("minute", now_ms - MINUTES_KEPT_MS, HOUR_MS),
                    ("hour", before_ms, 24 * HOUR_MS),
                    ("day", before_ms, 24 * HOUR_MS),
                ):
                    oldest: Any = connection.execute(_OLDEST, (mode, span)).fetchall()
                    if oldest and oldest[0][0] is not None and oldest[0][0] < kept_from_ms:
                        end_ms = min(kept_from_ms, oldest[0][0] + stride_ms)
                        gone = connection.execute(_PURGE, (mode, span, end_ms)).fetchall()
                        count += len(gone)
            ended = connection.execute(_PURGE_EPISODES, (before_ms,)).fetchall()
            return count + len(ended)

        return await self._run_in_writer(work)


def _by_span(span: Span, minutes: Sequence[SourceCounts]) -> Sequence[SourceCounts]:
    sums: dict[tuple[int, str, str, str], list[int]] = {}
    for row in minutes:
        key = (begins_ms(span, row.begins_ms), row.subject, row.uf, row.source)
        known = sums.setdefault(key, [0, 0, 0])
        for place, number in enumerate((row.asked, row.answered, row.turned_away)):
            known[place] += number
    return [SourceCounts(*key, *numbers) for key, numbers in sums.items()]


def _add(connection: SqlConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        some = rows[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(some))
        connection.execute(
            f"INSERT INTO availability_count (mode, span, {_COLUMNS}) VALUES {marks}"  # noqa: S608
            " ON CONFLICT (mode, span, begins_ms, subject, uf, source) DO UPDATE SET"
            " asked = availability_count.asked + excluded.asked,"
            " answered = availability_count.answered + excluded.answered,"
            " turned_away = availability_count.turned_away + excluded.turned_away",
            [value for row in some for value in row],
        )


def _read(
    connection: SqlConnection, mode: Mode, span: Span, from_ms: int, to_ms: int
) -> Sequence[SourceCounts]:
    rows: Any = connection.execute(_COUNTS, (mode, span, from_ms, to_ms)).fetchall()
    return [SourceCounts(*row) for row in rows]


def _is_behind(connection: SqlConnection, mode: Mode, until_ms: int) -> bool:
    marked: Any = connection.execute(_MARKED, (mode,)).fetchall()
    followed_ms = marked[0][0] if marked else 0
    if followed_ms > until_ms:
        return bool(followed_ms > until_ms + _AHEAD_MS)
    if connection.execute(_UNDER_WAY, (mode,)).fetchall():
        return True
    ((next_ms,),) = connection.execute(_NEXT, (mode, followed_ms)).fetchall()
    return next_ms is not None and next_ms < until_ms


def _follow(connection: SqlConnection, mode: Mode, until_ms: int) -> bool:
    connection.execute(_NOTHING_YET, (mode,))
    ((followed_ms,),) = connection.execute(_LOCK, (mode,)).fetchall()
    if followed_ms > until_ms + _AHEAD_MS:
        # The clock was ahead: drop incidents of the future, and continue from now on.
        connection.execute(
            "DELETE FROM availability_episode WHERE mode = ? AND began_ms >= ?", (mode, until_ms)
        )
        connection.execute(_MARK, (until_ms, mode))
        return False
    if followed_ms >= until_ms:
        return False
    rows: Any = connection.execute(_UNDER_WAY, (mode,)).fetchall()
    ((next_ms,),) = connection.execute(_NEXT, (mode, followed_ms)).fetchall()
    first_ms = until_ms if next_ms is None else min(next_ms, until_ms)
    end_ms = min(until_ms, first_ms + FOLLOWED_AT_ONCE_MS)
    minutes = _read(connection, mode, "minute", first_ms, end_ms)
    episodes = advance_episodes((Episode(*row) for row in rows), minutes, end_ms)
    connection.execute(_FORGET_UNDER_WAY, (mode,))
    for episode in episodes:
        connection.execute(_KEEP, (mode, *astuple(episode)))
    connection.execute(_MARK, (end_ms, mode))
    return end_ms < until_ms
