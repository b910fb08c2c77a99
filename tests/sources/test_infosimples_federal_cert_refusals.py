"""Infosimples: refused or invalid federal certificates (`infosimples.md` section 4)."""

from typing import Any
from urllib.parse import parse_qs

import pytest

from balcao.core.certificates import FederalCertificate
from balcao.core.errors import (
    DataRefused,
    NewIssueRefused,
    SourceError,
    SourceFailed,
    SourceUnavailable,
)
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import HttpReply
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, LETTERS, a_reply, run_conversation
from tests.sources.certificates_world import (
    BRANCH,
    TOKEN,
    certified,
    enveloped,
    federal,
    the_federal,
)
from tests.sources.test_infosimples_federal_cert import BARE, SAVED, TITLE, failing, read


def test_title_without_a_certificate() -> None:
    page = BARE | {"certidao": TITLE, "mensagem": "Informações insuficientes."}
    nothing = page | {"conseguiu_emitir_certidao_negativa": False}
    result = certified(federal(), enveloped(200, nothing))
    assert result.certificate == FederalCertificate(
        document=CNPJ,
        message="Informações insuficientes.",
        provider_code=200,
        provider_billable=True,
        provider_elapsed_ms=4210,
    )
    for flag in (True, None):
        page = nothing | {"conseguiu_emitir_certidao_negativa": flag}
        assert "sem código e validade" in str(failing(enveloped(200, page)))


@pytest.mark.parametrize("document", [CNPJ, CPF])
@pytest.mark.parametrize("code", [611, 612])
def test_refused_issuance_is_a_result(code: int, document: str) -> None:
    kind = "cnpj" if document == CNPJ else "cpf"
    header = {
        "billable": True,
        "elapsed_time_in_milliseconds": 13965,
        "parameters": {kind: document},
    }
    receipts = ["https://storage.example.com/receipts/0002.html"]
    reply = enveloped(
        code, header=header, errors=["Informações ", "insuficientes."], site_receipts=receipts
    )
    result = certified(federal(document), reply)
    assert result.certificate == FederalCertificate(
        document=document,
        message="Informações insuficientes.",
        provider_code=code,
        provider_billable=True,
        provider_elapsed_ms=13965,
    )
    assert not the_federal(result).good
    assert result.receipt == receipts[0]


@pytest.mark.parametrize("errors", [None, [], {}, "text", [1, None]])
@pytest.mark.parametrize("receipts", [None, [], {}, "text", [1, None, ""]])
def test_reasons_and_receipts_are_optional(errors: Any, receipts: Any) -> None:
    result = certified(
        federal(), enveloped(611, errors=errors, site_receipts=receipts, header=None)
    )
    assert the_federal(result).message == "A fonte não pôde emitir a certidão pela internet."
    assert result.receipt is None


def test_a_wrong_birth_date_is_refused_data() -> None:
    error = failing(enveloped(608), cpf=True)
    assert type(error) is DataRefused
    assert "608" in error.detail


def test_company_has_no_birth_date_to_correct() -> None:
    assert type(failing(enveloped(608))) is SourceFailed


INSUFFICIENT = (
    "As informações disponíveis na Receita Federal sobre o contribuinte são insuficientes para"
    " emitir a certidão pela Internet."
)
IN_FORCE = "Há certidão positiva com efeitos de negativa em vigor. Emita a segunda via."
INAPT = (
    "Inscrição no CNPJ 11.222.333/0001-81 Inapta  - Omissão de declarações, emissão de certidão"
    " não permitida"
)


@pytest.mark.parametrize("document", [CNPJ, CPF])
@pytest.mark.parametrize(
    ("code", "reason"), [(611, INSUFFICIENT), (611, ""), (612, ""), (620, IN_FORCE)]
)
@pytest.mark.parametrize("billable", [False, True])
def test_a_refused_new_issuance_is_no_impossibility(
    document: str, code: int, reason: str, billable: bool
) -> None:
    """A certificate may be in force: "impossible" would be wrong, charged and stored."""
    reply = enveloped(code, errors=[reason], header={"billable": billable})
    with pytest.raises(NewIssueRefused, match=str(code)) as caught:
        certified(federal(document, reissue=True), reply)
    assert CNPJ not in str(caught.value)


@pytest.mark.parametrize("reissue", [False, True])
def test_a_permanent_error_without_a_verdict_is_a_failure(reissue: bool) -> None:
    """Never `SourceUnavailable`, which may be retried automatically and charged each time."""
    for reason in ([], ["Tente novamente mais tarde."], ["Já existe um pedido em processamento."]):
        with pytest.raises(SourceFailed, match="620"):
            certified(federal(reissue=reissue), enveloped(620, errors=reason))


@pytest.mark.parametrize("code", [608, 611, 620])
@pytest.mark.parametrize("reissue", [False, True])
def test_inapt_is_final(code: int, reissue: bool) -> None:
    result = the_federal(certified(federal(reissue=reissue), enveloped(code, errors=[INAPT])))
    assert (result.kind, result.issued, result.provider_code) == (None, False, code)
    assert "Inapta - Omissão" in (result.message or "").replace("  ", " ")


@pytest.mark.parametrize(
    "reason",
    [
        "023 - Não foi possível concluir. Tente novamente.",
        "033: retorne em alguns minutos para o resultado",
        "Código 106. Serviço temporariamente indisponível.",
        "Estamos analisando seu pedido de certidão.",
        "O serviço está temporariamente indisponível",
    ],
)
@pytest.mark.parametrize("code", [611, 612])
@pytest.mark.parametrize("reissue", [False, True])
def test_later_is_an_outage(code: int, reason: str, reissue: bool) -> None:
    with pytest.raises(SourceFailed, match=str(code)):
        certified(federal(reissue=reissue), enveloped(code, errors=[reason]))
    free = enveloped(code, errors=[reason], header={"billable": False})
    under_way = "analisando" in reason or "resultado" in reason
    with pytest.raises(SourceFailed if under_way else SourceUnavailable):
        certified(federal(reissue=reissue), free)


def test_later_in_the_message_of_an_empty_page() -> None:
    page = BARE | {"certidao": TITLE, "conseguiu_emitir_certidao_negativa": False}
    reply = enveloped(200, page | {"mensagem": "Estamos analisando seu pedido."})
    assert type(failing(reply)) is SourceFailed


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, SourceFailed) for code in (600, 604, 605, 606, 607, 614, 616, 619, 621, 666)),
        *((code, SourceUnavailable) for code in (601, 602, 603, 609, 610, 613, 615)),
        *((code, SourceUnavailable) for code in (617, 618, 622)),
    ],
)
def test_other_codes_have_their_usual_meaning(code: int, kind: type[SourceError]) -> None:
    assert type(failing(enveloped(code))) is kind
    assert type(failing(enveloped(code), cpf=True)) is kind


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"tipo": None, "certidao": "", "certidao_codigo": None},
        {"cnpj": "", "normalizado_cnpj": None},
        {"validade_data": "19/06/2026"},
        {"validade_data": "", "validade": "19/06/2026"},
        {"validade_prorrogada": "19/06/2026"},
        {"validade_data": "31/02/2027"},
        {"validade_prorrogada": "99/99/9999"},
        {"validade_data": "Vencida"},
        {"situacao": "Válida Prorrogada até 31/02/2027"},
        {"debitos_rfb": "Sim"},
    ],
)
def test_incomplete_and_impossible_answers(changes: dict[str, Any]) -> None:
    assert type(failing(enveloped(200, SAVED | changes))) is SourceFailed


@pytest.mark.parametrize(
    "reply",
    [
        enveloped(200),
        enveloped(200, None),
        enveloped(200, []),
        enveloped(200, {}),
        enveloped(200, SAVED, status=500),
        a_reply(200, b"<html></html>"),
        a_reply(504, b""),
    ],
)
def test_no_answer_at_all(reply: HttpReply) -> None:
    assert type(failing(reply)) is SourceFailed


def test_an_answer_about_the_head_office() -> None:
    result = certified(federal(BRANCH), enveloped(200, SAVED, header=None))
    assert the_federal(result).document == CNPJ
    assert the_federal(result).document[:8] == BRANCH[:8]


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizado_cnpj": OTHER_CNPJ},
        {"cnpj": "90.010.001/0001-00"},
        {"normalizado_cnpj": BRANCH, "cnpj": "90.010.001/0001-00"},
        {"normalizado_cnpj": "", "cnpj": "90.010.001/0001-00"},
        {"normalizado_cnpj": None, "cnpj": None, "cpf": "900.100.001-00"},
    ],
)
def test_reply_about_another_document_has_that_document(changes: dict[str, Any]) -> None:
    result = read(**changes)
    assert result.document in (OTHER_CNPJ, CPF)


@pytest.mark.parametrize("reply", [enveloped(611), enveloped(200, SAVED)])
def test_reply_to_another_query_has_its_document(reply: HttpReply) -> None:
    result = certified(federal(OTHER_CNPJ), reply)
    assert the_federal(result).document == CNPJ


# --- capabilities ------------------------------------------------------------------------------


def test_capabilities() -> None:
    may = InfosimplesAdapter(TOKEN, ufs=frozenset({"SC"})).capabilities
    assert may.include(federal())
    assert may.include(federal(CPF))
    assert may.include(federal(reissue=True))
    assert not may.include(federal(LETTERS))


def test_a_probe() -> None:
    requests, result = run_conversation(InfosimplesAdapter(TOKEN).probe(federal()), enveloped(604))
    assert result == "respondeu"
    (request,) = requests
    assert request.path == "/api/v2/consultas/receita-federal/pgfn"
    assert parse_qs((request.within(25).body or b"").decode()) == {
        "token": [TOKEN],
        "preferencia_emissao": ["2via"],
        "ignore_site_receipt": ["1"],
        "timeout": ["sonda"],
    }
    with pytest.raises(SourceUnavailable, match="603"):
        run_conversation(InfosimplesAdapter(TOKEN).probe(federal()), enveloped(603))
