"""Batches of requests: order, callbacks, errors and references."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest

from balcao.core.errors import StorageFailed
from balcao.storage import group_commit
from balcao.storage.group_commit import Batcher, Worker


def doubled(requests: Sequence[int]) -> list[int | Exception]:
    """Return the double of each request, and an error for negative ones."""
    return [2 * each if each >= 0 else StorageFailed("") for each in requests]


def test_errors_of_callbacks_and_jobs_do_not_block_later_requests() -> None:
    """Neither the present nor later requests: otherwise nothing would be committed any more."""
    worker = Worker("test")

    def fail(_: object) -> None:
        raise ZeroDivisionError

    def execute(requests: Sequence[int]) -> list[int | Exception]:
        return doubled(requests)[: 1 if len(requests) > 1 else None]

    async def run() -> None:
        batcher: Batcher[int, int] = Batcher(worker, execute)
        batcher.on_result = fail
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        batcher.submit_nowait(1, fail)
        batcher.submit_nowait(2, fail)  # the job returns no result for it
        for _ in range(3):
            await asyncio.sleep(0)
        assert await batcher.submit(3) == 6

    asyncio.run(run())
    worker.close()


class Request:
    """A request that records the thread that frees it."""

    def __init__(self, freed_in: list[int]) -> None:
        weakref.finalize(self, lambda: freed_in.append(threading.get_ident()))


def test_the_thread_has_no_reference_to_a_request_when_its_result_is_delivered() -> None:
    """Otherwise it frees them on another processor, while the loop needs the interpreter."""
    worker = Worker("test")
    freed_in: list[int] = []

    def execute(requests: Sequence[Request]) -> Callable[[], list[int | Exception]]:
        return lambda: [len(requests)] * len(requests)

    async def run() -> None:
        batcher: Batcher[Request, int] = Batcher(worker, execute)
        for _ in range(20):
            assert await batcher.submit(Request(freed_in)) == 1
        await asyncio.sleep(0)

    asyncio.run(run())
    worker.close()
    assert freed_in == [threading.get_ident()] * 20


@pytest.mark.parametrize("in_thread", [False, True])
def test_awaited_and_nowait_requests_share_a_batch(in_thread: bool) -> None:
    worker, batches = Worker("test"), []
    results: list[object] = []

    def execute(requests: Sequence[int]) -> object:
        batches.append(list(requests))
        return (lambda: doubled(requests)) if in_thread else doubled(requests)

    def fail(_: object) -> None:
        raise ZeroDivisionError

    async def run() -> int:
        batcher: Batcher[int, int] = Batcher(worker, execute)  # type: ignore[arg-type]
        batcher.submit_nowait(1, fail)
        batcher.submit_nowait(2, results.append)
        batcher.submit_nowait(-1, results.append)
        assert not results, "never within the call"
        return await batcher.submit(3)

    assert asyncio.run(run()) == 6
    assert results[0] == 4
    assert isinstance(results[1], StorageFailed)
    assert batches == [[1, 2, -1, 3]]
    worker.close()


def test_requests_that_can_wait_join_the_next_urgent_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "URGENT_WINDOW_SECONDS", 3600.0)
    monkeypatch.setattr(group_commit, "DEFER_SECONDS", 3600.0)
    worker, batches = Worker("test"), list[list[int]]()

    def execute(requests: Sequence[int]) -> list[int | Exception]:
        batches.append(list(requests))
        return doubled(requests)

    async def run() -> None:
        batcher: Batcher[int, int] = Batcher(worker, execute, lambda number: number >= 10)
        assert await batcher.submit(10) == 20, "there is no other request"
        assert await batcher.submit(1) == 2
        deferred = [asyncio.create_task(batcher.submit(number)) for number in (11, 12)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert await batcher.submit(2) == 4
        assert await asyncio.gather(*deferred) == [22, 24]
        monkeypatch.setattr(group_commit, "DEFER_SECONDS", 0.0)
        assert await batcher.submit(13) == 26, "alone, after the delay"
        monkeypatch.setattr(group_commit, "DEFER_SECONDS", 3600.0)
        batcher._defer_until = 0.0
        for number in (14, 15):  # not urgent: otherwise the second would be deferred
            assert await batcher.submit(number) == 2 * number

    asyncio.run(run())
    assert batches == [[10], [1], [2, 11, 12], [13], [14], [15]]
    worker.close()


def test_repeated_requests_join_the_pending_ones() -> None:
    worker, batches, go_on = Worker("test"), list[list[int]](), threading.Event()

    def execute(requests: Sequence[int]) -> Callable[[], list[int | Exception]]:
        batches.append(list(requests))

        def work() -> list[int | Exception]:
            go_on.wait()
            return doubled(requests)

        return work

    async def run() -> None:
        loop, batcher = asyncio.get_running_loop(), Batcher[int, int](worker, execute)
        again = loop.create_future()

        def on_done(_: object) -> None:
            # Its next request is read in the next turn of the loop.
            loop.call_soon(batcher.submit_nowait, 3, again.set_result)

        batcher.submit_nowait(1, on_done)
        for _ in range(3):
            await asyncio.sleep(0)
        assert batches == [[1]]
        waiting = asyncio.create_task(batcher.submit(2))
        await asyncio.sleep(0)
        go_on.set()
        assert await waiting == 4
        assert await again == 6

    asyncio.run(run())
    assert batches == [[1], [2, 3]]
    worker.close()
