"""Infosimples: the envelope, its codes, the probe (`infosimples.md` sections 1 to 3)."""

from typing import Any
from urllib.parse import parse_qs

import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.providers.infosimples.codes import CODES, CodeMeaning
from balcao.providers.infosimples.envelope import Envelope, error_for, read
from balcao.sources.contract import HttpReply, HttpRequest
from tests.records import CPF
from tests.sources.adapters import (
    CNPJ,
    LETTERS,
    a_reply,
    a_uf,
    a_zone_inquiry,
    an_inquiry,
    run_conversation,
)

TOKEN = "the-token-of-infosimples"


def enveloped(code: int, *data: Any, status: int = 200, billable: bool | None = None) -> HttpReply:
    """Return a reply in which every text contains the document."""
    return a_reply(
        status,
        {
            "code": code,
            "code_message": f"Mensagem sobre {CNPJ}",
            "errors": [f"O contribuinte {CNPJ} ..."] if code > 201 else [],
            "header": {
                "api_version": "v2",
                "service": "sintegra/unificada",
                "parameters": {"cnpj": CNPJ, "uf": "SC"},
                "billable": code in (200, 201, 612) if billable is None else billable,
                "price": "0.24",
            },
            "data_count": len(data),
            "data": data,
            "site_receipts": [],
        },
    )


def the_form(inquiry: Inquiry, adapter: InfosimplesAdapter | None = None) -> dict[str, list[str]]:
    request = next((adapter or InfosimplesAdapter(TOKEN)).converse(inquiry))
    return form_of(request)


def form_of(request: HttpRequest, seconds_left: int = 25) -> dict[str, list[str]]:
    return parse_qs((request.within(seconds_left).body or b"").decode(), strict_parsing=True)


@pytest.mark.parametrize(
    ("inquiry", "document"),
    [
        (a_uf("SC"), {"cnpj": [CNPJ], "uf": ["SC"]}),
        (a_uf("SP", LETTERS), {"cnpj": [LETTERS], "uf": ["SP"]}),
        (a_uf("MT", CPF), {"cpf": [CPF], "uf": ["MT"]}),
    ],
)
def test_request_is_a_form(inquiry: Inquiry, document: dict[str, list[str]]) -> None:
    request = next(InfosimplesAdapter(TOKEN).converse(inquiry))
    assert (request.method, request.path) == ("POST", "/api/v2/consultas/sintegra/unificada")
    assert request.headers == {"content-type": "application/x-www-form-urlencoded"}
    assert request.query == {}
    common = {"token": [TOKEN], "timeout": ["23"], "ignore_site_receipt": ["1"]}
    assert the_form(inquiry) == common | document


@pytest.mark.parametrize(
    ("seconds_left", "timeout"),
    [(90, "88"), (118, "116"), (25, "23"), (9, "7"), (2, "1"), (0, "1")],
)
def test_time_limit_is_the_remaining_time(seconds_left: int, timeout: str) -> None:
    for inquiry in (a_uf(), a_uf("MT", CPF)):
        request = next(InfosimplesAdapter(TOKEN).converse(inquiry))
        assert form_of(request, seconds_left)["timeout"] == [timeout]


def test_the_token_shows_nowhere() -> None:
    adapter = InfosimplesAdapter(TOKEN)
    request = next(adapter.converse(a_uf()))
    assert TOKEN not in repr(adapter)
    assert TOKEN not in repr(request)
    assert TOKEN not in repr(request.within(20))
    assert CNPJ not in repr(request)
    assert TOKEN not in request.path


def test_capabilities() -> None:
    assert InfosimplesAdapter(TOKEN).capabilities.include(a_uf())
    assert InfosimplesAdapter(TOKEN).capabilities.include(a_uf("SP", CPF))
    assert not InfosimplesAdapter(TOKEN).capabilities.include(a_uf("SP", LETTERS))
    assert InfosimplesAdapter(TOKEN, accepts_alphanumeric=True).capabilities.include(
        a_uf("SP", LETTERS)
    )
    assert not InfosimplesAdapter(TOKEN).capabilities.include(an_inquiry())
    assert not InfosimplesAdapter(TOKEN).capabilities.include(a_zone_inquiry())
    some = InfosimplesAdapter(TOKEN, ufs=frozenset({"SC", "RS"})).capabilities
    assert some.include(a_uf("SC"))
    assert not some.include(a_uf("SP"))
    assert some.parts == {"addresses"}


MEANINGS = [
    *((code, SourceFailed) for code in (600, 604, 605, 606, 607, 608, 611, 619, 620, 621)),
    *((code, SourceUnavailable) for code in (601, 602, 603)),
    *((code, SourceUnavailable) for code in (609, 610, 613, 614, 615, 616, 617, 618, 622)),
    *((code, SourceFailed) for code in (0, 404, 666, 668, 699, 700)),
]


@pytest.mark.parametrize("billable", [False, True])
@pytest.mark.parametrize(("code", "kind"), MEANINGS)
def test_refusals_by_code(code: int, kind: type[SourceError], billable: bool) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(
            InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(code, billable=billable)
        )
    error = caught.value
    assert type(error) is kind
    assert error.detail.startswith("infosimples: ")
    assert str(code) in error.detail
    assert ("cobrada" in error.detail) == billable
    assert CNPJ not in error.detail
    assert TOKEN not in error.detail


def test_all_codes_are_known() -> None:
    assert set(CODES) == {200, 201, *range(600, 623)}
    assert {code for code in CODES if code not in dict(MEANINGS)} == {200, 201, 612}


@pytest.mark.parametrize("code", [601, 602, 603])
def test_errors_for_the_operator_are_marked(code: int) -> None:
    assert CODES[code].meaning is CodeMeaning.MISCONFIGURED
    with pytest.raises(SourceUnavailable, match="VERIFIQUE A CONFIGURAÇÃO"):
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(code))


@pytest.mark.parametrize(("code", "seconds"), [(615, 30), (617, 120), (622, 300)])
def test_retry_seconds_by_code(code: int, seconds: int) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(code))
    assert caught.value.retry_in_seconds == seconds


def test_our_own_mistakes() -> None:
    with pytest.raises(SourceFailed, match="ERRO NOSSO"):
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(606))


def test_a_code_as_long_as_a_document_is_not_repeated() -> None:
    error = error_for("infosimples", Envelope(int(CNPJ)))
    assert error.detail == "infosimples: código desconhecido"


@pytest.mark.parametrize(
    ("header", "billable"),
    [({"header": {"billable": True}}, True), ({"header": {}}, None), ({}, None)],
)
def test_charge_is_read_from_the_header(header: dict[str, Any], billable: bool | None) -> None:
    assert read("infosimples", a_reply(200, {"code": 612} | header)).billable is billable


@pytest.mark.parametrize(
    ("header", "micros"),
    [
        ({"billable": True, "price": "0.26"}, 260_000),
        ({"billable": None, "price": "0.24"}, 240_000),
        ({"price": "0.0615"}, 61_500),
        ({"billable": False, "price": "0.24"}, 0),
        ({"billable": True, "price": "0.0"}, 0),
        ({"billable": True}, 0),
        ({"billable": True, "price": None}, 0),
        ({"billable": True, "price": 0.24}, 0),
        ({"billable": True, "price": "R$ 0,24"}, 0),
        ({"billable": True, "price": "9" * 40}, 0),
        ({"billable": True, "price": CNPJ}, 0),
        (None, 0),
        ("x", 0),
    ],
)
@pytest.mark.parametrize("code", [200, 608, 620])
def test_cost_of_a_reply(code: int, header: Any, micros: int) -> None:
    reply = a_reply(200, {"code": code, "header": header, "data": {}, "errors": [CNPJ]})
    assert InfosimplesAdapter(TOKEN).cost_micros(reply) == micros


@pytest.mark.parametrize("reply", [a_reply(502, b"<html></html>"), a_reply(200, []), a_reply(200)])
def test_reply_without_a_header_has_no_cost(reply: HttpReply) -> None:
    assert InfosimplesAdapter(TOKEN).cost_micros(reply) == 0


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (a_reply(200, b"<html>maintenance</html>"), SourceFailed),
        (a_reply(200), SourceFailed),
        (a_reply(200, []), SourceFailed),
        (a_reply(200, {"data": []}), SourceFailed),
        (a_reply(200, {"code": "612"}), SourceFailed),
        (a_reply(200, {"code": 200, "data": {}}), SourceFailed),
        (a_reply(302, b"", location="https://elsewhere.test"), SourceFailed),
        (a_reply(401, b"<html></html>"), SourceUnavailable),
        (a_reply(403, {"message": CNPJ}), SourceUnavailable),
        (a_reply(404, b"<html></html>"), SourceFailed),
        (a_reply(404, {"code": 404, "message": CNPJ}), SourceFailed),
        (a_reply(429, b""), SourceUnavailable),
        (a_reply(500, b"\xff{"), SourceFailed),
        (a_reply(502, b"<html></html>"), SourceUnavailable),
        (a_reply(503, b"<html></html>"), SourceUnavailable),
        (a_reply(504, b"<html></html>"), SourceFailed),
        # with an HTTP error, the envelope's code counts unless it is a result
        (enveloped(601, status=401), SourceUnavailable),
        (enveloped(615, status=500), SourceUnavailable),
        (enveloped(604, status=400), SourceFailed),
        (enveloped(200, {"cnpj": CNPJ}, status=500), SourceFailed),
        (enveloped(201, status=503), SourceUnavailable),
    ],
)
def test_refusals_by_http(reply: HttpReply, kind: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), reply)
    assert type(caught.value) is kind
    assert CNPJ not in str(caught.value)


@pytest.mark.parametrize("status", [200, 404])
def test_no_data_is_an_empty_answer(status: int) -> None:
    _, found = run_conversation(
        InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(612, status=status)
    )
    assert found == Registrations(CNPJ, "SC", com_endereco=True)


def test_a_probe_names_no_document_and_an_impossible_time_limit() -> None:
    requests, result = run_conversation(InfosimplesAdapter(TOKEN).probe(a_uf("RS")), enveloped(604))
    assert result == "respondeu"
    (request,) = requests
    assert (request.method, request.path) == ("POST", "/api/v2/consultas/sintegra/unificada")
    assert form_of(request) == {
        "token": [TOKEN],
        "uf": ["RS"],
        "timeout": ["sonda"],
        "ignore_site_receipt": ["1"],
    }


@pytest.mark.parametrize("code", [604, 606, 607, 612])
def test_a_probe_that_was_answered(code: int) -> None:
    assert (
        run_conversation(InfosimplesAdapter(TOKEN).probe(a_uf()), enveloped(code))[1] == "respondeu"
    )


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (enveloped(601), SourceUnavailable, "CONFIGURAÇÃO.*601"),
        (enveloped(602), SourceUnavailable, "CONFIGURAÇÃO.*602"),
        (enveloped(603), SourceUnavailable, "CONFIGURAÇÃO.*603"),
        (enveloped(600), SourceFailed, "600"),
        (enveloped(615), SourceUnavailable, "615"),
        (enveloped(666), SourceFailed, "666"),
        (a_reply(502, b"<html></html>"), SourceUnavailable, "HTTP 502"),
        (a_reply(200, b"<html></html>"), SourceFailed, "outra forma"),
    ],
)
def test_a_probe_that_fails(reply: HttpReply, kind: type[SourceError], text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        run_conversation(InfosimplesAdapter(TOKEN).probe(a_uf()), reply)
    assert type(caught.value) is kind
    assert TOKEN not in str(caught.value)
