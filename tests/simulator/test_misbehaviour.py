"""Every provider fails as promised (`docs/sandbox.md`, Sources that misbehave)."""

import asyncio
import inspect
import json
import time
from typing import Any

import httpx2
import pytest

from balcao.providers.simulation.app import create_app
from balcao.providers.simulation.faults import FAILING_UFS, FaultInjector, ReplyFactory
from balcao.providers.simulation.messages import ConnectionCut, SimulatedReply
from tests.simulator.services import (
    BRASILAPI,
    CCC,
    CND,
    EVERY_API,
    MINHA_RECEITA,
    OF_PEOPLE,
    OF_STATES,
    OF_THE_REGISTRY,
    OFFICE,
    PGFN,
    QSA,
    RFB,
    SINTEGRA,
    STATE_CERTIFICATE,
    SUFRAMA,
    SimulatedApi,
)
from tests.simulator.world import an_app, fetch, get

FIRST = "90020007000168"
SOME_UFS = "90020008000102"
INCOMPLETE = "90020009000157"


@pytest.fixture(params=EVERY_API)
def api(request: pytest.FixtureRequest) -> SimulatedApi:
    return EVERY_API[request.param]


@pytest.fixture(params=OF_STATES)
def of_states(request: pytest.FixtureRequest) -> SimulatedApi:
    return OF_STATES[request.param]


def test_maintenance(api: SimulatedApi) -> None:
    assert api.is_down(api.ask("90020001000190"))


def test_maintenance_replies_differ_by_provider() -> None:
    assert QSA.ask("90020001000190").json()["fault"]["code"] == 101503
    for each in (MINHA_RECEITA, BRASILAPI):
        reply = each.ask("90020001000190")
        assert reply.headers["content-type"].startswith("text/html")


def test_never_answers_until_the_client_leaves(api: SimulatedApi) -> None:
    app = an_app(never_seconds=600)
    started = time.monotonic()

    with pytest.raises(TimeoutError):
        api.ask("90020002000135", app=app, timeout_seconds=0.1)

    assert time.monotonic() - started < 300


def test_never_answers_has_a_limit(api: SimulatedApi) -> None:
    started = time.monotonic()
    reply = api.ask("90020002000135", app=an_app(never_seconds=0.2))

    assert api.failed(reply)
    assert time.monotonic() - started >= 0.2


def test_http_500(api: SimulatedApi) -> None:
    assert api.failed(api.ask("90020003000180"))


def test_html_instead_of_json_or_xml(api: SimulatedApi) -> None:
    reply = api.ask("90020004000124")

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    with pytest.raises(json.JSONDecodeError):
        reply.json()


def test_reply_about_another_document(api: SimulatedApi) -> None:
    assert api.document(api.ask("90020005000179")) == api.other_document


def test_name_of_the_other_company() -> None:
    assert MINHA_RECEITA.ask("90020005000179").json()["razao_social"] == (
        "EMPRESA ATIVA FICTICIA LTDA"
    )


def test_reply_about_another_document_in_every_uf() -> None:
    """The wrong reply has registrations, since none would pass for the right answer."""
    assert CCC.document(CCC.ask("90020005000179", "MG")) == "90010001000100"
    assert SINTEGRA.document(SINTEGRA.ask("90020005000179", "MG")) not in ("90020005000179", "")
    for uf in ("AC", "AM", "MG", "RJ"):
        reply = STATE_CERTIFICATE.ask("90020005000179", uf)
        assert STATE_CERTIFICATE.document(reply) == SOME_UFS


def test_slow_reply(api: SimulatedApi) -> None:
    started = time.monotonic()
    reply = api.ask("90020006000113", app=an_app(slow_seconds=0.1))

    assert time.monotonic() - started >= 0.1
    assert api.document(reply) == "90020006000113"


def test_slow_means_more_than_3_seconds() -> None:
    """The real delay; the test above uses a shorter one."""
    assert inspect.signature(create_app).parameters["slow_seconds"].default > 3


def test_first_request_succeeds(api: SimulatedApi) -> None:
    app = an_app()

    assert api.document(api.ask(FIRST, app=app)) == FIRST
    assert api.failed(api.ask(FIRST, app=app))
    assert api.document(api.ask(FIRST, app=an_app())) == FIRST  # a new process


def test_first_request_counts_for_all_providers() -> None:
    app = an_app()
    for subject in (list(OF_THE_REGISTRY.values()), [CCC, SINTEGRA], [PGFN, CND]):
        first, *others = subject
        assert first.ask(FIRST, app=app).status_code == 200
        for other in others:
            assert other.failed(other.ask(FIRST, app=app))


def test_first_request_is_counted_per_subject() -> None:
    app = an_app()
    for api in (RFB, CCC, SUFRAMA, PGFN, STATE_CERTIFICATE):
        assert api.ask(FIRST, app=app).status_code == 200
    for api in (RFB, CCC, SUFRAMA, PGFN, STATE_CERTIFICATE):
        assert api.failed(api.ask(FIRST, app=app))


def test_first_request_is_counted_per_uf() -> None:
    app = an_app()
    for api in (SINTEGRA, STATE_CERTIFICATE):
        for uf in ("SP", "RJ", "RS"):
            assert api.ask(FIRST, uf, app).status_code == 200
        for uf in ("SP", "RJ", "RS"):
            assert api.failed(api.ask(FIRST, uf, app))
    # a call about all UFs counts for each of them
    assert CCC.failed(CCC.ask(FIRST, "ALL", app))


def test_request_for_all_ufs_counts_once() -> None:
    app = an_app()
    assert CCC.ask(FIRST, "BR", app).status_code == 200
    assert CCC.failed(CCC.ask(FIRST, "RR", app))


def test_some_ufs_fail(of_states: SimulatedApi) -> None:
    for uf in ("BA", "MG", "RS"):
        assert of_states.is_down(of_states.ask(SOME_UFS, uf))
    for uf in ("SP", "RJ", "AC", "DF"):
        reply = of_states.ask(SOME_UFS, uf)
        assert of_states.document(reply) == SOME_UFS
        if of_states is not STATE_CERTIFICATE:  # its fields vary by UF
            assert of_states.mandatory <= _names(of_states.content(reply))


def test_a_call_about_several_ufs_fails_as_a_whole() -> None:
    assert CCC.is_down(CCC.ask(SOME_UFS, "SP,BA"))
    assert CCC.is_down(CCC.ask(SOME_UFS, "ALL"))
    assert len(CCC.ask(SOME_UFS, "SP,RJ,AC").json()["registrations"]) == 3
    assert CCC.ask(SOME_UFS, "ORIGIN").status_code == 200


@pytest.mark.parametrize("name", sorted(set(EVERY_API) - set(OF_STATES)))
def test_some_ufs_does_not_affect_subjects_without_ufs(name: str) -> None:
    api = EVERY_API[name]
    for _ in range(2):
        assert api.document(api.ask(SOME_UFS)) == SOME_UFS


def test_incomplete(api: SimulatedApi) -> None:
    reply = api.ask(INCOMPLETE)
    complete = api.content(api.ask("90020006000113", app=an_app(slow_seconds=0)))

    assert api.document(reply) == INCOMPLETE
    assert _names(complete) - _names(api.content(reply)) == api.mandatory


def _names(given: Any, below: str = "") -> set[str]:
    """Return the paths of all fields, such as `company.name`; of lists, of the first item."""
    if isinstance(given, list):
        return _names(given[0], below) if given else set()
    if not isinstance(given, dict):
        return set()
    own = {f"{below}{name}" for name in given}
    return own.union(*(_names(each, f"{below}{name}.") for name, each in given.items()))


def test_incomplete_without_registrations() -> None:
    """Without registrations, the whole list is omitted: an empty list would be complete."""
    assert "registrations" not in CCC.ask(INCOMPLETE, "MG").json()
    result = SINTEGRA.ask(INCOMPLETE, "MG").json()
    assert (result["code"], result["data"]) == (200, [])


def test_incomplete_in_every_uf() -> None:
    missing = STATE_CERTIFICATE.mandatory - {"data.certidao_mensagem"}
    for uf in ("AC", "BA", "GO", "PR", "RS"):
        reply = STATE_CERTIFICATE.ask(INCOMPLETE, uf)
        assert not {*missing, "data.codigo_autenticidade"} & _names(reply.json())
        assert STATE_CERTIFICATE.document(reply) == INCOMPLETE


def test_a_cut_connection_is_an_error_of_the_client_s_own_kind(api: SimulatedApi) -> None:
    assert issubclass(ConnectionCut, httpx2.RemoteProtocolError)
    with pytest.raises(ConnectionCut):
        api.ask("90020010000181")


@pytest.mark.parametrize("name", OF_PEOPLE)
def test_people(name: str) -> None:
    api = OF_PEOPLE[name]
    assert api.is_down(api.ask("90020000146"))
    started = time.monotonic()
    assert api.failed(api.ask("90020000227", app=an_app(never_seconds=0.2)))
    assert time.monotonic() - started >= 0.2
    assert api.failed(api.ask("90020000308"))
    assert api.document(api.ask("90010000100")) == "90010000100"


def test_half_of_the_body_was_sent() -> None:
    """The server sends half of the body before the connection is cut."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/minha-receita/90020010000181",
        "query_string": b"",
        "headers": [],
    }

    async def scenario() -> None:
        with pytest.raises(ConnectionCut):
            await an_app()(scope, receive, send)

    asyncio.run(scenario())

    start, body = sent
    announced = int(dict(start["headers"])[b"content-length"])
    assert 0 < len(body["body"]) < announced
    assert body["more_body"] is True


def test_every_answer_can_be_delayed(api: SimulatedApi) -> None:
    started = time.monotonic()
    api.ask(
        "90010001000100" if api is not SUFRAMA else api.other_document,
        app=an_app(delay_seconds=0.1),
    )

    assert time.monotonic() - started >= 0.1


def test_waiting_for_one_document_does_not_hold_up_another() -> None:
    async def scenario() -> None:
        app = an_app(never_seconds=600)
        stuck = asyncio.ensure_future(fetch(app, "GET", "/minha-receita/90020002000135"))
        await asyncio.sleep(0)
        reply = await fetch(app, "GET", "/minha-receita/90010001000100")
        assert reply.status_code == 200
        assert not stuck.done()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck

    asyncio.run(scenario())


def test_the_home_page_lists_the_providers() -> None:
    result = get("/").json()

    assert {"/brasilapi", "/cnpja", "/infosimples", "/minha-receita", "/serpro"} <= set(
        result["providers"]
    )
    assert get("/nobody/90010001000100").status_code == 404


def test_all_providers_agree() -> None:
    for cnpj in ("11222333000181", "33683111000280", "93ZB0VRYV6KA67", "90010012000190"):
        cities = {
            MINHA_RECEITA.ask(cnpj).json()["municipio"],
            BRASILAPI.ask(cnpj).json()["municipio"],
            OFFICE.ask(cnpj).json()["address"]["city"],
            QSA.ask(cnpj).json()["endereco"]["municipio"]["descricao"],
        }
        assert len(cities) == 1


def test_the_failing_ufs() -> None:
    assert frozenset({"BA", "MG", "RS"}) == FAILING_UFS


def test_seen_documents_are_bounded() -> None:
    """Only the document of `Misbehaviour.ONCE` is stored, once per subject and UF."""

    class FailureReplies:
        def maintenance(self) -> SimulatedReply:
            return SimulatedReply(503)

        def error(self) -> SimulatedReply:
            return SimulatedReply(500)

    async def receive() -> dict[str, Any]:
        raise AssertionError

    def good(document: str) -> SimulatedReply:
        return SimulatedReply(200, document.encode())

    async def scenario() -> None:
        faults = FaultInjector(delay_seconds=0, never_seconds=0, slow_seconds=0)
        for n in range(100):
            replies = ReplyFactory("company", f"{n:014d}", good, good, ufs=("SP",))
            await faults.reply(replies, FailureReplies(), receive)
        assert not faults._seen
        replies = ReplyFactory("company", FIRST, good, good, ufs=("SP", "AC"))
        for _ in range(3):
            await faults.reply(replies, FailureReplies(), receive)
        assert len(faults._seen) == 2

    asyncio.run(scenario())
