"""Files that take long to write, on any engine: asked for, written by a job, kept for some days.

One of each person: who asks for another one gives up the first. What a job has written of a file
that was given up meanwhile goes nowhere.
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
# Locks the file's row: who gives it up comes before, or finds the piece.
_WANTED = "UPDATE export SET rows = rows WHERE export_id = ? RETURNING 1"
_FINISH = "UPDATE export SET rows = ?, size_bytes = ?, attempt = ? WHERE export_id = ? RETURNING 1"
# In this order they go: a piece that comes meanwhile is found by the second.
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
    wanted: str  # JSON, by whoever writes it
    rows: int
    size_bytes: int | None  # of the file
    created_ms: int


def packed(content: bytes) -> bytes:
    """A piece as it is stored: a tenth of a table of texts."""
    return zlib.compress(content, 1)


class StoredExports:
    """The files of one desk. Everything here raises `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, new: StoredExport) -> None:
        """Ask for a file; the person's former one is gone."""

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

        await self._engine.in_turn(work)

    async def find(self, export_id: str) -> StoredExport | None:
        """One file. None: it was given up, or is gone."""
        rows = await self._run(_ONE, export_id)
        return StoredExport(*rows[0]) if rows else None

    async def of_user(self, account_id: int, user_id: int) -> StoredExport | None:
        """The file of this person, ready or not."""
        rows = await self._run(_OF_USER, account_id, user_id)
        return StoredExport(*rows[0]) if rows else None

    async def tell(self, export_id: str, rows: int) -> None:
        """How far it is."""
        await self._write("UPDATE export SET rows = ? WHERE export_id = ?", rows, export_id)

    async def keep(self, export_id: str, attempt: str, number: int, content: bytes) -> None:
        """One piece of what an attempt writes, `packed`; they are counted from 0.

        Of a file that was given up nothing is kept.
        """

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                if connection.execute(_WANTED, (export_id,)).fetchall():
                    connection.execute(_KEEP, (export_id, attempt, number, content))

        await self._engine.in_turn(work)

    async def finish(self, export_id: str, attempt: str, rows: int, size_bytes: int) -> None:
        """It is ready: what this attempt has kept. What others have kept goes."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                values = (rows, size_bytes, attempt, export_id)
                known = connection.execute(_FINISH, values).fetchall()
                connection.execute(
                    "DELETE FROM export_piece WHERE export_id = ? AND attempt <> ?",
                    (export_id, attempt if known else ""),
                )

        await self._engine.in_turn(work)

    def pieces(self, export_id: str) -> Iterator[bytes]:
        """Its content, one piece after another. In whatever thread."""
        number = 0
        while True:
            with self._engine.apart() as reading:
                row = reading.execute(_PIECE, (export_id, number)).fetchone()
            if row is None:
                return
            yield zlib.decompress(bytes(row[0]))
            number += 1

    async def purge(self, before_ms: int) -> int:
        """Remove those that were asked for before this instant. Count."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                old = connection.execute(_OLD, (before_ms,)).fetchall()
                for (export_id,) in old:
                    _remove(connection, export_id)
            return len(old)

        return await self._engine.in_turn(work)

    async def erase(self) -> None:
        """All of them, ready or not: somebody was erased who may be named in one."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                for table in _TABLES:
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608

        await self._engine.in_turn(work)

    async def _run(self, sql: str, *values: object) -> list[Any]:
        return await self._engine.in_turn(
            lambda connection: connection.execute(sql, values).fetchall()
        )

    async def _write(self, sql: str, *values: object) -> None:
        def work(connection: SqlConnection) -> None:
            connection.execute(sql, values)

        await self._engine.in_turn(work)


def _remove(connection: SqlConnection, export_id: str) -> None:
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE export_id = ?", (export_id,))  # noqa: S608
