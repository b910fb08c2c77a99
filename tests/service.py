"""The service for tests: `compose.open_application` on a folder of the test's own.

    with open_service(tmp_path) as service:
        answer = service.get(sintegra("90010001000100"))

Real here: the front, the desk, the caches, all adapters and the simulated providers. The providers
of live accounts are reached through a `Wire`, which stands where the network would be.

`open_with_source` replaces the providers by a `FakeSource`, and the clock by one that stands still:

    def test_a_failure_costs_nothing(world: Service) -> None:
        world.source.fails()
        assert world.get(company()).status == 500

`get` and `request` run the event loop until the answer is there. What happens at once goes into one
coroutine, with `aget`: `service.run(story())`.
"""

import asyncio
import gzip
import json
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from types import MethodType
from typing import Any, TypeAlias, TypeVar, cast
from unittest.mock import patch
from urllib.parse import unquote

import httpx2
import uuid_utils

from balcao.accounts.keys import issue_key
from balcao.core.access import Account, KeyRestrictions, Plan
from balcao.core.availability import Standing
from balcao.core.certificates import FederalCertificate, StateCertificate
from balcao.core.company import Company
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import DataRefused, SourceFailed, SourceUnavailable
from balcao.core.fgts_regularity import FgtsRegularity
from balcao.core.freshness import CacheEntry
from balcao.core.labour_certificate import LabourCertificate
from balcao.core.ledger import TopUp
from balcao.core.questions import Inquiry, Mode, Part, Record, Subject
from balcao.core.registration import Registrations
from balcao.core.suframa import ZoneRecord
from balcao.home import SECRET_BYTES, Home
from balcao.http import api
from balcao.http.documentation import document_of, documentation
from balcao.http.front import Front
from balcao.http.routes import Route
from balcao.lookup.context import Parts
from balcao.lookup.source_status import SourceLine, SourceStatus
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.service import compose, first_start
from balcao.service.clock import Clock, system_now_ms
from balcao.service.lifecycle import Lifecycle
from balcao.service.provider_factory import ProviderFactory
from balcao.settings import Limits, Settings
from balcao.sources.contract import Absent, Answer, Found
from balcao.sources.router import Source, SourceRouter
from balcao.storage.contract import LedgerCheck, LedgerEntry, NewAccount
from balcao.storage.desk.desk import Desk
from tests.records import BIRTH, CPF, DAY_SECONDS, NOW_MS, a_company, a_record

T = TypeVar("T")

CREDITS = 100_000

# The same in every service with a fake source, so that two of them number receipts alike.
PEPPER = b"p" * SECRET_BYTES

# However busy the machine is. Nothing waits this long when all is well.
PATIENCE_SECONDS = 120


class StandingClock(Clock):
    """A service's clock that stands still until it is advanced."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.at_ms = now_ms
        super().__init__(self, self)

    def __call__(self) -> int:
        return self.at_ms

    def safe_past_ms(self) -> int:
        return self.at_ms

    def advance(self, *, seconds: float = 0, days: float = 0) -> None:
        self.at_ms += round((seconds + days * DAY_SECONDS) * 1000)


class FakeSource:
    """An online source in memory. It finds every company until it is set to do otherwise.

    `waits()` makes it keep callers waiting until `answers_now()`. `asked` counts the calls,
    `answered` those that got as far as an answer or a failure.
    """

    def __init__(self, now_ms: Callable[[], int], name: str = "fonte") -> None:
        self.name = name
        self.inquiries: list[Inquiry] = []
        self.answered = 0
        self.serves_it = True
        self.reissues = True
        self.parts: frozenset[Part] = frozenset({"types", "addresses"})
        self.now_ms = now_ms
        self._admission = asyncio.Event()
        self._admission.set()
        self._say: Callable[[Inquiry], Answer] = self._find

    @property
    def asked(self) -> int:
        return len(self.inquiries)

    def now(self) -> datetime:
        """Return the time by the service's clock."""
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)

    def finds(self, record: Record | None = None) -> None:
        """Return this record, or one made for the document in question."""
        self._say = lambda inquiry: self._find(inquiry, record)

    def says(self, say: Callable[[Inquiry], Answer]) -> None:
        """Return or raise what a function of the inquiry does."""
        self._say = say

    def says_absent(self, *, conclusive: bool = True) -> None:
        self._say = lambda inquiry: Absent(self.name, conclusive=conclusive)

    def fails(self, detail: str = "") -> None:
        self._raise(SourceFailed(detail))

    def is_down(self, retry_in_seconds: int = 30) -> None:
        self._raise(SourceUnavailable("", retry_in_seconds))

    def refuses(self) -> None:
        """Refuse the data."""
        self._raise(DataRefused(""))

    def fails_in(self, *ufs: str, error: Exception | None = None) -> None:
        """Fail in these UFs, and find in the others."""

        def say(inquiry: Inquiry) -> Answer:
            if inquiry.uf in ufs:
                raise error or SourceFailed("")
            return self._find(inquiry)

        self._say = say

    def has_a_bug(self, error: Exception) -> None:
        self._raise(error)

    def waits(self) -> None:
        self._admission.clear()

    def answers_now(self) -> None:
        self._admission.set()

    def serves(self, inquiry: Inquiry) -> bool:
        return self.serves_it and (self.reissues or not inquiry.reissue)

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        self.inquiries.append(inquiry)
        at = self.now()
        await self._admission.wait()
        self.answered += 1
        answer = self._say(inquiry)
        if isinstance(answer, Found):
            return Found(answer.record, answer.source, at)
        return answer

    def _find(self, inquiry: Inquiry, record: Record | None = None) -> Found:
        return Found(record or a_record(inquiry), self.name, datetime.fromtimestamp(0, UTC))

    def _raise(self, error: Exception) -> None:
        def say(_: Inquiry) -> Answer:
            raise error

        self._say = say


SourcesOf: TypeAlias = Callable[[FakeSource], Sequence[Source]]


@dataclass(frozen=True, slots=True)
class Client:
    """An account and one of its keys."""

    account_id: int
    key_id: int
    key: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    header_list: Sequence[tuple[str, str]]
    raw: bytes

    @property
    def body(self) -> bytes:
        """The content, unpacked where it came compressed."""
        if self.headers.get("content-encoding") == "gzip":
            return gzip.decompress(self.raw)
        return self.raw

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The internal code of an error."""
        error = self.json.get("error_message")
        return error["code"] if error else None

    @property
    def credits(self) -> int:
        return int(self.headers["x-creditos-cobrados"])


class _Default:
    """The usual client, unlike None: nobody."""


DEFAULT = _Default()
By: TypeAlias = Client | _Default | None


class Service:
    """An open application with its event loop, and the account that asks unless another one does.

    `source`, `sandbox` and `standing` are for services with a fake source: the source of live
    accounts, that of test accounts, and how all sources are said to be.
    """

    client: Client
    application: compose.Application

    def __init__(
        self,
        settings: Settings,
        *,
        mode: Mode,
        clock: Clock,
        transport: httpx2.AsyncBaseTransport | None,
        sources: SourcesOf | None,
        issued: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self.folder = settings.home
        self.mode = mode
        self.issued = issued  # the keys that the first start showed, by account
        self.logged = bytearray()
        self.standing: Standing = "quiet"
        self._clock = clock
        self._transport = transport
        self._sources = sources
        self._open()

    @property
    def desk(self) -> Desk:
        return self.application.desk

    @property
    def front(self) -> Front:
        return self.application.front

    @property
    def parts(self) -> Parts:
        return self.front.parts

    @property
    def clock(self) -> StandingClock:
        """The clock of a service with a fake source."""
        assert isinstance(self._clock, StandingClock)
        return self._clock

    # Accounts and keys.

    def account(
        self,
        name: str,
        *,
        mode: Mode | None = None,
        plan: Plan = "pre_pago",
        credits: int = CREDITS,
        certificates: bool | None = None,
        partner_optin: bool = False,
        ceiling_credits: int | None = None,
        per_minute: int | None = None,
    ) -> Client:
        """Open an account with credits and one key.

        As with the command line, certificates are always part of a prepaid plan.
        """
        if certificates is None:
            certificates = plan == "pre_pago"
        new = NewAccount(
            name, plan, mode or self.mode, certificates, partner_optin, ceiling_credits
        )
        account = self.desk.create_account(new, self._clock.now_ms())
        client = self._issue(account, "teste", per_minute=per_minute)
        if credits:
            self.top_up(client, credits)
        return client

    def another_key(
        self,
        of: Client,
        *,
        expires_in_seconds: int | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
        restrictions: KeyRestrictions | None = None,
    ) -> Client:
        """Issue one more key of the same account."""
        return self._issue(
            self.desk.account(of.account_id),
            "outra",
            expires_ms=expires_in_seconds and self._clock.now_ms() + expires_in_seconds * 1000,
            per_minute=per_minute,
            per_day=per_day,
            restrictions=restrictions,
        )

    def _issue(self, account: Account, name: str, **limits: Any) -> Client:
        home, now_ms = Home(self.folder), self._clock.now_ms()
        text, key = issue_key(self.desk, home, account, name, now_ms, **limits)
        return Client(account.account_id, key.key_id, text)

    def top_up(self, client: Client, credits: int) -> None:
        """Give an account credits."""
        given = TopUp(client.account_id, credits, "teste", self._clock.now_ms())
        assert self.desk.commit_now([given]) is None

    # Requests.

    def get(self, path: str, by: By = DEFAULT, **headers: str) -> Reply:
        """GET as a client; `by=None` sends no key. Header names take `_` for `-`."""
        return self.run(self.aget(path, by, **headers))

    def request(
        self, method: str, path: str, by: By = DEFAULT, *, body: bytes = b"", **headers: str
    ) -> Reply:
        """Send a request of any method."""
        return self.run(self.send(method, path, by, body=body, **headers))

    async def aget(self, path: str, by: By = DEFAULT, **headers: str) -> Reply:
        """GET inside a coroutine."""
        return await self.send("GET", path, by, body=b"", **headers)

    def begin(self, path: str, by: By = DEFAULT, **headers: str) -> "asyncio.Task[Reply]":
        """Start a request inside a coroutine, to be awaited (or cancelled) later."""
        return asyncio.create_task(self.aget(path, by, **headers))

    async def send(
        self, method: str, path: str, by: By = DEFAULT, *, body: bytes = b"", **headers: str
    ) -> Reply:
        """Send a request of any method, inside a coroutine."""
        client = self.client if isinstance(by, _Default) else by
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if client is not None:
            named.setdefault("x-api-key", client.key)
        return await call(self.application.app, method, path, named, body)

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the service's event loop."""
        return self.runner.run(story)

    async def until(self, true: Callable[[], bool]) -> None:
        """Let other tasks go on until a condition holds."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not true():  # noqa: ASYNC110 - what is waited for knows nothing of tests
                await asyncio.sleep(0.001)

    def together(self, *asking: str | tuple[str, Client], held: int, asked: int = 1) -> list[Reply]:
        """Send requests at once, with this many credits held before the source answers any."""
        each = [one if isinstance(one, tuple) else (one, self.client) for one in asking]
        balances = {by.account_id: by for _, by in each}.values()

        async def story() -> list[Reply]:
            self.source.waits()
            tasks = [self.begin(path, by) for path, by in each]
            await self.until(lambda: sum(self.balance(by).held_credits for by in balances) == held)
            await self.until(lambda: self.source.asked >= asked)
            self.source.answers_now()
            return list(await asyncio.gather(*tasks))

        return self.run(story())

    def meanwhile(
        self, path: str, then: str, by: Client | _Default = DEFAULT, **headers: str
    ) -> tuple[Reply, Reply]:
        """Send two requests, the second one while the source keeps the first one waiting."""

        async def story() -> tuple[Reply, Reply]:
            self.source.waits()
            first = self.begin(path, by, **headers)
            await self.until(lambda: self.source.asked == 1)
            second = await self.aget(then, by, **headers)
            self.source.answers_now()
            return await first, second

        return self.run(story())

    def hang_up(self, path: str, *, asked: int = 1, **headers: str) -> None:
        """Cancel a request while the source is asked, and wait until its lookup is over."""

        async def story() -> None:
            self.source.waits()
            task = self.begin(path, self.client, **headers)
            await self.until(lambda: self.source.asked == asked)
            task.cancel()
            await self.until(task.cancelled)
            self.source.answers_now()
            await self.until(lambda: self.balance().held_credits == 0)

        self.run(story())

    def die(self, path: str, *, held: int = 1, **headers: str) -> None:
        """Crash while the source is asked, with this many credits held."""

        async def begin() -> None:
            self.source.waits()
            task = self.begin(path, self.client, **headers)
            await self.until(lambda: self.source.asked >= 1)
            task.cancel()

        self.run(begin())
        assert self.balance().held_credits == held
        self.crash()

    # State.

    def keep(
        self,
        record: Record | None = None,
        *,
        days: float = 0,
        mode: Mode = "live",
        full_partners: bool = False,
        birth: str = BIRTH,
    ) -> None:
        """Put an entry of this age into the cache.

        A CPF's registrations are those of a rural producer; its certificate has a birth date.
        """
        record = record or a_company(nome_empresarial="GUARDADA LTDA")
        match record:
            case Company():
                cnpj = Cnpj.parse(record.cnpj)
                inquiry = Inquiry("company", cnpj, full_partners=full_partners)
            case ZoneRecord():
                inquiry = Inquiry("suframa", Cnpj.parse(record.cnpj))
            case FederalCertificate() if len(record.document) == len(CPF):
                cpf = Cpf.parse(record.document)
                inquiry = Inquiry("federal_certificate", cpf, birth=birth)
            case FederalCertificate():
                inquiry = Inquiry("federal_certificate", Cnpj.parse(record.document))
            case StateCertificate():
                inquiry = Inquiry("state_certificate", Cnpj.parse(record.document), record.uf)
            case LabourCertificate():
                cnpj = Cnpj.parse(record.document)
                inquiry = Inquiry("labour_certificate", cnpj, of_company=True)
            case FgtsRegularity():
                inquiry = Inquiry("fgts_regularity", Cnpj.parse(record.registration))
            case Registrations() if len(record.documento) == len(CPF):
                inquiry = Inquiry("rural_producer", Cpf.parse(record.documento), record.uf)
            case Registrations():
                inquiry = Inquiry("state_registration", Cnpj.parse(record.documento), record.uf)
            case _:
                raise AssertionError(record)
        body = OPERATIONS[inquiry.subject].encode(inquiry, record)
        asked_ms = self.clock() - round(days * DAY_SECONDS * 1000)
        self.parts.environments[mode].cache.keep(
            [(inquiry.cache_key, CacheEntry(body, asked_ms, "fonte"))]
        )

    def kept(self, inquiry: Inquiry, mode: Mode | None = None) -> CacheEntry | None:
        """Return the cache's entry."""
        cache = self.parts.environments[mode or self.mode].cache
        return at_once(cache.read([inquiry.cache_key])).get(inquiry.cache_key)

    def balance(self, of: Client | None = None) -> Account:
        """Return an account's balance and holds."""
        wanted = (of or self.client).account_id
        return next(a for a in self.desk.accounts() if a.account_id == wanted)

    def money(self, of: Client | None = None) -> tuple[int, int]:
        """Return an account's balance and holds, as two numbers."""
        balance = self.balance(of)
        return balance.balance_credits, balance.held_credits

    def charges(self, of: Client | None = None) -> Sequence[LedgerEntry]:
        """Return the entries that took credits."""
        entries = self.desk.entries((of or self.client).account_id, 0, 1 << 60)
        return [entry for entry in entries if entry.kind in ("charge", "post")]

    def events(self) -> Sequence[Any]:
        """Return the request events so far."""
        self.front.request_log.flush()
        return [json.loads(line) for line in self.logged.splitlines()]

    def event(self, request_id: str) -> Any:
        """Return the one event of a request."""
        (found,) = (event for event in self.events() if event["request_id"] == request_id)
        return found

    def circuits(self) -> Mapping[tuple[str, str, str], str]:
        """Return states by source, subject and UF, as the metrics page shows them."""
        page = self.get("/metrics").body.decode()
        found = {}
        for labels in re.findall(r"^balcao_source_circuit\{(.*)\} 1\.0$", page, re.MULTILINE):
            said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            found[said["source"], said["subject"], said["uf"]] = said["state"]
        return found

    def check(self) -> LedgerCheck:
        """Check the ledger."""
        return self.desk.check()

    def work(self, kind: str, about: object) -> None:
        """Do a durable job now, step by step, as its worker would."""
        lifecycle = cast(Lifecycle, cast(MethodType, self.front.start).__self__)
        (found,) = [each for each in lifecycle.worker.kinds if each.name == kind]

        async def done() -> None:
            while await found.work(str(about)) is not None:
                pass

        self.run(done())

    def assert_books_agree(self) -> None:
        """Assert that the ledger check is clean, and that nothing is left open."""
        check = self.check()
        assert not check.complaints
        assert check.open_operations == 0

    # Life.

    def crash(self) -> None:
        """End the process where it stands, and start another one on the same folder."""
        self.runner.close()
        self.application.close()
        self._open()
        self.start()

    def _open(self) -> None:
        self.source = FakeSource(self._clock.now_ms)
        self.sandbox = FakeSource(self._clock.now_ms, "sandbox")
        with ExitStack() as stack:
            stack.enter_context(patch.object(compose, "document_of", api_document))
            stack.enter_context(patch.object(api, "documentation", api_routes))
            if self._sources is not None:
                order: Mapping[Mode, Sequence[Source]] = {
                    "live": self._sources(self.source),
                    "test": [self.sandbox],
                }

                def sources(_: object, mode: Mode, *__: object) -> SourceRouter:
                    return SourceRouter(dict.fromkeys(OPERATIONS, order[mode]))

                def now(
                    _: object, __: Mode, lines: Iterable[SourceLine]
                ) -> Mapping[SourceLine, SourceStatus]:
                    return dict.fromkeys(lines, SourceStatus(self.standing))

                stack.enter_context(patch.multiple(ProviderFactory, sources=sources, now=now))
                stack.enter_context(patch.object(compose, "new_request_ids", lambda _: a_number))
                stack.enter_context(patch.object(compose, "build_site", lambda *_: None))
            self.application = compose.open_application(
                self.settings, clock=self._clock, live_transport=self._transport
            )
        self.front.request_log.write = self.logged.extend
        self.runner = asyncio.Runner()

    def start(self) -> None:
        self.run(_started(self.front))

    def close(self) -> None:
        try:
            self.run(_stopped(self.front))
            self.runner.close()
        finally:
            self.application.close()


@contextmanager
def open_service(
    folder: Path,
    *,
    mode: Mode = "test",
    transport: httpx2.AsyncBaseTransport | None = None,
    sources: SourcesOf | None = None,
    establishments: int = 0,
    deadline: float = 25.0,
    timeout: float | None = None,
    name: str = "ana",
    credits: int = CREDITS,
    clock: Clock | None = None,
    **settings: Any,
) -> Iterator[Service]:
    """Open a service after its first start; `timeout` is one source's while others may follow.

    `transport` is the network of live accounts. `sources` replaces their providers, and leaves the
    first start out. On a folder that had a service before, the account that asks needs another
    `name`.
    """
    configured = Settings.model_construct(
        home=folder,
        sandbox_establishments=establishments,
        source_deadline_seconds=deadline,
        source_timeout_seconds=timeout or deadline,
        log_format="json",
        **{
            "limits_pre_pago": Limits(per_minute=100_000, per_day=1_000_000),
            "disk_reserve_mb": 0,  # a test that fills no disk needs none
            "second_factor": "optional",  # operators sign in by password alone
            "opendata_search": False,  # few search, and an index takes longer than all the rest
            **settings,
        },
    )
    home, issued = Home(folder), []
    if sources is None:
        issued = list(
            first_start.prepare(home, configured, now_ms=system_now_ms, report=lambda _: None)
        )
    service = Service(
        configured,
        mode=mode,
        clock=clock or Clock(),
        transport=transport,
        sources=sources,
        issued={one.account.name: one.key for one in issued},
    )
    try:
        service.client = service.account(name, credits=credits)
        service.start()
        yield service
    finally:
        service.close()


@contextmanager
def open_with_source(
    folder: Path,
    *,
    sources: SourcesOf = lambda fake: [fake],
    deadline: float = 25.0,
    **settings: Any,
) -> Iterator[Service]:
    """Open a service with fake sources, a clock that stands still, and a live account.

    `sources` returns all of them in order, given the one that is `service.source`.
    """
    limits = dict.fromkeys(
        ("limits_gratuito", "limits_pre_pago", "limits_pos_pago"),
        Limits(per_minute=10_000, per_day=100_000),
    )
    home = Home(folder)
    home.create()
    home.secret.write_bytes(PEPPER)
    with open_service(
        folder,
        mode="live",
        sources=sources,
        deadline=deadline,
        credits=1000,
        clock=StandingClock(),
        **{**limits, **settings},
    ) as service:
        yield service


async def _started(front: Front) -> None:
    await front.start()


async def _stopped(front: Front) -> None:
    await front.stop()


def a_number(at_ms: int | None = None) -> str:
    """Return a request's number by the system's clock: the service's may stand still."""
    return str(uuid_utils.uuid7())


_documents: dict[object, Mapping[str, Any]] = {}


def api_document(settings: Settings, operations: Mapping[Subject, Operation]) -> Mapping[str, Any]:
    """Return the OpenAPI document of a service, made once per process for equal settings.

    Making it takes longer than all the rest of opening a service.
    """
    described = tuple((subject, tuple(each.ufs)) for subject, each in operations.items())
    key = (settings.address, settings.public_url, settings.idempotency_hours, described)
    if key not in _documents:
        _documents[key] = document_of(settings, operations)
    return _documents[key]


_routes: dict[int, Sequence[Route]] = {}


def api_routes(document: Mapping[str, Any]) -> Sequence[Route]:
    """Return the route of an `api_document`, which is encoded once."""
    if id(document) not in _routes:
        _routes[id(document)] = documentation(document)
    return _routes[id(document)]


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, as those of SQLite."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("it waits for something")


async def call(
    app: Any, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> Reply:
    """Call an ASGI application as a server would: the path decoded, header names lower case."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in headers.items()
        ],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    assert start["type"] == "http.response.start", "an answer begins with its status"
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
    content = b"".join(message.get("body", b"") for message in rest)
    return Reply(start["status"], dict(pairs), pairs, content)


def assert_refused(answer: Reply, status: int, code: str | None, document: str = "") -> None:
    """Assert that it is an error in the form of all operations (contract 1.1, 1.4, 1.8)."""
    said = answer.json
    assert (answer.status, answer.code, answer.credits) == (status, code, 0), said
    assert said["success"] is False
    assert said["error"] is True
    assert said["message"] == said["error_message"]["message"]
    assert said["request_id"] == answer.headers["x-request-id"]
    if status not in (402, 429):
        assert not re.search("saldo|cr[ée]dito|limite", said["message"], re.IGNORECASE)
    if status in (429, 503):
        assert int(answer.headers["retry-after"]) >= 1
    if document:
        assert said["cpf" if len(document) == 11 else "cnpj"] == document
