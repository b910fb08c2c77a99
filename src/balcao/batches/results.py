"""Result files of batches, available at any time, and the receipts of rows (ADR 0045)."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from balcao.batches.batch_context import BatchContext
from balcao.batches.columns import ColumnMap, InvalidRow
from balcao.batches.file_admission import FileAdmission
from balcao.batches.file_scheduling import FileSlots
from balcao.batches.receipts_zip import ReceiptOfRow, write_receipts
from balcao.batches.result_columns import ResultColumns, ResultRow, members
from balcao.batches.result_sheets import NO_CONTEXT, SheetContext, write_workbook
from balcao.batches.tables.contract import Cells, TableRow
from balcao.batches.validating import columns_of
from balcao.core.company import is_person
from balcao.core.csv_table import write_csv
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.errors import BatchStateRefused
from balcao.core.receipts import Receipt
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch
from balcao.storage.contract import Blobs

ResultForm: TypeAlias = Literal["csv", "xlsx", "jsonl"]
MEDIA: Mapping[ResultForm, bytes] = {
    "csv": b"text/csv; charset=utf-8",
    "xlsx": b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": b"application/x-ndjson",
}

T = TypeVar("T")

_PIECE_BYTES = 262_144
# Free disk space is checked once per this many rows.
_ROWS_BETWEEN_CHECKS = 500

_encode = msgspec.json.Encoder().encode


def write_rows(
    form: ResultForm,
    file: IO[bytes],
    columns: ResultColumns,
    rows: Iterable[ResultRow],
    about: SheetContext = NO_CONTEXT,
    *,
    folder: Path | None = None,
    check_room: Callable[[int], None] = lambda needed_bytes: None,
) -> None:
    """Write all rows in order. Blocking; for XLSX the file must be seekable.

    `about`, `folder` and `check_room` are for XLSX, see `write_workbook`.
    """
    match form:
        case "csv":
            write_csv(file, columns.names, map(columns.cells, rows))
        case "xlsx":
            write_workbook(file, columns, rows, about, folder=folder, check_room=check_room)
        case "jsonl":
            for row in rows:
                file.write(_json_line(columns, row))


def _json_line(columns: ResultColumns, row: ResultRow) -> bytes:
    """Return the row's answer with `linha`, `ref` and `balcao` before its own members."""
    ours = dict(members(row))
    confere = {
        each.fact: {"resultado": each.result, "oficial": each.official}
        for each in columns.compared(row)
    }
    first = {name: ours.pop(name) for name in ("linha", "ref")}
    line = _encode({**first, "balcao": {**ours, "confere": confere}})
    if row.answer:
        line = line[:-1] + b"," + row.answer.lstrip()[1:]  # both are objects
    return line + b"\n"


class SheetPlace(NamedTuple):
    """The folder of a spreadsheet's temporary files, and the check that they fit."""

    folder: Path
    check_room: Callable[[int], None]


class ResultFile:
    """A finished unnamed file, deleted when it is closed."""

    def __init__(self, file: IO[bytes], slots: FileSlots, account_id: int) -> None:
        self._file = file
        self._release = slots.track(account_id, self)
        self.size_bytes = file.seek(0, 2)
        file.seek(0)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the content once, then close the file."""
        try:
            while piece := await asyncio.to_thread(self._file.read, _PIECE_BYTES):
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        """Delete the file, read or not."""
        self._file.close()
        self._release()


class Results:
    """Writes results of batches in their current state."""

    def __init__(
        self,
        context: BatchContext,
        blobs: Blobs,
        admission: FileAdmission,
        slots: FileSlots,
        address: str = "",
    ) -> None:
        """`address`: the service's, for links in spreadsheets."""
        self.slots = slots
        self._context = context
        self.blobs = blobs
        self._admission = admission
        self._address = address
        self._stored = context.parts.desk.batches
        self._acts = context.parts.desk.extensions.all_in_thread

    async def result(self, batch: StoredBatch, form: ResultForm) -> ResultFile:
        """Write all rows, in a thread, with the file's own columns first.

        Raises `BatchStateRefused` before the file was read, `FileRunning` while the account writes
        or downloads too many others, and `NoFileSpace`.
        """
        async with self.slots.slot(batch.account_id):
            return await asyncio.to_thread(self._write, batch, form)

    def _write(self, batch: StoredBatch, form: ResultForm) -> ResultFile:
        operation = self._operation(batch)
        seal = self._context.seal(batch)
        assert batch.header is not None
        header = seal.open_cells(0, batch.header)
        columns = columns_of(self._context, batch, operation)
        acts = self._acts() if operation.issues else ()
        written = ResultColumns(operation, header, columns, acts)
        now_ms = self._context.now_ms()
        about = SheetContext(batch.name, operation.form.title, now_ms, self._address)

        def write(file: IO[bytes]) -> None:
            rows = self._named(batch, operation, self._rows(batch, columns))
            folder, check_room = self._context.folder, self._admission.check_disk
            write_rows(form, file, written, rows, about, folder=folder, check_room=check_room)

        return self._written(batch.account_id, write)

    def _rows(self, batch: StoredBatch, columns: ColumnMap) -> Iterator[ResultRow]:
        """Yield each row with its answer; repeated rows have that of the first equal one."""
        seal = self._context.seal(batch)
        for row in self._while_space(self._stored.results(batch.batch_id)):
            cells: Cells = () if row.cells is None else seal.open_cells(row.line, row.cells)
            message = None
            if row.state == "invalida":
                read = columns.read(TableRow(row.line, cells))
                message = read.message if isinstance(read, InvalidRow) else None
            answer = None
            if row.answer is not None:  # that of the repeated row, if it is one
                answer = seal.open_answer(row.repeated_of or row.line, row.answer)
            yield ResultRow(row, cells, answer, message)

    def _named(
        self, batch: StoredBatch, operation: Operation, rows: Iterable[ResultRow]
    ) -> Iterator[ResultRow]:
        """Add the names of companies of the month to rows whose answer has none.

        Natural persons are named only in answered rows (contract 14.4).
        """
        account = self._context.parts.desk.account(batch.account_id)
        month = self._context.parts.environments[account.mode].month
        answers_name = bool(operation.sheet_columns.name)
        rows = iter(rows)
        while some := list(islice(rows, _ROWS_BETWEEN_CHECKS)):
            nameless = {
                at: Cnpj(each.row.document)
                for at, each in enumerate(some)
                if each.row.document
                and len(each.row.document) == CNPJ_CHARACTERS
                and (each.answer is None or each.row.code or not answers_name)
            }
            found = month.companies(set(nameless.values()))[1] if nameless else {}
            for at, each in enumerate(some):
                company = found.get(nameless[at]) if at in nameless else None
                if company is None or (each.answer is None and is_person(company)):
                    yield each
                else:
                    yield each._replace(name=company.nome_empresarial)

    async def receipts(self, batch: StoredBatch) -> ResultFile:
        """Write a ZIP of the receipts of all rows. Raises as `result`."""
        content, operation = receipt_reader(self.blobs), self._operation(batch)

        def write(file: IO[bytes]) -> None:
            write_receipts(
                file,
                (
                    ReceiptOfRow(operation, row, receipt, content(receipt))
                    for row, receipt in self._while_space(self._stored.receipts(batch))
                ),
            )

        async with self.slots.slot(batch.account_id):
            return await asyncio.to_thread(self._written, batch.account_id, write)

    async def other(
        self, account_id: int, write: Callable[[IO[bytes], SheetPlace], None]
    ) -> ResultFile:
        """Write another file of an account, in a thread. Raises `FileRunning`, `NoFileSpace`.

        `write` also gets where temporary files of a spreadsheet are written.
        """
        place = SheetPlace(self._context.folder, self._admission.check_disk)
        self._admission.check_disk()
        async with self.slots.slot(account_id):
            return await asyncio.to_thread(
                self._written, account_id, lambda file: write(file, place)
            )

    def _written(self, account_id: int, write: Callable[[IO[bytes]], None]) -> ResultFile:
        """Write a temporary file; delete it if that fails."""
        self._context.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile(dir=self._context.folder))
            write(file)
            stack.pop_all()
        return ResultFile(file, self.slots, account_id)

    def _while_space(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield the rows, and raise `NoFileSpace` when the disk runs short of space."""
        for number, row in enumerate(rows):
            if number % _ROWS_BETWEEN_CHECKS == 0:
                self._admission.check_disk()
            yield row

    def _operation(self, batch: StoredBatch) -> Operation:
        operation = self._context.operation(batch.operation)
        if operation is None or batch.header is None:
            raise BatchStateRefused(batch.state)
        return operation


def receipt_reader(blobs: Blobs) -> Callable[[Receipt], Iterator[bytes]]:
    """Return a function for threads that yields a receipt's bytes, nothing if not stored."""
    loop = asyncio.get_running_loop()

    def content(receipt: Receipt) -> Iterator[bytes]:
        got = asyncio.run_coroutine_threadsafe(blobs.get(receipt.digest), loop).result()
        if got is not None:
            yield got

    return content
