"""Periodic work: intervals, retries after failures, the stop. The clock is passed in."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from structlog.testing import capture_logs

from balcao.core.errors import StorageFailed
from balcao.service.jobs.periodic import (
    Periodic,
    Runner,
    RunStatus,
    ignore_storage_failure,
    warn_on_storage_failure,
)


class Slept(Exception):
    """The test has reached its last sleep."""


def intervals_of(
    results: Sequence[float | Exception | None],
    *,
    every: float,
    first: float = 0.0,
    on_failure: Callable[[Exception], bool] = ignore_storage_failure,
) -> tuple[list[float], RunStatus]:
    """Return the sleeps before each run and after the last one, and the final status."""
    left, waits = list(results), list[float]()

    async def work() -> float | None:
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if not left:
            done.set()
            await asyncio.Event().wait()

    done = asyncio.Event()

    async def scenario() -> RunStatus:
        runner = Runner(
            [Periodic("it", work, every, first, on_failure)], lambda: 1_000 * len(waits), sleep
        )
        runner.start()
        await done.wait()
        await runner.stop()
        return runner.statuses["it"]

    return waits, asyncio.run(scenario())


def test_a_stop_waits_no_longer_than_its_deadline() -> None:
    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await ends.wait()

    begun, ends = asyncio.Event(), asyncio.Event()

    async def scenario() -> None:
        runner = Runner([Periodic("it", work, 600)], lambda: 0)
        runner.start()
        await begun.wait()
        await runner.stop(asyncio.get_running_loop().time())
        ends.set()
        await runner.stop()

    asyncio.run(scenario())


def test_work_runs_at_its_interval() -> None:
    waits, status = intervals_of([None, None, None], every=600, first=60)
    assert waits == [60, 600, 600, 600]
    assert status == RunStatus(last_success_ms=3_000)


def test_work_may_shorten_its_interval() -> None:
    waits, _ = intervals_of([0.05, 0.05, None], every=600)
    assert waits == [0, 0.05, 0.05, 600]


def test_retries_become_less_frequent() -> None:
    waits, status = intervals_of([StorageFailed("full")] * 6, every=600)
    assert waits == [0, 60, 120, 240, 480, 600, 600]
    assert status == RunStatus(last_failure_ms=6_000, failures=6)
    waits, status = intervals_of(
        [*[StorageFailed("full")] * 40, None, StorageFailed("full")], every=86_400
    )
    assert waits[-3:] == [86_400, 86_400, 60], "a success begins anew"
    assert status == RunStatus(last_success_ms=41_000, last_failure_ms=42_000, failures=1)


def test_a_retry_is_never_later_than_the_interval() -> None:
    waits, _ = intervals_of([StorageFailed("full")] * 3, every=2, first=2)
    assert waits == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("error", "on_failure", "said"),
    [
        (StorageFailed("full"), ignore_storage_failure, []),
        (StorageFailed("full"), warn_on_storage_failure("purge.failed"), ["purge.failed"]),
        (ValueError("11222333000181"), ignore_storage_failure, ["job.bug"]),
        (ValueError("11222333000181"), warn_on_storage_failure("purge.failed"), ["job.bug"]),
    ],
)
def test_failures_are_reported_and_bugs_always_logged(
    error: Exception, on_failure: Callable[[Exception], bool], said: list[str]
) -> None:
    with capture_logs() as logged:
        intervals_of([error, None], every=600, on_failure=on_failure)
    assert [line["event"] for line in logged] == said


def test_hanging_work_delays_no_other_and_is_cancelled() -> None:
    ended = []

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hangs")

    turns = 0

    async def works() -> None:
        nonlocal turns
        turns += 1

    async def sleep(seconds: float) -> None:
        if turns == 3:
            done.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    done = asyncio.Event()

    async def scenario() -> None:
        runner = Runner([Periodic("hangs", hangs, 1), Periodic("works", works, 1)], int, sleep)
        runner.start()
        await done.wait()
        await runner.stop()
        assert ended == ["hangs"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
