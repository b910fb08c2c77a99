"""A full-size month: import, verification, publication and index; then searches.

Generating 73 million establishments would take hours. So a month of two million is generated and
written as many times as needed, each time with other roots: the rows of a file come from one array,
in which roots and check digits are rewritten. Copies of a company are not adjacent, but stay near
their place, so that dates still correlate with roots.

    python -m bench full_month FOLDER [--establishments N] [--asked N] [--only STAGE]
"""

import argparse
import multiprocessing
import os
import random
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from balcao.home import Home
from balcao.opendata import probe
from balcao.opendata.archive import Part, discover, read_chunks
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.keys import Bytes, Numbers, Positions, are_key_characters, characters
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import index_path, open_index
from balcao.opendata.snapshot import current_path
from bench.search import drawn_about, timed
from bench.serving import PREFIX, SERVE, free_port, open_account, running, settings

TODAY = date(2026, 9, 1)
BASE_ESTABLISHMENTS = 2_000_000

_LEVEL = 2  # isal's; its zips are some 8 % larger than the publisher's
_ROOTS = 10**8
_NEAR = 1 << 16  # a copy's root may move within so many roots
_ZERO, _NINE, _QUOTE, _LETTER = map(ord, '09"A')
_WEIGHTS = np.array([6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])  # of the second check digit
_SAMPLED_SECONDS = 0.5
_LOOKUPS, _TURNS = 6_000, 3  # of each kind
_LOOKUPS_PER_SECOND, _SEARCHES_PER_SECOND, _SEARCHING = 100, 20, 5


@dataclass(frozen=True, slots=True)
class _Task:
    """A zip of the small month, to be written repeatedly."""

    part: Part
    out: Path
    roots: Numbers  # of the small month, sorted
    copies: int


def write_full(small: Path, out: Path, copies: int) -> None:
    """Write the zips of a month of so many copies of a small one."""
    inputs = discover([small])
    out.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        named = [part for part in inputs.parts if part.table in {"Empresas", "Estabelecimentos"}]
        roots = np.unique(np.concatenate(pool.map(_roots_of, named)))
        for part in inputs.domains:
            (out / part.file).write_bytes(part.path.read_bytes())
        largest = sorted(inputs.parts, key=lambda part: part.bytes, reverse=True)
        tasks = [_Task(part, out / part.file, roots, copies) for part in largest]
        for _ in pool.imap_unordered(_write, tasks, 1):
            pass


def _roots_of(part: Part) -> Numbers:
    text = np.frombuffer(_content(part), np.uint8)
    digits = characters(text, _lines(text) + 1, 8)
    return np.unique(_numbers(digits[_are_digits(digits)]))


def _content(part: Part) -> bytes:
    return b"".join(chunk for chunk, _ in read_chunks(part))


def _lines(text: Bytes) -> Positions:
    """Return the beginnings of lines that begin like records."""
    ends = np.flatnonzero(text[:-21] == ord("\n"))
    starts = np.concatenate((np.zeros(1, np.int64), ends + 1))
    starts = starts[(text[starts] == _QUOTE) & (text[starts + 9] == _QUOTE)]
    known = are_key_characters(characters(text, starts + 1, 8)).all(axis=1)
    return np.asarray(starts[known])


def _are_digits(matrix: Bytes) -> npt.NDArray[np.bool_]:
    return np.asarray(((matrix >= _ZERO) & (matrix <= _NINE)).all(axis=1))


def _numbers(digits: Bytes) -> Numbers:
    places = 10 ** np.arange(7, -1, -1, dtype=np.uint64)
    return np.asarray((digits - np.uint8(_ZERO)).astype(np.uint64) @ places)


def _write(task: _Task) -> None:
    text = np.frombuffer(_content(task.part), np.uint8)
    lines = _lines(text)
    before = characters(text, lines + 1, 8)
    numeric = _are_digits(before)
    rank = np.searchsorted(task.roots, _numbers(before[numeric]))
    entry = ZipInfo(task.part.entry, date_time=(2026, 8, 8, 0, 0, 0))
    entry.compress_type = ZIP_DEFLATED
    large = task.part.bytes * task.copies >= 2**31
    with ZipFile(task.out, "w") as archive, archive.open(entry, "w", force_zip64=large) as file:
        faster = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -15)
        setattr(file, "_compressor", faster)  # noqa: B010
        for copy in range(task.copies):
            again = text.copy()
            after = _lettered(before, copy)
            after[numeric] = _of_copy(rank, task.roots, copy)
            _put(again, lines + 1, after)
            if task.part.table == "Estabelecimentos":
                _put(again, lines + 19, _check_digits(after, characters(text, lines + 12, 4)))
            file.write(again.data)


def _put(text: Bytes, starts: Positions, matrix: Bytes) -> None:
    width = matrix.shape[1]
    items = np.ndarray(len(text) - width + 1, f"V{width}", text, strides=(1,))
    items[starts] = np.ascontiguousarray(matrix).view(f"V{width}").ravel()


def _of_copy(rank: Positions, roots: Numbers, copy: int) -> Bytes:
    """Return the digits of roots in a copy, by their rank: unique over roots and copies."""
    near, within = np.divmod(rank, _NEAR)
    mixed = near * _NEAR + (within * (2 * 7919 * copy + 1) + 104_729 * copy) % _NEAR
    place = np.where(near < len(roots) // _NEAR, mixed, rank)  # the last block is too small to mix
    found = place * (_ROOTS // len(roots)) + copy
    tens = 10 ** np.arange(7, -1, -1)
    return (found[:, np.newaxis] // tens % 10 + _ZERO).astype(np.uint8)


def _lettered(roots: Bytes, copy: int) -> Bytes:
    """Return roots with letters, different in each copy."""
    more, by = divmod(copy, 26)
    digits = (roots - np.uint8(_ZERO) + np.uint8(more)) % np.uint8(10) + np.uint8(_ZERO)
    letters = (roots - np.uint8(_LETTER) + np.uint8(by)) % np.uint8(26) + np.uint8(_LETTER)
    return np.where(roots <= _NINE, digits, letters)


def _check_digits(roots: Bytes, orders: Bytes) -> Bytes:
    values = np.concatenate((roots, orders), axis=1).astype(np.int64) - _ZERO
    for weights in (_WEIGHTS[1:], _WEIGHTS):
        rest = values @ weights % 11
        digit = np.where(rest < 2, 0, 11 - rest)
        values = np.concatenate((values, digit[:, np.newaxis]), axis=1)
    return (values[:, -2:] + _ZERO).astype(np.uint8)


def _store(folder: Path) -> Path:
    return Home(folder / "home").opendata("live")


def _measured(folder: Path, stage: str) -> None:
    """Run a stage in a fresh process, and print its figures."""
    store = _store(folder)
    began, peak, done = time.monotonic(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_SAMPLED_SECONDS):
            peak = max(peak, sum(_resident_kb(each) for each in _tree(os.getpid())))

    watching = threading.Thread(target=watch)
    watching.start()
    figures: dict[str, float] = {}
    try:
        if stage == "import":
            # Fictitious months lack the real companies that the probe expects.
            setattr(probe, "FULL_ROWS", sys.maxsize)  # noqa: B010
            report = build([folder / "zips"], store, today=TODAY)
            figures["establishments"] = report.rows["Estabelecimentos"]
            figures["companies"] = report.rows["Empresas"]
        else:
            build_index(store)
    finally:
        done.set()
        watching.join()
    wall = time.monotonic() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    path = current_path(store)
    file = path if stage == "import" else index_path(path)
    figures |= {
        f"{stage}_wall_s": wall,
        f"{stage}_processor_s": sum(each.ru_utime + each.ru_stime for each in used),
        f"{stage}_peak_mb": peak / 1024,  # all processes together, including mapped files
        f"{stage}_peak_mb_main": used[0].ru_maxrss / 1024,
        f"{stage}_peak_mb_worker": used[1].ru_maxrss / 1024,
        f"{stage}_gb": file.stat().st_size / 1e9,
    }
    _print(figures)


def _beside(folder: Path) -> dict[str, float]:
    """Return milliseconds of lookups at a service of the month, alone and during searches."""
    home, port = folder / "home", free_port()
    key = open_account(home, "live")
    drawn = random.Random(2)
    with closing(open_index(current_path(_store(folder)))) as index, closing(index.snapshot):
        records = [index.record(drawn.randrange(index.count)) for _ in range(_LOOKUPS)]
    paths = [PREFIX + record.cnpj for record in records]
    searches = []
    for record, other in pairwise(records):
        sent = {**drawn_about(record, other, drawn)}
        sent.pop("pessoas", None)  # needs an opt-in of the account
        searches.append(f"/buscas/v1/empresas?{urlencode(sent)}")
    times: dict[str, list[float]] = {"alone": [], "beside": [], "search": []}
    env = settings(home, port, opendata_answers="false", opendata_search="false")
    with running(SERVE, port, env):
        for turn in range(2 * _TURNS):
            mine, done = slice(turn, None, 2 * _TURNS), threading.Event()
            with ThreadPoolExecutor(_SEARCHING) as pool:
                for at in range(_SEARCHING if turn % 2 else 0):
                    few = searches[mine][at::_SEARCHING]
                    pace = _SEARCHES_PER_SECOND / _SEARCHING
                    pool.submit(_send_steadily, port, key, few, pace, done, times["search"])
                kind = "beside" if turn % 2 else "alone"
                _send_steadily(port, key, paths[mine], _LOOKUPS_PER_SECOND, done, times[kind])
                done.set()
    answered = {f"{kind}_answered": len(some) for kind, some in times.items()}
    return answered | {
        f"{kind}_ms_p{percent}": statistics.quantiles(some, n=100)[percent - 1]
        for kind, some in times.items()
        for percent in (50, 95, 99)
    }


def _send_steadily(  # noqa: PLR0917
    port: int,
    key: str,
    paths: Sequence[str],
    per_second: float,
    done: threading.Event,
    took: list[float],
) -> None:
    """Send so many requests a second on one connection, and append the milliseconds of each."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        due = time.perf_counter()
        for path in paths:
            if done.is_set():
                return
            due = max(due + 1 / per_second, time.perf_counter() - 1)
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            connection.request("GET", path, headers={"x-api-key": key})
            reply = connection.getresponse()
            reply.read()
            if reply.status == HTTPStatus.OK:
                took.append((time.perf_counter() - began) * 1000)


def _tree(process: int) -> Iterator[int]:
    yield process
    try:
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text("ascii").split():
                yield from _tree(int(child))
    except OSError:  # it has ended meanwhile
        return


def _resident_kb(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii")
    except OSError:
        return 0
    return next((int(each.split()[1]) for each in status.split("\n") if "VmRSS" in each), 0)


def _print(figures: Mapping[str, float]) -> None:
    load = os.getloadavg()[0]
    for name, value in {**figures, "load": load}.items():
        print(f"{name:>24}  {value:,.2f}", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser("python -m bench full_month")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--establishments", type=int, default=73_000_000)
    parser.add_argument("--asked", type=int, default=10_000)
    parser.add_argument("--only", choices=("zips", "import", "index", "search", "beside"))
    chosen = parser.parse_args(arguments)
    folder: Path = chosen.folder
    if chosen.only in {"import", "index"}:
        _measured(folder, chosen.only)
        return
    if chosen.only in {None, "zips"} and not (folder / "zips").exists():
        small = folder / "small"
        if not small.exists():
            generate(small, BASE_ESTABLISHMENTS, seed=1, workers=2)
        write_full(small, folder / "zips", -(-chosen.establishments // BASE_ESTABLISHMENTS))
    if chosen.only is None:
        for stage in ("import", "index"):
            module = [sys.executable, "-m", "bench", "full_month", str(folder), "--only", stage]
            subprocess.run(module, check=True)
    if chosen.only in {None, "search"}:
        with closing(open_index(current_path(_store(folder)))) as index, closing(index.snapshot):
            _print(timed(index, random.Random(1), chosen.asked))
    if chosen.only in {None, "beside"}:
        _print(_beside(folder))
