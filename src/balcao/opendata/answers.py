"""Finished answers: what is said of each establishment of a month, ready to be sent.

A file derived from the published month and beside it: `2026-08-08.answers`. To read an answer
costs a tenth of putting it together from rows. It is built after the month is in use, at low
priority and by another process; until it is there, and where there is no room for it, rows
answer. It goes when its month goes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from itertools import chain, islice
from math import ceil
from pathlib import Path

import apsw
import msgspec
import numpy as np
import zstandard

from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.opendata.errors import OpenDataError
from balcao.opendata.files import begin, load, make_durable, meta, open_finished, save
from balcao.opendata.keys import blocks_of, place_of
from balcao.opendata.layout import COMPANY_GROUP
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.spill import SpillWriter, read_partition
from balcao.opendata.store import WorkFolder
from balcao.opendata.stored import StoredRows, deal

# Raised when an answer is made otherwise: files of another form are not read. A test tells when.
FORM = 1

# Small tables stay in the processor's cache; twice the size packs 2 % better.
_DICTIONARY_BYTES = 32 * 1024
_SAMPLES = 4_000
_LEVEL = 3
_ROWS_PER_PARTITION = 100_000  # some 25 MB of rows: they are sorted in memory
_BLOCKS_AT_ONCE = 4_000  # some 16 MB
# Of disk, for each establishment: its answer, and its row while it waits to be sorted.
_BYTES_EACH = 150 + 90

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answer (place INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "INSERT OR IGNORE INTO meta VALUES ('partitions_done', 0);"
)

Make = Callable[[Company], bytes]


class Answers:
    """The finished answers of one month, open for reading. Not thread safe."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        dictionary = zstandard.ZstdCompressionDict(meta(connection, "dictionary"))
        self._unpack = zstandard.ZstdDecompressor(dict_data=dictionary).decompress
        self._blob: apsw.Blob | None = None

    @classmethod
    def open(cls, snapshot: Path) -> "Answers":
        """Those of a month's file. Raises `OpenDataError` where there are none to be used."""
        path = answers_of(snapshot)
        try:
            connection = open_finished(path)
            if meta(connection, "of") != _identity(snapshot):
                raise OpenDataError(f"{path} não é deste mês, ou tem outra forma")
            return cls(connection)
        except (apsw.Error, OSError, zstandard.ZstdError) as error:
            raise OpenDataError(f"{path} não tem as respostas prontas de um mês") from error

    def find(self, cnpj: Cnpj) -> bytes | None:
        """The answer about a CNPJ; None: there is none. Raises `OpenDataError` (damaged)."""
        place = place_of(cnpj.text)
        try:
            if self._blob is None:
                self._blob = self._connection.blob_open("main", "answer", "body", place, False)
            else:
                self._blob.reopen(place)
            return self._unpack(self._blob.read())
        except apsw.SQLError:  # no such row, which leaves the handle of no use
            self._close_blob()
            return None
        except (apsw.Error, zstandard.ZstdError) as error:
            raise OpenDataError("as respostas prontas estão danificadas") from error

    def close(self) -> None:
        """Release the file."""
        self._close_blob()
        self._connection.close()

    def _close_blob(self) -> None:
        if self._blob is not None:
            self._blob.close(True)
            self._blob = None


def answers_of(snapshot: Path) -> Path:
    """Where the finished answers of a month's file are, if there are any."""
    return snapshot.with_suffix(".answers")


def are_finished(store: Path) -> bool:
    """Whether the published month has its answers. Raises `OpenDataError`: there is no month."""
    path = current_path(store)
    try:
        Answers.open(path).close()
    except OpenDataError:
        return False
    return True


def finish(store: Path, make: Make, progress: ProgressListener | None = None) -> Path:
    """Build the finished answers of the published month, and put them beside it.

    `make` gives the bytes that are said of a company. What was interrupted goes on where it was.
    Raises `OpenDataError` (no month, damaged), `NoRoom`, `BuildRunning` (somebody else does it).
    """
    path = current_path(store)
    of = _identity(path)
    spill, building = f"{of.hex()[:16]}.spill", f"{of.hex()[:16]}.building"
    with (
        WorkFolder(
            store, "answers", "answers.lock", {spill, building, f"{building}-journal"}
        ) as work,
        closing(Snapshot.open(path)) as snapshot,
    ):
        establishments = snapshot.info().rows["Estabelecimentos"]
        work.demand(establishments * _BYTES_EACH)
        partitions = max(1, ceil(establishments / _ROWS_PER_PARTITION))
        told = Listeners(progress)
        rows = work.path / spill
        if not rows.exists():
            told.begin("Separando estabelecimentos", establishments)
            _scatter(snapshot, rows, partitions, told)
        told.begin("Escrevendo respostas", establishments)
        with closing(begin(work.path / building, _SCHEMA)) as connection:
            placed = (_placed(rows, each, partitions) for each in range(partitions))
            _write(connection, placed, lambda of: map(make, snapshot.companies_of(of)), told)
            save(connection, "of", of)
        make_durable(work.path / building)
        if not path.exists():
            raise OpenDataError(f"{path.name} não existe mais: outro mês tomou o seu lugar")
        for other in store.glob("*.answers"):
            other.unlink()  # of the month before: rows answer, if it comes back
        (work.path / building).replace(answers_of(path))
        work.remove()
    return answers_of(path)


def _scatter(snapshot: Snapshot, spill: Path, partitions: int, progress: ProgressListener) -> None:
    """Deal the establishments' rows over partitions, in the order of their companies' blocks."""
    writer = SpillWriter(spill, compressed=True)
    try:
        blocks = snapshot.establishments()
        while text := b"".join(islice(blocks, _BLOCKS_AT_ONCE)):
            rows = StoredRows(text, COMPANY_GROUP)
            batch: list[list[memoryview]] = [[] for _ in range(partitions)]
            deal(text, rows.lengths, blocks_of(rows.numbers, partitions), batch)
            writer.write(batch)
            progress.advance("", len(rows.starts), len(rows.starts))
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


def _placed(spill: Path, partition: int, partitions: int) -> tuple[list[int], list[bytes]]:
    """The places of a partition's rows, in their order, and the rows of these places."""
    text = read_partition(spill, partition, partitions)
    places = StoredRows(text, COMPANY_GROUP).places()
    order = np.argsort(places)
    rows = text.split(b"\n")
    return places[order].tolist(), [rows[each] for each in order.tolist()]


def _write(
    connection: apsw.Connection,
    partitions: Iterable[tuple[Sequence[int], Sequence[bytes]]],
    answers_of_rows: Callable[[Sequence[bytes]], Iterator[bytes]],
    progress: ProgressListener,
) -> None:
    done = int(meta(connection, "partitions_done"))
    pack = _packer(connection, ())
    for partition, (places, rows) in enumerate(partitions, 1):
        if partition > done:
            answers = answers_of_rows(rows)
            if pack is None:
                first = list(islice(answers, _SAMPLES))
                pack = _packer(connection, first)
                answers = chain(first, answers)
            assert pack is not None
            with connection:
                connection.executemany(
                    "INSERT INTO answer (place, body) VALUES (?, ?)",
                    zip(places, map(pack, answers), strict=True),
                )
                save(connection, "partitions_done", partition)
        progress.advance("", len(rows), len(rows))


def _packer(
    connection: apsw.Connection, samples: Sequence[bytes]
) -> Callable[[bytes], bytes] | None:
    """With the file's dictionary, trained on these answers if need be; None: there are none."""
    known = load(connection, "dictionary")
    if known is None:
        if not samples:
            return None
        known = b""
        with suppress(zstandard.ZstdError):  # too few, or all the same: nothing to learn
            known = zstandard.train_dictionary(
                _DICTIONARY_BYTES, list(samples), level=_LEVEL
            ).as_bytes()
        save(connection, "dictionary", known)
    loaded = zstandard.ZstdCompressionDict(known)
    if known:
        loaded.precompute_compress(level=_LEVEL)
    # With a checksum: a damaged disk must not make a wrong answer.
    return zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=loaded, write_dict_id=False, write_checksum=True
    ).compress


def _identity(snapshot: Path) -> bytes:
    """Which month, which build of it, and which form of answers."""
    with closing(Snapshot.open(snapshot)) as opened:
        info = msgspec.json.encode(opened.info())
    return sha256(b"%d %b %b" % (FORM, snapshot.name.encode(), info)).digest()
