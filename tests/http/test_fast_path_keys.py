"""The fast path with Idempotency-Keys: new ones, replays, and keys in use."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from balcao.core.documents import Cnpj
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.questions import Inquiry
from tests.http.test_fast_path import (
    AT_HAND,
    FINISHED,
    POOR,
    RICH,
    Side,
    get,
    known,
    later,
    numbered,
    on_postgresql,
    opened,
    receive,
    side,
)
from tests.records import CNPJ, CPF, OTHER_CNPJ, company, suframa
from tests.service import Service

__all__ = ["on_postgresql", "side"]  # fixtures

KEY = "Idempotency-Key: pedido-0001"

# Where limits and keys are read at once, as on SQLite.
instant = pytest.mark.parametrize("side", ["at once"], indirect=True)


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_a_new_key_and_its_replay_need_no_task(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    receive(side)
    balance = side.world.balance(side.clients[RICH]).balance_credits

    def no_task(*_: object) -> None:
        raise AssertionError("a task was created")

    for number, path in enumerate(AT_HAND, 1):
        key = f"Idempotency-Key: pedido-{number:04d}"
        with monkeypatch.context() as patched:
            patched.setattr("balcao.http.wire.connection.RequestCycle", no_task)
            first, second = (side.say(get(path, RICH, key)) for _ in range(2))
        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"x-creditos-cobrados: 1\r\n" in first
        assert b"\r\nidempotent-replayed: " not in first
        assert b"x-creditos-cobrados: 0\r\n" in second
        assert b"idempotent-replayed: true\r\n" in second
        assert body_of(first) == body_of(second)
        assert side.taken == {True: 2 * number}
    spent = balance - side.world.balance(side.clients[RICH]).balance_credits
    assert spent == len(AT_HAND)
    assert not side.world.check().complaints


@instant
def test_keys_are_not_remembered(side: Side) -> None:
    """They differ each time, and may be personal data."""
    asked = [get(company(FINISHED), RICH, f"Idempotency-Key: pedido-{n:04d}") for n in range(9)]
    assert side.say(b"".join(asked)).count(b" 200 OK") == 9
    remembered = [*known(side.fast_path.heads), *known(side.fast_path._lines)]
    assert len(known(side.fast_path.heads)) == 3, "one for each account's key"
    assert not [text for text in remembered if b"pedido" in text]
    assert b"pedido" not in side.world.logged


@instant
@pytest.mark.parametrize("path", [company(numbered(3)), suframa(CNPJ, "cache=5")])
def test_another_question_under_the_key_is_refused(side: Side, path: str) -> None:
    first = side.say(get(company(FINISHED), RICH, KEY))
    charged = len(side.world.charges(side.clients[RICH]))
    answer = side.say(get(path, RICH, KEY))
    assert (status_of(first), status_of(answer)) == (200, 400)
    assert b"IDEMPOTENCY_KEY_REUTILIZADA" in answer
    assert len(side.world.charges(side.clients[RICH])) == charged
    assert side.taken == {True: 1, False: 1}
    assert b" 200 OK" in side.say(get(path, POOR, KEY)), "keys belong to an account"


@instant
def test_a_key_is_free_when_it_has_expired(side: Side) -> None:
    assert b"x-creditos-cobrados: 1\r\n" in side.say(get(company(FINISHED), RICH, KEY))
    side.world.clock.advance(days=4, seconds=-1)
    assert b"idempotent-replayed: true\r\n" in side.say(get(company(FINISHED), RICH, KEY))
    side.world.clock.advance(seconds=1)
    again = side.say(get(company(numbered(3)), RICH, KEY))
    assert b"x-creditos-cobrados: 1\r\n" in again
    assert status_of(again) == 200


def test_a_refusal_does_not_bind_the_key(side: Side) -> None:
    poor = side.clients[POOR]
    while side.world.balance(poor).balance_credits:
        side.say(get(company(FINISHED), POOR))
    assert status_of(side.say(get(company(FINISHED), POOR, KEY))) == 402
    side.world.top_up(poor, 1)
    answer = side.say(get(company(numbered(3)), POOR, KEY))
    assert (status_of(answer), side.world.balance(poor).balance_credits) == (200, 0)
    repeated = side.say(get(company(numbered(3)), POOR, KEY))
    assert body_of(repeated) == body_of(answer), "the credits are spent, not the answer"


@instant
def test_a_running_request_holds_the_key(side: Side) -> None:
    """The front has asked a source under it."""
    online = suframa(OTHER_CNPJ)

    async def story() -> tuple[bytes, int]:
        source = side.world.source
        source.waits()
        running = side.world.begin(online, side.clients[RICH], idempotency_key="pedido-0001")
        await side.world.until(lambda: source.asked == 1)
        answer = await side._say(side._with_keys(get(online, RICH, KEY)), end=False)
        source.answers_now()
        return answer, (await running).status

    answer, status = side.world.run(story())
    assert (status_of(answer), status) == (409, 200)
    assert b"OPERACAO_EM_ANDAMENTO" in answer
    assert b"retry-after: " in answer
    replay = side.say(get(online, RICH, KEY))
    assert b"idempotent-replayed: true\r\n" in replay
    assert side.taken == {False: 1, True: 1}


def at_once(side: Side, requests: Sequence[bytes]) -> list[bytes]:
    """Send each request on a connection of its own, in one turn of the loop."""

    async def story() -> list[bytes]:
        transports = []
        for request in requests:
            side.connect().received(side._with_keys(request))
            transports.append(side.transport)
        async with asyncio.timeout(20):
            while not all(each.said for each in transports):  # noqa: ASYNC110
                await asyncio.sleep(0)
        return [bytes(each.said) for each in transports]

    return side.world.run(story())


def test_equal_keys_at_once_are_charged_once(side: Side) -> None:
    """One is committed; the others get its answer, also where the credits suffice for one."""
    poor = side.clients[POOR]
    while side.world.balance(poor).balance_credits > 1:
        side.say(get(company(FINISHED), POOR))
    for caller in (RICH, POOR):
        before = side.world.balance(side.clients[caller]).balance_credits
        answers = at_once(side, [get(company(FINISHED), caller, KEY)] * 9)
        assert {status_of(answer) for answer in answers} == {200}
        assert len({body_of(answer) for answer in answers}) == 1
        charged = Counter(b"x-creditos-cobrados: 1\r\n" in answer for answer in answers)
        assert charged == {True: 1, False: 8}
        assert side.world.balance(side.clients[caller]).balance_credits == before - 1
    assert not side.world.check().complaints


def test_equal_keys_of_other_questions_at_once(side: Side) -> None:
    answers = at_once(
        side, [get(company(numbered(number)), RICH, KEY) for number in (0, 3, 6, 0, 3, 6)]
    )
    statuses = Counter(status_of(answer) for answer in answers)
    assert statuses == {200: 2, 400: 4}
    assert side.say(get(company(FINISHED), RICH, KEY)).count(b"idempotent-replayed: true") == 1


@instant
def test_a_long_recorded_answer_is_left_to_the_front(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = side.say(get(company(FINISHED), RICH, KEY))
    monkeypatch.setattr("balcao.http.fast_request.AT_ONCE_BYTES_MAX", 100)
    assert body_of(side.say(get(company(FINISHED), RICH, KEY))) == body_of(first)
    assert side.taken == {True: 1, False: 1}


@instant
def test_a_person_is_replayed_without_reading_the_cache(side: Side) -> None:
    """The first answer is the front's; its replay needs no proof that it was received."""
    path = next(each for each in AT_HAND if CPF in each)
    first = side.say(get(path, RICH, KEY))
    assert side.taken == {False: 1}
    assert body_of(side.say(get(path, RICH, KEY))) == body_of(first)
    assert side.taken == {False: 1, True: 1}


@instant
def test_a_hundred_fields_and_a_key_are_too_many(side: Side) -> None:
    """Without the key they are allowed, and might be remembered."""
    fields = [f"a{number}: b" for number in range(98)]
    for _ in range(2):
        assert status_of(side.say(get(company(FINISHED), RICH, *fields))) == 200
    refused = status_of(side.say(get(company(FINISHED), RICH, *fields, KEY)))
    assert refused == 431


@instant
def test_a_key_that_cannot_be_looked_up(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = side.world.desk.engine
    side.say(get(company(FINISHED), RICH, KEY))
    monkeypatch.setattr(engine, "_find_attempt", _fails)
    assert status_of(side.say(get(company(FINISHED), RICH, KEY))) == 503
    assert side.taken == {True: 1, False: 1}


def _fails(*_: object) -> None:
    raise StorageFailed("unreadable")


def keep_in_memory(here: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the cached answer at hand, as it is on a busy node."""
    cache = here.front.parts.environments["test"].cache
    kept = here.run(cache.read([Inquiry("suframa", Cnpj.parse(OTHER_CNPJ)).cache_key]))
    monkeypatch.setattr(cache, "read_nowait", lambda keys: kept)
    monkeypatch.setattr("balcao.storage.desk.desk.CALLER_AGE_MAX_MS", 3_600_000)


CACHED = suframa(OTHER_CNPJ, "cache=7")


def test_on_postgresql_a_key_is_charged_once(
    on_postgresql: tuple[Service, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, side = on_postgresql
    assert b" 200 OK" in side.say(get(CACHED))
    keep_in_memory(here, monkeypatch)
    answers = at_once(side, [get(CACHED, 0, KEY)] * 6)
    assert {status_of(answer) for answer in answers} == {200}
    assert len({body_of(answer) for answer in answers}) == 1
    replay = side.say(get(CACHED, 0, KEY))
    assert b"idempotent-replayed: true\r\n" in replay
    assert body_of(replay) == body_of(answers[0])
    reused = side.say(get(suframa(CNPJ, "cache=7"), 0, KEY))
    assert b"IDEMPOTENCY_KEY_REUTILIZADA" in reused
    assert side.taken == {False: 1, True: 8}
    assert len(here.charges()) == 2
    here.assert_books_agree()


@pytest.mark.parametrize("committed", [False, True])
def test_on_postgresql_an_uncertain_charge_is_settled_by_repeating(
    on_postgresql: tuple[Service, Side], monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    here, side = on_postgresql
    assert b" 200 OK" in side.say(get(CACHED))
    keep_in_memory(here, monkeypatch)
    writer = cast(Any, here.desk.engine)._writer
    write = writer.write

    def once(asked: Sequence[Any]) -> list[Any]:
        writer.write = write
        if committed:
            write(asked)
        return [CommitUncertain("outcome unknown")] * len(asked)

    writer.write = once
    assert b"COBRANCA_INCERTA" in side.say(get(CACHED, 0, KEY))
    repeated = side.say(get(CACHED, 0, KEY))
    assert status_of(repeated) == 200
    assert (b"idempotent-replayed: true\r\n" in repeated) == committed
    assert len(here.charges()) == 2
    here.assert_books_agree()


def test_a_node_that_stops_answers_equal_keys(tmp_path: Path) -> None:
    """The answer of a duplicate is waited for like any other."""
    with opened(tmp_path, fast_path=True) as side:
        later(side)
        side.say(get(company(FINISHED)))
        transports = []

        async def story() -> None:
            for _ in range(3):
                request = side._with_keys(get(company(FINISHED), RICH, KEY))
                side.connect().received(request)
                transports.append(side.transport)
            await side.server.close(10)

        side.world.run(story())
        assert [each.said.count(b" 200 OK") for each in transports] == [1, 1, 1]
