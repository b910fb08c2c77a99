"""Company search at full size: time, size and memory of its index, and speed of random pages.

Generates and imports a month (once per working folder), builds its index in a fresh process, then
measures the private memory of a process that searches, each filter alone, random combinations,
counts, and partners. At the end it compares random filters
with a scan of the month: first pages and completeness of the index, and for some filters every
page. Searches are timed by processor time, which other load affects less.

    python -m bench search [--establishments N] [--folder FOLDER] [--asked N] [--agreed N]
        [--compared N]
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
from array import array
from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np

from balcao.core.search import (
    COUNT_EFFORT,
    COUNT_MAX,
    Filters,
    PageEffort,
    SearchPlace,
    read_cursor,
    read_filters,
    read_partner,
    resolved,
)
from balcao.core.search_record import CODED, SearchRecord, document_token
from balcao.core.words import words_of
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import SearchIndex, open_index
from balcao.opendata.search.paging import count, find, find_partners
from balcao.opendata.snapshot import current_path

TODAY = date(2026, 9, 1)
_WORKERS = 2
_ALONE_MIN = 100
_FIRST_FOUND = 300
_SEARCHES_FOR_MEMORY = 1_000
_PLENTY = PageEffort(1 << 40, float("inf"))


_Values = Mapping[str, Sequence[str]]


def _values_about(record: SearchRecord, other: SearchRecord, drawn: random.Random) -> _Values:
    """Return values for each filter: first the record's, then perhaps another's."""
    return {
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


def drawn_about(
    record: SearchRecord, other: SearchRecord, drawn: random.Random
) -> Mapping[str, str]:
    """Return random filters that mostly match a record, some with another record's values added."""
    known = _values_about(record, other, drawn)
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
    """Parse the command line and run."""
    if arguments[:1] == ["--one"]:
        print(json.dumps(_one(Path(arguments[1]))))
        return
    if arguments[:1] == ["--memory"]:
        print(json.dumps(_memory(Path(arguments[1]), int(arguments[2]))))
        return
    parser = argparse.ArgumentParser("python -m bench search")
    parser.add_argument("--establishments", type=int, default=300_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--asked", type=int, default=10_000)
    parser.add_argument("--agreed", type=int, default=1_000)
    parser.add_argument("--compared", type=int, default=100)
    chosen = parser.parse_args(arguments)
    if chosen.folder is not None:
        run(chosen.folder, chosen.establishments, chosen.asked, (chosen.agreed, chosen.compared))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), chosen.establishments, chosen.asked, (chosen.agreed, chosen.compared))


def run(workdir: Path, establishments: int, searches: int, compared: tuple[int, int]) -> None:
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
    _print(figures)
    module = [*module[:-2], "--memory", str(store), str(min(searches, _SEARCHES_FOR_MEMORY))]
    measured = subprocess.run(module, check=True, capture_output=True, text=True)
    _print(json.loads(measured.stdout))
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        drawn = random.Random(1)
        _print(timed(index, drawn, searches))
        if any(compared):
            scan = Scan(index)
            _print({"agreed": _agreed(index, scan, drawn, compared[0])})
            _print({"compared": _compared(index, scan, drawn, compared[1])})


def _print(figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        print(f"{name:>24}  {value:,.2f}", flush=True)


def _one(store: Path) -> dict[str, float]:
    began = time.monotonic()
    path = build_index(store, workers=_WORKERS)
    seconds = time.monotonic() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(each.ru_utime + each.ru_stime for each in used)
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        rows = index.count
    own, of_worker = (each.ru_maxrss / 1024 for each in used)
    return {
        "rows": rows,
        "rows_per_second": rows / seconds,
        "cpu_us_per_row": processor / rows * 1e6,
        "bytes_per_row": path.stat().st_size / rows,
        "month_bytes_per_row": current_path(store).stat().st_size / rows,
        "peak_rss_mb": own + _WORKERS * of_worker,
    }


def _memory(store: Path, searches: int) -> dict[str, float]:
    """Return the greatest private memory during searches and counts, beyond an idle process's.

    Pages of the mapped files that no other process has count as private, too.
    """
    idle, most = _private_mb(), 0.0
    drawn = random.Random(1)
    with closing(open_index(current_path(store))) as index, closing(index.snapshot):
        for _ in range(searches):
            filters = _known(read_filters(_drawn(index, drawn).get, TODAY.isoformat()), index)
            place = read_cursor(None, index.stamp, filters)
            find(index, filters, place, 25, PageEffort(), time.process_time)
            count(index, filters, COUNT_EFFORT, time.process_time)
            most = max(most, _private_mb())
    return {"private_mb": most - idle}


def _private_mb() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    sizes = {line.split()[0]: line.split()[1] for line in lines[1:]}
    return (int(sizes["Private_Clean:"]) + int(sizes["Private_Dirty:"])) / 1024


def _drawn(index: SearchIndex, drawn: random.Random) -> Mapping[str, str]:
    one, other = (index.record(drawn.randrange(index.count)) for _ in range(2))
    return drawn_about(one, other, drawn)


def timed(index: SearchIndex, drawn: random.Random, searches: int) -> dict[str, float]:
    """Time first pages of 25, counts and partners, in milliseconds of processor time."""
    figures: dict[str, float] = {}
    # Each filter alone, then combinations.
    for name in _values_about(index.record(0), index.record(0), drawn):
        sent: list[Mapping[str, str]] = []
        while len(sent) < max(_ALONE_MIN, searches // 50):
            one, other = (index.record(drawn.randrange(index.count)) for _ in range(2))
            if value := "".join(_values_about(one, other, drawn)[name][:1]):
                sent.append({name: value, "pessoas": "true"})
        pages, partial = _timed_pages(index, sent)
        figures |= _cuts(name, pages) | ({f"{name}_partial": partial} if partial else {})
    together = [_drawn(index, drawn) for _ in range(searches)]
    pages, figures["partial_share"] = _timed_pages(index, together)
    figures |= _cuts("page", pages)
    counts, cut = [], 0
    for each in together[: searches // 10]:
        filters = _known(read_filters(each.get, TODAY.isoformat()), index)
        began = time.process_time()
        hits = count(index, filters, COUNT_EFFORT, time.process_time)
        counts.append((time.process_time() - began) * 1000)
        cut += not hits.exact and hits.total < COUNT_MAX
    figures["count_cut_share"] = cut / len(counts)
    partners: list[float] = []
    while len(partners) < searches // 10:
        for partner in index.partners_of(drawn.randrange(index.count))[:1]:
            if drawn.random() < 0.5:
                published = {"nome": " ".join(words_of(partner.name)[:4])}
            elif document_token(partner.document) is not None:
                published = {"documento": partner.document}
            else:
                continue
            of = read_partner(published.get)
            began = time.process_time()
            find_partners(index, of, 25, PageEffort(), time.process_time)
            partners.append((time.process_time() - began) * 1000)
    return figures | _cuts("count", counts) | _cuts("partner", partners)


def _timed_pages(
    index: SearchIndex, searches: Sequence[Mapping[str, str]]
) -> tuple[Sequence[float], float]:
    """Return the time of each first page, and the share of partial ones."""
    pages, short = [], 0
    for sent in searches:
        filters = _known(read_filters(sent.get, TODAY.isoformat()), index)
        place = read_cursor(None, index.stamp, filters)
        began = time.process_time()
        short += find(index, filters, place, 25, PageEffort(), time.process_time).partial
        pages.append((time.process_time() - began) * 1000)
    return pages, short / len(searches)


def _cuts(name: str, times: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100)
    return {f"{name}_ms_p{percent}": cuts[percent - 1] for percent in (50, 95, 99)}


def _known(filters: Filters, index: SearchIndex) -> Filters:
    return resolved(filters, index.domains["Municipios"], {}, index.domains["Cnaes"])


class Scan:
    """Every record of a month, read without its index, with columns that narrow the candidates."""

    def __init__(self, index: SearchIndex) -> None:
        self.records = [index.record(ordinal) for ordinal in range(index.count)]
        self._having: dict[tuple[str, str], array[int]] = {}
        for ordinal, record in enumerate(self.records):
            marks = [(name, value) for name, known in CODED.items() for value in known.of(record)]
            marks += [("raiz", record.cnpj[:8]), ("cep", record.cep[:5])]
            marks += [("q", word) for each in _names(record) for word in words_of(each)]
            for mark in {*marks}:
                self._having.setdefault(mark, array("I")).append(ordinal)
        self._days = {
            name: np.array([read(record) or "" for record in self.records], "U10")
            for name, read in (("opened", _opened), ("status_day", _status_day))
        }
        self._capital = np.array(
            [float("nan" if record.capital is None else record.capital) for record in self.records]
        )

    def found(self, filters: Filters) -> Sequence[int]:
        """Return the ordinals of all matches."""
        some = np.ones(len(self.records), np.bool_)
        marks = [[("q", word)] for word in filters.words]
        marks += [[(name, each) for each in values] for name, values in filters.coded.items()]
        marks += [[("raiz", each) for each in filters.roots]] if filters.roots else []
        marks += [[("cep", each[:5]) for each in filters.ceps]] if filters.ceps else []
        for alternatives in marks:
            these = np.zeros(len(some), np.bool_)
            for mark in alternatives:
                these[self._having.get(mark, array("I"))] = True
            some &= these
        for name, (since, until) in (
            ("opened", filters.opened),
            ("status_day", filters.status_day),
        ):
            if since or until:
                days = self._days[name]
                some &= (days >= (since or "0")) & (days <= (until or "9"))
        least, most = filters.capital
        if least is not None or most is not None:
            some &= (self._capital >= float(least or 0) - 1) & (
                self._capital <= float("inf" if most is None else most) + 1
            )
        return [at for at in np.flatnonzero(some).tolist() if filters.matches(self.records[at])]


def _names(record: SearchRecord) -> Sequence[str]:
    return record.name, record.trade_name


def _opened(record: SearchRecord) -> str | None:
    return record.opened


def _status_day(record: SearchRecord) -> str | None:
    return record.status_day


def _agreed(index: SearchIndex, scan: Scan, drawn: random.Random, agreed: int) -> int:
    """Return how many filters match a scan on their first pages, and have a complete index."""
    for _ in range(agreed):
        sent = _drawn(index, drawn)
        filters = _known(read_filters(sent.get, TODAY.isoformat()), index)
        expected = scan.found(filters)
        found: list[str] = []
        place: SearchPlace | None = SearchPlace("c", 0)
        while place is not None and len(found) < _FIRST_FOUND:
            page = find(index, filters, place, 100, _PLENTY, time.process_time)
            found += [record.cnpj for record in page.records]
            place = page.following
        listed = [scan.records[at].cnpj for at in expected[: len(found) or None]]
        brought: Container[int] = range(index.count)
        if filters.expression is not None:
            brought = set(index.candidates(filters.expression, 0, index.count))
        if found != listed or not all(at in brought for at in expected):
            raise SystemExit(f"search: {sent} and a scan disagree")
    return agreed


def _compared(index: SearchIndex, scan: Scan, drawn: random.Random, compared: int) -> int:
    """Return how many filters match a scan over all of their pages."""
    for _ in range(compared):
        sent = _drawn(index, drawn)
        filters = _known(read_filters(sent.get, TODAY.isoformat()), index)
        expected = [record.cnpj for record in scan.records if filters.matches(record)]
        found: list[str] = []
        place: SearchPlace | None = SearchPlace("c", 0)
        while place is not None:
            page = find(index, filters, place, 100, PageEffort(), time.process_time)
            found += [record.cnpj for record in page.records]
            place = page.following
        if found != expected:
            raise SystemExit(f"search: {sent} finds {len(found)}, a scan {len(expected)}")
    return compared


if __name__ == "__main__":
    main(sys.argv[1:])
