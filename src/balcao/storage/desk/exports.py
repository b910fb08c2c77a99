"""Files that take long to write, on any engine: requested, written by a job, kept for some days.

One per user: a new request replaces the former file. Pieces of a replaced file are not stored.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from balcao.core.ledger import Enqueue
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.jobs import enqueue
from balcao.storage.engine import Engine

EXPORT = "export"  # the kind of its job

ExportForm: TypeAlias = Literal["csv", "xlsx"]

_COLUMNS = "export_id, account_id, user_id, form, name, wanted, rows, size_bytes, created_ms"
_ONE = f"SELECT {_COLUMNS} FROM export WHERE export_id = ?"  # noqa: S608 - columns of ours
_OF_USER = f"SELECT {_COLUMNS} FROM export WHERE account_id = ? AND user_id = ?"  # noqa: S608
_BEGIN = f"INSERT INTO export ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 0, NULL, ?)"  # noqa: S608
_PIECE = (
    "SELECT content FROM export_piece JOIN export USING (export_id, attempt)"
    " WHERE export_id = ? AND number = ?"
)
_KEEP = "INSERT INTO export_piece (export_id, attempt, number, content) VALUES (?, ?, ?, ?)"
# Locks the file's row, so that a deletion comes before it, or deletes the new piece too.
_WANTED = "UPDATE export SET rows = rows WHERE export_id = ? RETURNING 1"
_FINISH = "UPDATE export SET rows = ?, size_bytes = ?, attempt = ? WHERE export_id = ? RETURNING 1"
# In the order of deletion: the second one finds pieces that are stored meanwhile.
_TABLES = ("export", "export_piece")
_OLD = "SELECT export_id FROM export WHERE created_ms < ?"


@dataclass(frozen=True, slots=True)
class StoredExport:
    """One file. `size_bytes` is None until it is ready."""

    export_id: str
    account_id: int
    user_id: int
    form: ExportForm
    name: str
    wanted: str  # the request, JSON, for the job
    rows: int
    size_bytes: int | None
    created_ms: int


def packed(content: bytes) -> bytes:
    """Return a piece compressed for storage, to about a tenth for tables of text."""
    return zlib.compress(content, 1)


class StoredExports:
    """The exports of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, new: StoredExport) -> None:
        """Request a file, replacing the user's former one."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                for (former,) in connection.execute(
                    "SELECT export_id FROM export WHERE account_id = ? AND user_id = ?",
                    (new.account_id, new.user_id),
                ).fetchall():
                    _remove(connection, former)
                connection.execute(
                    _BEGIN,
                    (
                        new.export_id, new.account_id, new.user_id, new.form, new.name, new.wanted,
                        new.created_ms,
                    ),
                )  # fmt: skip
                enqueue(connection, [Enqueue(EXPORT, new.export_id, new.created_ms)])

        await self._engine.run_in_writer(work)

    async def find(self, export_id: str) -> StoredExport | None:
        """Return a file. None: it was replaced or purged."""
        rows = await self._run(_ONE, export_id)
        return StoredExport(*rows[0]) if rows else None

    async def of_user(self, account_id: int, user_id: int) -> StoredExport | None:
        """Return the file of a user, ready or not."""
        rows = await self._run(_OF_USER, account_id, user_id)
        return StoredExport(*rows[0]) if rows else None

    async def report_progress(self, export_id: str, rows: int) -> None:
        """Store the number of rows written so far."""
        await self._write("UPDATE export SET rows = ? WHERE export_id = ?", rows, export_id)

    async def keep(self, export_id: str, attempt: str, number: int, content: bytes) -> None:
        """Store a `packed` piece of an attempt, numbered from 0; nothing if the file is gone."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                if connection.execute(_WANTED, (export_id,)).fetchall():
                    connection.execute(_KEEP, (export_id, attempt, number, content))

        await self._engine.run_in_writer(work)

    async def finish(self, export_id: str, attempt: str, rows: int, size_bytes: int) -> None:
        """Mark the file as ready with the pieces of this attempt; delete those of others."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                values = (rows, size_bytes, attempt, export_id)
                known = connection.execute(_FINISH, values).fetchall()
                connection.execute(
                    "DELETE FROM export_piece WHERE export_id = ? AND attempt <> ?",
                    (export_id, attempt if known else ""),
                )

        await self._engine.run_in_writer(work)

    def pieces(self, export_id: str) -> Iterator[bytes]:
        """Yield the content piece by piece. In any thread."""
        number = 0
        while True:
            with self._engine.open_reader() as reading:
                row = reading.execute(_PIECE, (export_id, number)).fetchone()
            if row is None:
                return
            yield zlib.decompress(bytes(row[0]))
            number += 1

    async def purge(self, before_ms: int) -> int:
        """Delete files requested before an instant. Return the count."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                old = connection.execute(_OLD, (before_ms,)).fetchall()
                for (export_id,) in old:
                    _remove(connection, export_id)
            return len(old)

        return await self._engine.run_in_writer(work)

    async def erase(self) -> None:
        """Delete all files, ready or not: they may name a person whose data is being erased."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                for table in _TABLES:
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608

        await self._engine.run_in_writer(work)

    async def _run(self, sql: str, *values: object) -> list[Any]:
        return await self._engine.run_in_writer(
            lambda connection: connection.execute(sql, values).fetchall()
        )

    async def _write(self, sql: str, *values: object) -> None:
        def work(connection: SqlConnection) -> None:
            connection.execute(sql, values)

        await self._engine.run_in_writer(work)


def _remove(connection: SqlConnection, export_id: str) -> None:
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE export_id = ?", (export_id,))  # noqa: S608
