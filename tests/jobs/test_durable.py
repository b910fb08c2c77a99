"""Durable jobs: retries after failures, until the last attempt, and the leases meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from balcao.core.errors import StorageFailed
from balcao.core.ledger import Enqueue
from balcao.service.jobs.durable import LEASE_MS, MORE_SECONDS, JobKind, JobWorker, retry_delay_ms
from balcao.service.jobs.periodic import Runner
from balcao.storage.desk.jobs import DueJob, JobCount
from balcao.storage.sqlite.desk import SqliteDesk

CPF = "900.100.001-00"


class Clock:
    now_ms = 1_786_158_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[SqliteDesk]:
    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        yield desk


def worker(
    desk: SqliteDesk, clock: Clock, work: Callable[[str], Awaitable[None]], at_once: int = 2
) -> tuple[JobWorker, JobKind]:
    kind = JobKind("it", work, at_once=at_once, attempts_max=3)
    return JobWorker(desk.jobs, [kind], clock), kind


async def ask(desk: SqliteDesk, clock: Clock, *about: str) -> None:
    await desk.commit([Enqueue("it", each, clock()) for each in about])


def test_due_jobs_run_a_few_at_a_time(desk: SqliteDesk, clock: Clock) -> None:
    done: list[str] = []

    async def work(about: str) -> None:
        done.append(about)

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        await ask(desk, clock, "a", "b", "c")
        assert await one.poll(kind) == MORE_SECONDS
        assert await one.poll(kind) is None
        assert await one.poll(kind) is None
        await one.renew_leases()
        assert one.counts == []

    asyncio.run(scenario())
    assert sorted(done) == ["a", "b", "c"]


def test_a_failure_is_retried_until_the_last_attempt(desk: SqliteDesk, clock: Clock) -> None:
    tries: list[int] = []

    async def work(about: str) -> None:
        tries.append(clock())
        raise ValueError(CPF)

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        await ask(desk, clock, "a")
        for _ in range(40):
            await one.poll(kind)
            clock.now_ms += 5_000
        await one.renew_leases()
        (left,) = one.counts
        assert (left.state, left.count, left.error) == ("failed", 1, "ValueError")

    with capture_logs() as logged:
        asyncio.run(scenario())
    assert [at - tries[0] for at in tries] == [0, 10_000, 50_000]
    assert [(line["event"], line["error"], line["attempts"]) for line in logged] == [
        ("job.failed", "ValueError", attempts) for attempts in (1, 2, 3)
    ]
    assert CPF not in str(logged)


def test_delays_between_attempts() -> None:
    assert [retry_delay_ms(n) // 1000 for n in range(1, 8)] == [10, 40, 160, 640, 2560, 3600, 3600]


def test_a_long_job_keeps_its_lease_and_is_released_at_the_stop(
    desk: SqliteDesk, clock: Clock
) -> None:
    begun = asyncio.Event()

    async def work(about: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        other, _ = worker(desk, clock, work)
        await ask(desk, clock, "a")
        looking = asyncio.create_task(one.poll(kind))
        await begun.wait()
        for _ in range(4):
            clock.now_ms += LEASE_MS // 3
            await one.renew_leases()
            assert await other.poll(kind) is None
        assert one.counts == [JobCount("it", "running", 1, clock() + LEASE_MS, None)]
        looking.cancel()
        await asyncio.wait([looking])
        await one.release()
        await one.renew_leases()
        assert one.counts == [JobCount("it", "waiting", 1, clock(), None)]

    asyncio.run(scenario())


def test_leases_are_renewed_until_a_stop_has_drained(desk: SqliteDesk, clock: Clock) -> None:
    begun, drained = asyncio.Event(), asyncio.Event()

    async def work(about: str) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await drained.wait()

    async def sleep(seconds: float) -> None:
        clock.now_ms += round(seconds * 1000)
        await asyncio.sleep(0)

    async def scenario() -> None:
        one, _ = worker(desk, clock, work)
        other, kind = worker(desk, clock, work)
        await ask(desk, clock, "a")
        runner = Runner(one.periodic_tasks(), clock, sleep)
        runner.start()
        await begun.wait()
        stopping = asyncio.create_task(runner.stop())
        status = runner.statuses["job_leases"]
        until_ms = clock() + 3 * LEASE_MS
        async with asyncio.timeout(30):
            while True:
                if (status.last_success_ms or 0) >= until_ms:
                    break
                await asyncio.sleep(0)
        assert await other.poll(kind) is None
        assert status.failures == 0
        assert not stopping.done()
        drained.set()
        await stopping
        await one.release()
        await one.renew_leases()
        assert [job.state for job in one.counts] == ["waiting"]

    asyncio.run(scenario())


def test_a_job_whose_end_could_not_be_stored_runs_again(
    desk: SqliteDesk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is not renewed: it is not running anywhere."""
    done: list[str] = []

    async def work(about: str) -> None:
        done.append(about)

    async def full(*_: object) -> None:
        raise StorageFailed("full")

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        await ask(desk, clock, "a", "b")
        with monkeypatch.context() as patch:
            patch.setattr(desk.jobs, "finish", full)
            with pytest.raises(StorageFailed):
                await one.poll(kind)
        clock.now_ms += LEASE_MS
        await one.renew_leases()
        await one.poll(kind)
        assert await desk.jobs.counts() == []

    asyncio.run(scenario())
    assert sorted(done) == ["a", "a", "b", "b"]


def test_no_round_waits_for_its_slowest(desk: SqliteDesk, clock: Clock) -> None:
    go_on, done = asyncio.Event(), []

    async def work(about: str) -> None:
        if about == "slow":
            await go_on.wait()
        done.append(about)
        if len(done) == 5:
            go_on.set()

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        await ask(desk, clock, "slow", "a", "b", "c", "d", "e")
        async with asyncio.timeout(30):
            await one.poll(kind)

    asyncio.run(scenario())
    assert done == ["a", "b", "c", "d", "e", "slow"]


def test_a_storage_failure_ends_no_running_job(
    desk: SqliteDesk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    go_on = asyncio.Event()

    async def work(about: str) -> None:
        if about == "slow":
            await go_on.wait()
        done.append(about)

    async def full(*_: object) -> None:
        go_on.set()
        raise StorageFailed("full")

    async def scenario() -> None:
        one, kind = worker(desk, clock, work)
        await ask(desk, clock, "slow", "a")
        claim = desk.jobs.claim
        calls = 0

        async def once(*values: object) -> object:
            nonlocal calls
            calls += 1
            return await (claim if calls == 1 else full)(*values)  # type: ignore[arg-type]

        monkeypatch.setattr(desk.jobs, "claim", once)
        with pytest.raises(StorageFailed):
            await one.poll(kind)

    asyncio.run(scenario())
    assert done == ["a", "slow"]


class Largest:
    """Order by name, the last one first."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def next(self, due: Sequence[DueJob]) -> DueJob | None:
        return max(due, key=lambda job: job.about, default=None)

    def started(self, job: DueJob) -> None:
        self.told.append(f"+{job.about}")

    def finished(self, job: DueJob) -> None:
        self.told.append(f"-{job.about}")


def test_an_order_chooses_jobs_and_is_notified_of_their_ends(
    desk: SqliteDesk, clock: Clock
) -> None:
    turns = Largest()

    async def work(about: str) -> None:
        if about == "b":
            raise ValueError

    async def scenario() -> None:
        kind = JobKind("it", work, at_once=1, attempts_max=3, order=turns)
        one = JobWorker(desk.jobs, [kind], clock)
        await ask(desk, clock, "a", "b", "c")
        for _ in range(3):
            await one.poll(kind)

    asyncio.run(scenario())
    assert turns.told == ["+c", "-c", "+b", "-b", "+a", "-a"]


@pytest.mark.parametrize("error", [StorageFailed("away"), asyncio.CancelledError()])
def test_a_failure_to_claim_the_next_job_leaves_no_running_one_unattended(
    desk: SqliteDesk, clock: Clock, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """A running job is awaited after a failure, and cancelled if the service stops."""
    begun, over = asyncio.Event(), list[str]()

    async def work(about: str) -> None:
        begun.set()
        try:
            if isinstance(error, asyncio.CancelledError):
                await asyncio.Event().wait()
            for _ in range(20):
                await asyncio.sleep(0)
        finally:
            over.append(about)

    async def scenario() -> None:
        kind = JobKind("it", work, at_once=4, attempts_max=3, order=Largest())
        one = JobWorker(desk.jobs, [kind], clock)
        await ask(desk, clock, "a", "b")
        take = desk.jobs.take
        calls = 0

        async def once(*values: object) -> object:
            nonlocal calls
            calls += 1
            if calls == 1:
                return await take(*values)  # type: ignore[arg-type]
            await begun.wait()
            raise error

        monkeypatch.setattr(desk.jobs, "take", once)
        with pytest.raises(type(error)):
            await one.poll(kind)
        assert over == ["b"]

    asyncio.run(scenario())
