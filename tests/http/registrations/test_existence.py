"""A company without registrations, and a CNPJ that does not exist, which states answer alike.

Contract 3: an existing CNPJ without any registration is a result, 200 with an empty list; a
CNPJ that does not exist is 404 `CNPJ_NAO_ENCONTRADO`.
"""

from collections.abc import Callable

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.sources.contract import Absent, Answer, Found
from tests.http.registrations.shared import AT, KEY, UFS
from tests.records import CNPJ, CPF, a_company, producer, registrations, sintegra
from tests.service import Service

WAYS = pytest.mark.parametrize("query", ["uf=SP", "uf=BR", "uf=SP&endereco=true", "uf=BR&cache=0"])


def nothing_registered(world: Service, registry: Callable[[Inquiry], Answer]) -> None:
    """All states answer with an empty list, and the registry with this."""

    def say(about: Inquiry) -> Answer:
        if about.subject == "company":
            return registry(about)
        empty = registrations(
            about.document.text,
            about.uf or "",
            nome=None,
            uf_principal=None,
            com_endereco=about.addresses,
        )
        return Found(empty, "fonte", AT)

    world.source.says(say)


def price_of(query: str) -> int:
    return (27 if "BR" in query else 1) + ("endereco" in query)


def about_companies(world: Service) -> int:
    return sum(about.subject == "company" for about in world.source.inquiries)


def cached_ufs(world: Service) -> list[str]:
    """Return the UFs with a cache entry."""
    cnpj = Cnpj.parse(CNPJ)
    return [uf for uf in UFS if world.kept(Inquiry("state_registration", cnpj, uf))]


@WAYS
def test_a_cnpj_that_does_not_exist(world: Service, query: str) -> None:
    """All states are empty and the registry proves absence: 404, free, and nothing is cached."""
    nothing_registered(world, lambda about: Absent("fonte", conclusive=True))

    answer = world.get(sintegra(query=query), idempotency_key=KEY)

    assert (answer.status, answer.code, answer.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert answer.json["cnpj"] == CNPJ
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is False
    assert "ufs" not in answer.json
    assert (cached_ufs(world), world.kept(Inquiry("company", Cnpj.parse(CNPJ)))) == ([], None)
    assert about_companies(world) == 1
    assert not world.charges()
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert not world.check().complaints
    assert world.get(sintegra(query=query), idempotency_key=KEY).body == answer.body


@WAYS
def test_a_company_without_registrations(world: Service, query: str) -> None:
    """The registry has it: 200, an empty list, charged and cached; the registry is free."""
    nothing_registered(world, lambda about: Found(a_company(about.document.text), "fonte", AT))

    answer = world.get(sintegra(query=query))

    assert (answer.status, answer.credits) == (200, price_of(query))
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is True
    assert answer.json["error"] is False
    assert cached_ufs(world) == (UFS if "BR" in query else ["SP"])
    assert about_companies(world) == 1
    assert [charge.credits for charge in world.charges()] == [-price_of(query)]


def fails(_: Inquiry) -> Answer:
    raise SourceFailed("")


def is_down(_: Inquiry) -> Answer:
    raise SourceUnavailable("", 30)


def perhaps(_: Inquiry) -> Answer:
    return Absent("fonte", conclusive=False)


@WAYS
def test_without_proof_of_absence_the_states_answer_counts(world: Service, query: str) -> None:
    """A registry that fails or proves nothing changes no answer: 200, empty, charged, cached."""
    for registry in (fails, is_down, perhaps):
        nothing_registered(world, registry)
        answer = world.get(sintegra(query=query))
        assert (answer.status, answer.credits) == (200, price_of(query))
        assert answer.json["inscricoes_estaduais"] == []
        assert answer.json["success"] is True
    assert about_companies(world) == 3
    assert cached_ufs(world) == (UFS if "BR" in query else ["SP"])


def test_a_cached_empty_answer_is_served(world: Service) -> None:
    """An empty list of registrations is an answer and is stored (contract 4.4)."""
    nothing_registered(world, lambda about: Found(a_company(about.document.text), "fonte", AT))
    world.get(sintegra())
    asked = world.source.asked

    answer = world.get(sintegra(query="uf=SP&cache_strategy=CACHE_SE_EXISTIR"))

    assert (answer.status, answer.credits, answer.json["is_cache"]) == (200, 1, True)
    assert answer.json["inscricoes_estaduais"] == []
    assert world.source.asked == asked


def test_some_states_are_empty_and_others_fail(world: Service) -> None:
    """If the company exists, one empty UF is an answer; else none is."""

    def say(about: Inquiry, *, exists: bool) -> Answer:
        if about.subject == "company":
            found = Found(a_company(about.document.text), "fonte", AT)
            return found if exists else Absent("fonte", conclusive=True)
        if about.uf != "SP":
            raise SourceFailed("")
        return Found(registrations(about.document.text, "SP", nome=None), "fonte", AT)

    world.source.says(lambda about: say(about, exists=False))
    absent = world.get(sintegra(query="uf=BR"))
    assert (absent.status, absent.code, absent.credits) == (404, "CNPJ_NAO_ENCONTRADO", 0)
    assert cached_ufs(world) == []

    world.source.says(lambda about: say(about, exists=True))
    there = world.get(sintegra(query="uf=BR"))
    assert (there.status, there.credits) == (200, 1)
    assert there.json["inscricoes_estaduais"] == []


@pytest.mark.parametrize("query", ["uf=SP", "uf=BR"])
def test_a_failure_is_never_an_empty_list(world: Service, query: str) -> None:
    """If no state answered there is nothing to confirm: the failure is answered."""

    def say(about: Inquiry) -> Answer:
        if about.subject == "company":
            return Found(a_company(about.document.text), "fonte", AT)
        raise SourceFailed("")

    world.source.says(say)
    answer = world.get(sintegra(query=query))
    assert (answer.status, answer.code, answer.credits) == (500, "ERRO_INTERNO", 0)
    assert answer.json["success"] is False


@pytest.mark.parametrize("query", ["uf=SP", "uf=BR"])
def test_a_person_without_registrations(world: Service, query: str) -> None:
    """No registry of persons is asked: 200, an empty list, charged and cached (contract 3)."""
    nothing_registered(world, lambda about: Absent("fonte", conclusive=True))

    answer = world.get(producer(query=query))

    assert (answer.status, answer.credits) == (200, 26 if "BR" in query else 1)
    assert answer.json["inscricoes_estaduais"] == []
    assert answer.json["success"] is True
    assert about_companies(world) == 0
    assert world.kept(Inquiry("rural_producer", Cpf.parse(CPF), "SP")) is not None


def test_a_cached_answer_is_not_verified(world: Service) -> None:
    """An answer from the cache alone asks no source, not even the registry."""
    nothing_registered(world, lambda about: Absent("fonte", conclusive=True))
    world.keep(registrations(CNPJ, "SP"), days=1)

    answer = world.get(sintegra(query="uf=SP&cache_strategy=CACHE_PREFERENCIAL"))

    assert (answer.status, answer.credits, world.source.asked) == (200, 1, 0)
