"""The process that reads a spreadsheet: `python -m balcao.batches.tables.workbook_reader FILE …`.

Spreadsheets are compressed, untrusted, and take memory for all of their cells. This process has
limits of memory and time, and no secrets. It writes frames to its standard output: four bytes of
length, then MessagePack: a list of rows (line, texts), at the end a string, the result.
"""

import datetime
import resource
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec
from python_calamine import CalamineWorkbook, PasswordError

from balcao.batches.tables.contract import HISTORY_SHEET, RESULT_SHEET, SUMMARY_SHEET, TableBounds
from balcao.batches.tables.heading import ROWS_LOOKED_AT
from balcao.lifeline import end_with

# Results; `workbook.py` has the texts for people.
DONE, BOMB, HEAVY, LOCKED, DAMAGED, ROWS, COLUMNS, CELL = (
    "done", "bomb", "heavy", "locked", "damaged", "rows", "columns", "cell",
)  # fmt: skip

_FRAME_ROWS = 500
_FRAME_CHARACTERS = 1_000_000
_TAIL_BYTES = 65_557  # where the end of a ZIP's directory is
_DIRECTORY_BYTES_MAX = 1_000_000
_OOM_SCORE, _OOM_SCORE_MAX = Path("/proc/self/oom_score_adj"), "1000"

_Value: TypeAlias = (
    str | int | float | bool | datetime.date | datetime.time | datetime.timedelta | None
)


def main(path: Path, bounds: TableBounds, out: BinaryIO) -> None:
    """Read the first sheet of a file and write its frames to `out`."""
    _limit(path.stat().st_size, bounds)
    encode = msgspec.msgpack.encode

    def send(frame: object) -> None:
        body = encode(frame)
        out.write(len(body).to_bytes(4, "big") + body)

    try:
        result = _read(path, bounds, send) if _is_within_bounds(path, bounds) else BOMB
    except PasswordError:
        result = LOCKED
    except MemoryError:
        result = HEAVY
    except BrokenPipeError:  # the parent has closed the pipe
        return
    except BaseException:  # also panics of the library, which are no `Exception`
        result = DAMAGED
    send(result)
    out.flush()


def _limit(size_bytes: int, bounds: TableBounds) -> None:
    """Limit this process by the size of its file.

    The library allocates a sheet from its first cell to its last: two cells far apart would take
    gigabytes.
    """
    memory, seconds = bounds.reader_bytes(size_bytes), bounds.reader_seconds(size_bytes)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # The soft limit's signal is recognised by the parent; the hard limit kills.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # Linux only: killed first when memory runs out
        _OOM_SCORE.write_text(_OOM_SCORE_MAX)


def _read(path: Path, bounds: TableBounds, send: Callable[[object], None]) -> str:
    # Opened as a file object, so that the library ignores the name's suffix.
    book = CalamineWorkbook.from_filelike(path.open("rb"))
    # A spreadsheet of ours, sent in again, has a summary before its rows.
    ours = ([SUMMARY_SHEET, RESULT_SHEET], [SUMMARY_SHEET, HISTORY_SHEET])
    sheet = book.get_sheet_by_index(1 if book.sheet_names[:2] in ours else 0)
    before = [""] * (sheet.start[1] if sheet.start else 0)
    if len(before) > bounds.columns:
        return COLUMNS
    rows: list[tuple[int, list[str]]] = []
    found = characters = 0
    for line, values in enumerate(sheet.iter_rows(), 1):
        if values.count("") == len(values):  # there may be a million of them
            continue
        cells = before + [display_text(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if not any(map(str.strip, cells)):
            continue
        found += 1
        size = sum(map(len, cells))
        characters += size
        if len(cells) > bounds.columns:
            return COLUMNS
        if found > bounds.rows + ROWS_LOOKED_AT:
            return ROWS
        if size > bounds.row_characters:
            return CELL
        rows.append((line, cells))
        if len(rows) == _FRAME_ROWS or characters > _FRAME_CHARACTERS:
            send(rows)
            rows, characters = [], 0
    send(rows)
    return DONE


def _is_within_bounds(path: Path, bounds: TableBounds) -> bool:
    """Return whether a ZIP is within the bounds by its directory. Damage is detected later."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
        end = tail.rfind(b"PK\x05\x06")
        # The directory itself could be a bomb; its size is at its end.
        if end >= 0 and int.from_bytes(tail[end + 12 : end + 16], "little") > _DIRECTORY_BYTES_MAX:
            return False
        try:
            with zipfile.ZipFile(file) as archive:
                parts = archive.infolist()
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError):
            return True
    unzipped = sum(part.file_size for part in parts)
    return (
        len(parts) <= bounds.zipped_parts
        and unzipped <= bounds.unzipped_bytes
        and unzipped <= size * bounds.unzipped_ratio
    )


def display_text(value: _Value) -> str:
    """Return a cell as a Brazilian spreadsheet displays it, but numbers with all digits."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "VERDADEIRO" if value else "FALSO"
        case int():
            return str(value)
        case float():
            return _number(value)
        case datetime.datetime():
            midnight = value.time() == datetime.time()
            return f"{value:%d/%m/%Y}" if midnight else f"{value:%d/%m/%Y %H:%M:%S}"
        case datetime.date():
            return f"{value:%d/%m/%Y}"
        case _:
            return str(value)


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < 1e15:  # the precision of spreadsheets
        return str(int(value))
    return repr(value).upper().replace(".", ",")


if __name__ == "__main__":
    end_with(sys.stdin.fileno())
    main(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=TableBounds), sys.stdout.buffer)
