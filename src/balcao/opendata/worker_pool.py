"""A pool of processes that work off a list of tasks. A worker ends with its parent.

Not `concurrent.futures`: its workers outlive a parent that is killed, and would continue to write
into the folder of the next attempt. Here each worker waits on a pipe whose other end only the
parent holds, so it ends when the parent does; and the death of a worker is noticed.
"""

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self, TypeVar

from balcao.lifeline import end_with_parent
from balcao.opendata.errors import OpenDataError

# Called by a running task with file, bytes done, rows done since the last call.
Report = Callable[[str, int, int], None]

Task = TypeVar("Task")
Result = TypeVar("Result")

_JOIN_SECONDS = 5.0


class WorkerPool:
    """`workers` processes, started by the constructor; with none, tasks run in this process."""

    def __init__(self, workers: int) -> None:
        # Fresh interpreters: forking a process that may hold threads and connections is not safe.
        context = multiprocessing.get_context("spawn")
        self._processes: list[multiprocessing.process.BaseProcess] = []
        self._pipes: list[Connection] = []
        for number in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(theirs,), name=f"balcao-import-{number}", daemon=True
            )
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)

    def run(
        self, function: Callable[[Task, Report], Result], tasks: Sequence[Task], report: Report
    ) -> Iterator[Result]:
        """Run the tasks and yield their results in order; tasks start in that order too.

        The function must be importable. An `OpenDataError` raised in a worker is raised here.
        """
        if not self._pipes:
            yield from (function(task, report) for task in tasks)
            return
        finished: dict[int, Result] = {}
        waiting = list(enumerate(tasks))[::-1]
        assigned: dict[Connection, int] = {}
        for pipe in self._pipes:
            _send_task(pipe, function, waiting, assigned)
        for number in range(len(tasks)):
            while number not in finished:
                for ready in wait(list(assigned)):
                    assert isinstance(ready, Connection)
                    kind, value = self._receive(ready)
                    if kind == "report":
                        report(*value)
                    elif kind == "error":
                        raise value
                    else:
                        # The worker has sent all it had and waits, so this cannot block.
                        finished[assigned.pop(ready)] = value
                        _send_task(ready, function, waiting, assigned)
            yield finished.pop(number)

    def _receive(self, pipe: Connection) -> tuple[str, Any]:
        try:
            message: tuple[str, Any] = pipe.recv()
        except (EOFError, OSError):
            raise OpenDataError("um processo da importação morreu; faltou memória?") from None
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            if kind is not None:  # its task may take minutes
                process.terminate()
            process.join(_JOIN_SECONDS)
            process.kill()


def _send_task(
    pipe: Connection,
    function: Callable[[Task, Report], Result],
    waiting: list[tuple[int, Task]],
    assigned: dict[Connection, int],
) -> None:
    if waiting:
        number, task = waiting.pop()
        pipe.send((function, task))
        assigned[pipe] = number


def _work(pipe: Connection) -> None:
    """Run tasks until the parent closes its end of the pipe, or is gone."""

    def report(file: str, packed_bytes: int, rows: int) -> None:
        pipe.send(("report", (file, packed_bytes, rows)))

    end_with_parent()  # also in the middle of a task
    try:
        while True:
            function, task = pipe.recv()
            try:
                result = ("result", function(task, report))
            except OpenDataError as error:
                result = ("error", error)
            except Exception:
                result = ("error", RuntimeError(f"na importação:\n{traceback.format_exc()}"))
            pipe.send(result)
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass
