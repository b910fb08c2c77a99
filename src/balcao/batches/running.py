"""Running a batch: its rows are lookups, made with the capacity that others leave (contract 13.5).

It runs in time slices, each within the lease of its job. The rows of a process that dies are open
again when their holds are given back, and none of them was charged.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog

from balcao.batches.batch_context import BatchContext, mark_of
from balcao.batches.columns import AskedRow, ColumnMap
from balcao.batches.pauses import ceiling_message
from balcao.batches.sealing import BatchSeal
from balcao.batches.tables.contract import TableRow
from balcao.batches.validating import columns_of
from balcao.core.access import Caller
from balcao.core.batches import PAUSES, BatchState, PauseReason, RowState, end_of
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    KeyRefused,
    OperationNotAllowed,
    Overloaded,
    SourceUnavailable,
    StorageFailed,
)
from balcao.core.ledger import Marks, RowMoved
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.lookup.execution import look_up
from balcao.lookup.quoting import is_available_now
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import end_ceiling
from balcao.storage.desk.batches_reading import AskingReader

log = structlog.get_logger()

# Rows that are read at once, and how long a time slice is: then other batches have their turn.
ROWS_AT_ONCE = 200
SLICE_SECONDS = 5.0

# Until somebody looks again whether a source is back, or whether another node's rows are over.
SOURCE_AGAIN_SECONDS = 20.0
WAIT_SECONDS = 0.2

# Whether every source that may be asked this is left alone at the moment.
SourcesShut = Callable[[Caller, Question], bool]


class RowHooks(msgspec.Struct):
    """The row's changes in the commits of its lookup (`lookup.context.CommitHooks`).

    `state`: the row's, once the lookup is over.
    """

    account_id: int
    batch_id: str
    line: int
    tries: int
    seal: BatchSeal
    state: RowState = "pendente"

    def on_hold(self, request_id: str, credits: int, at_ms: int) -> RowMoved:
        """See the contract."""
        return self._moved(request_id, "em_andamento", at_ms, credits=credits)

    def on_answer(self, reply: Reply, at_ms: int) -> RowMoved:
        """See the contract."""
        self.state = end_of(reply.status, self.tries)
        answer = None
        if self.state != "pendente":
            answer = self.seal.answer(self.line, reply.body)
        return self._moved(
            reply.request_id,
            self.state,
            at_ms,
            credits=reply.credits,
            code=reply.code,
            answer=answer,
        )

    def on_release(self, request_id: str, at_ms: int) -> RowMoved:
        """See the contract."""
        return self._moved(request_id, "pendente", at_ms)

    def failed(self, request_id: str, code: str, at_ms: int, state: RowState = "falha") -> RowMoved:
        """Return the end of a row that is refused before anything is asked."""
        return self._moved(request_id, state, at_ms, code=code)

    def _moved(
        self,
        request_id: str,
        state: RowState,
        at_ms: int,
        *,
        credits: int = 0,
        code: str | None = None,
        answer: bytes | None = None,
    ) -> RowMoved:
        of = self.account_id, self.batch_id, self.line
        return RowMoved(*of, request_id, state, credits, code, answer, at_ms)


@dataclass(slots=True)
class _Company:
    """Rows that share the answer which the first of them buys: one is looked up at a time."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    failed: bool = False  # the provider may charge for every further attempt


@dataclass(slots=True)
class _TimeSlice:
    """The state of a time slice of a batch: its rows that are looked up, and what stops it."""

    batch: StoredBatch
    operation: Operation
    columns: ColumnMap
    caller: Caller
    until: float  # of the loop's clock
    flying: "set[asyncio.Task[None]]" = field(default_factory=set)
    pause: tuple[PauseReason, str, str | None] | None = None  # why, the code, and its numbers
    crowded: bool = False  # there is no place for one more who waits for a source
    left: int = 0  # rows whose source is shut
    companies: dict[str, _Company] = field(default_factory=dict)  # by the key of their answer
    postponed: bool = False  # rows were left to the next time slice
    stopped: bool = False  # the service ends
    failure: StorageFailed | None = None

    @property
    def goes_on(self) -> bool:
        """Return whether more rows are to be begun."""
        return (
            not self.stopped
            and self.pause is None
            and self.failure is None
            and asyncio.get_running_loop().time() < self.until
        )

    def company(self, question: Question) -> _Company | None:
        """Return the company whose answer this row shares with others, if it is of that kind."""
        inquiry = question.inquiries[0]
        if not inquiry.of_company:
            return None
        return self.companies.setdefault(inquiry.cache_key, _Company())


class Running:
    """The job `lote_executar`: from `executando` or `encerrando` to the end."""

    def __init__(
        self,
        context: BatchContext,
        shut: SourcesShut = lambda caller, question: False,
        slice_seconds: float = SLICE_SECONDS,
    ) -> None:
        self._context = context
        self._shut = shut
        self._slice_seconds = slice_seconds
        self._stored = context.parts.desk.batches

    async def run(self, batch_id: str) -> float | None:
        """Run one time slice. Return after how many seconds there is more to do; None: nothing is.

        Raises `StorageFailed`.
        """
        batch = await self._stored.batch(batch_id)
        if batch is None or batch.erased_ms is not None:
            return None
        while await self._stored.reopen_lost(batch_id):
            pass
        match batch.state:
            case "executando":
                return await self._ask(batch)
            case "encerrando":
                return await self._close(batch)
            case "pausado" if batch.reason == "fonte":
                return await self._look_at_sources(batch)
            case _:
                return None

    # Asking

    async def _ask(self, batch: StoredBatch) -> float | None:
        context = self._context
        operation, caller = context.operation(batch.operation), await context.caller(batch)
        if operation is None or caller is None or not _may_ask(caller, batch.operation):
            code = KeyRefused.code if caller is None else OperationNotAllowed.code
            await self._pause(batch, "limite_da_chave", code)
            return None
        columns = columns_of(self._context, batch, operation)
        until = asyncio.get_running_loop().time() + self._slice_seconds
        current = _TimeSlice(batch, operation, columns, caller, until)
        async with self._stored.asking(batch.batch_id) as reader:
            try:
                over = await self._rows(current, reader)
                if current.flying:
                    await asyncio.wait(current.flying)
            except asyncio.CancelledError:
                current.stopped = True
                raise
            finally:
                if current.flying:  # what was begun is paid for: it ends by itself
                    await asyncio.wait(current.flying)
        if current.failure is not None:
            raise current.failure
        if current.pause is not None:
            await self._pause(batch, *current.pause)
            return None
        if not over:
            return 0.0
        if current.left:
            await self._pause(batch, "fonte", SourceUnavailable.code)
            return SOURCE_AGAIN_SECONDS
        if current.postponed:
            return 0.0
        return None if await self._end(batch) else WAIT_SECONDS

    async def _rows(self, current: _TimeSlice, reader: AskingReader) -> bool:
        """Begin rows as long as the time slice goes on. Return whether every open row was seen."""
        after = 0
        places = self._context.parts.admission.low_priority_slots
        while current.goes_on:
            rows = await reader.open_rows(after, ROWS_AT_ONCE)
            if not rows:
                return True
            after = rows[-1].line
            waiting = list(rows)
            while waiting and current.goes_on:
                # Paused, or its key revoked: the very next group is not begun any more.
                if not await reader.goes_on(self._context.now_ms()):
                    return False
                count = min(self._context.pace.group(), places)
                some, waiting = waiting[:count], waiting[count:]
                for row in some:
                    self._begin(current, reader, row)
                await self._context.pace.rest()
                while len(current.flying) > places:
                    await asyncio.wait(current.flying, return_when=asyncio.FIRST_COMPLETED)
                if current.crowded:
                    await asyncio.sleep(WAIT_SECONDS)
                    current.crowded = False
            if waiting:
                return False
        return False

    def _begin(self, current: _TimeSlice, reader: AskingReader, row: StoredRow) -> None:
        task = asyncio.create_task(self._row(current, reader, row))
        current.flying.add(task)
        task.add_done_callback(current.flying.discard)

    async def _row(self, current: _TimeSlice, reader: AskingReader, row: StoredRow) -> None:
        """Look one row up. Raises nothing: what keeps it from its end is noted in `current`."""
        batch = current.batch
        seal = self._context.seal(batch.batch_id)
        hooks = RowHooks(batch.account_id, batch.batch_id, row.line, row.tries, seal)
        request_id = self._context.new_id()
        try:
            assert row.cells is not None
            asked = current.columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
            if not isinstance(asked, AskedRow):  # it was valid when it was read
                await self._failed(hooks, request_id, asked.code)
                return
            company = current.company(asked.question)
            if company is None:
                await self._look_up(current, row, asked.question, hooks, request_id)
                return
            waits = company.turn.locked()
            async with company.turn:
                if waits and (company.failed or not await self._goes_on(current, reader)):
                    current.postponed = True
                    return
                company.failed = True
                await self._look_up(current, row, asked.question, hooks, request_id)
                company.failed = hooks.state != "concluida"
        except Overloaded:
            current.crowded = True
        except StorageFailed as error:
            current.failure = error
        except CallerError as error:
            code = problem_of(error).code
            if (reason := PAUSES.get(code)) is not None:
                current.pause = reason, code, ceiling_message(error)
                return
            await self._failed(hooks, request_id, code)
        except Exception:
            # Its words may name whom it is about; the row's line does not.
            log.exception("batch.row_bug", batch=batch.batch_id, line=row.line)
            await self._failed(hooks, request_id, BalcaoError.code)

    async def _goes_on(self, current: _TimeSlice, reader: AskingReader) -> bool:
        """Return whether a row that waited may be begun: those before it may have taken minutes.

        Raises `StorageFailed`.
        """
        return current.goes_on and await reader.goes_on(self._context.now_ms()) and current.goes_on

    async def _look_up(
        self,
        current: _TimeSlice,
        row: StoredRow,
        question: Question,
        hooks: RowHooks,
        request_id: str,
    ) -> None:
        batch, parts = current.batch, self._context.parts
        question = await self._as_answered_since(current, question)
        if self._shut(current.caller, question) and not await is_available_now(
            question, current.caller, parts
        ):
            current.left += 1
            return
        marks = Marks(row.client, mark_of(row.ref), batch.batch_id)
        await look_up(question, current.caller, request_id, None, parts, hooks=hooks, marks=marks)
        if hooks.state == "pendente":
            current.left += 1

    async def _as_answered_since(self, current: _TimeSlice, question: Question) -> Question:
        """Return the question, answered from the cache if an earlier row bought the answer."""
        inquiry, confirmed_ms = question.inquiries[0], current.batch.confirmed_ms
        if not inquiry.of_company or confirmed_ms is None:
            return question
        cache = self._context.parts.environments[current.caller.mode].cache
        kept = (await cache.read([inquiry.cache_key])).get(inquiry.cache_key)
        if kept is None:
            return question
        now_ms = self._context.now_ms()
        return current.operation.answered_since(question, kept, confirmed_ms, now_ms) or question

    async def _failed(self, hooks: RowHooks, request_id: str, code: str) -> None:
        moved = hooks.failed(request_id, code, self._context.now_ms())
        try:
            await self._context.parts.desk.commit([moved])
        except BalcaoError as error:
            log.warning("batch.row_not_kept", error=type(error).__name__)

    # Ends

    async def _close(self, batch: StoredBatch) -> float | None:
        """Cancel the rows that wait, and end the batch once none is under way."""
        now_ms = self._context.now_ms()
        while await self._stored.cancel_rows(batch.batch_id, now_ms):
            pass
        return None if await self._end(batch) else WAIT_SECONDS

    async def _end(self, batch: StoredBatch) -> bool:
        """End the batch, if no row is open. False: another process still has some of them."""
        now_ms = self._context.now_ms()
        state: BatchState = "concluido" if batch.state == "executando" else "encerrado"
        now = await self._stored.batch(batch.batch_id)
        assert now is not None
        write_event = self._context.event(
            "lote.concluido", batch, estado=state, creditos_gastos=now.spent, linhas=_counts(now)
        )

        def also(connection: SqlConnection) -> None:
            end_ceiling(connection, batch.account_id, batch.batch_id, now_ms)
            write_event(connection)

        return await self._stored.end(batch.batch_id, state, now_ms, also)

    async def _pause(
        self, batch: StoredBatch, reason: PauseReason, code: str, message: str | None = None
    ) -> None:
        event = self._context.event("lote.pausado", batch, motivo=reason, codigo=code)
        await self._stored.pause(batch.batch_id, reason, code, message, event=event)

    async def _look_at_sources(self, batch: StoredBatch) -> float | None:
        """Resume a batch as soon as one of its sources may be asked again."""
        context = self._context
        operation, caller = context.operation(batch.operation), await context.caller(batch)
        if operation is None or caller is None:
            return None
        columns = columns_of(self._context, batch, operation)
        seal = self._context.seal(batch.batch_id)
        rows = await self._stored.rows(batch.batch_id, 0, ROWS_AT_ONCE, "pendente", cells=True)
        open_again = not rows
        for row in rows:
            assert row.cells is not None
            asked = columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
            if isinstance(asked, AskedRow) and not self._shut(caller, asked.question):
                open_again = True
                break
        if not open_again:
            return SOURCE_AGAIN_SECONDS
        # Not if its user has paused it meanwhile.
        await self._stored.resume(batch.batch_id, None, (), lambda connection: None, reason="fonte")
        return 0.0


def _may_ask(caller: Caller, path: str) -> bool:
    """Return whether the key is still for this operation."""
    return caller.door is None or caller.door.serves(path)


def _counts(batch: StoredBatch) -> Mapping[str, int]:
    return {state: tally.rows for state, tally in batch.tallies.items() if tally.rows}
