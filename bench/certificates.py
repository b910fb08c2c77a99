"""Certificates from outside: cached ones, replays by key, receipts, beside a bare hello.

`python -m bench certificates`. All on the same server; rounds alternate; medians and ratios.
"""

import asyncio
import json
import secrets
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from balcao.core.ledger import Charge, KeepReceipt
from balcao.core.receipts import digest_of
from balcao.home import Home
from balcao.storage.blobs import open_blobs
from balcao.storage.sqlite.desk import SqliteDesk
from bench.http import (
    CONNECTIONS,
    PLENTY,
    Shot,
    companies_elsewhere,
    free_port,
    need_wrk,
    open_account,
    running,
    shoot,
)

ROUNDS = 5
SECONDS = 4
FEDERAL = "/consultas/v2/certidao-negativa-de-debitos-federal"
RECEIPT_BYTES = 100_000
RECEIPT_ID = "0198f2d4-7c1a-8b3e-9f00-5d2c8a41e6b7"


def script_of(folder: Path, name: str, paths: list[str], keys: list[str] | None = None) -> Path:
    """A wrk script that asks for the paths one after another, each with its own key."""
    path = folder / f"{name}.lua"
    listed = ",".join(f'"{each}"' for each in paths)
    named = ",".join(f'"{each}"' for each in keys or [])
    path.write_text(
        f"local d = {{{listed}}}\nlocal k = {{{named}}}\nlocal i = 0\n"
        "request = function()\n  i = i % #d + 1\n"
        "  if k[i] then wrk.headers['idempotency-key'] = k[i] end\n"
        '  return wrk.format("GET", d[i])\nend\n'
    )
    return path


def fetch(port: int, key: str, path: str, **headers: str) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"x-api-key": key, **headers}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return bytes(reply.read())


def put_receipt(home: Path, account_id: int) -> str:
    """A receipt of 100 kB, as if a source had sent it."""
    content = b"%PDF-1.7\n" + secrets.token_bytes(RECEIPT_BYTES - 9)
    digest = digest_of(content)
    asyncio.run(open_blobs(Home(home).receipts).put(digest, content))
    desk = SqliteDesk(Home(home).desk)
    now = time.time_ns() // 1_000_000
    kept = KeepReceipt(
        RECEIPT_ID, account_id, "bench", digest, "application/pdf", RECEIPT_BYTES, now
    )
    charge = Charge(account_id, 1, "bench", "bench", 1, "bench", "cache", now)
    assert desk.commit_now([charge, kept]) is None
    desk.close()
    return f"{FEDERAL}/print/{RECEIPT_ID}"


def run(rounds: int = ROUNDS, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        home = folder / "home"
        port, hello_port, file_port = free_port(), free_port(), free_port()
        env = {
            "BALCAO_HOME": str(home),
            "BALCAO_PORT": str(port),
            "BALCAO_LIMITS_PRE_PAGO": PLENTY,
            "BALCAO_LOG_FORMAT": "json",
            "BALCAO_SANDBOX_ESTABLISHMENTS": "100",
        }
        ours = [sys.executable, "-m", "balcao", "serve"]
        with running(ours, port, env):
            pass  # the first start, which makes the accounts
        key = open_account(home)
        desk = SqliteDesk(Home(home).desk)
        account_id = max(account.account_id for account in desk.accounts())
        desk.close()
        receipt = put_receipt(home, account_id)
        with running(ours, port, env):
            documents = companies_elsewhere(500)
            paths = [f"{FEDERAL}?cnpj={document}" for document in documents]
            good: list[str] = []
            for path in paths:
                try:
                    body = fetch(port, key, path)
                except urllib.error.HTTPError:  # a drawn document may well have debts
                    continue
                if json.loads(body)["print"]:
                    good.append(path)
            size = len(fetch(port, key, good[0]))
            keys = [f"bench-{secrets.token_hex(8)}" for _ in good]
            for path, name in zip(good, keys, strict=True):
                fetch(port, key, path, **{"idempotency-key": name})
            contestants = {
                "hello": (hello_port, script_of(folder, "hello", good)),
                "cached": (port, script_of(folder, "cached", good)),
                "replay": (port, script_of(folder, "replay", good, keys)),
                "file": (file_port, script_of(folder, "file", [receipt])),
                "receipt": (port, script_of(folder, "receipt", [receipt])),
            }
            hello = [sys.executable, "-m", "bench.hello", str(size), str(hello_port)]
            file = [sys.executable, "-m", "bench.hello", str(RECEIPT_BYTES), str(file_port)]
            shots: dict[str, list[Shot]] = {name: [] for name in contestants}
            with running(hello, hello_port, {}), running(file, file_port, {}):
                for number in range(rounds):
                    for name, (at, script) in contestants.items():
                        shots[name].append(shoot(at, key, script, CONNECTIONS, seconds))
                        print(f"  {number + 1}/{rounds} {name}: {shots[name][-1]}", flush=True)
    return report(shots)


def report(shots: dict[str, list[Shot]]) -> dict[str, float]:
    rates = {name: statistics.median(one.per_second for one in of) for name, of in shots.items()}
    print("\npython -m bench certificates   (medians; 64 connections)")
    rows = (
        ("cached federal certificate, metered", "cached", "hello", 0.30),
        ("replay by Idempotency-Key", "replay", "cached", 1.0),
        ("receipt of 100 kB", "receipt", "file", 0.5),
    )
    for what, name, beside, wanted in rows:
        refused = sum(one.refused for one in shots[name])
        p99 = statistics.median(one.p99_ms for one in shots[name])
        print(
            f"  {what:36s} {rates[name]:8.0f}/s  {rates[name] / rates[beside]:5.2f} of {beside}"
            f" (wanted {wanted})  p99 {p99:6.2f} ms  refused {refused}"
        )
    return rates


if __name__ == "__main__":
    run()
