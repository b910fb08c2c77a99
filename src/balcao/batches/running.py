"""Running a batch: its rows asked like any caller's, within what others leave (decisions 13.5).

A stroke at a time, each with the lease of its job. Whatever dies, the rows it had are open again
when their holds are given back, and nothing of them was charged.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from balcao.batches.books import BatchBooks, mark_of
from balcao.batches.columns import AskedRow, ColumnMap
from balcao.batches.pace import Pace
from balcao.batches.pauses import ceiling_told
from balcao.batches.row import RowErrand
from balcao.batches.tables.contract import TableRow
from balcao.batches.validating import columns_of
from balcao.core.access import Caller
from balcao.core.batches import PAUSES, BatchState, PauseReason
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    KeyRefused,
    OperationNotAllowed,
    Overloaded,
    SourceUnavailable,
    StorageFailed,
)
from balcao.core.ledger import Marks
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.lookup.quoting import is_at_hand
from balcao.lookup.story import look_up
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import end_ceiling
from balcao.storage.desk.batches_reading import AskingReader

log = structlog.get_logger()

# Rows that are read at once, and how long a stroke goes on: then other batches have their turn.
ROWS_AT_ONCE = 200
STROKE_SECONDS = 5.0

# Until somebody looks again whether a source is back, or whether another node's rows are over.
SOURCE_AGAIN_SECONDS = 20.0
WAIT_SECONDS = 0.2

# Whether every source that may be asked this is left alone at the moment.
SourcesShut = Callable[[Caller, Question], bool]


@dataclass(slots=True)
class _Company:
    """Rows that share the answer which the first of them buys: one is asked about at a time."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    failed: bool = False  # the provider may charge for every further attempt


@dataclass(slots=True)
class _Stroke:
    """What is known while some rows of a batch are being asked."""

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
    postponed: bool = False  # rows were left to the next stroke
    stopped: bool = False  # the service ends
    failure: StorageFailed | None = None

    @property
    def goes_on(self) -> bool:
        """Whether more rows are to be begun."""
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
        books: BatchBooks,
        pace: Pace,
        shut: SourcesShut = lambda caller, question: False,
        stroke_seconds: float = STROKE_SECONDS,
    ) -> None:
        self._books = books
        self._pace = pace
        self._shut = shut
        self._stroke_seconds = stroke_seconds
        self._stored = books.parts.desk.batches

    async def run(self, batch_id: str) -> float | None:
        """One stroke. After how many seconds there is more to be done; None: nothing is.

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
        operation, caller = self._books.operation(batch.operation), await self._books.caller(batch)
        if operation is None or caller is None or not _may_ask(caller, batch.operation):
            code = KeyRefused.code if caller is None else OperationNotAllowed.code
            await self._pause(batch, "limite_da_chave", code)
            return None
        columns = columns_of(self._books, batch, operation)
        until = asyncio.get_running_loop().time() + self._stroke_seconds
        stroke = _Stroke(batch, operation, columns, caller, until)
        async with self._stored.asking(batch.batch_id) as reader:
            try:
                over = await self._rows(stroke, reader)
                if stroke.flying:
                    await asyncio.wait(stroke.flying)
            except asyncio.CancelledError:
                stroke.stopped = True
                raise
            finally:
                if stroke.flying:  # what was begun is paid for: it ends by itself
                    await asyncio.wait(stroke.flying)
        if stroke.failure is not None:
            raise stroke.failure
        if stroke.pause is not None:
            await self._pause(batch, *stroke.pause)
            return None
        if not over:
            return 0.0
        if stroke.left:
            await self._pause(batch, "fonte", SourceUnavailable.code)
            return SOURCE_AGAIN_SECONDS
        if stroke.postponed:
            return 0.0
        return None if await self._end(batch) else WAIT_SECONDS

    async def _rows(self, stroke: _Stroke, reader: AskingReader) -> bool:
        """Begin rows as long as this goes on. Whether every open row was looked at."""
        after = 0
        places = self._books.parts.admission.places_yielding
        while stroke.goes_on:
            rows = await reader.open_rows(after, ROWS_AT_ONCE)
            if not rows:
                return True
            after = rows[-1].line
            waiting = list(rows)
            while waiting and stroke.goes_on:
                # Paused, or its key revoked: the very next slice is not begun any more.
                if not await reader.goes_on(self._books.now_ms()):
                    return False
                count = min(self._pace.group(), places)
                some, waiting = waiting[:count], waiting[count:]
                for row in some:
                    self._begin(stroke, reader, row)
                await self._pace.rest()
                while len(stroke.flying) > places:
                    await asyncio.wait(stroke.flying, return_when=asyncio.FIRST_COMPLETED)
                if stroke.crowded:
                    await asyncio.sleep(WAIT_SECONDS)
                    stroke.crowded = False
            if waiting:
                return False
        return False

    def _begin(self, stroke: _Stroke, reader: AskingReader, row: StoredRow) -> None:
        task = asyncio.create_task(self._row(stroke, reader, row))
        stroke.flying.add(task)
        task.add_done_callback(stroke.flying.discard)

    async def _row(self, stroke: _Stroke, reader: AskingReader, row: StoredRow) -> None:
        """One row, to its end if nothing keeps it. Raises nothing: what there is, `stroke` says."""
        batch = stroke.batch
        seal = self._books.seal(batch.batch_id)
        errand = RowErrand(
            batch.account_id,
            batch.batch_id,
            row.line,
            row.tries,
            seal,
        )
        request_id = self._books.new_id()
        try:
            assert row.cells is not None
            asked = stroke.columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
            if not isinstance(asked, AskedRow):  # it was valid when it was read
                await self._failed(errand, request_id, asked.code)
                return
            company = stroke.company(asked.question)
            if company is None:
                await self._look_up(stroke, row, asked.question, errand, request_id)
                return
            waits = company.turn.locked()
            async with company.turn:
                if waits and (company.failed or not await self._goes_on(stroke, reader)):
                    stroke.postponed = True
                    return
                company.failed = True
                await self._look_up(stroke, row, asked.question, errand, request_id)
                company.failed = errand.state != "concluida"
        except Overloaded:
            stroke.crowded = True
        except StorageFailed as error:
            stroke.failure = error
        except CallerError as error:
            code = problem_of(error).code
            if (reason := PAUSES.get(code)) is not None:
                stroke.pause = reason, code, ceiling_told(error)
                return
            await self._failed(errand, request_id, code)
        except Exception:
            # Its words may name whom it is about; the row's line does not.
            log.exception("batch.row_bug", batch=batch.batch_id, line=row.line)
            await self._failed(errand, request_id, BalcaoError.code)

    async def _goes_on(self, stroke: _Stroke, reader: AskingReader) -> bool:
        """Whether a row that waited may be begun: those before it may have taken minutes.

        Raises `StorageFailed`.
        """
        return stroke.goes_on and await reader.goes_on(self._books.now_ms()) and stroke.goes_on

    async def _look_up(
        self,
        stroke: _Stroke,
        row: StoredRow,
        question: Question,
        errand: RowErrand,
        request_id: str,
    ) -> None:
        batch, parts = stroke.batch, self._books.parts
        question = await self._as_answered_since(stroke, question)
        if self._shut(stroke.caller, question) and not await is_at_hand(
            question, stroke.caller, parts
        ):
            stroke.left += 1
            return
        marks = Marks(row.client, mark_of(row.ref), batch.batch_id)
        await look_up(question, stroke.caller, request_id, None, parts, errand=errand, marks=marks)
        if errand.state == "pendente":
            stroke.left += 1

    async def _as_answered_since(self, stroke: _Stroke, question: Question) -> Question:
        """The question, served from the cache if an earlier row bought the company's answer."""
        inquiry, confirmed_ms = question.inquiries[0], stroke.batch.confirmed_ms
        if not inquiry.of_company or confirmed_ms is None:
            return question
        cache = self._books.parts.environments[stroke.caller.mode].cache
        kept = (await cache.read([inquiry.cache_key])).get(inquiry.cache_key)
        if kept is None:
            return question
        now_ms = self._books.now_ms()
        return stroke.operation.answered_since(question, kept, confirmed_ms, now_ms) or question

    async def _failed(self, errand: RowErrand, request_id: str, code: str) -> None:
        moved = errand.failed(request_id, code, self._books.now_ms())
        try:
            await self._books.parts.desk.commit([moved])
        except BalcaoError as error:
            log.warning("batch.row_not_kept", error=type(error).__name__)

    # Ends

    async def _close(self, batch: StoredBatch) -> float | None:
        """What waits is not asked any more; what is under way ends first."""
        now_ms = self._books.now_ms()
        while await self._stored.cancel_rows(batch.batch_id, now_ms):
            pass
        return None if await self._end(batch) else WAIT_SECONDS

    async def _end(self, batch: StoredBatch) -> bool:
        """It is over, if no row is open. False: another process still has some of them."""
        now_ms = self._books.now_ms()
        state: BatchState = "concluido" if batch.state == "executando" else "encerrado"
        now = await self._stored.batch(batch.batch_id)
        assert now is not None
        told = self._books.event(
            "lote.concluido", batch, estado=state, creditos_gastos=now.spent, linhas=_counts(now)
        )

        def also(connection: SqlConnection) -> None:
            end_ceiling(connection, batch.account_id, batch.batch_id, now_ms)
            told(connection)

        return await self._stored.end(batch.batch_id, state, now_ms, also)

    async def _pause(
        self, batch: StoredBatch, reason: PauseReason, code: str, message: str | None = None
    ) -> None:
        event = self._books.event("lote.pausado", batch, motivo=reason, codigo=code)
        await self._stored.pause(batch.batch_id, reason, code, message, event=event)

    async def _look_at_sources(self, batch: StoredBatch) -> float | None:
        """Go on by itself as soon as a source may be asked again."""
        operation, caller = self._books.operation(batch.operation), await self._books.caller(batch)
        if operation is None or caller is None:
            return None
        columns = columns_of(self._books, batch, operation)
        seal = self._books.seal(batch.batch_id)
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
    """Whether the key is for this operation, still."""
    return caller.door is None or caller.door.serves(path)


def _counts(batch: StoredBatch) -> Mapping[str, int]:
    return {state: tally.rows for state, tally in batch.tallies.items() if tally.rows}
