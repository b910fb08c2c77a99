"""Who asks for registrations meets the same failures, told per UF where a subject has UFs."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp

from balcao.providers.simulation.exchange import SimulatedReply
from balcao.providers.simulation.staging import FAILING_UFS, Script, Stage
from tests.simulator.world import CNPJA_KEY, an_app, get

SINTEGRA = "/infosimples/api/v2/consultas/sintegra/unificada?token=t"


@dataclass(frozen=True)
class Way:
    """How to ask, and where an answer has the document and what is mandatory."""

    path: str
    cnpj: bool = True

    def ask(self, document: str, uf: str = "SP", app: ASGIApp | None = None) -> httpx2.Response:
        return get(self.path.format(document, uf), app, CNPJA_KEY)

    def is_down(self, reply: httpx2.Response) -> bool:
        if "infosimples" in self.path:
            said = reply.json()
            return bool(
                reply.status_code == 200
                and said["code"] == 615
                and not said["header"]["billable"]
                and not said["data"]
            )
        return reply.status_code == 503 and reply.json()["message"] == "revenue service is offline"

    def document(self, said: Any) -> str:
        if "infosimples" in self.path:
            first = said["data"][0]
            return str(first["normalizado_cnpj"] or first["normalizado_cpf"])
        return str(said["taxId"])

    def number(self, said: Any) -> Any:
        if "infosimples" in self.path:
            return said["data"][0].get("inscricao_estadual")
        return (said["registrations"][0] if "ccc" in self.path else said).get("number")


COMPANY_WAYS = {
    "ccc": Way("/cnpja/ccc?taxId={}&states={}"),
    "suframa": Way("/cnpja/suframa?taxId={}"),
    "sintegra": Way(SINTEGRA + "&cnpj={}&uf={}"),
}
PERSON_WAYS = {
    "ccc": Way("/cnpja/ccc?taxId={}&states={}", cnpj=False),
    "sintegra": Way(SINTEGRA + "&cpf={}&uf={}", cnpj=False),
}
OF_STATES = [COMPANY_WAYS["ccc"], COMPANY_WAYS["sintegra"]]


@pytest.fixture(params=[*COMPANY_WAYS, *(f"person_{name}" for name in PERSON_WAYS)])
def way(request: pytest.FixtureRequest) -> Way:
    """Every way, for what happens to companies and people alike."""
    name: str = request.param
    return PERSON_WAYS[name[7:]] if name.startswith("person_") else COMPANY_WAYS[name]


@pytest.fixture(params=COMPANY_WAYS)
def company_way(request: pytest.FixtureRequest) -> Way:
    return COMPANY_WAYS[request.param]


def test_maintenance(way: Way) -> None:
    assert way.is_down(way.ask("90020001000190" if way.cnpj else "90020000146"))


def test_never(way: Way) -> None:
    started = time.monotonic()
    document = "90020002000135" if way.cnpj else "90020000227"
    reply = way.ask(document, app=an_app(never_seconds=0.2))

    assert time.monotonic() - started >= 0.2
    assert reply.status_code == 500


def test_http_500(way: Way) -> None:
    reply = way.ask("90020003000180" if way.cnpj else "90020000308")

    assert reply.status_code == 500
    assert reply.json()["code"] == (600 if "infosimples" in way.path else 500)


def test_html(company_way: Way) -> None:
    reply = company_way.ask("90020004000124")

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")


def test_the_data_of_another(company_way: Way) -> None:
    expected = "90010002000154" if "suframa" in company_way.path else "90010001000100"
    reply = company_way.ask("90020005000179")

    assert reply.status_code == 200
    assert company_way.document(reply.json()) == expected


def test_the_data_of_another_in_a_uf_where_that_one_has_none() -> None:
    assert COMPANY_WAYS["ccc"].ask("90020005000179", "MG").json()["taxId"] == "90010001000100"
    said = COMPANY_WAYS["sintegra"].ask("90020005000179", "MG").json()
    assert COMPANY_WAYS["sintegra"].document(said) not in ("90020005000179", "")


def test_well_after_a_while(company_way: Way) -> None:
    started = time.monotonic()
    reply = company_way.ask("90020006000113", app=an_app(slow_seconds=0.1))

    assert time.monotonic() - started >= 0.1
    assert company_way.document(reply.json()) == "90020006000113"


def test_well_the_first_time(company_way: Way) -> None:
    app = an_app()

    assert company_way.document(company_way.ask("90020007000168", app=app).json())
    assert company_way.ask("90020007000168", app=app).status_code == 500
    assert company_way.ask("90020007000168", app=an_app()).status_code == 200


def test_every_subject_has_a_first_time_of_its_own() -> None:
    app = an_app()
    subjects = ("/cnpja/rfb?taxId={}", "/cnpja/ccc?states=SP&taxId={}", "/cnpja/suframa?taxId={}")
    for path in subjects:
        assert get(path.format("90020007000168"), app, CNPJA_KEY).status_code == 200
    for path in subjects:
        assert get(path.format("90020007000168"), app, CNPJA_KEY).status_code == 500
    # Whoever is asked for it.
    assert COMPANY_WAYS["sintegra"].ask("90020007000168", app=app).status_code == 500


def test_every_uf_has_a_first_time_of_its_own() -> None:
    app = an_app()
    sintegra = COMPANY_WAYS["sintegra"]
    for uf in ("SP", "MG", "RS"):
        assert sintegra.ask("90020007000168", uf, app).status_code == 200
    for uf in ("SP", "MG", "RS"):
        assert sintegra.ask("90020007000168", uf, app).status_code == 500
    # A call about all of them is one about those as well.
    assert COMPANY_WAYS["ccc"].ask("90020007000168", "ALL", app).status_code == 500


def test_all_ufs_at_once_are_one_first_time() -> None:
    app = an_app()
    assert COMPANY_WAYS["ccc"].ask("90020007000168", "BR", app).status_code == 200
    assert COMPANY_WAYS["ccc"].ask("90020007000168", "RR", app).status_code == 500


@pytest.mark.parametrize("where", OF_STATES, ids=["ccc", "sintegra"])
def test_some_ufs_fail(where: Way) -> None:
    for uf in ("BA", "MG", "RS"):
        assert where.is_down(where.ask("90020008000102", uf))
    for uf in ("SP", "RJ", "AC"):
        reply = where.ask("90020008000102", uf)
        assert where.document(reply.json()) == "90020008000102"
        assert where.number(reply.json())


def test_a_call_about_several_ufs_fails_as_a_whole() -> None:
    ccc = COMPANY_WAYS["ccc"]
    assert ccc.is_down(ccc.ask("90020008000102", "SP,BA"))
    assert ccc.is_down(ccc.ask("90020008000102", "ALL"))
    assert len(ccc.ask("90020008000102", "SP,RJ,AC").json()["registrations"]) == 3
    assert ccc.ask("90020008000102", "ORIGIN").status_code == 200


def test_suframa_knows_no_ufs() -> None:
    assert COMPANY_WAYS["suframa"].ask("90020008000102").json()["taxId"] == "90020008000102"


def test_incomplete(company_way: Way) -> None:
    said = company_way.ask("90020009000157").json()

    assert company_way.document(said) == "90020009000157"
    assert company_way.number(said) is None
    assert company_way.number(company_way.ask("90020006000113", app=an_app(slow_seconds=0)).json())


def test_incomplete_where_there_is_nothing_to_leave_out() -> None:
    """An empty list would be a right answer, and that is not promised."""
    said = COMPANY_WAYS["ccc"].ask("90020009000157", "MG").json()
    assert "registrations" not in said
    said = COMPANY_WAYS["sintegra"].ask("90020009000157", "MG").json()
    assert (said["code"], said["data"]) == (200, [])


def test_cut(company_way: Way) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        company_way.ask("90020010000181")


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
            document = f"{n:014d}"
            await stage.play("company", document, Voice(), Script(good, good), receive, ufs=("SP",))
        assert not stage._asked
        for _ in range(3):
            await stage.play(
                "company", "90020007000168", Voice(), Script(good, good), receive, ufs=("SP", "AC")
            )
        assert len(stage._asked) == 2

    asyncio.run(story())
