"""Processes below a killed one end with it, whatever they are doing (`balcao.lifeline`)."""

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
# Instead of the library: it never ends, and the reader knows nothing of that.
CALAMINE = """
class PasswordError(Exception): pass
class CalamineWorkbook:
    def from_filelike(file):
        open({pipe!r}).read()
"""

# A worker of the import that never ends its task: it reads from the pipe.
WORKER = """
import sys
from balcao.opendata.worker_pool import Team
if __name__ == "__main__":
    sys.path.insert(0, {folder!r})
    from task import read
    list(Team(1).run(read, [sys.argv[1]], lambda *told: None))
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
    """A pipe that the process below opens and waits for without end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("script", [READER, WORKER], ids=["reader", "worker"])
def test_it_ends_with_the_one_above(script: str, tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "python_calamine.py").write_text(CALAMINE.format(pipe=str(pipe)))
    (tmp_path / "task.py").write_text(TASK)
    with xlsxwriter.Workbook(tmp_path / "sheet.xlsx") as workbook:
        workbook.add_worksheet().write("A1", "CNPJ")
    above = tmp_path / "above.py"
    above.write_text(script.format(folder=str(tmp_path)))
    line = [sys.executable, str(above), str(pipe)]
    with started(line, os.environ | {"PYTHONPATH": str(tmp_path)}) as process:
        theirs = os.open(pipe, os.O_WRONLY)  # waits until somebody reads
        try:
            process.kill()
            process.wait()
            watch = select.poll()
            watch.register(theirs, select.POLLERR)
            assert watch.poll(PATIENCE_MS), "somebody still reads"
        finally:
            os.close(theirs)
