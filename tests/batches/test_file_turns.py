"""Turns of files in a process: those that are read, and those that are written for downloads."""

import asyncio
from collections.abc import Sequence

import pytest

from balcao.batches.turns import FileTurns, ReadingTurns
from balcao.core.errors import FileRunning
from balcao.storage.desk.jobs import DueJob


class File:
    """Something that is downloaded."""


def order(turns: ReadingTurns, due: Sequence[DueJob], clock: list[int], takes_ms: int) -> list[int]:
    """The accounts in the order in which their files are read, one at a time."""
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
    assert order(ReadingTurns(lambda: clock[0]), due, clock, 1_000) == [1, 2, 1, 2, 1, 1]


def test_a_file_that_took_long_is_made_up_for() -> None:
    clock = [1_000]
    turns = ReadingTurns(lambda: clock[0])
    long = DueJob(1, "", 1, 10, 0)
    turns.started(long)
    clock[0] += 5_000
    turns.finished(long)
    due = [DueJob(2, "", 1, 1, 0), *(DueJob(number, "", 2, 900, 0) for number in range(3, 7))]
    assert order(turns, due, clock, 1_000) == [2, 2, 2, 2, 1]
    clock[0] += 3_600_000
    assert order(turns, [DueJob(9, "", 3, 1, 0)], clock, 0) == [3]
    assert list(turns._used) == [3]


def test_one_file_of_an_account_is_written_at_a_time() -> None:
    refused = []

    async def story() -> None:
        turns = FileTurns(lambda account_id: 5, 5, lambda: refused.append(1))
        async with turns.turn(1):
            with pytest.raises(FileRunning):
                async with turns.turn(1):
                    pass
        async with turns.turn(1):
            pass

    asyncio.run(story())
    assert refused == [1]


def test_files_that_are_downloaded_count_until_they_are_gone() -> None:
    async def story() -> None:
        turns = FileTurns(lambda account_id: 2, 3)
        files = [File(), File()]
        let_go = [turns.hold(1, each) for each in files]
        with pytest.raises(FileRunning):
            async with turns.turn(1):
                pass
        let_go[0]()
        let_go[0]()
        async with turns.turn(1):
            pass
        files.clear()  # nobody took the other one
        async with turns.turn(1):
            held = [File() for _ in range(3)]
            for account_id, each in enumerate(held, 2):
                turns.hold(account_id, each)
        with pytest.raises(FileRunning):  # of all accounts
            async with turns.turn(9):
                pass

    asyncio.run(story())
