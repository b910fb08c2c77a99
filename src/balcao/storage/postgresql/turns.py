"""What is asked together is answered together: one round trip for all that came meanwhile.

The connections belong to threads. One exchange between threads for many questions costs less
than driving the protocol on the event loop's thread, and a thread can be waited for when
everything ends (docs/decisions/0019).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from balcao.storage.failure import told

log = logging.getLogger(__name__)

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")

IDLE_SECONDS = 1.0


class Worker:
    """A thread that does one thing after another. `idle` is done when nothing came for a while."""

    def __init__(
        self,
        name: str,
        idle: Callable[[], None] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = idle
        self._idle_seconds = idle_seconds
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        """Queue something that raises nothing. Never blocks."""
        self._jobs.put(job)

    def close(self) -> None:
        """Do what is queued, then end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        timeout = None if self._idle is None else self._idle_seconds
        while True:
            try:
                job = self._jobs.get(timeout=timeout)
            except Empty:
                assert self._idle is not None
                try:
                    self._idle()
                except Exception as error:  # as no more files: others wait for this thread
                    log.error("idle thread failed: %s", type(error).__name__)
                continue
            if job is None:
                return
            job()


class Turns(Generic[Q, A]):
    """Questions of one turn of the loop, and all that come while those are being answered."""

    def __init__(
        self,
        worker: Worker,
        answer: Callable[[Sequence[Q]], Sequence[A | Exception]],
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._worker = worker
        self._answer = answer
        self._observe = observe
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._asking = False

    async def ask(self, question: Q) -> A:
        """Ask, together with others. Raises what the answer is, if that is an error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        self._waiting.append((question, future))
        if not self._asking:
            self._asking = True
            # After the requests that are being read in this very turn of the loop.
            loop.call_soon(self._send, loop)
        return await future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting, []
        self._observe(len(batch))
        self._worker.submit(lambda: self._work(loop, batch))

    def _work(
        self, loop: asyncio.AbstractEventLoop, batch: Sequence[tuple[Q, "asyncio.Future[A]"]]
    ) -> None:
        answers: Sequence[A | Exception]
        try:
            answers = self._answer([question for question, _ in batch])
        except Exception as error:
            answers = [told(error)] * len(batch)
        try:
            loop.call_soon_threadsafe(self._resolve, loop, batch, answers)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._asking = False

    def _resolve(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: "Sequence[tuple[Q, asyncio.Future[A]]]",
        answers: Sequence[A | Exception],
    ) -> None:
        if self._waiting:
            self._send(loop)
        else:
            self._asking = False
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():  # the caller went away
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


async def in_thread(worker: Worker, work: Callable[[], T]) -> T:
    """One piece of work in the worker's turn. Raises our own errors, `LookupError`."""
    turns: Turns[None, T] = Turns(worker, lambda questions: [work()])
    return await turns.ask(None)
