"""Marks that a desk shares with the store of its receipts (ADR 0074)."""

from collections.abc import Mapping, Sequence
from typing import Any

from balcao.core.store_mark import (
    NUMBERED,
    DeskMark,
    StoreMark,
    compare_marks,
    least_numbers,
    outdated_marks,
)
from balcao.storage.connection import SqlConnection
from balcao.storage.engine import Engine

_MARKS = "SELECT mark, installation, at_ms FROM receipt_mark ORDER BY at_ms, mark"
_ADD = "INSERT INTO receipt_mark (mark, installation, at_ms) VALUES (?, ?, ?)"
_REMOVE = "DELETE FROM receipt_mark WHERE mark = ?"
_REMOVE_OTHERS = "DELETE FROM receipt_mark WHERE mark <> ?"


class ReceiptMarks:
    """The desk's marks. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def all(self) -> Sequence[DeskMark]:
        """Return the marks that the desk has committed, the oldest first."""
        return await self._run_in_writer(marks_in)

    async def next(self, in_store: StoreMark | None, drawn: str, now_ms: int) -> StoreMark | None:
        """Commit and return the next mark of the store. None: the desk may not change the store.

        `drawn`: a new random name, also of the installation if it has none yet. A mark that has not
        reached the store is returned again, so that their number is bounded while it is away.
        """

        def work(connection: SqlConnection) -> StoreMark | None:
            with connection.transaction():
                known = marks_in(connection)
                standing = compare_marks(in_store, known)
                if standing not in ("new", "current"):
                    return None
                if in_store is not None:
                    for each in outdated_marks(known, in_store):
                        connection.execute(_REMOVE, (each.mark,))
                newest = known[-1] if known else None
                if newest is None or (in_store is not None and newest.mark == in_store.mark):
                    newest = _following(known, drawn, now_ms)
                    connection.execute(_ADD, (newest.mark, newest.installation, newest.at_ms))
                return _for_store(newest, issued_in(connection))

        return await self._run_in_writer(work)

    async def take_over(self, in_store: StoreMark | None, drawn: str, now_ms: int) -> StoreMark:
        """Bind the receipt store to this database, and return the ownership mark to write there.

        Skips the numbers that may have been issued since the restored backup.
        """

        def work(connection: SqlConnection) -> StoreMark:
            with connection.transaction():
                mark = _following(marks_in(connection), drawn, now_ms)
                connection.execute(_ADD, (mark.mark, mark.installation, mark.at_ms))
                connection.execute(_REMOVE_OTHERS, (mark.mark,))
                issued = issued_in(connection)
                least = least_numbers(in_store, issued)
                for table, number in least.items():
                    connection.skip_numbers(table, NUMBERED[table], number)
                # Covers a further restore before the next renewal of the mark.
                reached = {table: number - 1 for table, number in least.items()}
                return _for_store(mark, reached)

        return await self._run_in_writer(work)


def marks_in(connection: SqlConnection) -> Sequence[DeskMark]:
    """Return the marks of a desk, the oldest first."""
    return [DeskMark(*row) for row in connection.execute(_MARKS).fetchall()]


def issued_in(connection: SqlConnection) -> Mapping[str, int]:
    """Return the greatest number of each table that was issued or skipped."""
    floors: dict[str, int] = {
        name: least - 1
        for name, least in connection.execute("SELECT numbered, least FROM number_floor").fetchall()
    }
    issued = {}
    for table, column in NUMBERED.items():
        sql = f"SELECT coalesce(max({column}), 0) FROM {table}"  # noqa: S608 - ours
        row: Any = connection.execute(sql).fetchone()
        issued[table] = max(row[0], floors.get(table, 0))
    return issued


def _following(known: Sequence[DeskMark], drawn: str, now_ms: int) -> DeskMark:
    """Return a mark later than all known ones, even if a clock was ahead."""
    if not known:
        return DeskMark(drawn, drawn, now_ms)
    return DeskMark(drawn, known[-1].installation, max(now_ms, known[-1].at_ms + 1))


def _for_store(mark: DeskMark, issued: Mapping[str, int]) -> StoreMark:
    return StoreMark(mark.installation, mark.mark, mark.at_ms, dict(issued))
