"""Infosimples: the federal joint certificate (`infosimples.md` section 4)."""

from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.certificates import FederalCertificate
from balcao.errors import DataRefused, SourceError, SourceFailed, SourceUnavailable
from balcao.sources.contract import HttpReply
from balcao.sources.infosimples import Infosimples, values
from tests.sources.certificates_world import (
    BIRTH,
    BRANCH,
    RECEIPT,
    SECRETS,
    TOKEN,
    certified,
    enveloped,
    federal,
    the_federal,
)
from tests.sources.world import CNPJ, CPF, LETTERS, OTHER_CNPJ, a_reply, talk

TITLE = "CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS E À DÍVIDA ATIVA DA UNIÃO"
WITH_EFFECTS = (
    "CERTIDÃO POSITIVA COM EFEITOS DE NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS"
)

SAVED: dict[str, Any] = {
    "certidao": TITLE,
    "certidao_codigo": "A1B2.C3D4.E5F6.0789",
    "cnpj": "11.222.333/0001-81",
    "cnpj_situacao": "Válida",
    "comprovante_tipo": "pdf",
    "conseguiu_emitir_certidao_negativa": True,
    "consulta_comprovante": "B1B2.C3D4.E5F6.0789",
    "consulta_datahora": "05/08/2026 10:15:34",
    "cpf": "",
    "debitos_pgfn": False,
    "debitos_rfb": False,
    "descricao": "Texto",
    "emissao_data": "20/06/2026",
    "mensagem": "Texto",
    "nome": "",
    "normalizado_cnpj": CNPJ,
    "normalizado_consulta_datahora": "05/08/2026 10:15:34",
    "normalizado_cpf": "",
    "observacoes": "",
    "razao_social": "EMPRESA FICTICIA DE TESTES LTDA",
    "situacao": "Válida",
    "tipo": "Negativa",
    "validade": "17/12/2026",
    "validade_data": "17/12/2026",
    "validade_prorrogada": "",
    "site_receipt": RECEIPT,
}

RECORD = FederalCertificate(
    document=CNPJ,
    kind="CND",
    title=TITLE,
    code="A1B2.C3D4.E5F6.0789",
    name="EMPRESA FICTICIA DE TESTES LTDA",
    status="Válida",
    issued_on="2026-06-20",
    validity="2026-12-17",
    queried_at="2026-08-05T10:15:34-03:00",
    issued=True,
    rfb_debts=False,
    pgfn_debts=False,
    verification_code="B1B2.C3D4.E5F6.0789",
    provider_code=200,
    provider_billable=True,
    provider_elapsed_ms=4210,
)

BARE = dict.fromkeys(SAVED) | {"cnpj": "11.222.333/0001-81"}


def read(**changes: Any) -> FederalCertificate:
    return the_federal(certified(federal(), enveloped(200, SAVED | changes)))


def failing(*replies: HttpReply, cpf: bool = False) -> SourceError:
    with pytest.raises(SourceError) as caught:
        talk(Infosimples(TOKEN).certify(federal(CPF) if cpf else federal()), *replies)
    error = caught.value
    assert error.__suppress_context__ or error.__context__ is None
    for secret in SECRETS:
        assert secret not in str(error)
    return error


@pytest.mark.parametrize(
    ("document", "reissue", "asked"),
    [
        (CNPJ, False, {"cnpj": CNPJ, "preferencia_emissao": "2via"}),
        (CNPJ, True, {"cnpj": CNPJ, "preferencia_emissao": "nova"}),
        (LETTERS, False, {"cnpj": LETTERS, "preferencia_emissao": "2via"}),
        (CPF, False, {"cpf": CPF, "birthdate": BIRTH, "preferencia_emissao": "2via"}),
        (CPF, True, {"cpf": CPF, "birthdate": BIRTH, "preferencia_emissao": "nova"}),
    ],
)
def test_how_it_is_asked(document: str, reissue: bool, asked: dict[str, str]) -> None:
    request = next(Infosimples(TOKEN).certify(federal(document, reissue=reissue)))
    assert (request.method, request.path) == ("POST", "/api/v2/consultas/receita-federal/pgfn")
    assert request.query == {}
    form = parse_qs((request.body or b"").decode(), strict_parsing=True)
    common = {"token": [TOKEN], "timeout": ["20"], "ignore_site_receipt": ["0"]}
    assert form == common | {name: [value] for name, value in asked.items()}
    assert not any(secret in repr(request) for secret in SECRETS)


def test_every_field() -> None:
    said = certified(federal(), enveloped(200, SAVED))
    assert said.certificate == RECORD
    assert said.receipt == RECEIPT
    assert RECEIPT not in repr(said)


def test_a_person() -> None:
    said = SAVED | {
        "cnpj": "",
        "normalizado_cnpj": "",
        "cpf": "900.100.001-00",
        "normalizado_cpf": CPF,
        "razao_social": "",
        "nome": "FULANA DE TAL",
    }
    reply = enveloped(200, said, header={"parameters": {"cpf": CPF}, "billable": False})
    assert the_federal(certified(federal(CPF), reply)) == msgspec.structs.replace(
        RECORD, document=CPF, name="FULANA DE TAL", provider_billable=False, provider_elapsed_ms=0
    )


def test_only_what_there_must_be() -> None:
    least = BARE | {"tipo": "Negativa", "certidao_codigo": "A1B2"}
    said = certified(federal(), enveloped(200, least, header=None))
    assert said.certificate == FederalCertificate(
        document=CNPJ, kind="CND", code="A1B2", issued=True, provider_code=200
    )
    assert said.receipt is None


# --- the type ----------------------------------------------------------------------------------

KINDS = [
    ("Negativa", TITLE, "CND"),
    ("NEGATIVA", None, "CND"),
    (None, TITLE, "CND"),
    ("", TITLE.casefold(), "CND"),
    (None, "Certidão Negativa de Débitos Não Inscritos", "CND"),
    ("Positiva com efeitos de negativa", WITH_EFFECTS, "CPEND"),
    ("Positiva com efeitos de negativa", TITLE, "CPEND"),
    ("POSITIVA COM EFEITO DE NEGATIVA", None, "CPEND"),
    (None, WITH_EFFECTS, "CPEND"),
    (None, "Certidão Positiva de Débitos com Efeitos de Negativa", "CPEND"),
    (None, "Certidão positiva\ncom  efeitos de «negativa»", "CPEND"),
    ("Positiva", "CERTIDÃO POSITIVA DE DÉBITOS", "CPD"),
    ("Positiva", TITLE, "CPD"),
    ("Positiva", None, "CPD"),
    ("Positiva (não negativa)", TITLE, "CPD"),
    ("Positiva, sem efeitos de negativa", None, "CPD"),
    (None, "CERTIDÃO POSITIVA DE DÉBITOS", "CPD"),
    ("Narrativa", "CERTIDÃO NARRATIVA", None),
    ("Não emitida", TITLE, None),
    (None, "Não foi possível emitir a certidão negativa", None),
    ("Negativa cancelada", None, None),
]


@pytest.mark.parametrize("flag", [True, False, None])
@pytest.mark.parametrize(("kind_text", "title", "kind"), KINDS)
def test_the_type_is_read_from_the_texts_and_never_from_the_flag(
    kind_text: str | None, title: str | None, kind: str | None, flag: bool | None
) -> None:
    said = read(tipo=kind_text, certidao=title, conseguiu_emitir_certidao_negativa=flag)
    assert said.kind == kind
    assert said.issued == (kind in ("CND", "CPEND") if flag is None else flag)
    assert said.kind_text == (None if kind else kind_text or title)
    assert said.message == (None if said.good else "Texto")


@pytest.mark.parametrize(
    ("kind_text", "title"),
    [
        ("Negativa", "CERTIDÃO POSITIVA DE DÉBITOS"),
        ("Positiva com efeitos de negativa", "CERTIDÃO POSITIVA DE DÉBITOS"),
        ("Negativa", WITH_EFFECTS),
    ],
)
def test_a_type_that_the_title_contradicts(kind_text: str, title: str) -> None:
    assert "contraditória" in str(
        failing(enveloped(200, SAVED | {"tipo": kind_text, "certidao": title}))
    )


@pytest.mark.parametrize(
    "status",
    ["Inválida", "VENCIDA", "Cancelada em 01/08/2026", "Anulada", "Não válida", "Suspensa"],
)
def test_a_certificate_that_is_not_in_force(status: str) -> None:
    assert "contraditória" in str(failing(enveloped(200, SAVED | {"situacao": status})))


NOISE = st.text(alphabet="AÀaç nãoefitsdgv-,.()/\n", max_size=20)


@given(NOISE, NOISE, st.sampled_from(["positiva", "Positiva", "POSITIVA", "POSITÍVA"]), NOISE)
def test_positive_without_the_effects_is_never_good(
    before: str, between: str, word: str, after: str
) -> None:
    text = f"{before} {word} {between} negativa {after}"
    if "COM EFEITO" not in values.words(text):
        assert values.kind(text, None) == "CPD"
        assert values.kind(text, TITLE) == "CPD"
        assert values.kind(None, text) == "CPD"
        assert read(tipo=text).good is False
        failing(enveloped(200, SAVED | {"certidao": text}))  # contradicts the type


@given(st.text(), st.text())
def test_positive_somewhere_in_any_text(before: str, after: str) -> None:
    text = f"{before} positiva {after}"
    if "COM EFEITO" not in values.words(text):
        assert values.kind(text, TITLE) == "CPD"


@given(st.text(), st.text())
def test_no_certificate_is_made_of_any_text_without_its_words(tipo: str, title: str) -> None:
    if "NEGATIVA" not in values.words(f"{tipo} {title}"):
        assert values.kind(tipo, title) in ("CPD", None)


# --- nothing was issued ------------------------------------------------------------------------


def test_a_title_without_a_certificate_below_it() -> None:
    page = BARE | {"certidao": TITLE, "mensagem": "Informações insuficientes."}
    nothing = page | {"conseguiu_emitir_certidao_negativa": False}
    said = certified(federal(), enveloped(200, nothing))
    assert said.certificate == FederalCertificate(
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
@pytest.mark.parametrize("reissue", [False, True])
def test_what_the_origin_cannot_issue_is_a_result(code: int, document: str, reissue: bool) -> None:
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
    said = certified(federal(document, reissue=reissue), reply)
    assert said.certificate == FederalCertificate(
        document=document,
        message="Informações insuficientes.",
        provider_code=code,
        provider_billable=True,
        provider_elapsed_ms=13965,
    )
    assert not the_federal(said).good
    assert said.receipt == receipts[0]


@pytest.mark.parametrize("errors", [None, [], {}, "text", [1, None]])
@pytest.mark.parametrize("receipts", [None, [], {}, "text", [1, None, ""]])
def test_nothing_depends_on_the_reasons_and_receipts(errors: Any, receipts: Any) -> None:
    said = certified(federal(), enveloped(611, errors=errors, site_receipts=receipts, header=None))
    assert the_federal(said).message == "A fonte não pôde emitir a certidão pela internet."
    assert said.receipt is None


def test_a_wrong_birth_date_is_refused_data() -> None:
    error = failing(enveloped(608), cpf=True)
    assert type(error) is DataRefused
    assert "608" in error.detail


def test_of_a_company_there_is_no_birth_date_to_correct() -> None:
    assert type(failing(enveloped(608))) is SourceFailed


@pytest.mark.parametrize("reissue", [False, True])
def test_a_refused_issuance_is_no_impossibility(reissue: bool) -> None:
    """A certificate may be in force: "impossible" would be false, charged for, and kept."""
    with pytest.raises(SourceFailed, match="620"):
        certified(federal(reissue=reissue), enveloped(620))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, SourceFailed) for code in (600, 604, 605, 606, 607, 619, 621, 666)),
        *((code, SourceUnavailable) for code in (601, 602, 603, 609, 610, 613, 614, 615)),
        *((code, SourceUnavailable) for code in (616, 617, 618, 622)),
    ],
)
def test_everything_else_is_as_for_other_consultations(code: int, kind: type[SourceError]) -> None:
    assert type(failing(enveloped(code))) is kind
    assert type(failing(enveloped(code), cpf=True)) is kind


# --- what must not pass ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"tipo": None, "certidao": "", "certidao_codigo": None},
        {"cnpj": "", "normalizado_cnpj": None},
        {"validade_data": "19/06/2026"},
        {"validade_data": "", "validade": "19/06/2026"},
        {"validade_prorrogada": "19/06/2026"},
        {"validade_data": "31/02/2027"},
        {"validade_data": "2026-12-17"},
        {"validade_data": "breve"},
        {"emissao_data": "20/06/26"},
        {"validade_prorrogada": "99/99/9999"},
        {"situacao": "Válida Prorrogada até 31/02/2027"},
        {"validade_data": 20261217},
        {"conseguiu_emitir_certidao_negativa": "true"},
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
    said = certified(federal(BRANCH), enveloped(200, SAVED, header=None))
    assert the_federal(said).document == CNPJ
    assert the_federal(said).document[:8] == BRANCH[:8]


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
def test_an_answer_about_somebody_else_names_them(changes: dict[str, Any]) -> None:
    said = read(**changes)
    assert said.document in (OTHER_CNPJ, CPF)


@pytest.mark.parametrize("reply", [enveloped(611), enveloped(200, SAVED)])
def test_an_answer_to_another_question_names_its_subject(reply: HttpReply) -> None:
    said = certified(federal(OTHER_CNPJ), reply)
    assert the_federal(said).document == CNPJ


# --- dates and texts ---------------------------------------------------------------------------


def test_an_extension() -> None:
    said = read(situacao="VÁLIDA PRORROGADA ATÉ 16/01/2027", validade_prorrogada="16/01/2027")
    assert said.status == "Válida Prorrogada até 16/01/2027"
    assert (said.validity, said.extended_validity) == ("2026-12-17", "2027-01-16")
    assert said.effective_validity == "2027-01-16"
    assert read(situacao="Válida Prorrogada até 16/01/2027").extended_validity == "2027-01-16"


@pytest.mark.parametrize(
    ("said", "status"),
    [("VALIDA", "Válida"), ("", "Válida"), ("Em  análise", "Em análise")],
)
def test_the_status(said: str, status: str) -> None:
    assert read(situacao=said).status == status  # the second field says "Válida"


@pytest.mark.parametrize(
    ("said", "queried_at"),
    [
        ("15/01/2018 10:00:00", "2018-01-15T10:00:00-02:00"),  # daylight saving time
        ("05/08/2026", None),
        ("depois", None),
        ("31/02/2026 10:00:00", None),
    ],
)
def test_when_the_origin_was_asked(said: str, queried_at: str | None) -> None:
    assert read(normalizado_consulta_datahora=said).queried_at == queried_at


def test_debts_may_be_unknown() -> None:
    said = read(debitos_rfb=None, debitos_pgfn=True)
    assert (said.rfb_debts, said.pgfn_debts) == (None, True)


def test_a_receipt_beside_the_data() -> None:
    other = "https://storage.example.com/receipts/0009.pdf"
    reply = enveloped(200, SAVED | {"site_receipt": None}, site_receipts=[other, RECEIPT])
    assert certified(federal(), reply).receipt == other


def test_the_reason_in_order() -> None:
    positive = {"tipo": "Positiva", "certidao": None}
    assert read(**positive).message == "Texto"
    assert read(**positive, mensagem="", descricao="Há débitos").message == "Há débitos"
    said = SAVED | positive | {"mensagem": None, "descricao": ""}
    assert the_federal(certified(federal(), enveloped(200, said, errors=["Por isso"]))).message == (
        "Por isso"
    )


# --- what it may be asked ----------------------------------------------------------------------


def test_capabilities() -> None:
    may = Infosimples(TOKEN, ufs=frozenset({"SC"})).capabilities
    assert may.include(federal())
    assert may.include(federal(CPF))
    assert may.include(federal(reissue=True))
    assert not may.include(federal(LETTERS))


def test_a_probe() -> None:
    requests, said = talk(Infosimples(TOKEN).probe(federal()), enveloped(604))
    assert said == "respondeu"
    (request,) = requests
    assert request.path == "/api/v2/consultas/receita-federal/pgfn"
    assert parse_qs((request.body or b"").decode()) == {
        "token": [TOKEN],
        "preferencia_emissao": ["2via"],
        "ignore_site_receipt": ["1"],
        "timeout": ["sonda"],
    }
    with pytest.raises(SourceUnavailable, match="603"):
        talk(Infosimples(TOKEN).probe(federal()), enveloped(603))
