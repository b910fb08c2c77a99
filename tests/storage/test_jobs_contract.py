"""Jobs on every engine: committed with their cause, claimed by one owner, never lost."""

import subprocess
import sys

import pytest

from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Enqueue
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.jobs import ClaimedJob, JobCount
from tests.storage.engines import Engine, PostgresEngine
from tests.storage.world import DAY_MS, NOW, a_charge, a_keep, charged

KIND, LEASE_MS, ATTEMPTS_MAX = "sweep", 30_000, 3
A = Enqueue(KIND, "a", NOW)
B = Enqueue(KIND, "b", NOW - 1)


def claim(
    engine: Engine, desk: Desk, owner: str = "me", at_ms: int = NOW, limit: int = 9
) -> list[ClaimedJob]:
    work = desk.jobs.claim(KIND, owner, at_ms, at_ms + LEASE_MS, limit, ATTEMPTS_MAX)
    return sorted(engine.run(work), key=lambda job: job.about)


def standing(engine: Engine, desk: Desk) -> dict[str, int]:
    return {one.state: one.count for one in engine.run(desk.jobs.counts())}


def test_a_job_is_committed_with_its_cause_or_not_at_all(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    too_much = a_charge(ana, "r1", credits=10_000_000)
    assert engine.commit(desk, too_much, A) is not None
    assert standing(engine, desk) == {}
    with engine.wall_off("job"), pytest.raises((StorageFailed, engine.wall)):
        engine.commit(desk, a_charge(ana, "r2"), A)
    assert charged(desk, ana) == {}
    assert engine.commit(desk, a_charge(ana, "r3"), A) is None
    assert standing(engine, desk) == {"waiting": 1}
    (job,) = claim(engine, engine.open())
    assert (job.about, job.attempts, job.causes) == ("a", 1, 1)


def test_jobs_of_many_lists_share_their_commit(engine: Engine, desk: Desk) -> None:
    others = [Enqueue(KIND, str(number), NOW) for number in range(300)]
    assert engine.together(desk, [A], [A, B], others) == [None, None, None]
    assert standing(engine, desk) == {"waiting": 302}


def test_a_claimed_job_is_not_claimed_again(engine: Engine, desk: Desk) -> None:
    other = engine.open()
    engine.commit(desk, A, B)
    assert [job.about for job in claim(engine, desk, limit=1)] == ["b"], "the oldest first"
    assert [job.about for job in claim(engine, other, "other")] == ["a"]
    assert claim(engine, desk) == claim(engine, other, "other") == []
    assert standing(engine, desk) == {"running": 2}


def test_a_job_waits_for_its_time_and_for_its_kind(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, Enqueue(KIND, "later", NOW + 1), Enqueue("other", "a", NOW))
    assert claim(engine, desk) == []
    assert [job.about for job in claim(engine, desk, at_ms=NOW + 1)] == ["later"]


def test_an_open_job_that_is_enqueued_again_runs_again(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A)
    engine.commit(desk, A)
    assert standing(engine, desk) == {"waiting": 1}
    (job,) = claim(engine, desk)
    engine.commit(desk, A)  # while it runs: what it has seen may be from before
    engine.run(desk.jobs.finish(job, "me", NOW))
    assert standing(engine, desk) == {"waiting": 1}
    (job,) = claim(engine, desk)
    assert job.attempts == 1
    engine.run(desk.jobs.finish(job, "me", NOW))
    assert standing(engine, desk) == {}
    engine.commit(desk, A)
    assert len(claim(engine, desk)) == 1, "what is done can be wanted anew"


def test_a_dead_owner_loses_the_lease_and_another_one_starts_again(
    engine: Engine, desk: Desk
) -> None:
    engine.commit(desk, A)
    (mine,) = claim(engine, desk)
    engine.kill(desk)
    other = engine.open()
    assert claim(engine, other, "other", NOW + LEASE_MS - 1) == []
    (theirs,) = claim(engine, other, "other", NOW + LEASE_MS)
    assert (theirs.job_id, theirs.attempts) == (mine.job_id, 2)
    # The first owner was only slow: its results are ignored.
    engine.run(other.jobs.finish(mine, "me", NOW))
    engine.run(other.jobs.fail(mine, "me", "KeyError", NOW, None))
    assert standing(engine, other) == {"running": 1}
    engine.run(other.jobs.finish(theirs, "other", NOW))
    assert standing(engine, other) == {}


# A process of its own: it claims the job, reports it, and waits to be killed.
_TAKER = """
import asyncio, sys
from pathlib import Path
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.desk import SqliteDesk

where, now_ms, until_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
desk = PostgresDesk(where) if "://" in where or "=" in where else SqliteDesk(Path(where))

async def story():
    print(len(await desk.jobs.claim("sweep", "taker", now_ms, until_ms, 9, 3)), flush=True)
    await asyncio.Event().wait()

asyncio.run(story())
"""


def test_a_process_that_is_killed_with_a_job_loses_it_and_the_job_is_done(
    engine: Engine, desk: Desk
) -> None:
    """kill -9 between claiming a job and finishing it."""
    engine.commit(desk, A)
    where = engine.address if isinstance(engine, PostgresEngine) else engine.path  # type: ignore[attr-defined]
    line = [sys.executable, "-c", _TAKER, str(where), str(NOW), str(NOW + LEASE_MS)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as taker:
        assert taker.stdout is not None
        try:
            assert taker.stdout.readline() == b"1\n"
            assert claim(engine, desk) == []
        finally:
            taker.kill()
    assert claim(engine, desk, at_ms=NOW + LEASE_MS - 1) == []
    (job,) = claim(engine, desk, at_ms=NOW + LEASE_MS)
    assert (job.about, job.attempts) == ("a", 2)
    engine.run(desk.jobs.finish(job, "me", NOW))
    assert standing(engine, desk) == {}


def test_a_renewed_lease_is_kept(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A, B)
    claim(engine, desk, limit=1)
    claim(engine, desk, "other")
    assert engine.run(desk.jobs.renew("me", NOW + 10 * LEASE_MS)) == 1
    assert [job.about for job in claim(engine, desk, "third", NOW + LEASE_MS)] == ["a"]


def test_an_orderly_end_releases_the_jobs(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A, B)
    claim(engine, desk, limit=1)
    claim(engine, desk, "other")
    engine.run(desk.jobs.release("me", NOW))
    (job,) = claim(engine, desk, "third")
    assert (job.about, job.attempts) == ("b", 1)


def test_a_failed_job_is_retried_and_finally_given_up(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A)
    (job,) = claim(engine, desk)
    engine.run(desk.jobs.fail(job, "me", "OSError", NOW, NOW + 5))
    assert claim(engine, desk, at_ms=NOW + 4) == []
    (job,) = claim(engine, desk, at_ms=NOW + 5)
    assert job.attempts == 2
    engine.run(desk.jobs.fail(job, "me", "TimeoutError", NOW + 6, None))
    found = list(engine.run(desk.jobs.counts()))
    assert found == [JobCount(KIND, "failed", 1, NOW + 6, "TimeoutError")]
    assert claim(engine, desk, at_ms=NOW + DAY_MS) == []
    assert engine.run(desk.jobs.retry(NOW + DAY_MS)) == 1
    (job,) = claim(engine, desk, at_ms=NOW + DAY_MS)
    assert job.attempts == 1
    engine.run(desk.jobs.fail(job, "me", "TimeoutError", NOW, None))
    engine.commit(desk, A)
    (job,) = claim(engine, desk)
    assert job.attempts == 1, "a new cause begins it anew, too"


def test_a_job_that_kills_its_owners_is_given_up(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A)
    for attempt in range(ATTEMPTS_MAX):
        assert len(claim(engine, desk, f"owner {attempt}", NOW + attempt * LEASE_MS)) == 1
    assert claim(engine, desk, at_ms=NOW + ATTEMPTS_MAX * LEASE_MS) == []
    (found,) = engine.run(desk.jobs.counts())
    assert (found.state, found.error) == ("failed", "interrupted")


def test_done_jobs_are_purged_and_open_ones_are_not(engine: Engine, desk: Desk) -> None:
    engine.commit(desk, A, B, Enqueue(KIND, "c", NOW))
    first, second, _ = claim(engine, desk)
    engine.run(desk.jobs.finish(first, "me", NOW))
    engine.run(desk.jobs.fail(second, "me", "OSError", NOW, None))
    assert engine.run(desk.jobs.purge(NOW, NOW)) == 0
    assert engine.run(desk.jobs.purge(NOW + 1, NOW)) == 1
    assert engine.run(desk.jobs.purge(NOW + 1, NOW + 1)) == 1
    assert engine.run(desk.jobs.purge(NOW + DAY_MS, NOW + DAY_MS)) == 0
    assert engine.sql("SELECT about FROM job") == [("c",)]


def test_receipts_are_purged_together_with_the_job_for_their_bytes(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_keep(ana, "number"))
    with engine.wall_off("job"), pytest.raises((StorageFailed, engine.wall)):
        engine.run(desk.purge_receipts(NOW + 1, 9, NOW))
    assert desk.receipt("number") is not None
    assert engine.run(desk.purge_receipts(NOW + 1, 9, NOW)) == 1
    assert standing(engine, desk) == {"waiting": 1}
