"""Scheduling of files in a process: order of reading, slots for downloads."""

import asyncio
from collections.abc import Sequence

import pytest

from balcao.batches.file_scheduling import FileSlots, ReadingOrder
from balcao.core.errors import FileRunning
from balcao.storage.desk.jobs import DueJob


class File:
    """A downloaded file."""


def order(turns: ReadingOrder, due: Sequence[DueJob], clock: list[int], takes_ms: int) -> list[int]:
    """Return the accounts in the order in which their files are read."""
    left, found = list(due), []
    while (job := turns.next(left)) is not None:
        turns.started(job)
        clock[0] += takes_ms
        turns.finished(job)
        left.remove(job)
        found.append(job.account_id)
    return found


def test_accounts_take_turns_in_reading() -> None:
    clock = [1_000]
    due = [DueJob(number, "", 1, 10, number) for number in range(4)]
    due += [DueJob(10, "", 2, 50_000, 9), DueJob(11, "", 2, 60_000, 9)]
    assert order(ReadingOrder(lambda: clock[0]), due, clock, 1_000) == [1, 2, 1, 2, 1, 1]


def test_a_long_file_delays_the_next_of_its_account() -> None:
    clock = [1_000]
    turns = ReadingOrder(lambda: clock[0])
    long = DueJob(1, "", 1, 10, 0)
    turns.started(long)
    clock[0] += 5_000
    turns.finished(long)
    due = [DueJob(2, "", 1, 1, 0), *(DueJob(number, "", 2, 900, 0) for number in range(3, 7))]
    assert order(turns, due, clock, 1_000) == [2, 2, 2, 2, 1]
    clock[0] += 3_600_000
    assert order(turns, [DueJob(9, "", 3, 1, 0)], clock, 0) == [3]
    assert list(turns._usage) == [3]


def test_one_file_of_an_account_is_written_at_a_time() -> None:
    refused = []

    async def scenario() -> None:
        slots = FileSlots(lambda account_id: 5, 5, lambda: refused.append(1))
        async with slots.slot(1):
            with pytest.raises(FileRunning):
                async with slots.slot(1):
                    pass
        async with slots.slot(1):
            pass

    asyncio.run(scenario())
    assert refused == [1]


def test_downloaded_files_count_until_they_are_freed() -> None:
    async def scenario() -> None:
        slots = FileSlots(lambda account_id: 2, 3)
        files = [File(), File()]
        release = [slots.track(1, each) for each in files]
        with pytest.raises(FileRunning):
            async with slots.slot(1):
                pass
        release[0]()
        release[0]()
        async with slots.slot(1):
            pass
        files.clear()  # the other one was not downloaded
        async with slots.slot(1):
            held = [File() for _ in range(3)]
            for account_id, each in enumerate(held, 2):
                slots.track(account_id, each)
        with pytest.raises(FileRunning):  # of all accounts
            async with slots.slot(9):
                pass

    asyncio.run(scenario())
