"""The order of checks, and refusals without any effect (contract 2.10)."""

import pytest

from tests.records import CNPJ, OTHER_CNPJ, company
from tests.service import Client, Service

STRANGER = Client(0, 0, "balcao_live_" + "x" * 49)
KEY = "chave-do-cliente-1"


@pytest.fixture
def narrow(world: Service) -> Client:
    """A client with one request left in its minute, one credit and no opt-in."""
    account = world.account("lia", credits=1)
    return world.another_key(account, per_minute=2)


def spent(world: Service, client: Client) -> None:
    for _ in range(2):
        world.get(company("x"), client)


def test_401_comes_before_everything(world: Service) -> None:
    for query in ("", "cache=abc", "optin=1", "cache=1&cache=1"):
        for document in (CNPJ, "123"):
            answer = world.get(company(document, query), STRANGER, idempotency_key="curta")
            assert (answer.status, answer.code) == (401, "API_KEY_INVALIDA")


def test_429_comes_before_400_and_403(world: Service, narrow: Client) -> None:
    spent(world, narrow)

    assert world.get(company("123"), narrow).status == 429
    assert world.get(company(query="cache=abc"), narrow).status == 429
    assert world.get(company(query="optin=1"), narrow).status == 429
    assert world.get(company(), narrow, idempotency_key="curta").status == 429


@pytest.mark.parametrize("query", ["optin=1&cache=abc", "optin=1&cache_strategy=SO_CACHE"])
def test_400_comes_before_403(world: Service, query: str) -> None:
    assert world.get(company(query=query)).status == 400
    assert world.get(company("123", "optin=1")).status == 400
    assert world.get(company(query="optin=1"), idempotency_key="curta").status == 400


def test_403_comes_before_idempotency(world: Service) -> None:
    world.get(company(), idempotency_key=KEY)

    answer = world.get(company(query="optin=1"), idempotency_key=KEY)

    assert (answer.status, answer.code) == (403, "OPTIN_NAO_HABILITADO")


def test_403_comes_before_402(world: Service) -> None:
    poor = world.account("edu", credits=0)
    assert world.get(company(query="optin=1"), poor).status == 403


def test_idempotency_comes_before_402(world: Service) -> None:
    once = world.account("edu", credits=1)
    first = world.get(company(), once, idempotency_key=KEY)

    replay = world.get(company(), once, idempotency_key=KEY)
    reused = world.get(company(OTHER_CNPJ), once, idempotency_key=KEY)

    assert first.status == replay.status == 200
    assert (reused.status, reused.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")


def test_409_comes_before_402(world: Service) -> None:
    once = world.account("edu", credits=1)
    first, second = world.meanwhile(company(), company(), once, idempotency_key=KEY)
    assert (first.status, second.status) == (200, 409)


def test_402_comes_before_the_source(world: Service) -> None:
    poor = world.account("edu", credits=0)

    assert world.get(company(), poor).status == 402
    assert world.source.asked == 0


@pytest.mark.parametrize(
    ("document", "query", "status"),
    [
        ("123", "", 400),
        (CNPJ, "cache=abc", 400),
        (CNPJ, "cache=1&cache=1", 400),
        (CNPJ, "cache_strategy=SO_CACHE", 400),
        (CNPJ, "optin=2", 400),
        (CNPJ, "optin=1", 403),
    ],
)
def test_a_refusal_binds_no_key_and_costs_nothing(
    world: Service, document: str, query: str, status: int
) -> None:
    """Otherwise the corrected request with the same key would be refused as another one."""
    refused = world.get(company(document, query), idempotency_key=KEY)
    assert (refused.status, refused.credits) == (status, 0)
    assert world.source.asked == 0
    assert world.balance().balance_credits == 1000
    assert world.balance().held_credits == 0

    corrected = world.get(company(OTHER_CNPJ), idempotency_key=KEY)
    assert corrected.status == 200
    assert "idempotent-replayed" not in corrected.headers


def test_402_binds_no_key(world: Service) -> None:
    poor = world.account("edu", credits=0)
    assert world.get(company(), poor, idempotency_key=KEY).status == 402

    world.top_up(poor, 5)

    answer = world.get(company(OTHER_CNPJ), poor, idempotency_key=KEY)
    assert (answer.status, answer.credits) == (200, 1)


def test_402_on_a_cached_answer_binds_no_key(world: Service) -> None:
    poor = world.account("edu", credits=0)
    world.keep()
    stored = company(query="cache_strategy=CACHE_SE_EXISTIR")
    assert world.get(stored, poor, idempotency_key=KEY).status == 402

    world.top_up(poor, 5)

    assert world.get(company(OTHER_CNPJ), poor, idempotency_key=KEY).status == 200


def test_429_binds_no_key(world: Service, narrow: Client) -> None:
    spent(world, narrow)
    refused = world.get(company(), narrow, idempotency_key=KEY)
    assert refused.status == 429

    world.clock.advance(seconds=int(refused.headers["retry-after"]))

    assert world.get(company(OTHER_CNPJ), narrow, idempotency_key=KEY).status == 200


def test_409_and_a_reused_key_leave_the_first_record_alone(world: Service) -> None:
    first = world.get(company(), idempotency_key=KEY)
    assert world.get(company(OTHER_CNPJ), idempotency_key=KEY).status == 400

    assert world.get(company(), idempotency_key=KEY).body == first.body


def test_requests_with_invalid_keys_do_not_count_against_limits(world: Service) -> None:
    for _ in range(30):
        world.get(company(), None)

    assert world.get(company()).status == 200
