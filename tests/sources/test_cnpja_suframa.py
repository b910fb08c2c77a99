"""CNPJá's free-trade-zone registry, with saved bytes (`cnpja.md` section 3)."""

from typing import Any

import msgspec
import pytest

from balcao.core.errors import SourceFailed
from balcao.core.suframa import (
    Incentive,
    NumberedText,
    ZoneActivity,
    ZoneAddress,
    ZoneCountry,
    ZoneEmail,
    ZonePhone,
    ZoneRecord,
)
from balcao.providers.cnpja.adapter import CnpjaAdapter
from tests.sources.adapters import CNPJ, a_reply, a_zone_inquiry, run_conversation
from tests.sources.test_cnpja import KEY
from tests.sources.test_cnpja_refusals import error

SAVED: dict[str, Any] = {
    "taxId": CNPJ,
    "updated": "2026-08-05T13:15:30.120Z",
    "number": "200000012",
    "name": "EMPRESA FICTICIA DE TESTES LTDA",
    "since": "2020-01-01",
    "head": True,
    "approved": True,
    "approvalDate": "2021-01-01",
    "status": {"id": 1, "text": "Ativa"},
    "nature": {"id": 2062, "text": "Sociedade Empresária Limitada"},
    "address": {
        "municipality": 1302603,
        "street": "Avenida Fictícia",
        "number": "100",
        "district": "Distrito Industrial",
        "city": "Manaus",
        "state": "AM",
        "details": "Galpão 2",
        "zip": "69075000",
        "country": {"id": 76, "name": "Brasil"},
    },
    "phones": [{"type": "LANDLINE", "area": "92", "number": "30000000"}],
    "emails": [
        {"ownership": "CORPORATE", "address": "contato@example.com", "domain": "example.com"}
    ],
    "mainActivity": {
        "id": 2610800,
        "text": "Fabricação de componentes eletrônicos",
        "performed": True,
    },
    "sideActivities": [
        {"id": 4652400, "text": "Comércio atacadista de componentes", "performed": False}
    ],
    "incentives": [
        {
            "tribute": "IPI",
            "benefit": "Isenção",
            "purpose": "Consumo Interno, Industrialização e Utilização",
            "basis": "Decreto 7.212 de 2010 (Art. 81)",
        },
        {
            "tribute": "ICMS",
            "benefit": "Isenção",
            "purpose": "Industrialização e Comercialização",
            "basis": "Convênio ICMS 65 de 1988",
        },
    ],
}
NEEDED = ("taxId", "number", "name", "head", "approved", "status")

RECORD = ZoneRecord(
    cnpj=CNPJ,
    inscricao="200000012",
    nome="EMPRESA FICTICIA DE TESTES LTDA",
    matriz=True,
    aprovado=True,
    status=NumberedText(1, "Ativa"),
    atualizado_em="2026-08-05T13:15:30.120Z",
    desde="2020-01-01",
    data_aprovacao="2021-01-01",
    natureza_juridica=NumberedText(2062, "Sociedade Empresária Limitada"),
    endereco=ZoneAddress(
        codigo_municipio=1302603,
        logradouro="Avenida Fictícia",
        numero="100",
        bairro="Distrito Industrial",
        cidade="Manaus",
        estado="AM",
        cep="69075000",
        pais=ZoneCountry("Brasil"),
    ),
    telefones=(ZonePhone("92", "30000000"),),
    emails=(ZoneEmail("contato@example.com", "example.com"),),
    atividade_principal=ZoneActivity(2610800, True, "Fabricação de componentes eletrônicos"),
    atividades_secundarias=(ZoneActivity(4652400, False, "Comércio atacadista de componentes"),),
    incentivos=(
        Incentive(
            fundamento_legal="Decreto 7.212 de 2010 (Art. 81)",
            beneficio="Isenção",
            finalidade="Consumo Interno, Industrialização e Utilização",
            tributo="IPI",
        ),
        Incentive(
            fundamento_legal="Convênio ICMS 65 de 1988",
            beneficio="Isenção",
            finalidade="Industrialização e Comercialização",
            tributo="ICMS",
        ),
    ),
)


def read(body: dict[str, Any]) -> ZoneRecord:
    _, record = run_conversation(CnpjaAdapter(KEY).converse(a_zone_inquiry()), a_reply(200, body))
    assert isinstance(record, ZoneRecord)
    return record


def test_the_page_s_example_fills_every_field() -> None:
    assert read(SAVED) == RECORD


def test_request_by_document() -> None:
    request = next(CnpjaAdapter(KEY).converse(a_zone_inquiry()))
    assert (request.method, request.path) == ("GET", "/suframa")
    assert request.query == {"taxId": CNPJ, "strategy": "CACHE_IF_FRESH", "maxAge": "1"}
    assert request.headers == {"authorization": KEY}


@pytest.mark.parametrize(
    ("status", "ours"),
    [
        ({"id": 1, "text": "ATIVA"}, "Ativa"),
        ({"id": 2, "text": "Inativa"}, "Inativa"),
        ({"id": 3, "text": "Bloqueada"}, "Bloqueada"),
        ({"id": 4}, "Cancelada"),
        ({"id": 5, "text": "Cancelada Agência Reguladora"}, "Cancelada Ag. Rec."),
        ({"id": 6, "text": "Em análise"}, "Em análise"),
    ],
)
def test_statuses(status: dict[str, Any], ours: str) -> None:
    assert read(SAVED | {"status": status}).status == NumberedText(status["id"], ours)


def test_null_or_missing_is_absent() -> None:
    needed = {name: SAVED[name] for name in NEEDED}
    nothing: dict[str, Any] = {name: None for name in SAVED if name not in NEEDED}
    record = read(needed)
    assert record == read(needed | nothing)
    assert set(msgspec.to_builtins(record)) == {
        "cnpj",
        "inscricao",
        "nome",
        "matriz",
        "aprovado",
        "status",
    }


def test_empty_lists_are_kept_and_half_entries_are_not() -> None:
    record = read(
        SAVED
        | {
            "phones": [{"area": None, "number": "30000000"}, {"area": "92", "number": ""}],
            "emails": [{"address": "a@b.example", "domain": None}, {"domain": "b.example"}],
            "sideActivities": [],
            "incentives": [],
            "nature": {"id": 2062, "text": None},
            "address": {"details": "Galpão 2", "country": {"id": 76}},
        }
    )
    assert record.telefones == (ZonePhone("", "30000000"),)
    assert record.emails == (ZoneEmail("a@b.example", "b.example"),)
    assert record.atividades_secundarias == ()
    assert record.incentivos == ()
    assert record.natureza_juridica is None
    assert record.endereco is None


WRONG = [
    *({name: SAVED[name] for name in SAVED if name != missing} for missing in NEEDED),
    *(SAVED | {name: None} for name in NEEDED),
    SAVED | {"status": {"id": 6}},
    SAVED | {"status": {"text": "Ativa"}},
    SAVED | {"approved": "true"},
    SAVED | {"incentives": [{"tribute": "IPI", "benefit": "Isenção", "purpose": "X"}]},
    SAVED | {"sideActivities": [{"id": "2610800", "text": "X", "performed": True}]},
]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"updated": "05/08/2026"}, "atualizado_em"),
        ({"updated": "2026-08-05T13:15:30"}, "atualizado_em"),
        ({"since": "01/01/2020"}, "desde"),
        ({"approvalDate": "01/01/2020"}, "data_aprovacao"),
    ],
)
def test_invalid_date_is_absent(theirs: dict[str, str], ours: str) -> None:
    whole, record = read(SAVED), read(SAVED | theirs)
    assert getattr(record, ours) is None
    assert msgspec.structs.replace(record, **{ours: getattr(whole, ours)}) == whole


@pytest.mark.parametrize("body", WRONG)
def test_unusable_replies(body: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed) as caught:
        read(body)
    assert CNPJ not in str(caught.value)


def test_not_in_the_base_is_proof() -> None:
    reply = error(404, "tax id not registered at revenue service")
    assert run_conversation(CnpjaAdapter(KEY).converse(a_zone_inquiry()), reply)[1] is None
    assert CnpjaAdapter(KEY).conclusive_absence


@pytest.mark.parametrize(
    "activity",
    [
        None,
        "2610800",
        {"id": "2610800", "text": "X", "performed": True},
        {"id": 2610800, "text": "X", "performed": None},
    ],
)
def test_invalid_activity_is_absent(activity: Any) -> None:
    whole, record = read(SAVED), read(SAVED | {"mainActivity": activity})
    assert record == msgspec.structs.replace(whole, atividade_principal=None)
