"""Who asks for certificates meets the failures that are promised, whoever is asked."""

import time
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp

from tests.simulator.world import an_app, post, serpro_token

INFOSIMPLES = "/infosimples/api/v2/consultas/"
UNSAID = ("certidao", "tipo", "certidao_codigo", "consulta_comprovante")
UNSAID_BY_STATES = (
    "certidao_codigo",
    "certidao_negativa",
    "conseguiu_emitir_certidao_negativa",
    "tipo",
)


@dataclass(frozen=True)
class Way:
    """How to ask a provider, and where its answer has what."""

    service: str

    def ask(self, document: str, app: ASGIApp | None = None, uf: str = "SP") -> httpx2.Response:
        company = len(document) == 14
        if self.service == "serpro":
            body = {
                "TipoContribuinte": 1 if company else 2,
                "ContribuinteConsulta": document,
                "CodigoIdentificacao": "9001" if company else "9002",
            }
            path = "/serpro/consulta-cnd/v1/certidao"
            return post(path, app, json=body, headers=serpro_token())
        sent = {"cnpj": document} if company else {"cpf": document, "birthdate": "1980-01-01"}
        if self.service == "sefaz/certidao-debitos":
            sent["uf"] = uf
        return post(INFOSIMPLES + self.service, app, data={"token": "t", **sent})

    def is_down(self, reply: httpx2.Response) -> bool:
        said = reply.json()
        if self.service == "serpro":
            return (reply.status_code, said["Status"]) == (202, 6)
        return reply.status_code == 200 and said["code"] == 615 and not said["data"]

    def failed(self, reply: httpx2.Response) -> bool:
        said = reply.json()
        code = said["Status"] == 99 if self.service == "serpro" else said["code"] == 600
        return reply.status_code == 500 and code

    def found(self, reply: httpx2.Response) -> Any:
        assert reply.status_code == 200
        said = reply.json()
        return said["Certidao"] if self.service == "serpro" else said["data"][0]

    def document(self, reply: httpx2.Response) -> Any:
        found = self.found(reply)
        if self.service == "serpro":
            return found["ContribuinteCertidao"]
        return found["normalizado_cnpj"] or found["normalizado_cpf"]


PGFN, SEFAZ, SERPRO = Way("receita-federal/pgfn"), Way("sefaz/certidao-debitos"), Way("serpro")
EVERY_WAY = [PGFN, SEFAZ, SERPRO]
OF_PEOPLE = [PGFN, SERPRO]


@pytest.fixture(params=EVERY_WAY, ids=["pgfn", "sefaz", "serpro"])
def way(request: pytest.FixtureRequest) -> Way:
    assert isinstance(request.param, Way)
    return request.param


@pytest.fixture(params=OF_PEOPLE, ids=["pgfn", "serpro"])
def way_of_people(request: pytest.FixtureRequest) -> Way:
    assert isinstance(request.param, Way)
    return request.param


def test_maintenance(way: Way) -> None:
    assert way.is_down(way.ask("90020001000190"))


def test_never(way: Way) -> None:
    started = time.monotonic()
    reply = way.ask("90020002000135", an_app(never_seconds=0.2))

    assert time.monotonic() - started >= 0.2
    assert way.failed(reply)


def test_http_500(way: Way) -> None:
    assert way.failed(way.ask("90020003000180"))


def test_html(way: Way) -> None:
    reply = way.ask("90020004000124")

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")


def test_the_certificate_of_another(way: Way) -> None:
    assert way.document(way.ask("90020005000179")) == "90010001000100"


def test_the_certificate_of_another_in_other_ufs() -> None:
    """There must be one, for a refusal would pass for the right answer."""
    for uf in ("AC", "AM", "MG", "RJ"):
        assert SEFAZ.document(SEFAZ.ask("90020005000179", uf=uf)) == "90020008000102"


def test_well_after_a_while(way: Way) -> None:
    started = time.monotonic()
    reply = way.ask("90020006000113", an_app(slow_seconds=0.1))

    assert time.monotonic() - started >= 0.1
    assert way.document(reply) == "90020006000113"


def test_well_the_first_time(way: Way) -> None:
    app = an_app()

    assert way.document(way.ask("90020007000168", app)) == "90020007000168"
    assert way.failed(way.ask("90020007000168", app))
    assert way.document(way.ask("90020007000168", an_app()))


def test_the_first_time_is_the_subject_s() -> None:
    app = an_app()
    assert PGFN.ask("90020007000168", app).status_code == 200
    assert SERPRO.failed(SERPRO.ask("90020007000168", app))
    for uf in ("SP", "RJ"):
        assert SEFAZ.ask("90020007000168", app, uf).status_code == 200
        assert SEFAZ.failed(SEFAZ.ask("90020007000168", app, uf))


def test_some_ufs() -> None:
    for uf in ("BA", "MG", "RS"):
        assert SEFAZ.is_down(SEFAZ.ask("90020008000102", uf=uf))
    for uf in ("SP", "RJ", "AC", "DF"):
        assert SEFAZ.document(SEFAZ.ask("90020008000102", uf=uf)) == "90020008000102"
    # The federal ones know no UFs.
    assert PGFN.document(PGFN.ask("90020008000102")) == "90020008000102"
    assert SERPRO.document(SERPRO.ask("90020008000102")) == "90020008000102"


def test_incomplete(way: Way) -> None:
    found = way.found(way.ask("90020009000157"))
    complete = way.found(way.ask("90020006000113", an_app(slow_seconds=0)))

    missing = set(complete) - set(found)
    if way is PGFN:
        assert missing == set(UNSAID)
    elif way is SEFAZ:
        assert missing == {*UNSAID_BY_STATES, "certidao_mensagem"}
    else:
        assert missing == {"TipoCertidao", "CodigoControle"}


def test_incomplete_in_every_uf() -> None:
    for uf in ("AC", "BA", "GO", "PR", "RS"):
        found = SEFAZ.found(SEFAZ.ask("90020009000157", uf=uf))
        assert not {*UNSAID_BY_STATES, "codigo_autenticidade"} & set(found)
        assert found["normalizado_cnpj"] == "90020009000157"


def test_cut(way: Way) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        way.ask("90020010000181")


def test_people(way_of_people: Way) -> None:
    assert way_of_people.is_down(way_of_people.ask("90020000146"))
    assert way_of_people.failed(way_of_people.ask("90020000227"))
    assert way_of_people.failed(way_of_people.ask("90020000308"))
    assert way_of_people.document(way_of_people.ask("90010000100")) == "90010000100"
