"""Reading a batch's file: which rows ask what, which ask nothing, and what it would all cost."""

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
    Understood,
    chosen_of,
    common_of,
    quote_words,
    understood_of,
)
from balcao.batches.columns import (
    AskedRow,
    Choice,
    ColumnMap,
    asked_digest,
    leaves_out,
    map_columns,
)
from balcao.batches.room import FileRoom
from balcao.batches.sealing import unsealed
from balcao.batches.tables.contract import Cells, TableRow
from balcao.batches.tables.opening import open_table
from balcao.core.access import Caller
from balcao.core.batches import QUOTE_MS, AskedLine, BatchQuote, RowState
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
    "O arquivo não pôde ser lido por uma falha do serviço, que ficou registrada. Nada foi cobrado."
    " Salve-o de novo como CSV ou .xlsx e envie; se a falha se repetir, fale com o suporte."
)


class FileTable(msgspec.Struct):
    """A source of rows: a file, or the rows of another batch."""

    header: Sequence[str]
    sample: Sequence[TableRow]
    rows: Iterator[TableRow]
    description: str  # for people
    chosen: Mapping[str, Choice]  # by role, its column


class Validation:
    """The job `lote_validar`: from `recebido` to `cotado` or `recusado`. Can be done again."""

    def __init__(self, context: BatchContext, room: FileRoom) -> None:
        self._context = context
        self._room = room
        self._stored = context.parts.desk.batches

    async def validate(self, batch_id: str) -> None:
        """Read, store and quote a file. Raises `StorageFailed`: then the job begins again.

        What would fail each time ends as `recusado`, also where the fault is ours.
        """
        batch = await self._stored.batch(batch_id)
        if batch is None or not await self._stored.begin(batch_id):
            return
        try:
            async with self._table(batch) as table:
                understood = await self._read(batch, table)
            while await self._stored.mark_repeated(batch_id):
                pass
            header = self._header(batch_id, table.header)
            await self._stored.understood(batch_id, header, understood.kept)
            await self._quote(batch, understood)
        except CallerError as error:
            code = error.reason if isinstance(error, FileUnreadable) else problem_of(error).code
            await self._refuse(batch_id, code, problem_of(error).message)
        except (BalcaoError, OSError, MemoryError):  # it may be over the next time
            raise
        except Exception:
            log.exception("batch.bug", batch=batch_id)
            await self._refuse(batch_id, "erro_interno", _OUR_FAULT)

    async def _refuse(self, batch_id: str, code: str, message: str) -> None:
        await self._stored.forget_rows(batch_id)  # they are not to be used, and take room
        await self._stored.refuse(batch_id, code, message, self._context.now_ms())

    async def price_again(self, batch: StoredBatch, understood: Understood) -> None:
        """Quote the stored rows again, by the current tariff."""
        caller = await self._caller(batch)
        operation = self._operation(batch)
        reading = columns_of(self._context, batch, operation)
        asked_lines, after = _Asked(self._context.parts, caller), 0
        while rows := await self._stored.rows(
            batch.batch_id, after, ROWS_AT_ONCE, "pendente", cells=True
        ):
            after = rows[-1].line
            prices, waiting = [], list(rows)
            while waiting:
                count = self._context.pace.group()
                for row in waiting[:count]:
                    assert row.cells is not None
                    cells = self._context.seal(batch.batch_id).open_cells(row.line, row.cells)
                    asked = reading.read(TableRow(row.line, cells))
                    if isinstance(asked, AskedRow):
                        cost = await quote(asked.question, caller, self._context.parts)
                        asked_lines.add(asked.question, cost)
                        prices.append((cost.least, cost.greatest, cost.at_hand, row.line))
                del waiting[:count]
                await self._context.pace.rest()
            await self._stored.price_rows(batch.batch_id, prices)
        understood = msgspec.structs.replace(understood, asked=asked_lines.lines)
        await self._stored.retold(batch.batch_id, batch.told, understood.kept)
        await self._quote(batch, understood, again=True)

    async def _quote(
        self, batch: StoredBatch, understood: Understood, *, again: bool = False
    ) -> None:
        digest, now_ms = self._context.digest(batch, understood.rows_digest), self._context.now_ms()
        valid, least, greatest, at_hand = await self._stored.totals(batch.batch_id)
        current = BatchQuote(digest, least, greatest, valid, at_hand, now_ms, now_ms + QUOTE_MS)
        await self._stored.quote(
            batch.batch_id,
            current,
            state="cotado" if again else "validando",
            event=self._context.event("lote.cotado", batch, **quote_words(current)),
        )

    async def _read(self, batch: StoredBatch, table: FileTable) -> Understood:
        """Store all rows, each with its price, and return how the file was understood."""
        operation, caller = self._operation(batch), await self._caller(batch)
        columns = map_columns(
            operation,
            table.header,
            table.sample,
            common=common_of(batch.parameters),
            chosen=table.chosen,
        )
        understood = Understood(table.description, tuple(columns.texts), columns.chosen)
        header = self._header(batch.batch_id, table.header)
        await self._stored.understood(batch.batch_id, header, understood.kept)
        digest = hashlib.blake2b(digest_size=16)
        reader = _RowReader(self._context, batch, operation, caller, columns)
        room = await self._room.rows(batch.account_id)
        while some := await asyncio.to_thread(lambda: list(islice(table.rows, ROWS_AT_ONCE))):
            new: list[NewRow] = []
            while some:
                count = self._context.pace.group()
                new += [await reader.row(row) for row in some[:count]]
                del some[:count]
                await self._context.pace.rest()
            room.add(sum(len(row.cells) for row in new) + ROW_BYTES * len(new))
            for row in new:
                if row.same is not None:
                    digest.update(b"%d:%b" % (row.line, row.same))
            await self._stored.add_rows(batch.batch_id, new)
        return msgspec.structs.replace(
            understood,
            columns=tuple(columns.texts_with(reader.passed_over, batch.client)),
            rows_digest=digest.hexdigest(),
            asked=reader.asked.lines,
        )

    def _header(self, batch_id: str, header: Sequence[str]) -> bytes:
        return self._context.seal(batch_id).cells(0, tuple(header))

    def _operation(self, batch: StoredBatch) -> Operation:
        operation = self._context.operation(batch.operation)
        if operation is None:
            raise FileUnreadable("operacao", "A operação deste lote não existe mais.")
        return operation

    async def _caller(self, batch: StoredBatch) -> Caller:
        """Return the batch's caller, whether or not the key is in force: that is checked later."""
        caller = await self._context.caller(batch)
        return caller or self._context.parts.desk.account(batch.account_id).caller(batch.user_id)

    @asynccontextmanager
    async def _table(self, batch: StoredBatch) -> AsyncIterator[FileTable]:
        """Open the file, or the rows to be repeated. Raises `FileUnreadable`."""
        if batch.repeats is not None:
            yield await self._failed_rows(batch.repeats)
            return
        seal, pieces = self._context.seal(batch.batch_id), self._stored.pieces(batch.batch_id)
        path = await asyncio.to_thread(unsealed, self._context.folder, seal, pieces)
        try:
            bounds = self._room.bounds_of(batch.account_id)
            table = await asyncio.to_thread(open_table, path, batch.media_type, bounds=bounds)
            try:
                yield FileTable(
                    table.header, table.sample, table.rows, table.description, chosen_of(batch)
                )
            finally:
                await asyncio.to_thread(table.close)
        finally:  # a hundred megabytes take their time
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _failed_rows(self, batch_id: str) -> FileTable:
        origin = await self._stored.batch(batch_id)
        if origin is None or origin.header is None or origin.told is None:
            raise FileUnreadable("lote_apagado", "Os dados do lote a repetir já foram apagados.")
        seal = self._context.seal(batch_id)

        def rows() -> Iterator[TableRow]:
            for row in self._stored.results(batch_id, "falha"):
                if row.cells is not None:
                    yield TableRow(row.line, seal.open_cells(row.line, row.cells))

        header = seal.open_cells(0, origin.header)
        description = f"As linhas com falha do lote {batch_id}"
        return FileTable(header, (), rows(), description, understood_columns(origin))


def understood_columns(batch: StoredBatch) -> Mapping[str, Choice]:
    """Return the column of each role, as the file was understood; None: it has none.

    With it rows are read alike later, without the sample that helped to find the columns.
    """
    understood = understood_of(batch)
    assert understood is not None
    # Until 2026-11-26 columns that were left out were not kept with the others.
    left_out = {role: None for role, choice in chosen_of(batch).items() if leaves_out(choice)}
    return left_out | dict(understood.letters)


def columns_of(context: BatchContext, batch: StoredBatch, operation: Operation) -> ColumnMap:
    """Return the columns as they were understood when the file was read."""
    assert batch.header is not None
    header = context.seal(batch.batch_id).open_cells(0, batch.header)
    return map_columns(
        operation,
        header,
        common=common_of(batch.parameters),
        chosen=understood_columns(batch),
    )


class _Asked:
    """The sources of rows that are not available now, and for how many rows each is the first."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._sources = parts.environments[caller.mode].sources
        self._first: dict[tuple[str, str], int] = {}

    def add(self, question: Question, cost: Quote) -> None:
        """Count a row."""
        if cost.at_hand:
            return
        for inquiry in question.inquiries:
            for at, name in enumerate(self._sources.who_is_asked(inquiry)):
                line = name, inquiry.uf or ""
                self._first[line] = self._first.get(line, 0) + (at == 0)

    @property
    def lines(self) -> tuple[AskedLine, ...]:
        """Return what is kept with the batch."""
        return tuple(AskedLine(*line, rows) for line, rows in self._first.items())


class _RowReader:
    """Converts rows of a file to stored rows."""

    def __init__(  # whose and which batch, what is asked, how it is read
        self,
        context: BatchContext,
        batch: StoredBatch,
        operation: Operation,
        caller: Caller,
        columns: ColumnMap,
    ) -> None:
        self._parts = context.parts
        self._pepper = context.pepper
        self._seal = context.seal(batch.batch_id)
        self._operation = operation
        self._caller = caller
        self._columns = columns
        self._client = batch.client
        self.asked = _Asked(context.parts, caller)
        self.passed_over: Counter[str] = Counter()  # of rows that are asked, by role

    async def row(self, row: TableRow) -> NewRow:
        """Return a row as it is stored, with its price if it is to be looked up."""
        asked = self._columns.read(row)
        cells: Cells = row.cells
        sealed = self._seal.cells(row.line, cells)
        client = asked.client or self._client
        shown, hashed = self._named(asked.document)
        if not isinstance(asked, AskedRow):
            return NewRow(
                row.line, "invalida", asked.ref, client, shown, hashed, None, 0, 0, False,
                asked.code, sealed,
            )  # fmt: skip
        self.passed_over.update(self._columns.passed_over(asked, cells))
        question = asked.question
        state: RowState = "pendente"
        code, least, greatest, at_hand, same = None, 0, 0, False, None
        try:
            require_client(self._caller, client)
            self._operation.permit(question, self._caller)
        except CallerError as refused:
            state, code = "recusada", problem_of(refused).code
        else:
            cost = await quote(question, self._caller, self._parts)
            self.asked.add(question, cost)
            least, greatest, at_hand = cost.least, cost.greatest, cost.at_hand
            same = asked_digest(self._operation, question, self._seal.asking)
        return NewRow(
            row.line, state, asked.ref, client, shown, hashed, same, least, greatest, at_hand,
            code, sealed,
        )  # fmt: skip

    def _named(self, document: Cnpj | Cpf | None) -> tuple[str | None, bytes | None]:
        """Return a row's document as it is shown, and the hash that finds a person's rows."""
        if isinstance(document, Cpf):
            return document.masked, document_hash(self._pepper, document.text)
        return (None if document is None else document.text), None
