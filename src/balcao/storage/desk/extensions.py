"""The operators' table of acts that extend certificates, on any engine (contract 4.12)."""

from collections.abc import Sequence
from typing import Any

from balcao.core.extensions import Extension
from balcao.core.ledger import Enqueue
from balcao.core.people import Action, Signature
from balcao.core.writing import day
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.wallet.paper_acts import APPLY_ACTS, job_about
from balcao.storage.engine import Engine

_COLUMNS = "subject, uf, issued_from, issued_to, until_day, days, act"
_ALL = (
    f"SELECT {_COLUMNS}, extension_id, added_ms FROM certificate_extension"  # noqa: S608 - ours
    " ORDER BY issued_from DESC, extension_id DESC"
)
_ADD = (
    f"INSERT INTO certificate_extension ({_COLUMNS}, added_ms)"  # noqa: S608 - columns of ours
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING extension_id"
)
_REMOVE = (
    "DELETE FROM certificate_extension WHERE extension_id = ?"  # noqa: S608 - columns of ours
    f" RETURNING {_COLUMNS}, extension_id, added_ms"
)


class Extensions:
    """The acts, which are added and removed but never changed."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.connection
        self._open_reader = engine.open_reader
        self._run_in_writer = engine.run_in_writer

    def all(self) -> Sequence[Extension]:
        """Return all acts, those of the latest certificates first."""
        return _all(self._connection)

    def all_in_thread(self) -> Sequence[Extension]:
        """Return the same as `all`, callable in any thread."""
        with self._open_reader() as connection:
            return _all(connection)

    async def add(self, new: Extension, signed: Signature, now_ms: int) -> int:
        """Add an act and return its number. Raises `FormDone`."""

        def work(connection: SqlConnection) -> int:
            with signed_transaction(connection, signed):
                row: Any = connection.execute(
                    _ADD,
                    (
                        new.subject,
                        new.uf,
                        new.issued_from,
                        new.issued_to,
                        new.until_day,
                        new.days,
                        new.act,
                        now_ms,
                    ),
                ).fetchall()
                ((number,),) = row
                _note(connection, "extension.add", new, signed, now_ms, number=number)
                enqueue(connection, [Enqueue(APPLY_ACTS, job_about(new), now_ms)])
                return int(number)

        return await self._run_in_writer(work)

    async def remove(self, extension_id: int, signed: Signature, now_ms: int) -> Extension:
        """Remove an act and return it; the log keeps its content.

        Raises `LookupError`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Extension:
            with signed_transaction(connection, signed):
                row: Any = connection.execute(
                    _REMOVE,
                    (extension_id,),
                ).fetchall()
                if not row:
                    raise LookupError(extension_id)
                gone = Extension(*row[0])
                _note(connection, "extension.remove", gone, signed, now_ms, number=extension_id)
                enqueue(connection, [Enqueue(APPLY_ACTS, job_about(gone), now_ms)])
                return gone

        return await self._run_in_writer(work)


def _all(connection: SqlConnection) -> Sequence[Extension]:
    rows: Any = connection.execute(_ALL).fetchall()
    return [Extension(*row) for row in rows]


def _note(
    connection: SqlConnection,
    action: Action,
    extension: Extension,
    signed: Signature,
    now_ms: int,
    *,
    number: int,
) -> None:
    until = f"por {extension.days} dias" if extension.days else f"até {day(extension.until_day)}"
    write_audit(
        connection,
        signed,
        action,
        now_ms,
        account_id=None,
        target=f"prorrogação {number}",
        detail=(
            f"{extension.subject}{f' {extension.uf}' if extension.uf else ''}, emitidas de"
            f" {day(extension.issued_from)} a {day(extension.issued_to)}, {until}: {extension.act}"
        ),
    )
