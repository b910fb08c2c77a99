"""Execution of a batch: its rows are lookups that use spare capacity only (contract 13.5).

It runs in time slices, each within the lease of its job. If the process dies, its rows are reopened
when their holds are released; none of them was charged.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from balcao.batches.batch_context import BatchContext, row_tag
from balcao.batches.columns import ColumnMap, ValidRow
from balcao.batches.pauses import ceiling_message
from balcao.batches.sealing import BatchSeal
from balcao.batches.tables.contract import TableRow
from balcao.batches.validating import columns_of
from balcao.core.access import Caller
from balcao.core.batches import PAUSES, BatchState, PauseReason, RowState, state_after
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    KeyRefused,
    OperationNotAllowed,
    Overloaded,
    SourceUnavailable,
    StorageFailed,
)
from balcao.core.ledger import RequestTags, RowMoved
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.lookup.context import ClockOf, PortfolioTime, real_time
from balcao.lookup.execution import look_up
from balcao.lookup.quoting import is_available_now
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import end_ceiling
from balcao.storage.desk.batch_queries import BatchReader

log = structlog.get_logger()

# Rows read at once, and the length of a time slice, after which other batches run.
ROWS_AT_ONCE = 200
SLICE_SECONDS = 5.0

# Delays of the next check for a recovered source, and for rows that another node has in progress.
SOURCE_RETRY_SECONDS = 20.0
WAIT_SECONDS = 0.2

# Returns whether the circuits of all sources for a question are open.
SourcesUnavailable = Callable[[Caller, Question], bool]


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
        return self._change(request_id, "em_andamento", at_ms, credits=credits)

    def on_answer(self, reply: Reply, at_ms: int) -> RowMoved:
        self.state = state_after(reply.status, self.tries)
        answer = None
        if self.state != "pendente":
            answer = self.seal.answer(self.line, reply.body)
        return self._change(
            reply.request_id,
            self.state,
            at_ms,
            credits=reply.credits,
            code=reply.code,
            answer=answer,
        )

    def on_release(self, request_id: str, at_ms: int) -> RowMoved:
        return self._change(request_id, "pendente", at_ms)

    def failed(self, request_id: str, code: str, at_ms: int, state: RowState = "falha") -> RowMoved:
        """Return the change that ends a row refused before its lookup."""
        return self._change(request_id, state, at_ms, code=code)

    def _change(
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
class _SharedAnswer:
    """The state of rows that share one paid answer, and so are looked up one at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    failed: bool = False  # then not retried in this slice: the provider may charge each attempt


@dataclass(slots=True)
class _TimeSlice:
    """The state of one time slice: rows in progress, and reasons to stop."""

    batch: StoredBatch
    operation: Operation
    columns: ColumnMap
    caller: Caller
    until: float  # by the event loop's clock
    clock: PortfolioTime | None  # of the test portfolio that buys; None: the real time
    tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    pause: tuple[PauseReason, str, str | None] | None = None  # reason, code, message
    overloaded: bool = False  # admission refused a row
    unavailable: int = 0  # rows without an available source
    shared_answers: dict[str, _SharedAnswer] = field(default_factory=dict)  # by cache key
    postponed: bool = False  # rows were left to the next slice
    stopped: bool = False  # the service is stopping
    failure: StorageFailed | None = None

    @property
    def may_start(self) -> bool:
        """Return whether more rows may start."""
        return (
            not self.stopped
            and self.pause is None
            and self.failure is None
            and asyncio.get_running_loop().time() < self.until
        )

    def shared(self, question: Question) -> _SharedAnswer | None:
        """Return the group of rows that share this question's answer, None if none is shared."""
        inquiry = question.inquiries[0]
        if not inquiry.of_company:
            return None
        return self.shared_answers.setdefault(inquiry.cache_key, _SharedAnswer())


class BatchRunner:
    """The job `lote_executar`: from `executando` or `encerrando` to the end."""

    def __init__(
        self,
        context: BatchContext,
        unavailable: SourcesUnavailable = lambda caller, question: False,
        slice_seconds: float = SLICE_SECONDS,
        clock_of: ClockOf = real_time,
    ) -> None:
        self._context = context
        self._clock_of = clock_of
        self.unavailable = unavailable
        self._slice_seconds = slice_seconds
        self._stored = context.parts.desk.batches

    async def run(self, batch_id: str) -> float | None:
        """Run one time slice. Return the seconds until the next one, None if there is none.

        Raises `StorageFailed`.
        """
        batch = await self._stored.batch(batch_id)
        if batch is None or batch.erased_ms is not None:
            return None
        while await self._stored.reopen_lost(batch_id):
            pass
        match batch.state:
            case "executando":
                return await self._run_slice(batch)
            case "encerrando":
                return await self._cancel_waiting(batch)
            case "pausado" if batch.reason == "fonte":
                return await self._check_sources(batch)
            case _:
                return None

    # Asking

    async def _run_slice(self, batch: StoredBatch) -> float | None:
        context = self._context
        operation, caller = context.operation(batch.operation), await context.caller(batch)
        if operation is None or caller is None or not _may_run(caller, batch.operation):
            code = KeyRefused.code if caller is None else OperationNotAllowed.code
            await self._pause(batch, "limite_da_chave", code)
            return None
        columns = columns_of(self._context, batch, operation)
        until = asyncio.get_running_loop().time() + self._slice_seconds
        clock = await self._clock_of(batch.account_id) if batch.of_wallet else None
        current = _TimeSlice(batch, operation, columns, caller, until, clock)
        async with self._stored.open_reader(batch.batch_id) as reader:
            try:
                over = await self._rows(current, reader)
                if current.tasks:
                    await asyncio.wait(current.tasks)
            except asyncio.CancelledError:
                current.stopped = True
                raise
            finally:
                if current.tasks:  # rows in progress hold credits: let them finish
                    await asyncio.wait(current.tasks)
        if current.failure is not None:
            raise current.failure
        if current.pause is not None:
            await self._pause(batch, *current.pause)
            return None
        if not over:
            return 0.0
        if current.unavailable:
            await self._pause(batch, "fonte", SourceUnavailable.code)
            return SOURCE_RETRY_SECONDS
        if current.postponed:
            return 0.0
        return None if await self._end(batch) else WAIT_SECONDS

    async def _rows(self, current: _TimeSlice, reader: BatchReader) -> bool:
        """Start rows until the time slice ends. Return whether every open row was read."""
        after = 0
        places = self._context.parts.admission.low_priority_slots
        while current.may_start:
            rows = await reader.open_rows(after, ROWS_AT_ONCE)
            if not rows:
                return True
            after = rows[-1].line
            waiting = list(rows)
            while waiting and current.may_start:
                # After a pause or a revoked key not even the next group starts.
                if not await reader.goes_on(self._context.now_ms()):
                    return False
                count = min(self._context.pace.group_size(), places)
                some, waiting = waiting[:count], waiting[count:]
                for row in some:
                    self._start(current, reader, row)
                await self._context.pace.pause()
                while len(current.tasks) > places:
                    await asyncio.wait(current.tasks, return_when=asyncio.FIRST_COMPLETED)
                if current.overloaded:
                    await asyncio.sleep(WAIT_SECONDS)
                    current.overloaded = False
            if waiting:
                return False
        return False

    def _start(self, current: _TimeSlice, reader: BatchReader, row: StoredRow) -> None:
        task = asyncio.create_task(self._row(current, reader, row))
        current.tasks.add(task)
        task.add_done_callback(current.tasks.discard)

    async def _row(self, current: _TimeSlice, reader: BatchReader, row: StoredRow) -> None:
        """Look up one row. Raises nothing: obstacles are recorded in `current`."""
        batch = current.batch
        seal = self._context.seal(batch)
        hooks = RowHooks(batch.account_id, batch.batch_id, row.line, row.tries, seal)
        request_id = self._context.new_id()
        try:
            assert row.cells is not None
            parsed = current.columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
            if not isinstance(parsed, ValidRow):  # although it was valid when the file was read
                await self._fail_row(hooks, request_id, parsed.code)
                return
            shared = current.shared(parsed.question)
            if shared is None:
                await self._look_up(current, row, parsed.question, hooks, request_id)
                return
            waits = shared.lock.locked()
            async with shared.lock:
                if waits and (shared.failed or not await self._may_start(current, reader)):
                    current.postponed = True
                    return
                shared.failed = True
                await self._look_up(current, row, parsed.question, hooks, request_id)
                shared.failed = hooks.state != "concluida"
        except Overloaded:
            current.overloaded = True
        except StorageFailed as error:
            current.failure = error
        except CallerError as error:
            code = problem_of(error).code
            if (reason := PAUSES.get(code)) is not None:
                current.pause = reason, code, ceiling_message(error)
                return
            await self._fail_row(hooks, request_id, code)
        except Exception:
            # Logged by its line: the row may contain personal data.
            log.exception("batch.row_bug", batch=batch.batch_id, line=row.line)
            await self._fail_row(hooks, request_id, BalcaoError.code)

    async def _may_start(self, current: _TimeSlice, reader: BatchReader) -> bool:
        """Return whether a row may still start after waiting, perhaps for minutes.

        Raises `StorageFailed`.
        """
        return (
            current.may_start and await reader.goes_on(self._context.now_ms()) and current.may_start
        )

    async def _look_up(
        self,
        current: _TimeSlice,
        row: StoredRow,
        question: Question,
        hooks: RowHooks,
        request_id: str,
    ) -> None:
        batch, parts = current.batch, self._context.parts
        clock, caller = current.clock, current.caller
        question = await self._with_bought_answer(current, question)
        closed = clock is None and self.unavailable(caller, question)
        if closed and not await is_available_now(question, caller, parts):
            current.unavailable += 1
            return
        tags = RequestTags(row.client, row_tag(row.ref), batch.batch_id)
        await look_up(
            question, caller, request_id, None, parts, hooks=hooks, tags=tags, clock=clock
        )
        if hooks.state == "pendente":
            current.unavailable += 1

    async def _with_bought_answer(self, current: _TimeSlice, question: Question) -> Question:
        """Return the question, changed to use the cache if an earlier row bought the answer."""
        inquiry, confirmed_ms = question.inquiries[0], current.batch.confirmed_ms
        if not inquiry.of_company or confirmed_ms is None or current.clock is not None:
            return question
        cache = self._context.parts.environments[current.caller.mode].cache
        kept = (await cache.read([inquiry.cache_key])).get(inquiry.cache_key)
        if kept is None:
            return question
        now_ms = self._context.now_ms()
        return current.operation.answered_since(question, kept, confirmed_ms, now_ms) or question

    async def _fail_row(self, hooks: RowHooks, request_id: str, code: str) -> None:
        moved = hooks.failed(request_id, code, self._context.now_ms())
        try:
            await self._context.parts.desk.commit([moved])
        except BalcaoError as error:
            log.warning("batch.row_not_kept", error=type(error).__name__)

    # Ends

    async def _cancel_waiting(self, batch: StoredBatch) -> float | None:
        """Cancel the waiting rows, and end the batch once none is in progress."""
        now_ms = self._context.now_ms()
        while await self._stored.cancel_rows(batch.batch_id, now_ms):
            pass
        return None if await self._end(batch) else WAIT_SECONDS

    async def _end(self, batch: StoredBatch) -> bool:
        """End the batch unless another process has rows in progress. Return whether it ended."""
        now_ms = self._context.now_ms()
        state: BatchState = "concluido" if batch.state == "executando" else "encerrado"

        def also(connection: SqlConnection) -> None:
            end_ceiling(connection, batch.account_id, batch.batch_id, now_ms)

        return await self._stored.end(batch.batch_id, state, now_ms, also)

    async def _pause(
        self, batch: StoredBatch, reason: PauseReason, code: str, message: str | None = None
    ) -> None:
        now_ms = self._context.now_ms()
        await self._stored.pause(batch.batch_id, reason, code, message, now_ms=now_ms)

    async def _check_sources(self, batch: StoredBatch) -> float | None:
        """Resume the batch if one of its sources is available again."""
        context = self._context
        operation, caller = context.operation(batch.operation), await context.caller(batch)
        if operation is None or caller is None:
            return None
        columns = columns_of(self._context, batch, operation)
        seal = self._context.seal(batch)
        rows = await self._stored.rows(batch.batch_id, 0, ROWS_AT_ONCE, "pendente", cells=True)
        open_again = not rows
        for row in rows:
            assert row.cells is not None
            parsed = columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
            if isinstance(parsed, ValidRow) and not self.unavailable(caller, parsed.question):
                open_again = True
                break
        if not open_again:
            return SOURCE_RETRY_SECONDS
        # Not if its user has paused it meanwhile.
        await self._stored.resume(batch.batch_id, None, (), lambda connection: None, reason="fonte")
        return 0.0


def _may_run(caller: Caller, path: str) -> bool:
    """Return whether the caller's key still allows this operation."""
    return caller.restrictions is None or caller.restrictions.allows_operation(path)
