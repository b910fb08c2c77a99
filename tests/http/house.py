"""The whole for tests: `compose.open_application` on a folder of the test's own, and who calls it.

    with opened(tmp_path) as house:
        answer = house.get(sintegra("90010001000100"))

Real here: the front, the desk, the caches, all adapters and the simulated providers. A live
account is answered by a `Wire`, which stands where the network would be.
"""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import httpx2
from pydantic import SecretStr

from balcao.accounts.keys import issue_key
from balcao.core.access import Account, KeyDoor, Plan
from balcao.core.freshness import Kept
from balcao.core.ledger import TopUp
from balcao.core.questions import Inquiry, Mode
from balcao.home import Home
from balcao.providers.serpro.settings import SerproSettings
from balcao.providers.simulation.app import create_app
from balcao.service import compose, first_start
from balcao.service.clock import Clock, system_now_ms
from balcao.settings import Limits, Settings
from balcao.storage.contract import LedgerEntry, NewAccount
from tests.world import Client, Reply, api_document, at_once, call

T = TypeVar("T")

CREDITS = 100_000

# The contract's list: what BR stands for.
ALL_UFS = (
    *("AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA"),
    *("PB", "PE", "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO"),
)

FEDERAL = "/consultas/v2/certidao-negativa-de-debitos-federal"
STATE = "/consultas/v2/certidao-negativa-de-debitos-estadual"

# Where live accounts' providers are said to be; `Wire` is what answers there.
PROVIDERS = "http://provedores.invalid"

# SERPRO there, with its certificates.
SERPRO = SerproSettings(
    url=f"{PROVIDERS}/serpro",
    consumer_key=SecretStr("chave"),
    consumer_secret=SecretStr("segredo"),
    cnd=True,
)

# Companies about which every source of the sandbox fails, and what is then answered.
FAILING = {
    "90020001000190": (503, "SERVICO_INDISPONIVEL"),
    "90020003000180": (500, "ERRO_INTERNO"),
    "90020004000124": (500, "ERRO_INTERNO"),
    "90020005000179": (500, "ERRO_INTERNO"),
    "90020009000157": (500, "ERRO_INTERNO"),
    "90020010000181": (500, "ERRO_INTERNO"),
}

# However busy the machine is. Nothing waits this long when all is well.
PATIENCE_SECONDS = 120


def federal(document: str, query: str = "", birth: str = "19800101") -> str:
    """The address of a lookup of a federal certificate, by CNPJ or by CPF."""
    who = f"cpf={document}&data_nascimento={birth}" if len(document) == 11 else f"cnpj={document}"
    return f"{FEDERAL}?{who}" + (f"&{query}" if query else "")


def state(cnpj: str, uf: str = "SP", query: str = "") -> str:
    """The address of a lookup of a state certificate."""
    return f"{STATE}/{cnpj}?uf={uf}" + (f"&{query}" if query else "")


@dataclass
class OpenHouse:
    """A house with its event loop, and the account that asks unless another one does."""

    house: compose.Application
    runner: asyncio.Runner
    logged: bytearray
    issued: Mapping[str, str]  # the keys that the first start showed, by account
    client: Client = field(init=False)

    def account(
        self,
        name: str,
        *,
        mode: Mode = "test",
        plan: Plan = "pre_pago",
        credits: int = CREDITS,
        ceiling_credits: int | None = None,
        per_minute: int | None = None,
        partner_optin: bool = False,
    ) -> Client:
        """Open an account with credits and one key."""
        desk, now_ms = self.house.desk, system_now_ms()
        # As the command line does: certificates are always part of a prepaid plan.
        new = NewAccount(
            name,
            plan,
            mode,
            certificates=plan == "pre_pago",
            partner_optin=partner_optin,
            ceiling_credits=ceiling_credits,
        )
        account = desk.create_account(new, now_ms)
        if credits:
            self._top_up(account.account_id, credits)
        home = Home(self.house.settings.home)
        text, key = issue_key(desk, home, account, "teste", now_ms, per_minute=per_minute)
        return Client(account.account_id, key.key_id, text)

    def another_key(
        self, of: Client, *, client_required: bool = False, administers: bool = False
    ) -> Client:
        """One more key of the same account."""
        desk, home = self.house.desk, Home(self.house.settings.home)
        account = desk.account(of.account_id)
        door = KeyDoor(client_required=client_required, administers=administers)
        text, key = issue_key(desk, home, account, "outra", system_now_ms(), door=door)
        return Client(of.account_id, key.key_id, text)

    def top_up(self, client: Client, credits: int) -> None:
        """Give an account credits."""
        self._top_up(client.account_id, credits)

    def _top_up(self, account_id: int, credits: int) -> None:
        given = TopUp(account_id, credits, "teste", system_now_ms())
        assert self.house.desk.commit_now([given]) is None

    def get(self, path: str, by: Client | None = None, **headers: str) -> Reply:
        """GET as a client. Header names take `_` for `-`."""
        return self.run(self.aget(path, by, **headers))

    async def aget(self, path: str, by: Client | None = None, **headers: str) -> Reply:
        """The same, inside a coroutine."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await call(
            self.house.app, "GET", path, {"x-api-key": (by or self.client).key, **named}
        )

    def send(self, method: str, path: str, by: Client | None = None, **headers: str) -> Reply:
        """Any method, and without a key unless somebody is named."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if by is not None:
            named["x-api-key"] = by.key
        return self.run(call(self.house.app, method, path, named))

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the house's event loop."""
        return self.runner.run(story)

    async def until(self, true: Callable[[], bool]) -> None:
        """Let the others go on until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not true():  # noqa: ASYNC110 - what is waited for knows nothing of tests
                await asyncio.sleep(0.001)

    def purse(self, of: Client | None = None) -> Account:
        """An account's balance and holds."""
        wanted = (of or self.client).account_id
        return next(a for a in self.house.desk.accounts() if a.account_id == wanted)

    def money(self, of: Client | None = None) -> tuple[int, int]:
        """Balance and holds."""
        purse = self.purse(of)
        return purse.balance_credits, purse.held_credits

    def charges(self, of: Client | None = None) -> Sequence[LedgerEntry]:
        """The entries that took credits."""
        entries = self.house.desk.entries((of or self.client).account_id, 0, 1 << 60)
        return [entry for entry in entries if entry.kind in ("charge", "post")]

    def kept(self, inquiry: Inquiry, mode: Mode = "test") -> Kept | None:
        """The cache's entry."""
        cache = self.house.front.parts.environments[mode].cache
        return at_once(cache.read([inquiry.cache_key])).get(inquiry.cache_key)

    def event(self, request_id: str) -> Any:
        """The one event of a request."""
        self.house.front.request_log.flush()
        lines = [json.loads(line) for line in self.logged.splitlines()]
        (found,) = (line for line in lines if line["request_id"] == request_id)
        return found

    def circuits(self) -> Mapping[tuple[str, str, str], str]:
        """State by source, subject and UF, as the measurements page tells it."""
        page = self.get("/metrics").body.decode()
        found = {}
        for labels in re.findall(r"^balcao_source_circuit\{(.*)\} 1\.0$", page, re.MULTILINE):
            said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            found[said["source"], said["subject"], said["uf"]] = said["state"]
        return found

    def assert_books_agree(self) -> None:
        """The ledger check is clean, and nothing is left open."""
        check = self.house.desk.check()
        assert not check.complaints
        assert check.open_operations == 0


@contextmanager
def opened(
    folder: Path,
    *,
    mode: Mode = "test",
    wire: httpx2.AsyncBaseTransport | None = None,
    establishments: int = 0,
    deadline: float = 25.0,
    timeout: float | None = None,
    name: str = "ana",
    clock: Clock | None = None,
    **settings: Any,
) -> Iterator[OpenHouse]:
    """Open a house after its first start; `timeout` is one source's while others may follow.

    On a folder that had a house before, the account that asks needs another `name`.
    """
    configured = Settings.model_construct(
        home=folder,
        sandbox_establishments=establishments,
        source_deadline_seconds=deadline,
        source_timeout_seconds=timeout or deadline,
        log_format="json",
        **{
            "limits_pre_pago": Limits(per_minute=100_000, per_day=1_000_000),
            "ballast_mb": 0,  # a test that fills no disk needs none
            "opendata_search": False,  # few search, and an index takes longer than all the rest
            **settings,
        },
    )
    issued = first_start.prepare(Home(folder), configured, now_ms=system_now_ms, say=lambda _: None)
    with patch.object(compose, "document_of", api_document):
        house = compose.open_application(configured, clock=clock, live_transport=wire)
    logged = bytearray()
    house.front.request_log.write = logged.extend
    try:
        with asyncio.Runner() as runner:
            here = OpenHouse(house, runner, logged, {one.account.name: one.key for one in issued})
            here.client = here.account(name, mode=mode)
            here.run(_started(house))
            try:
                yield here
            finally:
                here.run(_stopped(house))
    finally:
        house.close()


async def _started(house: compose.Application) -> None:
    await house.front.start()


async def _stopped(house: compose.Application) -> None:
    await house.front.stop()


@dataclass(frozen=True)
class Sent:
    """One request to a provider: which, about which UF (as the provider is told)."""

    provider: str
    uf: str


@dataclass
class Wire(httpx2.AsyncBaseTransport):
    """The network between a live account's house and its providers, who are simulated.

    `black_holes` take questions and never answer: a UF's treasury, or a whole provider (`cnpja`).
    `hold` keeps every question until `release`. `sent` counts what really goes out.
    """

    black_holes: Collection[str] = ()
    sent: list[Sent] = field(default_factory=list)
    ended: list[Sent] = field(default_factory=list)  # in the order in which they were over
    _simulator: httpx2.AsyncBaseTransport = field(
        default_factory=lambda: httpx2.ASGITransport(app=create_app())
    )
    _open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._open.set()

    def hold(self) -> None:
        """Keep everybody waiting."""
        self._open.clear()

    def release(self) -> None:
        """Let those who wait through, and everybody after them."""
        self._open.set()

    def count(self, provider: str, uf: str | None = None) -> int:
        """How many requests went to a provider, about one UF or at all."""
        return sum(s.provider == provider and uf in (None, s.uf) for s in self.sent)

    def forget(self) -> None:
        """Count anew."""
        self.sent.clear()
        self.ended.clear()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        provider = request.url.path.split("/")[1]
        named = re.search(rb"<UF>(..)</UF>", body)
        uf = named[1].decode() if named else request.url.params.get("states", "")
        sent = Sent(provider, uf)
        self.sent.append(sent)
        try:
            await self._open.wait()
            if provider in self.black_holes or (provider == "sefaz" and uf in self.black_holes):
                await asyncio.Event().wait()
            if provider == "sefaz" and uf == "MA":
                return await self._maranhao(request, body)
            return await self._simulator.handle_async_request(request)
        finally:
            self.ended.append(sent)

    async def _maranhao(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        """MA has no such service; here its neighbour answers in its name."""
        asked = httpx2.Request(
            "POST",
            f"{PROVIDERS}/sefaz/ws/cadconsultacadastro/cadconsultacadastro4.asmx",
            headers={"content-type": request.headers["content-type"]},
            content=body.replace(b"<UF>MA</UF>", b"<UF>PI</UF>"),
        )
        said = await self._simulator.handle_async_request(asked)
        content = (await said.aread()).replace(b"<UF>PI</UF>", b"<UF>MA</UF>")
        kind = said.headers["content-type"]
        return httpx2.Response(said.status_code, headers={"content-type": kind}, content=content)


# The address that makes MA a treasury like the others; `Sefaz.url` moves it to `PROVIDERS`.
MARANHAO: Mapping[str, str] = {"MA": "https://maranhao.invalid/ws/CadConsultaCadastro4"}


def assert_refused(answer: Reply, status: int, code: str | None, document: str = "") -> None:
    """An error in the form that all of these operations share (decisions 1.1, 1.4, 1.8)."""
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
