"""Company search at size: how fast its index is built, how large, and how quick random pages are.

Generates and imports a month (once per working folder), builds its index in a fresh process, then
asks random filters; and compares all that some of them find with a plain scan of the month.

    python -m bench search [--establishments N] [--folder FOLDER] [--asked N] [--compared N]
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from pathlib import Path

from balcao.core.listing import Listed, words_of
from balcao.core.search import Filters, PageEffort, SearchPlace, read_cursor, read_filters, resolved
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import SearchIndex, open_index
from balcao.opendata.search.paging import count, find
from balcao.opendata.snapshot import current_path

TODAY = date(2026, 9, 1)


def drawn_about(record: Listed, other: Listed, drawn: random.Random) -> Mapping[str, str]:
    """Filters that a record fulfils, most of them, with values of another one beside some."""
    known = {
        "uf": (record.uf, other.uf),
        "municipio": (record.city, other.city),
        "cnae": ((record.others or (record.activity,))[-1], other.activity),
        "cnae_principal": (record.activity, other.activity),
        "divisao": (record.activity[:2], other.activity[:2]),
        "natureza": (record.nature, other.nature),
        "situacao": (record.status, other.status),
        "motivo": (record.reason, other.reason),
        "porte": (record.size, other.size),
        "matriz": (str(record.head).lower(),),
        "simples": (str(record.simples).lower(),),
        "mei": (str(record.mei).lower(),),
        "ddd": (*record.area_codes[:1], *other.area_codes[:1]),
        "dominio": (record.domain, other.domain),
        "raiz": (record.cnpj[:8], other.cnpj[:8]),
        "cep": (record.cep[: drawn.randint(5, 8)], other.cep[:5]),
        "aberta_desde": (record.opened or "",),
        "aberta_ate": (drawn.choice([record.opened, other.opened]) or "",),
        "situacao_desde": (record.status_day or "",),
        "situacao_ate": (drawn.choice(["2026-12-31", record.status_day]) or "",),
        "capital_min": (str(abs(record.capital or 0)),),
        "capital_max": (str(abs(max(record.capital or 0, other.capital or 0))),),
        "q": (drawn.choice(list(words_of(record.name)) or [""]),),
    }
    sent = {}
    for name in drawn.sample(sorted(known), drawn.randint(1, 4)):
        if values := [value for value in known[name][: drawn.randint(1, 2)] if value]:
            sent[name] = ",".join(values)
    for since, until in (("aberta_desde", "aberta_ate"), ("situacao_desde", "situacao_ate")):
        if sent.get(since, "") > sent.get(until, "9"):
            del sent[until]
    if float(sent.get("capital_min", 0)) > float(sent.get("capital_max", "inf")):
        del sent["capital_max"]
    if drawn.random() < 0.5:
        sent["pessoas"] = "true"
    return sent if sent.keys() - {"pessoas"} else {"uf": record.uf} | sent


def main(arguments: list[str]) -> None:
    """The command line."""
    if arguments[:1] == ["--one"]:
        print(json.dumps(_one(Path(arguments[1]))))
        return
    parser = argparse.ArgumentParser("python -m bench search")
    parser.add_argument("--establishments", type=int, default=300_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--asked", type=int, default=10_000)
    parser.add_argument("--compared", type=int, default=200)
    chosen = parser.parse_args(arguments)
    if chosen.folder is not None:
        run(chosen.folder, chosen.establishments, chosen.asked, chosen.compared)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), chosen.establishments, chosen.asked, chosen.compared)


def run(workdir: Path, establishments: int, asked: int, compared: int) -> None:
    """Measure and print. Raises `SystemExit` where a search and the scan disagree."""
    store = workdir / f"store-{establishments}"
    if not store.exists():
        month = workdir / f"month-{establishments}"
        generate(month, establishments, seed=1, alphanumeric_share=0.01, workers=2)
        build([month], store, today=TODAY, workers=2)
    for before in store.glob("*.search"):
        before.unlink()
    module = [sys.executable, "-m", "bench.search", "--one", str(store)]
    built = subprocess.run(module, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(built.stdout)
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        drawn = random.Random(1)
        figures |= _asked(index, drawn, asked)
        figures["compared"] = _compared(index, drawn, compared)
    for name, value in figures.items():
        print(f"{name:>24}  {value:,.2f}", flush=True)


def _one(store: Path) -> dict[str, float]:
    began, processor = time.monotonic(), time.process_time()
    path = build_index(store)
    seconds, processor = time.monotonic() - began, time.process_time() - processor
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        rows = index.count
    return {
        "rows": rows,
        "rows_per_second": rows / seconds,
        "rows_per_cpu_second": rows / processor,
        "bytes_per_row": path.stat().st_size / rows,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _drawn(index: SearchIndex, drawn: random.Random) -> Mapping[str, str]:
    one, other = (index.record(drawn.randrange(index.count)) for _ in range(2))
    return drawn_about(one, other, drawn)


def _asked(index: SearchIndex, drawn: random.Random, asked: int) -> dict[str, float]:
    """First pages of 25 and counts, in milliseconds of one thread."""
    pages: list[float] = []
    counts: list[float] = []
    short = 0
    for _ in range(asked):
        filters = read_filters(_drawn(index, drawn).get, TODAY.isoformat())
        filters = _known(filters, index)
        began = time.perf_counter()
        place = read_cursor(None, index.stamp, filters)
        short += find(index, filters, place, 25, PageEffort(), time.monotonic).partial
        pages.append((time.perf_counter() - began) * 1000)
        if len(counts) < asked // 10:
            began = time.perf_counter()
            count(index, filters, PageEffort(), time.monotonic)
            counts.append((time.perf_counter() - began) * 1000)
    figures: dict[str, float] = {"pages": asked, "partial_share": short / asked}
    for name, found in (("page", pages), ("count", counts)):
        cuts = statistics.quantiles(found, n=100)
        for percent in (50, 95, 99):
            figures[f"{name}_ms_p{percent}"] = cuts[percent - 1]
    return figures


def _known(filters: Filters, index: SearchIndex) -> Filters:
    return resolved(filters, index.domains["Municipios"], {})


def _compared(index: SearchIndex, drawn: random.Random, compared: int) -> int:
    """How many filters found, over all of their pages, just what a scan finds."""
    everybody = [index.record(ordinal) for ordinal in range(index.count)]
    for _ in range(compared):
        sent = _drawn(index, drawn)
        filters = _known(read_filters(sent.get, TODAY.isoformat()), index)
        wanted = [record.cnpj for record in everybody if filters.matches(record)]
        found: list[str] = []
        place: SearchPlace | None = SearchPlace("c", 0)
        while place is not None:
            page = find(index, filters, place, 100, PageEffort(), time.monotonic)
            found += [record.cnpj for record in page.records]
            place = page.following
        if found != wanted:
            raise SystemExit(f"search: {sent} finds {len(found)}, a scan {len(wanted)}")
    return compared


if __name__ == "__main__":
    main(sys.argv[1:])
