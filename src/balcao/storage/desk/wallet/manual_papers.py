"""Certificates entered by hand, and their files, on any engine (contract 20.5)."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from balcao.core.errors import InvalidParameter, ItemNotFound, PaperNotFound
from balcao.core.manual_papers import PER_ITEM_MAX
from balcao.core.papers import Paper
from balcao.core.receipts import UPLOADED, Receipt
from balcao.storage.batch import RECEIPT_COLUMNS
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.wallet.papers import (
    PAPER_COLUMNS,
    delete_files,
    delete_unlinked,
    paper_of,
)
from balcao.storage.engine import Engine

_ITEM = (
    "SELECT document_hash FROM wallet_item"
    " WHERE item_id = ? AND account_id = ? AND ended_ms IS NULL"
)
_COUNT = (
    "SELECT count(*) FROM wallet_item_paper AS l JOIN wallet_paper AS p"
    " ON p.paper_id = l.paper_id WHERE l.item_id = ? AND p.kind = 'outra'"
)
_NEW: Final = (
    "paper_id", "account_id", "kind", "uf", "name", "note", "validity", "last_day", "created_ms",
)  # fmt: skip
_PAPER = (
    f"SELECT {', '.join(f'p.{name}' for name in PAPER_COLUMNS)} FROM wallet_item_paper AS l"  # noqa: S608
    " JOIN wallet_paper AS p ON p.paper_id = l.paper_id"
    " WHERE l.item_id = ? AND l.paper_id = ? AND p.account_id = ?"
)
_CHANGE = (
    "UPDATE wallet_paper SET name = ?, note = ?, validity = ?, last_day = ?, told = ?"
    " WHERE paper_id = ?"
)
_SET_FILE = "UPDATE wallet_paper SET receipt_id = ?, media_type = ? WHERE paper_id = ?"
_UNLINK = "DELETE FROM wallet_item_paper WHERE item_id = ? AND paper_id = ?"

T = TypeVar("T")


class ManualPaper(msgspec.Struct, frozen=True, gc=False):
    """The facts of a certificate entered by hand."""

    name: str
    last_day: str
    note: str | None


class ManualChange(msgspec.Struct, frozen=True, gc=False):
    """New facts of a certificate entered by hand; what is not set stays."""

    name: str | UnsetType = UNSET
    last_day: str | UnsetType = UNSET
    note: str | UnsetType | None = UNSET


class ManualPapers:
    """The certificates entered by hand of one desk. All methods raise `StorageFailed`.

    They also raise `ItemNotFound` for an item that the account does not have, `PaperNotFound` for a
    certificate that the item does not have, and `InvalidParameter` for one that was not entered by
    hand. Changes lock the account.
    """

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._connection = engine.connection

    def one(self, account_id: int, item_id: str, paper_id: str) -> Paper:
        """Return one certificate."""
        return _find(self._connection, account_id, item_id, paper_id)[0]

    async def add(  # noqa: PLR0917
        self,
        account_id: int,
        item_id: str,
        new: ManualPaper,
        paper_id: str,
        now_ms: int,
        keep: MakeAnswer[Paper] = lambda paper: None,
    ) -> Paper:
        """Add a certificate to an item and record the answer. Raises also `StillRunning`."""

        def work(connection: SqlConnection) -> Paper:
            _item(connection, account_id, item_id)
            ((count,),) = connection.execute(_COUNT, (item_id,)).fetchall()
            if count >= PER_ITEM_MAX:
                raise InvalidParameter(f"papeis: até {PER_ITEM_MAX} incluídas à mão por item.")
            row = (
                paper_id, account_id, "outra", "", new.name, new.note, new.last_day, new.last_day,
                now_ms,
            )  # fmt: skip
            connection.insert_rows("wallet_paper", _NEW, [row])
            connection.insert_rows(
                "wallet_item_paper", ("item_id", "paper_id"), [(item_id, paper_id)]
            )
            paper, _ = _find(connection, account_id, item_id, paper_id)
            record_answer(connection, keep(paper))
            return paper

        return await self._locked(account_id, work)

    async def change(
        self, account_id: int, item_id: str, paper_id: str, changed: ManualChange
    ) -> Paper:
        """Change a certificate. With another last day its notices begin again."""

        def work(connection: SqlConnection) -> Paper:
            before, _ = _find(connection, account_id, item_id, paper_id)
            day = before.last_day if isinstance(changed.last_day, UnsetType) else changed.last_day
            after = msgspec.structs.replace(
                before,
                name=before.name if isinstance(changed.name, UnsetType) else changed.name,
                note=before.note if isinstance(changed.note, UnsetType) else changed.note,
                validity=day,
                last_day=day,
                told=before.told if day == before.last_day else None,
            )
            values = after.name, after.note, day, day, after.told, paper_id
            connection.execute(_CHANGE, values)
            return after

        return await self._locked(account_id, work)

    async def set_file(
        self, account_id: int, item_id: str, paper_id: str, file: Receipt, now_ms: int
    ) -> Paper:
        """Record a certificate's file, whose bytes are stored already, in place of an earlier one.

        It is kept as long as a receipt.
        """

        def work(connection: SqlConnection) -> Paper:
            before, person = _find(connection, account_id, item_id, paper_id)
            delete_files(connection, [paper_id], now_ms)
            row = (
                file.receipt_id, account_id, UPLOADED, file.digest, file.media_type,
                file.size_bytes, now_ms, person, None,
            )  # fmt: skip
            connection.insert_rows("receipt", RECEIPT_COLUMNS, [row])
            connection.execute(_SET_FILE, (file.receipt_id, file.media_type, paper_id))
            return msgspec.structs.replace(
                before, receipt_id=file.receipt_id, media_type=file.media_type
            )

        return await self._locked(account_id, work)

    async def remove(self, account_id: int, item_id: str, paper_id: str, now_ms: int) -> Paper:
        """Delete a certificate and its file."""

        def work(connection: SqlConnection) -> Paper:
            paper, _ = _find(connection, account_id, item_id, paper_id)
            connection.execute(_UNLINK, (item_id, paper_id))
            delete_unlinked(connection, [paper_id], now_ms)
            return paper

        return await self._locked(account_id, work)

    async def _locked(self, account_id: int, work: Callable[[SqlConnection], T]) -> T:
        def locked(connection: SqlConnection) -> T:
            with connection.transaction():
                lock_account(connection, account_id)
                return work(connection)

        return await self._run_in_writer(locked)


def _item(connection: SqlConnection, account_id: int, item_id: str) -> bytes | None:
    """Return the keyed hash of an item's CPF; None: it is no person's."""
    row: Any = connection.execute(_ITEM, (item_id, account_id)).fetchone()
    if row is None:
        raise ItemNotFound
    return None if row[0] is None else bytes(row[0])


def _find(
    connection: SqlConnection, account_id: int, item_id: str, paper_id: str
) -> tuple[Paper, bytes | None]:
    """Return a certificate entered by hand, and the keyed hash of its item's CPF."""
    person = _item(connection, account_id, item_id)
    row = connection.execute(_PAPER, (item_id, paper_id, account_id)).fetchone()
    if row is None:
        raise PaperNotFound
    paper = paper_of(row)
    if paper.kind != "outra":
        raise InvalidParameter("papel: só uma certidão incluída à mão pode ser alterada.")
    return paper, person
