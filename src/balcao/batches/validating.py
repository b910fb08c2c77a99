"""Validation of a batch's file: its rows are read, checked, priced and stored."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import msgspec
import structlog

from balcao.batches.batch_context import (
    BatchContext,
    FileSummary,
    column_choices,
    common_parameters,
    summary_of,
)
from balcao.batches.columns import (
    Choice,
    ColumnMap,
    ValidRow,
    is_excluded,
    map_columns,
    question_digest,
)
from balcao.batches.confirming import creator_of, start
from balcao.batches.file_admission import FileAdmission
from balcao.batches.sealing import write_decrypted
from balcao.batches.tables.contract import Cells, TableRow
from balcao.batches.tables.opening import open_table
from balcao.core.access import Caller
from balcao.core.batches import QUOTE_MS, BatchQuote, RowState, SourceDemand
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import BalcaoError, CallerError, FileUnreadable
from balcao.core.file_limits import ROW_BYTES
from balcao.core.outcomes import Quote
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.lookup.admit import require_client
from balcao.lookup.context import Parts
from balcao.lookup.quoting import quote
from balcao.operations.contract import Operation
from balcao.storage.batches import NewRow, StoredBatch

log = structlog.get_logger()

ROWS_AT_ONCE = 250

_OUR_FAULT = (
    "O arquivo não pôde ser lido por uma falha do serviço, que foi registrada. Nada foi cobrado."
    " Salve de novo como CSV ou .xlsx e envie. Se a falha se repetir, fale com o suporte."
)


class FileTable(msgspec.Struct):
    """A source of rows: a file, or the rows of another batch."""

    header: Sequence[str]
    sample: Sequence[TableRow]
    rows: Iterator[TableRow]
    description: str  # for people
    chosen: Mapping[str, Choice]  # column by role


class BatchValidator:
    """The job `lote_validar`: from `recebido` to `cotado` or `recusado`. Repeatable."""

    def __init__(self, context: BatchContext, admission: FileAdmission) -> None:
        self._context = context
        self._admission = admission
        self._stored = context.parts.desk.batches

    async def validate(self, batch_id: str) -> None:
        """Read, store and quote a file. Raises `StorageFailed`, after which the job is retried.

        Permanent errors, including our own bugs, end as `recusado`.
        """
        batch = await self._stored.batch(batch_id)
        if batch is None or await self._is_started(batch) or not await self._stored.begin(batch_id):
            return
        try:
            async with self._table(batch) as table:
                summary = await self._read(batch, table)
            while await self._stored.mark_repeated(batch_id):
                pass
            header = self._header(batch, table.header)
            await self._stored.store_layout(batch_id, header, summary.stored)
            await self._quote(batch, summary)
            if batch.ceiling is not None:
                await start(self._context, batch, batch.ceiling, creator_of(batch))
        except CallerError as error:
            code = error.reason if isinstance(error, FileUnreadable) else problem_of(error).code
            await self._refuse(batch_id, code, problem_of(error).message)
        except (BalcaoError, OSError, MemoryError):  # possibly temporary: retry
            raise
        except Exception:
            log.exception("batch.bug", batch=batch_id)
            await self._refuse(batch_id, "erro_interno", _OUR_FAULT)

    async def _is_started(self, batch: StoredBatch) -> bool:
        """Start a batch that was to start by itself, where the process died before it did."""
        if batch.state != "cotado" or batch.ceiling is None:
            return False
        return await start(self._context, batch, batch.ceiling, creator_of(batch))

    async def _refuse(self, batch_id: str, code: str, message: str) -> None:
        await self._stored.forget_rows(batch_id)  # partial, and they take space
        await self._stored.refuse(batch_id, code, message, self._context.now_ms())

    async def requote(self, batch: StoredBatch, summary: FileSummary) -> None:
        """Quote the stored rows again under the current tariff."""
        caller = await self._caller(batch)
        operation = self._operation(batch)
        reading = columns_of(self._context, batch, operation)
        sources, after = _SourceCounts(self._context.parts, caller), 0
        while rows := await self._stored.rows(
            batch.batch_id, after, ROWS_AT_ONCE, "pendente", cells=True
        ):
            after = rows[-1].line
            prices, waiting = [], list(rows)
            while waiting:
                count = self._context.pace.group_size()
                for row in waiting[:count]:
                    assert row.cells is not None
                    cells = self._context.seal(batch).open_cells(row.line, row.cells)
                    parsed = reading.read(TableRow(row.line, cells))
                    if isinstance(parsed, ValidRow):
                        cost = await quote(parsed.question, caller, self._context.parts)
                        sources.add(parsed.question, cost)
                        prices.append((cost.least, cost.greatest, cost.at_hand, row.line))
                del waiting[:count]
                await self._context.pace.pause()
            await self._stored.price_rows(batch.batch_id, prices)
        summary = msgspec.structs.replace(summary, asked=sources.lines)
        await self._stored.replace_layout(batch.batch_id, batch.layout, summary.stored)
        await self._quote(batch, summary, again=True)

    async def _quote(
        self, batch: StoredBatch, summary: FileSummary, *, again: bool = False
    ) -> None:
        digest, now_ms = self._context.digest(batch, summary.rows_digest), self._context.now_ms()
        valid, least, greatest, at_hand = await self._stored.totals(batch.batch_id)
        current = BatchQuote(digest, least, greatest, valid, at_hand, now_ms, now_ms + QUOTE_MS)
        await self._stored.quote(
            batch.batch_id,
            current,
            state="cotado" if again else "validando",
        )

    async def _read(self, batch: StoredBatch, table: FileTable) -> FileSummary:
        """Store all rows with their prices, and return the summary of the file."""
        operation, caller = self._operation(batch), await self._caller(batch)
        columns = map_columns(
            operation,
            table.header,
            table.sample,
            common=common_parameters(batch.parameters),
            chosen=table.chosen,
        )
        summary = FileSummary(table.description, tuple(columns.descriptions), columns.chosen)
        header = self._header(batch, table.header)
        await self._stored.store_layout(batch.batch_id, header, summary.stored)
        digest = hashlib.blake2b(digest_size=16)
        reader = _RowReader(self._context, batch, operation, caller, columns)
        counter = await self._admission.rows(batch.account_id)
        while some := await asyncio.to_thread(lambda: list(islice(table.rows, ROWS_AT_ONCE))):
            new: list[NewRow] = []
            while some:
                count = self._context.pace.group_size()
                new += [await reader.row(row) for row in some[:count]]
                del some[:count]
                await self._context.pace.pause()
            counter.add(sum(len(row.cells) for row in new) + ROW_BYTES * len(new))
            for row in new:
                if row.same is not None:
                    digest.update(b"%d:%b" % (row.line, row.same))
            await self._stored.add_rows(batch.batch_id, new)
        return msgspec.structs.replace(
            summary,
            columns=tuple(columns.descriptions_with(reader.ignored_tags, batch.client)),
            rows_digest=digest.hexdigest(),
            asked=reader.sources.lines,
        )

    def _header(self, batch: StoredBatch, header: Sequence[str]) -> bytes:
        return self._context.seal(batch).cells(0, tuple(header))

    def _operation(self, batch: StoredBatch) -> Operation:
        operation = self._context.operation(batch.operation)
        if operation is None:
            raise FileUnreadable("operacao", "A operação deste lote não existe mais.")
        return operation

    async def _caller(self, batch: StoredBatch) -> Caller:
        """Return the batch's caller, even if its key is inactive, which is checked later."""
        caller = await self._context.caller(batch)
        return caller or self._context.parts.desk.account(batch.account_id).caller(batch.user_id)

    @asynccontextmanager
    async def _table(self, batch: StoredBatch) -> AsyncIterator[FileTable]:
        """Open the file, or the rows to repeat. Raises `FileUnreadable`."""
        if batch.repeats is not None:
            yield await self._failed_rows(batch.repeats)
            return
        seal, pieces = self._context.seal(batch), self._stored.pieces(batch.batch_id)
        path = await asyncio.to_thread(write_decrypted, self._context.folder, seal, pieces)
        try:
            bounds = self._admission.bounds_of(batch.account_id)
            table = await asyncio.to_thread(open_table, path, batch.media_type, bounds=bounds)
            try:
                yield FileTable(
                    table.header, table.sample, table.rows, table.description, column_choices(batch)
                )
            finally:
                await asyncio.to_thread(table.close)
        finally:  # slow for a hundred megabytes
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _failed_rows(self, batch_id: str) -> FileTable:
        origin = await self._stored.batch(batch_id)
        if origin is None or origin.header is None or origin.layout is None:
            raise FileUnreadable("lote_apagado", "Os dados do lote a repetir já foram apagados.")
        seal = self._context.seal(origin)

        def rows() -> Iterator[TableRow]:
            for row in self._stored.results(batch_id, "falha"):
                if row.cells is not None:
                    yield TableRow(row.line, seal.open_cells(row.line, row.cells))

        header = seal.open_cells(0, origin.header)
        description = f"As linhas com falha do lote {batch_id}"
        return FileTable(header, (), rows(), description, stored_columns(origin))


def stored_columns(batch: StoredBatch) -> Mapping[str, Choice]:
    """Return the column index of each role as the file was interpreted, or None.

    With these, rows are later read in the same way without the sample.
    """
    summary = summary_of(batch)
    assert summary is not None
    # Until 2026-11-26 excluded roles were not stored with the others.
    left_out = {role: None for role, choice in column_choices(batch).items() if is_excluded(choice)}
    return left_out | dict(summary.letters)


def columns_of(context: BatchContext, batch: StoredBatch, operation: Operation) -> ColumnMap:
    """Return the columns as interpreted when the file was read."""
    assert batch.header is not None
    header = context.seal(batch).open_cells(0, batch.header)
    return map_columns(
        operation,
        header,
        common=common_parameters(batch.parameters),
        chosen=stored_columns(batch),
    )


class _SourceCounts:
    """Counts, for each source that rows may need, the rows for which it is called first."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._sources = parts.environments[caller.mode].sources
        self._first: dict[tuple[str, str], int] = {}

    def add(self, question: Question, cost: Quote) -> None:
        """Count a row."""
        if cost.at_hand:
            return
        for inquiry in question.inquiries:
            for at, name in enumerate(self._sources.source_names(inquiry)):
                line = name, inquiry.uf or ""
                self._first[line] = self._first.get(line, 0) + (at == 0)

    @property
    def lines(self) -> tuple[SourceDemand, ...]:
        """Return the counts as stored with the batch."""
        return tuple(SourceDemand(*line, rows) for line, rows in self._first.items())


class _RowReader:
    """Converts rows of a file to stored rows."""

    def __init__(
        self,
        context: BatchContext,
        batch: StoredBatch,
        operation: Operation,
        caller: Caller,
        columns: ColumnMap,
    ) -> None:
        self._parts = context.parts
        self._pepper = context.secrets.ring.first
        self._seal = context.seal(batch)
        self._operation = operation
        self._caller = caller
        self._columns = columns
        self._client = batch.client
        self.sources = _SourceCounts(context.parts, caller)
        self.ignored_tags: Counter[str] = Counter()  # rows by role

    async def row(self, row: TableRow) -> NewRow:
        """Return the row to store, with its price if it is to be looked up."""
        parsed = self._columns.read(row)
        cells: Cells = row.cells
        sealed = self._seal.cells(row.line, cells)
        client = parsed.client or self._client
        shown, hashed = self._named(parsed.document)
        if not isinstance(parsed, ValidRow):
            return NewRow(
                row.line, "invalida", parsed.ref, client, shown, hashed, None, 0, 0, False,
                parsed.code, sealed,
            )  # fmt: skip
        self.ignored_tags.update(self._columns.ignored_tags(parsed, cells))
        question = parsed.question
        state: RowState = "pendente"
        code, least, greatest, at_hand, same = None, 0, 0, False, None
        try:
            require_client(self._caller, client)
            self._operation.check_question(question, self._caller)
        except CallerError as refused:
            state, code = "recusada", problem_of(refused).code
        else:
            cost = await quote(question, self._caller, self._parts)
            self.sources.add(question, cost)
            least, greatest, at_hand = cost.least, cost.greatest, cost.at_hand
            same = question_digest(self._operation, question, self._seal.question_key)
        return NewRow(
            row.line, state, parsed.ref, client, shown, hashed, same, least, greatest, at_hand,
            code, sealed,
        )  # fmt: skip

    def _named(self, document: Cnpj | Cpf | None) -> tuple[str | None, bytes | None]:
        """Return a row's document as displayed, and for a CPF its hash."""
        if isinstance(document, Cpf):
            return document.masked, document_hash(self._pepper, document.text)
        return (None if document is None else document.text), None
