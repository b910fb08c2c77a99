"""CNPJá's commercial API: refusals, absence, the probe (`cnpja.md` sections 1 and 5)."""

from typing import Any

import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.sources.contract import HttpReply
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
from tests.sources.test_cnpja import KEY, SAVED


def error(status: int, message: str, **extra: Any) -> HttpReply:
    return a_reply(status, {"code": status, "message": message, **extra})


# `cnpja.md` section 5, and replies of proxies.
REFUSALS = [
    (error(400, "request validation failed", constraints=[f"taxId {CNPJ}"]), SourceFailed),
    (error(401, "invalid authentication"), SourceUnavailable),
    (error(429, "not enough credits", required=1, remaining=0), SourceUnavailable),
    (error(429, "rate limit exceeded"), SourceUnavailable),
    (a_reply(429, b"<html>slow down</html>"), SourceUnavailable),
    (error(500, "unexpected error"), SourceFailed),
    (error(503, "revenue service is offline"), SourceUnavailable),
    (a_reply(404, b"<html>no such page</html>"), SourceFailed),
    (a_reply(404, {"statusCode": 404, "message": f"Cannot GET /office/{CNPJ}"}), SourceFailed),
    (a_reply(404), SourceFailed),
    (a_reply(301, b"", location="https://elsewhere.test"), SourceFailed),
    (a_reply(204), SourceFailed),
    (a_reply(429, b"\xff{"), SourceUnavailable),
    (a_reply(502, b"<html>bad gateway</html>"), SourceUnavailable),
    (a_reply(200, b"<html>maintenance</html>"), SourceFailed),
    (a_reply(200), SourceFailed),
    (a_reply(200, {"taxId": CNPJ}), SourceFailed),
    (a_reply(200, SAVED | {"company": "yes"}), SourceFailed),
]


@pytest.mark.parametrize("inquiry", [an_inquiry(), a_uf(), a_uf("SP", CPF), a_zone_inquiry()])
@pytest.mark.parametrize(("reply", "kind"), REFUSALS)
def test_refusals(inquiry: Inquiry, reply: HttpReply, kind: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(CnpjaAdapter(KEY).converse(inquiry), reply)
    assert type(caught.value) is kind
    assert CNPJ not in str(caught.value)
    assert KEY not in str(caught.value)


def test_not_registered_is_proof() -> None:
    reply = error(404, "tax id not registered at revenue service")
    _, company = run_conversation(CnpjaAdapter(KEY).converse(an_inquiry()), reply)
    assert company is None
    assert CnpjaAdapter(KEY).conclusive_absence


@pytest.mark.parametrize(
    "reply",
    [
        error(401, "invalid authentication"),
        error(429, "not enough credits", required=1, remaining=0),
    ],
)
def test_errors_for_the_operator_are_marked(reply: HttpReply) -> None:
    with pytest.raises(SourceUnavailable, match="VERIFIQUE A CONFIGURAÇÃO"):
        run_conversation(CnpjaAdapter(KEY).converse(an_inquiry()), reply)


def test_rate_limit_is_temporary() -> None:
    with pytest.raises(SourceUnavailable) as caught:
        run_conversation(
            CnpjaAdapter(KEY).converse(an_inquiry()), error(429, "rate limit exceeded")
        )
    assert "CONFIGURAÇÃO" not in caught.value.detail
    assert caught.value.retry_in_seconds == 30


def test_a_probe_asks_for_the_balance_and_nothing_else() -> None:
    reply = a_reply(200, {"perpetual": 1000, "transient": 234})
    requests, result = run_conversation(CnpjaAdapter(KEY).probe(an_inquiry()), reply)
    assert result == "respondeu; saldo no fornecedor: 1234"
    assert [(request.method, request.path) for request in requests] == [("GET", "/credit")]
    assert requests[0].query == {}
    assert requests[0].headers == {"authorization": KEY}


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (a_reply(200, {"perpetual": 0, "transient": 0}), SourceUnavailable, "CONFIGURAÇÃO"),
        (error(401, "invalid authentication"), SourceUnavailable, "CONFIGURAÇÃO"),
        (error(404, "not found"), SourceFailed, "HTTP 404"),
        (error(429, "rate limit exceeded"), SourceUnavailable, "HTTP 429"),
        (error(503, "revenue service is offline"), SourceUnavailable, "HTTP 503"),
        (a_reply(200, b"<html></html>"), SourceFailed, "outra forma"),
        (a_reply(200, {"credits": 3}), SourceFailed, "outra forma"),
    ],
)
def test_a_probe_that_fails(reply: HttpReply, kind: type[SourceError], text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        run_conversation(CnpjaAdapter(KEY).probe(an_inquiry()), reply)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)


def test_subjects_are_what_the_settings_say() -> None:
    for inquiry in (an_inquiry(), a_uf(), a_uf("SP", CPF), a_zone_inquiry()):
        assert CnpjaAdapter(KEY).capabilities.include(inquiry)
        only = CnpjaAdapter(KEY, subjects=frozenset({"suframa"})).capabilities
        assert only.include(inquiry) == (inquiry.subject == "suframa")
    assert CnpjaAdapter(KEY).capabilities.parts == {"types"}


def test_letters_only_when_configured_and_full_partners_never() -> None:
    assert CnpjaAdapter(KEY).capabilities.include(an_inquiry())
    assert not CnpjaAdapter(KEY).capabilities.include(an_inquiry(LETTERS))
    assert CnpjaAdapter(KEY, accepts_alphanumeric=True).capabilities.include(an_inquiry(LETTERS))
    assert not CnpjaAdapter(KEY).capabilities.include(an_inquiry(full_partners=True))
