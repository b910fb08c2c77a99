"""SERPRO's Consulta CND, with bodies from its documentation (`serpro-cnd.md` section 2)."""

import base64
import json
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from balcao.core.certificates import FederalCertificate
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.serpro.adapter import sources
from balcao.providers.serpro.cnd import SerproCndAdapter
from balcao.providers.serpro.settings import SerproSettings
from balcao.sources.contract import HttpReply, Issuance
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, LETTERS, NOW, a_reply, run_conversation
from tests.sources.certificates_world import BIRTH, BRANCH, federal, state, the_federal

PDF = b"%PDF-1.4\n%fictitious"
KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"

SAVED: dict[str, Any] = {
    "Status": 1,
    "Mensagem": "Certidão válida encontrada",
    "Certidao": {
        "TipoContribuinte": 1,
        "ContribuinteCertidao": CNPJ,
        "TipoCertidao": 1,
        "CodigoControle": "A1B2.C3D4.E5F6.0789",
        "DataEmissao": "2026-06-20T10:11:12",
        "DataValidade": "2026-12-17",
        "DocumentoPdf": base64.b64encode(PDF).decode(),
    },
}
PROCESSING = {"Status": 7, "Mensagem": "Em processamento", "Chave": KEY}

RECORD = FederalCertificate(
    document=CNPJ,
    kind="CND",
    code="A1B2.C3D4.E5F6.0789",
    status="Válida",
    issued_on="2026-06-20",
    validity="2026-12-17",
    issued=True,
    verification_code="A1B2.C3D4.E5F6.0789",
    provider_code=1,
    provider_billable=True,
)


def saved(**changes: Any) -> dict[str, Any]:
    return SAVED | {"Certidao": SAVED["Certidao"] | changes}


def certified(*replies: HttpReply) -> Issuance:
    _, result = run_conversation(SerproCndAdapter().certify(federal()), *replies)
    assert result is not None
    return result


def read(body: dict[str, Any], status: int = 200) -> FederalCertificate:
    return the_federal(certified(a_reply(status, body)))


def failing(*replies: HttpReply) -> SourceError:
    with pytest.raises(SourceError) as caught:
        run_conversation(SerproCndAdapter().certify(federal()), *replies)
    for secret in (CNPJ, KEY, "11.222.333"):
        assert secret not in str(caught.value)
    return caught.value


def test_request_parameters() -> None:
    request = next(SerproCndAdapter("consulta-cnd-trial").certify(federal()))
    assert (request.method, request.path) == ("POST", "/consulta-cnd-trial/v1/certidao")
    assert request.headers == {"content-type": "application/json"}
    assert request.after_seconds == 0
    assert json.loads(request.body or b"") == {
        "TipoContribuinte": 1,
        "ContribuinteConsulta": CNPJ,
        "CodigoIdentificacao": "9001",
        "GerarCertidaoPdf": True,
    }
    assert CNPJ not in repr(request)


def test_every_field() -> None:
    result = certified(a_reply(200, SAVED))
    assert result.certificate == RECORD
    assert result.receipt == PDF
    _, record = run_conversation(SerproCndAdapter().converse(federal()), a_reply(200, SAVED))
    assert record == RECORD


def test_a_new_certificate() -> None:
    result = read(saved() | {"Status": 2})
    assert (result.kind, result.issued, result.provider_code) == ("CND", True, 2)


# --- types, dates, the document ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["TipoCertidao", "TipoCertidão"])
@pytest.mark.parametrize(
    ("number", "kind", "status"),
    [(1, "CND", "Válida"), (2, "CPEND", "Válida"), ("2", "CPEND", "Válida"), (3, "CPD", "")],
)
def test_types_by_both_spellings(name: str, number: int | str, kind: str, status: str) -> None:
    result = read(saved(**{"TipoCertidao": None, name: number}))
    assert (result.kind, result.status) == (kind, status)
    assert result.good == result.issued == (kind != "CPD")
    assert result.message == (None if result.good else "Certidão válida encontrada")


@pytest.mark.parametrize(
    "changes",
    [
        {"TipoCertidao": None},
        {"TipoCertidao": 0},
        {"TipoCertidao": 4},
        {"TipoCertidao": "Negativa"},
        {"TipoCertidao": True},
        {"TipoCertidao": 1, "TipoCertidão": 3},
        {"CodigoControle": "", "DataValidade": None},
        {"DataValidade": "2026-06-19"},
        {"DataValidade": "17/12/2026"},
        {"DataValidade": "2026-02-31"},
        {"DataValidade": "ontem"},
        {"DataValidade": "0001-01-01T00:00:00+14:00"},
    ],
)
def test_unusable_replies(changes: dict[str, Any]) -> None:
    assert type(failing(a_reply(200, saved(**changes)))) is SourceFailed


@pytest.mark.parametrize(
    ("given", "day"),
    [
        ("2026-06-20", "2026-06-20"),
        ("2026-06-20T00:00:00", "2026-06-20"),
        ("2026-06-20T23:59:59.1234567", "2026-06-20"),
        ("2026-06-20T23:59:59-03:00", "2026-06-20"),
        ("2026-06-21T02:59:59Z", "2026-06-20"),
        ("", None),
        (None, None),
    ],
)
def test_both_forms_of_dates(given: str | None, day: str | None) -> None:
    assert read(saved(DataEmissao=given)).issued_on == day
    assert read(saved(DataValidade=given, DataEmissao=None)).validity == day


@pytest.mark.parametrize(
    ("given", "document"),
    [(CNPJ, CNPJ), ("11.222.333/0001-81", CNPJ), (OTHER_CNPJ, OTHER_CNPJ), ("", ""), (None, "")],
)
def test_document_of_the_certificate(given: str | None, document: str) -> None:
    assert read(saved(ContribuinteCertidao=given)).document == document


@pytest.mark.parametrize("given", [None, "", "%PDF", "JVBERi0", "çç=="])
def test_unreadable_receipt_is_absent(given: str | None) -> None:
    assert certified(a_reply(200, saved(DocumentoPdf=given))).receipt is None


def test_a_receipt_in_lines() -> None:
    lines = base64.encodebytes(PDF * 10).decode()
    assert certified(a_reply(200, saved(DocumentoPdf=lines))).receipt == PDF * 10


# --- statuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("http", [200, 400, 404])
@pytest.mark.parametrize("status", [3, 4, 8])
def test_not_issued_is_a_result_and_no_proof_of_debts(status: int, http: int) -> None:
    result = read({"Status": status, "Mensagem": "Não emitida: consulte"}, http)
    assert result == FederalCertificate(
        document=CNPJ,
        message="Não emitida: consulte",
        provider_code=status,
        provider_billable=http == 200,
    )
    assert (read({"Status": status}).message or "").startswith("A certidão não foi emitida: ")


@pytest.mark.parametrize("http", [200, 201, 202, 400, 404, 500])
@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (5, SourceFailed, "interrompida"),
        (6, SourceUnavailable, "base de apoio"),
        *((status, SourceFailed, "ERRO NOSSO") for status in (9, 10, 11, 12, 13, 15)),
        (14, SourceFailed, "chave"),
        (99, SourceFailed, "servidor"),
        (0, SourceFailed, "desconhecido 0"),
        (42, SourceFailed, "desconhecido 42"),
        (int(CNPJ), SourceFailed, "desconhecido$"),
    ],
)
def test_failures(status: int, kind: type[SourceError], text: str, http: int) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        read({"Status": status, "Mensagem": f"CNPJ {CNPJ}", "Certidao": None}, http)
    assert type(caught.value) is kind
    assert CNPJ not in str(caught.value)


@pytest.mark.parametrize("http", [300, 400, 404, 422, 500, 503])
@pytest.mark.parametrize("body", [SAVED, saved() | {"Status": 2}, PROCESSING])
def test_http_error_has_no_certificate(body: dict[str, Any], http: int) -> None:
    failing(a_reply(http, body))


WRONG_PRODUCT = {"fault": {"code": 900906, "message": f"No matching resource found {CNPJ}"}}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (a_reply(401, b"{}"), SourceUnavailable),
        (a_reply(401, {"Status": 9}), SourceUnavailable),
        (a_reply(403, b"{}"), SourceUnavailable),
        (a_reply(404, WRONG_PRODUCT), SourceUnavailable),
        (a_reply(404, b"<html></html>"), SourceFailed),
        (a_reply(400, b""), SourceFailed),
        (a_reply(429, b"{}"), SourceUnavailable),
        (a_reply(500, b"<html></html>"), SourceFailed),
        (a_reply(500, {"Status": 3}), SourceFailed),
        (a_reply(502, b"<html></html>"), SourceUnavailable),
        (a_reply(503, {"Status": 4}), SourceUnavailable),
        (a_reply(504, b""), SourceFailed),
        (a_reply(302, b"", location="https://elsewhere.test"), SourceFailed),
        (a_reply(200, b"<html></html>"), SourceFailed),
        (a_reply(200, b"\xff{"), SourceFailed),
        (a_reply(200, b"[]"), SourceFailed),
        (a_reply(200, {"Mensagem": "sem status"}), SourceFailed),
        (a_reply(200, {"Status": 1}), SourceFailed),
        (a_reply(200, {"Status": 2, "Certidao": {}}), SourceFailed),
    ],
)
def test_refusals(reply: HttpReply, kind: type[SourceError]) -> None:
    assert type(failing(reply)) is kind


# --- capabilities ------------------------------------------------------------------------------


def test_capabilities() -> None:
    may = SerproCndAdapter().capabilities
    assert may.include(federal())
    assert may.include(federal(BRANCH))
    assert may.include(federal(LETTERS))
    assert not SerproCndAdapter(accepts_alphanumeric=False).capabilities.include(federal(LETTERS))
    assert not may.include(federal(CPF)), f"it would not look at {BIRTH}"
    assert not may.include(federal(reissue=True)), "a new issuance cannot be requested"
    assert not may.include(state())
    assert not SerproCndAdapter.conclusive_absence


def test_probe_has_an_invalid_document_and_no_receipt() -> None:
    requests, result = run_conversation(
        SerproCndAdapter().probe(federal()), a_reply(400, {"Status": 9})
    )
    assert result == "respondeu"
    assert [json.loads(request.body or b"") for request in requests] == [
        {
            "TipoContribuinte": 1,
            "ContribuinteConsulta": "00000000000001",
            "CodigoIdentificacao": "9001",
            "GerarCertidaoPdf": False,
        }
    ]


@pytest.mark.parametrize("status", [1, 3, 4, 7, 8, 11, 15])
def test_a_probe_that_was_answered(status: int) -> None:
    assert (
        run_conversation(SerproCndAdapter().probe(federal()), a_reply(200, {"Status": status}))[1]
        == "respondeu"
    )


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (a_reply(401), SourceUnavailable, "token novo recusado"),
        (a_reply(403), SourceUnavailable, "não contratado"),
        (a_reply(404, WRONG_PRODUCT), SourceUnavailable, "produto desconhecido"),
        (a_reply(202, {"Status": 6}), SourceUnavailable, "status 6"),
        (a_reply(202, {"Status": 5}), SourceFailed, "status 5"),
        (a_reply(500, {"Status": 99}), SourceFailed, "status 99"),
        (a_reply(200, b"<html></html>"), SourceFailed, "outra forma"),
    ],
)
def test_a_probe_that_fails(reply: HttpReply, kind: type[SourceError], text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        run_conversation(SerproCndAdapter().probe(federal()), reply)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"DataEmissao": "ontem"}, "issued_on", None),
        ({"DataEmissao": 20260620}, "issued_on", None),
        ({"CodigoControle": None}, "code", None),
        ({"CodigoControle": 5}, "code", None),
        ({"DocumentoPdf": {}}, "kind", "CND"),
    ],
)
def test_invalid_optional_field_is_absent(
    changes: dict[str, Any], field: str, value: object
) -> None:
    result = read(saved(**changes) | {"Mensagem": ["x"]})
    assert result.good
    assert getattr(result, field) == value


def test_certificate_without_a_document_has_none() -> None:
    assert read(saved(ContribuinteCertidao=11222333000181)).flaw(federal()) is not None


def test_version_and_code_follow_the_settings() -> None:
    for version, own, code in (("v1", "", "9001"), ("v2", "", "9201"), ("v2", "9301", "9301")):
        settings = SerproSettings(
            consumer_key=SecretStr("k"),
            consumer_secret=SecretStr("s"),
            cnd=True,
            cnd_version=version,
            cnd_company_code=own,
        )
        _, issuer = sources(settings, NOW)
        assert isinstance(issuer.adapter, SerproCndAdapter)
        request = next(issuer.adapter.certify(federal()))
        assert request.path == f"/consulta-cnd/{version}/certidao"
        assert json.loads(request.body or b"")["CodigoIdentificacao"] == code


def test_unknown_version_requires_a_code() -> None:
    with pytest.raises(ValidationError, match="cnd_company_code é obrigatório"):
        SerproSettings(cnd=True, cnd_version="v3")
    assert SerproSettings(cnd=True, cnd_version="v3", cnd_company_code="9301").cnd
    assert not SerproSettings(cnd_version="v3").cnd


@pytest.mark.parametrize("status", [3, 4, 8])
def test_later_is_no_result(status: int) -> None:
    with pytest.raises(SourceFailed, match="mais tarde"):
        read({"Status": status, "Mensagem": "Estamos analisando seu pedido."})
