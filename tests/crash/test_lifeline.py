"""Child processes end with their killed parent, even if they are busy (`balcao.lifeline`)."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import xlsxwriter  # type: ignore[import-untyped]

PATIENCE_MS = 30_000

READER = """
from pathlib import Path
from balcao.batches.tables.contract import TableBounds
from balcao.batches.tables.workbook import workbook_rows
list(workbook_rows(Path({folder!r}) / "sheet.xlsx", TableBounds()))
"""
# Replaces the library: reading never ends.
CALAMINE = """
class PasswordError(Exception): pass
class CalamineWorkbook:
    def from_filelike(file):
        open({pipe!r}).read()
"""

# A task of the import that never ends: it reads from the pipe.
WORKER = """
import sys
from balcao.opendata.worker_pool import WorkerPool
if __name__ == "__main__":
    sys.path.insert(0, {folder!r})
    from task import read
    list(WorkerPool(1).run(read, [sys.argv[1]], lambda *_: None))
"""
TASK = "def read(path, report):\n    return open(path).read()\n"


@contextmanager
def started(line: Sequence[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(line, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that the child opens and reads without end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("script", [READER, WORKER], ids=["reader", "worker"])
def test_a_child_ends_with_its_parent(script: str, tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "python_calamine.py").write_text(CALAMINE.format(pipe=str(pipe)))
    (tmp_path / "task.py").write_text(TASK)
    with xlsxwriter.Workbook(tmp_path / "sheet.xlsx") as workbook:
        workbook.add_worksheet().write("A1", "CNPJ")
    above = tmp_path / "above.py"
    above.write_text(script.format(folder=str(tmp_path)))
    line = [sys.executable, str(above), str(pipe)]
    with started(line, os.environ | {"PYTHONPATH": str(tmp_path)}) as process:
        theirs = os.open(pipe, os.O_WRONLY)  # blocks until the child reads
        try:
            process.kill()
            process.wait()
            watch = select.poll()
            watch.register(theirs, select.POLLERR)
            assert watch.poll(PATIENCE_MS), "somebody still reads"
        finally:
            os.close(theirs)
