"""What is asked together is answered together, and a thread that does one thing after another.

Connections belong to threads. One exchange between threads for many questions costs less than one
for each, and a thread can be waited for when everything ends (docs/adr/0019, 0033).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeAlias, TypeVar

from balcao.storage.failure import told

log = logging.getLogger(__name__)

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")

# An answer each, in the order of the questions; an error is raised for who asked that one.
Answers: TypeAlias = Sequence[A | Exception]

# Told the answer to a question, or the error, on the loop's thread.
Told: TypeAlias = Callable[[A | Exception], None]

IDLE_SECONDS = 1.0

# How long what is patient waits for others to go with, and for how long after the last of them.
TOGETHER_SECONDS = 0.01
OTHERS_SECONDS = 0.25


class Worker:
    """A thread that does one thing after another. `idle` is done when nothing came for a while.

    No `ThreadPoolExecutor`: that has no idle time, makes a future for every job, and keeps the
    process from ending while somebody forgot to close it (ADR 0033).
    """

    def __init__(
        self,
        name: str,
        idle: Callable[[], None] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._idle = idle
        self._idle_seconds = idle_seconds
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], object]) -> None:
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
            del job  # and with it whatever it was about: not only when the next one comes


async def in_thread(worker: Worker, work: Callable[[], T], *, in_any_case: bool = False) -> T:
    """One piece of work in the worker's turn.

    Once begun it is done to its end; `in_any_case`: begun even if whoever asked went away. Raises
    what the work refuses (our own errors, `LookupError`), and else `StorageFailed`.
    """
    done: Future[T] = Future()

    def job() -> None:
        awaited = done.set_running_or_notify_cancel()
        if not (awaited or in_any_case):
            return
        try:
            said = work()
        except Exception as error:
            failed = told(error)
            if awaited:
                done.set_exception(failed)
        else:
            if awaited:
                done.set_result(said)

    worker.submit(job)
    return await asyncio.wrap_future(done)


class Turns(Generic[Q, A]):
    """Questions of one turn of the loop, and all that come until those were answered and read.

    `begin` is told them on the loop's thread. It answers at once, or returns what the worker has
    to do for the answers. What is `patient` goes with the next of the others, while there are such:
    so it keeps none of them waiting for a turn of its own.
    """

    def __init__(
        self,
        worker: Worker,
        begin: Callable[[Sequence[Q]], Answers[A] | Callable[[], Answers[A]]],
        patient: Callable[[Q], bool] = lambda question: False,
    ) -> None:
        self._worker = worker
        self._begin = begin
        self._patient = patient
        # Hears every answer but None, before who asked does.
        self.refused: Callable[[A | Exception], None] | None = None
        self._waiting: list[tuple[Q, Told[A]]] = []
        self._later: list[tuple[Q, Told[A]]] = []
        self._others_came = False  # since the last turn
        self._others_until = 0.0  # of the loop's clock
        self._asking = False  # one turn at a time, and these are of it
        self._batch: Sequence[tuple[Q, Told[A]]] = ()
        self._work: Callable[[], Answers[A]] | None = None

    async def ask(self, question: Q) -> A:
        """Ask, together with others. Raises what the answer is, if that is an error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        told = partial(_set, future)
        if not self._patient(question):
            self.tell(question, told)
        elif loop.time() < self._others_until:
            self._wait_for_others(question, told)
        else:
            self._take_in(question, told)
        return await future

    def tell(self, question: Q, told: Told[A]) -> None:
        """Ask without waiting: `told` hears the answer later, never within this call.

        For who has neither a task nor a future, nor patience. What it raises is logged, and hurts
        nobody else.
        """
        self._others_came = True
        self._take_in(question, told)

    def _take_in(self, question: Q, told: Told[A]) -> None:
        self._waiting.append((question, told))
        if not self._asking:
            self._send_soon()

    def _wait_for_others(self, question: Q, told: Told[A]) -> None:
        if not self._later:
            loop = asyncio.get_running_loop()
            loop.call_later(TOGETHER_SECONDS, self._send_later)
        self._later.append((question, told))

    def _send_later(self) -> None:
        """None of the others came in time."""
        self._waiting += self._later
        self._later = []
        if self._waiting and not self._asking:
            self._send_soon()

    def _send_soon(self) -> None:
        """After the requests that are being read in this very turn of the loop."""
        self._asking = True
        loop = asyncio.get_running_loop()
        loop.call_soon(self._send, loop)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._others_came:
            self._others_came = False
            self._others_until = loop.time() + OTHERS_SECONDS
        batch, self._waiting, self._later = self._waiting + self._later, [], []
        self._batch = batch
        begun = self._begin([question for question, _ in batch])
        if callable(begun):
            self._work = begun
            self._worker.submit(partial(self._have_answered, loop))
        else:
            self._resolve(loop, begun)

    def _have_answered(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread.

        It is the last to hold nothing: what is about a question was made on the loop's thread, is
        near its processor, and is taken apart there.
        """
        work, self._work = self._work, None
        assert work is not None
        answers: Answers[A]
        try:
            answers = work()
        except Exception as error:
            answers = [told(error)] * len(self._batch)
        del work
        try:
            loop.call_soon_threadsafe(self._resolve, loop, answers)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._asking = False

    def _resolve(self, loop: asyncio.AbstractEventLoop, answers: Answers[A]) -> None:
        batch, self._batch = self._batch, ()
        try:
            self._tell_all(batch, answers)
        finally:  # whatever comes of that, others wait
            if self._waiting:
                # Whoever was answered asks again at once, as busy clients do: those go with the
                # ones that wait, one turn later. So the next answer is for all of them together,
                # and the worker is not at work while so many answers are written (ADR 0063).
                loop.call_soon(loop.call_soon, self._send, loop)
            else:
                self._asking = False

    def _tell_all(self, batch: Sequence[tuple[Q, Told[A]]], answers: Answers[A]) -> None:
        for (_, tell), answer in zip(batch, answers, strict=True):
            if answer is not None and self.refused is not None:
                try:
                    self.refused(answer)
                except Exception:
                    log.exception("a refusal was not noted")
            try:
                tell(answer)
            except Exception:
                log.exception("an answer was not taken")


def _set(future: "asyncio.Future[A]", answer: A | Exception) -> None:
    if future.done():  # the caller went away
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
