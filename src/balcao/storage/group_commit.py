"""Group commit: batch the requests of one event-loop turn into one call of a worker thread.

Database connections belong to a thread. One hand-over for many requests is cheaper than one each,
and a thread of our own can be joined at shutdown (docs/adr/0019, 0033).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeAlias, TypeVar

from balcao.storage.failure import error_for

log = logging.getLogger(__name__)

RequestT = TypeVar("RequestT")
ResultT = TypeVar("ResultT")
T = TypeVar("T")

# In the order of the requests; an error is raised to the caller of that request.
Results: TypeAlias = Sequence[ResultT | Exception]

# Called on the event loop with the result of a request, or its error.
Callback: TypeAlias = Callable[[ResultT | Exception], None]

IDLE_SECONDS = 1.0

# Requests that can wait are deferred for this long at most, and only within this time after an
# urgent request.
DEFER_SECONDS = 0.01
URGENT_WINDOW_SECONDS = 0.25


class Worker:
    """A thread that runs jobs one by one, and calls `on_idle` after `idle_seconds` without one.

    Unlike `ThreadPoolExecutor` it has an idle hook, creates no future per job, and does not keep
    the process alive if it was never closed (ADR 0033).
    """

    def __init__(
        self,
        name: str,
        on_idle: Callable[[], None] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._on_idle = on_idle
        self._idle_seconds = idle_seconds
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], object]) -> None:
        """Queue a job. The job must not raise. Never blocks."""
        self._jobs.put(job)

    def close(self) -> None:
        """Finish the queued jobs and stop the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        timeout = None if self._on_idle is None else self._idle_seconds
        while True:
            try:
                job = self._jobs.get(timeout=timeout)
            except Empty:
                assert self._on_idle is not None
                try:
                    self._on_idle()
                except Exception as error:  # such as too many open files: later jobs must still run
                    log.error("idle thread failed: %s", type(error).__name__)
                continue
            if job is None:
                return
            job()
            del job  # drop the reference now, not when the next job arrives


async def run_in(worker: Worker, work: Callable[[], T], *, shielded: bool = False) -> T:
    """Run `work` in the worker's thread and return its result.

    Work that has started always finishes. With `shielded` it also starts if the caller was
    cancelled meanwhile. Raises our own errors and `LookupError` unchanged, others as
    `StorageFailed`.
    """
    done: Future[T] = Future()

    def job() -> None:
        awaited = done.set_running_or_notify_cancel()
        if not (awaited or shielded):
            return
        try:
            result = work()
        except Exception as error:
            failed = error_for(error)
            if awaited:
                done.set_exception(failed)
        else:
            if awaited:
                done.set_result(result)

    worker.submit(job)
    return await asyncio.wrap_future(done)


class Batcher(Generic[RequestT, ResultT]):
    """Collects requests until the previous batch has been delivered, then executes them together.

    `execute` runs on the event loop. It returns the results, or a job that computes them in the
    worker. Requests for which `can_wait` is true join the next batch of urgent ones, as long as
    urgent ones keep coming, so that they never delay them by a batch of their own.
    """

    def __init__(
        self,
        worker: Worker,
        execute: Callable[[Sequence[RequestT]], Results[ResultT] | Callable[[], Results[ResultT]]],
        can_wait: Callable[[RequestT], bool] = lambda request: False,
    ) -> None:
        self._worker = worker
        self._execute = execute
        self._can_wait = can_wait
        # Called with every result but None, before the callback of its request.
        self.on_result: Callable[[ResultT | Exception], None] | None = None
        self._pending: list[tuple[RequestT, Callback[ResultT]]] = []
        self._deferred: list[tuple[RequestT, Callback[ResultT]]] = []
        self._urgent_seen = False  # since the last batch
        self._defer_until = 0.0  # on the loop's clock
        self._running = False  # one batch at a time, and these belong to it
        self._batch: Sequence[tuple[RequestT, Callback[ResultT]]] = ()
        self._job: Callable[[], Results[ResultT]] | None = None

    async def submit(self, request: RequestT) -> ResultT:
        """Execute the request in the next batch and return its result. Raises its error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ResultT] = loop.create_future()
        on_done = partial(resolve, future)
        if not self._can_wait(request):
            self.submit_nowait(request, on_done)
        elif loop.time() < self._defer_until:
            self._defer(request, on_done)
        else:
            self._enqueue(request, on_done)
        return await future

    def submit_nowait(self, request: RequestT, on_done: Callback[ResultT]) -> None:
        """Like `submit`, without awaiting: `on_done` is called later, never within this call.

        The request is urgent regardless of `can_wait`. Exceptions of `on_done` are logged; they do
        not affect other requests.
        """
        self._urgent_seen = True
        self._enqueue(request, on_done)

    def _enqueue(self, request: RequestT, on_done: Callback[ResultT]) -> None:
        self._pending.append((request, on_done))
        if not self._running:
            self._schedule_flush()

    def _defer(self, request: RequestT, on_done: Callback[ResultT]) -> None:
        if not self._deferred:
            loop = asyncio.get_running_loop()
            loop.call_later(DEFER_SECONDS, self._flush_deferred)
        self._deferred.append((request, on_done))

    def _flush_deferred(self) -> None:
        """Execute the deferred requests: no urgent one came in time."""
        self._pending += self._deferred
        self._deferred = []
        if self._pending and not self._running:
            self._schedule_flush()

    def _schedule_flush(self) -> None:
        """Flush after the requests that are being read in this turn of the loop."""
        self._running = True
        loop = asyncio.get_running_loop()
        loop.call_soon(self._flush, loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._urgent_seen:
            self._urgent_seen = False
            self._defer_until = loop.time() + URGENT_WINDOW_SECONDS
        batch, self._pending, self._deferred = self._pending + self._deferred, [], []
        self._batch = batch
        executed = self._execute([request for request, _ in batch])
        if callable(executed):
            self._job = executed
            self._worker.submit(partial(self._run_job, loop))
        else:
            self._complete(loop, executed)

    def _run_job(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the batch's job in the worker thread and schedule its completion.

        Keeps no reference to the batch: the requests were created on the event loop's thread and
        are freed there, while they are still in its processor's cache (ADR 0068).
        """
        job, self._job = self._job, None
        assert job is not None
        results: Results[ResultT]
        try:
            results = job()
        except Exception as error:
            results = [error_for(error)] * len(self._batch)
        del job
        try:
            loop.call_soon_threadsafe(self._complete, loop, results)
        except RuntimeError:  # the loop is closed, so no caller is waiting
            self._running = False

    def _complete(self, loop: asyncio.AbstractEventLoop, results: Results[ResultT]) -> None:
        batch, self._batch = self._batch, ()
        try:
            self._notify(batch, results)
        finally:  # the pending requests must run in any case
            if self._pending:
                # Busy clients send their next request as soon as they have a result. One turn
                # later those requests join the pending ones, so that one batch serves all of
                # them, and the worker is idle while the responses are written (ADR 0063).
                loop.call_soon(loop.call_soon, self._flush, loop)
            else:
                self._running = False

    def _notify(
        self, batch: Sequence[tuple[RequestT, Callback[ResultT]]], results: Results[ResultT]
    ) -> None:
        for (_, on_done), result in zip(batch, results, strict=True):
            if result is not None and self.on_result is not None:
                try:
                    self.on_result(result)
                except Exception:
                    log.exception("a refusal was not noted")
            try:
                on_done(result)
            except Exception:
                log.exception("an answer was not taken")


def resolve(future: "asyncio.Future[ResultT]", result: ResultT | Exception) -> None:
    """Deliver the result of a request to a future."""
    if future.done():  # the caller was cancelled
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
