"""Labour certificates and FGTS regularity in the sandbox, as sandbox.md promises them.

Through the whole composition. Expected values are written from sandbox.md and from contract 4.14.
"""

import datetime
from typing import Any, NamedTuple

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from tests.records import FGTS, LABOUR, fgts, labour
from tests.service import Reply, Service, assert_refused

HEAD_OFFICE, BRANCH = "90010007000187", "90010007000268"
ONLINE = "cache_strategy=SO_ONLINE"


@pytest.fixture(scope="module")
def sandbox(house: Service) -> Service:
    return house


def labour_of(document: str, query: str = "") -> str:
    who = "cpf" if len(document) == 11 else "cnpj"
    return labour(f"{who}={document}" + (f"&{query}" if query else ""))


def assert_result(answer: Reply, *, good: bool, source: str = "online") -> Any:
    """Check a result's form and price, and return its body."""
    body, credits = answer.json, 1 if source == "cache" else 2
    assert answer.status == (200 if good else 404), body
    assert (body["success"], body["error"], body["error_message"]) == (good, False, {})
    assert (body["source"], body["billing"]["credits"], answer.credits) == (
        source,
        credits,
        credits,
    )
    assert ("message" in body) is not good
    assert body["effective_validity"] == body["validity"]
    assert bool(body["print"]) is bool(body["receipt_type"])
    if good:
        today = body["source_queried_at"][:10]
        assert body["validity"] >= today
    return body


def after(day: str, days: int) -> str:
    return (datetime.date.fromisoformat(day) + datetime.timedelta(days)).isoformat()


class Labour(NamedTuple):
    """One promised labour certificate."""

    kind: str | None = "CND"
    lawsuits: int = 0
    receipt: str = "application/pdf"


NOT_ISSUED = Labour(None, receipt="")
LABOURS = {
    "90010001000100": Labour(),
    "90010002000154": Labour("CPEND", 1),
    "90010003000107": Labour("CPD", 3),
    "90010004000143": Labour("CPD", 1),
    "90010005000198": Labour("CPEND", 2),
    "90010006000132": Labour(receipt=""),
    BRANCH: Labour(),
    "90010008000121": Labour(),
    "90010011000145": Labour(receipt="text/html"),
    "90010012000190": Labour(),
    "12ABC34501DE35": Labour(),
    "99999999000191": NOT_ISSUED,
    "90080001000186": Labour(receipt=""),
    "90010000100": Labour(),
    "90010000291": Labour("CPEND", 1),
    "90010000372": Labour("CPD", 1),
    "90010000453": NOT_ISSUED,
}


@pytest.mark.parametrize("document", LABOURS)
def test_a_labour_certificate(sandbox: Service, document: str) -> None:
    """Issued today for 180 days after it; kept until the day before its last one."""
    promised = LABOURS[document]
    good = promised.kind in ("CND", "CPEND")
    body = assert_result(sandbox.get(labour_of(document, ONLINE)), good=good)
    today = body["source_queried_at"][:10]
    assert (body["certificate_type"], body["issued_successfully"]) == (promised.kind, good)
    assert (len(body["lawsuits"]), body["receipt_type"]) == (promised.lawsuits, promised.receipt)
    assert body["lawsuits_total"] == (promised.lawsuits or None)
    assert body["covers"] == ("pessoa" if len(document) == 11 else "empresa")
    if good:
        assert (body["issued_at"], body["validity"]) == (today, after(today, 180))
        assert body["valid_until"] == after(today, 179)
        assert body["debtor_listed"] is (promised.kind == "CPEND")
    else:
        assert body["valid_until"] == today
    kept = sandbox.get(labour_of(document, "cache_strategy=SO_CACHE"))
    again = assert_result(kept, good=good, source="cache")
    assert again["certificate_number"] == body["certificate_number"]


class Fgts(NamedTuple):
    """One promised situation."""

    situation: str = "regular"
    days_left: int | None = None
    reason: str | None = None
    cached: bool = True


FGTSES = {
    "90010001000100": Fgts(days_left=20),
    "90010002000154": Fgts(),  # the days are in the history only
    "90010003000107": Fgts("irregular"),
    "90010004000143": Fgts("nao_comprovada", reason="não são suficientes"),
    "90010005000198": Fgts("irregular", reason="impedimentos"),
    "90010006000132": Fgts("nao_cadastrado", reason="não cadastrado"),
    HEAD_OFFICE: Fgts(),
    "90010009000176": Fgts(days_left=1),
    "90010010000109": Fgts(days_left=0, cached=False),
    "90010011000145": Fgts("nao_cadastrado"),
    "90010012000190": Fgts(),  # in part
    "99999999000191": Fgts("nao_cadastrado"),
}


@pytest.mark.parametrize("cnpj", FGTSES)
def test_a_regularity(sandbox: Service, cnpj: str) -> None:
    """A certificate has thirty days, its first and its last included."""
    promised = FGTSES[cnpj]
    good = promised.situation == "regular"
    body = assert_result(sandbox.get(fgts(cnpj, ONLINE)), good=good)
    today = body["source_queried_at"][:10]
    assert body["situation"] == promised.situation
    assert (promised.reason or "") in (body["reason"] or "")
    if good:
        assert body["validity"] == after(body["valid_from"], 29)
        assert body["issued_at"] == body["valid_from"] <= today
        assert len(body["certificate_number"]) == 22
        assert (body["registration"], body["registration_is_head_office"]) == (body["cnpj"], False)
        assert promised.days_left is None or body["validity"] == after(today, promised.days_left)
    kept = sandbox.get(fgts(cnpj, "cache_strategy=SO_CACHE"))
    if promised.cached:
        assert_result(kept, good=good, source="cache")
    else:
        assert body["valid_until"] is None
        assert_refused(kept, 400, "SEM_RESULTADO_EM_CACHE")


def test_a_branch_unknown_to_caixa(sandbox: Service) -> None:
    """It has its head office's result, which is named, and which is kept for the branch alone."""
    body = assert_result(sandbox.get(fgts(BRANCH, ONLINE)), good=True)
    head_office = Cnpj(HEAD_OFFICE).punctuated
    assert (body["registration"], body["registration_is_head_office"]) == (head_office, True)
    assert body["cnpj"] == Cnpj(BRANCH).punctuated
    assert sandbox.kept(Inquiry("fgts_regularity", Cnpj(BRANCH))) is not None


def test_all_establishments_share_a_labour_certificate(sandbox: Service) -> None:
    """It is the company's by law: the second one is served from the cache."""
    head = assert_result(sandbox.get(labour_of(HEAD_OFFICE, ONLINE)), good=True)
    branch = assert_result(sandbox.get(labour_of(BRANCH)), good=True, source="cache")
    assert branch["certificate_number"] == head["certificate_number"]
    assert branch["cnpj"] == Cnpj(BRANCH).punctuated
    assert branch["certificate_cnpj"] == head["certificate_cnpj"] == head["cnpj"]


FAILING = {
    "90020001000190": (503, "SERVICO_INDISPONIVEL"),
    "90020003000180": (400, "FALHA_TECNICA"),
    "90020005000179": (400, "FALHA_TECNICA"),
    "90020009000157": (400, "FALHA_TECNICA"),
}


@pytest.mark.parametrize(("cnpj", "expected"), FAILING.items())
@pytest.mark.parametrize("path", [labour_of, fgts])
def test_failures_cost_nothing(
    sandbox: Service, path: Any, cnpj: str, expected: tuple[int, str]
) -> None:
    before = sandbox.money()
    assert_refused(sandbox.get(path(cnpj)), *expected)
    assert sandbox.money() == before


def test_an_unknown_620_is_not_charged(sandbox: Service) -> None:
    before = sandbox.money()
    answer = sandbox.get(fgts("90010008000121"))
    assert_refused(answer, 400, "FALHA_TECNICA")
    assert b"FGER" not in answer.body
    assert sandbox.money() == before


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (LABOUR, "DOCUMENTO_OBRIGATORIO"),
        (f"{LABOUR}?cnpj={HEAD_OFFICE}&cpf=90010000100", "DOCUMENTOS_CONFLITANTES"),
        (f"{LABOUR}?cpf=90010000101", "CPF_INVALIDO"),
        (f"{LABOUR}?cnpj=1", "CNPJ_INVALIDO"),
        (
            f"{LABOUR}?cnpj={HEAD_OFFICE}&cache_strategy=SO_CACHE&atualizar_online=true",
            "PARAMETROS_CONFLITANTES",
        ),
        (f"{FGTS}/90010000100", "CNPJ_INVALIDO"),
        (f"{FGTS}/{HEAD_OFFICE}?cache_strategy=SEMPRE", "ESTRATEGIA_INVALIDA"),
    ],
)
def test_invalid_requests(sandbox: Service, path: str, code: str) -> None:
    answer = sandbox.get(path)
    assert_refused(answer, 400, code)
    assert b"data_nascimento" not in answer.body


def test_a_receipt_belongs_to_its_account_and_its_operation(sandbox: Service) -> None:
    """An address with another operation's path, or another account's key, is a 404."""
    body = sandbox.get(labour_of("90010001000100")).json
    address, of_fgts = body["print"], sandbox.get(fgts("90010001000100")).json["print"]
    assert address.startswith(f"{LABOUR}/print/")
    receipt = sandbox.get(address)
    assert receipt.status == 200
    assert 'filename="CND-trabalhista_90010001000100_' in receipt.headers["content-disposition"]
    name = sandbox.get(of_fgts).headers["content-disposition"]
    assert 'filename="CRF-fgts_90010001000100_' in name
    number = address.rpartition("/")[2]
    for path in (FGTS, "/consultas/v2/certidao-negativa-de-debitos-federal"):
        assert sandbox.get(f"{path}/print/{number}").status == 404
    assert sandbox.get(address, sandbox.account("beta")).status == 404


def test_a_person_is_kept_masked(sandbox: Service) -> None:
    """Neither the CPF nor the name is in the trace."""
    answer = sandbox.get(labour_of("90010000100", ONLINE))
    number, account = answer.json["request_id"], sandbox.client.account_id
    trace = sandbox.desk.people.trace(account, number)
    assert trace is not None
    assert trace.document == "***100001**"
    assert trace.certificate is not None
    assert (trace.certificate.verdict, trace.certificate.name) == ("CND", None)
    assert sandbox.kept(Inquiry("labour_certificate", Cpf("90010000100"))) is not None


def test_a_positive_certificate_does_not_expire(sandbox: Service) -> None:
    """Its last day is in the answer, but no list of expiring certificates has it."""
    body = sandbox.get(labour_of("90010003000107", ONLINE)).json
    trace = sandbox.desk.people.trace(sandbox.client.account_id, body["request_id"])
    assert body["validity"] is not None
    assert trace is not None
    assert trace.certificate is not None
    assert (trace.certificate.verdict, trace.certificate.validity) == ("CPD", None)
