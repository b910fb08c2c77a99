"""Build the search index of a month: `2026-08-08.search`, next to its file (ADR 0048).

Built like finished answers (`opendata/answers.py`): after the month is in use, at low priority, by
other processes, and resumable. Until it is built, and where there is no room for it, only search is
unavailable.

Full text is inserted by growing row ids, which are ordinals in the order of CNPJs. A worker sorts
each of the month's ranges of roots, small enough for memory, and converts it to tokens
(`texts.py`), while this process writes the results of the ranges before.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil
from pathlib import Path

import apsw
import numpy as np
import zstandard

from balcao.opendata.errors import OpenDataError, VerificationFailed
from balcao.opendata.files import begin, make_durable, meta, save
from balcao.opendata.keys import ORDERS_PER_ROOT, Numbers, Positions
from balcao.opendata.layout import COMPANY_GROUP, ESTABLISHMENT_GROUP, GROUPS, TableGroup
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.search.index import SearchIndex, identity_of, index_path
from balcao.opendata.search.ordinals import KEYS_PER_BLOCK, pack_keys, unpack_keys
from balcao.opendata.search.texts import TABLES, TextMaker
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.store import WorkFolder
from balcao.opendata.stored import StoredRows
from balcao.opendata.worker_pool import Report, WorkerPool

_ROWS_PER_TASK = 100_000  # of one or more ranges
# Tasks whose rows are written in one transaction, and searched as one table: see `_write`.
_TASKS_PER_PART = 20
_ROWS_AT_ONCE = 10_000  # converted to tokens together
_BYTES_EACH = 60  # of disk, for each establishment
_HASH_BYTES = 1 << 30  # so large that FTS5 never flushes in the middle of a part
_LOOKED_UP = 500  # establishments that the finished index must find
_ROWS_WORTH_WORKERS = 100_000  # below this, starting processes takes longer than the work

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (block INTEGER PRIMARY KEY, keys BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS part (number INTEGER PRIMARY KEY, first INTEGER NOT NULL);
INSERT OR IGNORE INTO meta VALUES ('count', 0);
"""
_TABLES = ("company", "partner")
_TABLE = """
CREATE VIRTUAL TABLE {name} USING fts5(
    t, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '_.-'"
);
INSERT INTO {name}({name}, rank) VALUES ('hashsize', {hash_bytes});
"""


def build_index(store: Path, progress: ProgressListener | None = None, workers: int = 2) -> Path:
    """Build the search index of the published month, next to its file.

    Raises `OpenDataError` (no month, damaged), `VerificationFailed`, `NoRoom`, `BuildRunning`.
    """
    path = current_path(store)
    identity = identity_of(path)
    building = f"{identity.hex()[:16]}.building"
    with (
        WorkFolder(store, "search", "search.lock", {building, f"{building}-journal"}) as work,
        closing(Snapshot.open(path)) as snapshot,
    ):
        establishments, ranges = snapshot.info().rows["Estabelecimentos"], snapshot.ranges
        work.require_space(establishments * _BYTES_EACH)
        per_task = max(1, ranges * _ROWS_PER_TASK // max(1, establishments))
        tasks = [
            _Task(path, range(first, min(first + per_task, ranges)))
            for first in range(0, ranges, per_task)
        ]
        listeners = Listeners(progress)
        listeners.begin("Escrevendo o índice", establishments)
        with (
            WorkerPool(workers if establishments > _ROWS_WORTH_WORKERS else 0) as pool,
            closing(begin(work.path / building, _SCHEMA)) as connection,
        ):
            try:
                _write(connection, tasks, pool, listeners)
            finally:
                _opened.cache_clear()
            save(connection, "of", identity)
        make_durable(work.path / building)
        _verify(work.path / building, snapshot, path)
        if not path.exists():
            raise OpenDataError(f"{path.name} não existe mais: outro mês entrou no lugar")
        (work.path / building).replace(index_path(path))
        work.remove()
    return index_path(path)


@dataclass(frozen=True, slots=True)
class _Task:
    """Some successive ranges of a month, to be converted to tokens."""

    snapshot: Path
    ranges: range


@dataclass(frozen=True, slots=True)
class _Indexed:
    """The tokens of the rows in a task's ranges, one line per row."""

    keys: Numbers
    establishments: bytes
    firsts: Positions
    partners: bytes


def _texts(task: _Task, report: Report) -> _Indexed:
    snapshot, maker = _opened(task.snapshot)
    rows = (snapshot.rows_in(group, task.ranges) for group in GROUPS)
    made = [maker.texts(*some) for some in _in_order(*rows)]
    counts = np.cumsum([0, *(len(each.keys) for each in made)])[:-1].tolist()
    return _Indexed(
        np.concatenate([np.zeros(0, np.uint64), *(each.keys for each in made)]),
        "\n".join([text for each in made for text in each.establishments]).encode(),
        np.concatenate(
            [
                np.zeros(0, np.int64),
                *(before + each.firsts for before, each in zip(counts, made, strict=True)),
            ]
        ),
        "\n".join([text for each in made for text in each.partners]).encode(),
    )


def _in_order(establishments: bytes, companies: bytes) -> Iterator[Sequence[bytes]]:
    """Yield batches of rows in the order of CNPJs: establishments, and their companies' tables.

    Tables are in the order of `TextMaker.texts`.
    """
    per_root = np.uint64(ORDERS_PER_ROOT)
    tables = [*_sorted(establishments, ESTABLISHMENT_GROUP), *_sorted(companies, COMPANY_GROUP)]
    keys = tables[0][1]
    bounds = np.unique(keys[_ROWS_AT_ONCE::_ROWS_AT_ONCE] // per_root)
    cuts = [
        [0, *np.searchsorted(each, bounds if each is not keys else bounds * per_root), len(each)]
        for _, each, _ in tables
    ]
    for places in zip(*map(pairwise, cuts), strict=True):
        yield [
            b"\n".join(map(lines.__getitem__, [*order[first:end].tolist(), -1]))
            for (lines, _, order), (first, end) in zip(tables, places, strict=True)
        ]


def _sorted(text: bytes, group: TableGroup) -> Iterator[tuple[Sequence[bytes], Numbers, Positions]]:
    """Yield for each table all lines, its sorted keys, and the line of each key's row.

    The last line is empty, so that joined lines end with a line feed.
    """
    rows = StoredRows(text, group)
    keys, lines = rows.numbers, text.split(b"\n")
    for table in (each for each in group.tables if each in TABLES):
        own = np.flatnonzero(rows.tags == ord(table.tag))
        order = own[np.argsort(keys[own], kind="stable")]
        yield lines, keys[order], order


@lru_cache(1)
def _opened(path: Path) -> tuple[Snapshot, TextMaker]:
    snapshot = Snapshot.open(path)
    return snapshot, TextMaker(snapshot.extraction_date)


def _write(
    connection: apsw.Connection,
    tasks: Sequence[_Task],
    pool: WorkerPool,
    progress: ProgressListener,
) -> None:
    """Write the missing parts.

    A part is a separate table of some successive ordinals, written in one transaction. FTS5 writes
    a transaction's rows as one sorted segment, if memory has room for it; so there is never
    anything to merge, and a search reads one segment of each part it visits.
    """
    done = connection.execute("SELECT count(*) FROM part").get
    results = pool.run(_texts, tasks[done * _TASKS_PER_PART :], lambda *_: None)
    for part in range(done, ceil(len(tasks) / _TASKS_PER_PART)):
        with connection:
            count = int(meta(connection, "count"))
            for table in _TABLES:
                name = f"{table}{part}"
                connection.execute(_TABLE.format(name=name, hash_bytes=_HASH_BYTES))
            connection.execute("INSERT INTO part (number, first) VALUES (?, ?)", (part, count))
            for indexed in islice(results, _TASKS_PER_PART):
                _insert(connection, part, count, indexed)
                count += len(indexed.keys)
                progress.advance("", len(indexed.keys), len(indexed.keys))
            save(connection, "count", count)


def _insert(connection: apsw.Connection, part: int, first: int, indexed: _Indexed) -> None:
    """Write a task's tokens and keys, from ordinal `first` on."""
    connection.executemany(
        f"INSERT INTO company{part} (rowid, t) VALUES (?, ?)",  # noqa: S608
        enumerate(_lines(indexed.establishments, len(indexed.keys)), first),
    )
    ordinals = (indexed.firsts + first).tolist()
    connection.executemany(
        f"INSERT INTO partner{part} (rowid, t) VALUES (?, ?)",  # noqa: S608
        zip(ordinals, _lines(indexed.partners, len(ordinals)), strict=True),
    )
    _add_keys(connection, first, indexed.keys)


def _lines(texts: bytes, count: int) -> Sequence[str]:
    return texts.decode().split("\n") if count else ()


def _add_keys(connection: apsw.Connection, first: int, keys: Numbers) -> None:
    """Write keys from ordinal `first` on; completes the last block if it is not full."""
    block, filled = divmod(first, KEYS_PER_BLOCK)
    if filled:
        found = connection.execute("SELECT keys FROM keys WHERE block = ?", (block,)).get
        keys = np.concatenate((unpack_keys(found, zstandard.ZstdDecompressor()), keys))
    connection.executemany(
        "INSERT OR REPLACE INTO keys (block, keys) VALUES (?, ?)",
        (
            (block + at // KEYS_PER_BLOCK, pack_keys(keys[at : at + KEYS_PER_BLOCK]))
            for at in range(0, len(keys), KEYS_PER_BLOCK)
        ),
    )


def _verify(building: Path, snapshot: Snapshot, path: Path) -> None:
    """Check that every establishment has a key, in growing order, and that a sample is found."""
    # Not mapped: this reads all over the file, and mapped pages would count as memory.
    with closing(SearchIndex(building, snapshot, mapped=False)) as index:
        problems = []
        if index.count != (wanted := snapshot.info().rows["Estabelecimentos"]):
            problems.append(f"o índice tem {index.count} estabelecimentos, e o mês {wanted}")
        elif not index.keys_grow():
            problems.append("as chaves do índice não estão em ordem")
        else:
            step = max(1, index.count // _LOOKED_UP)
            lost = sum(not index.finds(ordinal) for ordinal in range(0, index.count, step))
            if lost:
                problems.append(f"o índice não encontra {lost} estabelecimentos")
    if problems:
        raise VerificationFailed(problems)
