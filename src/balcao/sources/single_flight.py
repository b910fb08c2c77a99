"""Single flight: concurrent callers of the same work share one task."""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from math import inf
from typing import Generic, TypeVar

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Running tasks by key. All waiting callers get the result or the `SourceError`.

    The work runs in a task of its own: a cancelled caller stops waiting but does not stop it.
    """

    def __init__(self) -> None:
        self._in_flight: dict[str, asyncio.Task[T | SourceError]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T]], deadline: float = inf) -> T:
        """Return the result of `work`, or of the task already running for the key: see `result`."""
        task = self._in_flight.get(key)
        if task is not None:
            return await self.result(task, deadline)
        task = asyncio.create_task(_as_value(work))
        self._in_flight[key] = task
        task.add_done_callback(lambda done: self._on_done(key, done))
        return await self.result(task)

    def in_flight(self, key: str) -> asyncio.Task[T | SourceError] | None:
        """Return the running task of a key, to be awaited later with `result`, or None."""
        return self._in_flight.get(key)

    async def result(self, task: asyncio.Task[T | SourceError], deadline: float = inf) -> T:
        """Return the result of a task from `in_flight`, finished or not.

        Raises `SourceFailed` at `deadline`, by the event loop's clock; the task may run on.
        """
        left = None if deadline == inf else max(0.0, deadline - asyncio.get_running_loop().time())
        # unlike `await task`, this does not cancel the task with the caller
        await asyncio.wait((task,), timeout=left)
        if not task.done():
            raise SourceFailed("tempo esgotado; a consulta continua para quem começou primeiro")
        if task.cancelled():
            raise SourceUnavailable("consulta interrompida: o serviço está encerrando", 1)
        result = task.result()
        if isinstance(result, SourceError):
            # one copy per caller: each raise adds its traceback to the exception
            raise copy.copy(result)
        return result

    async def close(self) -> None:
        """Cancel the running tasks; waiting callers get `SourceUnavailable`."""
        tasks = tuple(self._in_flight.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _on_done(self, key: str, task: asyncio.Task[T | SourceError]) -> None:
        del self._in_flight[key]
        if not task.cancelled():
            task.exception()  # mark as retrieved: waiting callers raise it, if there are any


async def _as_value(work: Callable[[], Awaitable[T]]) -> T | SourceError:
    try:
        return await work()
    except SourceError as error:
        return error.with_traceback(None)
