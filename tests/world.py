"""A small world for tests: the real desk, cache and front, a clock and a source to play with.

    def test_a_failure_costs_nothing(world: World) -> None:
        world.source.fails()
        answer = world.get(company("90010001000100"))
        assert (answer.status, answer.code) == (500, "ERRO_INTERNO")
        assert world.purse().balance_credits == 1000

`world.get` and its like run the event loop until the answer is there. What happens at once goes
into one coroutine, with `world.aget`: `world.run(story())`.
"""

import asyncio
import gzip
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast
from urllib.parse import unquote

import msgspec
import uuid_utils

from balcao.core.access import Account, KeyDoor, Plan, key_hash, new_key
from balcao.core.availability import Standing
from balcao.core.calendar import civil_day
from balcao.core.certificates import FederalCertificate, StateCertificate, StoredReceipt
from balcao.core.company import Company
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import DataRefused, SourceFailed, SourceUnavailable
from balcao.core.freshness import Kept
from balcao.core.ledger import TopUp
from balcao.core.questions import Inquiry, Mode, Part, Record, Subject
from balcao.core.registration import RegisteredAddress, Registration, Registrations
from balcao.core.suframa import NumberedText, ZoneRecord
from balcao.http.authenticator import Authenticator
from balcao.http.budgets import BudgetPages
from balcao.http.compat_routes import faces
from balcao.http.documentation import document_of, documentation
from balcao.http.front import Front
from balcao.http.health import Probes
from balcao.http.quotes import Quotes
from balcao.http.routes import routes_of
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.context import Environment, Parts
from balcao.lookup.whom import SourceLine, SourceNow
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.operations import OPERATIONS, operations
from balcao.operations.contract import Operation
from balcao.settings import Limits, Settings
from balcao.sources.asking import Source, Sources
from balcao.sources.contract import Absent, Answer, Found
from balcao.storage.contract import LedgerCheck, LedgerEntry, NewAccount, NewKey
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk

T = TypeVar("T")

CNPJ = "90010001000100"
OTHER_CNPJ = "90010002000154"
CPF = "90010000100"
BIRTH = "1980-01-01"
NAME = "EMPRESA FICTICIA LTDA"

# A Wednesday noon in Brasília.
NOW_MS = 1_785_942_000_000
PEPPER = b"p" * 32
DAY_SECONDS = 86_400

MODES: tuple[Mode, ...] = ("live", "test")
ALL_PLANS: tuple[Plan, ...] = ("gratuito", "pre_pago", "pos_pago")


def sintegra(cnpj: str = CNPJ, query: str = "uf=SP") -> str:
    """The address of a lookup of state registrations."""
    return f"/consultas/v2/sintegra/{cnpj}" + (f"?{query}" if query else "")


def producer(cpf: str = CPF, query: str = "uf=SP") -> str:
    """The address of a lookup of a rural producer."""
    return f"/consultas/v2/produtor-rural/{cpf}" + (f"?{query}" if query else "")


def suframa(cnpj: str = CNPJ, query: str = "") -> str:
    """The address of a Suframa lookup."""
    return f"/consultas/v2/suframa/{cnpj}" + (f"?{query}" if query else "")


def company(cnpj: str = CNPJ, query: str = "") -> str:
    """The address of a company registry lookup."""
    return f"/consultas/v2/cnpj-receita-federal/{cnpj}" + (f"?{query}" if query else "")


def federal(query: str = f"cnpj={CNPJ}") -> str:
    """The address of a lookup of a federal certificate."""
    return "/consultas/v2/certidao-negativa-de-debitos-federal" + (f"?{query}" if query else "")


def state(cnpj: str = CNPJ, query: str = "uf=SP") -> str:
    """The address of a lookup of a state certificate."""
    path = f"/consultas/v2/certidao-negativa-de-debitos-estadual/{cnpj}"
    return path + (f"?{query}" if query else "")


def a_company(cnpj: str = CNPJ, **fields: Any) -> Company:
    """A record with what every record has."""
    known = {"nome_empresarial": NAME, "situacao_cadastral": "ATIVA", "uf": "SP"}
    return Company(cnpj=cnpj, **(known | fields))


def a_registration(uf: str = "SP", **fields: Any) -> Registration:
    """An active registration of the usual type."""
    known: dict[str, Any] = {
        "inscricao_estadual": "110042490114",
        "ativa": True,
        "tipo_ie": "IE Normal",
        "situacao_pj": "Sem restrição",
        "data_status": "2015-03-02",
        "updated_at": "2026-08-05 12:00:00",
    }
    return Registration(uf=uf, **(known | fields))


A_PDF = StoredReceipt("a1" * 32, "application/pdf", 48_211)
A_PAGE = StoredReceipt("b2" * 32, "text/html", 9_120)


def a_federal(document: str = CNPJ, **fields: Any) -> FederalCertificate:
    """A CND that is in force for months, counted from `NOW_MS`."""
    known: dict[str, Any] = {
        "kind": "CND",
        "title": "CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS FEDERAIS",
        "code": "A1B2.C3D4.E5F6.0789",
        "name": NAME,
        "status": "Válida",
        "issued_on": "2026-06-20",
        "validity": "2026-12-17",
        "issued": True,
        "rfb_debts": False,
        "pgfn_debts": False,
        "verification_code": "A1B2.C3D4.E5F6.0789",
        "provider_code": 200,
        "provider_billable": True,
        "provider_elapsed_ms": 4210,
        "receipt": A_PDF,
    }
    return FederalCertificate(document=document, **(known | fields))


def a_state(document: str = CNPJ, uf: str = "SP", **fields: Any) -> StateCertificate:
    """A negative certificate that is in force for two months, counted from `NOW_MS`."""
    known: dict[str, Any] = {
        "negative": True,
        "issued": True,
        "code": "C-0001",
        "number": "26080000001-11",
        "fiscal_message": "Não constam pendências.",
        "validity": "2026-10-04",
        "receipt": A_PDF,
    }
    return StateCertificate(document=document, uf=uf, **(known | fields))


AN_ADDRESS = RegisteredAddress(
    logradouro="RUA DAS ACACIAS FICTICIAS",
    numero="100",
    bairro="CENTRO",
    municipio="SAO PAULO",
    codigo_municipio_ibge="3550308",
    uf="SP",
    cep="04000100",
)


def registrations(document: str, uf: str, *those: Registration, **fields: Any) -> Registrations:
    """What a document has in a UF."""
    known = {"nome": NAME, "uf_principal": "SP"}
    return Registrations(documento=document, uf=uf, inscricoes=those, **(known | fields))


def a_record(inquiry: Inquiry) -> Record:
    """What a source that knows everybody says: registrations are in SP alone, with an address
    where one was asked for."""
    document = inquiry.document.text
    match inquiry.subject:
        case "company":
            return a_company(document)
        case "suframa":
            return a_zone_record(document)
        case "federal_certificate":
            return a_federal(document)
        case "state_certificate":
            return a_state(document, inquiry.uf or "")
    those = (a_registration(endereco=AN_ADDRESS if inquiry.addresses else None),)
    return registrations(
        document,
        inquiry.uf or "",
        *(those if inquiry.uf == "SP" else ()),
        com_endereco=inquiry.addresses,
    )


def a_zone_record(cnpj: str = CNPJ, **fields: Any) -> ZoneRecord:
    """A Suframa record with what every record has."""
    known: dict[str, Any] = {
        "inscricao": "200000012",
        "nome": NAME,
        "matriz": True,
        "aprovado": True,
        "status": NumberedText(1, "Ativa"),
    }
    return ZoneRecord(cnpj=cnpj, **(known | fields))


def a_number(at_ms: int | None = None) -> str:
    """A request's number, by the system's clock whatever the world's says."""
    return str(uuid_utils.uuid7())


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, *, seconds: float = 0, days: float = 0) -> None:
        self.now_ms += round((seconds + days * DAY_SECONDS) * 1000)


class FakeSource:
    """An online source in memory. It finds every company until told otherwise.

    `waits()` makes it keep callers waiting until `answers_now()`. `asked` counts the calls,
    `answered` those that got as far as an answer or a failure.
    """

    def __init__(self, clock: Clock, name: str = "fonte") -> None:
        self.name = name
        self.inquiries: list[Inquiry] = []
        self.answered = 0
        self.serves_it = True
        self.reissues = True
        self.parts: frozenset[Part] = frozenset({"types", "addresses"})
        self._clock = clock
        self._admission = asyncio.Event()
        self._admission.set()
        self._say: Callable[[Inquiry], Answer] = self._find

    @property
    def asked(self) -> int:
        return len(self.inquiries)

    def now(self) -> datetime:
        """The world's time, as sources say it."""
        return datetime.fromtimestamp(self._clock() / 1000, UTC)

    def finds(self, record: Record | None = None) -> None:
        """Say that it is there: this record, or one made for the document asked."""
        self._say = lambda inquiry: self._find(inquiry, record)

    def says(self, say: Callable[[Inquiry], Answer]) -> None:
        """Whatever a function says of the inquiry, or raises."""
        self._say = say

    def says_absent(self, *, conclusive: bool = True) -> None:
        self._say = lambda inquiry: Absent(self.name, conclusive=conclusive)

    def fails(self, detail: str = "") -> None:
        self._raise(SourceFailed(detail))

    def is_down(self, retry_in_seconds: int = 30) -> None:
        self._raise(SourceUnavailable("", retry_in_seconds))

    def refuses(self) -> None:
        """Refuse the data as such."""
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
        at = datetime.fromtimestamp(self._clock() / 1000, UTC)
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


@dataclass(frozen=True, slots=True)
class Client:
    """An account and one of its keys."""

    account_id: int
    key_id: int
    key: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. Header names are lower case."""

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
    """ "The usual client", which is not the same as none."""


DEFAULT = _Default()


@dataclass(slots=True)
class World:
    """The composition of `compose`, on a folder of the test's own."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    deadline_seconds: float = 25.0
    requests_max: int = 1024
    account_max: int = 1024
    header_bytes_max: int = 16_384
    limits: Mapping[Plan, Limits] | None = None
    first_sources: Callable[[Clock], Sequence[Source]] = lambda clock: ()
    more_sources: Callable[[Clock], Sequence[Source]] = lambda clock: ()
    source: FakeSource = field(init=False)
    sandbox: FakeSource = field(init=False)  # the source of test accounts
    desk: SqliteDesk = field(init=False)
    caches: Mapping[Mode, SqliteCache] = field(init=False)
    parts: Parts = field(init=False)
    front: Front = field(init=False)
    client: Client = field(init=False)
    standing: Standing = "quiet"  # of all sources
    log_level: str = "info"
    logged: bytearray = field(default_factory=bytearray, init=False)
    _request_log: RequestLog = field(init=False)
    _runner: "asyncio.Runner" = field(init=False)

    def __enter__(self) -> "World":
        self._open()
        self.client = self.account("ana", credits=1000)
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._close()

    # Who calls.

    def account(
        self,
        name: str,
        *,
        plan: Plan = "pre_pago",
        mode: Mode = "live",
        credits: int = 0,
        partner_optin: bool = False,
        certificates: bool = False,
        ceiling_credits: int | None = None,
    ) -> Client:
        """Open an account with credits and one key."""
        account = self.desk.create_account(
            NewAccount(name, plan, mode, certificates, partner_optin, ceiling_credits),
            self.clock(),
        )
        client = self.key(account.account_id, mode=mode)
        if credits:
            self.top_up(client, credits)
        return client

    def top_up(self, client: Client, credits: int) -> None:
        """Give an account credits."""
        top_up = TopUp(client.account_id, credits, "teste", self.clock())
        assert self.desk.commit_now([top_up]) is None

    def key(
        self,
        account_id: int,
        *,
        mode: Mode = "live",
        expires_in_seconds: int | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
        door: KeyDoor | None = None,
    ) -> Client:
        """Issue one more key."""
        key = new_key(mode)
        expires_ms = (
            None if expires_in_seconds is None else self.clock() + expires_in_seconds * 1000
        )
        new = NewKey(
            account_id,
            "teste",
            key[:18],
            key_hash(key, PEPPER),
            expires_ms=expires_ms,
            per_minute=per_minute,
            per_day=per_day,
            door=door,
        )
        issued = self.desk.create_key(new, self.clock())
        return Client(account_id, issued.key_id, key)

    # What they ask.

    def get(self, path: str, by: Client | _Default | None = DEFAULT, **headers: str) -> Reply:
        """GET as a client; `by=None` sends no key. Header names take `_` for `-`."""
        return self.run(self.aget(path, by, **headers))

    async def aget(
        self, path: str, by: Client | _Default | None = DEFAULT, **headers: str
    ) -> Reply:
        """The same, inside a coroutine."""
        return await self.send("GET", path, by, body=b"", **headers)

    def begin(
        self, path: str, by: Client | _Default | None = DEFAULT, **headers: str
    ) -> "asyncio.Task[Reply]":
        """Start a request inside a coroutine, to be awaited (or cancelled) later."""
        return asyncio.create_task(self.aget(path, by, **headers))

    def request(
        self,
        method: str,
        path: str,
        by: Client | _Default | None = DEFAULT,
        *,
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        """Any other method."""
        return self.run(self.send(method, path, by, body=body, **headers))

    async def send(
        self,
        method: str,
        path: str,
        by: Client | _Default | None = DEFAULT,
        *,
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        client = self.client if isinstance(by, _Default) else by
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if client is not None:
            named["x-api-key"] = client.key
        return await call(self.front, method, path, named, body)

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the world's event loop."""
        return self._runner.run(story)

    def together(self, *asking: str | tuple[str, Client], held: int, asked: int = 1) -> list[Reply]:
        """Requests at the same time, with this many credits held before the source answers any."""
        each = [one if isinstance(one, tuple) else (one, self.client) for one in asking]
        purses = {by.account_id: by for _, by in each}.values()

        async def story() -> list[Reply]:
            self.source.waits()
            tasks = [self.begin(path, by) for path, by in each]
            await self.until(lambda: sum(self.purse(by).held_credits for by in purses) == held)
            await self.until(lambda: self.source.asked >= asked)
            self.source.answers_now()
            return list(await asyncio.gather(*tasks))

        return self.run(story())

    def meanwhile(
        self, path: str, then: str, by: Client | _Default = DEFAULT, **headers: str
    ) -> tuple[Reply, Reply]:
        """Two requests, the second one while the source keeps the first one waiting."""

        async def story() -> tuple[Reply, Reply]:
            self.source.waits()
            first = self.begin(path, by, **headers)
            await self.until(lambda: self.source.asked == 1)
            second = await self.aget(then, by, **headers)
            self.source.answers_now()
            return await first, second

        return self.run(story())

    def hang_up(self, path: str, *, asked: int = 1, **headers: str) -> None:
        """The caller goes away while the source is asked; what was begun comes to its end."""

        async def story() -> None:
            self.source.waits()
            task = self.begin(path, self.client, **headers)
            await self.until(lambda: self.source.asked == asked)
            task.cancel()
            await self.until(task.cancelled)
            self.source.answers_now()
            await self.until(lambda: self.purse().held_credits == 0)

        self.run(story())

    def die(self, path: str, *, held: int = 1, **headers: str) -> None:
        """The process dies while the source is asked, with so many credits held."""

        async def begin() -> None:
            self.source.waits()
            task = self.begin(path, self.client, **headers)
            await self.until(lambda: self.source.asked >= 1)
            task.cancel()

        self.run(begin())
        assert self.purse().held_credits == held
        self.crash()

    # What there is.

    def keep(
        self,
        record: Record | None = None,
        *,
        days: float = 0,
        mode: Mode = "live",
        full_partners: bool = False,
        birth: str = BIRTH,
    ) -> None:
        """Put a cache entry of this age in place; a CPF's registrations are a producer's, and its
        certificate goes with a birth date."""
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
            case Registrations() if len(record.documento) == len(CPF):
                inquiry = Inquiry("rural_producer", Cpf.parse(record.documento), record.uf)
            case Registrations():
                inquiry = Inquiry("state_registration", Cnpj.parse(record.documento), record.uf)
            case _:
                raise AssertionError(record)
        body = OPERATIONS[inquiry.subject].encode(inquiry, record)
        asked_ms = self.clock() - round(days * DAY_SECONDS * 1000)
        self.caches[mode].keep([(inquiry.cache_key, Kept(body, asked_ms, "fonte"))])

    def kept(self, cnpj: str = CNPJ, *, full_partners: bool = False) -> Kept | None:
        """The live cache's entry of a company."""
        return self.kept_for(Inquiry("company", Cnpj.parse(cnpj), full_partners=full_partners))

    def kept_for(self, inquiry: Inquiry) -> Kept | None:
        """The live cache's entry of any inquiry."""
        return at_once(self.caches["live"].read([inquiry.cache_key])).get(inquiry.cache_key)

    @staticmethod
    def registrations_of(entry: Kept) -> Registrations:
        """An entry of registrations, read."""
        return msgspec.json.decode(entry.body, type=Registrations)

    def purse(self, of: Client | None = None) -> Account:
        """An account's balance and holds."""
        wanted = (of or self.client).account_id
        return next(a for a in self.desk.accounts() if a.account_id == wanted)

    def charges(self, of: Client | None = None) -> Sequence[LedgerEntry]:
        """The entries that took credits."""
        entries = self.desk.entries((of or self.client).account_id, 0, 1 << 60)
        return [entry for entry in entries if entry.kind in ("charge", "post")]

    def events(self) -> Sequence[Any]:
        """The request events so far."""
        self._request_log.flush()
        return [json.loads(line) for line in self.logged.splitlines()]

    def check(self) -> LedgerCheck:
        """The books, added up again."""
        return self.desk.check()

    async def until(self, true: Callable[[], bool]) -> None:
        """Let the others go on until something is so."""
        async with asyncio.timeout(10):
            while not true():  # noqa: ASYNC110 - what is waited for knows nothing of tests
                await asyncio.sleep(0.001)

    def crash(self) -> None:
        """The process dies where it stands, and another one starts on the same folder."""
        running = list(self.parts.running)
        for task in running:
            task.cancel()

        async def buried() -> None:
            await asyncio.gather(*running, return_exceptions=True)

        self.run(buried())
        self._close()
        self._open()

    def _open(self) -> None:
        self._runner = asyncio.Runner()
        self.desk = SqliteDesk(self.folder / "balcao.db")
        self.caches = {mode: SqliteCache(self.folder / f"cache-{mode}.db") for mode in MODES}
        self.source = FakeSource(self.clock)
        self.sandbox = FakeSource(self.clock, "sandbox")
        first, more = self.first_sources(self.clock), self.more_sources(self.clock)
        everybody = [*first, self.source, *more]
        live = Sources(dict.fromkeys(OPERATIONS, everybody))
        test = Sources(
            {subject: [self.sandbox] for subject in OPERATIONS},
        )
        environments: Mapping[Mode, Environment] = {
            "live": Environment(self.caches["live"], live),
            "test": Environment(self.caches["test"], test),
        }
        self.parts = Parts(
            self.desk,
            environments,
            self.clock,
            idempotency_hours=96,
            deadline_ms=round(1000 * self.deadline_seconds),
            operations=operations(today=lambda: civil_day(self.clock())),
            admission=AdmissionControl(
                self.requests_max, self.account_max, round(self.deadline_seconds) + 1
            ),
        )
        metrics = Metrics()
        self._request_log = RequestLog(as_json=True, level=self.log_level, write=self.logged.extend)
        settings = Settings.model_construct(home=self.folder)
        default = Limits(per_minute=10_000, per_day=100_000)
        limits = dict.fromkeys(ALL_PLANS, default) | dict(self.limits or {})
        self.front = Front(
            parts=self.parts,
            authenticator=Authenticator(self.desk, PEPPER, limits),
            metrics=metrics,
            request_log=self._request_log,
            new_id=a_number,
            beside=[
                *routes_of(Probes(metrics, self.desk, {}, self.clock)),
                *Quotes(self.parts, self._sources_now).routes(),
                *routes_of(BudgetPages(self.parts, a_number)),
                *faces(self.parts.operations["company"], lambda mode, cnpj: None),
                *documentation(api_document(settings, OPERATIONS)),
            ],
            header_bytes_max=self.header_bytes_max,
            start=self._start,
            stop=self._stop,
        )
        self.run(self._start())

    def _sources_now(self, _: Mode, lines: Iterable[SourceLine]) -> Mapping[SourceLine, SourceNow]:
        return dict.fromkeys(lines, SourceNow(self.standing))

    async def _start(self) -> None:
        self.desk.recover(self.clock())

    async def _stop(self) -> None:
        for environment in self.parts.environments.values():
            await environment.sources.close()

    def _close(self) -> None:
        self.run(self._stop())
        self._runner.close()
        self.desk.close()
        for cache in self.caches.values():
            cache.close()


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


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What SQLite does in place: it never waits, so it needs no loop."""
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
