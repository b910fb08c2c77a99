"""The search index of a month: `2026-08-08.search`, derived from it and beside it (decision 0048).

Built as finished answers are (`opendata/answers.py`): after the month is in use, at low priority,
by another process; what was interrupted goes on where it was. Until it is there, and where there
is no room for it, there is no search and nothing else is missed.

Full text is inserted by growing row ids, and these are ordinals in the order of CNPJs, so rows
are dealt over ranges of roots first; each range, small enough for memory, is then sorted.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from math import ceil
from pathlib import Path

import apsw
import numpy as np

from balcao.core.listing import Listed, partner_tokens, tokens_of
from balcao.opendata.errors import OpenDataError, VerificationFailed
from balcao.opendata.files import begin, make_durable, meta, save
from balcao.opendata.keys import Numbers, keys_of
from balcao.opendata.layout import COMPANY_GROUP, EMPRESAS, SIMPLES, SOCIOS
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.rows import tidy
from balcao.opendata.search.index import KEYS_PER_BLOCK, SearchIndex, identity_of, search_of
from balcao.opendata.search.records import RowReader, partners_in
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.spill import SpillWriter, read_partition
from balcao.opendata.store import WorkFolder
from balcao.opendata.stored import StoredRows, deal

_ROWS_PER_PARTITION = 100_000
_BLOCKS_AT_ONCE = 4_000  # some 16 MB
_SAMPLE_BLOCKS = 2_000  # blocks are a sample by chance, since a hash fills them
# Of disk, for each establishment: the index, and the rows while they wait to be sorted.
_BYTES_EACH = 90 + 140
_HASH_BYTES = 64 * 1024 * 1024  # of postings in memory before they are written
_LOOKED_UP = 500  # establishments that the finished index must find

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (block INTEGER PRIMARY KEY, keys BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS company USING fts5(
    t, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '_.-'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS partner USING fts5(
    t, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '_.-'"
);
INSERT OR IGNORE INTO meta VALUES ('partitions_done', 0);
INSERT OR IGNORE INTO meta VALUES ('count', 0);
"""


def build_index(store: Path, progress: ProgressListener | None = None) -> Path:
    """Build the search index of the published month, and put it beside it.

    Raises `OpenDataError` (no month, damaged), `VerificationFailed`, `NoRoom`, `BuildRunning`.
    """
    path = current_path(store)
    of = identity_of(path)
    name = of.hex()[:16]
    spills = f"{name}.establishment.spill", f"{name}.company.spill"
    building = f"{name}.building"
    with (
        WorkFolder(
            store, "search", "search.lock", {*spills, building, f"{building}-journal"}
        ) as work,
        closing(Snapshot.open(path)) as snapshot,
    ):
        establishments = snapshot.info().rows["Estabelecimentos"]
        work.demand(establishments * _BYTES_EACH)
        told = Listeners(progress)
        bounds = _bounds(snapshot, max(1, ceil(establishments / _ROWS_PER_PARTITION)))
        waiting = [work.path / spill for spill in spills]
        for spill, blocks in zip(
            waiting, (snapshot.establishments, snapshot.companies), strict=True
        ):
            if not spill.exists():
                told.begin("Separando linhas", 0)
                _scatter(blocks(), spill, bounds, told)
        told.begin("Escrevendo o índice", establishments)
        reader = RowReader(snapshot.extraction_date)
        with closing(begin(work.path / building, _SCHEMA)) as connection:
            _write(connection, waiting, len(bounds) + 1, reader, told)
            save(connection, "of", of)
        make_durable(work.path / building)
        _verify(work.path / building, snapshot, path)
        if not path.exists():
            raise OpenDataError(f"{path.name} não existe mais: outro mês tomou o seu lugar")
        (work.path / building).replace(search_of(path))
        work.remove()
    return search_of(path)


def _bounds(snapshot: Snapshot, partitions: int) -> Numbers:
    """Between which roots each partition lies, of some size each."""
    text = b"".join(islice(snapshot.establishments(), _SAMPLE_BLOCKS))
    roots = np.sort(keys_of(StoredRows(text, COMPANY_GROUP).numbers))
    if not len(roots):
        return np.zeros(0, np.uint64)
    cuts = np.arange(1, partitions) * len(roots) // partitions
    return np.unique(roots[cuts])


def _scatter(
    blocks: Iterator[bytes], spill: Path, bounds: Numbers, progress: ProgressListener
) -> None:
    """Deal rows over the ranges of their roots."""
    writer = SpillWriter(spill, compressed=True)
    try:
        while text := b"".join(islice(blocks, _BLOCKS_AT_ONCE)):
            rows = StoredRows(text, COMPANY_GROUP)
            batch: list[list[memoryview]] = [[] for _ in range(len(bounds) + 1)]
            partition = np.searchsorted(bounds, keys_of(rows.numbers), side="right")
            deal(text, rows.lengths, partition.astype(np.int64), batch)
            writer.write(batch)
            progress.advance("", 0, len(rows.starts))
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


def _write(
    connection: apsw.Connection,
    spills: Sequence[Path],
    partitions: int,
    reader: RowReader,
    progress: ProgressListener,
) -> None:
    for table in ("company", "partner"):
        connection.execute(
            f"INSERT INTO {table}({table}, rank) VALUES ('hashsize', ?)",  # noqa: S608
            (_HASH_BYTES,),
        )
    for partition in range(int(meta(connection, "partitions_done")), partitions):
        establishments, companies = (read_partition(each, partition, partitions) for each in spills)
        rows = _Partition(establishments, companies, reader)
        with connection:
            first = int(meta(connection, "count"))
            connection.executemany(
                "INSERT INTO company (rowid, t) VALUES (?, ?)",
                enumerate(map(tokens_of, rows.records()), first),
            )
            connection.executemany(
                "INSERT INTO partner (rowid, t) VALUES (?, ?)", rows.partners(first)
            )
            _add_keys(connection, first, rows.keys())
            save(connection, "count", first + rows.count)
            save(connection, "partitions_done", partition + 1)
        progress.advance("", rows.count, rows.count)
    with connection:
        for table in ("company", "partner"):
            connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")  # noqa: S608


class _Partition:
    """The rows of one range of roots, in the order of CNPJs."""

    def __init__(self, establishments: bytes, companies: bytes, reader: RowReader) -> None:
        # Root and order are of fixed widths, so the rows' own order is that of CNPJs.
        self._rows = (
            sorted(tidy(establishments.rstrip(b"\n")).split("\n")) if establishments else []
        )
        self._of_root: dict[str, dict[str, str]] = {EMPRESAS.tag: {}, SIMPLES.tag: {}}
        self._partners: dict[str, list[str]] = {}
        for row in _lines(companies):
            if row[0] == SOCIOS.tag:
                self._partners.setdefault(row[1:9], []).append(row)
            else:
                self._of_root[row[0]][row[1:9]] = row
        self._reader = reader

    @property
    def count(self) -> int:
        return len(self._rows)

    def records(self) -> Iterator[Listed]:
        companies, simples = self._of_root[EMPRESAS.tag], self._of_root[SIMPLES.tag]
        for row in self._rows:
            root = row[1:9]
            yield self._reader.establishment(row, companies.get(root), simples.get(root))

    def keys(self) -> Iterable[int]:
        return [int(row[1:9] + row[10:14], 36) for row in self._rows]

    def partners(self, first: int) -> Iterator[tuple[int, str]]:
        """Of each company, under the ordinal of its first establishment."""
        before = ""
        for ordinal, row in enumerate(self._rows, first):
            root = row[1:9]
            if root != before and (rows := self._partners.get(root)):
                found = [partner_tokens(*each) for each in partners_in(iter(rows))]
                yield ordinal, " ".join(dict.fromkeys(chain.from_iterable(found)))
            before = root


def _lines(rows: bytes) -> Sequence[str]:
    return tidy(rows.rstrip(b"\n")).split("\n") if rows else ()


def _add_keys(connection: apsw.Connection, first: int, keys: Iterable[int]) -> None:
    """Write keys from this ordinal on; the last block may not be full yet."""
    block, filled = divmod(first, KEYS_PER_BLOCK)
    waiting = array("Q")
    if filled:
        waiting.frombytes(connection.execute("SELECT keys FROM keys WHERE block = ?", (block,)).get)
    waiting.extend(keys)
    connection.executemany(
        "INSERT OR REPLACE INTO keys (block, keys) VALUES (?, ?)",
        (
            (block + at // KEYS_PER_BLOCK, waiting[at : at + KEYS_PER_BLOCK].tobytes())
            for at in range(0, len(waiting), KEYS_PER_BLOCK)
        ),
    )


def _verify(building: Path, snapshot: Snapshot, path: Path) -> None:
    """Every establishment has a key, in growing order; some are found by all of their tokens."""
    with closing(SearchIndex(building, snapshot)) as index:
        problems = []
        if index.count != (wanted := snapshot.info().rows["Estabelecimentos"]):
            problems.append(f"o índice tem {index.count} estabelecimentos, e o mês {wanted}")
        elif not index.keys_grow():
            problems.append("as chaves do índice não estão em ordem")
        else:
            step = max(1, index.count // _LOOKED_UP)
            lost = sum(not index.finds(ordinal) for ordinal in range(0, index.count, step))
            if lost:
                problems.append(f"o índice não acha {lost} estabelecimentos")
    if problems:
        raise VerificationFailed(problems)
