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
    from balcao.storage.desk.jobs import Claimed, DueJob, JobCount, Jobs

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MORE_SECONDS = 0.05  # in short strokes, so that lookups slip in between
LEASE_MS = 30_000
RENEW_SECONDS = 10.0  # in time, even if it fails once

_AGAIN_MS, _AGAIN_MS_MAX = 10_000, 3_600_000


def again_in_ms(attempts: int) -> int:
    """Return the delay after so many failed attempts: four times the last one, at most an hour."""
    return min(_AGAIN_MS << 2 * (attempts - 1), _AGAIN_MS_MAX)


class JobOrder(Protocol):
    """Order in which the jobs of a kind that are due are begun."""

    def next(self, due: "Sequence[DueJob]") -> "DueJob | None":
        """Choose one. None: none may begin now."""
        ...

    def begun(self, job: "DueJob") -> None:
        """Record that this process has begun a job."""
        ...

    def ended(self, job: "DueJob") -> None:
        """Record that a job has ended, whatever its outcome."""
        ...


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs. `work` is called with what the job is about.

    Long work is done in steps: `work` returns the seconds until its next step, which counts as
    progress and resets the attempts, or None at its end. With eight attempts a store may be away
    for three hours. `turns`: None, the oldest first.
    """

    name: str
    work: Callable[[str], Awaitable[float | None]]
    at_once: int = 8
    attempts_max: int = 8
    look_seconds: float = LOOK_SECONDS
    turns: JobOrder | None = None


@dataclass(slots=True)
class _Owner:
    """Holder of the lease of jobs claimed together. `doing`: how many of them are running."""

    name: str
    doing: int


@dataclass(slots=True)
class JobWorker:
    """Does the jobs of some kinds, in this process."""

    jobs: "Jobs"
    kinds: Sequence[JobKind]
    now_ms: Callable[[], int]
    standing: "Sequence[JobCount]" = ()  # as of the last `keep`
    _owners: set[str] = field(default_factory=set)  # those whose jobs are being done here

    def works(self) -> Sequence[Periodic]:
        """Return the periodic tasks: a look at each kind, and the renewal of the leases."""
        looks = [
            Periodic(f"job:{kind.name}", partial(self.look, kind), kind.look_seconds)
            for kind in self.kinds
        ]
        # What is being done at a stop may take longer than a lease.
        keeping = Periodic("job_leases", self.keep, RENEW_SECONDS, during_stop=True)
        return [*looks, keeping]

    async def look(self, kind: JobKind) -> float | None:
        """Do what is due, and go on soon if there may be more. Raises `StorageFailed`.

        As soon as one is done the next one is begun, whatever the others take; the round is over
        when none is being done.
        """
        doing: set[asyncio.Task[float | None]] = set()
        count, soon = 0, kind.look_seconds  # `soon`: until one goes on that was done just now
        failure: BaseException | None = None
        try:
            while True:
                if failure is None:
                    before = len(doing)
                    try:
                        await self._begin(kind, kind.at_once - before, doing)
                    except Exception as error:  # those that are being done go on
                        failure = error
                    count += len(doing) - before
                if not doing:
                    break
                full = failure is not None or len(doing) == kind.at_once
                done, doing = await asyncio.wait(
                    doing,
                    timeout=None if full else soon,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                soon = kind.look_seconds
                for task in done:
                    failure = failure or task.exception()
                    again = None if task.exception() else task.result()
                    if again is not None:
                        soon = min(soon, max(again, MORE_SECONDS))
                if not doing:
                    break
        finally:  # the service ends
            for task in doing:
                task.cancel()
            await asyncio.gather(*doing, return_exceptions=True)
        if failure is not None:
            raise failure
        if count >= kind.at_once:
            return MORE_SECONDS
        return soon if soon < kind.look_seconds else None

    async def keep(self) -> None:
        """Renew the leases of what is being done here, and count. Raises `StorageFailed`."""
        for owner in tuple(self._owners):
            await self.jobs.renew(owner, self.now_ms() + LEASE_MS)
        self.standing = await self.jobs.standing()

    async def release(self) -> None:
        """Let others have at once what was begun here and is not over."""
        with contextlib.suppress(StorageFailed):  # then its lease runs out
            for owner in self._owners:
                await self.jobs.release(owner, self.now_ms())

    async def _begin(
        self, kind: JobKind, most: int, doing: "set[asyncio.Task[float | None]]"
    ) -> None:
        """Take at most so many jobs and begin them. Each task is added to `doing` at once."""
        if most <= 0:
            return
        if kind.turns is not None:
            await self._begin_in_turn(kind, kind.turns, most, doing)
            return
        now, owner = self.now_ms(), _Owner(secrets.token_hex(8), 0)
        claimed = await self.jobs.claim(
            kind.name, owner.name, now, now + LEASE_MS, most, kind.attempts_max
        )
        doing.update(self._started(kind, job, owner) for job in claimed)

    async def _begin_in_turn(
        self, kind: JobKind, turns: JobOrder, most: int, doing: "set[asyncio.Task[float | None]]"
    ) -> None:
        due = list(await self.jobs.due(kind.name, self.now_ms(), kind.attempts_max))
        while most > 0 and (chosen := turns.next(due)) is not None:
            due.remove(chosen)
            now, owner = self.now_ms(), _Owner(secrets.token_hex(8), 0)
            job = await self.jobs.take(chosen.job_id, owner.name, now, now + LEASE_MS)
            if job is None:  # another node was quicker
                continue
            turns.begun(chosen)
            task = self._started(kind, job, owner)
            task.add_done_callback(partial(_ended, turns, chosen))
            doing.add(task)
            most -= 1

    def _started(
        self, kind: JobKind, job: "Claimed", owner: _Owner
    ) -> "asyncio.Task[float | None]":
        self._owners.add(owner.name)
        owner.doing += 1
        return asyncio.create_task(self._do_for(kind, job, owner))

    async def _do_for(self, kind: JobKind, job: "Claimed", owner: _Owner) -> float | None:
        try:
            return await self._do(kind, job, owner.name)
        except asyncio.CancelledError:  # `release` gives it back
            owner.doing = -1
            raise
        finally:
            owner.doing -= 1
            # What could not be entered is nobody's any more: its lease runs out.
            if not owner.doing:
                self._owners.discard(owner.name)

    async def _do(self, kind: JobKind, job: "Claimed", owner: str) -> float | None:
        try:
            again = await kind.work(job.about)
        except Exception as error:
            # By its class alone: its words may name whom it is about.
            name, now = type(error).__name__, self.now_ms()
            may = job.attempts < kind.attempts_max
            log.warning("job.failed", kind=kind.name, error=name, attempts=job.attempts)
            again_ms = now + again_in_ms(job.attempts) if may else None
            await self.jobs.fail(job, owner, name, now, again_ms)
            return None
        now = self.now_ms()
        again_ms = None if again is None else now + round(again * 1000)
        await self.jobs.finish(job, owner, now, again_ms)
        return again


def _ended(turns: JobOrder, job: "DueJob", task: "asyncio.Task[float | None]") -> None:
    turns.ended(job)
