"""A running service, a real browser, and people who use both.

The browser is the system's Chromium; `make test` installs it where it can. Nothing here uses the
network beyond this machine.
"""

import asyncio
import random
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from balcao.accounts.keys import issue_key
from balcao.core.availability import MINUTE_MS, SourceCounts
from balcao.core.ledger import Change, Charge, Origin, TopUp, Trace
from balcao.fiction.digits import cnpj as cnpj_of
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import PATIENCE_SECONDS, Server, free_port, serving
from tests.storage.people import together

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name)) is not None
    ),
    None,
)
NO_BROWSER = "não há Chromium: rode tools/system-packages chromium"

PASSWORD = "uma frase bem comprida"
OPERATOR, MANAGER, CONSULTANT = "olga@balcao.test", "marina@balcao.test", "caio@balcao.test"

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

_DAY_MS = 86_400_000


@dataclass
class Live:
    """A service after its first start, with its browser."""

    server: Server
    home: Home
    browser: Browser
    keys: dict[str, str]  # keys of the first start's accounts, by name
    sessions: dict[str, Any] = field(default_factory=dict)  # cookies, by e-mail

    @property
    def base(self) -> str:
        return self.server.base

    def open_context(
        self, *, dark: bool = False, narrow: bool = False, scripts: bool = True
    ) -> BrowserContext:
        """Open a separate browser context. Any error on a page fails the test."""
        context = self.browser.new_context(
            base_url=self.base,
            viewport=NARROW if narrow else WIDE,  # type: ignore[arg-type]
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            locale="pt-BR",
            timezone_id="America/Sao_Paulo",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        return context

    def sign_in(self, context: BrowserContext, email: str, *, again: bool = False) -> Page:
        """Sign in through the form, as a person does; later with the resulting session."""
        page = context.new_page()
        context.clear_cookies()  # drop an earlier session
        if not again and email in self.sessions:
            context.add_cookies(self.sessions[email])
            page.goto("/app")
            return page
        page.goto("/app/entrar")
        page.get_by_label("E-mail").fill(email)
        page.get_by_label("Senha").fill(PASSWORD)
        page.get_by_role("button", name="Entrar").click()
        page.wait_for_url(re.compile(r"/app(/operador)?$"))
        self.sessions.setdefault(email, context.cookies())
        return page

    def claim(self, link: str, name: str | None = None, email: str = "") -> None:
        """Choose a password by a one-time link."""
        with closing(self.open_context()) as context:
            page = context.new_page()
            page.goto(link)
            if name is not None:
                page.get_by_label("Nome").fill(name)
                page.get_by_label("E-mail").fill(email)
            page.get_by_label("Nova senha").fill(PASSWORD)
            page.get_by_label("Repita a senha").fill(PASSWORD)
            page.get_by_role("button", name="Salvar e entrar").click()
            page.wait_for_url(re.compile(r"/app(/operador)?$"))

    def invite(self, email: str, name: str, role: str, account: str) -> None:
        """Invite a user of an account from the command line."""
        answer = self.cli(
            "user", "create", email, "--name", name, "--account", account, "--role", role
        )
        found = re.search(r"(/app/convite/\S+)", answer)
        assert found, answer
        self.claim(found[1])

    def cli(self, *line: str) -> str:
        """Run a command next to the server."""
        import os
        import subprocess
        import sys

        return subprocess.run(
            [sys.executable, "-m", "balcao", *line],
            env={**os.environ, "BALCAO_HOME": str(self.home.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def get(self, path: str, account: str = "pre-pago") -> httpx2.Response:
        """Make a lookup through the API."""
        key = self.keys[account]
        return httpx2.get(f"{self.base}{path}", headers={"x-api-key": key}, timeout=60)


@contextmanager
def started(folder: Path) -> Iterator[Live]:
    """Start everything: the service, the browser, an operator, a manager and a consultant."""
    assert CHROMIUM is not None, NO_BROWSER
    home = Home(folder / "dados")
    with serving(home.path, free_port()) as server, sync_playwright() as playwright:
        server.wait_until_it_answers()
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--lang=pt-BR"],
        )
        try:
            keys = dict(re.findall(r"^  (\S+) +(balcao_test_\S+)", server.out, re.MULTILINE))
            live = Live(server, home, browser, keys)
            link = re.search(r"(/app/convite/\S+)", server.out)
            assert link, server.out
            live.claim(link[1], "Olga Prado", OPERATOR)
            live.invite(MANAGER, "Marina Duarte", "manager", "pre-pago")
            live.invite(CONSULTANT, "Caio Brandão", "consultant", "pre-pago")
            yield live
        finally:
            browser.close()


def with_a_past(live: Live, account: str = "pre-pago", days: int = 60) -> None:
    """Write two months of requests, so that statements and charts have data."""
    chance = random.Random(20261121)
    now = system_now_ms()
    with closing(SqliteDesk(live.home.desk)) as desk:
        balance = next(each for each in desk.accounts() if each.name == account)
        _, erp = issue_key(desk, live.home, balance, "ERP matriz", now - days * _DAY_MS)
        _, shop = issue_key(desk, live.home, balance, "Loja virtual", now - days * _DAY_MS)
        first = now - days * _DAY_MS
        desk.commit_now([TopUp(balance.account_id, 5_000, "pedido 2026-118", first)])
        changes: list[Change] = []
        for day in range(days):
            weekend = day % 7 in (5, 6)
            for _ in range(chance.randint(1, 4) if weekend else chance.randint(6, 22)):
                at = first + day * _DAY_MS + chance.randint(9, 19) * 3_600_000
                changes += _request(
                    chance, balance.account_id, chance.choice((erp, shop)).key_id, at
                )
        for start in range(0, len(changes), 500):
            desk.commit_now(changes[start : start + 500])


def with_failures(live: Live) -> None:
    """Write hours and days for the status page: well, with failures, down, one open incident."""
    now = system_now_ms()
    failing = range(5, 30)
    rows = [
        *(
            SourceCounts(now - minutes * MINUTE_MS, "state_certificate", uf, "infosimples", 2, 0, 0)
            for minutes in failing
            for uf in ("SP", "MG")
        ),
        *(
            SourceCounts(now - day * _DAY_MS, subject, uf, "infosimples", 40, answered, 0)
            for day in range(1, 80)
            for subject, uf in (("federal_certificate", ""), ("state_certificate", "SP"))
            if (answered := 40 if day % 9 else 30)
        ),
    ]

    def fill() -> None:
        with closing(SqliteDesk(live.home.desk)) as desk:
            asyncio.run(desk.availability.add("test", rows))
            while asyncio.run(desk.availability.follow("test", now)):
                pass

    # In a thread, since the browser has its own loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(fill).result()


_PATHS = (
    ("cnpj-receita-federal", 1, 1, 10),
    ("sintegra", 1, 1, 6),
    ("certidao-negativa-de-debitos-federal", 1, 2, 5),
    ("certidao-negativa-de-debitos-estadual", 1, 2, 3),
    ("suframa", 1, 1, 1),
)


def _request(chance: random.Random, account_id: int, key_id: int, at: int) -> list[Change]:
    path, cached, online, _ = chance.choices(_PATHS, [weight for *_, weight in _PATHS])[0]
    origin: Origin = "cache" if chance.random() < 0.55 else "online"
    credits = cached if origin == "cache" else online
    request_id = f"{at:012x}"[:8] + f"-{chance.randrange(16**4):04x}-7{chance.randrange(16**3):03x}"
    request_id += f"-a{chance.randrange(16**3):03x}-{chance.randrange(16**12):012x}"
    rule = {
        "cnpj-receita-federal": "company/lookup",
        "sintegra": "state_registration/uf",
        "suframa": "suframa/lookup",
        "certidao-negativa-de-debitos-federal": f"federal_certificate/{origin}",
        "certidao-negativa-de-debitos-estadual": f"state_certificate/{origin}",
    }[path]
    document = cnpj_of(f"{chance.randrange(10**8):08d}", "0001")
    trace = Trace(
        request_id, account_id, key_id, None, path, document, None,
        "SP" if "estadual" in path or path == "sintegra" else None, "CACHE_PREFERENCIAL", False,
        None, 200, None, origin, "cnpja", at - 1000, credits, rule, at, at + 180,
    )  # fmt: skip
    charge = Charge(account_id, key_id, request_id, path, credits, rule, origin, at)
    return [together(charge, trace)]
