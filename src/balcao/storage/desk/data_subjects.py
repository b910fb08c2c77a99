"""Search and erasure of stored data about a natural person."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from balcao.core.data_subject import ERASED, CpfFinder, DataSubject
from balcao.core.people import Signature
from balcao.storage.connection import SqlConnection
from balcao.storage.data_subjects import (
    HeldAnswer,
    HeldData,
    HeldItem,
    HeldReceipt,
    HeldRequest,
    HeldRow,
)
from balcao.storage.desk.account_admin import write_audit
from balcao.storage.desk.batch_ceilings import forget_row
from balcao.storage.desk.events import lock_accounts
from balcao.storage.desk.exports import StoredExports
from balcao.storage.desk.receipts import leave_bytes
from balcao.storage.desk.wallet.items import erase_items, note_edit
from balcao.storage.engine import Engine

T = TypeVar("T")

# Rows changed in one commit: few enough that lookups are not delayed.
ERASED_AT_ONCE = 500

_REQUESTS = (
    "SELECT account_id, request_id, operation, opened_ms FROM trace WHERE document_hash = ?"
    " UNION ALL SELECT account_id, request_id, operation, opened_ms FROM certificate_trace"
    " WHERE document_hash = ?"
    " UNION ALL SELECT account_id, request_id, operation, opened_ms FROM charged_lookup"
    " WHERE person_hash = ? ORDER BY request_id"
)
_RECEIPTS = (
    "SELECT account_id, receipt_id, operation, created_ms FROM receipt WHERE document_hash = ?"
    " ORDER BY created_ms, receipt_id"
)
_ANSWER = "SELECT account_id, request_id, key_digest, expires_ms FROM idempotency"
_BODY = "SELECT body FROM idempotency WHERE account_id = ? AND key_digest = ? AND body IS NOT NULL"
# Answers to requests with the person's own CPF, by the key in their traces. Charged lookups have no
# idempotency key.
_ASKED_FOR = (
    f"{_ANSWER} WHERE length(body) > 0 AND (account_id, key_digest) IN"  # noqa: S608 - ours
    " (SELECT account_id, key_digest FROM trace WHERE document_hash = ? UNION ALL"
    " SELECT account_id, key_digest FROM certificate_trace WHERE document_hash = ?)"
)
# A request is in one of these tables; a charged lookup may become a certificate trace meanwhile.
_FORGET_REQUEST = (
    "UPDATE charged_lookup SET document = ?, person_hash = NULL, receipt_id = NULL"
    " WHERE account_id = ? AND request_id = ? AND person_hash IS NOT NULL",
    "UPDATE trace SET document = ?, document_hash = NULL WHERE account_id = ? AND request_id = ?",
    "UPDATE certificate_trace SET document = ?, document_hash = NULL, receipt_id = NULL"
    " WHERE account_id = ? AND request_id = ?",
)
_FORGET_RECEIPT = "DELETE FROM receipt WHERE receipt_id = ? RETURNING digest"
# The fingerprint too: it is a hash of the request, so that trying all CPFs would find it.
_FORGET_ANSWER = (
    "UPDATE idempotency SET body = ?, fingerprint = ''"
    " WHERE account_id = ? AND key_digest = ? AND request_id = ? AND state = 'finished'"
)
_BATCH_ROWS = (
    "SELECT account_id, batch_id, line, created_ms FROM batch_row JOIN batch USING (batch_id)"
    " WHERE document_hash = ? ORDER BY batch_id, line"
)
_FORGET_ROWS_ANSWER = "UPDATE batch_row SET answer = NULL WHERE batch_id = ? AND line = ?"
_FORGET_TITLE = "UPDATE batch SET name = '' WHERE batch_id = ?"
_ITEMS = (
    "SELECT account_id, item_id, created_ms FROM wallet_item WHERE document_hash = ?"
    " ORDER BY item_id"
)
# The answers that added an item, which are few enough to read: those of one account.
_ANSWERS_OF = f"{_ANSWER} WHERE account_id = ? AND length(body) > 0"
_FORGET_EVENTS = "UPDATE event SET body = '{\"apagado\":true}' WHERE item_id = ?"
_ERASED = (
    "SELECT at_ms FROM audit_entry WHERE action = 'subject.erase' AND target = ? ORDER BY entry_id"
)
_ERASURES = "SELECT count(*) FROM audit_entry WHERE action = 'subject.erase'"


class DataSubjects:
    """The desk's data about natural persons. All methods raise `StorageFailed`.

    The ledger has no such data. `forget` clears the desk's cache of recorded receipts, because
    another process has erased some.
    """

    def __init__(self, engine: Engine, forget: Callable[[], None]) -> None:
        self._open_reader = engine.open_reader
        self._run_in_writer = engine.run_in_writer
        self._exports = StoredExports(engine)
        self.forget = forget

    def held(self, person: DataSubject) -> HeldData:
        """Find all data. Reads every trace and every recorded answer: seconds for a million."""
        with self._open_reader() as reading:
            return HeldData(
                [
                    HeldRequest(*row)
                    for row in _rows(reading, _REQUESTS, *[person.document_hash] * 3)
                ],
                [HeldReceipt(*row) for row in _rows(reading, _RECEIPTS, person.document_hash)],
                _answers(reading, person),
                [at_ms for (at_ms,) in _rows(reading, _ERASED, person.erasure_hash)],
                [HeldRow(*row) for row in _rows(reading, _BATCH_ROWS, person.document_hash)],
                [HeldItem(*row) for row in _rows(reading, _ITEMS, person.document_hash)],
            )

    async def erase(self, person: DataSubject, now_ms: int) -> tuple[HeldData, Sequence[str]]:
        """Erase all data in short commits; return what was found, and digests of its receipts.

        Receipts' records are deleted, with jobs for their bytes. Requests' details stay without
        the document, and recorded answers stay as empty ones, which are never replayed; so every
        statement still adds up. Exports of all users are deleted, since they contain details.
        """
        held = self.held(person)
        await self._exports.erase()
        for part in _pieces(held.answers):
            values = [(b"", one.account_id, one.key_digest, one.request_id) for one in part]
            await self._run_in_writer(_each(_FORGET_ANSWER, values))
        digests: set[str] = set()
        for some in _pieces(held.receipts):
            digests.update(await self._run_in_writer(_forget(some, now_ms)))
        await self.forget_rows(held.rows)
        for watched in _pieces(held.items):
            await self._run_in_writer(_forget_items(watched, now_ms))
        # Last, because the answers are found by them if this is cut short and repeated.
        for few in _pieces(held.requests):
            marks = [(ERASED, one.account_id, one.request_id) for one in few]
            for sql in _FORGET_REQUEST:
                await self._run_in_writer(_each(sql, marks))
        # Exports that were requested meanwhile.
        await self._exports.erase()
        self.forget()
        return held, sorted(digests)

    async def forget_rows(self, rows: Sequence[HeldRow]) -> None:
        """Erase the personal data of rows of batches, and cancel open ones."""
        for some in _pieces(rows):
            await self._run_in_writer(_forget_rows(some))

    async def forget_answers(self, rows: Sequence[HeldRow]) -> None:
        """Erase the answers of rows of batches; their input stays."""
        for some in _pieces(rows):
            places = [(one.batch_id, one.line) for one in some]
            await self._run_in_writer(_each(_FORGET_ROWS_ANSWER, places))

    async def forget_titles(self, batches: Sequence[str]) -> None:
        """Erase the names of batches."""
        await self._run_in_writer(_each(_FORGET_TITLE, [(batch_id,) for batch_id in batches]))

    async def scrub(self) -> None:
        """Remove erased content from the database's files, as far as the engine can.

        Does not block writers. Fails while a long read is open, and can be repeated.
        """
        await self._run_in_writer(lambda connection: connection.scrub())

    async def log_erasure(
        self, person: DataSubject, detail: str, signed: Signature, now_ms: int
    ) -> None:
        """Log an erasure. The person's keyed hash can only be computed by this installation."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                write_audit(
                    connection,
                    signed,
                    "subject.erase",
                    now_ms,
                    account_id=None,
                    target=person.erasure_hash,
                    detail=detail,
                )

        await self._run_in_writer(work)

    async def erasures(self) -> int:
        """Return the number of erasures in the audit log, for processes that have to `forget`."""
        ((count,),) = await self._run_in_writer(lambda connection: _rows(connection, _ERASURES))
        return int(count)


def _pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), ERASED_AT_ONCE):
        yield items[start : start + ERASED_AT_ONCE]


def _rows(connection: SqlConnection, sql: str, *values: object) -> list[Any]:
    return connection.execute(sql, values).fetchall()


def _answers(reading: SqlConnection, person: DataSubject) -> Sequence[HeldAnswer]:
    """Return recorded answers to requests with the person's CPF, answers that name the person, and
    other answers recorded for one of those requests.
    """
    rows = _rows(reading, _ASKED_FOR, *[person.document_hash] * 2)
    rows += _naming(reading, CpfFinder(person.cpf))
    for account_id, item_id, _ in _rows(reading, _ITEMS, person.document_hash):
        found = reading.contains.format(column="body")
        rows += _rows(reading, f"{_ANSWERS_OF} AND {found}", account_id, item_id.encode())
    for some in _pieces([row[1] for row in rows]):
        same = f"request_id IN ({', '.join('?' * len(some))})"
        rows += _rows(reading, f"{_ANSWER} WHERE length(body) > 0 AND {same}", *some)
    return [HeldAnswer(*row) for row in sorted(set(map(tuple, rows)), key=lambda row: row[1])]


def _naming(reading: SqlConnection, naming: CpfFinder) -> Iterator[Any]:
    """Yield answers that name a person; the database preselects them by substrings."""
    found = reading.contains.format(column="body")
    for row in _rows(reading, f"{_ANSWER} WHERE {found} AND {found}", *naming.groups):
        for (body,) in _rows(reading, _BODY, row[0], row[2]):
            if naming.is_in(body.decode(errors="replace")):
                yield row


def _each(sql: str, values: Sequence[Sequence[object]]) -> Callable[[SqlConnection], None]:
    """Return work that runs a statement for each of these values, in one commit."""

    def work(connection: SqlConnection) -> None:
        with connection.transaction():
            for one in values:
                connection.execute(sql, one)

    return work


def _forget_rows(rows: Sequence[HeldRow]) -> Callable[[SqlConnection], None]:
    """Return work that erases the personal data of rows of batches, and cancels open ones."""

    def work(connection: SqlConnection) -> None:
        with connection.transaction():
            for row in rows:
                forget_row(connection, row.batch_id, row.line, ERASED)

    return work


def _forget_items(items: Sequence[HeldItem], now_ms: int) -> Callable[[SqlConnection], None]:
    """Return work that deletes items of portfolios, and the data of their events."""

    def work(connection: SqlConnection) -> None:
        with connection.transaction():
            # Own lookups lock the account before its items.
            accounts = {one.account_id for one in items}
            lock_accounts(connection, accounts)
            for account_id in accounts:
                note_edit(connection, account_id, now_ms)
            for one in items:
                connection.execute(_FORGET_EVENTS, (one.item_id,))
            erase_items(connection, [one.item_id for one in items], now_ms)

    return work


def _forget(receipts: Sequence[HeldReceipt], now_ms: int) -> Callable[[SqlConnection], set[str]]:
    """Return work that deletes receipts' records, enqueues jobs for their bytes, and returns their
    digests.
    """

    def work(connection: SqlConnection) -> set[str]:
        with connection.transaction():
            digests = {
                digest
                for one in receipts
                for (digest,) in _rows(connection, _FORGET_RECEIPT, one.receipt_id)
            }
            leave_bytes(connection, digests, now_ms)
        return digests

    return work
