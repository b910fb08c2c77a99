"""Bounds on reading a file: memory and time of the reader, total cells and characters."""

import random
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from balcao.batches.tables import workbook_reader
from balcao.batches.tables.contract import BOUNDS
from balcao.batches.tables.opening import open_table
from balcao.core.errors import FileUnreadable
from tests.batches.files import refused, saved, sheet, text_cell, written_by_hand

MEMORY_BYTES_MAX = 300_000_000
MEGABYTE = 1_000_000


def far(last: str) -> str:
    """Return the XML of two cells: `A1` and this one."""
    row = last.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    first = f'<row r="1">{text_cell("A1", "CNPJ")}</row>'
    return f'{first}<row r="{row}">{text_cell(last, "x")}</row>'


def many_cells() -> str:
    """Return the XML for a file of a megabyte with nearly as many cells as fit."""
    chance = random.Random(7)
    cells = (f"<c><v>{chance.randrange(10)}</v></c>" for _ in range(1_150_000))
    return "".join(f"<row>{''.join(islice(cells, 150))}</row>" for _ in range(7_700))


def many_texts() -> str:
    chance = random.Random(7)
    return "".join(
        f'<row r="{at}">{text_cell(f"A{at}", str(chance.randrange(10**13, 10**14)))}</row>'
        for at in range(1, 65_000)
    )


FILES: dict[str, Callable[[], str]] = {
    "GR440000": lambda: far("GR440000"),
    "Z1048576": lambda: far("Z1048576"),
    "as many cells as may be allocated": lambda: far("E1048576"),
    "many cells": many_cells,
    "many texts": many_texts,
}


# The reader is started by a small process: its maximum includes the parent's memory.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ,
    file_actions=[(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_WRONLY, 0) for each in (1, 2)])
usage = os.wait4(pid, 0)[2]
print(usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)
"""


def cost(path: Path) -> tuple[int, float]:
    """Return the maximum memory in bytes and the processor seconds of reading a file."""
    reader = ["-m", workbook_reader.__name__, str(path), msgspec.json.encode(BOUNDS).decode()]
    row_text = subprocess.check_output([sys.executable, "-c", MEASURE, *reader], text=True)
    memory, seconds = row_text.split()
    return int(memory), float(seconds)


@pytest.mark.parametrize("kind", FILES)
def test_memory_of_the_reader_for_a_megabyte(kind: str, tmp_path: Path) -> None:
    path = written_by_hand(tmp_path, FILES[kind]())
    assert path.stat().st_size <= 1.1 * MEGABYTE
    memory, seconds = cost(path)
    assert memory <= MEMORY_BYTES_MAX
    assert seconds <= BOUNDS.reader_seconds(path.stat().st_size) + 1.5


@pytest.mark.parametrize("last", ["GR440000", "Z1048576"])
def test_two_cells_far_apart_cost_little(last: str, tmp_path: Path) -> None:
    path = written_by_hand(tmp_path, far(last))
    assert path.stat().st_size < 6_000
    assert cost(path)[0] < 80_000_000
    assert refused(path) == "planilha_pesada_demais"


def test_bounds_of_the_reader_depend_on_the_size() -> None:
    assert BOUNDS.reader_bytes(MEGABYTE) < MEMORY_BYTES_MAX
    assert BOUNDS.reader_bytes(BOUNDS.file_bytes) == BOUNDS.child_bytes < 2**31 * 0.6
    assert BOUNDS.reader_seconds(1_000) == 1
    assert BOUNDS.reader_seconds(BOUNDS.file_bytes) == BOUNDS.child_seconds


def test_one_text_in_many_cells(tmp_path: Path) -> None:
    """Repeated texts are stored once in a spreadsheet, but occur in every row read from it."""
    path = sheet(tmp_path, [["CNPJ"], *[["x" * 30_000] * 8 for _ in range(100)]])
    assert path.stat().st_size < 20_000
    assert refused(path) == "texto_demais"


def test_total_characters(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(BOUNDS, characters=1_000)
    with (
        open_table(saved(tmp_path, "cnpj\n" + "90010001000100\n" * 80), bounds=bounds) as table,
        pytest.raises(FileUnreadable) as error,
    ):
        list(table.rows)
    assert (error.value.reason, error.value.line) == ("texto_demais", 73)


def test_total_cells(tmp_path: Path) -> None:
    bounds = msgspec.structs.replace(BOUNDS, cells=100)
    with (
        open_table(
            saved(tmp_path, "cnpj;uf\n" + "90010001000100;SP\n" * 60), bounds=bounds
        ) as table,
        pytest.raises(FileUnreadable) as error,
    ):
        list(table.rows)
    assert (error.value.reason, error.value.line) == ("celulas_demais", 52)
    assert "100 células" in error.value.detail


def test_a_reader_that_exceeds_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = tmp_path / "busy.py"
    busy.write_text(
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass\n"
    )
    begin = subprocess.Popen

    def instead(command: list[str], **options: object) -> "subprocess.Popen[bytes]":
        return begin([sys.executable, str(busy)], **options)  # type: ignore[call-overload, no-any-return]

    path = written_by_hand(tmp_path, far("A2"))
    monkeypatch.setattr("balcao.batches.tables.workbook.subprocess.Popen", instead)
    assert refused(path) == "planilha_demorada"
