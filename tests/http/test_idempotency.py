"""A repeated request is one lookup and one charge (contract 6; specification, States)."""

import dataclasses
from typing import Any

import pytest

from balcao.core.certificates import FederalCertificate, StateCertificate
from tests.lookups import Sample, every
from tests.records import CNPJ, OTHER_CNPJ, a_federal, a_state, company, federal, state
from tests.service import Service

KEY = "pedido-0001"
HOUR = 3600


@every
def test_a_finished_execution_is_replayed_byte_for_byte(world: Service, of: Sample) -> None:
    """Status, body and request_id are the first ones; nothing is charged or asked."""
    first = world.get(of.path, idempotency_key=KEY)
    world.source.fails()
    world.clock.advance(seconds=HOUR)
    replay = world.get(of.path, idempotency_key=KEY)

    assert (replay.status, replay.body) == (200, first.body)
    assert replay.headers["x-request-id"] == first.headers["x-request-id"]
    assert replay.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert (first.credits, replay.credits) == (of.price, 0)
    assert (world.source.asked, len(world.charges())) == (1, 1)


@every
def test_an_answer_from_the_cache_is_replayed_too(world: Service, of: Sample) -> None:
    """Also after its entry was replaced by a younger one."""
    of.keep(world, days=1)
    first = world.get(of.cached, idempotency_key=KEY)
    world.clock.advance(days=3)
    of.keep(world)
    replay = world.get(of.cached, idempotency_key=KEY)

    assert (first.status, replay.body) == (200, first.body)
    assert (replay.credits, world.source.asked) == (0, 0)
    assert world.balance().balance_credits == 999


def assert_replayed(world: Service, path: str, status: int, spent: int = 0) -> None:
    """Ask with this outcome of the source; a repetition gets it although the source recovered."""
    first = world.get(path, idempotency_key=KEY)
    world.source.finds()
    replay = world.get(path, idempotency_key=KEY)

    assert (first.status, replay.status, replay.body) == (status, status, first.body)
    assert replay.headers["idempotent-replayed"] == "true"
    assert replay.headers.get("link") == first.headers.get("link")
    assert (replay.credits, world.source.asked) == (0, 1)
    assert world.balance().balance_credits == 1000 - spent


@every
@pytest.mark.parametrize("says", ["fails", "is_down"])
def test_a_technical_failure_is_replayed(world: Service, of: Sample, says: str) -> None:
    """The source is not asked a second time under the same key (contract 6.2)."""
    getattr(world.source, says)()
    assert_replayed(world, of.path, of.failed if says == "fails" else 503)
    assert world.get(of.path, idempotency_key="pedido-0002").status == 200


def test_an_absence_is_replayed(world: Service) -> None:
    world.source.says_absent()
    assert_replayed(world, company(), 404)


@pytest.mark.parametrize("path", [federal(), state()])
def test_refused_data_is_replayed(world: Service, path: str) -> None:
    world.source.refuses()
    assert_replayed(world, path, 400)


@pytest.mark.parametrize(
    ("path", "record"),
    [
        (federal(), a_federal(kind="CPD", issued=False)),
        (state(), a_state(negative=False, issued=False, validity=None, receipt=None)),
    ],
)
def test_a_negative_certificate_is_replayed(
    world: Service, path: str, record: FederalCertificate | StateCertificate
) -> None:
    """A 404 is a finished execution, too, which was charged."""
    world.source.finds(record)
    assert_replayed(world, path, 404, spent=2)


@pytest.mark.parametrize("true", [17, 3600])
def test_a_replayed_503_has_the_wait_until_its_key_expires(world: Service, true: int) -> None:
    """Until the key expires, and at most 300 s at a time (contract 1.8, 9.4)."""
    world.source.is_down(true)
    assert world.get(company(), idempotency_key=KEY).headers["retry-after"] == str(min(true, 300))
    world.source.finds()

    waits = []
    for passed in (0, 95 * HOUR, HOUR - 300, 240.5):
        world.clock.advance(seconds=passed)
        replay = world.get(company(), idempotency_key=KEY)
        assert (replay.status, replay.headers["idempotent-replayed"]) == (503, "true")
        waits.append(int(replay.headers["retry-after"]))
    assert waits == [300, 300, 300, 60]

    world.clock.advance(seconds=60)
    assert world.get(company(), idempotency_key=KEY).status == 200


@pytest.mark.parametrize("says", ["fails", "says_absent", "finds"])
def test_other_replays_have_no_wait(world: Service, says: str) -> None:
    getattr(world.source, says)()
    for _ in range(2):
        assert "retry-after" not in world.get(company(), idempotency_key=KEY).headers


def test_a_bug_is_replayed(world: Service) -> None:
    world.source.has_a_bug(RuntimeError("x"))
    first = world.get(company(), idempotency_key=KEY)
    world.source.finds()
    assert world.get(company(), idempotency_key=KEY).body == first.body


@pytest.mark.parametrize(
    ("document", "query"),
    [
        (OTHER_CNPJ, ""),
        (CNPJ, "cache=8"),
        (CNPJ, "cache=0"),
        (CNPJ, "cache_strategy=SO_ONLINE"),
        (CNPJ, "optin=1"),
    ],
)
def test_other_parameters_under_the_same_key_are_refused(
    world: Service, document: str, query: str
) -> None:
    client = world.account("bia", credits=10, partner_optin=True)
    first = world.get(company(), client, idempotency_key=KEY)

    answer = world.get(company(document, query), client, idempotency_key=KEY)

    assert (answer.status, answer.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
    assert answer.credits == 0
    assert answer.json["request_id"] != first.json["request_id"]
    assert "idempotent-replayed" not in answer.headers
    assert world.source.asked == 1


@pytest.mark.parametrize(
    ("document", "query", "headers"),
    [
        ("90.010.001/0001-00", "", {}),
        ("%2090.010.001%2F0001-00", "", {}),
        (CNPJ, "cache=7", {}),
        (CNPJ, "cache=07", {}),
        (CNPJ, "", {"cache": "7"}),
        (CNPJ, "cache_strategy=online_preferencial", {}),
        (CNPJ, "optin=0", {}),
        (CNPJ, "optin=0&cache_strategy=ONLINE_PREFERENCIAL&cache=7", {}),
        (CNPJ, "x=1&utm=2", {}),
    ],
)
def test_the_same_request_in_other_words_is_the_same(
    world: Service, document: str, query: str, headers: dict[str, Any]
) -> None:
    """Parameters are compared normalised, defaults filled in."""
    first = world.get(company(), idempotency_key=KEY)
    replay = world.get(company(document, query), idempotency_key=KEY, **headers)
    assert (replay.status, replay.body) == (200, first.body)


def test_letters_of_a_cnpj_are_compared_in_upper_case(world: Service) -> None:
    first = world.get(company("12ABC34501DE35"), idempotency_key=KEY)
    assert world.get(company("12.abc.345/01de-35"), idempotency_key=KEY).body == first.body


@every
def test_another_account_may_use_the_same_key(world: Service, of: Sample) -> None:
    other, another = world.account("bia", credits=10), world.account("lia", credits=10)
    first = world.get(of.path, idempotency_key=KEY)
    for path, by in ((of.path, other), (of.other, another)):
        answer = world.get(path, by, idempotency_key=KEY)
        assert answer.status == 200
        assert answer.json["request_id"] != first.json["request_id"]
        assert "idempotent-replayed" not in answer.headers


def test_another_api_key_of_the_account_sees_the_same_record(world: Service) -> None:
    second = world.another_key(world.client)
    first = world.get(company(), idempotency_key=KEY)
    assert world.get(company(), second, idempotency_key=KEY).body == first.body


@every
def test_while_the_first_runs_the_second_has_to_wait(world: Service, of: Sample) -> None:
    """409 at once with a Retry-After, no new operation and no credits; others are refused."""

    async def scenario() -> None:
        world.source.waits()
        first = world.begin(of.path, idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)

        second = await world.aget(of.path, idempotency_key=KEY)
        assert (second.status, second.code) == (409, "OPERACAO_EM_ANDAMENTO")
        assert (second.json["success"], second.json["error"]) == (False, True)
        assert int(second.headers["retry-after"]) >= 1
        assert second.credits == 0
        assert world.balance().held_credits == of.price
        other = await world.aget(of.other, idempotency_key=KEY)
        assert other.code == "IDEMPOTENCY_KEY_REUTILIZADA"

        world.source.answers_now()
        done = await first
        assert done.status == 200
        replay = await world.aget(of.path, idempotency_key=KEY)
        assert replay.body == done.body

    world.run(scenario())
    assert (world.source.asked, len(world.charges())) == (1, 1)


@pytest.mark.parametrize("passed", [0, 10, 24.5, 60])
def test_the_wait_after_409_suffices(world: Service, passed: float) -> None:
    """A request sent after it is not refused for the same reason (contract 1.8).

    The first execution may go on until the sources' deadline (25 s, contract 7.5).
    """

    async def scenario() -> int:
        world.source.waits()
        first = world.begin(company(), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)
        world.clock.advance(seconds=passed)
        second = await world.aget(company(), idempotency_key=KEY)
        world.source.answers_now()
        await first
        assert second.code == "OPERACAO_EM_ANDAMENTO"
        return int(second.headers["retry-after"])

    wait = world.run(scenario())
    assert max(1, 25 - passed) <= wait <= 30


@every
@pytest.mark.parametrize("kept", [True, False])
def test_of_ten_concurrent_requests_one_is_executed(world: Service, of: Sample, kept: bool) -> None:
    if kept:
        of.keep(world)

    async def scenario() -> None:
        tasks = [world.begin(of.cached, idempotency_key=KEY) for _ in range(10)]
        answers = [await task for task in tasks]
        assert {answer.status for answer in answers} <= {200, 409}
        assert sum(answer.credits for answer in answers) == (1 if kept else of.price)
        finished = {answer.body for answer in answers if answer.status == 200}
        assert len(finished) == 1

    world.run(scenario())
    assert (world.source.asked, len(world.charges())) == (0 if kept else 1, 1)
    assert world.balance().held_credits == 0
    assert not world.check().complaints


def test_a_key_that_expired_and_was_bound_meanwhile_leaves_no_hold(world: Service) -> None:
    """As when the clock is corrected by days: two concurrent executions of one key."""
    world.front.parts = dataclasses.replace(world.parts, release_retry_seconds=0.001)

    async def scenario() -> None:
        world.source.waits()
        first = world.begin(company(), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)
        world.clock.advance(seconds=97 * HOUR)
        second = world.begin(company(OTHER_CNPJ), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 2)
        world.source.answers_now()
        # Only one of them can be recorded under the key: what is not is not charged.
        assert [(await each).status for each in (first, second)] == [503, 200]
        await world.until(lambda: world.balance().held_credits == 0)

    world.run(scenario())
    assert len(world.charges()) == 1
    assert not world.check().complaints


@every
def test_an_execution_that_died_with_its_process(world: Service, of: Sample) -> None:
    """Its hold is released, and another key asks again; a certificate is not issued again."""
    world.die(of.path, held=of.price, idempotency_key=KEY)

    assert (world.balance().held_credits, world.balance().balance_credits) == (0, 1000)
    for _ in range(2):
        answer = world.get(of.path, idempotency_key=KEY)
        assert (answer.status, answer.code) == (409, "RESULTADO_INDISPONIVEL")
        assert answer.credits == 0
    assert world.source.asked == 0
    assert not world.check().complaints
    assert world.get(of.path, idempotency_key="outra-chave").status == 200
    assert [inquiry.reissue for inquiry in world.source.inquiries] == [False]


@every
def test_a_record_survives_a_restart(world: Service, of: Sample) -> None:
    first = world.get(of.path, idempotency_key=KEY)
    world.crash()
    assert world.get(of.path, idempotency_key=KEY).body == first.body
    assert world.source.asked == 0


@every
def test_records_are_kept_for_96_hours(world: Service, of: Sample) -> None:
    first = world.get(of.path, idempotency_key=KEY)

    world.clock.advance(seconds=96 * HOUR - 1)
    assert world.get(of.path, idempotency_key=KEY).body == first.body

    world.clock.advance(seconds=1)
    again = world.get(of.other, idempotency_key=KEY)
    assert again.status == 200
    assert "idempotent-replayed" not in again.headers


@pytest.mark.parametrize(
    "key",
    [
        "",
        "1234567",
        "a" * 129,
        "com espaço",
        "duas palavras",
        "abcdefg\x7f",
        "abcdefgh\xa0",
        "çãéíóúàâ",
    ],
)
def test_invalid_keys(world: Service, key: str) -> None:
    answer = world.get(company(), idempotency_key=key)

    assert (answer.status, answer.code, answer.credits) == (400, "IDEMPOTENCY_KEY_INVALIDA", 0)
    assert world.source.asked == 0


@pytest.mark.parametrize("key", ["12345678", "a" * 128, '"~!{}|\\#', "0198f2d4-7c1a-7b3e-9f00"])
def test_keys_of_8_to_128_visible_characters(world: Service, key: str) -> None:
    first = world.get(company(), idempotency_key=key)
    assert first.status == 200
    assert world.get(company(), idempotency_key=key).body == first.body


def test_quotes_and_case_are_part_of_the_key(world: Service) -> None:
    keys = ["abcdefgh", '"abcdefgh"', "ABCDEFGH", "'abcdefgh'"]
    ids = {world.get(company(), idempotency_key=key).json["request_id"] for key in keys}
    assert len(ids) == len(keys)


def test_the_key_is_only_a_header(world: Service) -> None:
    path = company(query=f"Idempotency-Key={KEY}&idempotency-key={KEY}")
    ids = {world.get(path).json["request_id"] for _ in range(2)}
    assert len(ids) == 2


def test_without_a_key_every_request_is_executed(world: Service) -> None:
    world.get(company())
    world.get(company())
    assert (world.source.asked, len(world.charges())) == (2, 2)


@every
def test_a_replay_has_the_age_of_its_content(world: Service, of: Sample) -> None:
    """Age and Cache-Status on every answer with content (contract 1.8), replays included."""
    first = world.get(of.path, idempotency_key=KEY)
    world.clock.advance(seconds=90)
    replay = world.get(of.path, idempotency_key=KEY)
    assert (first.headers["age"], replay.headers["age"]) == ("0", "90")
    assert "hit" in replay.headers["cache-status"]

    world.source.fails()
    for _ in range(2):
        failed = world.get(of.other, idempotency_key="pedido-0002")
        assert failed.status == of.failed
        assert "age" not in failed.headers
        assert "cache-status" not in failed.headers
