"""Metered, durable lookups against minha-receita, which answers the same companies for free.

    .venv/bin/python -m bench peer --prepare --folder FOLDER       the month and our data folder
    .venv/bin/python -m bench peer --peer http://127.0.0.1:PORT --folder FOLDER [--database PORT]

Both import the month's zips in `FOLDER/month`; see `docs/peer.md` for the peer. Both answer the
same 20,000 companies in the same order, over 64 connections and over one, in turns. Ours is on the
disk of `FOLDER` and, as a copy, in memory (/dev/shm), where a flush is free: not durable, but it
shows the limit of the processor. The peer checks no key, enforces no limit, charges nothing and
keeps no trace.
"""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from balcao.opendata.generator import generate
from bench.http import KEPT, replays, with_new_keys
from bench.load import (
    ROUNDS,
    SECONDS,
    Side,
    family,
    hello,
    listener,
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
    account_by_words,
    balcao,
    documents_of,
    fetch,
    free_port,
    running,
    settings,
)

ESTABLISHMENTS = 300_000
ASKED = 20_000
COMPARED = 50
MEMORY = Path("/dev/shm")
ONLY_THE_MONTH = {"company_sources": '["snapshot"]'}
HOW = "bench peer: no address of a minha-receita (--peer), skipped; docs/peer.md tells how"


def prepare(folder: Path, establishments: int) -> str:
    """Prepare the month, and our data folder with its finished answers; return its account's key.

    Existing files are reused.
    """
    month, home, key = folder / "month", folder / "home", folder / "key"
    if not month.exists():
        generate(month, establishments, seed=11, clean=True, workers=2)
    env = settings(home, free_port())
    if not key.exists():
        with running(SERVE, int(env["BALCAO_PORT"]), env):
            pass  # the first start, which makes the data folder
        balcao(env, "opendata", "build", str(month), "--force")
        key.write_text(account_by_words(env, "bench", live=True))
    balcao(env, "opendata", "answers")
    return key.read_text()


@contextlib.contextmanager
def ours(
    name: str, home: Path, key: str, script: Path, paths: Sequence[str]
) -> Iterator[list[Side]]:
    """Serve this data folder, as several sides; the last one has one connection, the others 64."""
    port, folder = free_port(), script.parent
    with running(SERVE, port, settings(home, port, **ONLY_THE_MONTH)) as pid:
        new = with_new_keys(folder, paths)
        again = replays(folder, port, key, paths[:KEPT])
        yield [
            Side(f"ours {name}", [port], script, key, parts=only(pid), cold=True),
            Side(f"ours {name}, new keys", [port], new, key, parts=only(pid), cold=True),
            Side(f"ours {name}, replay", [port], again, key, parts=only(pid)),
            Side(f"ours {name}, one connection", [port], script, key, 1, only(pid), cold=True),
        ]


def theirs(address: str, database: int | None, script: Path) -> list[Side]:
    """Return the peer as two sides, with the processor time of it and its database together."""
    url = urlsplit(address)
    if url.hostname != "127.0.0.1" or url.port is None:
        raise SystemExit("bench peer: the peer must be on this machine: http://127.0.0.1:PORT")
    ports = [url.port, *([] if database is None else [database])]
    heads = [pid for port in ports if (pid := listener(port)) is not None]
    parts = {"cpu": lambda: [pid for head in heads for pid in family(head)]}
    return [
        Side("peer", [url.port], script, parts=parts, cold=True),
        Side("peer, one connection", [url.port], script, connections=1, parts=parts, cold=True),
    ]


def same_companies(side: Side, peer: Side, documents: Sequence[str]) -> None:
    """Check that both describe the same companies (we mask the CPF in a sole trader's name)."""
    for document in documents:
        our = json.loads(fetch(side.ports[0], side.key, PREFIX + document))["response"]
        their = json.loads(fetch(peer.ports[0], "-", f"/{document}"))
        assert our["cep"] == their["cep"], (our, their)


def run(
    folder: Path,
    peer: str,
    database: int | None,
    establishments: int = ESTABLISHMENTS,
    *,
    rounds: int = ROUNDS,
    seconds: int = SECONDS,
) -> dict[str, float]:
    """Measure and print; return the medians."""
    need_wrk()
    key = prepare(folder, establishments)
    documents = documents_of(folder / "month")[:ASKED]
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as open_:
        scripts = Path(temporary)
        paths = [PREFIX + each for each in documents]
        script = script_of(scripts, "ours", paths)
        others = theirs(peer, database, script_of(scripts, "peer", [f"/{d}" for d in documents]))
        places = [open_.enter_context(ours("on disk", folder / "home", key, script, paths))]
        if MEMORY.is_dir():
            copy = Path(open_.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)))
            shutil.copytree(folder / "home", copy / "home", ignore=_no_locks)
            memory = ours("in memory", copy / "home", key, script, paths)
            places.append(open_.enter_context(memory))
        plain = places[0][0]
        same_companies(plain, others[0], documents[:COMPARED])
        size = len(fetch(plain.ports[0], key, paths[0]))
        bare = open_.enter_context(hello(size, script))
        many = [*(side for sides in places for side in sides[:-1]), others[0], bare]
        one = [*(sides[-1] for sides in places), others[1]]
        take_turns([*many, *one], rounds, seconds)
    print(machine(folder))
    title = f"python -m bench peer   (medians; {ASKED:,} companies of {establishments:,}, cold)"
    figures = report(f"{title}, 64 connections", many, [others[0], plain, bare])
    return figures | report(f"{title}, one connection", one, [others[1]])


def _no_locks(folder: str, names: list[str]) -> list[str]:
    """Return the lock files of a running server, which a copy must omit."""
    return [name for name in names if (Path(folder) / name).is_socket() or name.endswith(".lock")]


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench peer")
    parser.add_argument("--peer", help="address of a minha-receita on this machine")
    parser.add_argument("--database", type=int, help="the port of its PostgreSQL, for its cost")
    parser.add_argument("--folder", type=Path, help="what was prepared; kept")
    parser.add_argument("--prepare", action="store_true", help="only what both are to answer from")
    parser.add_argument("--establishments", type=int, default=ESTABLISHMENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    given = parser.parse_args(words)
    if given.folder is None or not (given.peer or given.prepare):
        print(HOW)
        return
    if given.prepare:
        prepare(given.folder, given.establishments)
        print(f"{given.folder / 'month'}: for both; {given.folder / 'home'}: ours")
        return
    run(
        given.folder,
        given.peer,
        given.database,
        given.establishments,
        rounds=given.rounds,
        seconds=given.seconds,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
