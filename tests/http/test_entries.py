"""Scope of cache entries: accounts, documents, the sandbox, opted-in answers.

`test_strategy_table.py` covers when an entry is served.
"""

import msgspec
import pytest

from balcao.core.company import Company, DatedCompany, Partner, TaxRegime
from balcao.core.documents import Cnpj
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Inquiry
from tests.lookups import Sample, every
from tests.records import CNPJ, a_company, company
from tests.service import Service


@every
def test_an_online_answer_is_cached_for_all_and_each_pays(world: Service, of: Sample) -> None:
    other = world.account("bia", credits=10)
    assert world.get(of.path).credits == of.price
    world.source.fails()
    answer = world.get(of.cached, other)

    assert (answer.status, answer.credits) == (200, 1)
    assert world.source.asked == 1
    assert world.balance(other).balance_credits == 9


@every
def test_each_document_has_its_own_entry(world: Service, of: Sample) -> None:
    of.keep(world)
    world.source.fails()
    assert world.get(of.cached).status == 200
    assert world.get(of.other).status == of.failed


@every
def test_test_accounts_have_their_own_cache(world: Service, of: Sample) -> None:
    """The sandbox has its own sources and entries (sandbox.md)."""
    tester = world.account("teste", mode="test", credits=10)
    first = world.get(of.path, tester)
    assert [world.get(of.path).credits, first.credits] == [of.price] * 2
    again = world.get(of.cached, tester)
    assert (again.status, again.credits) == (200, 1)
    assert (world.source.asked, world.sandbox.asked) == (1, 1)


REGIMES = (TaxRegime(2022, "LUCRO REAL", 1), TaxRegime(2023, "LUCRO REAL", 1))


@pytest.mark.parametrize("regimes", [None, (), REGIMES])
def test_an_entry_with_tax_regimes_is_served_as_it_is(
    world: Service, regimes: tuple[TaxRegime, ...] | None
) -> None:
    world.source.finds(a_company(regime_tributario=regimes))
    new, kept = (world.get(company(query=f"cache_strategy={way}")) for way in STRATEGIES)
    assert new.body.count(b'"regime_tributario":') == kept.body.count(b'"regime_tributario":') == 1
    assert new.json["response"] == kept.json["response"]
    assert len(new.json["response"]["regime_tributario"] or ()) == len(regimes or ())


STRATEGIES = ("SO_ONLINE", "CACHE_SE_EXISTIR")


@pytest.mark.parametrize("after", [b',"codigo_municipio_ibge":', b',"data_base":'])
@pytest.mark.parametrize("day", [None, "2026-08-01"])
def test_an_entry_of_an_earlier_version_lacks_fields(
    world: Service, day: str | None, after: bytes
) -> None:
    """They are served as null, in the same order as others (contract 9.18)."""
    whole = DatedCompany(**msgspec.structs.asdict(a_company()), data_base=day)
    body = msgspec.json.encode(whole)
    first = b',"simples":' if after == b',"data_base":' else b',"regime_tributario":'
    start, end = body.index(first), body.rindex(after)
    inquiry = Inquiry("company", Cnpj(CNPJ))
    entry = CacheEntry(body[:start] + body[end:], world.clock(), "minha_receita")
    world.parts.environments["live"].cache.keep([(inquiry.cache_key, entry)])
    old = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"))
    world.source.finds(whole)
    new = world.get(company(query="cache_strategy=SO_ONLINE"))
    assert old.json["response"] == new.json["response"]
    assert list(old.json["response"]) == list(Company.__struct_encode_fields__)
    assert old.json["data_base"] == day


# The partner opt-in.

CPF = "12345678909"
OPEN = a_company(CNPJ, socios=(Partner(nome="FULANA DA FICCAO", cpf_cnpj_socio=CPF),))
MASKED = a_company(CNPJ, socios=(Partner(nome="FULANA DA FICCAO", cpf_cnpj_socio="***456789**"),))


def test_an_opted_in_answer_is_never_served_to_others(world: Service) -> None:
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


def test_a_masked_entry_does_not_answer_an_opted_in_question(world: Service) -> None:
    opted_in = world.account("bia", credits=10, partner_optin=True)
    world.source.finds(MASKED)
    world.get(company())
    world.source.finds(OPEN)

    full = world.get(company(query="optin=1&cache_strategy=CACHE_SE_EXISTIR"), opted_in)

    assert full.json["response"]["socios"][0]["cpf_cnpj_socio"] == CPF


def test_a_masked_entry_is_no_fallback_for_an_opted_in_question(world: Service) -> None:
    opted_in = world.account("bia", credits=10, partner_optin=True)
    world.source.finds(MASKED)
    world.get(company())
    world.source.fails()

    assert world.get(company(query="optin=1"), opted_in).status == 500
