"""Questions that are asked together: who waits, and who is told."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest

from balcao.core.errors import StorageFailed
from balcao.storage import turns as turns_module
from balcao.storage.turns import Turns, Worker


def doubled(questions: Sequence[int]) -> list[int | Exception]:
    """Twice each; what is below zero cannot be doubled."""
    return [2 * each if each >= 0 else StorageFailed("") for each in questions]


def test_an_error_of_whoever_notes_or_answers_leaves_nobody_waiting() -> None:
    """Neither who asked, nor who asks later: else nothing would ever be committed again."""
    worker = Worker("test")

    def deaf(_: object) -> None:
        raise ZeroDivisionError

    def begin(questions: Sequence[int]) -> list[int | Exception]:
        return doubled(questions)[: 1 if len(questions) > 1 else None]

    async def story() -> None:
        turns: Turns[int, int] = Turns(worker, begin)
        turns.refused = deaf
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        turns.tell(1, deaf)
        turns.tell(2, deaf)  # which nobody answers
        for _ in range(3):
            await asyncio.sleep(0)
        assert await turns.ask(3) == 6

    asyncio.run(story())
    worker.close()


class Question:
    """Which tells in what thread it is taken apart."""

    def __init__(self, ended_in: list[int]) -> None:
        weakref.finalize(self, lambda: ended_in.append(threading.get_ident()))


def test_the_thread_holds_no_question_when_its_answer_is_told() -> None:
    """Else it takes them apart, on another processor, while the loop wants the interpreter."""
    worker = Worker("test")
    ended_in: list[int] = []

    def begin(questions: Sequence[Question]) -> Callable[[], list[int | Exception]]:
        return lambda: [len(questions)] * len(questions)

    async def story() -> None:
        turns: Turns[Question, int] = Turns(worker, begin)
        for _ in range(20):
            assert await turns.ask(Question(ended_in)) == 1
        await asyncio.sleep(0)

    asyncio.run(story())
    worker.close()
    assert ended_in == [threading.get_ident()] * 20


@pytest.mark.parametrize("in_thread", [False, True])
def test_told_and_waiting_share_a_batch(in_thread: bool) -> None:
    worker, batches = Worker("test"), []
    heard: list[object] = []

    def begin(questions: Sequence[int]) -> object:
        batches.append(list(questions))
        return (lambda: doubled(questions)) if in_thread else doubled(questions)

    def deaf(_: object) -> None:
        raise ZeroDivisionError

    async def story() -> int:
        turns: Turns[int, int] = Turns(worker, begin)  # type: ignore[arg-type]
        turns.tell(1, deaf)
        turns.tell(2, heard.append)
        turns.tell(-1, heard.append)
        assert not heard, "never within the call"
        return await turns.ask(3)

    assert asyncio.run(story()) == 6
    assert heard[0] == 4
    assert isinstance(heard[1], StorageFailed)
    assert batches == [[1, 2, -1, 3]]
    worker.close()


def test_who_is_patient_goes_with_the_next_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "OTHERS_SECONDS", 3600.0)
    monkeypatch.setattr(turns_module, "TOGETHER_SECONDS", 3600.0)
    worker, batches = Worker("test"), list[list[int]]()

    def begin(questions: Sequence[int]) -> list[int | Exception]:
        batches.append(list(questions))
        return doubled(questions)

    async def story() -> None:
        turns: Turns[int, int] = Turns(worker, begin, lambda number: number >= 10)
        assert await turns.ask(10) == 20, "nobody else is there"
        assert await turns.ask(1) == 2
        patient = [asyncio.create_task(turns.ask(number)) for number in (11, 12)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert await turns.ask(2) == 4
        assert await asyncio.gather(*patient) == [22, 24]
        monkeypatch.setattr(turns_module, "TOGETHER_SECONDS", 0.0)
        assert await turns.ask(13) == 26, "nobody came: alone, in the end"
        monkeypatch.setattr(turns_module, "TOGETHER_SECONDS", 3600.0)
        turns._others_until = 0.0
        for number in (14, 15):  # patient ones are no others: else the second would wait for long
            assert await turns.ask(number) == 2 * number

    asyncio.run(story())
    assert batches == [[10], [1], [2, 11, 12], [13], [14], [15]]
    worker.close()


def test_who_was_answered_asks_again_together_with_those_who_waited() -> None:
    worker, batches, go_on = Worker("test"), list[list[int]](), threading.Event()

    def begin(questions: Sequence[int]) -> Callable[[], list[int | Exception]]:
        batches.append(list(questions))

        def work() -> list[int | Exception]:
            go_on.wait()
            return doubled(questions)

        return work

    async def story() -> None:
        loop, turns = asyncio.get_running_loop(), Turns[int, int](worker, begin)
        again = loop.create_future()

        def answered(_: object) -> None:
            # Its next request is read in the next turn of the loop.
            loop.call_soon(turns.tell, 3, again.set_result)

        turns.tell(1, answered)
        for _ in range(3):
            await asyncio.sleep(0)
        assert batches == [[1]]
        waiting = asyncio.create_task(turns.ask(2))
        await asyncio.sleep(0)
        go_on.set()
        assert await waiting == 4
        assert await again == 6

    asyncio.run(story())
    assert batches == [[1], [2, 3]]
    worker.close()
