"""Infosimples: state certificates (`infosimples.md` section 5)."""

from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.certificates import StateCertificate
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import HttpReply
from tests.sources.adapters import CNPJ, a_reply, run_conversation
from tests.sources.certificates_world import (
    RECEIPT,
    SECRETS,
    TOKEN,
    certified,
    enveloped,
    state,
    the_state,
)

SAVED: dict[str, Any] = {
    "certidao_codigo": "26080000001-11",
    "certidao_mensagem": "não constam débitos",
    "certidao_negativa": True,
    "conseguiu_emitir_certidao_negativa": True,
    "consulta_datahora": "05/08/2026 10:20:08",
    "emissao_data": "05/08/2026",
    "mensagem": "",
    "validade_data": "01/02/2027",
    "site_receipt": RECEIPT,
}

RECORD = StateCertificate(
    document=CNPJ,
    uf="SP",
    negative=True,
    issued=True,
    code="26080000001-11",
    number="26080000001-11",
    fiscal_message="não constam débitos",
    queried_at="2026-08-05 10:20:08",
    validity="2027-02-01",
)


def read(**changes: Any) -> StateCertificate:
    return the_state(certified(state(), enveloped(200, SAVED | changes)))


def failing(reply: HttpReply) -> SourceError:
    with pytest.raises(SourceError) as caught:
        run_conversation(InfosimplesAdapter(TOKEN).certify(state()), reply)
    for secret in SECRETS:
        assert secret not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("reissue", [False, True])
def test_request_parameters(reissue: bool) -> None:
    request = next(InfosimplesAdapter(TOKEN).certify(state("MG", reissue=reissue)))
    assert (request.method, request.path) == ("POST", "/api/v2/consultas/sefaz/certidao-debitos")
    assert parse_qs((request.within(25).body or b"").decode(), strict_parsing=True) == {
        "token": [TOKEN],
        "timeout": ["23"],
        "ignore_site_receipt": ["0"],
        "uf": ["MG"],
        "cnpj": [CNPJ],
    } | ({"preferencia_emissao": ["nova"]} if reissue else {})


def test_every_field() -> None:
    result = certified(state(), enveloped(200, SAVED))
    assert result.certificate == RECORD
    assert result.receipt == RECEIPT


def test_every_field_by_its_other_names() -> None:
    result = read(
        certidao_codigo=None,
        codigo_autenticidade="AUT-1",
        codigo="COD-1",
        numero="",
        numero_controle="NUM-1",
        consulta_datahora=None,
        datahora="05/08/2026 10:20:08",
        validade_data="",
        validade="2027-02-01",
        data_validade="01/01/2026",
        mensagem="Texto",
        normalizado_cnpj=CNPJ,
        uf="sp",
        tipo="Negativa",
    )
    assert (result.code, result.number, result.message) == ("AUT-1", "NUM-1", "Texto")
    assert (result.queried_at, result.validity) == ("2026-08-05 10:20:08", "2027-02-01")
    assert result.good
    assert read(certidao_codigo=None, codigo="COD-1").code == "COD-1"
    assert read(numero="NUM-2", numero_controle="NUM-1").number == "NUM-2"


def test_every_field_is_optional() -> None:
    result = certified(
        state(), enveloped(200, {"conseguiu_emitir_certidao_negativa": True}, header=None)
    )
    assert result.certificate == StateCertificate(document=CNPJ, uf="SP", issued=True)
    assert result.receipt is None


@pytest.mark.parametrize("name", ["validade_data", "validade", "data_validade"])
@pytest.mark.parametrize(
    ("given", "validity"),
    [
        ("01/02/2027", "2027-02-01"),
        ("2027-02-01", "2027-02-01"),
        ("01/02/2027 00:00:00", "2027-02-01"),
        ("2027-02-01T00:00:00", "2027-02-01"),
        ("01-02-2027", "2027-02-01"),
        ("00/00/0000", None),
    ],
)
def test_the_validity_or_none(name: str, given: str, validity: str | None) -> None:
    """A day may be followed by any text; zeros mean none."""
    assert read(**({"validade_data": None} | {name: given})).validity == validity


@pytest.mark.parametrize(
    "given",
    ["31/02/2027", "2027-02-31", "20270201", "01/01/20", "Vencida", "não é válida"],
)
def test_unreadable_validity_is_a_failure(given: str) -> None:
    """An expired certificate must not pass for one without a date."""
    assert "validade em outra forma" in str(
        failing(enveloped(200, SAVED | {"validade_data": given}))
    )


@pytest.mark.parametrize(
    ("given", "issued_on", "validity"),
    [
        # as printed by São Paulo
        ("6 (seis) meses, contados da data de sua expedição.", "05/08/2026", "2027-02-05"),
        ("6 (seis) meses, contados da data de sua expedição.", "31/08/2026", "2027-02-28"),
        ("6 (seis) meses, contados da data de sua expedição.", "05/08/2026 10:20:08", "2027-02-05"),
        ("90 dias", "05/08/2026", "2026-11-03"),
        ("1 ano", "05/08/2026", "2027-08-05"),
        ("Válida até 01/02/2027", "05/08/2026", "2027-02-01"),
        ("Válida até 01/02/2027 (180 dias)", "05/08/2026", "2027-02-01"),
        # a period without its first day, or neither: unknown
        ("6 (seis) meses, contados da data de sua expedição.", "", None),
        ("6 (seis) meses, contados da data de sua expedição.", None, None),
        ("Prazo indeterminado", "05/08/2026", None),
        ("9999 anos", "05/08/2026", None),
    ],
)
def test_validity_as_a_sentence_never_fails(
    given: str, issued_on: str | None, validity: str | None
) -> None:
    found = read(validade_data=given, emissao_data=issued_on)
    assert found.good
    assert found.validity == validity


# The fields that the unified service fills, and no others.
FIVE = {
    "certidao_codigo": "26080000001-11",
    "conseguiu_emitir_certidao_negativa": True,
    "emissao_data": "05/08/2026 10:20:08",
    "validade_data": "01/02/2027",
    "mensagem": "Certidão emitida com sucesso",
}
# The text of a positive certificate with the effects of a negative one.
WITH_EFFECTS = (
    "CERTIDÃO POSITIVA COM EFEITOS DE NEGATIVA. Constam débitos em nome do contribuinte, com"
    " exigibilidade suspensa nos termos do art. 151 da Lei nº 5.172, de 1966. Esta certidão é sem"
    " validade se rasurada: qualquer rasura ou emenda invalidará este documento."
)


@pytest.mark.parametrize(
    ("changes", "negative", "good"),
    [
        ({}, None, True),
        ({"mensagem": None}, None, True),
        ({"mensagem": WITH_EFFECTS}, None, True),
        ({"mensagem": WITH_EFFECTS, "conseguiu_emitir_certidao_negativa": False}, None, True),
        ({"mensagem": WITH_EFFECTS, "conseguiu_emitir_certidao_negativa": None}, None, True),
        ({"mensagem": "Não constam débitos. Rasura invalidará este documento."}, None, True),
        (
            {
                "mensagem": "CERTIDÃO NEGATIVA. Sem validade se rasurada.",
                "conseguiu_emitir_certidao_negativa": None,
            },
            True,
            True,
        ),
        ({"mensagem": "CERTIDÃO POSITIVA DE DÉBITOS"}, False, False),
        (
            {"mensagem": "Constam débitos", "conseguiu_emitir_certidao_negativa": False},
            False,
            False,
        ),
        ({"mensagem": "Há pendências.", "conseguiu_emitir_certidao_negativa": False,
          "certidao_codigo": None, "validade_data": None}, False, False),
    ],
)  # fmt: skip
def test_the_five_fields_of_the_unified_service(
    changes: dict[str, Any], negative: bool | None, good: bool
) -> None:
    result = the_state(certified(state(), enveloped(200, FIVE | changes)))
    assert (result.negative, result.good) == (negative, good)


def test_words_of_the_free_text_count_only_without_code_and_validity() -> None:
    body = "Esta certidão é sem validade se rasurada; débitos com exigibilidade suspensa."
    assert read(certidao_mensagem=body).good
    assert read(certidao_mensagem=body, validade_data=None).good
    bare = {"certidao_codigo": None, "validade_data": None, "certidao_negativa": None}
    assert "contraditória" in str(
        failing(enveloped(200, SAVED | bare | {"certidao_mensagem": body}))
    )
    for headline in ({"tipo": "Negativa suspensa"}, {"certidao": "Certidão sem validade"}):
        assert "contraditória" in str(failing(enveloped(200, SAVED | headline)))


@pytest.mark.parametrize(
    ("given", "good"),
    [({"certidao_negativa": "sim"}, True), ({"certidao_negativa": "NÃO"}, False),
     ({"certidao_negativa": None}, True), ({"certidao_negativa": []}, True),
     ({"consta_debito": "S"}, None), ({"mensagem": 5, "uf": {}}, True)],
)  # fmt: skip
def test_field_of_wrong_type_is_absent(given: dict[str, Any], good: bool | None) -> None:
    if good is None:
        failing(enveloped(200, SAVED | given))
    else:
        assert read(**given).good is good


TITLE = {"certidao": "Certidão Negativa de Débitos"}


@pytest.mark.parametrize(
    "given",
    [
        TITLE | {"certidao_mensagem": "Não foi possível emitir a certidão. Constam pendências."},
        TITLE | {"mensagem": "Não foi emitida: existem débitos"},
        {"certidao_negativa": True, "certidao_mensagem": "certidão vencida"},
        {"conseguiu_emitir_certidao_negativa": True, "certidao_mensagem": "Constam débitos"},
        {"conseguiu_emitir_certidao_negativa": True, "certidao": "Certidão não emitida"},
        {"conseguiu_emitir_certidao_negativa": True, "consta_debito": True},
        {"tipo": "Certidão Negativa", "consta_debito": True, "certidao_codigo": "1"},
    ],
)
def test_denied_certificate_is_never_good(given: dict[str, object]) -> None:
    """A refusal in the texts, or a contradiction: never a good certificate."""
    reply = enveloped(200, {"site_receipt": RECEIPT} | given)
    try:
        certificate = certified(state(), reply).certificate
    except SourceFailed:
        return
    assert isinstance(certificate, StateCertificate)
    assert not certificate.good


@pytest.mark.parametrize(
    "reason", ["Sistema indisponível no momento", "Tente mais tarde", "Pedido já em processamento"]
)
@pytest.mark.parametrize("code", [611, 612, 620])
def test_an_outage_is_no_result(code: int, reason: str) -> None:
    """A reason about the origin and not the taxpayer is a failure, which is not charged."""
    failing(enveloped(code, errors=[reason]))


@pytest.mark.parametrize("code", [611, 612, 620])
def test_outage_that_may_be_retried(code: int) -> None:
    """Other codes may be retried; 620 is permanent."""
    reply = enveloped(code, errors=["Site indisponível"], header={"billable": False})
    assert type(failing(reply)) is (SourceFailed if code == 620 else SourceUnavailable)


@pytest.mark.parametrize("given", [None, "", "05/08/2026", "agora", "05/13/2026 10:00:00"])
def test_invalid_query_time_is_absent(given: str | None) -> None:
    assert read(consulta_datahora=given).queried_at is None


# --- the verdict -------------------------------------------------------------------------------

# certidao_negativa, conseguiu_emitir_..., tipo -> negative, issued, good
VERDICTS = [
    (True, True, None, True, True, True),
    (True, None, None, True, True, True),
    (None, True, None, None, True, True),
    (None, None, "Negativa", True, True, True),
    (None, True, "Negativa", True, True, True),
    (None, None, "Positiva com efeitos de negativa", None, True, True),
    (None, True, "Positiva de débitos com efeitos de negativa", None, True, True),
    (True, False, None, True, False, False),
    (None, False, None, None, False, False),
    (None, False, "Negativa", True, False, False),
    (False, None, None, False, False, False),
    (False, False, "Positiva", False, False, False),
    (False, True, "Positiva", False, True, False),
    (None, None, "Positiva", False, False, False),
    (None, True, "Positiva", False, True, False),
    (None, True, "Positiva (não negativa)", False, True, False),
]


@pytest.mark.parametrize(
    ("negative", "issued", "kind", "is_negative", "is_issued", "good"), VERDICTS
)
def test_the_verdict(
    *,
    negative: bool | None,
    issued: bool | None,
    kind: str | None,
    is_negative: bool | None,
    is_issued: bool,
    good: bool,
) -> None:
    result = read(certidao_negativa=negative, conseguiu_emitir_certidao_negativa=issued, tipo=kind)
    assert (result.negative, result.issued, result.good) == (is_negative, is_issued, good)


@pytest.mark.parametrize("issued", [True, None])
@pytest.mark.parametrize("where", ["tipo", "certidao", "certidao_mensagem"])
def test_negative_certificate_with_positive_text(where: str, issued: bool | None) -> None:
    result = SAVED | {where: "CERTIDÃO POSITIVA", "conseguiu_emitir_certidao_negativa": issued}
    if issued is None:
        assert not read(**result).good
    else:
        assert type(failing(enveloped(200, result))) is SourceFailed


@given(
    st.sampled_from(["tipo", "certidao", "certidao_mensagem"]),
    st.text(alphabet="ABC negativ()-,.", max_size=20),
    st.sampled_from([True, False, None]),
    st.sampled_from([True, False, None]),
)
def test_positive_text_is_never_good(
    where: str, text: str, negative: bool | None, issued: bool | None
) -> None:
    flags = {"certidao_negativa": negative, "conseguiu_emitir_certidao_negativa": issued}
    try:
        result = read(**{where: f"{text} positiva {text}"}, **flags)
    except SourceFailed:
        return
    assert not result.good


def test_result_is_required() -> None:
    bare = {name: value for name, value in SAVED.items() if not isinstance(value, bool)}
    assert "sem resultado" in str(failing(enveloped(200, bare)))
    assert "sem resultado" in str(failing(enveloped(200, bare | {"tipo": "Regular"})))
    assert "sem resultado" in str(failing(enveloped(200, {"mensagem": "certidão negativa"})))
    for result in ({"certidao_negativa": True}, {"tipo": "Negativa"}):
        assert "sem código" in str(failing(enveloped(200, result)))


@pytest.mark.parametrize(
    "reply",
    [
        enveloped(200),
        enveloped(200, None),
        enveloped(200, SAVED | {"validade_data": "04/08/2026"}),
        enveloped(200, SAVED | {"certidao_negativa": "não", "validade_data": "04/08/2026"}),
        enveloped(200, SAVED, status=500),
        a_reply(200, b"<html></html>"),
    ],
)
def test_unusable_replies(reply: HttpReply) -> None:
    assert type(failing(reply)) is SourceFailed


# --- refusals ----------------------------------------------------------------------------------


def test_a_refusal_in_the_answer() -> None:
    result = certified(
        state(),
        enveloped(
            200,
            {"conseguiu_emitir_certidao_negativa": False, "mensagem": "Há pendências."},
            header=None,
        ),
    )
    assert result.certificate == StateCertificate(
        document=CNPJ, uf="SP", negative=False, issued=False, message="Há pendências."
    )


@pytest.mark.parametrize("code", [611, 612, 620])
def test_a_refusal_by_code(code: int) -> None:
    reply = enveloped(code, errors=["Há pendências."], site_receipts=[RECEIPT])
    result = certified(state(), reply)
    assert result.certificate == StateCertificate(
        document=CNPJ, uf="SP", issued=False, message="Há pendências."
    )
    assert not the_state(result).good
    assert result.receipt == RECEIPT


def test_a_permanent_error_without_its_reason_is_no_result() -> None:
    assert type(failing(enveloped(620, errors=[]))) is SourceFailed
    assert the_state(certified(state(), enveloped(612, errors=[]))).message is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, SourceFailed) for code in (600, 604, 605, 606, 607, 608, 619, 621, 666)),
        *((code, SourceUnavailable) for code in (601, 602, 603, 609, 610, 615, 617, 622)),
    ],
)
def test_other_codes_have_their_usual_meaning(code: int, kind: type[SourceError]) -> None:
    assert type(failing(enveloped(code))) is kind
