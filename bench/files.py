"""Files of batches: time and memory to read, interpret and write them.

    .venv/bin/python -m bench files [--rows 1000000] [--results 100000] [--columns 4] [FOLDER]

Each figure is of a fresh process. `parent` is the peak of the process that has the rows, `child`
that of the one that reads a spreadsheet for it; both include the interpreter and the libraries,
whose size is in the first line.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import xlsxwriter  # type: ignore[import-untyped]

from balcao.batches.columns import ValidRow, map_columns
from balcao.batches.result_columns import ResultColumns, ResultRow
from balcao.batches.results import ResultForm, write_rows
from balcao.batches.tables.opening import open_table
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.receipts import ReceiptNumbers
from balcao.operations import OPERATIONS
from balcao.operations.contract import EXAMPLE_MS, AnswerContext
from balcao.storage.batches import StoredRow
from bench.load import machine

MEDIA_TYPES = {"jsonl": "application/x-ndjson", "json": "application/json"}
FORMS: Sequence[ResultForm] = ("csv", "xlsx", "jsonl")
OPERATION = OPERATIONS["company"]
HEADER = ("ref", "CNPJ", "razao_social", "uf")


def made_rows(count: int, columns: int) -> Iterator[Sequence[str]]:
    """Yield rows about plausible companies, with so many columns."""
    more = tuple(f"observação {number}" for number in range(columns - len(HEADER)))
    for number in range(1, count + 1):
        base = f"{number:08d}0001"
        name = f"EMPRESA NUMERO {number} LTDA"
        yield (f"C{number}", base + cnpj_check_digits(base), name, "SP", *more)


def make(path: Path, count: int, columns: int) -> None:
    """Write a file in the format of its suffix."""
    header = (*HEADER, *(f"obs {number}" for number in range(columns - len(HEADER))))
    rows = made_rows(count, columns)
    if path.suffix == ".xlsx":
        with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as book:
            page = book.add_worksheet()
            for at, row in enumerate(chain((header,), rows)):
                for column, cell in enumerate(row):
                    page.write_string(at, column, cell)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.writer(file, delimiter=";")
            writer.writerow(header)
            writer.writerows(rows)
        else:
            for row in rows:
                file.write(
                    json.dumps(dict(zip(header, row, strict=True)), separators=(",", ":")) + "\n"
                )


def read(path: Path) -> None:
    """Read a file and interpret its rows, in this process."""
    began = time.perf_counter()
    with open_table(path, MEDIA_TYPES.get(path.suffix[1:], "text/csv")) as table:
        columns = map_columns(OPERATION, table.header, table.sample)
        asked = sum(isinstance(columns.read(row), ValidRow) for row in table.rows)
    print_figures(began, asked)


def write(path: Path, count: int) -> None:
    """Write results with the example's answer, in this process."""
    example = next(iter(OPERATION.examples()))
    around = AnswerContext(EXAMPLE_MS, 1, ReceiptNumbers(b"bench"))
    concluded = OPERATION.conclude(example.question, example.outcomes, around)
    answer = b'{"request_id":"019a0000-0000-7000-8000-000000000001",' + concluded.fields
    columns = ResultColumns(OPERATION, HEADER, map_columns(OPERATION, HEADER))
    rows = (
        ResultRow(StoredRow(line, "concluida", document=cells[1], credits=1), tuple(cells), answer)
        for line, cells in enumerate(made_rows(count, len(HEADER)), 2)
    )
    began = time.perf_counter()
    with path.open("wb") as file:
        write_rows(next(f for f in FORMS if path.suffix == f".{f}"), file, columns, rows)
    print_figures(began, count)


def print_figures(began: float, rows: int) -> None:
    """Print the figures of this process, as JSON."""
    seconds = time.perf_counter() - began
    ours, theirs = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    figures = {
        "seconds": seconds,
        "cpu": ours.ru_utime + ours.ru_stime,
        "child_cpu": theirs.ru_utime + theirs.ru_stime,
        "rows": rows,
        "parent": ours.ru_maxrss / 1024,
        "child": theirs.ru_maxrss / 1024,
    }
    print(json.dumps(figures))


def _in_subprocess(*words: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "files", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _line(what: str, path: Path, figures: dict[str, float]) -> None:
    print(
        f"{what:>18}  {figures['rows']:>9,.0f} rows  {path.stat().st_size / 1e6:7.1f} MB"
        f"  {figures['seconds']:6.1f} s"
        f"  parent {figures['cpu']:5.1f} s of processor, {figures['parent']:4.0f} MB"
        f"  child {figures['child_cpu']:5.1f} s, {figures['child']:5.0f} MB",
        flush=True,
    )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--kinds", default="csv,jsonl,xlsx")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.read:
        return read(arguments.read)
    if arguments.write:
        return write(arguments.write, arguments.results)
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        for kind, rows in (
            ("csv", 1),
            *((kind, arguments.rows) for kind in arguments.kinds.split(",")),
        ):
            path = folder / f"{rows}x{arguments.columns}.{kind}"
            if not path.exists():
                make(path, rows, arguments.columns)
            _line(f"{kind} read", path, _in_subprocess("--read", str(path)))
        for kind in FORMS:
            path = folder / f"results.{kind}"
            many = ("--results", str(arguments.results))
            _line(f"{kind} written", path, _in_subprocess("--write", str(path), *many))
    return None
