"""State registrations without `uf`: the company's own UF is looked up, uncharged.

Contract 2.3: "taken from what the service already knows (company registry store, cached
answers), else from one internal registry lookup that is not charged. Still unknown: 400
`UF_OBRIGATORIA`. Never a silent BR."
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry, Part
from balcao.sources.contract import Absent, Answer, Found
from tests.http.registrations.shared import AT, KEY, NO_UF, asked
from tests.records import (
    CNPJ,
    OTHER_CNPJ,
    a_company,
    a_record,
    a_registration,
    company,
    registrations,
    sintegra,
)
from tests.service import Service, open_with_source

RJ = Inquiry("state_registration", Cnpj.parse(CNPJ), "RJ")
SAME_UF = ["", "uf=", "uf=%20"]


def registry_answers(world: Service, say: Callable[[Inquiry], Answer]) -> None:
    """Let the source answer this about companies, and find all registrations."""
    world.source.says(
        lambda about: say(about) if about.subject == "company" else Found(a_record(about), "f", AT)
    )


def based_in(uf: str | None) -> Callable[[Inquiry], Answer]:
    return lambda about: Found(a_company(about.document.text, uf=uf), "fonte", AT)


def nobody_home(_: Inquiry) -> Answer:
    raise SourceFailed("")


def in_maintenance(_: Inquiry) -> Answer:
    raise SourceUnavailable("", 30)


def absent(_: Inquiry) -> Answer:
    return Absent("fonte", conclusive=True)


def perhaps_absent(_: Inquiry) -> Answer:
    return Absent("fonte", conclusive=False)


# Data that the service has already


IN_RJ = registrations(CNPJ, "RJ", a_registration("RJ"), uf_principal=None)


@pytest.mark.parametrize("days", [0, 6, 3000])
def test_from_a_cached_company_of_any_age(world: Service, days: int) -> None:
    """The registry is not asked again; the company's UF is."""
    world.keep(a_company(uf="RJ"), days=days)
    world.source.finds(IN_RJ)

    for query in SAME_UF:
        answer = world.get(sintegra(query=query))
        assert (answer.status, answer.credits, answer.json["uf"]) == (200, 1, "RJ")
        assert "ufs" not in answer.json
    assert asked(world) == 3 * [("state_registration", "RJ")]


@pytest.mark.parametrize("days", [0, 3000])
def test_from_a_cached_registration(world: Service, days: int) -> None:
    """A state's answer of any age may have the company's principal UF."""
    world.keep(registrations(CNPJ, "TO", uf_principal=None), days=0)
    world.keep(registrations(CNPJ, "BA", uf_principal="RJ"), days=days)
    world.source.finds(IN_RJ)

    answer = world.get(NO_UF)

    assert (answer.status, answer.credits, answer.json["uf"]) == (200, 1, "RJ")
    assert asked(world) == [("state_registration", "RJ")]


def test_entries_of_another_company_are_ignored(world: Service) -> None:
    """They do not determine this one's UF."""
    world.keep(a_company(OTHER_CNPJ, uf="AM"))
    world.keep(registrations(OTHER_CNPJ, "AM", uf_principal="AM"))
    world.get(NO_UF)
    assert asked(world) == [("company", None), ("state_registration", "SP")]


class OwnCopy:
    """A local source of companies, like the snapshot."""

    name = "snapshot"
    parts: frozenset[Part] = frozenset()
    edition = 1

    def __init__(self, answer: Answer | None) -> None:
        self.answer = answer

    def find(self, inquiry: Inquiry) -> Answer | None:
        return self.answer if inquiry.subject == "company" else None

    def finished(self, inquiry: Inquiry) -> None:
        return None


def test_from_our_own_copy(tmp_path: Path) -> None:
    """The company registry store has it: no source is asked about the company."""
    copy = OwnCopy(Found(a_company(uf="RJ"), "snapshot", AT, local=True))
    with open_with_source(tmp_path, sources=lambda fake: [copy, fake]) as world:
        world.source.finds(IN_RJ)
        answer = world.get(NO_UF)

        assert (answer.status, answer.credits, answer.json["uf"]) == (200, 1, "RJ")
        assert asked(world) == [("state_registration", "RJ")]
        assert world.kept(Inquiry("company", Cnpj.parse(CNPJ))) is None


def test_a_company_missing_in_our_own_copy(tmp_path: Path) -> None:
    """A company newer than the copy is looked up online."""
    copy = OwnCopy(Absent("snapshot", conclusive=False))
    with open_with_source(tmp_path, sources=lambda fake: [copy, fake]) as world:
        assert world.get(NO_UF).status == 200
        assert asked(world) == [("company", None), ("state_registration", "SP")]


def test_a_cached_answer_about_the_own_uf_needs_no_source(world: Service) -> None:
    """The UF from one entry and the answer from another: 1 credit, no source asked."""
    world.keep(a_company(uf="RJ"), days=100)
    world.keep(registrations(CNPJ, "RJ", a_registration("RJ")), days=100)

    answer = world.get(sintegra(query="cache_strategy=CACHE_SE_EXISTIR"))

    assert (answer.status, answer.credits, answer.json["is_cache"]) == (200, 1, True)
    assert world.source.asked == 0


# One internal lookup


@pytest.mark.parametrize("query", SAME_UF)
def test_from_one_internal_lookup(world: Service, query: str) -> None:
    """One request about the company, free, and one about its UF, for 1 credit; both are cached."""
    registry_answers(world, based_in("SP"))
    answer = world.get(sintegra(query=query))

    assert (answer.status, answer.credits, answer.json["uf"]) == (200, 1, "SP")
    assert [each["uf"] for each in answer.json["inscricoes_estaduais"]] == ["SP"]
    assert asked(world) == [("company", None), ("state_registration", "SP")]
    (charge,) = world.charges()
    assert (charge.credits, charge.operation) == (-1, "sintegra")
    assert (world.balance().balance_credits, world.balance().held_credits) == (999, 0)
    assert not world.check().complaints

    kept = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"))
    assert (kept.status, world.source.asked) == (200, 2)
    world.get(NO_UF)
    assert asked(world)[2:] == [("state_registration", "SP")]


def test_a_company_without_registrations_in_its_own_uf(world: Service) -> None:
    """The registry proved that it exists: an empty list is a result, and it is not asked twice."""
    registry_answers(world, based_in("RJ"))

    answer = world.get(NO_UF)

    assert (answer.status, answer.credits) == (200, 1)
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is True
    assert asked(world) == [("company", None), ("state_registration", "RJ")]
    assert world.kept(RJ) is not None


def test_addresses_in_the_own_uf_cost_one_more(world: Service) -> None:
    """`endereco=true` without `uf` is 2 credits; the lookup of the company is still free."""
    answer = world.get(sintegra(query="endereco=true"))
    assert (answer.status, answer.credits) == (200, 2)
    assert "endereco" in answer.json["inscricoes_estaduais"][0]


def test_an_entry_of_the_uf_found_is_used(world: Service) -> None:
    """Once the UF is known, the strategy decides about its entry as usual."""
    world.keep(registrations(CNPJ, "RJ", a_registration("RJ"), uf_principal=None), days=30)
    registry_answers(world, based_in("RJ"))

    answer = world.get(sintegra(query="cache_strategy=CACHE_SE_EXISTIR"))

    assert (answer.status, answer.credits, answer.json["is_cache"]) == (200, 1, True)
    assert asked(world) == [("company", None)]
    assert world.charges()[0].origin == "cache"


def test_the_states_may_fail_after_the_registry_answered(world: Service) -> None:
    """A failure like any other: 500, free, recorded under its key."""

    def say(about: Inquiry) -> Answer:
        if about.subject == "company":
            return Found(a_record(about), "fonte", AT)
        raise SourceFailed("")

    world.source.says(say)
    answer = world.get(NO_UF, idempotency_key=KEY)

    assert (answer.status, answer.code, answer.credits) == (500, "ERRO_INTERNO", 0)
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    world.source.finds()
    assert world.get(NO_UF, idempotency_key=KEY).body == answer.body


# Still unknown


@pytest.mark.parametrize(
    "say",
    [
        nobody_home,
        in_maintenance,
        perhaps_absent,
        based_in(None),
        based_in(""),
        based_in("EX"),
        based_in("BR"),
    ],
)
def test_still_unknown_is_a_refusal(world: Service, say: Callable[[Inquiry], Answer]) -> None:
    """400 `UF_OBRIGATORIA`, free; no state is asked and the key is not bound."""
    registry_answers(world, say)

    answer = world.get(NO_UF, idempotency_key=KEY)

    assert (answer.status, answer.code, answer.credits) == (400, "UF_OBRIGATORIA", 0)
    assert answer.json["cnpj"] == CNPJ
    assert answer.json["inscricoes_estaduais"] == []
    assert asked(world) == [("company", None)]
    assert not world.charges()
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert not world.check().complaints

    corrected = world.get(sintegra(query="uf=SP"), idempotency_key=KEY)
    assert (corrected.status, corrected.credits) == (200, 1)
    assert "idempotent-replayed" not in corrected.headers


@pytest.mark.parametrize("how", ["cached", "own copy"])
def test_a_company_abroad_has_no_uf(tmp_path: Path, how: str) -> None:
    """EX in our own stores is no UF either."""
    abroad = a_company(uf="EX")
    copy = OwnCopy(Found(abroad, "snapshot", AT, local=True) if how == "own copy" else None)
    with open_with_source(tmp_path, sources=lambda fake: [copy, fake]) as world:
        registry_answers(world, based_in("EX"))
        if how == "cached":
            world.keep(abroad)
        answer = world.get(NO_UF)

        assert (answer.status, answer.code, answer.credits) == (400, "UF_OBRIGATORIA", 0)
        assert all(subject == "company" for subject, _ in asked(world))


def test_without_a_source_of_companies(world: Service) -> None:
    """The caller has to send the UF."""
    world.source.serves_it = False
    answer = world.get(NO_UF)
    assert (answer.status, answer.code, answer.credits) == (400, "UF_OBRIGATORIA", 0)


def test_a_company_that_does_not_exist(world: Service) -> None:
    """404 `CNPJ_NAO_ENCONTRADO` without asking a state: a result, recorded under its key."""
    registry_answers(world, absent)

    answer = world.get(NO_UF, idempotency_key=KEY)

    assert (answer.status, answer.code, answer.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert answer.json["cnpj"] == CNPJ
    assert asked(world) == [("company", None)]
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert world.kept(Inquiry("company", Cnpj.parse(CNPJ))) is None
    replay = world.get(NO_UF, idempotency_key=KEY)
    assert (replay.body, replay.headers["idempotent-replayed"]) == (answer.body, "true")
    assert world.source.asked == 1
