"""Every provider fails as promised (`docs/sandbox.md`, Sources that misbehave)."""

import asyncio
import inspect
import json
import time
from typing import Any

import httpx2
import pytest

from balcao.providers.simulation.app import create_app
from balcao.providers.simulation.exchange import ConnectionCut, SimulatedReply
from balcao.providers.simulation.staging import FAILING_UFS, Scene, Stage
from tests.simulator.ways import (
    BRASILAPI,
    CCC,
    CND,
    EVERY_WAY,
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
    Way,
)
from tests.simulator.world import an_app, fetch, get

FIRST = "90020007000168"
SOME_UFS = "90020008000102"
INCOMPLETE = "90020009000157"


@pytest.fixture(params=EVERY_WAY)
def way(request: pytest.FixtureRequest) -> Way:
    return EVERY_WAY[request.param]


@pytest.fixture(params=OF_STATES)
def of_states(request: pytest.FixtureRequest) -> Way:
    return OF_STATES[request.param]


def test_maintenance(way: Way) -> None:
    assert way.is_down(way.ask("90020001000190"))


def test_maintenance_is_said_in_the_provider_s_own_way() -> None:
    assert QSA.ask("90020001000190").json()["fault"]["code"] == 101503
    for each in (MINHA_RECEITA, BRASILAPI):
        reply = each.ask("90020001000190")
        assert reply.headers["content-type"].startswith("text/html")


def test_never_means_until_nobody_waits_any_more(way: Way) -> None:
    app = an_app(never_seconds=600)
    started = time.monotonic()

    with pytest.raises(TimeoutError):
        way.ask("90020002000135", app=app, timeout_seconds=0.1)

    assert time.monotonic() - started < 300


def test_never_ends_at_last(way: Way) -> None:
    started = time.monotonic()
    reply = way.ask("90020002000135", app=an_app(never_seconds=0.2))

    assert way.failed(reply)
    assert time.monotonic() - started >= 0.2


def test_http_500(way: Way) -> None:
    assert way.failed(way.ask("90020003000180"))


def test_html_where_json_or_xml_is_due(way: Way) -> None:
    reply = way.ask("90020004000124")

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    with pytest.raises(json.JSONDecodeError):
        reply.json()


def test_the_data_of_another(way: Way) -> None:
    assert way.document(way.ask("90020005000179")) == way.another


def test_the_name_of_another() -> None:
    assert MINHA_RECEITA.ask("90020005000179").json()["razao_social"] == (
        "EMPRESA ATIVA FICTICIA LTDA"
    )


def test_the_data_of_another_in_a_uf_where_that_one_has_none() -> None:
    """There must be some of somebody's, for none would pass for the right answer."""
    assert CCC.document(CCC.ask("90020005000179", "MG")) == "90010001000100"
    assert SINTEGRA.document(SINTEGRA.ask("90020005000179", "MG")) not in ("90020005000179", "")
    for uf in ("AC", "AM", "MG", "RJ"):
        reply = STATE_CERTIFICATE.ask("90020005000179", uf)
        assert STATE_CERTIFICATE.document(reply) == SOME_UFS


def test_well_after_a_while(way: Way) -> None:
    started = time.monotonic()
    reply = way.ask("90020006000113", app=an_app(slow_seconds=0.1))

    assert time.monotonic() - started >= 0.1
    assert way.document(reply) == "90020006000113"


def test_a_while_is_more_than_3_seconds() -> None:
    """The test above waits for a shorter one."""
    assert inspect.signature(create_app).parameters["slow_seconds"].default > 3


def test_well_the_first_time(way: Way) -> None:
    app = an_app()

    assert way.document(way.ask(FIRST, app=app)) == FIRST
    assert way.failed(way.ask(FIRST, app=app))
    assert way.document(way.ask(FIRST, app=an_app())) == FIRST  # a new process


def test_the_first_time_is_the_same_whoever_is_asked() -> None:
    app = an_app()
    for subject in (list(OF_THE_REGISTRY.values()), [CCC, SINTEGRA], [PGFN, CND]):
        first, *others = subject
        assert first.ask(FIRST, app=app).status_code == 200
        for other in others:
            assert other.failed(other.ask(FIRST, app=app))


def test_every_subject_has_a_first_time_of_its_own() -> None:
    app = an_app()
    for way in (RFB, CCC, SUFRAMA, PGFN, STATE_CERTIFICATE):
        assert way.ask(FIRST, app=app).status_code == 200
    for way in (RFB, CCC, SUFRAMA, PGFN, STATE_CERTIFICATE):
        assert way.failed(way.ask(FIRST, app=app))


def test_every_uf_has_a_first_time_of_its_own() -> None:
    app = an_app()
    for way in (SINTEGRA, STATE_CERTIFICATE):
        for uf in ("SP", "RJ", "RS"):
            assert way.ask(FIRST, uf, app).status_code == 200
        for uf in ("SP", "RJ", "RS"):
            assert way.failed(way.ask(FIRST, uf, app))
    # A call about all of them is one about those as well.
    assert CCC.failed(CCC.ask(FIRST, "ALL", app))


def test_all_ufs_at_once_are_one_first_time() -> None:
    app = an_app()
    assert CCC.ask(FIRST, "BR", app).status_code == 200
    assert CCC.failed(CCC.ask(FIRST, "RR", app))


def test_some_ufs_fail(of_states: Way) -> None:
    for uf in ("BA", "MG", "RS"):
        assert of_states.is_down(of_states.ask(SOME_UFS, uf))
    for uf in ("SP", "RJ", "AC", "DF"):
        reply = of_states.ask(SOME_UFS, uf)
        assert of_states.document(reply) == SOME_UFS
        if of_states is not STATE_CERTIFICATE:  # its fields vary by UF
            assert of_states.mandatory <= _names(of_states.said(reply))


def test_a_call_about_several_ufs_fails_as_a_whole() -> None:
    assert CCC.is_down(CCC.ask(SOME_UFS, "SP,BA"))
    assert CCC.is_down(CCC.ask(SOME_UFS, "ALL"))
    assert len(CCC.ask(SOME_UFS, "SP,RJ,AC").json()["registrations"]) == 3
    assert CCC.ask(SOME_UFS, "ORIGIN").status_code == 200


@pytest.mark.parametrize("name", sorted(set(EVERY_WAY) - set(OF_STATES)))
def test_some_ufs_make_no_difference_to_who_knows_none(name: str) -> None:
    way = EVERY_WAY[name]
    for _ in range(2):
        assert way.document(way.ask(SOME_UFS)) == SOME_UFS


def test_incomplete(way: Way) -> None:
    reply = way.ask(INCOMPLETE)
    complete = way.said(way.ask("90020006000113", app=an_app(slow_seconds=0)))

    assert way.document(reply) == INCOMPLETE
    assert _names(complete) - _names(way.said(reply)) == way.mandatory


def _names(said: Any, below: str = "") -> set[str]:
    """The names of all fields, of lists those of their first items: `company.name`."""
    if isinstance(said, list):
        return _names(said[0], below) if said else set()
    if not isinstance(said, dict):
        return set()
    own = {f"{below}{name}" for name in said}
    return own.union(*(_names(each, f"{below}{name}.") for name, each in said.items()))


def test_incomplete_where_there_is_nothing_to_leave_out() -> None:
    """An empty list would be a right answer, and that is not promised."""
    assert "registrations" not in CCC.ask(INCOMPLETE, "MG").json()
    said = SINTEGRA.ask(INCOMPLETE, "MG").json()
    assert (said["code"], said["data"]) == (200, [])


def test_incomplete_in_every_uf() -> None:
    missing = STATE_CERTIFICATE.mandatory - {"data.certidao_mensagem"}
    for uf in ("AC", "BA", "GO", "PR", "RS"):
        reply = STATE_CERTIFICATE.ask(INCOMPLETE, uf)
        assert not {*missing, "data.codigo_autenticidade"} & _names(reply.json())
        assert STATE_CERTIFICATE.document(reply) == INCOMPLETE


def test_a_cut_connection_is_an_error_of_the_client_s_own_kind(way: Way) -> None:
    assert issubclass(ConnectionCut, httpx2.RemoteProtocolError)
    with pytest.raises(ConnectionCut):
        way.ask("90020010000181")


@pytest.mark.parametrize("name", OF_PEOPLE)
def test_people(name: str) -> None:
    way = OF_PEOPLE[name]
    assert way.is_down(way.ask("90020000146"))
    started = time.monotonic()
    assert way.failed(way.ask("90020000227", app=an_app(never_seconds=0.2)))
    assert time.monotonic() - started >= 0.2
    assert way.failed(way.ask("90020000308"))
    assert way.document(way.ask("90010000100")) == "90010000100"


def test_half_of_the_body_was_sent() -> None:
    """What a server is given before the connection is cut."""
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

    async def story() -> None:
        with pytest.raises(ConnectionCut):
            await an_app()(scope, receive, send)

    asyncio.run(story())

    start, body = sent
    announced = int(dict(start["headers"])[b"content-length"])
    assert 0 < len(body["body"]) < announced
    assert body["more_body"] is True


def test_every_answer_can_be_delayed(way: Way) -> None:
    started = time.monotonic()
    way.ask("90010001000100" if way is not SUFRAMA else way.another, app=an_app(delay_seconds=0.1))

    assert time.monotonic() - started >= 0.1


def test_waiting_for_one_document_does_not_hold_up_another() -> None:
    async def story() -> None:
        app = an_app(never_seconds=600)
        stuck = asyncio.ensure_future(fetch(app, "GET", "/minha-receita/90020002000135"))
        await asyncio.sleep(0)
        reply = await fetch(app, "GET", "/minha-receita/90010001000100")
        assert reply.status_code == 200
        assert not stuck.done()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck

    asyncio.run(story())


def test_the_home_page_lists_the_providers() -> None:
    said = get("/").json()

    assert {"/brasilapi", "/cnpja", "/infosimples", "/minha-receita", "/serpro"} <= set(
        said["providers"]
    )
    assert get("/nobody/90010001000100").status_code == 404


def test_all_providers_tell_the_same_story() -> None:
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


def test_what_was_asked_is_not_remembered_without_end() -> None:
    """Only the promised document is, once per subject and UF."""

    class Voice:
        def maintenance(self) -> SimulatedReply:
            return SimulatedReply(503)

        def error(self) -> SimulatedReply:
            return SimulatedReply(500)

    async def receive() -> dict[str, Any]:
        raise AssertionError

    def good(document: str) -> SimulatedReply:
        return SimulatedReply(200, document.encode())

    async def story() -> None:
        stage = Stage(delay_seconds=0, never_seconds=0, slow_seconds=0)
        for n in range(100):
            scene = Scene("company", f"{n:014d}", good, good, ufs=("SP",))
            await stage.play(scene, Voice(), receive)
        assert not stage._asked
        scene = Scene("company", FIRST, good, good, ufs=("SP", "AC"))
        for _ in range(3):
            await stage.play(scene, Voice(), receive)
        assert len(stage._asked) == 2

    asyncio.run(story())
