"""Checks that every certificate must pass."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec
import pytest

from balcao.core.breaker import BreakerSettings
from balcao.core.errors import DataRefused, SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.providers.serpro.cnd import SerproCndAdapter
from balcao.sources.certificates import CertificateAdapter, CertificateSource
from balcao.sources.contract import Found
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, NOW, Clock, Measured, an_upstream
from tests.sources.certificates_world import (
    BRANCH,
    RECEIPT,
    SECRETS,
    STORED,
    TOKEN,
    ReceiptRecorder,
    enveloped,
    federal,
    state,
)
from tests.sources.test_infosimples_federal_cert import RECORD as FEDERAL_RECORD
from tests.sources.test_infosimples_federal_cert import SAVED as FEDERAL
from tests.sources.test_infosimples_state_cert import RECORD as STATE_RECORD
from tests.sources.test_infosimples_state_cert import SAVED as STATE
from tests.sources.test_serpro_cnd import PDF
from tests.sources.test_serpro_cnd import SAVED as SERPRO

INFOSIMPLES = InfosimplesAdapter(TOKEN)


class Answers:
    """A provider's replies, in order; counts the calls."""

    def __init__(self, *bodies: Any) -> None:
        self.bodies = list(bodies)
        self.calls = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        body = self.bodies.pop(0)
        if isinstance(body, Exception):
            raise body
        if isinstance(body, bytes):
            return httpx2.Response(200, content=body)
        if isinstance(body, tuple):
            return httpx2.Response(body[0], json=body[1])
        return httpx2.Response(200, json=body)


def ask(
    adapter: CertificateAdapter,
    inquiry: Inquiry,
    answers: Answers,
    *,
    keeper: ReceiptRecorder | None = None,
    measured: Measured | None = None,
    now: Callable[[], datetime] = lambda: NOW,
) -> Found:
    upstream = an_upstream(answers, observe=(Measured() if measured is None else measured).append)
    source = CertificateSource(
        "acme", adapter, lambda _: upstream, now=now, receipts=keeper or ReceiptRecorder()
    )
    result = asyncio.run(source.ask(inquiry))
    assert isinstance(result, Found)
    return result


def refused(*args: Any, **named: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        ask(*args, **named)
    for secret in SECRETS:
        assert secret not in str(caught.value)
    return caught.value


def test_a_federal_certificate_and_its_receipt() -> None:
    keeper = ReceiptRecorder()
    answers = Answers(enveloped(200, FEDERAL).body)
    found = ask(INFOSIMPLES, federal(), answers, keeper=keeper)
    assert found == Found(msgspec.structs.replace(FEDERAL_RECORD, receipt=STORED), "acme", NOW)
    assert keeper.given == [("acme", RECEIPT)]
    assert answers.calls == 1


def test_a_state_certificate() -> None:
    found = ask(INFOSIMPLES, state(), Answers(enveloped(200, STATE).body))
    assert found.record == msgspec.structs.replace(STATE_RECORD, receipt=STORED)


def test_serpros_certificate_comes_with_its_bytes_and_is_timed_by_us() -> None:
    keeper, clock = ReceiptRecorder(), Clock()

    def now() -> datetime:
        clock.now += 1.5
        return datetime.fromtimestamp(NOW.timestamp() + clock.now - 1001.5, UTC)

    found = ask(SerproCndAdapter(), federal(), Answers(SERPRO), keeper=keeper, now=now)
    assert keeper.given == [("acme", PDF)]
    assert found.record.provider_elapsed_ms == 3000  # type: ignore[attr-defined]


ABOUT_OTHERS = [
    (INFOSIMPLES, federal(OTHER_CNPJ), enveloped(200, FEDERAL).body),
    (INFOSIMPLES, federal(OTHER_CNPJ), enveloped(611).body),
    (INFOSIMPLES, federal(CPF), enveloped(200, FEDERAL).body),
    (INFOSIMPLES, federal(), enveloped(200, FEDERAL | {"normalizado_cnpj": OTHER_CNPJ}).body),
    (INFOSIMPLES, state("SP", OTHER_CNPJ), enveloped(200, STATE).body),
    (INFOSIMPLES, state("SP", BRANCH), enveloped(200, STATE | {"cnpj": CNPJ}).body),
    (INFOSIMPLES, state("MG"), enveloped(200, STATE | {"uf": "SP"}).body),
    (SerproCndAdapter(), federal(OTHER_CNPJ), SERPRO),
]


@pytest.mark.parametrize(("adapter", "inquiry", "body"), ABOUT_OTHERS)
def test_another_document_is_a_failure_without_a_receipt(
    adapter: CertificateAdapter, inquiry: Inquiry, body: Any
) -> None:
    keeper, measured = ReceiptRecorder(), Measured()
    error = refused(adapter, inquiry, Answers(body), keeper=keeper, measured=measured)
    assert type(error) is SourceFailed
    assert "outr" in error.detail
    assert keeper.given == []
    assert measured.outcomes == ["failed"]


def test_a_branch_is_certified_by_its_head_office() -> None:
    asked = enveloped(200, FEDERAL, header={"parameters": {"cnpj": BRANCH}}).body
    adapters: list[tuple[CertificateAdapter, Any]] = [
        (INFOSIMPLES, asked),
        (SerproCndAdapter(), SERPRO),
    ]
    for adapter, body in adapters:
        assert ask(adapter, federal(BRANCH), Answers(body)).record.good  # type: ignore[attr-defined]


LAST_DAYS = [
    (INFOSIMPLES, federal(), enveloped(200, FEDERAL | {"validade_data": "05/08/2026"}).body),
    (INFOSIMPLES, state(), enveloped(200, STATE | {"validade_data": "05/08/2026"}).body),
    (
        INFOSIMPLES,
        federal(),
        enveloped(
            200, FEDERAL | {"validade_data": "01/08/2026", "validade_prorrogada": "05/08/2026"}
        ).body,
    ),
    (
        SerproCndAdapter(),
        federal(),
        SERPRO | {"Certidao": SERPRO["Certidao"] | {"DataValidade": "2026-08-05"}},
    ),
]


@pytest.mark.parametrize(("adapter", "inquiry", "body"), LAST_DAYS)
def test_expired_certificate_is_rejected(
    adapter: CertificateAdapter, inquiry: Inquiry, body: Any
) -> None:
    last = datetime(2026, 8, 6, 2, 59, 59, tzinfo=UTC)  # still the fifth in Brasília
    assert ask(adapter, inquiry, Answers(body), now=lambda: last).record.good  # type: ignore[attr-defined]
    first = datetime(2026, 8, 6, 3, 0, 0, tzinfo=UTC)
    error = refused(adapter, inquiry, Answers(body), now=lambda: first)
    assert type(error) is SourceFailed
    assert "vencida" in error.detail


def test_positive_certificate_may_be_expired() -> None:
    old = FEDERAL | {"tipo": "Positiva", "validade_data": "01/07/2026"}
    found = ask(INFOSIMPLES, federal(), Answers(enveloped(200, old).body))
    assert not found.record.good  # type: ignore[attr-defined]


# --- no second issuance ------------------------------------------------------------------------


@pytest.mark.parametrize("code", [600, 605, 609, 614, 615, 617, 620, 622])
@pytest.mark.parametrize("inquiry", [federal(), federal(reissue=True), state()])
def test_a_failure_is_not_repeated(inquiry: Inquiry, code: int) -> None:
    answers = Answers(enveloped(code, errors=[]).body, enveloped(200, FEDERAL).body)
    refused(INFOSIMPLES, inquiry, answers)
    assert answers.calls == 1


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError("x"), httpx2.ReadError("x"), httpx2.ReadTimeout("x")]
)
def test_a_broken_connection_is_not_tried_again(error: Exception) -> None:
    for adapter in (INFOSIMPLES, SerproCndAdapter()):
        answers = Answers(error, enveloped(200, FEDERAL).body)
        refused(adapter, federal(), answers)
        assert answers.calls == 1


AT_WORK = (201, {"Status": 7, "Chave": "0f8fad5b"})


@pytest.mark.parametrize(
    "then",
    [(202, {"Status": 6}), (503, {}), (429, {}), (403, {}), httpx2.ConnectError("x")],
)
def test_issuance_in_progress_is_a_failure(then: Any) -> None:
    """With `SourceUnavailable`, the next source would be asked."""
    error = refused(SerproCndAdapter(), federal(), Answers(AT_WORK, then))
    assert type(error) is SourceFailed
    assert "em andamento" in error.detail
    assert type(refused(SerproCndAdapter(), federal(), Answers(then))) is SourceUnavailable


# --- refused data ------------------------------------------------------------------------------


def test_wrong_birth_dates_do_not_open_the_circuit() -> None:
    measured = Measured()
    upstream = an_upstream(
        lambda _: httpx2.Response(200, content=enveloped(608).body),
        breaker_settings=BreakerSettings(failures=1),
        observe=measured.append,
    )
    source = CertificateSource(
        "acme", INFOSIMPLES, lambda _: upstream, now=lambda: NOW, receipts=ReceiptRecorder()
    )
    for _ in range(3):
        with pytest.raises(DataRefused):
            asyncio.run(source.ask(federal(CPF)))
    assert upstream.circuit_state == "closed"
    assert measured.outcomes == ["absent"] * 3


def test_refused_data_close_the_circuit() -> None:
    clock = Clock()
    answers = Answers((500, {}), enveloped(608).body, enveloped(200, FEDERAL).body)
    upstream = an_upstream(answers, breaker_settings=BreakerSettings(failures=1), clock=clock)
    source = CertificateSource(
        "acme", INFOSIMPLES, lambda _: upstream, now=lambda: NOW, receipts=ReceiptRecorder()
    )
    with pytest.raises(SourceFailed):
        asyncio.run(source.ask(federal()))
    with pytest.raises(SourceUnavailable, match="circuito aberto"):
        asyncio.run(source.ask(federal()))
    clock.now += 15.0
    with pytest.raises(DataRefused):
        asyncio.run(source.ask(federal(CPF)))
    assert isinstance(asyncio.run(source.ask(federal())), Found)
