"""Jobs that outlive whoever began them: taken with a lease, done, tried again, given up at last.

They are born in the commit of their cause (`core.ledger.Enqueue`). What does a job is called once
or more often, also by two processes at a time, and must come to the same.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import structlog

from balcao.errors import StorageFailed
from balcao.jobs.periodic import Periodic

if TYPE_CHECKING:
    from balcao.storage.desk.jobs import Claimed, JobCount, Jobs

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MORE_SECONDS = 0.05  # in short strokes, so that lookups slip in between
LEASE_MS = 30_000
RENEW_SECONDS = 10.0  # in time, even if it fails once

_AGAIN_MS, _AGAIN_MS_MAX = 10_000, 3_600_000


def again_in_ms(attempts: int) -> int:
    """How long after so many failed attempts comes the next one: four times as long, to an hour."""
    return min(_AGAIN_MS << 2 * (attempts - 1), _AGAIN_MS_MAX)


@dataclass(frozen=True, slots=True)
class JobKind:
    """What is done with jobs of a kind. `work` is told what the job is about.

    What is long is done in strokes: `work` says after how many seconds there is more to be done,
    which is progress and begins the attempts anew; None: nothing is. With eight attempts a store
    may be away for three hours.
    """

    name: str
    work: Callable[[str], Awaitable[float | None]]
    at_once: int = 8
    attempts_max: int = 8
    look_seconds: float = LOOK_SECONDS


@dataclass(slots=True)
class JobWorker:
    """Does the jobs of some kinds, in this process."""

    jobs: "Jobs"
    kinds: Sequence[JobKind]
    now_ms: Callable[[], int]
    standing: "Sequence[JobCount]" = ()  # as of the last `keep`
    _owners: set[str] = field(default_factory=set)  # those whose jobs are being done here

    def works(self) -> Sequence[Periodic]:
        """What is done now and then for it: a look at each kind, and keeping what is ours."""
        looks = [
            Periodic(f"job:{kind.name}", partial(self.look, kind), kind.look_seconds)
            for kind in self.kinds
        ]
        return [*looks, Periodic("job_leases", self.keep, RENEW_SECONDS)]

    async def look(self, kind: JobKind) -> float | None:
        """Do some that are due, and go on soon if there may be more. Raises `StorageFailed`."""
        done = await self._some(kind)
        if len(done) == kind.at_once:
            return MORE_SECONDS
        again = min((each for each in done if each is not None), default=kind.look_seconds)
        return max(again, MORE_SECONDS) if again < kind.look_seconds else None

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

    async def _some(self, kind: JobKind) -> Sequence[float | None]:
        """Those that were taken: of each, after how many seconds it goes on, if it does."""
        now, owner = self.now_ms(), secrets.token_hex(8)
        claimed = await self.jobs.claim(
            kind.name, owner, now, now + LEASE_MS, kind.at_once, kind.attempts_max
        )
        self._owners.add(owner)
        doing = (self._do(kind, job, owner) for job in claimed)
        done = await asyncio.gather(*doing, return_exceptions=True)
        # What could not be entered is nobody's any more: its lease runs out.
        self._owners.discard(owner)
        again: list[float | None] = []
        for each in done:
            if isinstance(each, BaseException):
                raise each
            again.append(each)
        return again

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
