"""Queries of batches, on any engine."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from balcao.core.batches import BatchQuote, BatchState, RowState, RowTally
from balcao.core.receipts import Receipt
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.queries import find_receipt
from balcao.storage.desk.rows import texts_of
from balcao.storage.engine import Engine

ROWS_AT_ONCE = 500

_BATCH = (
    "SELECT batch_id, account_id, key_id, user_id, name, client, operation, parameters, columns,"
    " media_type, repeats, create_fingerprint, state, reason, code, message, told, header, digest,"
    " least, greatest, valid, at_hand, quoted_ms, until_ms,"
    # The ceiling is that of the budget, which may be changed by itself (ADR 0043).
    " coalesce((SELECT min(b.credits_max) FROM budget AS b WHERE b.owner_kind = 'lote'"
    " AND b.owner = batch.batch_id AND b.account_id = batch.account_id), ceiling),"
    " created_ms, confirmed_ms,"
    " ended_ms, erased_ms, secret_id, of_wallet FROM batch"
)
_ROW = (
    "SELECT line, state, ref, client, document, repeated_of, request_id, credits, code, settled_ms,"
    " tries"
)
_ANSWER = (
    ", coalesce(answer, (SELECT f.answer FROM batch_row AS f WHERE f.batch_id = batch_row.batch_id"
    " AND f.line = batch_row.repeated_of))"
)
_WITH_RECEIPT = (
    f"{_ROW}, coalesce((SELECT c.receipt_id FROM certificate_trace AS c"  # noqa: S608 - ours
    " WHERE c.account_id = ? AND c.request_id = batch_row.request_id),"
    " (SELECT v.receipt_id FROM charged_lookup AS v"
    " WHERE v.account_id = ? AND v.request_id = batch_row.request_id)) FROM batch_row"
    " WHERE batch_id = ? AND state = 'concluida' AND line > ? ORDER BY line LIMIT ?"
)
# Run before every slice of rows, so it reads one row by its key.
_GOES_ON = (
    "SELECT b.operation, k.operations FROM batch AS b JOIN account AS a USING (account_id)"
    " LEFT JOIN api_key AS k ON k.key_id = b.key_id"
    " WHERE b.batch_id = ? AND b.state = 'executando' AND a.suspended_ms IS NULL"
    " AND (b.key_id IS NULL OR k.revoked_ms IS NULL AND coalesce(k.expires_ms > ?, TRUE))"
)
# The final states.
FINAL = "'concluido', 'encerrado', 'expirado', 'recusado'"


class BatchQueries:
    """Queries of batches. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._open_reader = engine.open_reader
        self._run_in_writer = engine.run_in_writer

    def pieces(self, batch_id: str) -> Iterator[bytes]:
        """Yield the pieces of a file, in order. In a thread."""
        with self._open_reader() as reading:
            piece = 0
            while rows := reading.execute(
                "SELECT content FROM batch_piece WHERE batch_id = ? AND piece = ?",
                (batch_id, piece),
            ).fetchall():
                yield bytes(rows[0][0])
                piece += 1

    # Reading.

    def with_data(self) -> Sequence[StoredBatch]:
        """Return the batches of all accounts that are not erased. In a thread."""
        with self._open_reader() as reading:
            return found(reading, "erased_ms IS NULL")

    async def batch(self, batch_id: str, account_id: int | None = None) -> StoredBatch | None:
        """Return a batch; only of this account, if one is given."""

        def work(connection: SqlConnection) -> StoredBatch | None:
            one = found(connection, "batch_id = ?", batch_id)
            return one[0] if one and account_id in (None, one[0].account_id) else None

        return await self._run_in_writer(work)

    async def page(
        self,
        account_id: int,
        limit: int,
        *,
        before: str = "~",
        user_id: int | None = None,
        operations: Sequence[str] | None = None,
    ) -> Sequence[StoredBatch]:
        """Return a page of an account's batches, newest first, whose id is below `before`.

        Only those of a user, or of some operations, if these are given.
        """
        where, values = "account_id = ? AND batch_id < ?", [account_id, before]
        if user_id is not None:
            where, values = f"{where} AND user_id = ?", [*values, user_id]
        if operations is not None:
            marks = ", ".join("?" * len(operations))
            where, values = f"{where} AND operation IN ({marks})", [*values, *operations]

        def work(connection: SqlConnection) -> Sequence[StoredBatch]:
            more = f"ORDER BY batch_id DESC LIMIT {int(limit)}"
            return found(connection, where, *values, more=more)

        return await self._run_in_writer(work)

    async def rows(
        self,
        batch_id: str,
        after: int,
        limit: int,
        state: RowState | None = None,
        *,
        cells: bool = False,
    ) -> Sequence[StoredRow]:
        """Return the rows after a line, in order; with their cells if `cells`."""
        return await self._run_in_writer(
            lambda connection: _rows(connection, batch_id, after, limit, state, cells)
        )

    @asynccontextmanager
    async def open_reader(self, batch_id: str) -> AsyncIterator["BatchReader"]:
        """Open a reader for as long as rows are looked up.

        Reads in the writer's thread would keep groups of rows from sharing commits, which takes a
        third more processor time, and would delay single lookups.
        """
        stack = ExitStack()
        reading = await asyncio.to_thread(stack.enter_context, self._open_reader())
        try:
            yield BatchReader(reading, batch_id)
        finally:
            await asyncio.to_thread(stack.close)

    async def request_of(self, account_id: int, batch_id: str, line: int) -> str | None:
        """Return the request id of a row. None: there is none."""
        rows = await self._all(
            "SELECT request_id FROM batch_row JOIN batch USING (batch_id)"
            " WHERE account_id = ? AND batch_id = ? AND line = ?",
            (account_id, batch_id, line),
        )
        return rows[0][0] if rows else None

    def results(self, batch_id: str, state: RowState | None = None) -> Iterator[StoredRow]:
        """Yield all rows with their cells and answers, encrypted. In a thread."""
        after = 0
        with self._open_reader() as reading:
            while True:
                some = _rows(reading, batch_id, after, ROWS_AT_ONCE, state, True, answers=True)
                yield from some
                if len(some) < ROWS_AT_ONCE:
                    return
                after = some[-1].line

    def with_contents(self, batch_id: str, lines: Sequence[int]) -> Sequence[StoredRow]:
        """Return these rows with their cells and answers, encrypted. In a thread."""
        marks = ", ".join("?" * len(lines))
        sql = f"{_ROW}, cells{_ANSWER} FROM batch_row WHERE batch_id = ? AND line IN ({marks})"
        with self._open_reader() as reading:
            return _stored_rows(reading, sql, (batch_id, *lines))

    def receipts(self, batch: StoredBatch) -> Iterator[tuple[StoredRow, Receipt]]:
        """Yield the rows with a receipt that is still recorded, and the receipt. In a thread."""
        after = 0
        with self._open_reader() as reading:
            while rows := reading.execute(
                _WITH_RECEIPT,
                (batch.account_id, batch.account_id, batch.batch_id, after, ROWS_AT_ONCE),
            ).fetchall():
                after = rows[-1][0]
                for *row, receipt_id in rows:
                    receipt = None if receipt_id is None else find_receipt(reading, receipt_id)
                    if receipt is not None:
                        yield StoredRow(*row), receipt

    async def totals(self, batch_id: str) -> tuple[int, int, int, int]:
        """Return the rows to look up: number, least and greatest price, number available now."""

        def find() -> Any:
            with self._open_reader() as reading:
                return reading.execute(
                    "SELECT count(*), coalesce(sum(least), 0), coalesce(sum(greatest), 0),"
                    " coalesce(sum(at_hand), 0) FROM batch_row"
                    " WHERE batch_id = ? AND state = 'pendente'",
                    (batch_id,),
                ).fetchall()[0]

        valid, least, greatest, at_hand = await self._elsewhere(find)
        return int(valid), int(least), int(greatest), int(at_hand)

    async def past(self, account_id: int, operation: str) -> RowTally:
        """Return number and cost of all rows that the account has looked up with this operation."""

        def work(connection: SqlConnection) -> Any:
            return connection.execute(
                "SELECT coalesce(sum(rows), 0), coalesce(sum(credits), 0) FROM batch_count"
                " JOIN batch USING (batch_id) WHERE account_id = ? AND operation = ?"
                " AND batch_count.state IN ('concluida', 'falha')",
                (account_id, operation),
            ).fetchall()[0]

        rows, credits = await self._run_in_writer(work)
        return RowTally(int(rows), int(credits))

    async def unconfirmed(self, now_ms: int) -> Sequence[str]:
        """Return batches whose quote has expired."""
        rows = await self._all(
            "SELECT batch_id FROM batch WHERE state = 'cotado' AND until_ms <= ?"
            " AND erased_ms IS NULL LIMIT 100",
            (now_ms,),
        )
        return [batch_id for (batch_id,) in rows]

    async def outdated(self, before_ms: int) -> Sequence[str]:
        """Return batches that ended before an instant and still have data."""
        rows = await self._all(
            "SELECT batch_id FROM batch WHERE erased_ms IS NULL AND created_ms < ?"  # noqa: S608
            f" AND state IN ({FINAL}) AND coalesce(ended_ms, created_ms) < ? LIMIT 10",
            (before_ms, before_ms),
        )
        return [batch_id for (batch_id,) in rows]

    async def counts(self) -> Sequence[tuple[BatchState, str, int]]:
        """See `standing_of`."""
        return await self._run_in_writer(standing_of)

    async def _all(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return await self._run_in_writer(
            lambda connection: connection.execute(sql, values).fetchall()
        )

    async def _run(self, sql: str, values: Sequence[Any]) -> None:
        def work(connection: SqlConnection) -> None:
            connection.execute(sql, values)

        await self._run_in_writer(work)

    async def _elsewhere(self, find: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(find)


class BatchReader:
    """Reads a batch whose rows are being looked up, in threads, one query at a time."""

    def __init__(self, reading: SqlConnection, batch_id: str) -> None:
        self._reading = reading
        self._batch_id = batch_id
        self._lock = asyncio.Lock()

    async def goes_on(self, now_ms: int) -> bool:
        """Return whether the batch is still running, and its key still valid and permitted.

        Checked before every slice of rows.
        """
        async with self._lock:
            return await asyncio.to_thread(self._goes_on, now_ms)

    async def open_rows(self, after: int, limit: int) -> Sequence[StoredRow]:
        """Return the rows after a line that are `pendente`, in order, with their cells."""
        async with self._lock:
            return await asyncio.to_thread(
                _rows, self._reading, self._batch_id, after, limit, "pendente", True
            )

    def _goes_on(self, now_ms: int) -> bool:
        rows: Any = self._reading.execute(_GOES_ON, (self._batch_id, now_ms)).fetchall()
        if not rows:
            return False
        ((operation, operations),) = rows
        return operations is None or operation in texts_of(operations)


def standing_of(connection: SqlConnection) -> Sequence[tuple[BatchState, str, int]]:
    """Return the number of batches that are not over, by state and reason ('' for none)."""
    rows = connection.execute(
        "SELECT state, coalesce(reason, ''), count(*) FROM batch"  # noqa: S608 - ours
        f" WHERE state NOT IN ({FINAL}) GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    return [(state, reason, int(count)) for state, reason, count in rows]


def found(
    connection: SqlConnection, where: str, *values: object, more: str = ""
) -> Sequence[StoredBatch]:
    """Return the batches that match a condition."""
    rows = connection.execute(f"{_BATCH} WHERE {where} {more}", values).fetchall()
    return [_stored(connection, row) for row in rows]


def _stored(connection: SqlConnection, row: Any) -> StoredBatch:
    header, digest, least, greatest, valid, at_hand, quoted_ms, until_ms, ceiling = row[17:26]
    quote = None
    if digest is not None:
        quote = BatchQuote(digest, least, greatest, valid, at_hand, quoted_ms, until_ms)
    tallies = {
        state: RowTally(rows, credits)
        for state, rows, credits in connection.execute(
            "SELECT state, rows, credits FROM batch_count WHERE batch_id = ?", (row[0],)
        ).fetchall()
    }
    sealed = None if header is None else bytes(header)
    values: list[Any] = [*row[:17], sealed, quote, ceiling, *row[26:-1], bool(row[-1]), tallies]
    return StoredBatch(*values)


def _rows(  # noqa: PLR0917
    connection: SqlConnection,
    batch_id: str,
    after: int,
    limit: int,
    state: RowState | None,
    cells: bool,
    *,
    answers: bool = False,
) -> Sequence[StoredRow]:
    more = (", cells" if cells else "") + (_ANSWER if answers else "")
    only = "" if state is None else " AND state = ?"
    sql = f"{_ROW}{more} FROM batch_row WHERE batch_id = ?{only} AND line > ? ORDER BY line LIMIT ?"
    values = (batch_id, *([] if state is None else [state]), after, limit)
    return _stored_rows(connection, sql, values)


def _stored_rows(connection: SqlConnection, sql: str, values: Sequence[Any]) -> Sequence[StoredRow]:
    return [
        StoredRow(*row[:11], *(None if each is None else bytes(each) for each in row[11:]))
        for row in connection.execute(sql, values).fetchall()
    ]
