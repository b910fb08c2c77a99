"""Processes below a killed one end with it, whatever they are doing (`balcao.lifeline`)."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_MS = 30_000

READER = """
import sys
from pathlib import Path
from balcao.batches.tables.contract import TableBounds
from balcao.batches.tables.workbook import workbook_rows
list(workbook_rows(Path(sys.argv[1]), TableBounds()))
"""

# A worker of the import that never ends its task: it reads from the pipe.
WORKER = """
import sys
from balcao.opendata.team import Team
if __name__ == "__main__":
    sys.path.insert(0, {folder!r})
    from task import read
    list(Team(1).run(read, [sys.argv[1]], lambda *told: None))
"""
TASK = "def read(path, report):\n    return open(path).read()\n"


@contextmanager
def started(line: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(line, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """What the process below opens, and then waits for for ever."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("what", ["reader", "worker"])
def test_it_ends_with_the_one_above(what: str, tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    script = tmp_path / "above.py"
    script.write_text(READER if what == "reader" else WORKER.format(folder=str(tmp_path)))
    with started([sys.executable, str(script), str(pipe)]) as process:
        theirs = os.open(pipe, os.O_WRONLY)  # waits until somebody reads
        try:
            process.kill()
            process.wait()
            watch = select.poll()
            watch.register(theirs, select.POLLERR)
            assert watch.poll(PATIENCE_MS), "somebody still reads"
        finally:
            os.close(theirs)
