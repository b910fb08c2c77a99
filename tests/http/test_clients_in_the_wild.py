"""Behaviour of existing client programs, against a real server process.

Each test is one kind of client: what it sends, and the little that it reads.
"""

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from balcao.accounts.keys import issue_key
from balcao.core.access import Plan
from balcao.core.ledger import TopUp
from balcao.fiction.digits import cnpj as cnpj_of
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage.contract import LedgerEntry, NewAccount
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import Server, free_port, serving
from tests.records import company, producer, sintegra, suframa
from tests.service import Client

SUFRAMA = "90010002000154"
BRANCH = "90010007000268"  # active in SP, MG, RJ, PR, BA, inactive in RS
MAINTENANCE, HTTP_500, SLOW = "90020001000190", "90020003000180", "90020006000113"
ABSENT = "99999999000191"
ORIGIN = "https://loja.example"


@dataclass
class Service:
    """A server process, and access to its data folder for opening accounts."""

    server: Server
    home: Home
    http: httpx2.Client
    client: Client

    @property
    def place(self) -> tuple[str, int]:
        host, port = self.server.base.removeprefix("http://").split(":")
        return host, int(port)

    def account(
        self,
        name: str,
        *,
        plan: Plan = "pre_pago",
        credits: int = 10_000,
        per_minute: int | None = None,
    ) -> Client:
        """Open a test account with credits and one key, as the command line does."""
        with closing(SqliteDesk(self.home.desk)) as desk:
            now_ms = system_now_ms()
            account = desk.create_account(NewAccount(name, plan, "test"), now_ms)
            if credits:
                desk.commit_now([TopUp(account.account_id, credits, "teste", now_ms)])
            text, key = issue_key(desk, self.home, account, "teste", now_ms, per_minute=per_minute)
            return Client(account.account_id, key.key_id, text)

    def ledger(self, of: Client) -> tuple[int, int, list[LedgerEntry]]:
        """Return balance, holds and the charging entries, which must agree."""
        with closing(SqliteDesk(self.home.desk)) as desk:
            assert not desk.check().complaints
            (balance,) = (a for a in desk.accounts() if a.account_id == of.account_id)
            entries = desk.entries(of.account_id, 0, 1 << 60)
            taken = [entry for entry in entries if entry.kind in ("charge", "post")]
            return balance.balance_credits, balance.held_credits, taken

    def get(self, path: str, by: Client | None = None, **headers: str) -> httpx2.Response:
        """GET as a client. Header names take `_` for `-`."""
        return self.send("GET", path, by, b"", **headers)

    def send(
        self, method: str, path: str, by: Client | None = None, content: bytes = b"", **headers: str
    ) -> httpx2.Response:
        """Any method, with or without a body."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("x-api-key", (by or self.client).key)
        return self.http.request(method, path, headers=named, content=content or None)


@contextmanager
def start_server(folder: Path) -> Iterator[Server]:
    """Start a server; on another port if the free one was taken meanwhile."""
    for attempts_left in (2, 1, 0):
        with serving(folder, free_port(), establishments=20) as server:
            try:
                server.wait_until_it_answers()
            except AssertionError:
                if attempts_left and "já está em uso" in server.err:
                    continue
                raise
            yield server
            return


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("servidor") / "dados"
    with start_server(folder) as server:
        with httpx2.Client(base_url=server.base, timeout=30) as http:
            service = Service(server, Home(folder), http, Client(0, 0, ""))
            service.client = service.account("ana", plan="pos_pago", credits=0)
            yield service
        assert server.terminate() == 0
        assert "Traceback" not in server.err


def raw(service: Service, request: str) -> tuple[str, Mapping[str, str], bytes]:
    """Return status line, headers and body received on a socket until the server closes it."""
    with socket.create_connection(service.place, timeout=30) as connection:
        connection.sendall(request.encode("latin-1"))
        received = bytearray()
        while chunk := connection.recv(65_536):
            received += chunk
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return status, {name.lower(): value.strip() for name, _, value in pairs}, body


# (a) A form in a browser


def test_a_form_in_a_browser(service: Service) -> None:
    """The preflight needs no key, an empty `uf=` is none, and scripts may read every answer."""
    preflight = service.http.options(
        sintegra(query="uf="),
        headers={
            "origin": ORIGIN,
            "access-control-request-method": "GET",
            "access-control-request-headers": "x-api-key",
        },
    )
    assert preflight.is_success
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "GET" in preflight.headers["access-control-allow-methods"].split(", ")
    allowed = preflight.headers["access-control-allow-headers"].lower().split(", ")
    assert {"x-api-key", "cache", "idempotency-key", "accept", "content-type"} <= set(allowed)

    answer = service.get(sintegra(query="uf=&cache=7&endereco=false"), origin=ORIGIN)
    assert (answer.status_code, answer.json()["uf"]) == (200, "SP")
    assert answer.headers["x-creditos-cobrados"] == "1"

    errors = {
        400: service.get(sintegra("90010001000101"), origin=ORIGIN),
        401: service.get(sintegra(), origin=ORIGIN, x_api_key="balcao_test_errada"),
        404: service.get(sintegra(ABSENT), origin=ORIGIN),
        405: service.send("POST", sintegra(), origin=ORIGIN),
        500: service.get(sintegra(HTTP_500), origin=ORIGIN),
        503: service.get(sintegra(MAINTENANCE), origin=ORIGIN),
    }
    for status, body in (errors | {200: answer}).items():
        assert body.status_code == status
        assert body.headers["access-control-allow-origin"] == "*"
        exposed = body.headers["access-control-expose-headers"].lower().split(", ")
        assert {"x-request-id", "retry-after", "x-creditos-cobrados"} <= set(exposed)


# (b) A PHP stream


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path", [sintegra(query="uf=BR"), producer(query="uf=BR")])
def test_a_php_stream(service: Service, version: str, path: str) -> None:
    """Without Accept-Encoding the body comes plain and whole; the header form is deprecated."""
    status, headers, body = raw(
        service,
        f"GET {path} HTTP/{version}\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"x-api-key: {service.client.key}\r\ncache: 25\r\n\r\n",
    )
    assert re.fullmatch(rf"HTTP/{re.escape(version)} 200( .*)?", status)
    assert "content-encoding" not in headers
    assert "transfer-encoding" not in headers
    assert int(headers["content-length"]) == len(body)
    assert len(body) > 1000  # long enough to be compressed for those who ask for it
    assert json.loads(body)["success"] is True
    assert "deprecation" in headers


def test_the_header_form_is_the_documented_one_for_suframa(service: Service) -> None:
    """There `cache` as a header is no old form; in the query it is none anywhere."""
    assert "deprecation" not in service.get(suframa(SUFRAMA), cache="25").headers
    assert "deprecation" not in service.get(sintegra(query="uf=SP&cache=25")).headers
    both = service.get(sintegra(query="uf=SP&cache=7"), cache="nada")
    assert both.status_code == 200  # the query wins


# (c) A spreadsheet


def test_a_spreadsheet_asks_two_hundred_at_once(service: Service) -> None:
    """200 cells at once are within the 300 a minute of `pre_pago`: all answered, each paid once."""
    client = service.account("planilha", credits=1000)
    cnpjs = [cnpj_of(f"{90_050_000 + n}", "0001") for n in range(200)]

    async def scenario() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=200)
        async with httpx2.AsyncClient(
            base_url=service.server.base, limits=limits, timeout=60
        ) as http:
            paths = [sintegra(cnpj, "uf=SP") for cnpj in cnpjs]
            headers = {"x-api-key": client.key}
            return await asyncio.gather(*(http.get(path, headers=headers) for path in paths))

    answers = asyncio.run(scenario())

    assert [answer.status_code for answer in answers] == [200] * 200
    assert [answer.json()["cnpj"] for answer in answers] == cnpjs
    balance, held, taken = service.ledger(client)
    assert (balance, held) == (800, 0)
    assert [entry.credits for entry in taken] == [-1] * 200
    assert {entry.request_id for entry in taken} == {
        answer.json()["request_id"] for answer in answers
    }


def test_a_spreadsheet_over_its_limit(service: Service) -> None:
    """The excess is a 429 that costs nothing, with a correct Retry-After."""
    client = service.account("planilha-grande", credits=1000, per_minute=60)

    async def scenario() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(base_url=service.server.base, timeout=60) as http:
            headers = {"x-api-key": client.key}
            gets = (http.get(sintegra(), headers=headers) for _ in range(120))
            return await asyncio.gather(*gets)

    answers = asyncio.run(scenario())
    good = [answer for answer in answers if answer.status_code == 200]
    refused = [answer for answer in answers if answer.status_code == 429]

    assert len(good) + len(refused) == 120
    assert len(good) >= 60
    assert refused
    assert {answer.json()["error_message"]["code"] for answer in refused} == {"LIMITE_EXCEDIDO"}
    assert {answer.headers["x-creditos-cobrados"] for answer in refused} == {"0"}
    assert len(service.ledger(client)[2]) == len(good)
    time.sleep(int(refused[-1].headers["retry-after"]))
    assert service.get(sintegra(), client).status_code == 200


# (d) to (f), (h): what is tested of a result


def test_success_or_error_are_booleans(service: Service) -> None:
    """Clients decide by `res.success || res.error`: one of the two is true, never both."""
    good = (sintegra(), sintegra(query="uf=BR"), producer(), suframa(SUFRAMA), company())
    bad = (
        sintegra("90010001000101"),
        sintegra(query="uf=XX"),
        sintegra(ABSENT),
        sintegra(HTTP_500),
        sintegra(MAINTENANCE, "uf=BR"),
        producer(query=""),
        producer("90020000308"),
        suframa(),
        suframa(HTTP_500),
        company(ABSENT),
        "/consultas/v2/nada",
    )
    for path in (*good, *bad):
        body = service.get(path).json()
        expected = (True, False) if path in good else (False, True)
        assert (body["success"], body["error"]) == expected, path
        assert type(body["success"]) is type(body["error"]) is bool


def test_ativa_is_a_boolean(service: Service) -> None:
    """`ativa === true` distinguishes active registrations from the inactive one."""
    those = service.get(sintegra(BRANCH, "uf=BR")).json()["inscricoes_estaduais"]
    assert [each["uf"] for each in those if each["ativa"] is True] == ["BA", "MG", "PR", "RJ", "SP"]
    assert [each["uf"] for each in those if each["ativa"] is False] == ["RS"]
    farms = service.get(producer("90010000291", "uf=BR")).json()["inscricoes_estaduais"]
    assert [(each["uf"], each["ativa"]) for each in farms] == [("MG", True), ("GO", False)]


@pytest.mark.parametrize("asked", ["SP", "sp", "%20Sp%20", "BR", ""])
def test_uf_is_two_upper_case_letters(service: Service, asked: str) -> None:
    """`uf === "SP"` finds the registration, however the UF was written."""
    body = service.get(sintegra(BRANCH, f"uf={asked}")).json()
    (found,) = (each for each in body["inscricoes_estaduais"] if each["uf"] == "SP")
    assert found["inscricao_estadual"]
    assert body["uf"] == "SP"


def test_is_cache_is_a_boolean(service: Service) -> None:
    """`is_cache === false` online, `true` from the cache, for one UF and for all."""
    sources: tuple[tuple[Any, str], ...] = ((sintegra, "90010008000121"), (producer, "90010000453"))
    for path, document in sources:
        for uf in ("SP", "BR"):
            online = service.get(path(document, f"uf={uf}&cache_strategy=SO_ONLINE")).json()
            cached = service.get(path(document, f"uf={uf}&cache_strategy=CACHE_SE_EXISTIR")).json()
            assert online["is_cache"] is False
            assert cached["is_cache"] is True
            assert cached["inscricoes_estaduais"] == online["inscricoes_estaduais"]


# (g) and (i): what is looked at on errors


def errors_of(service: Service, path: Any, good: str, bad: str) -> Iterator[httpx2.Response]:
    """Return an answer of every kind of error; `good`: a document with a result."""
    poor = service.account(f"sem-saldo-{bad}-{time.monotonic_ns()}", credits=0)
    hasty = service.account(f"com-pressa-{bad}-{time.monotonic_ns()}", per_minute=1)
    service.get(path(good), hasty)
    yield service.get(path(bad))
    yield service.get(path(good, "uf=SP&cache=400"))
    yield service.get(path(good, "uf=SP&cache=1&cache=2"))
    yield service.get(path(good), idempotency_key="curta")
    yield service.get(path(good), x_api_key="")
    yield service.get(path(good), poor)
    yield service.get(path(good), hasty)
    yield service.send("POST", path(good))
    yield service.send("DELETE", path(good))
    yield service.send("GET", path(good), None, b"{}")
    yield service.get(path(good), x_longo="a" * 17_000)
    for document in (MAINTENANCE, HTTP_500) if len(good) == 14 else ("90020000146", "90020000308"):
        yield service.get(path(document))


STATUSES = [400, 400, 400, 400, 401, 402, 429, 405, 405, 413, 431, 503, 500]


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        (sintegra, "90010001000100", "90010001000101"),
        (producer, "90010000100", "90010000101"),
        (suframa, SUFRAMA, "90010002000155"),
    ],
    ids=["sintegra", "produtor-rural", "suframa"],
)
def test_every_error_has_a_message_at_the_top(
    service: Service, path: Any, good: str, bad: str
) -> None:
    """`message` is a text on every error; a Suframa error has no `inscricao` anywhere."""
    found = list(errors_of(service, path, good, bad))
    assert [answer.status_code for answer in found] == STATUSES
    for answer in found:
        body = answer.json()
        assert isinstance(body["message"], str)
        assert body["message"]
        assert body["message"] == body["error_message"]["message"]
        assert body["error_message"]["code"]
        assert body["request_id"] == answer.headers["x-request-id"]
        assert answer.headers["x-creditos-cobrados"] == "0"
        exhausted = re.search("saldo|cr[ée]dito|limite", body["message"], re.IGNORECASE)
        assert bool(exhausted) <= (answer.status_code in (402, 429))
        if path is suframa:
            assert '"inscricao"' not in answer.text
        else:
            assert body["inscricoes_estaduais"] == []
        if answer.status_code in (429, 503):
            assert int(answer.headers["retry-after"]) >= 1


def test_errors_outside_the_operations_have_a_message_too(service: Service) -> None:
    """Unknown paths and other methods are answered in the same envelope."""
    for answer, status in (
        (service.get("/nada"), 404),
        (service.get("/consultas/v1/sintegra/90010001000100"), 404),
        (service.get("/consultas/v2/sintegra/"), 404),
        (service.get("/consultas/v2/sintegra"), 404),
        (service.send("PUT", "/openapi.json"), 405),
    ):
        assert answer.status_code == status, answer.url
        body = answer.json()
        assert (body["success"], body["error"]) == (False, True)
        assert body["message"] == body["error_message"]["message"]
        assert body["request_id"] == answer.headers["x-request-id"]


def test_a_repeated_request_that_is_still_running(service: Service) -> None:
    """The 409 has a message and a Retry-After, and the first answer is replayed unpaid."""
    path = sintegra(SLOW, "uf=SP")
    key = f"pedido-{time.monotonic_ns()}"
    client = service.account(key)
    with ThreadPoolExecutor(1) as other:
        first: Future[httpx2.Response] = other.submit(
            service.get, path, client, idempotency_key=key
        )
        # Asked again until the first one has taken the key.
        while service.ledger(client)[1] == 0:
            assert not first.done()
            time.sleep(0.02)
        second = service.get(path, client, idempotency_key=key)
        done = first.result()
    assert (second.status_code, second.json()["error_message"]["code"]) == (
        409,
        "OPERACAO_EM_ANDAMENTO",
    )
    assert second.json()["message"]
    assert int(second.headers["retry-after"]) >= 1
    assert done.status_code == 200
    replayed = service.get(path, client, idempotency_key=key)
    assert replayed.content == done.content
    assert replayed.headers["idempotent-replayed"] == "true"
    assert replayed.headers["x-creditos-cobrados"] == "0"
    assert len(service.ledger(client)[2]) == 1


@pytest.mark.parametrize(
    "further",
    ["x-longo: " + "a" * 100_000 + "\r\n", "".join(f"x-{n}: 1\r\n" for n in range(150))],
    ids=["a head of 100 kB", "150 short headers"],
)
def test_a_far_too_large_head_has_a_message_too(service: Service, further: str) -> None:
    """However large the head is, the refusal is in the envelope."""
    _, _, body = raw(
        service,
        f"GET {sintegra()} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"x-api-key: {service.client.key}\r\n{further}\r\n",
    )
    assert json.loads(body)["message"]


# (i) Those who look at `inscricao` alone


def test_inscricao_tells_registered_companies(service: Service) -> None:
    """It is in the answer when the company is registered, and absent otherwise."""
    for query in ("", "cache=0", "cache=45"):
        body = service.get(suframa(SUFRAMA, query)).json()
        assert body["inscricao"] == "200000012"
    for cnpj in ("90010001000100", ABSENT, "12ABC34501DE35", MAINTENANCE, HTTP_500):
        assert "inscricao" not in service.get(suframa(cnpj)).json()


def test_the_ledger_agrees(service: Service) -> None:
    """After all of this every credit is accounted for."""
    with closing(SqliteDesk(service.home.desk)) as desk:
        assert not desk.check().complaints
