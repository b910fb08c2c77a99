"""Strategy, age of the entry, what the source says: where the answer comes from and its price.

Specification, "Cache strategies" and "Credits"; decisions 4.1, 4.2, 4.4.
"""

from typing import NamedTuple

import pytest

from balcao.core.company import Partner
from tests.world import CNPJ, World, a_company, company


class Expected(NamedTuple):
    origin: str  # cache, online, or nothing
    status: int
    credits: int


CACHED = Expected("cache", 200, 1)
ONLINE = Expected("online", 200, 1)
FAILED = Expected("", 500, 0)
DOWN = Expected("", 503, 0)
ABSENT = Expected("", 404, 0)

AGES = {"none": None, "young": 6.9, "old": 7.1}  # against the default of 7 days

# strategy, entry -> what follows when the source: finds, fails, is down, says it is absent
TABLE = {
    ("CACHE_SE_EXISTIR", "none"): (ONLINE, FAILED, DOWN, ABSENT),
    ("CACHE_SE_EXISTIR", "young"): (CACHED, CACHED, CACHED, CACHED),
    ("CACHE_SE_EXISTIR", "old"): (CACHED, CACHED, CACHED, CACHED),
    ("CACHE_PREFERENCIAL", "none"): (ONLINE, FAILED, DOWN, ABSENT),
    ("CACHE_PREFERENCIAL", "young"): (CACHED, CACHED, CACHED, CACHED),
    ("CACHE_PREFERENCIAL", "old"): (ONLINE, FAILED, DOWN, ABSENT),
    ("SO_ONLINE", "none"): (ONLINE, FAILED, DOWN, ABSENT),
    ("SO_ONLINE", "young"): (ONLINE, FAILED, DOWN, ABSENT),
    ("SO_ONLINE", "old"): (ONLINE, FAILED, DOWN, ABSENT),
    ("ONLINE_PREFERENCIAL", "none"): (ONLINE, FAILED, DOWN, ABSENT),
    ("ONLINE_PREFERENCIAL", "young"): (ONLINE, CACHED, CACHED, ABSENT),
    ("ONLINE_PREFERENCIAL", "old"): (ONLINE, FAILED, DOWN, ABSENT),
}
SAYS = ("finds", "fails", "is_down", "says_absent")
NOT_ASKED = {key for key, row in TABLE.items() if set(row) == {CACHED}}


@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize(("strategy", "age"), TABLE)
def test_the_table_of_strategies(world: World, strategy: str, age: str, says: str) -> None:
    days = AGES[age]
    if days is not None:
        world.keep(days=days)
    getattr(world.source, says)()

    answer = world.get(company(query=f"cache_strategy={strategy}"))

    expected = TABLE[strategy, age][SAYS.index(says)]
    charges = world.charges()
    origin = charges[0].origin if charges else ""
    assert (origin, answer.status, answer.credits) == expected
    assert world.purse().balance_credits == 1000 - expected.credits
    assert world.purse().held_credits == 0
    assert world.source.asked == (0 if (strategy, age) in NOT_ASKED else 1)
    if expected.status == 200:
        name = answer.json["response"]["nome_empresarial"]
        assert name == ("GUARDADA LTDA" if expected is CACHED else "EMPRESA FICTICIA LTDA")
    assert not world.check().complaints


def test_without_a_strategy_online_is_preferred(world: World) -> None:
    world.keep()
    assert world.get(company()).json["response"]["nome_empresarial"] == "EMPRESA FICTICIA LTDA"

    world.source.fails()
    world.clock.advance(days=6.9)
    assert world.get(company()).status == 200
    world.clock.advance(days=0.2)
    assert world.get(company()).status == 500


@pytest.mark.parametrize(
    ("strategy", "status"),
    [
        ("CACHE_SE_EXISTIR", 200),  # any age
        ("CACHE_PREFERENCIAL", 500),
        ("SO_ONLINE", 500),
        ("ONLINE_PREFERENCIAL", 500),
    ],
)
def test_cache_0_never_matches_by_age(world: World, strategy: str, status: int) -> None:
    world.keep(days=0)
    world.source.fails()
    assert world.get(company(query=f"cache_strategy={strategy}&cache=0")).status == status


@pytest.mark.parametrize("strategy", ["CACHE_PREFERENCIAL", "ONLINE_PREFERENCIAL"])
@pytest.mark.parametrize("days", [1, 30, 365])
def test_an_age_is_a_number_of_24_hours_to_the_millisecond(
    world: World, strategy: str, days: int
) -> None:
    world.keep(days=days)
    world.source.fails()
    path = company(query=f"cache_strategy={strategy}&cache={days}")

    assert world.get(path).status == 200
    world.clock.advance(seconds=0.001)
    assert world.get(path).status == 500


def test_error_fallback_is_no_parameter_of_this_operation(world: World) -> None:
    world.keep()
    world.source.fails()
    answer = world.get(company(query="cache_strategy=SO_ONLINE&error_fallback=true"))
    assert answer.status == 500


# What is kept.


def test_an_online_answer_is_kept(world: World) -> None:
    first = world.get(company())
    world.source.fails()
    second = world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"))

    assert second.json["response"] == first.json["response"]
    assert world.source.asked == 1


def test_a_fresh_answer_replaces_an_old_one(world: World) -> None:
    world.keep(days=3)
    world.get(company())
    again = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"))
    assert again.json["response"]["nome_empresarial"] == "EMPRESA FICTICIA LTDA"


@pytest.mark.parametrize("says", ["fails", "is_down", "says_absent"])
def test_failures_and_absence_are_not_kept(world: World, says: str) -> None:
    getattr(world.source, says)()
    world.get(company())
    assert world.kept() is None


@pytest.mark.parametrize("says", ["fails", "is_down", "says_absent"])
def test_failures_and_absence_leave_the_entry_alone(world: World, says: str) -> None:
    world.keep(days=3)
    before = world.kept()
    getattr(world.source, says)()
    world.get(company(query="cache_strategy=SO_ONLINE"))
    assert world.kept() == before


def test_an_absence_that_proves_nothing_is_no_404(world: World) -> None:
    """Decisions 3: proof of absence only where the source's documentation says so."""
    world.source.says_absent(conclusive=False)

    answer = world.get(company())

    assert answer.status in (500, 503)
    assert answer.credits == 0


def test_the_cache_is_shared_by_all_clients_and_each_pays(world: World) -> None:
    other = world.account("bia", credits=10)
    world.get(company())
    answer = world.get(company(query="cache_strategy=CACHE_PREFERENCIAL"), other)

    assert (answer.status, answer.credits) == (200, 1)
    assert world.source.asked == 1
    assert world.purse(other).balance_credits == 9


def test_each_cnpj_has_an_entry_of_its_own(world: World) -> None:
    world.keep()
    world.source.fails()
    answer = world.get(company("90010002000154", "cache_strategy=CACHE_SE_EXISTIR"))
    assert answer.status == 500


def test_test_accounts_live_in_a_world_of_their_own(world: World) -> None:
    """The sandbox has sources and entries of its own (sandbox.md)."""
    tester = world.account("teste", mode="test", credits=10)
    path = company(query="cache_strategy=CACHE_SE_EXISTIR")
    world.sandbox.finds(a_company(nome_empresarial="SIMULADA LTDA"))

    assert world.get(path, tester).json["response"]["nome_empresarial"] == "SIMULADA LTDA"
    assert world.get(path).json["response"]["nome_empresarial"] == "EMPRESA FICTICIA LTDA"
    assert world.get(path, tester).json["response"]["nome_empresarial"] == "SIMULADA LTDA"
    assert (world.source.asked, world.sandbox.asked) == (1, 1)


# The partner opt-in.

CPF = "12345678909"
OPEN = a_company(CNPJ, socios=(Partner(nome="FULANA DA FICCAO", cpf_cnpj_socio=CPF),))
MASKED = a_company(CNPJ, socios=(Partner(nome="FULANA DA FICCAO", cpf_cnpj_socio="***456789**"),))


def test_an_opted_in_answer_is_never_served_to_others(world: World) -> None:
    opted_in = world.account("bia", credits=10, partner_optin=True)
    world.source.finds(OPEN)
    full = world.get(company(query="optin=1"), opted_in)
    assert full.json["response"]["socios"][0]["cpf_cnpj_socio"] == CPF

    world.source.finds(MASKED)
    for strategy in ("CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "ONLINE_PREFERENCIAL"):
        for client in (world.client, opted_in):
            plain = world.get(company(query=f"cache_strategy={strategy}"), client)
            assert plain.json["response"]["socios"][0]["cpf_cnpj_socio"] == "***456789**"
            assert CPF not in plain.body.decode()


def test_a_masked_entry_does_not_answer_an_opted_in_question(world: World) -> None:
    opted_in = world.account("bia", credits=10, partner_optin=True)
    world.source.finds(MASKED)
    world.get(company())
    world.source.finds(OPEN)

    full = world.get(company(query="optin=1&cache_strategy=CACHE_SE_EXISTIR"), opted_in)

    assert full.json["response"]["socios"][0]["cpf_cnpj_socio"] == CPF


def test_a_masked_entry_is_no_fallback_for_an_opted_in_question(world: World) -> None:
    opted_in = world.account("bia", credits=10, partner_optin=True)
    world.source.finds(MASKED)
    world.get(company())
    world.source.fails()

    assert world.get(company(query="optin=1"), opted_in).status == 500
