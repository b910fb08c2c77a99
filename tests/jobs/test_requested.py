"""Long work that pages start: one job at a time runs the command, and its outcome is logged."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from balcao.core.ledger import Enqueue
from balcao.core.requested_work import ABOUT
from balcao.service.jobs.durable import LEASE_MS, JobWorker
from balcao.service.requested_work import requested_jobs
from balcao.storage.sqlite.desk import SqliteDesk

NOW = 1_786_158_000_000


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[SqliteDesk]:
    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        yield desk


def outcomes(desk: SqliteDesk) -> list[str]:
    return [f"{one.action}: {one.detail}" for one in reversed(desk.people.audit(9))]


def test_the_command_runs_and_its_outcome_is_logged(desk: SqliteDesk) -> None:
    ran: list[tuple[str, ...]] = []
    replies = iter([(0, ""), (1, "Não há espaço.")])

    async def run(*words: str) -> tuple[int, str]:
        ran.append(words)
        return next(replies)

    async def story() -> None:
        kinds = requested_jobs(desk, lambda: NOW, run)
        worker = JobWorker(desk.jobs, kinds, lambda: NOW)
        for kind in kinds:
            await desk.commit([Enqueue(kind.name, ABOUT, NOW), Enqueue(kind.name, ABOUT, NOW)])
            (count,) = await desk.jobs.counts()
            assert count.count == 1  # one open job
            await desk.jobs.claim(kind.name, "died", NOW - LEASE_MS, NOW, 1, 3)
            await worker.poll(kind)  # its lease has ended
            assert await desk.jobs.counts() == []

    asyncio.run(story())
    assert ran == [("backup", "create"), ("opendata", "fetch", "--background")]
    assert outcomes(desk) == ["backup.create: concluído", "opendata.fetch: falhou: Não há espaço."]
