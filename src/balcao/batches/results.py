"""A batch's results as files, at any time, and the receipts of its rows (decision 0045)."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Literal, TypeAlias, TypeVar

from balcao.batches.books import BatchBooks
from balcao.batches.columns import ColumnMap, InvalidRow
from balcao.batches.file_turns import FileTurns
from balcao.batches.pauses import messages
from balcao.batches.room import FileRoom
from balcao.batches.tables.contract import Cells, TableRow
from balcao.batches.validating import columns_of
from balcao.batches.writing.as_csv import write_csv
from balcao.batches.writing.as_jsonl import write_jsonl
from balcao.batches.writing.as_xlsx import write_xlsx_rows
from balcao.batches.writing.as_zip import ReceiptOfRow, write_receipts
from balcao.batches.writing.contract import ResultColumns, ResultRow, RowFacts
from balcao.core.errors import BatchStateRefused
from balcao.core.receipts import Receipt
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch, StoredRow
from balcao.storage.contract import Blobs

ResultForm: TypeAlias = Literal["csv", "xlsx", "jsonl"]
WRITERS: Mapping[ResultForm, Callable[[IO[bytes], ResultColumns, Iterable[ResultRow]], None]] = {
    "csv": write_csv,
    "xlsx": write_xlsx_rows,
    "jsonl": write_jsonl,
}
MEDIA: Mapping[ResultForm, bytes] = {
    "csv": b"text/csv; charset=utf-8",
    "xlsx": b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": b"application/x-ndjson",
}

T = TypeVar("T")

_PIECE_BYTES = 262_144
# The disk is looked at once in so many rows.
_ROWS_BETWEEN_LOOKS = 500


class ResultFile:
    """A finished file without a name, that goes when it is closed."""

    def __init__(self, file: IO[bytes], turns: FileTurns, account_id: int) -> None:
        self._file = file
        self._let_go = turns.hold(account_id, self)
        self.size_bytes = file.seek(0, 2)
        file.seek(0)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """All of it, once; then it is gone."""
        try:
            while piece := await asyncio.to_thread(self._file.read, _PIECE_BYTES):
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        """Let it go, taken or not."""
        self._file.close()
        self._let_go()


class Results:
    """Writes what there is of a batch at this moment."""

    def __init__(self, books: BatchBooks, blobs: Blobs, room: FileRoom, turns: FileTurns) -> None:
        self.turns = turns
        self._books = books
        self._blobs = blobs
        self._room = room
        self._stored = books.parts.desk.batches
        self._acts = books.parts.desk.extensions.all_apart

    async def result(self, batch: StoredBatch, form: ResultForm) -> ResultFile:
        """Write all rows with the file's own columns first.

        Raises `BatchStateRefused` before it is read, `FileRunning` while the account has others,
        `NoFileSpace`. What waits for rows is a thread; the database is read some rows at a time.
        """
        async with self.turns.turn(batch.account_id):
            return await asyncio.to_thread(self._write, batch, form)

    def _write(self, batch: StoredBatch, form: ResultForm) -> ResultFile:
        operation = self._operation(batch)
        seal = self._books.seal(batch.batch_id)
        assert batch.header is not None
        header = seal.open_cells(0, batch.header)
        columns = columns_of(self._books, batch, operation)
        acts = self._acts() if operation.issues else ()
        written = ResultColumns(operation, header, columns, acts)

        def write(file: IO[bytes]) -> None:
            rows = self._rows(batch, columns)
            if form == "xlsx":  # which is written twice: not into a small /tmp
                write_xlsx_rows(file, written, rows, temporary=self._books.folder)
            else:
                WRITERS[form](file, written, rows)

        return self._made(batch, write)

    def _rows(self, batch: StoredBatch, columns: ColumnMap) -> Iterator[ResultRow]:
        """Each with its answer; a repeated one with that of the first equal one."""
        seal = self._books.seal(batch.batch_id)
        for row in self._with_room(self._stored.results(batch.batch_id)):
            cells: Cells = () if row.cells is None else seal.open_cells(row.line, row.cells)
            message = None
            if row.state == "invalida":
                read = columns.read(TableRow(row.line, cells))
                message = read.message if isinstance(read, InvalidRow) else None
            answer = None
            if row.answer is not None:  # of the row that it repeats, if it does
                answer = seal.open_answer(row.repeated_of or row.line, row.answer)
            yield ResultRow(cells, facts_of(row, message), answer)

    async def receipts(self, batch: StoredBatch) -> ResultFile:
        """Write a ZIP of all that the rows' certificates brought. Raises as `result`."""
        content, operation = bytes_of(self._blobs), self._operation(batch)

        def write(file: IO[bytes]) -> None:
            write_receipts(
                file,
                (
                    ReceiptOfRow(operation, facts_of(row), receipt, content(receipt))
                    for row, receipt in self._with_room(self._stored.receipts(batch))
                ),
            )

        async with self.turns.turn(batch.account_id):
            return await asyncio.to_thread(self._made, batch, write)

    def _made(self, batch: StoredBatch, write: Callable[[IO[bytes]], None]) -> ResultFile:
        """Make a file; one that could not be written is gone."""
        self._books.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile(dir=self._books.folder))
            write(file)
            stack.pop_all()
        return ResultFile(file, self.turns, batch.account_id)

    def _with_room(self, rows: Iterable[T]) -> Iterator[T]:
        """Hand on what is written, as long as the disk has room for it. Raises `NoFileSpace`."""
        for number, row in enumerate(rows):
            if number % _ROWS_BETWEEN_LOOKS == 0:
                self._room.check_disk()
            yield row

    def _operation(self, batch: StoredBatch) -> Operation:
        operation = self._books.operation(batch.operation)
        if operation is None or batch.header is None:
            raise BatchStateRefused(batch.state)
        return operation


def bytes_of(blobs: Blobs) -> Callable[[Receipt], Iterator[bytes]]:
    """What reads receipts in a thread beside this loop: nothing of those that are not kept."""
    loop = asyncio.get_running_loop()

    def content(receipt: Receipt) -> Iterator[bytes]:
        got = asyncio.run_coroutine_threadsafe(blobs.get(receipt.digest), loop).result()
        if got is not None:
            yield got

    return content


def facts_of(row: StoredRow, message: str | None = None) -> RowFacts:
    """A row's facts as the writers take them."""
    return RowFacts(
        row.line,
        row.state,
        row.ref,
        row.client,
        row.document,
        row.request_id,
        row.credits,
        row.code,
        message or messages().get(row.code or ""),
        row.repeated_of,
    )
