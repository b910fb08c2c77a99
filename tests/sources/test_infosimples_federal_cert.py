"""Infosimples: the federal joint certificate (`infosimples.md` section 4)."""

from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core import certificate_words
from balcao.core.certificates import FederalCertificate
from balcao.core.errors import SourceError
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import HttpReply
from tests.records import CPF
from tests.sources.adapters import CNPJ, LETTERS, run_conversation
from tests.sources.certificates_world import (
    BIRTH,
    RECEIPT,
    SECRETS,
    TOKEN,
    certified,
    enveloped,
    federal,
    the_federal,
)

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
        run_conversation(
            InfosimplesAdapter(TOKEN).certify(federal(CPF) if cpf else federal()), *replies
        )
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
def test_request_parameters(document: str, reissue: bool, asked: dict[str, str]) -> None:
    request = next(InfosimplesAdapter(TOKEN).certify(federal(document, reissue=reissue)))
    assert (request.method, request.path) == ("POST", "/api/v2/consultas/receita-federal/pgfn")
    assert request.query == {}
    form = parse_qs((request.within(25).body or b"").decode(), strict_parsing=True)
    common = {"token": [TOKEN], "timeout": ["23"], "ignore_site_receipt": ["0"]}
    assert form == common | {name: [value] for name, value in asked.items()}
    assert not any(secret in repr(request) for secret in SECRETS)


def test_every_field() -> None:
    result = certified(federal(), enveloped(200, SAVED))
    assert result.certificate == RECORD
    assert result.receipt == RECEIPT
    assert RECEIPT not in repr(result)


def test_a_person() -> None:
    result = SAVED | {
        "cnpj": "",
        "normalizado_cnpj": "",
        "cpf": "900.100.001-00",
        "normalizado_cpf": CPF,
        "razao_social": "",
        "nome": "FULANA DE TAL",
    }
    reply = enveloped(200, result, header={"parameters": {"cpf": CPF}, "billable": False})
    assert the_federal(certified(federal(CPF), reply)) == msgspec.structs.replace(
        RECORD, document=CPF, name="FULANA DE TAL", provider_billable=False, provider_elapsed_ms=0
    )


def test_only_required_fields() -> None:
    least = BARE | {"tipo": "Negativa", "certidao_codigo": "A1B2"}
    result = certified(federal(), enveloped(200, least, header=None))
    assert result.certificate == FederalCertificate(
        document=CNPJ, kind="CND", code="A1B2", issued=True, provider_code=200
    )
    assert result.receipt is None


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
def test_type_is_read_from_texts_not_flags(
    kind_text: str | None, title: str | None, kind: str | None, flag: bool | None
) -> None:
    result = read(tipo=kind_text, certidao=title, conseguiu_emitir_certidao_negativa=flag)
    assert result.kind == kind
    assert result.issued == (kind in ("CND", "CPEND") if flag is None else flag)
    assert result.kind_text == (None if kind else kind_text or title)
    assert result.message == (None if result.good else "Texto")


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
def test_positive_without_effects_is_never_good(
    before: str, between: str, word: str, after: str
) -> None:
    text = f"{before} {word} {between} negativa {after}"
    if "COM EFEITO" not in certificate_words.words(text):
        assert certificate_words.kind(text, None) == "CPD"
        assert certificate_words.kind(text, TITLE) == "CPD"
        assert certificate_words.kind(None, text) == "CPD"
        assert read(tipo=text).good is False
        failing(enveloped(200, SAVED | {"certidao": text}))  # contradicts the type


@given(st.text(), st.text())
def test_positive_somewhere_in_any_text(before: str, after: str) -> None:
    text = f"{before} positiva {after}"
    if "COM EFEITO" not in certificate_words.words(text):
        assert certificate_words.kind(text, TITLE) == "CPD"


@given(st.text(), st.text())
def test_texts_without_keywords_are_no_certificate(tipo: str, title: str) -> None:
    if "NEGATIVA" not in certificate_words.words(f"{tipo} {title}"):
        assert certificate_words.kind(tipo, title) in ("CPD", None)


# --- dates and texts ---------------------------------------------------------------------------


def test_an_extension() -> None:
    result = read(situacao="VÁLIDA PRORROGADA ATÉ 16/01/2027", validade_prorrogada="16/01/2027")
    assert result.status == "Válida Prorrogada até 16/01/2027"
    assert (result.validity, result.extended_validity) == ("2026-12-17", "2027-01-16")
    assert result.effective_validity == "2027-01-16"
    assert read(situacao="Válida Prorrogada até 16/01/2027").extended_validity == "2027-01-16"


@pytest.mark.parametrize(
    ("given", "status"),
    [("VALIDA", "Válida"), ("", "Válida"), ("Em  análise", "Em análise")],
)
def test_the_status(given: str, status: str) -> None:
    assert read(situacao=given).status == status  # the second field is "Válida"


@pytest.mark.parametrize(
    ("given", "queried_at"),
    [
        ("15/01/2018 10:00:00", "2018-01-15T10:00:00-02:00"),  # daylight saving time
        ("05/08/2026", None),
        ("depois", None),
        ("31/02/2026 10:00:00", None),
    ],
)
def test_queried_at(given: str, queried_at: str | None) -> None:
    assert read(normalizado_consulta_datahora=given).queried_at == queried_at


def test_debts_may_be_unknown() -> None:
    result = read(debitos_rfb=None, debitos_pgfn=False)
    assert (result.rfb_debts, result.pgfn_debts) == (None, False)


@pytest.mark.parametrize(
    "given",
    [
        {"debitos_rfb": True},
        {"debitos_pgfn": True},
        {"situacao": "Nula"},
        {"situacao": "Sem efeito"},
        {"situacao": "Substituída"},
    ],
)
def test_contradicted_negative_certificate(given: dict[str, object]) -> None:
    """A CND with contradicting fields is a failure."""
    assert "contraditória" in str(failing(enveloped(200, SAVED | given)))


# The text of a positive certificate with effects, and the end of every certificate.
BODY = (
    "Constam débitos administrados pela Secretaria Especial da Receita Federal do Brasil (RFB) com"
    " exigibilidade suspensa nos termos do art. 151 da Lei nº 5.172, de 25 de outubro de 1966."
)
CLOSING = "Qualquer rasura ou emenda invalidará este documento."


@pytest.mark.parametrize("field", ["mensagem", "descricao", "observacoes"])
@pytest.mark.parametrize("body", [BODY, CLOSING, f"{BODY} {CLOSING}", "Cópia sem validade."])
@pytest.mark.parametrize(
    ("kind_text", "title", "kind"),
    [
        ("Positiva com efeitos de negativa", WITH_EFFECTS, "CPEND"),
        (None, WITH_EFFECTS, "CPEND"),
        ("Negativa", TITLE, "CND"),
        (None, TITLE, "CND"),
    ],
)
def test_text_of_a_valid_certificate_is_not_a_denial(
    field: str, body: str, kind_text: str | None, title: str, kind: str
) -> None:
    texts = {"mensagem": None, "descricao": None, field: body}
    result = read(tipo=kind_text, certidao=title, **texts)
    assert (result.kind, result.good) == (kind, True)


def test_only_a_title() -> None:
    """Current replies often have no type, status and verification code."""
    nulls = dict.fromkeys(("tipo", "situacao", "cnpj_situacao", "consulta_comprovante"))
    result = read(certidao=WITH_EFFECTS, debitos_rfb=True, debitos_pgfn=False, **nulls)
    assert (result.kind, result.status, result.verification_code) == ("CPEND", "", "")
    assert (result.rfb_debts, result.pgfn_debts) == (True, False)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"validade_data": "2026-12-17"}, "validity", "2026-12-17"),
        ({"validade_data": "breve"}, "validity", None),
        ({"validade_data": "180 (cento e oitenta) dias"}, "validity", "2026-12-17"),
        ({"validade_data": 20261217}, "validity", "2026-12-17"),  # the other field has it
        ({"emissao_data": "20/06/26"}, "issued_on", None),
        ({"emissao_data": "20/06/2026 10:00:00"}, "issued_on", "2026-06-20"),
        ({"conseguiu_emitir_certidao_negativa": "true"}, "issued", True),
        ({"conseguiu_emitir_certidao_negativa": []}, "issued", True),
        ({"debitos_rfb": "Não"}, "rfb_debts", False),
        ({"debitos_rfb": {}}, "rfb_debts", None),
        ({"razao_social": 5}, "name", ""),
    ],
)
def test_invalid_optional_field_is_absent(
    changes: dict[str, Any], field: str, value: object
) -> None:
    result = read(**changes)
    assert result.kind == "CND"
    assert getattr(result, field) == value


def test_receipt_outside_the_data() -> None:
    other = "https://storage.example.com/receipts/0009.pdf"
    reply = enveloped(200, SAVED | {"site_receipt": None}, site_receipts=[other, RECEIPT])
    assert certified(federal(), reply).receipt == other


def test_the_reason_in_order() -> None:
    positive = {"tipo": "Positiva", "certidao": None}
    assert read(**positive).message == "Texto"
    assert read(**positive, mensagem="", descricao="Há débitos").message == "Há débitos"
    result = SAVED | positive | {"mensagem": None, "descricao": ""}
    assert the_federal(
        certified(federal(), enveloped(200, result, errors=["Por isso"]))
    ).message == ("Por isso")
