"""Checks that every record must pass."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from balcao.core.company import Company, Partner
from balcao.core.errors import SourceFailed
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.core.suframa import ZoneRecord
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter
from balcao.providers.serpro.adapter import SerproAdapter
from balcao.sources.contract import Absent, Answer, Found
from balcao.sources.online import Adapter, AdapterSource, validated
from balcao.sources.router import SourceRouter
from balcao.sources.upstream import Layer, Upstream
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import (
    CNPJ,
    LETTERS,
    NOW,
    Measured,
    a_company,
    a_uf,
    a_zone_inquiry,
    an_inquiry,
    an_upstream,
    record_of,
    registrations,
)
from tests.sources.test_cnpja import KEY
from tests.sources.test_cnpja import SAVED as CNPJA
from tests.sources.test_cnpja_registrations import SAVED as CNPJA_CCC
from tests.sources.test_cnpja_suframa import SAVED as CNPJA_SUFRAMA
from tests.sources.test_infosimples_registrations import SAVED as INFOSIMPLES
from tests.sources.test_minha_receita import SAVED as MINHA_RECEITA
from tests.sources.test_serpro import SAVED as SERPRO

ADAPTERS: list[tuple[Adapter, dict[str, Any]]] = [
    (MinhaReceitaAdapter(), json.loads(MINHA_RECEITA)),
    (MinhaReceitaAdapter(flavour="brasilapi"), json.loads(MINHA_RECEITA)),
    (CnpjaAdapter(KEY), CNPJA),
    (SerproAdapter(full_partners=True), SERPRO),
]

INFOSIMPLES_BARE = {name: INFOSIMPLES[name] for name in INFOSIMPLES if "cnpj" not in name}


def sintegra(data: dict[str, Any]) -> dict[str, Any]:
    return {"code": 200, "data_count": 1, "data": [data]}


# Adapter, inquiry, a good reply, and the same about another document.
OTHER_SUBJECTS: list[tuple[Adapter, Inquiry, dict[str, Any], dict[str, Any]]] = [
    (CnpjaAdapter(KEY), a_uf(), CNPJA_CCC, CNPJA_CCC | {"taxId": OTHER_CNPJ}),
    (CnpjaAdapter(KEY), a_uf("SC", CPF), CNPJA_CCC | {"taxId": CPF}, CNPJA_CCC),
    (CnpjaAdapter(KEY), a_zone_inquiry(), CNPJA_SUFRAMA, CNPJA_SUFRAMA | {"taxId": OTHER_CNPJ}),
    (
        InfosimplesAdapter("the-token"),
        a_uf(),
        sintegra(INFOSIMPLES),
        sintegra(INFOSIMPLES_BARE | {"cnpj": OTHER_CNPJ}),
    ),
    (InfosimplesAdapter("the-token"), a_uf(), sintegra(INFOSIMPLES), sintegra(INFOSIMPLES_BARE)),
]


def ask(
    adapter: Adapter,
    body: Any,
    inquiry: Inquiry | None = None,
    *,
    status: int = 200,
    measured: Measured | None = None,
    layer: Layer | None = None,
) -> Answer:
    upstream = an_upstream(
        lambda request: httpx2.Response(status, json=body),
        observe=measured.append if measured is not None else lambda call: None,
    )
    source = AdapterSource("acme", adapter, lambda _: upstream, now=lambda: NOW, layer=layer)
    return asyncio.run(source.ask(inquiry or an_inquiry()))


@pytest.mark.parametrize(("adapter", "saved"), ADAPTERS)
def test_found_has_source_and_time(adapter: Adapter, saved: dict[str, Any]) -> None:
    answer = ask(adapter, saved)
    assert isinstance(answer, Found)
    assert (answer.source, answer.as_of) == ("acme", NOW)
    company = record_of(answer, Company)
    assert company.cnpj == CNPJ
    assert company.nome_empresarial == "EMPRESA FICTICIA DE TESTES LTDA"


# ADR 0049: a digit too many in front, and a check digit that is not the state's.
@pytest.mark.parametrize("number", ["1250000016", "250000017"])
def test_a_registration_that_is_no_number_of_its_state_is_a_failure(number: str) -> None:
    measured = Measured()
    (first, *_) = CNPJA_CCC["registrations"]
    body = CNPJA_CCC | {"registrations": [first | {"number": number}]}
    with pytest.raises(SourceFailed, match="dígito verificador") as caught:
        ask(CnpjaAdapter(KEY), body, a_uf(), measured=measured)
    assert number not in caught.value.detail
    assert [call.outcome for call in measured] == ["failed"], "which the breaker counts, too"


def test_next_source_is_asked_after_an_invalid_number() -> None:
    (first, *_) = CNPJA_CCC["registrations"]

    def source(name: str, number: str) -> AdapterSource:
        body = CNPJA_CCC | {"registrations": [first | {"number": number}]}
        upstream = an_upstream(lambda request: httpx2.Response(200, json=body))
        return AdapterSource(name, CnpjaAdapter(KEY), lambda _: upstream, now=lambda: NOW)

    async def scenario() -> Answer:
        order = [source("wrong", "1250000016"), source("right", "250000016")]
        return await SourceRouter({"state_registration": order}).ask(a_uf())

    answer = asyncio.run(scenario())
    assert isinstance(answer, Found)
    assert answer.source == "right"
    (each,) = record_of(answer, Registrations).inscricoes
    assert each.inscricao_estadual == "250000016"


def test_a_suframa_number_with_another_digit_is_a_failure() -> None:
    with pytest.raises(SourceFailed, match="dígito verificador") as caught:
        ask(CnpjaAdapter(KEY), CNPJA_SUFRAMA | {"number": "200000013"}, a_zone_inquiry())
    assert "200000013" not in caught.value.detail


@pytest.mark.parametrize(("adapter", "saved"), ADAPTERS)
def test_an_answer_about_another_company_is_a_failure(
    adapter: Adapter, saved: dict[str, Any]
) -> None:
    measured = Measured()
    body = saved | {name: OTHER_CNPJ for name in ("cnpj", "taxId", "ni") if name in saved}
    with pytest.raises(SourceFailed, match="outro documento") as caught:
        ask(adapter, body, measured=measured)
    assert CNPJ not in caught.value.detail
    assert OTHER_CNPJ not in caught.value.detail
    assert measured.outcomes == ["failed"]


@pytest.mark.parametrize(("adapter", "inquiry", "saved", "other"), OTHER_SUBJECTS)
def test_registrations_and_zone_records_are_about_what_was_asked(
    adapter: Adapter, inquiry: Inquiry, saved: dict[str, Any], other: dict[str, Any]
) -> None:
    assert isinstance(ask(adapter, saved, inquiry), Found)
    with pytest.raises(SourceFailed, match="outro documento") as caught:
        ask(adapter, other, inquiry)
    assert CNPJ not in caught.value.detail
    assert OTHER_CNPJ not in caught.value.detail


def test_registrations_of_another_uf_are_a_failure() -> None:
    other = Registrations(CNPJ, "RS")
    for record in (
        other,
        Registrations(CNPJ, "SC", inscricoes=registrations("RS", "1").inscricoes),
    ):
        with pytest.raises(SourceFailed, match="outra UF"):
            validated("acme", record, a_uf("SC"))
    validated("acme", other, a_uf("RS"))


@pytest.mark.parametrize("field", ["number", "name"])
def test_an_incomplete_zone_record_is_a_failure(field: str) -> None:
    with pytest.raises(SourceFailed, match="incompleta"):
        ask(CnpjaAdapter(KEY), CNPJA_SUFRAMA | {field: " "}, a_zone_inquiry())


def test_the_cpf_in_a_sole_trader_s_name_is_masked() -> None:
    name = "FULANA DE TAL 11122233344"
    shown = "FULANA DE TAL ***222333**"
    answer = ask(CnpjaAdapter(KEY), CNPJA_CCC | {"name": name}, a_uf())
    assert record_of(answer, Registrations).nome == shown
    answer = ask(InfosimplesAdapter("t"), sintegra(INFOSIMPLES | {"razao_social": name}), a_uf())
    assert record_of(answer, Registrations).nome == shown
    answer = ask(CnpjaAdapter(KEY), CNPJA_SUFRAMA | {"name": name}, a_zone_inquiry())
    assert record_of(answer, ZoneRecord).nome == shown


def test_inquiry_uses_its_upstream() -> None:
    asked: list[str] = []

    def upstream_for(inquiry: Inquiry) -> Upstream:
        def upstream(request: httpx2.Request) -> httpx2.Response:
            asked.append(f"{inquiry.subject} {inquiry.uf} {request.url.path}")
            return httpx2.Response(200, json={"perpetual": 1, "transient": 0})

        return an_upstream(upstream, base_url="http://upstream.test")

    source = AdapterSource("acme", CnpjaAdapter(KEY), upstream_for, now=lambda: NOW)
    assert source.parts == {"types"}
    assert asyncio.run(source.probe(a_uf("SC"))) == "respondeu; saldo no fornecedor: 1"
    with pytest.raises(SourceFailed):
        asyncio.run(source.ask(an_inquiry()))
    assert asked == ["state_registration SC /credit", f"company None /office/{CNPJ}"]


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (MinhaReceitaAdapter(), json.loads(MINHA_RECEITA) | {"razao_social": ""}),
        (
            MinhaReceitaAdapter(),
            json.loads(MINHA_RECEITA)
            | {"situacao_cadastral": None, "descricao_situacao_cadastral": None},
        ),
        (MinhaReceitaAdapter(), {"razao_social": "X", "situacao_cadastral": 2}),
        (CnpjaAdapter(KEY), CNPJA | {"company": {"name": None}}),
        (CnpjaAdapter(KEY), CNPJA | {"status": {"id": 99, "text": "Outra"}}),
        (CnpjaAdapter(KEY), {name: CNPJA[name] for name in CNPJA if name != "taxId"}),
        (SerproAdapter(), {name: SERPRO[name] for name in SERPRO if name != "nomeEmpresarial"}),
        (SerproAdapter(), SERPRO | {"situacaoCadastral": None}),
        (SerproAdapter(), {name: SERPRO[name] for name in SERPRO if name != "ni"}),
    ],
)
def test_an_incomplete_answer_is_a_failure(adapter: Adapter, body: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed) as caught:
        ask(adapter, body)
    assert CNPJ not in caught.value.detail


@pytest.mark.parametrize(
    ("adapter", "body"),
    [(CnpjaAdapter(KEY), {"code": 404, "message": "tax id not registered"}), (SerproAdapter(), {})],
)
def test_absence_is_conclusive_if_documented(adapter: Adapter, body: dict[str, Any]) -> None:
    measured = Measured()
    assert ask(adapter, body, status=404, measured=measured) == Absent("acme", conclusive=True)
    assert measured.outcomes == ["absent"]


def test_a_cpf_is_masked_unless_full_partners_are_asked_for() -> None:
    partner = SERPRO["socios"][0] | {
        "cpf": "111.222.333-44",
        "representanteLegal": {"cpf": "22233344455", "nome": "BELTRANO 222.333.444-55"},
    }
    body = SERPRO | {"nomeEmpresarial": "FULANA DE TAL 11122233344", "socios": [partner]}
    adapter = SerproAdapter(full_partners=True)

    company = record_of(ask(adapter, body), Company)
    assert company.nome_empresarial == "FULANA DE TAL ***222333**"
    assert company.socios[0].cpf_cnpj_socio == "***222333**"
    assert company.socios[0].documento_representante_legal == "***333444**"
    assert company.socios[0].nome_representante_legal == "BELTRANO ***333444**"

    company = record_of(ask(adapter, body, an_inquiry(full_partners=True)), Company)
    assert company.nome_empresarial == "FULANA DE TAL 11122233344"
    assert company.socios[0].cpf_cnpj_socio == "11122233344"
    assert company.socios[0].documento_representante_legal == "22233344455"


def test_masked_partners_do_not_answer_the_opt_in() -> None:
    company = a_company(socios=(Partner(nome="FULANA", cpf_cnpj_socio="***222333**"),))
    validated("acme", company, an_inquiry())
    with pytest.raises(SourceFailed, match="ocultou"):
        validated("acme", company, an_inquiry(full_partners=True))


def test_letters_are_compared_exactly() -> None:
    validated("acme", a_company(LETTERS), an_inquiry(LETTERS))
    with pytest.raises(SourceFailed):
        validated("acme", a_company(LETTERS.lower()), an_inquiry(LETTERS))


@pytest.mark.parametrize(
    ("adapter", "plain", "letters", "full"),
    [
        (MinhaReceitaAdapter(), True, True, False),
        (CnpjaAdapter(KEY), True, False, False),
        (CnpjaAdapter(KEY, accepts_alphanumeric=True), True, True, False),
        (InfosimplesAdapter("the-token", accepts_alphanumeric=True), False, False, False),
        (SerproAdapter(), True, True, False),
        (SerproAdapter(accepts_alphanumeric=False, full_partners=True), True, False, True),
    ],
)
def test_capabilities_by_inquiry(adapter: Adapter, plain: bool, letters: bool, full: bool) -> None:
    upstream = an_upstream(lambda request: httpx2.Response(200))
    source = AdapterSource("acme", adapter, lambda _: upstream, now=lambda: NOW)
    assert source.serves(an_inquiry()) == plain
    assert source.serves(an_inquiry(LETTERS)) == letters
    assert source.serves(an_inquiry(full_partners=True)) == full
