"""Natural persons whose data is kept: finding it, and erasing it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from balcao.core.data_subject import ERASED, DataSubject, Naming
from balcao.core.people import Signature
from balcao.storage.connection import SqlConnection
from balcao.storage.data_subjects import Held, HeldAnswer, HeldReceipt, HeldRequest, HeldRow
from balcao.storage.desk.batch_ceilings import forget_row
from balcao.storage.desk.exports import StoredExports
from balcao.storage.desk.office import note
from balcao.storage.desk.receipts import leave_bytes
from balcao.storage.engine import Engine

T = TypeVar("T")

# Rows changed in one commit: short enough for lookups to slip in between.
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
# An answer about a person under their own CPF. Its trace has the key; a charged lookup has none.
_ASKED_FOR = (
    f"{_ANSWER} WHERE length(body) > 0 AND (account_id, key_digest) IN"  # noqa: S608 - ours
    " (SELECT account_id, key_digest FROM trace WHERE document_hash = ? UNION ALL"
    " SELECT account_id, key_digest FROM certificate_trace WHERE document_hash = ?)"
)
# A request is in one of them; a charged lookup may become one that brought a certificate meanwhile.
_FORGET_REQUEST = (
    "UPDATE charged_lookup SET document = ?, person_hash = NULL, receipt_id = NULL"
    " WHERE account_id = ? AND request_id = ? AND person_hash IS NOT NULL",
    "UPDATE trace SET document = ?, document_hash = NULL WHERE account_id = ? AND request_id = ?",
    "UPDATE certificate_trace SET document = ?, document_hash = NULL, receipt_id = NULL"
    " WHERE account_id = ? AND request_id = ?",
)
_FORGET_RECEIPT = "DELETE FROM receipt WHERE receipt_id = ? RETURNING digest"
# The fingerprint goes too: it is made of the question, and whoever tries all CPFs finds it.
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
_ERASED = (
    "SELECT at_ms FROM audit_entry WHERE action = 'subject.erase' AND target = ? ORDER BY entry_id"
)
_ERASURES = "SELECT count(*) FROM audit_entry WHERE action = 'subject.erase'"


class DataSubjects:
    """What the desk holds about natural persons. Everything here raises `StorageFailed`.

    The ledger is no part of this: it never knew them. `forget`: remember no receipt as recorded,
    for another process erased some.
    """

    def __init__(self, engine: Engine, forget: Callable[[], None]) -> None:
        self._apart = engine.apart
        self._in_turn = engine.in_turn
        self._exports = StoredExports(engine)
        self.forget = forget

    def held(self, person: DataSubject) -> Held:
        """All of it. Reads every trace and every recorded answer: seconds for a million."""
        with self._apart() as reading:
            return Held(
                [
                    HeldRequest(*row)
                    for row in _rows(reading, _REQUESTS, *[person.document_hash] * 3)
                ],
                [HeldReceipt(*row) for row in _rows(reading, _RECEIPTS, person.document_hash)],
                _answers(reading, person),
                [at_ms for (at_ms,) in _rows(reading, _ERASED, person.erasure_mark)],
                [HeldRow(*row) for row in _rows(reading, _BATCH_ROWS, person.document_hash)],
            )

    async def erase(self, person: DataSubject, now_ms: int) -> tuple[Held, Sequence[str]]:
        """Remove it, in short strokes: what there was, and digests of its receipts.

        Receipts' records go, and with each the job to delete its bytes is left. Requests' details
        stay without the document, recorded answers as empty ones, which are not sent again; so
        every statement still adds up. Files that were made of the details go, whoever's.
        """
        held = self.held(person)
        await self._exports.erase()
        for part in _pieces(held.answers):
            wanted = [(b"", one.account_id, one.key_digest, one.request_id) for one in part]
            await self._in_turn(_each(_FORGET_ANSWER, wanted))
        digests: set[str] = set()
        for some in _pieces(held.receipts):
            digests.update(await self._in_turn(_forget(some, now_ms)))
        await self.forget_rows(held.rows)
        # Last: they are how the answers are found, should this be cut short.
        for few in _pieces(held.requests):
            marks = [(ERASED, one.account_id, one.request_id) for one in few]
            for sql in _FORGET_REQUEST:
                await self._in_turn(_each(sql, marks))
        # And those that were asked for meanwhile.
        await self._exports.erase()
        self.forget()
        return held, sorted(digests)

    async def forget_rows(self, rows: Sequence[HeldRow]) -> None:
        """Rows of batches say nothing any more, and those that are open are asked no more."""
        for some in _pieces(rows):
            await self._in_turn(_forget_rows(some))

    async def forget_answers(self, rows: Sequence[HeldRow]) -> None:
        """What came of rows of batches goes; what they asked stays."""
        for some in _pieces(rows):
            places = [(one.batch_id, one.line) for one in some]
            await self._in_turn(_each(_FORGET_ROWS_ANSWER, places))

    async def forget_titles(self, batches: Sequence[str]) -> None:
        """What somebody called these batches goes."""
        await self._in_turn(_each(_FORGET_TITLE, [(batch_id,) for batch_id in batches]))

    async def scrub(self) -> None:
        """Take what was erased out of the files too, as far as the engine can.

        Others go on writing. Fails while somebody reads older rows for long: do it again.
        """
        await self._in_turn(lambda connection: connection.scrub())

    async def log_erasure(
        self, person: DataSubject, detail: str, signed: Signature, now_ms: int
    ) -> None:
        """Enter it into the audit log, under a mark by which only this installation knows whom."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                note(
                    connection,
                    signed,
                    "subject.erase",
                    now_ms,
                    account_id=None,
                    target=person.erasure_mark,
                    detail=detail,
                )

        await self._in_turn(work)

    async def erasures(self) -> int:
        """How many entries about erasures the audit log has; whoever sees it grow forgets."""
        ((count,),) = await self._in_turn(lambda connection: _rows(connection, _ERASURES))
        return int(count)


def _pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), ERASED_AT_ONCE):
        yield items[start : start + ERASED_AT_ONCE]


def _rows(connection: SqlConnection, sql: str, *values: object) -> list[Any]:
    return connection.execute(sql, values).fetchall()


def _answers(reading: SqlConnection, person: DataSubject) -> Sequence[HeldAnswer]:
    """Those under the person's own CPF, those that name them, as a company's partner or in what
    was sought, and what else was recorded with one of these.
    """
    rows = _rows(reading, _ASKED_FOR, *[person.document_hash] * 2)
    rows += _naming(reading, Naming(person.cpf))
    for some in _pieces([row[1] for row in rows]):
        same = f"request_id IN ({', '.join('?' * len(some))})"
        rows += _rows(reading, f"{_ANSWER} WHERE length(body) > 0 AND {same}", *some)
    return [HeldAnswer(*row) for row in sorted(set(map(tuple, rows)), key=lambda row: row[1])]


def _naming(reading: SqlConnection, naming: Naming) -> Iterator[Any]:
    """One after the other, of those in which the database finds what all that name them have."""
    found = reading.contains.format(column="body")
    for row in _rows(reading, f"{_ANSWER} WHERE {found} AND {found}", *naming.groups):
        for (body,) in _rows(reading, _BODY, row[0], row[2]):
            if naming.is_in(body.decode(errors="replace")):
                yield row


def _each(sql: str, values: Sequence[Sequence[object]]) -> Callable[[SqlConnection], None]:
    """The same for each, in one commit."""

    def work(connection: SqlConnection) -> None:
        with connection.transaction():
            for one in values:
                connection.execute(sql, one)

    return work


def _forget_rows(rows: Sequence[HeldRow]) -> Callable[[SqlConnection], None]:
    """What rows of batches say and were answered; those that are open are asked no more."""

    def work(connection: SqlConnection) -> None:
        with connection.transaction():
            for row in rows:
                forget_row(connection, row.batch_id, row.line, ERASED)

    return work


def _forget(receipts: Sequence[HeldReceipt], now_ms: int) -> Callable[[SqlConnection], set[str]]:
    """Receipts' records, and in the same commit the jobs to delete their bytes: the digests."""

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
