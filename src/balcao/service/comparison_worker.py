"""The process that reads two months: `python -m balcao.service.comparison_worker DESCRIPTOR`.

Comparing keeps the interpreter busy, so it is done outside the serving process and at a lower
priority. `service/month_comparison.py` starts it. It ignores signals and ends when the pipe is
closed, so it does not outlive the service.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from balcao.core.month_comparison import WatchedSubject
from balcao.opendata.comparing import MonthPair, open_pair
from balcao.opendata.errors import OpenDataError
from balcao.service import processes

NICE = 10  # lookups have priority

# The months' files, and the subjects; sent pickled.
ComparisonRequest: TypeAlias = tuple[Path, Path, Sequence[WatchedSubject]]


def serve(pipe: Connection) -> None:
    """Answer requests until the other end is closed."""
    files: tuple[Path, Path] | None = None
    pair: MonthPair | None = None
    with ExitStack() as opened:
        try:
            while True:
                before, after, subjects = pipe.recv()
                try:
                    if pair is None or files != (before, after):
                        opened.close()
                        pair = opened.enter_context(open_pair(before, after))
                        files = before, after
                    pipe.send(pair.compare(subjects))
                except OpenDataError as error:
                    files = None
                    pipe.send(error)
        except (EOFError, OSError):
            pass


def main() -> None:
    """Serve the pipe's end that the command line names."""
    number = processes.descriptor()
    os.nice(NICE)
    serve(Connection(number))


if __name__ == "__main__":
    main()
