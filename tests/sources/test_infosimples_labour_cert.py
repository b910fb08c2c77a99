"""Infosimples: the labour certificate (`infosimples.md` section 7)."""

from typing import Any

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.labour_certificate import LabourCertificate
from balcao.core.questions import Inquiry
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from tests.records import CPF
from tests.sources.adapters import CNPJ, run_conversation
from tests.sources.certificates_world import RECEIPT, SECRETS, TOKEN, certified, enveloped

NEGATIVE = "CERTIDÃO NEGATIVA DE DÉBITOS TRABALHISTAS"
POSITIVE = "CERTIDÃO POSITIVA DE DÉBITOS TRABALHISTAS"
WITH_EFFECT = f"{POSITIVE} COM EFEITO DE NEGATIVA"
LAWSUIT, OTHER = "0001234-56.2019.5.12.0001", "0009876-54.2020.5.12.0002"

SAVED: dict[str, Any] = {
    "certidao": "71234567/2026",
    "certidao_codigo": "",
    "cnpj": "11.222.333/0001-81",
    "conseguiu_emitir_certidao_negativa": True,
    "consta": False,
    "cpf": "",
    "emissao_data": "20/11/2026",
    "expedicao": "20/11/2026, às 10:15:38",
    "mensagem": NEGATIVE,
    "nome": "EMPRESA FICTICIA DE TESTES LTDA",
    "normalizado_cnpj": CNPJ,
    "normalizado_cpf": "",
    "normalizado_expedicao": "20/11/2026 10:15:38",
    "normalizado_validade": "19/05/2027",
    "processos_encontrados": [],
    "total_de_processos": "",
    "validade": "19/05/2027",
    "validade_data": "19/05/2027",
    "site_receipt": RECEIPT,
}
OF_DEBTOR = {"consta": True, "conseguiu_emitir_certidao_negativa": False}
LISTED = OF_DEBTOR | {"processos_encontrados": [LAWSUIT], "total_de_processos": 1}


def labour(document: str = CNPJ) -> Inquiry:
    person = len(document) == len(CPF)
    return Inquiry("labour_certificate", Cpf.parse(document) if person else Cnpj.parse(document))


def read(**changes: Any) -> LabourCertificate:
    found = certified(labour(), enveloped(200, SAVED | changes)).certificate
    assert isinstance(found, LabourCertificate)
    return found


def failing(code: int, *data: Any, **envelope: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        certified(labour(), enveloped(code, *data, **envelope))
    assert not any(secret in str(caught.value) for secret in SECRETS)
    return caught.value


def test_a_negative_certificate_is_read_whole() -> None:
    issuance = certified(labour(), enveloped(200, SAVED))
    assert issuance.receipt == RECEIPT
    assert issuance.certificate == LabourCertificate(
        document=CNPJ,
        kind="CND",
        title=NEGATIVE,
        number="71234567/2026",
        name="EMPRESA FICTICIA DE TESTES LTDA",
        issued_on="2026-11-20",
        issued_time="10:15:38",
        validity="2027-05-19",
        issued=True,
        listed=False,
        provider_code=200,
        provider_billable=True,
        provider_elapsed_ms=4210,
    )


@pytest.mark.parametrize(("document", "asked"), [(CNPJ, "cnpj"), (CPF, "cpf")])
def test_one_document_is_sent_and_nothing_else(document: str, asked: str) -> None:
    request = next(InfosimplesAdapter(TOKEN).certify(labour(document)))
    assert request.path == "/api/v2/consultas/tribunal/tst/cndt"
    sent = (request.within(25).body or b"").decode()
    assert f"{asked}={document}" in sent
    assert "preferencia_emissao" not in sent
    assert "birth" not in sent


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"mensagem": WITH_EFFECT} | LISTED, "CPEND"),
        ({"mensagem": f"{POSITIVE} COM EFEITOS DE NEGATIVA"} | LISTED, "CPEND"),
        ({"mensagem": "Certidão positiva com os mesmos efeitos da negativa"} | LISTED, "CPEND"),
        # The flag may be set either way, and neither flag distinguishes it from a positive one.
        (
            {"mensagem": WITH_EFFECT} | LISTED | {"conseguiu_emitir_certidao_negativa": True},
            "CPEND",
        ),
        ({"mensagem": POSITIVE} | LISTED, "CPD"),
        ({"mensagem": POSITIVE} | LISTED | {"conseguiu_emitir_certidao_negativa": True}, "CPD"),
        ({"mensagem": "Certidão emitida"} | LISTED, "CPD"),
        ({"mensagem": ""} | LISTED | {"conseguiu_emitir_certidao_negativa": True}, "CPEND"),
        ({"mensagem": ""} | OF_DEBTOR | {"conseguiu_emitir_certidao_negativa": True}, "CPD"),
        ({"mensagem": "", "processos_encontrados": [LAWSUIT]}, "CPD"),
        ({"mensagem": ""}, "CND"),
    ],
)
def test_the_words_decide_then_the_flags(changes: dict[str, Any], kind: str) -> None:
    found = read(**changes)
    assert (found.kind, found.issued, found.good) == (kind, kind != "CPD", kind != "CPD")


@pytest.mark.parametrize(
    "changes",
    [
        LISTED,  # a negative title, and lawsuits
        {"processos_encontrados": [LAWSUIT]},
        {"total_de_processos": "2"},
        {"consta": True},
        {"mensagem": "Não foi possível emitir a certidão negativa", "consta": None},
        {"mensagem": "", "conseguiu_emitir_certidao_negativa": False},
        {"mensagem": "", "consta": None},
        {"certidao": "", "validade": "", "validade_data": "", "normalizado_validade": ""},
        {"cnpj": "", "normalizado_cnpj": ""},
        {"validade_data": "19/11/2026"},  # before it was issued
    ],
)
def test_a_doubtful_answer_is_never_negative(changes: dict[str, Any]) -> None:
    assert type(failing(200, SAVED | changes)) is SourceFailed


@pytest.mark.parametrize(
    ("listed", "total", "lawsuits", "counted"),
    [
        ([LAWSUIT, OTHER], 2, (LAWSUIT, OTHER), 2),
        ([{"numero": LAWSUIT}, {"numero": OTHER}], "2", (LAWSUIT, OTHER), 2),
        ([{"numero": LAWSUIT}, OTHER, "", None, {}], "", (LAWSUIT, OTHER), 2),
        ([LAWSUIT], 7, (LAWSUIT,), 7),
        ([], 3, (), 3),
        (None, "", (), None),
        (None, None, (), None),
    ],
)
def test_lawsuits_are_texts_or_objects(
    listed: Any, total: Any, lawsuits: tuple[str, ...], counted: int | None
) -> None:
    changes = OF_DEBTOR | {"processos_encontrados": listed, "total_de_processos": total}
    found = read(mensagem=POSITIVE, **changes)
    assert (found.lawsuits, found.lawsuits_total) == (lawsuits, counted)


@pytest.mark.parametrize("filled", ["validade", "validade_data", "normalizado_validade"])
def test_any_field_may_have_the_validity(filled: str) -> None:
    empty = dict.fromkeys(("validade", "validade_data", "normalizado_validade"), "")
    assert read(**empty | {filled: "19/05/2027"}).validity == "2027-05-19"


def test_the_day_of_issue_may_be_in_the_time_of_issue() -> None:
    found = read(emissao_data="", normalizado_expedicao="")
    assert (found.issued_on, found.issued_time) == ("2026-11-20", "10:15:38")


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (612, "Nenhum registro foi encontrado.", None),
        (611, "Dados incompletos.", None),
        (608, "CPF não encontrado na base.", None),
        (620, "CNPJ inexistente.", None),
        (612, "Sistema em manutenção.", SourceFailed),  # billed
        (608, "Documento recusado.", SourceFailed),
        (620, "Erro desconhecido.", SourceFailed),
        (613, "", SourceUnavailable),
        (615, "", SourceUnavailable),
        (618, "", SourceUnavailable),
    ],
)
def test_codes_without_a_certificate(
    code: int, reason: str, error: type[SourceError] | None
) -> None:
    if error is not None:
        assert type(failing(code, errors=[reason])) is error
        return
    found = certified(labour(), enveloped(code, errors=[reason])).certificate
    assert (found.verdict, found.good, found.inconclusive) == ("none", False, True)


def test_another_holder_is_a_flaw_but_not_another_establishment() -> None:
    branch, other = "11222333000262", "90010001000100"
    assert read(normalizado_cnpj=branch, cnpj="").flaw(labour()) is None
    assert read(normalizado_cnpj=other, cnpj="").flaw(labour()) is not None
    person = enveloped(200, SAVED | {"cpf": CPF}, header={"parameters": {}})
    assert certified(labour(CPF), person).certificate.flaw(labour(CPF)) is None
    stranger = enveloped(200, SAVED | {"cpf": "900.100.002-91"}, header={"parameters": {}})
    assert certified(labour(CPF), stranger).certificate.flaw(labour(CPF)) is not None


def test_a_probe_is_free() -> None:
    """It has no document, and a time limit that is refused."""
    conversation = InfosimplesAdapter(TOKEN).probe(labour())
    requests, said = run_conversation(conversation, enveloped(604))
    assert said == "respondeu"
    assert b"cnpj" not in (requests[0].within(9).body or b"")
