"""Durable jobs: claimed under a lease, retried after failures, given up after the last attempt.

A job is created in the commit of its cause (`core.ledger.Enqueue`). Its work may run more than
once, also in two processes at a time, and must be idempotent.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from balcao.core.errors import StorageFailed
from balcao.service.jobs.periodic import Periodic

if TYPE_CHECKING:
    from balcao.storage.desk.jobs import ClaimedJob, DueJob, JobCount, Jobs

log = structlog.get_logger()

POLL_SECONDS = 5.0
MORE_SECONDS = 0.05  # a pause between time slices, for lookups
LEASE_MS = 30_000
RENEW_SECONDS = 10.0  # early enough even if one renewal fails

_AGAIN_MS, _AGAIN_MS_MAX = 10_000, 3_600_000


def retry_delay_ms(attempts: int) -> int:
    """Return the delay after this number of failures: quadrupled each time, at most an hour."""
    return min(_AGAIN_MS << 2 * (attempts - 1), _AGAIN_MS_MAX)


class JobOrder(Protocol):
    """Order in which the due jobs of a kind are started."""

    def next(self, due: "Sequence[DueJob]") -> "DueJob | None":
        """Return the job to start next; None: none may start now."""
        ...

    def started(self, job: "DueJob") -> None:
        """Record that this process has started a job."""
        ...

    def finished(self, job: "DueJob") -> None:
        """Record that a job has ended, successfully or not."""
        ...


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs. `work` is called with the job's `about`.

    Long work is done in steps: `work` returns the seconds until its next step, which counts as
    progress and resets the attempts, or None at its end. Eight attempts survive a store that is
    unavailable for three hours. `order`: None, the oldest first.
    """

    name: str
    work: Callable[[str], Awaitable[float | None]]
    at_once: int = 8
    attempts_max: int = 8
    poll_seconds: float = POLL_SECONDS
    order: JobOrder | None = None


@dataclass(slots=True)
class _Owner:
    """Holder of the lease of jobs claimed together. `running`: how many of them are."""

    name: str
    running: int


@dataclass(slots=True)
class JobWorker:
    """Runs the jobs of some kinds, in this process."""

    jobs: "Jobs"
    kinds: Sequence[JobKind]
    now_ms: Callable[[], int]
    counts: "Sequence[JobCount]" = ()  # as of the last `renew_leases`
    _owners: set[str] = field(default_factory=set)  # whose jobs are running here

    def periodic_tasks(self) -> Sequence[Periodic]:
        """Return the periodic work: a poll of each kind, and the renewal of the leases."""
        polls = [
            Periodic(f"job:{kind.name}", partial(self.poll, kind), kind.poll_seconds)
            for kind in self.kinds
        ]
        # Jobs that are running at a stop may take longer than a lease.
        renewal = Periodic("job_leases", self.renew_leases, RENEW_SECONDS, during_stop=True)
        return [*polls, renewal]

    async def poll(self, kind: JobKind) -> float | None:
        """Run due jobs until none is running. Raises `StorageFailed`.

        Each job that ends makes room for the next. Returns the pause before the next poll, if it
        should be shorter than usual.
        """
        running: set[asyncio.Task[float | None]] = set()
        count, soon = 0, kind.poll_seconds  # `soon`: until the next step of a job run just now
        failure: BaseException | None = None
        try:
            while True:
                if failure is None:
                    before = len(running)
                    try:
                        await self._claim_and_start(kind, kind.at_once - before, running)
                    except Exception as error:  # running jobs continue
                        failure = error
                    count += len(running) - before
                if not running:
                    break
                full = failure is not None or len(running) == kind.at_once
                done, running = await asyncio.wait(
                    running,
                    timeout=None if full else soon,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                soon = kind.poll_seconds
                for task in done:
                    failure = failure or task.exception()
                    again = None if task.exception() else task.result()
                    if again is not None:
                        soon = min(soon, max(again, MORE_SECONDS))
                if not running:
                    break
        finally:  # the service ends
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if failure is not None:
            raise failure
        if count >= kind.at_once:
            return MORE_SECONDS
        return soon if soon < kind.poll_seconds else None

    async def renew_leases(self) -> None:
        """Renew the leases of running jobs, and update `counts`. Raises `StorageFailed`."""
        for owner in tuple(self._owners):
            await self.jobs.renew(owner, self.now_ms() + LEASE_MS)
        self.counts = await self.jobs.counts()

    async def release(self) -> None:
        """Release the leases of unfinished jobs, so that other nodes can run them."""
        with contextlib.suppress(StorageFailed):  # then the leases expire
            for owner in self._owners:
                await self.jobs.release(owner, self.now_ms())

    async def _claim_and_start(
        self, kind: JobKind, most: int, running: "set[asyncio.Task[float | None]]"
    ) -> None:
        """Claim and start at most `most` jobs. Each task is added to `running` immediately."""
        if most <= 0:
            return
        if kind.order is not None:
            await self._start_in_order(kind, kind.order, most, running)
            return
        now, owner = self.now_ms(), _Owner(secrets.token_hex(8), 0)
        claimed = await self.jobs.claim(
            kind.name, owner.name, now, now + LEASE_MS, most, kind.attempts_max
        )
        running.update(self._start(kind, job, owner) for job in claimed)

    async def _start_in_order(
        self, kind: JobKind, order: JobOrder, most: int, running: "set[asyncio.Task[float | None]]"
    ) -> None:
        due = list(await self.jobs.due(kind.name, self.now_ms(), kind.attempts_max))
        while most > 0 and (chosen := order.next(due)) is not None:
            due.remove(chosen)
            now, owner = self.now_ms(), _Owner(secrets.token_hex(8), 0)
            job = await self.jobs.take(chosen.job_id, owner.name, now, now + LEASE_MS)
            if job is None:  # taken by another node meanwhile
                continue
            order.started(chosen)
            task = self._start(kind, job, owner)
            task.add_done_callback(partial(_on_finished, order, chosen))
            running.add(task)
            most -= 1

    def _start(
        self, kind: JobKind, job: "ClaimedJob", owner: _Owner
    ) -> "asyncio.Task[float | None]":
        self._owners.add(owner.name)
        owner.running += 1
        return asyncio.create_task(self._run_for(kind, job, owner))

    async def _run_for(self, kind: JobKind, job: "ClaimedJob", owner: _Owner) -> float | None:
        try:
            return await self._run(kind, job, owner.name)
        except asyncio.CancelledError:  # the job is given back by `release`
            owner.running = -1
            raise
        finally:
            owner.running -= 1
            # The lease of a job whose end could not be stored expires.
            if not owner.running:
                self._owners.discard(owner.name)

    async def _run(self, kind: JobKind, job: "ClaimedJob", owner: str) -> float | None:
        try:
            again = await kind.work(job.about)
        except Exception as error:
            # Only the class: the message may contain personal data.
            name, now = type(error).__name__, self.now_ms()
            may = job.attempts < kind.attempts_max
            log.warning("job.failed", kind=kind.name, error=name, attempts=job.attempts)
            retry_ms = now + retry_delay_ms(job.attempts) if may else None
            await self.jobs.fail(job, owner, name, now, retry_ms)
            return None
        now = self.now_ms()
        retry_ms = None if again is None else now + round(again * 1000)
        await self.jobs.finish(job, owner, now, retry_ms)
        return again


def _on_finished(order: JobOrder, job: "DueJob", task: "asyncio.Task[float | None]") -> None:
    order.finished(job)
