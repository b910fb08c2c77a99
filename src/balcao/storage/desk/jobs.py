"""Jobs on any engine: what a commit left to be done, by whom it was taken, what became of it.

A job has a lease while somebody is at it. Who dies, or is cut off for so long, loses it, and
another one begins anew: so whatever is done twice must be the same as done once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from balcao.core.ledger import Enqueue
from balcao.storage.connection import SqlConnection
from balcao.storage.engine import Engine

COLUMNS = ("kind", "about", "state", "due_ms", "attempts", "causes", "changed_ms")
# One that is open is not entered twice: whoever is at it learns that it was asked for again, and
# one that waits for a later instant does so no longer. One that was given up begins anew.
ASKED_AGAIN = (
    "ON CONFLICT (kind, about) WHERE state <> 'done' DO UPDATE SET causes = job.causes + 1,"
    " due_ms = CASE WHEN job.state = 'failed' OR job.state = 'waiting'"
    " AND excluded.due_ms < job.due_ms THEN excluded.due_ms ELSE job.due_ms END,"
    " attempts = CASE job.state WHEN 'failed' THEN 0 ELSE job.attempts END,"
    " state = CASE job.state WHEN 'failed' THEN 'waiting' ELSE job.state END"
)
INTERRUPTED = "interrupted"  # in the place of an error's class: every attempt died
PURGED_AT_ONCE = 1_000

_ENQUEUE = (
    f"INSERT INTO job ({', '.join(COLUMNS)})"  # noqa: S608 - columns of ours
    f" VALUES (?, ?, ?, ?, ?, ?, ?) {ASKED_AGAIN}"
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
# Of each account its smallest: a queue of one account's must not hide the others'.
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
STANDING = (
    "SELECT kind, state, count(*), min(due_ms), min(error) FROM job WHERE state <> 'done'"
    " GROUP BY kind, state ORDER BY kind, state"
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that is ours for as long as the lease lasts."""

    job_id: int
    about: str
    attempts: int  # this one included
    causes: int


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job about a batch that may be taken now, and whose turn it would be."""

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
    """A job as it is entered (`COLUMNS`)."""
    return (job.kind, job.about, "waiting", job.at_ms, 0, 1, job.at_ms)


def enqueue(connection: SqlConnection, jobs: Iterable[Enqueue]) -> None:
    """Enter jobs within the transaction of their cause."""
    for job in jobs:
        connection.execute(_ENQUEUE, row_of(job))


class Jobs:
    """The jobs of one desk. Everything here raises `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._in_turn = engine.in_turn

    async def claim(  # noqa: PLR0917  # of a kind, who, when, for how long, how many, how often
        self, kind: str, owner: str, now_ms: int, until_ms: int, limit: int, attempts_max: int
    ) -> Sequence[Claimed]:
        """Take some that are due, those whose lease has run out included, the oldest first.

        Of the latter, those whose every attempt died are given up: they may be what kills us.
        """

        def work(connection: SqlConnection) -> list[Any]:
            connection.execute(_GIVE_UP, (INTERRUPTED, now_ms, kind, now_ms, attempts_max))
            sql = _CLAIM.format(skip_locked=connection.skip_locked)
            return connection.execute(
                sql, (kind, now_ms, limit, owner, until_ms, now_ms)
            ).fetchall()

        return [Claimed(*row) for row in await self._in_turn(work)]

    async def due(self, kind: str, now_ms: int, attempts_max: int) -> Sequence[DueJob]:
        """Return jobs about batches that may be taken, some of each account.

        Those whose every attempt died are given up first.
        """

        def work(connection: SqlConnection) -> list[Any]:
            connection.execute(_GIVE_UP, (INTERRUPTED, now_ms, kind, now_ms, attempts_max))
            values = (kind, now_ms, _DUE_OF_ACCOUNT, _DUE_MAX)
            return connection.execute(_DUE, values).fetchall()

        return [DueJob(*row) for row in await self._in_turn(work)]

    async def take(self, job_id: int, owner: str, now_ms: int, until_ms: int) -> Claimed | None:
        """Take one that is due. None: somebody else has it by now."""
        rows = await self._run(_TAKE, owner, until_ms, now_ms, job_id, now_ms)
        return Claimed(*rows[0]) if rows else None

    async def renew(self, owner: str, until_ms: int) -> int:
        """Keep what is this owner's for longer. Count."""
        return len(await self._run(_RENEW, until_ms, owner))

    async def finish(
        self, job: Claimed, owner: str, now_ms: int, again_ms: int | None = None
    ) -> None:
        """It is done, or goes on then; once more now, if it was asked for again meanwhile.

        Nothing, if it was lost.
        """
        state, due_ms = ("done", now_ms) if again_ms is None else ("waiting", again_ms)
        values = (job.causes, state, job.causes, due_ms, now_ms, now_ms, job.job_id, owner)
        await self._run(_FINISH, *values)

    async def fail(
        self, job: Claimed, owner: str, error: str, now_ms: int, again_ms: int | None
    ) -> None:
        """It went wrong, and is due again then; None: it is given up."""
        state = "failed" if again_ms is None else "waiting"
        due_ms = now_ms if again_ms is None else again_ms
        await self._run(_FAIL, state, due_ms, error, now_ms, job.job_id, owner)

    async def release(self, owner: str, now_ms: int) -> None:
        """Let others have what is this owner's; as if it had not been begun."""
        await self._run(_RELEASE, now_ms, owner)

    async def retry(self, now_ms: int) -> int:
        """Begin anew what was given up. Count."""
        return len(await self._run(_RETRY, now_ms))

    async def purge(self, done_before_ms: int, failed_before_ms: int) -> int:
        """Remove some that were done, or given up, before those instants. Count; 0: none left."""
        return len(await self._run(_PURGE, done_before_ms, failed_before_ms, PURGED_AT_ONCE))

    async def standing(self) -> Sequence[JobCount]:
        """How many there are of which kind and state, those that are done excepted."""
        return [JobCount(*row) for row in await self._run(STANDING)]

    async def _run(self, sql: str, *values: object) -> list[Any]:
        def work(connection: SqlConnection) -> list[Any]:
            rows = connection.execute(sql, values)
            return rows.fetchall() if "RETURNING" in sql or sql is STANDING else []

        return await self._in_turn(work)
