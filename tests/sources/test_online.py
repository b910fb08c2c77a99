"""An adapter and its upstream put together: what every answer must pass."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from balcao.core.company import Partner
from balcao.core.questions import Inquiry
from balcao.errors import SourceError, SourceFailed
from balcao.sources.call import Layer
from balcao.sources.cnpja import Cnpja
from balcao.sources.contract import Absent, Answer, Found
from balcao.sources.minha_receita import MinhaReceita
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import Adapter, Online, must_be_usable
from balcao.sources.serpro import Serpro
from tests.sources.test_cnpja import KEY
from tests.sources.test_cnpja import SAVED as CNPJA
from tests.sources.test_minha_receita import SAVED as MINHA_RECEITA
from tests.sources.test_serpro import SAVED as SERPRO
from tests.sources.world import (
    CNPJ,
    LETTERS,
    NOW,
    OTHER_CNPJ,
    Clock,
    Measured,
    a_company,
    an_inquiry,
    an_upstream,
)

ADAPTERS: list[tuple[Adapter, dict[str, Any]]] = [
    (MinhaReceita(), json.loads(MINHA_RECEITA)),
    (MinhaReceita(flavour="brasilapi"), json.loads(MINHA_RECEITA)),
    (Cnpja(KEY), CNPJA),
    (Serpro(full_partners=True), SERPRO),
]


def ask(
    adapter: Adapter,
    body: Any,
    inquiry: Inquiry | None = None,
    *,
    status: int = 200,
    measured: Measured | None = None,
    through: Layer | None = None,
) -> Answer:
    upstream = an_upstream(
        lambda request: httpx2.Response(status, json=body),
        observe=measured.append if measured is not None else lambda call: None,
    )
    source = Online("acme", adapter, upstream, now=lambda: NOW, through=through)
    return asyncio.run(source.ask(inquiry or an_inquiry()))


@pytest.mark.parametrize(("adapter", "saved"), ADAPTERS)
def test_found_says_who_and_when(adapter: Adapter, saved: dict[str, Any]) -> None:
    answer = ask(adapter, saved)
    assert isinstance(answer, Found)
    assert (answer.source, answer.as_of) == ("acme", NOW)
    assert answer.record.cnpj == CNPJ
    assert answer.record.nome_empresarial == "EMPRESA FICTICIA DE TESTES LTDA"


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


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (MinhaReceita(), json.loads(MINHA_RECEITA) | {"razao_social": ""}),
        (
            MinhaReceita(),
            json.loads(MINHA_RECEITA)
            | {"situacao_cadastral": None, "descricao_situacao_cadastral": None},
        ),
        (MinhaReceita(), {"razao_social": "X", "situacao_cadastral": 2}),
        (Cnpja(KEY), CNPJA | {"company": {"name": None}}),
        (Cnpja(KEY), CNPJA | {"status": {"id": 99, "text": "Outra"}}),
        (Cnpja(KEY), {name: CNPJA[name] for name in CNPJA if name != "taxId"}),
        (Serpro(), {name: SERPRO[name] for name in SERPRO if name != "nomeEmpresarial"}),
        (Serpro(), SERPRO | {"situacaoCadastral": None}),
        (Serpro(), {name: SERPRO[name] for name in SERPRO if name != "ni"}),
    ],
)
def test_an_incomplete_answer_is_a_failure(adapter: Adapter, body: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed) as caught:
        ask(adapter, body)
    assert CNPJ not in caught.value.detail


@pytest.mark.parametrize(
    ("adapter", "body", "conclusive"),
    [
        (MinhaReceita(), {"message": "não encontrado"}, False),
        (MinhaReceita(flavour="brasilapi"), {"message": "x", "name": "NotFoundError"}, False),
        (Cnpja(KEY), {"code": 404, "message": "tax id not registered"}, True),
        (Serpro(), {}, True),
    ],
)
def test_absent_is_proof_where_the_documentation_says_so(
    adapter: Adapter, body: dict[str, Any], conclusive: bool
) -> None:
    measured = Measured()
    assert ask(adapter, body, status=404, measured=measured) == Absent("acme", conclusive)
    assert measured.outcomes == ["absent"]


def test_a_cpf_is_masked_unless_full_partners_are_asked_for() -> None:
    partner = SERPRO["socios"][0] | {
        "cpf": "111.222.333-44",
        "representanteLegal": {"cpf": "22233344455", "nome": "BELTRANO 222.333.444-55"},
    }
    body = SERPRO | {"nomeEmpresarial": "FULANA DE TAL 11122233344", "socios": [partner]}
    adapter = Serpro(full_partners=True)

    answer = ask(adapter, body)
    assert isinstance(answer, Found)
    assert answer.record.nome_empresarial == "FULANA DE TAL ***222333**"
    assert answer.record.socios[0].cpf_cnpj_socio == "***222333**"
    assert answer.record.socios[0].documento_representante_legal == "***333444**"
    assert answer.record.socios[0].nome_representante_legal == "BELTRANO ***333444**"

    answer = ask(adapter, body, an_inquiry(full_partners=True))
    assert isinstance(answer, Found)
    assert answer.record.nome_empresarial == "FULANA DE TAL 11122233344"
    assert answer.record.socios[0].cpf_cnpj_socio == "11122233344"
    assert answer.record.socios[0].documento_representante_legal == "22233344455"


def test_masked_partners_do_not_answer_a_question_for_full_ones() -> None:
    company = a_company(socios=(Partner(nome="FULANA", cpf_cnpj_socio="***222333**"),))
    must_be_usable("acme", company, an_inquiry())
    with pytest.raises(SourceFailed, match="ocultou"):
        must_be_usable("acme", company, an_inquiry(full_partners=True))


def test_letters_are_compared_as_they_are() -> None:
    must_be_usable("acme", a_company(LETTERS), an_inquiry(LETTERS))
    with pytest.raises(SourceFailed):
        must_be_usable("acme", a_company(LETTERS.lower()), an_inquiry(LETTERS))


@pytest.mark.parametrize(
    ("adapter", "plain", "letters", "full"),
    [
        (MinhaReceita(), True, True, False),
        (Cnpja(KEY), True, False, False),
        (Cnpja(KEY, accepts_alphanumeric=True), True, True, False),
        (Serpro(), True, True, False),
        (Serpro(accepts_alphanumeric=False, full_partners=True), True, False, True),
    ],
)
def test_what_a_source_is_asked(adapter: Adapter, plain: bool, letters: bool, full: bool) -> None:
    upstream = an_upstream(lambda request: httpx2.Response(200))
    source = Online("acme", adapter, upstream, now=lambda: NOW)
    assert source.serves(an_inquiry()) == plain
    assert source.serves(an_inquiry(LETTERS)) == letters
    assert source.serves(an_inquiry(full_partners=True)) == full


def test_serpro_with_its_token_end_to_end() -> None:
    seen: list[tuple[str, str]] = []

    def gateway(request: httpx2.Request) -> httpx2.Response:
        authorization = request.headers["authorization"]
        seen.append((request.url.path, authorization.split()[0]))
        if request.url.path == "/prefix/token":
            return httpx2.Response(200, json={"access_token": "t1", "expires_in": 3600})
        if authorization != "Bearer t1":
            return httpx2.Response(401)
        return httpx2.Response(200, json=SERPRO)

    async def story() -> None:
        token = ClientCredentials("serpro", key="k", secret="s", clock=Clock())
        source = Online("serpro", Serpro(), an_upstream(gateway), now=lambda: NOW, through=token)
        for _ in range(2):
            assert isinstance(await source.ask(an_inquiry()), Found)

    asyncio.run(story())
    path = f"/prefix/consulta-cnpj-df/v2/qsa/{CNPJ}"
    assert seen == [("/prefix/token", "Basic"), (path, "Bearer"), (path, "Bearer")]


def test_refused_credentials_are_said_loudly_and_secretly() -> None:
    async def story() -> None:
        token = ClientCredentials("serpro", key="the-key", secret="the-secret", clock=Clock())
        upstream = an_upstream(lambda request: httpx2.Response(401, json={"error": "x"}))
        source = Online("serpro", Serpro(), upstream, now=lambda: NOW, through=token)
        with pytest.raises(SourceError, match="VERIFIQUE A CONFIGURAÇÃO") as caught:
            await source.ask(an_inquiry())
        assert "the-" not in caught.value.detail

    asyncio.run(story())
