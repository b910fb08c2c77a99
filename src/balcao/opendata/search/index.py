"""The search index of one month, open for reading together with the month."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import apsw
import msgspec
import numpy as np
import zstandard

from balcao.core.search import Filters
from balcao.core.search_record import PartnerSearchRecord, SearchRecord, tokens_of
from balcao.opendata.errors import OpenDataError
from balcao.opendata.files import MappedFiles, meta, open_finished
from balcao.opendata.keys import ORDERS_PER_ROOT, Numbers, key_text, number_of
from balcao.opendata.search.ordinals import KEYS_PER_BLOCK, unpack_keys
from balcao.opendata.search.records import RowReader
from balcao.opendata.snapshot import Snapshot, current_path

# Version of the tokens' form; files of others are not read. A test fails if it must be raised.
VERSION = 6

_STAMP_CHARACTERS = 8
# Pages of the mapped files in memory, checked with each part and after some rows: a row may bring
# in 128 kB, 64 of each file.
_MAPPED_BYTES_MAX = 160 * 1024 * 1024
_ROWS_PER_RELEASE = 256
_FIRSTS = "SELECT first FROM part ORDER BY number"


class SearchIndex:
    """Finds ordinals, in the order of CNPJs, by tokens, and their records. Not thread safe.

    Every method may raise `OpenDataError` when a file is damaged.
    """

    def __init__(self, path: Path, snapshot: Snapshot, *, mapped: bool = True) -> None:
        """Open the index; the caller closes `snapshot`. `mapped`: see `open_finished`."""
        try:
            self._connection = open_finished(path, mapped=mapped)
            self.count = int(meta(self._connection, "count"))
            firsts = [first for (first,) in self._connection.execute(_FIRSTS)]
            self._parts = list(enumerate(pairwise([*firsts, self.count])))
            self.stamp = meta(self._connection, "of").hex()[:_STAMP_CHARACTERS]
        except (apsw.Error, OSError) as error:
            raise OpenDataError(f"{path} não é o índice de busca de um mês") from error
        self.snapshot = snapshot
        self.mapped = MappedFiles()  # none yet
        self._rows_read = 0
        self.domains = snapshot.domains()
        self._reader = RowReader(snapshot.extraction_date)
        self._unpacker = zstandard.ZstdDecompressor()
        self._block = -1
        self._keys: Numbers = np.zeros(0, np.uint64)

    def parts(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield ranges (first, end) of ordinals that are searched together, from `first` on."""
        for _, (begin, end) in self._parts:
            if end > first:
                yield max(begin, first), end

    def candidates(self, expression: str, first: int, end: int) -> Iterator[int]:
        """Yield ordinals from `first` to before `end` that match an expression over tokens."""
        return self._ordinals("company", expression, first, end)

    def partners(self, expression: str, first: int, end: int) -> Iterator[int]:
        """Yield companies whose partners match, as the ordinal of the first establishment."""
        return self._ordinals("partner", expression, first, end)

    def _ordinals(self, table: str, expression: str, first: int, end: int) -> Iterator[int]:
        try:
            for part in self._parts_between(first, end):
                for (ordinal,) in self._connection.execute(
                    f"SELECT rowid FROM {table}{part} WHERE {table}{part} MATCH ?"  # noqa: S608
                    " AND rowid BETWEEN ? AND ? ORDER BY rowid",
                    (expression, first, end - 1),
                ):
                    yield ordinal
        except apsw.Error as error:
            raise OpenDataError("o índice de busca está danificado") from error

    def _parts_between(self, first: int, end: int) -> Iterator[int]:
        for part, (begin, stop) in self._parts:
            if begin < end and first < stop:
                self.mapped.release_above(_MAPPED_BYTES_MAX)
                yield part

    def count_matches(self, expression: str, first: int, end: int, most: int) -> int:
        """Return the number of matches, at most `most`."""
        found = 0
        try:
            for part in self._parts_between(first, end):
                found += self._connection.execute(
                    f"SELECT count(*) FROM (SELECT 1 FROM company{part}"  # noqa: S608
                    f" WHERE company{part} MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?)",
                    (expression, first, end - 1, most - found),
                ).get
        except apsw.Error as error:
            raise OpenDataError("o índice de busca está danificado") from error
        return found

    def record(self, ordinal: int) -> SearchRecord:
        key, row = self._row(ordinal)
        return self._reader.establishment(row, *self.snapshot.company_rows(key[:8]))

    def matching(self, ordinal: int, filters: Filters) -> SearchRecord | None:
        """Return the establishment of an ordinal, if the filters match it.

        Most mismatches are decided by the establishment's row, without reading its company's.
        """
        key, row = self._row(ordinal)
        if filters.wants_place_or_days and not filters.matches_place_and_days(
            *self._reader.place_and_days(row)
        ):
            return None
        record = self._reader.establishment(row, *self.snapshot.company_rows(key[:8]))
        return record if filters.matches(record) else None

    def fits(self, ordinal: int, filters: Filters) -> bool:
        """Return whether days, amount and CEP of an establishment match; checks nothing else."""
        key, row = self._row(ordinal)
        if filters.wants_place_or_days and not filters.matches_place_and_days(
            *self._reader.place_and_days(row)
        ):
            return False
        if filters.capital == (None, None):
            return True
        return filters.bears(self._reader.capital(self.snapshot.company_rows(key[:8])[0]))

    def _row(self, ordinal: int) -> tuple[str, str]:
        self._rows_read += 1
        if self._rows_read % _ROWS_PER_RELEASE == 0:
            self.mapped.release_above(_MAPPED_BYTES_MAX)
        key = key_text(self._key(ordinal))
        row = self.snapshot.establishment_row(key)
        if row is None:
            raise OpenDataError("o índice de busca não é deste mês")
        return key, row

    def partners_of(self, ordinal: int) -> Sequence[PartnerSearchRecord]:
        record = self.record(ordinal)
        rows = self.snapshot.partners_of(record.cnpj[:8])
        return [self._reader.partner(row, record.cnpj, record.name) for row in rows]

    def ordinals_of_root(self, root: str) -> tuple[int, int]:
        """Return the ordinals (first, end) of a company's establishments."""
        lowest = number_of(root) * ORDERS_PER_ROOT
        return self._first_ordinal(lowest), self._first_ordinal(lowest + ORDERS_PER_ROOT)

    def finds(self, ordinal: int) -> bool:
        """Return whether an establishment is found by all of its tokens."""
        every = tokens_of(self.record(ordinal)).split()
        return all(
            list(self.candidates(f'"{each}"', ordinal, ordinal + 1)) == [ordinal] for each in every
        )

    def keys_grow(self) -> bool:
        """Return whether every key is greater than the one before it."""
        before = -1
        for ordinal in range(0, self.count, KEYS_PER_BLOCK):
            first = self._key(ordinal)
            if first <= before or (self._keys[1:] <= self._keys[:-1]).any():
                return False
            before = int(self._keys[-1])
        return True

    def close(self) -> None:
        self._connection.close()

    def _first_ordinal(self, key: int) -> int:
        """Return the first ordinal whose key is not smaller."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self._key(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def _key(self, ordinal: int) -> int:
        block, at = divmod(ordinal, KEYS_PER_BLOCK)
        if block != self._block:
            found = self._connection.execute("SELECT keys FROM keys WHERE block = ?", (block,)).get
            if found is None:
                raise OpenDataError("o índice de busca está danificado")
            try:
                self._keys, self._block = unpack_keys(found, self._unpacker), block
            except zstandard.ZstdError as error:
                raise OpenDataError("o índice de busca está danificado") from error
        return int(self._keys[at])


def index_path(snapshot: Path) -> Path:
    """Return the path of the search index of a month's file; the file may not exist."""
    return snapshot.with_suffix(".search")


def open_index(snapshot: Path) -> SearchIndex:
    """Open the index of a month's file. Raises `OpenDataError` if there is no usable one."""
    opened = Snapshot.open(snapshot, mapped=True)
    try:
        index = SearchIndex(index_path(snapshot), opened)
        if not identity_of(snapshot).hex().startswith(index.stamp):
            index.close()
            raise OpenDataError(f"{index_path(snapshot)} não é deste mês ou tem outro formato")
    except OpenDataError:
        opened.close()
        raise
    index.mapped = MappedFiles(snapshot, index_path(snapshot))
    return index


def has_index(store: Path) -> bool:
    """Return whether the published month has an index. Raises `OpenDataError` without a month."""
    path = current_path(store)
    try:
        index = open_index(path)
    except OpenDataError:
        return False
    index.close()
    index.snapshot.close()
    return True


def identity_of(snapshot: Path) -> bytes:
    """Return a digest of the month, its build and the form of the index."""
    with closing(Snapshot.open(snapshot)) as opened:
        info = msgspec.json.encode(opened.info())
    return sha256(b"%d %b %b" % (VERSION, snapshot.name.encode(), info)).digest()
