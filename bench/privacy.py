"""Watched people stay private, and an account's lookups change no other account's portfolio.

    .venv/bin/python -m bench privacy                       10,000 lookups, 500 people
    .venv/bin/python -m bench privacy --lookups 500 --people 50

Account A watches people (their rural registrations) and companies, with a webhook and a digest.
Account B looks the same documents up. Fails if A's portfolio changes in any column, or has an
event. Then A looks its people up itself, with changes, and every place that leaves the encrypted
store is searched for their CPFs and birth dates: webhooks, e-mails, the feed, the log, metrics,
and the files of a backup.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from stdnum.br.cnpj import calc_check_digits
from stdnum.br.cpf import _calc_check_digits

from bench.serving import SERVE, account_by_words, balcao, fetch, free_port, settings

CALLERS = 8
MAIL_SECONDS_MAX = 300.0
EMAIL = "ana@exemplo.test"
KNOWN_BEFORE = {
    "uf": "SP", "inscricao": "110042490114", "ativa": True, "situacao_pj": None, "tipo_ie": None,
    "verificado_em": None,
}  # fmt: skip


class Seen:
    """Everything that left the service towards others."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.mails = 0
        self.webhooks = 0

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.texts.append(envelope.content)
        self.mails += 1
        return "250 OK"


@contextlib.contextmanager
def receivers(seen: Seen) -> Iterator[tuple[int, int]]:
    """Run a receiver of webhooks and a mail server; yield their ports."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.texts.append(str(self.headers).encode() + body)
            seen.webhooks += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    mail = Controller(seen, "127.0.0.1", free_port())
    mail.start()
    try:
        yield web.server_port, mail.port
    finally:
        mail.stop()
        web.shutdown()


def people_of(count: int) -> Sequence[tuple[str, str]]:
    """Return CPFs with birth dates, YYYY-MM-DD."""
    bases = (f"{900_400_000 + number * 7:09d}" for number in range(count))
    day = date(1950, 1, 1)
    return [
        (base + _calc_check_digits(base), (day + timedelta(days=17 * number)).isoformat())
        for number, base in enumerate(bases)
    ]


def companies_of(count: int) -> Sequence[str]:
    bases = (f"9001{number:04d}0001" for number in range(100, 100 + count))
    return [base + calc_check_digits(base) for base in bases]


def spellings(cpf: str, birth: str) -> Sequence[bytes]:
    """Return the ways in which a CPF or a birth date may be written, masked forms included."""
    year, month, day = birth.split("-")
    dotted = f"{cpf[:3]}.{cpf[3:6]}.{cpf[6:9]}-{cpf[9:]}"
    texts = (cpf, dotted, f"***.{dotted[4:11]}-**", birth, f"{day}/{month}/{year}")
    return [text.encode() for text in texts]


def send(port: int, key: str, method: str, path: str, body: object) -> dict[str, object]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {"x-api-key": key, "content-type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return dict(json.loads(reply.read()))


def look_up(port: int, key: str, paths: Sequence[str]) -> int:
    """Make these requests; return how many had a result. An absence is an answer as well."""

    def one(path: str) -> int:
        try:
            fetch(port, key, path)
        except urllib.error.HTTPError as error:
            if error.code not in (400, 404):
                raise SystemExit(f"{error.code}: {error.read()[:200]!r}") from error
            return 0
        return 1

    with ThreadPoolExecutor(CALLERS) as pool:
        return sum(pool.map(one, paths))


def standing(home: Path) -> Sequence[object]:
    """Return the rows of portfolios and events."""
    tables = ("wallet_item", "wallet_paper", "wallet_item_paper", "event")
    with contextlib.closing(sqlite3.connect(home / "balcao.db")) as database:
        return [sorted(map(repr, database.execute(f"SELECT * FROM {table}"))) for table in tables]


def paths_of(people: Sequence[tuple[str, str]], companies: Sequence[str]) -> Sequence[str]:
    """Return the lookups of all subjects."""
    online = "cache_strategy=SO_ONLINE"
    return [
        *(f"/consultas/v2/produtor-rural/{cpf}?uf=SP&{online}" for cpf, _ in people),
        *(f"/consultas/v2/cnpj-receita-federal/{cnpj}?{online}" for cnpj in companies),
        *(f"/consultas/v2/sintegra/{cnpj}?uf=SP&{online}" for cnpj in companies),
    ]


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench privacy")
    parser.add_argument("--lookups", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--companies", type=int, default=30)
    chosen = parser.parse_args(words)
    people, companies = people_of(chosen.people), companies_of(chosen.companies)
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, receivers(seen) as (web_port, mail_port):
        home, port, log = Path(folder) / "home", free_port(), Path(folder) / "log"
        env = settings(
            home, port, webhook_private_cidrs="127.0.0.0/8", smtp_host="127.0.0.1",
            smtp_port=str(mail_port), smtp_tls="none", smtp_from="balcao@exemplo.test",
            public_url=f"http://127.0.0.1:{port}",
        )  # fmt: skip
        with log.open("wb") as output:
            service = subprocess.Popen(
                SERVE, env={**os.environ, **env}, stdout=output, stderr=output
            )
            try:
                _wait_until_ready(port)
                _prove(home, port, env, people, companies, chosen.lookups, web_port, seen)
            finally:
                service.terminate()
                service.wait(20)
        seen.texts.append(log.read_bytes())
        balcao(env, "backup", "create")
        files = [file for file in (home / "backups").rglob("*") if file.is_file()]
        assert files, "there is no backup"
        seen.texts += [file.read_bytes() for file in files]
        found = [
            text
            for cpf, birth in people
            for text in spellings(cpf, birth)
            if any(text in place for place in seen.texts[: -len(files)])
        ]
        # A backup has masked CPFs of items, as their pages show them.
        found += [
            text
            for cpf, birth in people
            for text in (cpf.encode(), *spellings(cpf, birth)[1:2], *spellings(cpf, birth)[3:])
            if any(text in place for place in seen.texts[-len(files) :])
        ]
        # The search itself works: companies are named.
        assert any(cnpj.encode() in text for cnpj in companies for text in seen.texts)
    searched = sum(map(len, seen.texts))
    assert not found, f"{len(found)} found, the first is {found[0]!r}"
    print(
        f"{len(people)} people: nothing of them in {seen.webhooks} webhooks, {seen.mails} e-mails,"
        f" feed, log, metrics and {len(files)} files of a backup ({searched:,} bytes)"
    )


def _wait_until_ready(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).close()
            return
        time.sleep(0.2)
    raise SystemExit("the service did not start")


def _prove(  # noqa: PLR0917
    home: Path,
    port: int,
    env: dict[str, str],
    people: Sequence[tuple[str, str]],
    companies: Sequence[str],
    lookups: int,
    web_port: int,
    seen: Seen,
) -> None:
    first, other = account_by_words(env, "a"), account_by_words(env, "b")
    admin = json.loads(balcao(env, "key", "create", "a", "--admin", "--json"))["key"]
    balcao(env, "user", "create", EMAIL, "--name", "Ana", "--account", "a", "--role", "gestor")
    with contextlib.closing(sqlite3.connect(home / "balcao.db", timeout=30)) as database, database:
        ((user_id,),) = database.execute(
            "UPDATE person SET password_hash = 'x' WHERE email = ? RETURNING user_id", (EMAIL,)
        ).fetchall()
    items: list[object] = [
        {"documento": cpf, "data_nascimento": birth, "vigiar": ["produtor:SP", "certidao_federal"]}
        for cpf, birth in people
    ]
    items += [{"documento": cnpj, "vigiar": ["cadastro", "inscricoes:SP"]} for cnpj in companies]
    for some in itertools.batched(items, 1_000) if hasattr(itertools, "batched") else [items]:
        send(port, first, "POST", "/carteira/v1/itens", {"itens": list(some)})
    send(port, admin, "POST", "/webhooks/v1", {"url": f"http://127.0.0.1:{web_port}/a"})
    minute = time.strftime("%H:%M", time.gmtime(time.time() - 3 * 3600 - 60))
    notices = {"resumo_as": minute, "imediatos": "sempre", "pessoas": [user_id]}
    send(port, admin, "PATCH", "/carteira/v1", {"avisos": notices})

    paths = paths_of(people, companies)
    _wait_until_planned(home)  # schedules are written once, without any lookup
    before = standing(home)
    asked = list(itertools.islice(itertools.cycle(paths), lookups))
    answered = look_up(port, other, asked)
    feed = json.loads(fetch(port, first, "/eventos/v1"))["itens"]
    assert standing(home) == before, "another account's lookups changed a portfolio"
    assert not feed, f"another account's lookups made an event: {feed[0]['tipo']}"
    print(f"{lookups:,} lookups of another account ({answered:,} answers): 0 changes, 0 events")

    look_up(port, first, paths)
    _wait_for_reader(home)  # a person is sent what follows
    with contextlib.closing(sqlite3.connect(home / "balcao.db", timeout=30)) as database, database:
        # Another standing than the one that the next answers give.
        database.execute("UPDATE wallet_item SET registrations = ?", (json.dumps([KNOWN_BEFORE]),))
    look_up(port, first, paths)
    asyncio.run(_until_mailed(seen, len(people)))
    cursor = ""
    while True:
        after = f"&depois={cursor}" if cursor else ""
        page = json.loads(fetch(port, first, f"/eventos/v1?limite=1000{after}"))
        seen.texts.append(json.dumps(page).encode())
        if not page["itens"]:
            break
        cursor = page["cursor"]
    seen.texts.append(fetch(port, first, "/carteira/v1/mudancas?limite=1000"))
    seen.texts.append(fetch(port, "", "/metrics"))


def _wait_until_planned(home: Path) -> None:
    until = time.monotonic() + MAIL_SECONDS_MAX
    while time.monotonic() < until:
        with contextlib.closing(sqlite3.connect(home / "balcao.db", timeout=30)) as database:
            ((items, papers),) = database.execute(
                "SELECT (SELECT count(*) FROM wallet_item WHERE recheck_ms = 0),"
                " (SELECT count(*) FROM wallet_paper WHERE next_ms = 0)"
            )
        if not items + papers:
            return
        time.sleep(1)
    raise SystemExit("schedules were not planned")


def _wait_for_reader(home: Path) -> None:
    until = time.monotonic() + MAIL_SECONDS_MAX
    while time.monotonic() < until:
        with contextlib.closing(sqlite3.connect(home / "balcao.db", timeout=30)) as database:
            if database.execute("SELECT 1 FROM event_reader").fetchone():
                return
        time.sleep(1)
    raise SystemExit("nobody is sent e-mails")


async def _until_mailed(seen: Seen, people: int) -> None:
    until = time.monotonic() + MAIL_SECONDS_MAX
    while not seen.mails or seen.webhooks < people:
        if time.monotonic() > until:
            raise SystemExit(f"{seen.mails} e-mails and {seen.webhooks} webhooks arrived")
        await asyncio.sleep(1)
    await asyncio.sleep(5)


if __name__ == "__main__":
    main(sys.argv[1:])
