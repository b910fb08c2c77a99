"""Durable jobs on any engine: enqueued by a commit, claimed under a lease, finished or failed.

A process that dies or is cut off for as long as its lease loses the job, and another one starts it
again: so jobs must be idempotent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from balcao.core.ledger import Enqueue
from balcao.storage.connection import SqlConnection
from balcao.storage.engine import Engine

COLUMNS = ("kind", "about", "state", "due_ms", "attempts", "causes", "changed_ms")
# An open job is not inserted twice: `causes` makes a running one run again, and a waiting one gets
# the earlier due time. A failed one starts again.
ON_CONFLICT = (
    "ON CONFLICT (kind, about) WHERE state <> 'done' DO UPDATE SET causes = job.causes + 1,"
    " due_ms = CASE WHEN job.state = 'failed' OR job.state = 'waiting'"
    " AND excluded.due_ms < job.due_ms THEN excluded.due_ms ELSE job.due_ms END,"
    " attempts = CASE job.state WHEN 'failed' THEN 0 ELSE job.attempts END,"
    " state = CASE job.state WHEN 'failed' THEN 'waiting' ELSE job.state END"
)
INTERRUPTED = "interrupted"  # in place of an error's class: every attempt died
PURGED_AT_ONCE = 1_000

_ENQUEUE = (
    f"INSERT INTO job ({', '.join(COLUMNS)})"  # noqa: S608 - columns of ours
    f" VALUES (?, ?, ?, ?, ?, ?, ?) {ON_CONFLICT}"
)
_GIVE_UP = (
    "UPDATE job SET state = 'failed', owner = NULL, error = ?, changed_ms = ?"
    " WHERE kind = ? AND state = 'running' AND due_ms <= ? AND attempts >= ?"
)
_CLAIM = (
    "WITH due AS MATERIALIZED (SELECT job_id FROM job WHERE kind = ?"
    " AND state IN ('waiting', 'running') AND due_ms <= ? ORDER BY due_ms LIMIT ? {skip_locked})"
    " UPDATE job SET state = 'running', owner = ?, due_ms = ?, attempts = attempts + 1,"
    " changed_ms = ? WHERE job_id IN (SELECT job_id FROM due)"
    " RETURNING job_id, about, attempts, causes"
)
# The smallest jobs of each account, so that a long queue of one does not hide the others.
_DUE = (
    "SELECT job_id, about, account_id, file_bytes, due_ms FROM"
    " (SELECT j.job_id, j.about, coalesce(b.account_id, 0) AS account_id,"
    " coalesce(b.file_bytes, 0) AS file_bytes, j.due_ms, row_number() OVER"
    " (PARTITION BY b.account_id ORDER BY b.file_bytes, j.due_ms) AS place"
    " FROM job AS j LEFT JOIN batch AS b ON b.batch_id = j.about"
    " WHERE j.kind = ? AND j.state IN ('waiting', 'running') AND j.due_ms <= ?) AS one"
    " WHERE place <= ? ORDER BY place, due_ms LIMIT ?"
)
_DUE_OF_ACCOUNT, _DUE_MAX = 3, 1_000
_TAKE = (
    "UPDATE job SET state = 'running', owner = ?, due_ms = ?, attempts = attempts + 1,"
    " changed_ms = ? WHERE job_id = ? AND state IN ('waiting', 'running') AND due_ms <= ?"
    " RETURNING job_id, about, attempts, causes"
)
_RENEW = "UPDATE job SET due_ms = ? WHERE state = 'running' AND owner = ? RETURNING 1"
_FINISH = (
    "UPDATE job SET state = CASE WHEN causes = ? THEN ? ELSE 'waiting' END, owner = NULL,"
    " due_ms = CASE WHEN causes = ? THEN ? ELSE ? END, attempts = 0,"
    " error = NULL, changed_ms = ? WHERE job_id = ? AND owner = ?"
)
_FAIL = (
    "UPDATE job SET state = ?, owner = NULL, due_ms = ?, error = ?, changed_ms = ?"
    " WHERE job_id = ? AND owner = ?"
)
_RELEASE = (
    "UPDATE job SET state = 'waiting', owner = NULL, due_ms = ?, attempts = attempts - 1"
    " WHERE state = 'running' AND owner = ?"
)
_RETRY = (
    "UPDATE job SET state = 'waiting', due_ms = ?, attempts = 0 WHERE state = 'failed' RETURNING 1"
)
_PURGE = (
    "DELETE FROM job WHERE job_id IN (SELECT job_id FROM job WHERE state IN ('done', 'failed')"
    " AND changed_ms < CASE state WHEN 'done' THEN ? ELSE ? END LIMIT ?) RETURNING 1"
)
COUNTS = (
    "SELECT kind, state, count(*), min(due_ms), min(error) FROM job WHERE state <> 'done'"
    " GROUP BY kind, state ORDER BY kind, state"
)


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job claimed by this process until its lease ends."""

    job_id: int
    about: str
    attempts: int  # this one included
    causes: int


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job about a batch that is due."""

    job_id: int
    about: str
    account_id: int
    size_bytes: int  # of the batch's file
    due_ms: int


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many jobs of a kind are waiting, running or failed."""

    kind: str
    state: str
    count: int
    oldest_due_ms: int
    error: str | None  # the class of one of their errors


def row_of(job: Enqueue) -> tuple[Any, ...]:
    """Return a new job as a row of `COLUMNS`."""
    return (job.kind, job.about, "waiting", job.at_ms, 0, 1, job.at_ms)


def enqueue(connection: SqlConnection, jobs: Iterable[Enqueue]) -> None:
    """Insert jobs within the transaction of their cause."""
    for job in jobs:
        connection.execute(_ENQUEUE, row_of(job))


class Jobs:
    """The jobs of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def claim(  # noqa: PLR0917
        self, kind: str, owner: str, now_ms: int, until_ms: int, limit: int, attempts_max: int
    ) -> Sequence[ClaimedJob]:
        """Claim some due jobs, oldest first, including those whose lease has expired.

        A job whose attempts all died is set to failed: it may be what kills the process.
        """

        def work(connection: SqlConnection) -> list[Any]:
            connection.execute(_GIVE_UP, (INTERRUPTED, now_ms, kind, now_ms, attempts_max))
            sql = _CLAIM.format(skip_locked=connection.skip_locked)
            return connection.execute(
                sql, (kind, now_ms, limit, owner, until_ms, now_ms)
            ).fetchall()

        return [ClaimedJob(*row) for row in await self._run_in_writer(work)]

    async def due(self, kind: str, now_ms: int, attempts_max: int) -> Sequence[DueJob]:
        """Return due jobs about batches, some of each account.

        Jobs whose attempts all died are set to failed first.
        """

        def work(connection: SqlConnection) -> list[Any]:
            connection.execute(_GIVE_UP, (INTERRUPTED, now_ms, kind, now_ms, attempts_max))
            values = (kind, now_ms, _DUE_OF_ACCOUNT, _DUE_MAX)
            return connection.execute(_DUE, values).fetchall()

        return [DueJob(*row) for row in await self._run_in_writer(work)]

    async def take(self, job_id: int, owner: str, now_ms: int, until_ms: int) -> ClaimedJob | None:
        """Claim one due job. None: another process has it by now."""
        rows = await self._run(_TAKE, owner, until_ms, now_ms, job_id, now_ms)
        return ClaimedJob(*rows[0]) if rows else None

    async def renew(self, owner: str, until_ms: int) -> int:
        """Extend the leases of an owner. Return the count."""
        return len(await self._run(_RENEW, until_ms, owner))

    async def finish(
        self, job: ClaimedJob, owner: str, now_ms: int, again_ms: int | None = None
    ) -> None:
        """Mark a job as done, or as due again at `again_ms`; at once if enqueued again meanwhile.

        Does nothing if the lease was lost.
        """
        state, due_ms = ("done", now_ms) if again_ms is None else ("waiting", again_ms)
        values = (job.causes, state, job.causes, due_ms, now_ms, now_ms, job.job_id, owner)
        await self._run(_FINISH, *values)

    async def fail(
        self, job: ClaimedJob, owner: str, error: str, now_ms: int, again_ms: int | None
    ) -> None:
        """Record an error: the job is due again at `again_ms`; None: it has failed for good."""
        state = "failed" if again_ms is None else "waiting"
        due_ms = now_ms if again_ms is None else again_ms
        await self._run(_FAIL, state, due_ms, error, now_ms, job.job_id, owner)

    async def release(self, owner: str, now_ms: int) -> None:
        """Return an owner's jobs to the queue, as if they had not been started."""
        await self._run(_RELEASE, now_ms, owner)

    async def retry(self, now_ms: int) -> int:
        """Queue all failed jobs again. Return the count."""
        return len(await self._run(_RETRY, now_ms))

    async def purge(self, done_before_ms: int, failed_before_ms: int) -> int:
        """Delete some jobs done, or failed, before these instants. Return the count."""
        return len(await self._run(_PURGE, done_before_ms, failed_before_ms, PURGED_AT_ONCE))

    async def counts(self) -> Sequence[JobCount]:
        """Return the number of jobs by kind and state, except done ones."""
        return [JobCount(*row) for row in await self._run(COUNTS)]

    async def _run(self, sql: str, *values: object) -> list[Any]:
        def work(connection: SqlConnection) -> list[Any]:
            rows = connection.execute(sql, values)
            return rows.fetchall() if "RETURNING" in sql or sql is COUNTS else []

        return await self._run_in_writer(work)
