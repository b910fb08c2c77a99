"""Tax clearance certificates in the sandbox, as sandbox.md promises them, row by row.

Through the whole composition: the simulated providers, receipts, all stores. Expected values are
written from sandbox.md and from `docs/contract/`. "Today" is the day on which the source was
asked, according to its answer.
"""

import asyncio
import datetime
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from balcao.fiction.digits import cnpj as cnpj_of
from tests.http.federal_certificates.shared import FIELDS, assert_result
from tests.providers import SERPRO, Wire
from tests.records import ALL_UFS, company, federal_of, state_of
from tests.service import CREDITS, Reply, Service, assert_refused, open_service

STRATEGIES = ("CACHE_PREFERENCIAL", "SO_ONLINE")


def cached(house: Service, document: str, uf: str | None = None) -> bool:
    """Return whether there is an entry in the cache, valid or not."""
    if uf is not None:
        return house.kept(Inquiry("state_certificate", Cnpj.parse(document), uf)) is not None
    if len(document) == 11:
        inquiry = Inquiry("federal_certificate", Cpf.parse(document), birth="1980-01-01")
    else:
        inquiry = Inquiry("federal_certificate", Cnpj.parse(document))
    return house.kept(inquiry) is not None


def punctuated(document: str) -> str:
    if len(document) == 11:
        return re.sub(r"(...)(...)(...)(..)", r"\1.\2.\3-\4", document)
    return re.sub(r"(..)(...)(...)(....)(..)", r"\1.\2.\3/\4-\5", document)


def after(day: str, days: int) -> str:
    return (datetime.date.fromisoformat(day) + datetime.timedelta(days)).isoformat()


DAY = r"\d{4}-\d\d-\d\d"

STATE_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "request_id": str,
    "success": bool,
    "error": bool,
    "error_message": type(None),
    "codigo": (str, type(None)),
    "certidao_mensagem": (str, type(None)),
    "certidao_negativa": (bool, type(None)),
    "conseguiu_emitir_certidao_negativa": (bool, type(None)),
    "datahora": (str, type(None)),
    "mensagem": (str, type(None)),
    "numero": (str, type(None)),
    "validade": (str, type(None)),
    "print": (str, type(None)),
}


def assert_federal(answer: Reply, document: str, *, good: bool, source: str) -> Any:
    """Check a federal result's form, origin and price, and return its body."""
    reply = assert_result(answer, 200 if good else 404, source)
    assert set(reply) - {"message"} == set(FIELDS) | {"cnpj", "cpf", "certificate_cnpj"}
    assert ("message" in reply) is not good
    assert unicodedata.is_normalized("NFC", str(reply))
    assert int(answer.headers["age"]) >= 0
    own, other = ("cpf", "cnpj") if len(document) == 11 else ("cnpj", "cpf")
    assert (reply[own], reply[other]) == (punctuated(document), None)
    assert reply["served_at"] >= reply["source_queried_at"]
    ends = [reply[name] for name in ("validity", "extended_validity") if reply[name]]
    assert reply["effective_validity"] == max(ends, default=None)
    assert reply["receipt_type"] in ("application/pdf", "text/html", "")
    assert bool(reply["print"]) is bool(reply["receipt_type"])
    return reply


def assert_state(answer: Reply, *, good: bool, credits: int) -> Any:
    """Check a state result's form and price, and return its body."""
    body = answer.json
    assert answer.status == (200 if good else 404), body
    assert (body["success"], body["error"]) == (good, False)
    assert body["request_id"] == answer.headers["x-request-id"]
    assert set(body) - {"message"} == set(STATE_FIELDS)
    for name, kind in STATE_FIELDS.items():
        assert isinstance(body[name], kind), name
    # A functional negative is a result with a message (contract 1.1), which is no trouble with
    # credits (1.4).
    assert ("message" in body) is not good
    assert not re.search("saldo|cr[ée]dito|limite", body.get("message", ""), re.IGNORECASE)
    assert unicodedata.is_normalized("NFC", str(body))
    assert answer.headers["cache-control"] == "no-store"
    assert answer.credits == credits
    assert body["conseguiu_emitir_certidao_negativa"] is good
    assert re.fullmatch(rf"{DAY} \d\d:\d\d:\d\d", body["datahora"])
    assert body["validade"] is None or re.fullmatch(DAY, body["validade"])
    return body


# Federal certificates: sandbox.md, "Companies" and "People".


@dataclass(frozen=True)
class Federal:
    """One promised federal certificate; None where the row promises nothing."""

    kind: str | None  # CND, CPEND, CPD; None: something else
    receipt: str | None = None
    coded: bool = True
    rfb: bool | None = None
    pgfn: bool | None = None
    validity: int | None = None  # days from today
    extended: int | None = None
    cached: bool = True
    provider_code: int | None = None

    @property
    def good(self) -> bool:
        return self.kind in ("CND", "CPEND")


PDF, HTML = "application/pdf", "text/html"
CND = Federal("CND")
IMPOSSIBLE = Federal(None, provider_code=611)

FEDERALS: Mapping[str, Federal] = {
    "90010001000100": Federal("CND", receipt=PDF),
    "90010002000154": Federal("CPEND", rfb=True, pgfn=False),
    "90010003000107": Federal("CPD"),
    "90010004000143": IMPOSSIBLE,
    "90010005000198": Federal(None),
    "90010006000132": Federal("CND", coded=False, cached=False),
    "90010007000268": CND,
    "90010008000121": Federal("CND", validity=10, extended=40),
    "90010009000176": Federal("CND", validity=1),
    "90010010000109": Federal("CND", validity=0, cached=False),
    "90010011000145": Federal("CND", receipt=HTML),
    "90010012000190": CND,
    "12ABC34501DE35": CND,
    "00000000E08G12": CND,
    "99999999000191": Federal(None),
    "90010000100": CND,
    "90010000291": Federal("CPEND"),
    "90010000372": Federal("CPD"),
    "90010000453": Federal(None),
}
COMPANIES = [document for document in FEDERALS if len(document) == 14]
PEOPLE = [document for document in FEDERALS if len(document) == 11]
MISBEHAVING_PEOPLE = ("90020000146", "90020000227", "90020000308")


@pytest.mark.parametrize("document", FEDERALS)
def test_a_federal_certificate_online(sandbox: Service, document: str) -> None:
    """Each row's certificate from the source, for two credits."""
    promised, before = FEDERALS[document], sandbox.money()
    answer = sandbox.get(federal_of(document, "cache_strategy=SO_ONLINE"))
    reply = assert_federal(answer, document, good=promised.good, source="online")
    today = reply["source_queried_at"][:10]
    if promised.kind is not None:
        assert reply["certificate_type"] == promised.kind
    else:
        assert reply["certificate_type"] not in ("CND", "CPEND", "CPD")
    if promised.good:
        assert (reply["certificate_code"] is not None) is promised.coded
        assert reply["issued_at"] <= today <= reply["effective_validity"]
        assert reply["certificate"]
    for name, value in (("rfb_debts", promised.rfb), ("pgfn_debts", promised.pgfn)):
        assert value is None or reply[name] is value
    if promised.receipt is not None:
        assert reply["receipt_type"] == promised.receipt
        assert reply["print"]
    if promised.provider_code is not None:
        assert reply["provider_code"] == promised.provider_code
    if promised.validity is not None:
        assert reply["validity"] == after(today, promised.validity)
    if promised.extended is not None:
        assert reply["extended_validity"] == after(today, promised.extended)
    else:
        assert reply["extended_validity"] is None
    # Contract 4.6.
    if not promised.cached:
        assert reply["valid_until"] is None
    elif promised.good:
        assert reply["valid_until"] == after(reply["effective_validity"], -1)
    else:
        assert reply["valid_until"] == today
    assert sandbox.money() == (before[0] - 2, 0)


@pytest.mark.parametrize("document", FEDERALS)
def test_a_federal_certificate_from_the_cache(sandbox: Service, document: str) -> None:
    """Cacheable ones are served for one credit; others are refused."""
    promised = FEDERALS[document]
    first = sandbox.get(federal_of(document, "cache_strategy=SO_ONLINE")).json
    before = sandbox.money()
    answer = sandbox.get(federal_of(document, "cache_strategy=SO_CACHE"))
    if promised.cached:
        reply = assert_federal(answer, document, good=promised.good, source="cache")
        changing = {"request_id", "source", "billing", "served_at"}
        for name in set(FIELDS) - changing:
            assert reply[name] == first[name], name
        assert sandbox.money() == (before[0] - 1, 0)
    else:
        assert_refused(answer, 400, "SEM_RESULTADO_EM_CACHE")
        assert sandbox.money() == before


@pytest.mark.parametrize("query", ["preferencia_emissao=nova", "atualizar_online=true"])
@pytest.mark.parametrize("document", ["90010001000100", "90010000100"])
def test_a_refresh_is_always_online(sandbox: Service, document: str, query: str) -> None:
    """`nova` and `atualizar_online` go to the source and cost two credits."""
    sandbox.get(federal_of(document))
    answer = sandbox.get(federal_of(document, query))
    reply = assert_federal(answer, document, good=True, source="online")
    if "nova" in query:
        assert reply["issued_at"] == reply["source_queried_at"][:10]
    again = sandbox.get(federal_of(document, "cache_strategy=SO_CACHE")).json
    assert again["certificate_code"] == reply["certificate_code"]


@pytest.mark.parametrize(
    ("document", "days", "renewed"),
    [
        ("90030012000151", 15, 180),
        ("90030013000104", 15, 15),  # the same one
        ("90030014000140", 15, "CPD"),
        ("90030015000195", 15, "SERVICO_INDISPONIVEL"),
        ("90030000181", 20, 180),
    ],
)
def test_certificates_that_age(
    sandbox: Service, document: str, days: int, renewed: int | str
) -> None:
    """The documents of the clock's table answer its day 0 on the real day."""
    body = sandbox.get(federal_of(document, "cache_strategy=SO_ONLINE")).json
    assert body["effective_validity"] == after(body["source_queried_at"][:10], days)
    answer = sandbox.get(federal_of(document, "cache_strategy=SO_ONLINE&preferencia_emissao=nova"))
    if answer.status == 503:
        assert answer.code == renewed
    elif isinstance(renewed, int):
        asked = answer.json["source_queried_at"][:10]
        assert answer.json["effective_validity"] == after(asked, renewed)
    else:
        assert (answer.status, answer.json["certificate_type"]) == (404, renewed)


def test_a_branch_has_its_head_office_s_certificate(sandbox: Service) -> None:
    """The joint certificate is the company's: same code, with the CNPJ that was asked for."""
    branch, head = (
        sandbox.get(federal_of(cnpj, "cache_strategy=SO_ONLINE")).json
        for cnpj in ("90010007000268", "90010007000187")
    )
    for name in ("certificate_code", "issued_at", "validity", "corporate_name"):
        assert branch[name] == head[name]
    assert branch["cnpj"] == "90.010.007/0002-68"
    assert branch["certificate_cnpj"] == head["certificate_cnpj"] == head["cnpj"]


def test_a_head_office_need_not_have_order_0001(sandbox: Service) -> None:
    """It is determined by the registry's flag."""
    branch = "12ABC345" + "0001"
    branch += cnpj_check_digits(branch)
    body = sandbox.get(federal_of(branch)).json
    assert body["certificate_cnpj"] == "12.ABC.345/01DE-35"


def test_an_extended_certificate_has_the_day_of_the_extension(sandbox: Service) -> None:
    """The status is spelled as in contract 8."""
    body = sandbox.get(federal_of("90010008000121", "cache_strategy=SO_ONLINE")).json
    day = datetime.date.fromisoformat(body["extended_validity"])
    assert body["status"] == f"Válida Prorrogada até {day:%d/%m/%Y}"
    assert sandbox.get(federal_of("90010001000100")).json["status"] == "Válida"


@pytest.mark.parametrize(
    "cnpj",
    [cnpj for cnpj in COMPANIES if FEDERALS[cnpj].kind is not None],
)
def test_the_name_is_the_registry_s(sandbox: Service, cnpj: str) -> None:
    """One company has one name in every subject."""
    body = sandbox.get(federal_of(cnpj)).json
    registry = sandbox.get(company(cnpj)).json["response"]
    assert body["corporate_name"] == registry["nome_empresarial"]


@pytest.mark.parametrize("cpf", [*PEOPLE, *MISBEHAVING_PEOPLE])
def test_a_wrong_birth_date(sandbox: Service, cpf: str) -> None:
    """The source refuses the data, even if the right date is cached; nothing is charged."""
    birth = "19800102"
    if cpf in PEOPLE:
        sandbox.get(federal_of(cpf))
    before = sandbox.money()
    for strategy in STRATEGIES:
        answer = sandbox.get(federal_of(cpf, f"cache_strategy={strategy}", birth))
        assert_refused(answer, 400, "DADOS_RECUSADOS_PELA_FONTE")
    only = sandbox.get(federal_of(cpf, "cache_strategy=SO_CACHE", birth))
    assert_refused(only, 400, "SEM_RESULTADO_EM_CACHE")
    assert sandbox.money() == before
    assert before[1] == 0


@pytest.mark.parametrize("document", ["11222333000181", "33000167000101", "52998224725"])
def test_every_other_document_has_a_constant_answer(sandbox: Service, document: str) -> None:
    """A valid document that the sandbox does not fix is answered alike each time."""
    from balcao.fiction import person_of

    born = "" if len(document) == 14 else f"{person_of(document).born:%Y%m%d}"
    path = federal_of(document, "cache_strategy=SO_ONLINE", born)
    first, again = (sandbox.get(path) for _ in range(2))
    assert first.status in (200, 404)
    assert (first.status, first.credits) == (again.status, again.credits) == (first.status, 2)
    for name in ("certificate_type", "certificate_code", "corporate_name", "validity", "print"):
        assert first.json[name] == again.json[name]


# State certificates: sandbox.md, "Companies".


@dataclass(frozen=True)
class State:
    """One promised state certificate."""

    uf: str = "SP"
    good: bool = True
    pdf: bool | None = None  # None: not promised
    dated: bool = True
    validity: int | None = None
    cached: bool = True


NEGATIVE = State()
NOT_ISSUED = State(good=False, cached=False)

STATES: Mapping[str, State] = {
    "90010001000100": State(pdf=True, validity=60),
    "90010002000154": State("AM"),
    "90010003000107": NOT_ISSUED,
    "90010004000143": NOT_ISSUED,
    "90010005000198": State(dated=False, cached=False),
    "90010006000132": State(pdf=False),
    "90010007000268": NEGATIVE,
    "90010008000121": NEGATIVE,
    "90010009000176": State(validity=1),
    "90010010000109": State(validity=0, cached=False),
    "90010011000145": State(pdf=False),
    "90010012000190": NEGATIVE,
    "12ABC34501DE35": NEGATIVE,
    "00000000E08G12": NEGATIVE,
    "99999999000191": NOT_ISSUED,
}


@pytest.mark.parametrize("cnpj", STATES)
def test_a_state_certificate_online(sandbox: Service, cnpj: str) -> None:
    """Each row's certificate from the source, for two credits."""
    promised, before = STATES[cnpj], sandbox.money()
    answer = sandbox.get(state_of(cnpj, promised.uf, "atualizar_online=true"))
    reply = assert_state(answer, good=promised.good, credits=2)
    today = reply["datahora"][:10]
    if promised.good:
        assert (reply["validade"] is not None) is promised.dated
    if promised.validity is not None:
        assert reply["validade"] == after(today, promised.validity)
    if promised.pdf is not None:
        assert (reply["print"] is not None) is promised.pdf
    assert sandbox.money() == (before[0] - 2, 0)
    assert answer.headers["cache-status"] == "Balcao; fwd=miss"


@pytest.mark.parametrize("cnpj", STATES)
def test_a_state_certificate_from_the_cache(sandbox: Service, cnpj: str) -> None:
    """A certificate with a validity after today is cached, for one credit; no other is."""
    promised = STATES[cnpj]
    first = sandbox.get(state_of(cnpj, promised.uf, "atualizar_online=true")).json
    before = sandbox.money()
    answer = sandbox.get(state_of(cnpj, promised.uf))
    price = 1 if promised.cached else 2
    reply = assert_state(answer, good=promised.good, credits=price)
    assert answer.headers["cache-status"].endswith("; hit") is promised.cached
    for name in ("codigo", "numero", "validade", "print", "certidao_mensagem"):
        assert reply[name] == first[name], name
    if promised.cached:
        assert reply["datahora"] == first["datahora"]
    assert sandbox.money() == (before[0] - price, 0)


def test_a_company_that_does_not_exist_in_every_uf(sandbox: Service) -> None:
    """No state certifies it: a functional negative of two credits everywhere, never cached."""
    for uf in ALL_UFS:
        answer = sandbox.get(state_of("99999999000191", uf))
        assert_state(answer, good=False, credits=2)
        assert answer.json["print"] is None
        assert sandbox.get(state_of("99999999000191", uf)).credits == 2


def test_every_uf_answers(sandbox: Service) -> None:
    """A company has a result in each of the 27 UFs, in upper or lower case, with spaces around."""
    for uf in ALL_UFS:
        answer = sandbox.get(state_of("11222333000181", uf))
        good = answer.status == 200
        reply = assert_state(answer, good=good, credits=2)
        if good and reply["validade"] and reply["validade"] > after(reply["datahora"][:10], 0):
            same = sandbox.get(state_of("11.222.333%2F0001-81", f"%20{uf.lower()}%20"))
            assert_state(same, good=True, credits=1)


# Sources that misbehave

FAILING = {
    "90020001000190": (503, "SERVICO_INDISPONIVEL"),
    "90020003000180": (400, "FALHA_TECNICA"),
    "90020004000124": (400, "FALHA_TECNICA"),
    "90020005000179": (400, "FALHA_TECNICA"),
    "90020009000157": (400, "FALHA_TECNICA"),
    "90020010000181": (400, "FALHA_TECNICA"),
}
FAILING_PEOPLE = {
    "90020000146": (503, "SERVICO_INDISPONIVEL"),
    "90020000308": (400, "FALHA_TECNICA"),
}


def assert_a_failed_certificate(answer: Reply, status: int, code: str) -> None:
    """Check an error in the form of the certificates: an object with the public details."""
    assert_refused(answer, status, code)
    assert set(answer.json["error_message"]) == {"message", "code"}
    assert "print" not in answer.json


@pytest.mark.parametrize(("document", "expected"), (FAILING | FAILING_PEOPLE).items())
def test_federal_sources_that_misbehave(
    sandbox: Service, document: str, expected: tuple[int, str]
) -> None:
    """A failing source costs nothing, by any strategy, and leaves nothing in the cache."""
    before = sandbox.money()
    for strategy in STRATEGIES:
        answer = sandbox.get(federal_of(document, f"cache_strategy={strategy}"))
        assert_a_failed_certificate(answer, *expected)
        only = sandbox.get(federal_of(document, "cache_strategy=SO_CACHE"))
        assert_refused(only, 400, "SEM_RESULTADO_EM_CACHE")
    assert sandbox.money() == before
    assert before[1] == 0
    assert not cached(sandbox, document)


@pytest.mark.parametrize(("cnpj", "expected"), FAILING.items())
def test_state_sources_that_misbehave(
    sandbox: Service, cnpj: str, expected: tuple[int, str]
) -> None:
    """A failing source costs nothing in any UF and leaves nothing in the cache."""
    before = sandbox.money()
    for uf in ("SP", "AM", "RS"):
        for query in ("", "atualizar_online=true"):
            answer = sandbox.get(state_of(cnpj, uf, query))
            assert_a_failed_certificate(answer, *expected)
        assert not cached(sandbox, cnpj, uf)
    assert sandbox.money() == before
    assert before[1] == 0


def test_sources_that_never_answer(hasty: Service) -> None:
    """The deadline ends every form of the question as a failure that costs nothing."""
    cnpj, cpf, before = "90020002000135", "90020000227", hasty.money()
    paths = [state_of(cnpj), state_of(cnpj, "BA"), state_of(cnpj, "SP", "atualizar_online=1")]
    for strategy in STRATEGIES:
        paths += [federal_of(each, f"cache_strategy={strategy}") for each in (cnpj, cpf)]
    paths.append(federal_of(cnpj, "preferencia_emissao=nova"))

    async def scenario() -> list[Reply]:
        return list(await asyncio.gather(*(hasty.aget(path) for path in paths)))

    for answer in hasty.run(scenario()):
        assert_a_failed_certificate(answer, 400, "FALHA_TECNICA")
    for document in (cnpj, cpf):
        only = hasty.get(federal_of(document, "cache_strategy=SO_CACHE"))
        assert_refused(only, 400, "SEM_RESULTADO_EM_CACHE")
        assert not cached(hasty, document)
    assert not cached(hasty, cnpj, "SP")
    assert hasty.money() == before == (CREDITS, 0)
    hasty.assert_books_agree()


def test_a_slow_source_answers(sandbox: Service) -> None:
    """An answer well after 3 s is waited for, in both operations."""
    cnpj = "90020006000113"

    async def scenario() -> tuple[Reply, Reply]:
        return await asyncio.gather(sandbox.aget(federal_of(cnpj)), sandbox.aget(state_of(cnpj)))

    of_union, of_state = sandbox.run(scenario())
    assert_federal(of_union, cnpj, good=True, source="online")
    assert_state(of_state, good=True, credits=2)
    assert_federal(
        sandbox.get(federal_of(cnpj, "cache_strategy=SO_CACHE")), cnpj, good=True, source="cache"
    )


def test_a_federal_source_that_answers_once(fresh: Service) -> None:
    """It answers, then it fails; a cached answer replaces it where the strategy allows that."""
    cnpj = "90020007000168"
    first = fresh.get(federal_of(cnpj, "cache_strategy=SO_ONLINE"))
    online = fresh.get(federal_of(cnpj, "cache_strategy=SO_ONLINE"))
    stood_in = fresh.get(federal_of(cnpj, "cache_strategy=ONLINE_PREFERENCIAL"))
    usual = fresh.get(federal_of(cnpj))
    only = fresh.get(federal_of(cnpj, "cache_strategy=SO_CACHE"))

    code = assert_federal(first, cnpj, good=True, source="online")["certificate_code"]
    assert_a_failed_certificate(online, 400, "FALHA_TECNICA")
    for answer in (stood_in, usual, only):
        reply = assert_federal(answer, cnpj, good=True, source="cache")
        assert reply["certificate_code"] == code
        assert reply["source_queried_at"] == first.json["source_queried_at"]
        assert reply["print"] == first.json["print"]
    assert [charge.credits for charge in fresh.charges()] == [-2, -1, -1, -1]


def test_a_state_source_that_answers_once(fresh: Service) -> None:
    """Its certificate is served from the cache; a refresh fails without a fallback."""
    cnpj = "90020007000168"
    first, kept, refreshed, again = (
        fresh.get(state_of(cnpj, "SP", query)) for query in ("", "", "atualizar_online=true", "")
    )
    answer = assert_state(first, good=True, credits=2)
    assert_state(kept, good=True, credits=1)
    assert_a_failed_certificate(refreshed, 400, "FALHA_TECNICA")
    assert assert_state(again, good=True, credits=1)["codigo"] == answer["codigo"]
    assert [charge.credits for charge in fresh.charges()] == [-2, -1, -1]


def test_a_source_that_fails_in_three_ufs(fresh: Service) -> None:
    """BA, MG and RS fail and are free; all other UFs and the federal certificate are answered."""
    cnpj = "90020008000102"
    for uf in ALL_UFS:
        answer = fresh.get(state_of(cnpj, uf))
        if uf in ("BA", "MG", "RS"):
            assert answer.status in (400, 503)
            assert_a_failed_certificate(
                answer,
                answer.status,
                "SERVICO_INDISPONIVEL" if answer.status == 503 else "FALHA_TECNICA",
            )
            assert not cached(fresh, cnpj, uf)
        else:
            assert_state(answer, good=True, credits=2)
    assert_federal(fresh.get(federal_of(cnpj)), cnpj, good=True, source="online")
    assert fresh.money() == (CREDITS - 2 * 25, 0)


def test_misbehaving_documents_do_not_affect_others(sandbox: Service) -> None:
    """Intended failures open no circuit of the sandbox."""
    for _ in range(10):
        sandbox.get(federal_of("90020003000180", "cache_strategy=SO_ONLINE"))
        sandbox.get(state_of("90020003000180", "SP", "atualizar_online=1"))
    assert sandbox.get(federal_of("90010001000100", "cache_strategy=SO_ONLINE")).status == 200
    assert sandbox.get(state_of("90010001000100", "SP", "atualizar_online=1")).status == 200


# Promised extra documents (`docs/sandbox.md`).


@pytest.mark.parametrize("root", ["90040001", "90050001", "90060001"])
def test_peculiarities_of_providers(sandbox: Service, root: str) -> None:
    """Type in the title alone, long issuance, a Portuguese field name: each is a CND."""
    cnpj = cnpj_of(root, "0001")
    answer = assert_federal(sandbox.get(federal_of(cnpj)), cnpj, good=True, source="online")
    assert answer["certificate_type"] == "CND"


def test_an_issuance_that_takes_three_calls(tmp_path: Path) -> None:
    """SERPRO is still processing twice: one lookup, one charge, three calls, a receipt."""
    cnpj, wire = cnpj_of("90050001", "0001"), Wire()
    with open_service(tmp_path, mode="live", transport=wire, serpro=SERPRO) as house:
        answer = house.get(federal_of(cnpj))
        reply = assert_federal(answer, cnpj, good=True, source="online")
        assert reply["certificate_type"] == "CND"
        assert reply["receipt_type"] == PDF
        assert wire.count("serpro") == 1 + 3  # the token, then the certificate
        again = house.get(federal_of(cnpj, "cache_strategy=SO_CACHE"))
        assert assert_federal(again, cnpj, good=True, source="cache")["print"] == reply["print"]
        assert wire.count("serpro") == 1 + 3
        assert house.money() == (CREDITS - 3, 0)
        house.assert_books_agree()


def test_an_analysis_that_never_ends(tmp_path: Path) -> None:
    """SERPRO's "analysis interrupted" is a failure: nothing charged, nothing kept."""
    cnpj, wire = cnpj_of("90070001", "0001"), Wire()
    with open_service(tmp_path, mode="live", transport=wire, serpro=SERPRO) as house:
        assert_a_failed_certificate(house.get(federal_of(cnpj)), 400, "FALHA_TECNICA")
        only = house.get(federal_of(cnpj, "cache_strategy=SO_CACHE"))
        assert_refused(only, 400, "SEM_RESULTADO_EM_CACHE")
        assert house.money() == (CREDITS, 0)
        house.assert_books_agree()


@pytest.mark.parametrize("cnpj", ["90080001000186", "90080002000120", "90080003000175"])
def test_a_receipt_that_must_not_be_stored(fresh: Service, cnpj: str) -> None:
    """The certificate is delivered and cached without its receipt, and a warning is logged."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    with capture_logs() as logged:
        answer = fresh.get(federal_of(cnpj))
    reply = assert_federal(answer, cnpj, good=True, source="online")
    assert (reply["certificate_type"], reply["print"]) == ("CND", None)
    (warning,) = [each for each in logged if each["event"] == "receipt.unusable"]
    assert (warning["log_level"], warning["source"]) == ("warning", "infosimples")
    assert cnpj not in str(warning)
    again = fresh.get(federal_of(cnpj, "cache_strategy=SO_CACHE"))
    assert assert_federal(again, cnpj, good=True, source="cache")["print"] is None
    assert fresh.money() == (CREDITS - 3, 0)
