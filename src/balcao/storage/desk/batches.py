"""Batches of lookups on any engine, from their creation to the erasure of their data.

The cost of a row is written by the commit of its lookup (`core.ledger.RowMoved`), not here.
Everything is written in the writer's thread, in short transactions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from typing import Any

from balcao.core.batches import (
    ERASE,
    FINISHED_STATES,
    ROW_STATES,
    BatchQuote,
    BatchState,
    PauseReason,
    RowState,
)
from balcao.core.batches import can_transition as _may_become
from balcao.core.errors import StorageFailed
from balcao.core.file_limits import ROW_BYTES
from balcao.core.ledger import Enqueue
from balcao.storage.batches import NewBatch, NewRow, StoredBatch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_events import write_batch_event
from balcao.storage.desk.batch_queries import ROWS_AT_ONCE, BatchQueries, found
from balcao.storage.desk.jobs import enqueue

# When an erasure that was cut short is resumed.
_TAKEN_UP_MS = 60_000

_NEW = (
    "batch_id", "account_id", "key_id", "user_id", "name", "client", "operation", "parameters",
    "columns", "media_type", "repeats", "create_key", "create_fingerprint", "created_ms",
    "file_bytes", "secret_id", "ceiling", "of_wallet",
)  # fmt: skip
_RECEIVE = (
    f"INSERT INTO batch ({', '.join(_NEW)}, state)"  # noqa: S608 - columns of ours
    f" VALUES ({', '.join('?' * len(_NEW))}, 'recebido')"
)
_NEW_ROW = (
    "INSERT INTO batch_row (batch_id, line, state, ref, client, document, document_hash, same,"
    " least, greatest, at_hand, code, cells, credits, tries)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)"
)
_COUNT = (
    "UPDATE batch_count SET rows = rows + ?, credits = credits + ? WHERE batch_id = ? AND state = ?"
)
_REPEATED = (
    "SELECT r.line, f.first FROM batch_row AS r JOIN"
    " (SELECT same, min(line) AS first FROM batch_row WHERE batch_id = ? AND state = 'pendente'"
    " GROUP BY same HAVING count(*) > 1) AS f ON f.same = r.same"
    " WHERE r.batch_id = ? AND r.state = 'pendente' AND r.line > f.first ORDER BY r.line LIMIT ?"
)
# Rows whose request has no open operation any more: its process died, and nothing was charged.
_LOST = (
    "SELECT line, credits FROM batch_row AS r WHERE batch_id = ? AND state = 'em_andamento'"
    " AND NOT EXISTS (SELECT 1 FROM open_operation AS o WHERE o.request_id = r.request_id)"
    " ORDER BY line LIMIT ?"
)
_BEING_ERASED = "SELECT 1 FROM job WHERE kind = ? AND about = ? AND state <> 'done'"


def _row_of(new: NewBatch) -> tuple[object, ...]:
    """Return the values of `_NEW`."""
    *values, of_wallet = astuple(new)
    return (*values, int(of_wallet))


class Batches(BatchQueries):
    """The batches of one desk. All methods raise `StorageFailed`."""

    # Receiving.

    async def store_piece(self, batch_id: str, piece: int, content: bytes, now_ms: int) -> None:
        """Store one piece of a file that is being uploaded, before its batch exists."""
        await self._run(
            "INSERT INTO batch_piece (batch_id, piece, stored_ms, content) VALUES (?, ?, ?, ?)",
            (batch_id, piece, now_ms, content),
        )

    async def receive(
        self,
        new: NewBatch,
        jobs: Iterable[Enqueue],
        also: Callable[[SqlConnection], None] | None = None,
    ) -> StoredBatch:
        """Create a batch of the stored pieces, or return the one created under the same key.

        A new one is created in one commit with `also`.
        """

        def work(connection: SqlConnection) -> StoredBatch:
            with connection.transaction():
                earlier = found(
                    connection, "account_id = ? AND create_key = ?", new.account_id, new.create_key
                )
                if earlier:
                    return earlier[0]
                connection.execute(_RECEIVE, _row_of(new))
                for state in ROW_STATES:
                    connection.execute(
                        "INSERT INTO batch_count VALUES (?, ?, 0, 0)", (new.batch_id, state)
                    )
                enqueue(connection, jobs)
                if also is not None:
                    also(connection)
                return found(connection, "batch_id = ?", new.batch_id)[0]

        return await self._run_in_writer(work)

    async def forget_pieces(self, batch_id: str) -> None:
        """Delete the pieces of a file."""
        await self._run("DELETE FROM batch_piece WHERE batch_id = ?", (batch_id,))

    # Validating.

    async def begin(self, batch_id: str) -> bool:
        """Mark a file as being read, and delete the rows of an earlier attempt.

        False: the batch's state does not allow it.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                done = connection.execute(
                    "UPDATE batch SET state = 'validando' WHERE batch_id = ?"
                    " AND state IN ('recebido', 'validando') AND erased_ms IS NULL RETURNING 1",
                    (batch_id,),
                ).fetchall()
                if done:
                    _no_rows(connection, batch_id)
                return bool(done)

        begun = await self._run_in_writer(work)
        while begun and await self._some_rows_gone(batch_id):
            pass
        return begun

    async def forget_rows(self, batch_id: str) -> None:
        """Delete the rows of a file that is about to be refused."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                _no_rows(connection, batch_id)

        await self._run_in_writer(work)
        while await self._some_rows_gone(batch_id):
            pass

    async def store_layout(self, batch_id: str, header: bytes, layout: str) -> None:
        """Store the layout of a file: its encrypted header, and its columns' meaning (JSON)."""
        await self._run(
            "UPDATE batch SET header = ?, told = ? WHERE batch_id = ? AND erased_ms IS NULL",
            (header, layout, batch_id),
        )

    async def replace_layout(self, batch_id: str, before: str | None, layout: str) -> None:
        """Replace the layout of a file. Raises `StorageFailed` if it was changed meanwhile."""
        rows = await self._all(
            "UPDATE batch SET told = ? WHERE batch_id = ? AND told = ? AND erased_ms IS NULL"
            " RETURNING 1",
            (layout, batch_id, before),
        )
        if not rows:
            raise StorageFailed("the batch was changed by somebody else")

    async def add_rows(self, batch_id: str, rows: Sequence[NewRow]) -> None:
        """Store some more rows. Raises `StorageFailed` if another process has read the file."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                reading = "SELECT 1 FROM batch WHERE batch_id = ? AND state = 'validando'"
                if not connection.execute(reading, (batch_id,)).fetchall():
                    raise StorageFailed("the file was read by somebody else")
                for row in rows:
                    connection.execute(_NEW_ROW, (batch_id, *_row_values(row)))
                size = sum(len(row.cells) for row in rows) + ROW_BYTES * len(rows)
                connection.execute(
                    "UPDATE batch SET row_bytes = row_bytes + ? WHERE batch_id = ?",
                    (size, batch_id),
                )
                for state, count in Counter([row.state for row in rows]).items():
                    connection.execute(_COUNT, (count, 0, batch_id, state))

        await self._run_in_writer(work)

    async def mark_repeated(self, batch_id: str) -> int:
        """Mark some rows that repeat an earlier one. Return their number; 0: none are left."""

        def find() -> list[Any]:
            with self._open_reader() as reading:
                values = (batch_id, batch_id, 20 * ROWS_AT_ONCE)
                return reading.execute(_REPEATED, values).fetchall()

        found = await self._elsewhere(find)
        for start in range(0, len(found), ROWS_AT_ONCE):
            some = found[start : start + ROWS_AT_ONCE]

            def work(connection: SqlConnection, some: list[Any] = some) -> None:
                with connection.transaction():
                    for line, first in some:
                        connection.execute(
                            "UPDATE batch_row SET state = 'repetida', repeated_of = ?"
                            " WHERE batch_id = ? AND line = ?",
                            (first, batch_id, line),
                        )
                    _moved(connection, batch_id, "pendente", "repetida", len(some))

            await self._run_in_writer(work)
        return len(found)

    async def price_rows(self, batch_id: str, prices: Sequence[tuple[int, int, bool, int]]) -> None:
        """Store current prices of rows: least, greatest, whether available now, and the line."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                for least, greatest, at_hand, line in prices:
                    connection.execute(
                        "UPDATE batch_row SET least = ?, greatest = ?, at_hand = ?"
                        " WHERE batch_id = ? AND line = ?",
                        (least, greatest, int(at_hand), batch_id, line),
                    )

        await self._run_in_writer(work)

    # States.

    async def quote(
        self,
        batch_id: str,
        quote: BatchQuote,
        *,
        state: BatchState,
        jobs: Iterable[Enqueue] = (),
    ) -> bool:
        """Store the quote. `state`: the state it must be in; `validando` for a new batch."""
        fields = {name: getattr(quote, name) for name in quote.__struct_fields__}
        return await self._change(
            batch_id,
            (state,),
            "cotado",
            fields,
            jobs=jobs,
            forget_pieces=True,
            event_ms=quote.quoted_ms,
        )

    async def refuse(self, batch_id: str, code: str, message: str, now_ms: int) -> bool:
        """Refuse a file that cannot be used."""
        fields = {"code": code, "message": message, "ended_ms": now_ms}
        return await self._change(
            batch_id, ("validando",), "recusado", fields, forget_pieces=True, event_ms=now_ms
        )

    async def confirm(
        self,
        batch_id: str,
        ceiling: int,
        now_ms: int,
        jobs: Iterable[Enqueue],
        also: Callable[[SqlConnection], None],
    ) -> bool:
        """Start a batch, in one commit with `also`: the ceiling's budget and the audit log."""
        fields = {"ceiling": ceiling, "confirmed_ms": now_ms}
        return await self._change(batch_id, ("cotado",), "executando", fields, jobs=jobs, also=also)

    async def resume(
        self,
        batch_id: str,
        ceiling: int | None,
        jobs: Iterable[Enqueue],
        also: Callable[[SqlConnection], None],
        *,
        reason: PauseReason | None = None,
    ) -> bool:
        """Resume a batch, with another ceiling if one is given; only if paused for `reason`."""
        fields: dict[str, object] = {"reason": None, "code": None, "message": None}
        if ceiling is not None:
            fields["ceiling"] = ceiling
        # A constant of ours, not input.
        only = "" if reason is None else f"reason = '{reason}'"
        return await self._change(
            batch_id, ("pausado",), "executando", fields, only=only, jobs=jobs, also=also
        )

    async def pause(
        self,
        batch_id: str,
        reason: PauseReason,
        code: str | None = None,
        message: str | None = None,
        *,
        now_ms: int,
        jobs: Iterable[Enqueue] = (),
        also: Callable[[SqlConnection], None] | None = None,
    ) -> bool:
        """Pause a batch. A pause by its user replaces one that ends by itself (`fonte`)."""
        fields = {"reason": reason, "code": code, "message": message}
        states: tuple[BatchState, ...] = ("executando",)
        only = ""
        if reason == "usuario":
            states, only = ("executando", "pausado"), "(state = 'executando' OR reason = 'fonte')"
        return await self._change(
            batch_id, states, "pausado", fields, only=only, jobs=jobs, also=also, event_ms=now_ms
        )

    async def stop(
        self,
        batch_id: str,
        jobs: Iterable[Enqueue],
        also: Callable[[SqlConnection], None] | None = None,
    ) -> bool:
        """Stop a batch permanently; rows under way still finish."""
        states: tuple[BatchState, ...] = ("cotado", "executando", "pausado")
        fields = {"reason": None, "code": None, "message": None}
        return await self._change(batch_id, states, "encerrando", fields, jobs=jobs, also=also)

    async def expire(self, batch_id: str, now_ms: int) -> bool:
        """Expire a batch that was not confirmed in time."""
        fields = {"ended_ms": now_ms}
        return await self._change(batch_id, ("cotado",), "expirado", fields, event_ms=now_ms)

    async def end(
        self,
        batch_id: str,
        state: BatchState,
        now_ms: int,
        also: Callable[[SqlConnection], None] | None = None,
    ) -> bool:
        """End a batch, unless a row is still open."""
        before: BatchState = "executando" if state == "concluido" else "encerrando"
        return await self._change(
            batch_id,
            (before,),
            state,
            {"ended_ms": now_ms},
            only="NOT EXISTS (SELECT 1 FROM batch_row AS r WHERE r.batch_id = batch.batch_id"
            " AND r.state IN ('pendente', 'em_andamento'))",
            also=also,
            event_ms=now_ms,
        )

    # Running.

    async def reopen_lost(self, batch_id: str) -> int:
        """Reopen some rows whose lookup died with its process. Return their number."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                lost = connection.execute(_LOST, (batch_id, ROWS_AT_ONCE)).fetchall()
                for line, _ in lost:
                    connection.execute(
                        "UPDATE batch_row SET state = 'pendente', request_id = NULL, credits = 0"
                        " WHERE batch_id = ? AND line = ?",
                        (batch_id, line),
                    )
                held = sum(credits for _, credits in lost)
                _moved(connection, batch_id, "em_andamento", "pendente", len(lost), held)
            return len(lost)

        return await self._run_in_writer(work)

    async def cancel_rows(self, batch_id: str, now_ms: int) -> int:
        """Cancel some of the open rows. Return their number; 0: none are left."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                gone = connection.execute(
                    # The state is checked twice: a row may be taken while this waits for its lock.
                    "UPDATE batch_row SET state = 'cancelada', settled_ms = ? WHERE batch_id = ?"
                    " AND state = 'pendente' AND line IN (SELECT line FROM batch_row"
                    " WHERE batch_id = ? AND state = 'pendente' ORDER BY line LIMIT ?) RETURNING 1",
                    (now_ms, batch_id, batch_id, 4 * ROWS_AT_ONCE),
                ).fetchall()
                _moved(connection, batch_id, "pendente", "cancelada", len(gone))
            return len(gone)

        return await self._run_in_writer(work)

    # Retention.

    async def erase(
        self, batch_id: str, now_ms: int, also: Callable[[SqlConnection], None] | None = None
    ) -> bool:
        """Erase the file and the answers of a batch; its counts stay.

        Runs in short transactions. The first does `also` and enqueues a job that resumes the
        erasure if it is cut short. A concurrent call does not do `also` again. False: the batch is
        not over, or does not exist.
        """
        found = await self.batch(batch_id)
        if found is None or found.state not in FINISHED_STATES:
            return False
        # First the layout, without which rows are not readable.

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(
                    "UPDATE batch SET name = '', client = NULL, parameters = '', columns = '',"
                    " told = NULL, header = NULL WHERE batch_id = ?",
                    (batch_id,),
                )
                begun = connection.execute(_BEING_ERASED, (ERASE, batch_id)).fetchall()
                enqueue(connection, [Enqueue(ERASE, batch_id, now_ms + _TAKEN_UP_MS)])
                if also is not None and not begun:
                    also(connection)

        await self._run_in_writer(work)
        await self.erase_rest(batch_id, now_ms)
        return True

    async def erase_rest(self, batch_id: str, now_ms: int) -> None:
        """Finish an `erase` that was cut short."""
        while await self._some_rows_gone(batch_id):
            pass
        await self.forget_pieces(batch_id)
        await self._run(
            "UPDATE batch SET erased_ms = ? WHERE batch_id = ? AND erased_ms IS NULL",
            (now_ms, batch_id),
        )

    async def purge_pieces(self, before_ms: int) -> int:
        """Remove files that never became a batch. Return the count of pieces."""
        rows = await self._all(
            "DELETE FROM batch_piece WHERE stored_ms < ? AND batch_id NOT IN"
            " (SELECT batch_id FROM batch WHERE state IN ('recebido', 'validando')) RETURNING 1",
            (before_ms,),
        )
        return len(rows)

    # Building blocks.

    async def _some_rows_gone(self, batch_id: str) -> int:
        rows = await self._all(
            "DELETE FROM batch_row WHERE batch_id = ? AND line IN (SELECT line FROM batch_row"
            " WHERE batch_id = ? ORDER BY line LIMIT ?) RETURNING 1",
            (batch_id, batch_id, 4 * ROWS_AT_ONCE),
        )
        return len(rows)

    async def _change(
        self,
        batch_id: str,
        states: Sequence[BatchState],
        state: BatchState,
        fields: "dict[str, Any]",
        *,
        jobs: Iterable[Enqueue] = (),
        only: str = "",
        forget_pieces: bool = False,
        also: Callable[[SqlConnection], None] | None = None,
        event_ms: int | None = None,
    ) -> bool:
        """Change a batch's state, with all that belongs to it, in one commit.

        `event_ms`: the instant of its event, if the new state has one. False: the batch was in none
        of `states`.
        """
        assert all(_may_become(before, state) or before == state for before in states)
        names = "".join(f", {name} = ?" for name in fields)
        marks = ", ".join("?" * len(states))
        sql = (
            f"UPDATE batch SET state = ?{names} WHERE batch_id = ?"  # noqa: S608 - names of ours
            f" AND state IN ({marks}) AND erased_ms IS NULL {f'AND {only}' if only else ''}"
            " RETURNING 1"
        )

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                values = (state, *fields.values(), batch_id, *states)
                if not connection.execute(sql, values).fetchall():
                    return False
                if forget_pieces:
                    connection.execute("DELETE FROM batch_piece WHERE batch_id = ?", (batch_id,))
                enqueue(connection, jobs)
                if also is not None:
                    also(connection)
                if event_ms is not None:
                    write_batch_event(connection, batch_id, event_ms)
            return True

        return await self._run_in_writer(work)


def _no_rows(connection: SqlConnection, batch_id: str) -> None:
    """Reset the counts of a batch whose rows are deleted after this commit, some at a time."""
    connection.execute(
        "UPDATE batch_count SET rows = 0, credits = 0 WHERE batch_id = ?", (batch_id,)
    )
    connection.execute("UPDATE batch SET row_bytes = 0 WHERE batch_id = ?", (batch_id,))


def _row_values(row: NewRow) -> tuple[object, ...]:
    """Return the parameters of `_NEW_ROW`; `astuple` copies each, which takes longer."""
    return (
        row.line, row.state, row.ref, row.client, row.document, row.document_hash, row.same,
        row.least, row.greatest, int(row.at_hand), row.code, row.cells,
    )  # fmt: skip


def _moved(  # noqa: PLR0917
    connection: SqlConnection,
    batch_id: str,
    old: RowState,
    new: RowState,
    rows: int,
    credits: int = 0,
) -> None:
    """Move rows from one state to another in the counts, and release the credits held for them."""
    if rows:
        connection.execute(_COUNT, (-rows, -credits, batch_id, old))
        connection.execute(_COUNT, (rows, 0, batch_id, new))
