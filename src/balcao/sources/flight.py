"""Single flight: the same work wanted by many at once is done once."""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from math import inf
from typing import Generic, TypeVar

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work in flight, by key. What it brings, or its `SourceError`, goes to all who wait.

    The work belongs to nobody: it runs in a task of its own, and a caller that goes away stops
    waiting but does not stop it.
    """

    def __init__(self) -> None:
        self._in_flight: dict[str, asyncio.Task[T | SourceError]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T]], until: float = inf) -> T:
        """The result of `work`, or of the same work if it is in flight already: see `result`."""
        task = self._in_flight.get(key)
        if task is not None:
            return await self.result(task, until)
        task = asyncio.create_task(_as_value(work))
        self._in_flight[key] = task
        task.add_done_callback(lambda done: self._landed(key, done))
        return await self.result(task)

    def in_flight(self, key: str) -> asyncio.Task[T | SourceError] | None:
        """The work that is in flight now, to be waited for later with `result`."""
        return self._in_flight.get(key)

    async def result(self, task: asyncio.Task[T | SourceError], until: float = inf) -> T:
        """Return the result of a task of `in_flight`, even one that is over.

        Raises `SourceFailed` at `until`, by the event loop's clock: the task may have more time.
        """
        left = None if until == inf else max(0.0, until - asyncio.get_running_loop().time())
        # Unlike awaiting the task, this does not hand on cancellation.
        await asyncio.wait((task,), timeout=left)
        if not task.done():
            raise SourceFailed("tempo esgotado; a mesma consulta continua para quem a começou")
        if task.cancelled():
            raise SourceUnavailable("consulta interrompida: o serviço está encerrando", 1)
        result = task.result()
        if isinstance(result, SourceError):
            # A copy each: an exception collects the traceback of everyone who raises it.
            raise copy.copy(result)
        return result

    async def close(self) -> None:
        """Give up what is in flight; those who wait are told so."""
        tasks = tuple(self._in_flight.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _landed(self, key: str, task: asyncio.Task[T | SourceError]) -> None:
        del self._in_flight[key]
        if not task.cancelled():
            task.exception()  # seen: a bug is raised where it is waited for, if anybody waits


async def _as_value(work: Callable[[], Awaitable[T]]) -> T | SourceError:
    try:
        return await work()
    except SourceError as error:
        return error.with_traceback(None)
