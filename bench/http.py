"""The hot path over HTTP: metered lookups of every operation against a plain hello on Granian.

    .venv/bin/python -m bench http [--rounds 5] [--seconds 3] [--folder /dev/shm]

Cold: more companies than fit into memory, from the month's finished answers. Hot: 2,000 of them.
Cached: a source's stored answers, of each operation. With new keys: each request has a new
Idempotency-Key; a replay has one whose answer is recorded. Only ratios are meaningful: machine and
load generator are the same for all.
"""

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stdnum.br import cpf

from balcao.core.ledger import Charge, KeepReceipt
from balcao.core.receipts import digest_of
from balcao.home import Home
from balcao.opendata.generator import generate
from balcao.storage.blobs import open_blobs
from balcao.storage.sqlite.desk import SqliteDesk
from bench import naive
from bench.load import (
    ROUNDS,
    SECONDS,
    Side,
    hello,
    machine,
    need_wrk,
    only,
    report,
    script_of,
    take_turns,
)
from bench.serving import (
    PREFIX,
    SERVE,
    balcao,
    companies_elsewhere,
    documents_of,
    fetch,
    free_port,
    open_account,
    running,
    settings,
)

MONTH_ESTABLISHMENTS = 20_000  # more than fit into the memory cache
HOT = 2_000
KEPT = 200  # of each operation
CANDIDATES = 3_000
FEDERAL = "/consultas/v2/certidao-negativa-de-debitos-federal"
STATE = "/consultas/v2/certidao-negativa-de-debitos-estadual/"
ANY_AGE = "cache_strategy=CACHE_SE_EXISTIR"
RECEIPT_BYTES = 100_000
RECEIPT_ID = "0198f2d4-7c1a-8b3e-9f00-5d2c8a41e6b7"


def cacheable() -> dict[str, Iterable[str]]:
    """Return addresses of every operation that the simulated providers may answer, by its name."""
    documents = companies_elsewhere(CANDIDATES)
    people = (each for number in range(CANDIDATES) for each in _person(700_000_000 + number))
    return {
        "company": (f"{PREFIX}{each}?cache_strategy=CACHE_PREFERENCIAL" for each in documents),
        "registrations": (f"/consultas/v2/sintegra/{each}?uf=SP&{ANY_AGE}" for each in documents),
        "producer": (f"/consultas/v2/produtor-rural/{each}?uf=SP&{ANY_AGE}" for each in people),
        "suframa": (f"/consultas/v2/suframa/{each}?{ANY_AGE}" for each in documents),
        "federal certificate": (f"{FEDERAL}?cnpj={each}&{ANY_AGE}" for each in documents),
        "state certificate": (f"{STATE}{each}?uf=SP&{ANY_AGE}" for each in documents),
    }


def _person(nine_digits: int) -> Iterator[str]:
    """Yield the one CPF with these first nine digits."""
    return filter(cpf.is_valid, (f"{nine_digits}{digits:02d}" for digits in range(100)))


def kept(port: int, key: str, paths: Iterable[str], count: int = KEPT) -> list[str]:
    """Return so many of these addresses that are answered from the cache, after requesting them."""
    found: list[str] = []
    for path in paths:
        if "hit" in _cache_status(port, key, path) or "hit" in _cache_status(port, key, path):
            found.append(path)
        if len(found) == count:
            break
    assert found, "the sandbox kept nothing"
    return found


def _cache_status(port: int, key: str, path: str) -> str:
    """Return the header Cache-Status; empty where the answer was no result."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"x-api-key": key})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return str(reply.headers["cache-status"])
    except urllib.error.HTTPError:  # a random document may have debts, or no result
        return ""


def with_new_keys(folder: Path, paths: Sequence[str]) -> Path:
    """Write a script that requests the paths, each time with a new Idempotency-Key."""
    return script_of(folder, f"keyed-{secrets.token_hex(4)}", paths, new_keys=True)


def replays(folder: Path, port: int, key: str, paths: Sequence[str]) -> Path:
    """Have the answer of each path recorded, and write a script that repeats the requests."""
    names = [f"bench-{secrets.token_hex(8)}" for _ in paths]
    for path, each in zip(paths, names, strict=True):
        fetch(port, key, path, **{"idempotency-key": each})
    return script_of(folder, f"replays-{secrets.token_hex(4)}", paths, names)


def put_receipt(home: Path) -> str:
    """Store a receipt of 100 kB for the newest account, as if from a source; return its address."""
    content = b"%PDF-1.7\n" + secrets.token_bytes(RECEIPT_BYTES - 9)
    digest = digest_of(content)
    asyncio.run(open_blobs(Home(home).receipts).put(digest, content))
    desk = SqliteDesk(Home(home).desk)
    now = time.time_ns() // 1_000_000
    account_id = max(account.account_id for account in desk.accounts())
    receipt = KeepReceipt(
        RECEIPT_ID, account_id, "bench", digest, "application/pdf", RECEIPT_BYTES, now
    )
    charge = Charge(account_id, 1, "bench", "bench", 1, "bench", "cache", now)
    assert desk.commit_now([charge, receipt]) is None
    desk.close()
    return f"{FEDERAL}/print/{RECEIPT_ID}"


def run(
    rounds: int = ROUNDS, seconds: int = SECONDS, where: Path | None = None
) -> dict[str, float]:
    """Measure and print; return the medians."""
    need_wrk()
    with tempfile.TemporaryDirectory(dir=where) as temporary:
        folder = Path(temporary)
        home, month = folder / "home", folder / "month"
        port, naive_port = free_port(), free_port()
        env = settings(home, port)
        generate(month, MONTH_ESTABLISHMENTS, seed=7, clean=True)
        with running(SERVE, port, env):
            pass  # the first start, which makes the data folder
        balcao(env, "opendata", "build", str(month), "--sandbox", "--force")
        balcao(env, "opendata", "answers", "--sandbox")
        key = open_account(home)
        receipt = put_receipt(home)
        cold = [PREFIX + document for document in documents_of(month)]
        with running(SERVE, port, env) as pid:
            ours, server = only(pid), [port]
            size = len(fetch(port, key, cold[0]))
            sides = [
                Side("cold", server, script_of(folder, "cold", cold), key, parts=ours, cold=True),
                Side("hot", server, script_of(folder, "hot", cold[:HOT]), key, parts=ours),
            ]
            cached = {name: kept(port, key, paths) for name, paths in cacheable().items()}
            for name, paths in cached.items():
                script = script_of(folder, name, paths)
                sides.append(Side(f"cached {name}", server, script, key, parts=ours))
            good, company = cached["federal certificate"], cached["company"]
            file = script_of(folder, "receipt", [receipt])
            sides += [
                Side("hot, new keys", server, with_new_keys(folder, cold[:HOT]), key, parts=ours),
                Side("hot, replay", server, replays(folder, port, key, cold[:KEPT]), key, 64, ours),
                Side("company, new keys", server, with_new_keys(folder, company), key, 64, ours),
                Side(
                    "certificate, replay", server, replays(folder, port, key, good), key, 64, ours
                ),
                Side("one connection", server, sides[0].script, key, 1, ours, cold=True),
                Side("receipt of 100 kB", server, file, key, parts=ours),
            ]
            engine = naive.open_engine(folder / "naive.db")
            body = json.dumps(json.loads(fetch(port, key, company[0]))["response"])
            documents = [path.partition("?")[0].rpartition("/")[2] for path in company]
            naive.prepare(engine, key, documents, body)
            plain = script_of(folder, "plain", [PREFIX + each for each in documents])
            orm = (sys.executable, "-m", "bench.naive", str(folder / "naive.db"), str(naive_port))
            with (
                hello(size, sides[0].script) as bare,
                hello(RECEIPT_BYTES, file, "hello of 100 kB") as large,
                running(orm, naive_port, {}) as naive_pid,
            ):
                other = Side("naive, an ORM", [naive_port], plain, key, parts=only(naive_pid))
                sides += [large, other, bare]
                take_turns(sides, rounds, seconds)
        print(machine(where))
        title = "python -m bench http   (medians, 64 connections)"
        return report(title, sides, [bare, sides[1]])


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench http")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--folder", type=Path, help="where the data folder should lie")
    given = parser.parse_args(words)
    run(given.rounds, given.seconds, given.folder)


if __name__ == "__main__":
    main(sys.argv[1:])
