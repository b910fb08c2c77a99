"""CNPJá's state registrations, with saved bytes (`cnpja.md` section 2, `ccc.md` section 2)."""

from collections.abc import Mapping
from typing import Any

import pytest

from balcao.core.errors import SourceFailed
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.core.registration import Registration, Registrations
from balcao.providers.cnpja.adapter import CnpjaAdapter
from tests.records import CPF
from tests.sources.adapters import CNPJ, LETTERS, a_reply, a_uf, run_conversation
from tests.sources.test_cnpja import KEY
from tests.sources.test_cnpja_refusals import error

IN_SC: dict[str, Any] = {
    "number": "250000008",
    "state": "SC",
    "enabled": True,
    "statusDate": "2021-06-15",
    "status": {"id": 1, "text": "Sem restrição"},
    "type": {"id": 1, "text": "IE Normal"},
}
IN_RS: dict[str, Any] = {
    "number": "0960000003",
    "state": "RS",
    "enabled": False,
    "statusDate": "2023-02-01",
    "status": {"id": 2, "text": "Bloqueado como destinatário na UF"},
    "type": {"id": 2, "text": "IE Substituto Tributário"},
}
SAVED: dict[str, Any] = {
    "taxId": CNPJ,
    "updated": "2026-08-05T13:15:30.120Z",
    "name": "EMPRESA FICTICIA DE TESTES LTDA",
    "originState": "SC",
    "registrations": [IN_SC],
}

FOUND_IN_SC = Registrations(
    documento=CNPJ,
    uf="SC",
    nome="EMPRESA FICTICIA DE TESTES LTDA",
    uf_principal="SC",
    com_endereco=False,
    inscricoes=(
        Registration(
            inscricao_estadual="250000008",
            uf="SC",
            ativa=True,
            tipo_ie="IE Normal",
            situacao_pj="Sem restrição",
            data_status="2021-06-15",
            updated_at="2026-08-05 10:15:30",
        ),
    ),
)
FOUND_IN_RS = Registrations(
    documento=CNPJ,
    uf="RS",
    nome="EMPRESA FICTICIA DE TESTES LTDA",
    uf_principal="SC",
    inscricoes=(
        Registration(
            inscricao_estadual="0960000003",
            uf="RS",
            ativa=False,
            tipo_ie="IE Substituto Tributário",
            situacao_pj="Bloqueado como destinatário na UF",
            data_status="2023-02-01",
            updated_at="2026-08-05 10:15:30",
        ),
    ),
)


def read(body: dict[str, Any], inquiry: Inquiry | None = None) -> Registrations:
    _, found = run_conversation(CnpjaAdapter(KEY).converse(inquiry or a_uf()), a_reply(200, body))
    assert isinstance(found, Registrations)
    return found


def the_first(**changes: Any) -> Registration:
    """Return the first registration of the saved reply with changes."""
    return read(SAVED | {"registrations": [IN_SC | changes]}).inscricoes[0]


def read_together(
    body: dict[str, Any], *ufs: str, status: int = 200
) -> Mapping[str, Registrations] | None:
    conversation = CnpjaAdapter(KEY).converse_combined([a_uf(uf) for uf in ufs])
    return run_conversation(conversation, a_reply(status, body))[1]


def test_one_uf_fills_every_field() -> None:
    assert read(SAVED) == FOUND_IN_SC


@pytest.mark.parametrize(
    ("inquiry", "tax_id", "states"),
    [(a_uf(), CNPJ, "SC"), (a_uf("SP", LETTERS), LETTERS, "SP"), (a_uf("MT", CPF), CPF, "MT")],
)
def test_request_by_document_and_uf(inquiry: Inquiry, tax_id: str, states: str) -> None:
    request = next(CnpjaAdapter(KEY).converse(inquiry))
    assert (request.method, request.path) == ("GET", "/ccc")
    fresh = {"strategy": "CACHE_IF_FRESH", "maxAge": "1"}
    assert request.query == {"taxId": tax_id, "states": states} | fresh
    assert request.headers == {"authorization": KEY}
    assert tax_id not in repr(request)


@pytest.mark.parametrize(
    ("ufs", "all_ufs", "states"),
    [
        (UFS, "lista", ",".join(UFS)),
        (UFS, "BR", "BR"),
        (UFS, "ALL", "ALL"),
        (tuple(reversed(UFS)), "BR", "BR"),
        (("SC", "RS", "PR"), "BR", "SC,RS,PR"),
        (UFS[1:], "BR", ",".join(UFS[1:])),
    ],
)
def test_several_ufs_are_a_list_and_all_a_keyword(
    ufs: tuple[str, ...], all_ufs: str, states: str
) -> None:
    conversation = CnpjaAdapter(KEY, all_ufs=all_ufs).converse_combined([a_uf(uf) for uf in ufs])
    assert next(conversation).query["states"] == states


def test_several_ufs_are_all_answered() -> None:
    body = SAVED | {"registrations": [IN_SC, IN_RS]}
    assert read_together(body, "PR", "SC", "RS") == {
        "PR": Registrations(CNPJ, "PR", "EMPRESA FICTICIA DE TESTES LTDA", "SC"),
        "SC": FOUND_IN_SC,
        "RS": FOUND_IN_RS,
    }


def test_only_a_cnpj_is_asked_in_several_ufs_at_once() -> None:
    assert CnpjaAdapter(KEY).can_combine(a_uf())
    assert not CnpjaAdapter(KEY).can_combine(a_uf("SP", CPF))


def test_a_rural_producer_by_cpf() -> None:
    kind = {"id": 4, "text": "IE de Produtor Rural"}
    body = SAVED | {"taxId": CPF, "registrations": [IN_SC | {"type": kind}]}
    found = read(body, a_uf("SC", CPF))
    assert found.documento == CPF
    assert found.inscricoes[0].tipo_ie == "IE de Produtor Rural"


def test_empty_list_and_404_mean_none() -> None:
    assert read(SAVED | {"registrations": []}).inscricoes == ()
    absent = error(404, "tax id not registered at revenue service")
    assert run_conversation(CnpjaAdapter(KEY).converse(a_uf()), absent)[1] == Registrations(
        CNPJ, "SC"
    )
    conversation = CnpjaAdapter(KEY).converse_combined([a_uf("SC"), a_uf("RS")])
    assert run_conversation(conversation, absent)[1] == {
        "SC": Registrations(CNPJ, "SC"),
        "RS": Registrations(CNPJ, "RS"),
    }


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ({"id": 1, "text": "IE Normal"}, "IE Normal"),
        ({"id": 2, "text": "ie substituto tributario"}, "IE Substituto Tributário"),
        (
            {"id": 3, "text": "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)"},
            "IE Não Contribuinte (Canteiro de Obras, IE Virtual, outros)",
        ),
        ({"id": 4, "text": "IE de Produtor Rural"}, "IE de Produtor Rural"),
        (
            {"id": 4, "text": "IE Contribuinte da UF com Endereço em Outra UF"},
            "IE Contribuinte da UF com Endereço em Outra UF",
        ),
        ({"id": 5, "text": "IE de Produtor Rural"}, "IE de Produtor Rural"),
        ({"id": 9, "text": "IE Não Informada"}, "IE Não Informada"),
        ({"id": 5}, "IE de Produtor Rural"),
        ({"id": 4}, None),  # one of two, by the version of their tables
        ({"id": 77, "text": "Outra"}, None),
        (None, None),
    ],
)
def test_types(kind: dict[str, Any] | None, text: str | None) -> None:
    assert the_first(type=kind).tipo_ie == text


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"id": 1, "text": "Sem restrição"}, "Sem restrição"),
        (
            {"id": 2, "text": "Bloqueado como destinatário na UF"},
            "Bloqueado como destinatário na UF",
        ),
        (
            {"id": 3, "text": "Vedada operação como Destinatário na UF"},
            "Vedada operação como destinatário na UF",
        ),
        ({"id": 10, "text": "Emitente bloqueado"}, "Emitente bloqueado no destino"),
        ({"id": 77, "text": "Outra"}, None),
        (None, None),
    ],
)
def test_situations(status: dict[str, Any] | None, text: str | None) -> None:
    assert the_first(status=status).situacao_pj == text


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("2026-08-05T13:15:30.120Z", "2026-08-05 10:15:30"),
        ("2018-12-01T01:00:00.000Z", "2018-11-30 23:00:00"),  # summer time
        ("2026-08-05T10:15:30-03:00", "2026-08-05 10:15:30"),
        (None, None),
    ],
)
def test_updated_at_in_brasilia(theirs: str | None, ours: str | None) -> None:
    assert read(SAVED | {"updated": theirs}).inscricoes[0].updated_at == ours


def test_optional_fields() -> None:
    registration = {name: IN_SC[name] for name in ("number", "state", "enabled")}
    body = {"taxId": CNPJ, "registrations": [registration]}
    assert read(body) == Registrations(
        CNPJ, "SC", inscricoes=(Registration("250000008", "SC", ativa=True),)
    )
    assert read(SAVED | {"originState": "EX"}).uf_principal is None


WRONG = [
    *(
        SAVED | {"registrations": [{each: IN_SC[each] for each in IN_SC if each != name}]}
        for name in ("number", "state", "enabled")
    ),
    {name: SAVED[name] for name in SAVED if name != "taxId"},
    {name: SAVED[name] for name in SAVED if name != "registrations"},
    SAVED | {"registrations": None},
    SAVED | {"registrations": [IN_SC | {"number": " "}]},
    SAVED | {"registrations": [IN_SC | {"number": 250000008}]},
    SAVED | {"registrations": [IN_SC | {"enabled": None}]},
    SAVED | {"registrations": [IN_SC | {"enabled": "true"}]},
    SAVED | {"registrations": [IN_SC, IN_RS]},  # a UF that was not requested
]


@pytest.mark.parametrize("updated", ["2026-08-05 10:15:30", "ontem", "0001-01-01T00:00:00Z"])
def test_invalid_time_is_absent(updated: str) -> None:
    (registration,) = read(SAVED | {"updated": updated, "registrations": [IN_SC]}).inscricoes
    assert registration.updated_at is None
    assert registration.data_status is not None


def test_invalid_date_is_absent() -> None:
    body = SAVED | {"registrations": [IN_SC | {"statusDate": "15/06/2021"}]}
    (registration,) = read(body).inscricoes
    assert registration.data_status is None
    assert registration.updated_at is not None


@pytest.mark.parametrize("given", ["ISENTO", "isenta", "NAO CONTRIBUINTE", "Não obrigado"])
def test_number_without_digits_is_ignored(given: str) -> None:
    body = SAVED | {"registrations": [IN_SC | {"number": given}, IN_SC]}
    assert len(read(body).inscricoes) == 1
    assert read(SAVED | {"registrations": [IN_SC | {"number": given}]}).inscricoes == ()


@pytest.mark.parametrize("enabled", [None, "sim"])
def test_unknown_situation_discards_no_others(enabled: object) -> None:
    other = IN_SC | {"number": "250000016", "enabled": enabled}
    found = read(SAVED | {"registrations": [other, IN_SC]})
    assert len(found.inscricoes) == 1
    assert found.omitidas == 1
    with pytest.raises(SourceFailed, match="situação desconhecida"):
        read(SAVED | {"registrations": [other]})


@pytest.mark.parametrize("body", WRONG)
def test_unusable_replies(body: dict[str, Any]) -> None:
    with pytest.raises(SourceFailed) as caught:
        read(body)
    assert caught.value.detail.startswith("cnpja: ")
    assert CNPJ not in str(caught.value)


def test_unrequested_uf_is_a_failure() -> None:
    with pytest.raises(SourceFailed, match="outra UF"):
        read_together(SAVED | {"registrations": [IN_SC, IN_RS]}, "SC", "PR")
