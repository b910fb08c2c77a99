"""Finished answers: what is said of each establishment of a month, ready to be sent.

A file derived from the published month and beside it: `2026-08-08.answers`. To read an answer
costs a tenth of putting it together from rows. It is built after the month is in use, at low
priority and by another process; until it is there, and where there is no room for it, rows
answer. It goes when its month goes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec
import numpy as np
import zstandard

from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.opendata.errors import OpenDataError
from balcao.opendata.files import begin, load, make_durable, meta, open_finished, save
from balcao.opendata.keys import number_of, spread
from balcao.opendata.layout import COMPANY_GROUP, ESTABLISHMENT_GROUP
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.store import WorkFolder
from balcao.opendata.stored import StoredRows

# Raised when an answer is made otherwise: files of another form are not read. A test tells when.
FORM = 3

# Small tables stay in the processor's cache; twice the size packs 2 % better.
_DICTIONARY_BYTES = 32 * 1024
_SAMPLES, _SAMPLED_RANGES = 4_000, 16
_LEVEL = 3
_BYTES_EACH = 150  # of disk, for each establishment

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answer (number INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "INSERT OR IGNORE INTO meta VALUES ('ranges_done', 0);"
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
        number = number_of(cnpj.text[:12])
        try:
            if self._blob is None:
                self._blob = self._connection.blob_open("main", "answer", "body", number, False)
            else:
                self._blob.reopen(number)
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
    building = f"{of.hex()[:16]}.building"
    with (
        WorkFolder(store, "answers", "answers.lock", {building, f"{building}-journal"}) as work,
        closing(Snapshot.open(path)) as snapshot,
    ):
        establishments, ranges = snapshot.info().rows["Estabelecimentos"], snapshot.ranges
        work.demand(establishments * _BYTES_EACH)
        told = Listeners(progress)
        told.begin("Escrevendo respostas", establishments)
        with closing(begin(work.path / building, _SCHEMA)) as connection:
            pack = _packer(connection, snapshot, make)
            done = int(meta(connection, "ranges_done"))
            for number in range(done, ranges):
                packed = sorted(zip(*_packed(snapshot, number, make, pack), strict=True))
                with connection:
                    connection.executemany(
                        "INSERT INTO answer (number, body) VALUES (?, ?)", packed
                    )
                    save(connection, "ranges_done", number + 1)
                told.advance("", len(packed), len(packed))
            save(connection, "of", of)
        make_durable(work.path / building)
        if not path.exists():
            raise OpenDataError(f"{path.name} não existe mais: outro mês tomou o seu lugar")
        for other in store.glob("*.answers"):
            other.unlink()  # of the month before: rows answer, if it comes back
        (work.path / building).replace(answers_of(path))
        work.remove()
    return answers_of(path)


def _rows(snapshot: Snapshot, number: int) -> tuple[Sequence[int], Sequence[bytes]]:
    """The establishments of a range in the order of their companies' blocks: numbers, and rows."""
    text = snapshot.rows_in(ESTABLISHMENT_GROUP, range(number, number + 1))
    order = np.argsort(spread(StoredRows(text, COMPANY_GROUP).numbers))
    rows = text.split(b"\n")
    numbers = StoredRows(text, ESTABLISHMENT_GROUP).numbers
    return numbers[order].tolist(), [rows[each] for each in order.tolist()]


def _packed(
    snapshot: Snapshot, number: int, make: Make, pack: Callable[[bytes], bytes]
) -> tuple[Sequence[int], Sequence[bytes]]:
    numbers, rows = _rows(snapshot, number)
    return numbers, [pack(make(company)) for company in snapshot.companies_of(rows)]


def _samples(snapshot: Snapshot, make: Make) -> Iterator[bytes]:
    """Answers of several ranges; the first one has the oldest companies."""
    step = max(1, snapshot.ranges // _SAMPLED_RANGES)
    for number in range(0, snapshot.ranges, step):
        _, rows = _rows(snapshot, number)
        yield from map(make, snapshot.companies_of(rows[: _SAMPLES // _SAMPLED_RANGES]))


def _packer(
    connection: apsw.Connection, snapshot: Snapshot, make: Make
) -> Callable[[bytes], bytes]:
    """With the file's dictionary, trained on some answers if need be."""
    known = load(connection, "dictionary")
    if known is None:
        known = b""
        with suppress(zstandard.ZstdError):  # too few, or all the same: nothing to learn
            known = zstandard.train_dictionary(
                _DICTIONARY_BYTES, list(_samples(snapshot, make)), level=_LEVEL
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
