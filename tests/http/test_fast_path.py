"""The fast path answers as the front does, or declines before any effect (ADR 0039)."""

import asyncio
import json
import random
import re
import ssl
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr
from stdnum.br.cnpj import calc_check_digits

from balcao.core import data_subject
from balcao.core.access import KeyRestrictions
from balcao.core.budgets import Budget
from balcao.core.calendar import HOUR_MS, to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import BalcaoError, CommitUncertain, StorageFailed
from balcao.core.memo import Doorkeeper, K, Memo, V
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.questions import Inquiry, Part
from balcao.http.fast_path import LookupFastPath
from balcao.http.wire.connection import Connection
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from balcao.operations import OPERATIONS
from balcao.operations.company.operation import CompanyLookup
from balcao.operations.parameters import Parameters
from balcao.service.server import tls_context
from balcao.settings import Limits, Settings
from balcao.sources.contract import Absent, Answer, FinishedAnswer, Found
from tests.certificates import self_signed
from tests.http.test_wire_fuzz import FakeTransport
from tests.lookups import OTHER_CPF
from tests.records import (
    BIRTH,
    CNPJ,
    CPF,
    OTHER_CNPJ,
    a_company,
    a_record,
    company,
    federal,
    producer,
    sintegra,
    state,
    suframa,
)
from tests.service import PEPPER, Client, Service, open_service, open_with_source
from tests.watching import a_paper, an_item, registered

AS_OF = datetime(2026, 7, 11, 3, tzinfo=UTC)
FIRST = "cache_strategy=CACHE_PREFERENCIAL"
ANY_AGE = "cache_strategy=CACHE_SE_EXISTIR"


class Copy:
    """Our own copy: a third of the companies is finished, a third in rows, the rest absent."""

    name = "copia"
    parts: frozenset[Part] = frozenset()
    edition = 1

    def find(self, inquiry: Inquiry) -> Answer | None:
        known = self._company(inquiry)
        if known is None:
            return Absent(self.name, conclusive=False) if inquiry.subject == "company" else None
        return Found(known, self.name, AS_OF, local=True)

    def finished(self, inquiry: Inquiry) -> FinishedAnswer | None:
        known = self._company(inquiry)
        if known is None or inquiry.full_partners or int(inquiry.document.text[:8]) % 3:
            return None
        return FinishedAnswer(OPERATIONS["company"].encode(inquiry, known), self.name, to_ms(AS_OF))

    def _company(self, inquiry: Inquiry) -> Company | None:
        document = inquiry.document
        if inquiry.subject != "company" or not document.text.isdigit() or len(document.text) != 14:
            return None
        return a_company(document.text) if int(document.text[:8]) % 3 < 2 else None


def numbered(number: int) -> str:
    """Return the company of a number: 0, 3, 6, ... are finished."""
    base = f"{30_000_000 + number:08d}0001"
    return base + calc_check_digits(base)


FINISHED = numbered(0)


AT_HAND = (
    company(FINISHED),
    company(numbered(3)),
    company(numbered(1), ANY_AGE),
    suframa(CNPJ, "cache=5"),
    sintegra(CNPJ, f"uf=SP&{ANY_AGE}"),
    producer(CPF, f"uf=SP&{ANY_AGE}"),
    federal(f"cnpj={CNPJ}&{ANY_AGE}"),
    federal(f"cpf={CPF}&data_nascimento={BIRTH.replace('-', '')}&{ANY_AGE}"),
    state(CNPJ, f"uf=SP&{ANY_AGE}"),
)


@dataclass
class Side:
    """A world behind a server, with the fast path or without it."""

    world: Service
    server: Server
    clients: list[Client]
    taken: Counter[bool] = field(default_factory=Counter)
    calls: list[Any] = field(default_factory=list)
    connection: Connection | None = None
    transport: FakeTransport = field(default_factory=FakeTransport)

    @property
    def fast_path(self) -> LookupFastPath:
        """The server's fast path."""
        return cast(LookupFastPath, self.server.fast_path)

    def connect(self) -> Connection:
        """Connect a client that has not sent anything yet."""
        connection = self.server.admit("127.0.0.1", 1)
        assert connection is not None
        self.transport = FakeTransport()
        self.transport.connection = self.connection = connection
        connection.connection_made(cast(asyncio.Transport, self.transport))
        return connection

    def count_taken(self) -> None:
        """Count the requests that the fast path accepts and declines."""
        try_answer = self.fast_path.try_answer

        def counted(*request: Any) -> bool:
            taken = try_answer(*request)
            self.taken[taken] += 1
            return taken

        self.fast_path.try_answer = counted  # type: ignore[method-assign, assignment]

    def say(self, text: bytes, *, end: bool = False) -> bytes:
        """Send text, with `KEY<n>` for the client's key, and return the answers."""
        return self.world.run(self._say(self._with_keys(text), end=end))

    def say_by_tls(self, settings: Settings, text: bytes) -> bytes:
        """Like `say`, on a TLS connection that ends with the answers."""

        async def scenario() -> bytes:
            front, context = self.world.front, tls_context(settings)
            server = Server(
                front,
                front.refuse,
                ConnectionLimits(),
                fast_path=self.server.fast_path,
                tls=context,
            )
            trusting = ssl.create_default_context(cafile=str(settings.tls_certificate))
            reader, writer = await asyncio.open_connection(
                "127.0.0.1",
                server.listen("127.0.0.1", 0),
                ssl=trusting,
                server_hostname="localhost",
            )
            writer.write(self._with_keys(text))
            async with asyncio.timeout(60):
                body = await reader.read()
            writer.close()
            await server.close(5)
            return body

        return self.world.run(scenario())

    def _with_keys(self, text: bytes) -> bytes:
        for number, client in enumerate(self.clients):
            text = text.replace(b"KEY%d." % number, client.key.encode())
        return text

    async def _say(self, text: bytes, *, end: bool) -> bytes:
        connection = self.connection
        if connection is None or self.transport.ended:
            connection = self.connect()
        before = len(self.transport.said)
        connection.received(text)
        if end:
            connection.eof_received()
        async with asyncio.timeout(20):
            while (connection._cycle or connection._in_fast_path) and not self.transport.closed:  # noqa: ASYNC110
                await asyncio.sleep(0)
        return bytes(self.transport.said[before:])

    def books(self) -> dict[str, Any]:
        """Return everything stored, counted and logged, without request numbers and times."""

        async def settled() -> None:
            while self.world.parts.writing_traces or self.world.front.authenticator._writing:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)

        self.world.run(settled())
        desk, metrics = self.world.desk, self.world.front.metrics
        self.world.front.request_log.flush()
        events = [json.loads(line) for line in self.world.logged.splitlines()]
        for event in events:
            for name in ("request_id", "took_ms", "timestamp"):
                event.pop(name)
        exposed = metrics.exposition().decode().splitlines()
        assert not desk.check().complaints
        return {
            "ledger": _rows(desk, "SELECT * FROM ledger_entry ORDER BY entry_id", "request_id"),
            "charged_lookups": sorted(
                _rows(desk, "SELECT * FROM charged_lookup", "request_id"), key=repr
            ),
            "traces": sorted(_rows(desk, "SELECT * FROM trace", "request_id"), key=repr),
            "certificates": sorted(
                _rows(desk, "SELECT * FROM certificate_trace", "request_id"), key=repr
            ),
            "receipts": sorted(_rows(desk, "SELECT * FROM receipt"), key=repr),
            "keys": [
                [masked(each) if isinstance(each, bytes) else each for each in row]
                for row in sorted(_rows(desk, "SELECT * FROM idempotency", "request_id"), key=repr)
            ],
            "items": sorted(_rows(desk, "SELECT * FROM wallet_item")),
            "papers": sorted(_rows(desk, "SELECT * FROM wallet_paper", "request_id")),
            "item events": [
                [re.sub(r'"request_id":"[^"]+"', "", str(each)) for each in row]
                for row in _rows(desk, "SELECT * FROM event", "cause")
            ],
            "accounts": desk.accounts(),
            "used": [
                key.last_used_ms for each in desk.accounts() for key in desk.keys(each.account_id)
            ],
            "limits": cast(Any, desk.engine)._buckets,
            "events": sorted(events, key=repr),  # those of one turn of the loop are written later
            "counted": sorted(
                line
                for line in exposed
                if re.match(r"balcao_(requests|credits|request_seconds_count)", line)
            ),
            "calls": Counter((call.source, call.outcome) for call in self.calls),
        }


def _rows(desk: Any, sql: str, *but: str) -> list[Any]:
    table = sql.split("FROM ")[1].split(" ", 1)[0]
    names = [row[1] for row in desk.engine.connection.execute(f"PRAGMA table_info({table})")]
    return [
        [value for name, value in zip(names, row, strict=True) if name not in but]
        for row in desk.engine.connection.execute(sql)
    ]


def watch(world: Service, account_id: int) -> None:
    """Watch most subjects of the requests, of which other states are known."""
    execute = world.desk.engine.connection.execute
    an_item(
        execute,
        account_id,
        CNPJ,
        "inscricoes:SP",
        "suframa",
        registrations=[registered(False)],
        suframa={"codigo": 2, "descricao": "Inativa"},
        checked={"inscricoes:SP": 1, "suframa": 1},
    )
    person = data_subject.document_hash(PEPPER, CPF)
    an_item(
        execute,
        account_id,
        "***100001**",
        "produtor:SP",
        person=person,
        registrations=[registered(False)],
        checked={"produtor:SP": 1},
    )
    earlier: Any = {"verdict": "CND", "validity": "2026-07-01", "answered_ms": 1}
    item, of_person = f"{account_id}-{CNPJ}-", f"{account_id}-***100001**-"
    a_paper(execute, account_id, "certidao_federal", item, subject=CNPJ[:8], **earlier)
    a_paper(
        execute, account_id, "certidao_federal", of_person, paper_id=f"{account_id}-of-person",
        subject=None, document_hash=person, **earlier,
    )  # fmt: skip
    for number in range(40):
        before = a_company(numbered(number), nome_fantasia="ANTES")
        an_item(execute, account_id, numbered(number), "cadastro", record=before)


RICH, FREE, POOR, LIMITED = 0, 2, 4, 6  # of the clients below
BUDGETED = 5


@contextmanager
def opened(
    folder: Path, *, fast_path: bool, per_minute: int = 100_000, watching: bool = False
) -> Iterator[Side]:
    """Open a world with all kinds of accounts, and entries in its cache.

    `watching`: some accounts watch subjects whose state differs from the answers.
    """
    limits = Limits(per_minute=per_minute, per_day=100_000)
    with open_with_source(
        folder,
        sources=lambda fake: [Copy(), fake],
        limits_gratuito=limits,
        limits_pre_pago=limits,
        limits_pos_pago=limits,
    ) as world:
        clients = [
            world.account("rica", credits=10**6),
            world.account("optin", credits=10**6, partner_optin=True),
            world.account("gratuita", plan="gratuito", credits=10**6),
            world.account("teste", mode="test", credits=10**6),
            world.account("pobre", credits=12),
            world.account(
                "fiada", plan="pos_pago", certificates=True, ceiling_credits=40, credits=0
            ),
        ]
        clients += [
            world.another_key(clients[0], per_minute=40),
            world.another_key(clients[0], expires_in_seconds=30),
            world.another_key(clients[0]),
        ]
        assert world.desk.revoke_key(clients[-1].key_id, world.clock())
        behind = [
            world.another_key(clients[0], restrictions=restrictions)
            for restrictions in (
                KeyRestrictions(networks=("127.0.0.0/8",)),
                KeyRestrictions(networks=("203.0.113.0/24",)),
                KeyRestrictions(operations=("cnpj-receita-federal", "suframa")),
                KeyRestrictions(client_required=True),
                KeyRestrictions(administers=True),
            )
        ]
        clients.append(Client(0, 0, clients[0].key[:-1] + "!"))
        whose = clients[BUDGETED]
        of_key = Budget(
            0, whose.account_id, "orcamento", "da chave", "chave", str(whose.key_id), "dia", 9,
            None, None, 80, world.clock(),
        )  # fmt: skip
        world.run(world.desk.budgets.make(of_key, AT_THE_TERMINAL))
        clients += behind
        for number in range(40):
            world.keep(a_company(numbered(number), nome_empresarial="GUARDADA"), days=number / 4)
        for subject, document in (
            ("state_registration", CNPJ),
            ("state_certificate", CNPJ),
            ("rural_producer", CPF),
        ):
            kind = Cpf if document == CPF else Cnpj
            world.keep(a_record(Inquiry(subject, kind.parse(document), "SP")), days=1)
        world.keep(a_record(Inquiry("suframa", Cnpj.parse(CNPJ))), days=1)
        world.keep(a_record(Inquiry("federal_certificate", Cnpj.parse(CNPJ))), days=1)
        world.keep(a_record(Inquiry("federal_certificate", Cpf.parse(CPF))), days=1)

        if watching:
            watch(world, clients[RICH].account_id)
            watch(world, clients[POOR].account_id)

        async def begun() -> Server:
            way = LookupFastPath(world.front) if fast_path else None
            return Server(world.front, world.front.refuse, ConnectionLimits(), fast_path=way)

        side = Side(world, world.run(begun()), clients)
        world.parts.environments["live"].sources._observe = lambda call: side.calls.extend(
            [call] * len(call.durations)
        )
        if side.server.fast_path is not None:
            side.count_taken()
        yield side


def get(
    path: str, key: int | None = 0, *lines: str, method: str = "GET", version: str = "1.1"
) -> bytes:
    """Return the bytes of a request."""
    named = [] if key is None else [f"x-api-key: KEY{key}."]
    head = [f"{method} {path} HTTP/{version}", "Host: a", *named, *lines, "", ""]
    return "\r\n".join(head).encode("latin-1")


CALLERS = (*(0,) * 44, 1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 13, 14, None)
QUERIES = (
    *("",) * 6,
    *(FIRST,) * 4,
    *(ANY_AGE,) * 3,
    f"{FIRST}&cache=3",
    f"{FIRST}&cache=0",
    f"{FIRST}&cache=999",
    "cache=5&cache=6",
    "cache_strategy=SO_ONLINE",
    "cache_strategy=so_cache",
    "cache_strategy=X",
    "creditos_maximos=0",
    "creditos_maximos=1",
    f"{FIRST}&creditos_maximos=",
    "optin=1",
    f"optin=1&{ANY_AGE}",
    "optin=2",
    "cpf=90010000100",
    "cache_strategy=%43ACHE_SE_EXISTIR",
    "x=1&&y",
)
LINES = (
    *((),) * 80,
    *(("Accept-Encoding: gzip",),) * 4,
    ("accept-encoding: br, gzip;q=0.5", "Accept: */*"),
    ("Accept-Encoding: gzip;q=0",),
    ("Connection: close",),
    ("Connection: keep-alive, x",),
    ("Idempotency-Key: chave-0001",),
    ("Idempotency-Key: chave-0002",),
    ("idempotency-key: curta",),
    ("X-Creditos-Maximos: 0",),
    ("x-creditos-maximos: 1",),
    *(("X-Cliente: loja-7",),) * 4,
    *(("X-Cliente: loja-7", "x-referencia: NF:12/3"),) * 4,
    ("X-Referencia: p_1.2",),
    ("X-Referencia: p 1",),
    ("X-Cliente:",),
    ("X-Cliente: a", "X-Cliente: a"),
    (f"X-Cliente: {CPF}",),
    ("X-Referencia: " + "x" * 65,),
    ("X-Cliente: a", "Idempotency-Key: chave-0003", "Accept-Encoding: gzip"),
    ("Idempotency-Key: chave-0004", "Idempotency-Key: chave-0004"),
    ("Idempotency-Key: chave-0005", "X-Creditos-Maximos: 0"),
    ("Idempotency-Key: chave 0006",),
    ("Idempotency-Key: chave-0007", " dobrada"),
    ("X-Chave: Idempotency-Key: chave-0008",),
    ("Idempotency-Key: " + "x" * 129,),
    ("X-Forwarded-For: 203.0.113.9",),
    ("cache: 5",),
    ("Cache: 5", "cache: 6"),
    ("Content-Length: 0",),
    ("Content-Length: 3",),
    ("Transfer-Encoding: x",),
    ("Upgrade: h2c",),
    ("x-api-key: outra",),
    ("Expect: 200-ok",),
    ("Cookie: a=b", "Cookie: c=d"),
    ("X: \xe9",),
    ("X: a\x01",),
    (" dobrada",),
    ("Host: b",),
    ("X" * 2100 + ": y",),
    ("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",),
)


def drawn(dice: random.Random, *, keyed: bool = False) -> bytes:
    """Draw a random request; `keyed`: with an Idempotency-Key."""
    cnpj = numbered(dice.randrange(60))
    query = dice.choice(QUERIES)
    punctuated = Cnpj(cnpj).punctuated
    path = dice.choice(
        (
            *(company(cnpj, query),) * 12,
            company(punctuated, query),
            company(punctuated.replace("/", "%2F")),
            company(cnpj[:-1] + "0", query),
            company("", query),
            company(f"{cnpj}/"),
            "/consultas/v2/nada/1",
            company(cnpj, query).replace("/consultas/", "/cotacoes/"),
            "/consultas/v2/cnpj-receita-federal",
            "/healthz",
            suframa(query=query),
            suframa(CNPJ, ANY_AGE),
            suframa(OTHER_CNPJ),
            sintegra(CNPJ, f"uf=SP&{ANY_AGE}"),
            sintegra(CNPJ, f"uf=SP&endereco=true&{ANY_AGE}"),
            sintegra(CNPJ, ANY_AGE),
            sintegra(numbered(0), f"uf=SP&{query}"),
            sintegra(CNPJ, f"uf=BR&{ANY_AGE}"),
            producer(CPF, f"uf=SP&{ANY_AGE}"),
            producer(CPF, f"uf=SP&{query}"),
            producer(OTHER_CPF, f"uf=SP&{ANY_AGE}"),
            producer(Cpf(CPF).punctuated, f"uf=SP&{ANY_AGE}"),
            producer(CPF[:-1] + "1", f"uf=SP&{ANY_AGE}"),
            federal(f"cnpj={CNPJ}&{ANY_AGE}"),
            federal(f"cnpj={CNPJ}&{ANY_AGE}&preferencia_emissao=nova"),
            federal(f"cpf={CPF}&data_nascimento={BIRTH.replace('-', '')}&{ANY_AGE}"),
            federal(f"cpf={CPF}&{ANY_AGE}"),
            state(CNPJ, f"uf=SP&{ANY_AGE}"),
            state(CNPJ, "uf=SP&cache_strategy=SO_CACHE"),
        )
    )
    method = dice.choice((*("GET",) * 60, "HEAD", "OPTIONS", "POST", "get", "DELETE"))
    version = dice.choice((*("1.1",) * 60, "1.0", "2.0"))
    lines = dice.choice(LINES)
    if keyed:
        lines = tuple(dice.sample((*lines, key_line(dice, path)), len(lines) + 1))
    return get(path, dice.choice(CALLERS), *lines, method=method, version=version)


def key_line(dice: random.Random, path: str) -> str:
    """Draw the line of an Idempotency-Key: a new one, one of the path's own, or a shared one."""
    key = dice.choice(
        (
            f"{dice.getrandbits(64):016x}",
            *(f"pedido-{zlib.crc32(path.encode())}-{dice.randrange(2)}",) * 2,
            f"pedido-{dice.randrange(8)}",
        )
    )
    name = dice.choice(("Idempotency-Key", "idempotency-key", "IDEMPOTENCY-Key"))
    between, end = dice.choice((": ", ":", ":  ", ":\t")), dice.choice(("", "", " ", "!~"))
    return f"{name}{between}{key}{end}"


def masked(text: bytes) -> bytes:
    """Remove the request's number and the second."""
    text = re.sub(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", b"ID", text)
    return re.sub(rb"date: [^\r]*", b"date:", text)


def said(text: bytes) -> bytes:
    """Like `masked`, with bodies uncompressed and without their length.

    The number of a request changes both."""
    at = text.find(b"\x1f\x8b\x08")
    if at < 0:
        return masked(text)
    unpacking = zlib.decompressobj(31)
    body = unpacking.decompress(text[at:])
    head = re.sub(rb"(gzip\r\ncontent-length: )\d+", rb"\1", text[:at])
    return masked(head + body) + said(unpacking.unused_data)


def later(side: Side) -> None:
    """Count limits and find keys as on PostgreSQL: the results arrive a little later."""
    desk: Any = side.world.desk

    def defer(at_once: Any) -> Any:
        return lambda *asked: asyncio.get_running_loop().call_soon(partial(at_once, *asked))

    desk.engine.charge_nowait = defer(desk.engine.charge_nowait)
    desk.find_attempt_nowait = defer(desk.find_attempt_nowait)


@pytest.mark.parametrize(("seed", "keyed"), [(1, 0), (2, 0), (3, 0.5), (4, 0), (5, 0.8), (6, 0.8)])
def test_with_the_fast_path_and_without_it(tmp_path: Path, seed: int, keyed: float) -> None:
    """More than 2,400 requests, one by one and in pipelines of two and three.

    `keyed`: the share of requests with an Idempotency-Key.
    """
    with ExitStack() as stack:
        sides = [
            stack.enter_context(
                opened(tmp_path / name, fast_path=name == "fast path", watching=seed in (1, 5))
            )
            for name in ("fast path", "front")
        ]
        if seed in (4, 6):
            later(sides[0])
        dice, before = random.Random(seed), list[bytes]()
        for number in range(400):
            if before and dice.random() < keyed / 3:
                request = dice.choice(before[-20:])
            else:
                request = b"".join(
                    drawn(dice, keyed=dice.random() < keyed)
                    for _ in range(dice.choice((1, 1, 1, 1, 1, 2, 3)))
                )
            before.append(request)
            end = not dice.randrange(40)
            fast, front = (said(side.say(request, end=end)) for side in sides)
            assert fast == front, (number, request)
            seconds = dice.choice((*(0,) * 60, 0.1, 0.3, 0.6, 20, 97 * 3600 if keyed else 0))
            for side in sides:
                side.world.clock.advance(seconds=seconds)
        with_it, without_it = (side.books() for side in sides)
        for name, kept in with_it.items():
            assert kept == without_it[name], name
        assert sides[0].taken[True] > 75, sides[0].taken
        kinds = {event[2] for event in with_it["item events"]}
        watched = {"empresa.nome", "inscricao.situacao", "suframa.situacao", "certidao.renovada"}
        assert seed not in (1, 5) or kinds >= watched, kinds
        if keyed:
            replayed = [each for each in with_it["events"] if each.get("replayed")]
            assert len(replayed) > 10
            assert len(with_it["keys"]) > 50


def test_by_tls_too(tmp_path: Path) -> None:
    """Requests of all kinds in one pipeline, over a real connection."""
    certificate, key = self_signed(tmp_path, "localhost")
    settings = Settings(tls_certificate=certificate, tls_key=key)
    dice = random.Random(9)
    gzip, last = "Accept-Encoding: gzip", "Connection: close"
    asked = [
        get(path, dice.choice((RICH, RICH, POOR, None)), *((gzip,) if number % 3 else ()))
        for number in range(4)
        for path in AT_HAND
    ]
    answers = []
    for name in ("fast path", "front"):
        with opened(tmp_path / name, fast_path=name == "fast path") as side:
            side.say(get(company(FINISHED)))  # the use of the key is noted
            body = side.say_by_tls(settings, b"".join([*asked, get(company(FINISHED), RICH, last)]))
            answers.append((said(body), side.books()["charged_lookups"]))
            if name == "fast path":
                assert side.taken[True] > len(asked) / 2
    assert answers[0] == answers[1]
    assert answers[0][0].count(b"HTTP/1.1 200 OK") > len(asked) / 2


@pytest.fixture(params=["at once", "later"])
def side(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Side]:
    """A world with the fast path, in which all keys are remembered."""
    with opened(tmp_path, fast_path=True) as side:
        if request.param == "later":
            later(side)
        for number in (RICH, POOR, LIMITED):
            side.say(get(company(FINISHED), number))
        side.taken.clear()
        yield side


@pytest.fixture
def fill_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything remembered that may be, at once."""
    monkeypatch.setattr(Doorkeeper, "seen_before", lambda self, key: True)


@pytest.mark.usefixtures("fill_memories")
def test_available_answers_take_the_fast_path(side: Side) -> None:
    receive(side)
    for number, path in enumerate(AT_HAND, 1):
        assert side.say(get(path)).startswith(b"HTTP/1.1 200 OK\r\n")
        assert side.taken == {True: number}, path
    assert any(CPF.encode() in line for line in remembered(side))
    assert patterns(side)
    assert data_subject._keyed.cache_info().currsize
    side.world.front.parts.forget()  # a person was erased
    assert [*remembered(side), *patterns(side)] == []
    assert not data_subject._keyed.cache_info().currsize


def receive(side: Side) -> None:
    """Have the first account receive its answers about people: the front reads the ledger."""
    for path in AT_HAND:
        if CPF in path:
            for _ in range(2):
                side.say(get(path))
    side.taken.clear()


def test_tags_take_the_fast_path_and_are_not_remembered(side: Side) -> None:
    heads = len(known(side.fast_path.heads))
    for number in range(3):
        marks = ("X-Cliente: loja-7", f"X-Referencia: p-{number}")
        answer = side.say(get(company(FINISHED), RICH, *marks))
        assert b" 200 OK" in answer.split(b"\r\n")[0]
        assert b"\r\nx-cliente: loja-7\r\nx-referencia: p-%d\r\n" % number in answer
        assert side.taken == {True: number + 1}
    assert len(known(side.fast_path.heads)) == heads, "each would drive out others"
    marked = "SELECT client, reference FROM ledger_entry ORDER BY entry_id"
    kept = side.world.desk.engine.connection.execute(marked).fetchall()
    assert kept[-3:] == [("loja-7", f"p-{number}") for number in range(3)]


def known(memo: Memo[K, V]) -> dict[K, V]:
    """Return everything that a memo remembers."""
    return {**memo._old, **memo._recent}


def remembered(side: Side) -> list[bytes]:
    """Return the request lines that the fast path remembers."""
    return list(known(side.fast_path._lines))


@pytest.mark.parametrize("query", sorted({*QUERIES, "uf=SP&endereco=true", "uf=BR", "uf=sp"}))
def test_a_document_in_the_path_needs_no_new_pattern(query: str) -> None:
    """The rest of the line is parsed once for all companies and people."""
    for operation in OPERATIONS.values():
        if not operation.document:
            continue
        documents = (CNPJ, OTHER_CNPJ) if operation.document == "cnpj" else (CPF, OTHER_CPF)
        try:
            sent = Parameters(query.encode(), {}, operation.names)
            question, other = (operation.parse(each, sent) for each in documents)
        except BalcaoError:
            continue
        assert question != other
        assert question.about(other.document) == other


@pytest.mark.usefixtures("fill_memories")
@pytest.mark.parametrize("path", [producer(CPF, "uf=SP"), suframa(CNPJ), state(CNPJ, "uf=SP")])
def test_a_line_is_parsed_once(side: Side, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people, the text around the document; without one, the whole line with its strategy."""
    path += f"{'&' if '?' in path else '?'}{ANY_AGE}"
    receive(side)
    side.say(get(path))
    monkeypatch.delattr(LookupFastPath, "_parse_new_line")
    assert b" 200 OK" in side.say(get(path))
    assert side.taken == {True: 2}
    patterns = known(side.fast_path._patterns).values()
    assert patterns
    assert CPF not in {each.question.document.text for each in patterns}, "it may live for long"


def patterns(side: Side) -> list[tuple[bytes, bytes]]:
    """Return the patterns that the fast path remembers."""
    return list(known(side.fast_path._patterns))


@pytest.mark.parametrize("end", ["?", "?" + FIRST, "?optin=2", "", "/", "%2F", ".", "0", "?x=/"])
def test_an_invalid_cnpj_in_a_known_pattern(side: Side, end: str) -> None:
    """The line's pattern is remembered, and any text replaces the CNPJ."""
    side.say(get(company(FINISHED)))
    statuses = {
        side.say(get(company(text) + end)).split(b" ")[1]
        for text in (FINISHED[:-1] + "0", FINISHED[:-1] + "?", FINISHED[:-1], "0" * 14, "a/" * 7)
    }
    assert statuses <= {b"400", b"404"}
    assert side.taken == {True: 1, False: 5}
    assert b" 200 OK" in side.say(get(company(numbered(3).lower())))


def test_unused_memories_are_cleared(side: Side) -> None:
    for _ in range(2):
        side.say(get(company(FINISHED)))
    heads = list(known(side.fast_path.heads))
    assert [line for line in remembered(side) if FINISHED.encode() in line]
    for _ in range(2):
        side.world.clock.advance(seconds=61)
        side.server.sweep(side.server.send_budget.now + 1)
    assert not [line for line in remembered(side) if FINISHED.encode() in line]
    assert not side.fast_path.heads.get(next(iter(heads))), "nor a key"


@pytest.mark.parametrize("path", [federal(f"cnpj={CNPJ}&{ANY_AGE}"), state(CNPJ, "uf=SP")])
def test_an_account_without_certificates_gets_none(side: Side, path: str) -> None:
    """Even if the fast path remembers the key and the certificate is available."""
    assert b" 200 OK" in side.say(get(company(FINISHED), FREE))
    charged = len(side.world.charges(side.clients[FREE]))
    for _ in range(2):
        assert b" 403 " in side.say(get(path, FREE)).split(b"\r\n")[0]
    assert len(side.world.charges(side.clients[FREE])) == charged


def test_after_an_answer_an_idle_connection_is_closed_in_time(side: Side) -> None:
    """As after an answer of the front."""
    server = side.server
    assert b" 200 OK" in side.say(get(company(FINISHED)))
    assert list(server.resting) == [side.connection]
    assert not server.new

    async def later(seconds: float) -> bool:
        server.sweep(server.send_budget.now + seconds)
        return side.transport.closed

    assert not side.world.run(later(server.limits.idle_seconds))
    assert side.world.run(later(3))


def test_each_reading_of_a_finished_answer_is_counted_once(side: Side) -> None:
    """Together with those of its event-loop turn; remembered answers are not read again."""
    before = len(side.calls)
    asked = b"".join(get(company(numbered(number))) for number in (3, 6, 9))
    assert side.say(asked).count(b" 200 OK") == 3
    assert [call.outcome for call in side.calls[before:]] == ["found"] * 3
    assert side.say(asked).count(b" 200 OK") == 3
    known = list(side.calls)
    assert side.say(asked).count(b" 200 OK") == 3
    assert side.calls == known


def test_a_refusal_by_limits_is_left_to_the_front_and_counts_nothing(side: Side) -> None:
    for _ in range(39):
        assert b" 200 OK" in side.say(get(company(FINISHED), LIMITED))
    before = dict(cast(Any, side.world.desk.engine)._buckets)
    calls = list(side.calls)
    side.taken.clear()
    answer = side.say(get(company(numbered(6)), LIMITED))  # would have to be read
    assert b" 429 " in answer.split(b"\r\n")[0]
    assert cast(Any, side.world.desk.engine)._buckets == before
    assert side.world.events()[-1]["status"] == 429
    assert b" 200 OK" in side.say(get(company(FINISHED)))  # is remembered
    assert side.calls == calls, "nothing was measured of what was not used"


def test_402_in_the_middle_of_a_batch(side: Side) -> None:
    poor, rich = side.clients[POOR], side.clients[RICH]
    left = side.world.balance(poor).balance_credits
    callers = [POOR] * (left + 3) + [RICH] * 3
    random.Random(7).shuffle(callers)

    async def scenario() -> list[bytes]:
        transports = []
        for number in callers:
            side.connect().received(
                get(company(FINISHED), number).replace(
                    b"KEY%d." % number, side.clients[number].key.encode()
                )
            )
            transports.append(side.transport)
        async with asyncio.timeout(20):
            while not all(each.said for each in transports):  # noqa: ASYNC110
                await asyncio.sleep(0)
        return [bytes(each.said) for each in transports]

    before = side.world.balance(rich).balance_credits
    answers = side.world.run(scenario())
    statuses = Counter(
        (number, answer.split(b" ")[1]) for number, answer in zip(callers, answers, strict=True)
    )
    assert statuses == {(POOR, b"200"): left, (POOR, b"402"): 3, (RICH, b"200"): 3}
    assert side.world.balance(poor).balance_credits == 0
    assert side.world.balance(rich).balance_credits == before - 3
    assert not side.world.check().complaints


def test_a_client_that_left_before_the_commit_is_charged_once(side: Side) -> None:
    before = side.world.balance(side.clients[RICH]).balance_credits

    async def scenario() -> None:
        connection = side.connect()
        key = side.clients[RICH].key.encode()
        connection.received(get(company(FINISHED)).replace(b"KEY0.", key))
        assert connection._in_fast_path
        connection.connection_lost(None)
        async with asyncio.timeout(20):
            while connection._in_fast_path:  # noqa: ASYNC110
                await asyncio.sleep(0)

    side.world.run(scenario())
    assert not side.transport.said
    assert len(side.server.connections) == 1, "that of before"
    assert side.world.balance(side.clients[RICH]).balance_credits == before - 1
    assert side.books()["events"][-1]["status"] == 200


def test_a_storage_failure_is_answered_as_by_the_front(tmp_path: Path) -> None:
    answers = []
    for fast in (True, False):
        with opened(tmp_path / str(fast), fast_path=fast) as side:
            side.say(get(company(FINISHED)))
            engine: Any = side.world.desk.engine
            engine._writer.begin = lambda job: lambda: [StorageFailed("disk full")] * len(job.lists)
            answers.append(said(side.say(get(company(FINISHED)))))
            assert side.taken[True] == fast
            assert b" 503 " in answers[-1]
            assert side.world.events()[-1]["detail"] == "disk full"
    assert answers[0] == answers[1]


@pytest.mark.parametrize("needs_company", [False, True])
def test_a_bug_costs_one_answer(
    side: Side, monkeypatch: pytest.MonkeyPatch, needs_company: bool
) -> None:
    """Before the limits are counted the front answers, afterwards the fast path."""

    def bug(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(CompanyLookup, "needs_company", lambda *_: needs_company)
        patched.setattr(CompanyLookup, "deliver", bug)
        answer = side.say(get(company(FINISHED)))
    assert b" 500 " in answer.split(b"\r\n")[0]
    assert side.taken == {needs_company: 1}
    assert b" 200 OK" in side.say(get(company(FINISHED)))
    assert not side.world.check().complaints


@pytest.mark.usefixtures("fill_memories")
def test_a_line_with_unknown_parameters_is_not_remembered(side: Side) -> None:
    """Operations ignore unknown parameters, which may be personal data."""
    assert b" 200 OK" in side.say(get(company(FINISHED, f"cpf={CPF}")))
    assert side.taken[True] == 1
    assert not any(CPF.encode() in line for line in remembered(side))


def test_a_bug_before_any_effect_is_left_to_the_front(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("balcao.http.fast_request.all_available_now", bug)
    assert b" 200 OK" in side.say(get(company(FINISHED)))
    assert side.taken == {False: 1}


def test_a_bug_in_the_answer_closes_the_connection(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("balcao.http.fast_request.on_the_wire", bug)
        assert side.say(get(company(FINISHED))) == b""
    assert side.transport.closed
    side.connect()
    assert b" 200 OK" in side.say(get(company(FINISHED)))


def test_a_client_that_does_not_read_is_waited_for(side: Side) -> None:
    key = side.clients[RICH].key.encode()
    request = get(company(FINISHED)).replace(b"KEY0.", key)

    async def scenario() -> None:
        connection = side.connect()
        connection.received(request)
        connection.pause_writing()
        connection.received(request)
        async with asyncio.timeout(20):
            while not side.server.send_budget.stalled:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert side.transport.said.count(b"HTTP/1.1 200") == 1
        assert not side.transport.reading, "no more is read meanwhile"
        connection.resume_writing()
        async with asyncio.timeout(20):
            while side.transport.said.count(b"HTTP/1.1 200") < 2:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert side.transport.reading

    side.world.run(scenario())
    assert not side.server.send_budget.stalled


def test_a_stop_waits_for_the_answer_and_closes_the_connection(side: Side) -> None:
    key = side.clients[RICH].key.encode()

    async def scenario() -> None:
        connection = side.connect()
        connection.received(get(company(FINISHED)).replace(b"KEY0.", key))
        await side.server.close(10)

    side.world.run(scenario())
    assert b"connection: close\r\n" in side.transport.said
    assert side.transport.closed


def test_a_revoked_key_is_refused_at_once_here_and_soon_by_other_processes(side: Side) -> None:
    rich = side.clients[RICH]
    assert b" 200 OK" in side.say(get(company(FINISHED)))
    assert side.world.desk.revoke_key(rich.key_id, side.world.clock())
    assert b" 401 " in side.say(get(company(FINISHED)))


@pytest.fixture
def on_postgresql(tmp_path: Path, address: str) -> Iterator[tuple[Service, Side]]:
    """A service on PostgreSQL with the fast path."""
    with open_service(tmp_path, database=SecretStr(address)) as here:

        async def begun() -> Server:
            front = here.front
            return Server(front, front.refuse, ConnectionLimits(), fast_path=LookupFastPath(front))

        side = Side(here, here.run(begun()), [here.client])
        side.count_taken()
        yield here, side


def test_on_postgresql(on_postgresql: tuple[Service, Side]) -> None:
    """Limits are counted in the database first; cached answers in memory are available."""
    here, side = on_postgresql
    for _ in range(30):
        assert b" 200 OK" in side.say(get(suframa(OTHER_CNPJ, "cache=7")))
    assert side.taken[True] > 10, side.taken
    assert len(here.charges()) == 30
    here.assert_books_agree()


def test_on_postgresql_a_storage_failure_is_answered_by_the_fast_path(
    on_postgresql: tuple[Service, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown what was counted or committed, so the front must not repeat it."""
    here, side = on_postgresql
    request = get(suframa(OTHER_CNPJ, "cache=7"))
    assert b" 200 OK" in side.say(request)
    cache = here.front.parts.environments["test"].cache
    kept = here.run(cache.read([Inquiry("suframa", Cnpj.parse(OTHER_CNPJ)).cache_key]))
    monkeypatch.setattr(cache, "read_nowait", lambda keys: kept)
    monkeypatch.setattr("balcao.storage.desk.desk.CALLER_AGE_MAX_MS", HOUR_MS)
    writer = cast(Any, here.desk.engine)._writer
    write = writer.write

    def once(asked: Sequence[Any]) -> list[Any]:
        writer.write = write
        return [CommitUncertain("outcome unknown")] * len(asked)

    writer.write = once
    answer = side.say(request)
    assert side.taken == {False: 1, True: 1}
    assert b" 503 " in answer.split(b"\r\n")[0]
    assert b"COBRANCA_INCERTA" in answer
    assert b"x-creditos-cobrados: " not in answer
    assert len(here.charges()) == 1
    assert b" 200 OK" in side.say(request)
    assert len(here.charges()) == 2
