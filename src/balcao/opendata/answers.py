"""Finished answers: the precomputed, serialised answer of each establishment of a month.

They are in a file derived from the published month, in the same folder: `2026-08-08.answers`.
Reading one costs a tenth of building it from rows. The file is built by another process, at low
priority, after the month is in use. Until then, and where the disk has no room for it, answers are
built from rows. It is deleted with its month.
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
from balcao.opendata.keys import hash_keys, number_of
from balcao.opendata.layout import COMPANY_GROUP, ESTABLISHMENT_GROUP
from balcao.opendata.progress import Listeners, ProgressListener
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.opendata.store import WorkFolder
from balcao.opendata.stored import StoredRows

# Version of the answers' form; files of others are not read. A test fails if it must be raised.
VERSION = 5

# Small tables stay in the processor's cache; twice the size packs 2 % better.
_DICTIONARY_BYTES = 32 * 1024
_SAMPLES, _SAMPLED_RANGES = 4_000, 16
_LEVEL = 3
_BYTES_EACH = 150  # of disk, for each establishment

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answer (number INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "INSERT OR IGNORE INTO meta VALUES ('ranges_done', 0);"
)

Serialize = Callable[[Company], bytes]


class Answers:
    """The finished answers of one month, open for reading. Not thread safe."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        dictionary = zstandard.ZstdCompressionDict(meta(connection, "dictionary"))
        self._unpack = zstandard.ZstdDecompressor(dict_data=dictionary).decompress
        self._blob: apsw.Blob | None = None

    @classmethod
    def open(cls, snapshot: Path) -> "Answers":
        """Open the answers of a month's file. Raises `OpenDataError` if there are none."""
        path = answers_path(snapshot)
        try:
            connection = open_finished(path)
            if meta(connection, "of") != _identity(snapshot):
                raise OpenDataError(f"{path} não é deste mês ou tem outro formato")
            return cls(connection)
        except (apsw.Error, OSError, zstandard.ZstdError) as error:
            raise OpenDataError(f"{path} não tem as respostas prontas de um mês") from error

    def find(self, cnpj: Cnpj) -> bytes | None:
        """Return the answer about a CNPJ; None: there is none. Raises `OpenDataError` (damaged)."""
        number = number_of(cnpj.text[:12])
        try:
            if self._blob is None:
                self._blob = self._connection.blob_open("main", "answer", "body", number, False)
            else:
                self._blob.reopen(number)
            return self._unpack(self._blob.read())
        except apsw.SQLError:  # no such row: the handle cannot be reopened
            self._close_blob()
            return None
        except (apsw.Error, zstandard.ZstdError) as error:
            raise OpenDataError("as respostas prontas estão danificadas") from error

    def close(self) -> None:
        self._close_blob()
        self._connection.close()

    def _close_blob(self) -> None:
        if self._blob is not None:
            self._blob.close(True)
            self._blob = None


def answers_path(snapshot: Path) -> Path:
    """Return the path of the finished answers of a month's file; the file may not exist."""
    return snapshot.with_suffix(".answers")


def has_answers(store: Path) -> bool:
    """Return whether the published month has answers. Raises `OpenDataError` without a month."""
    path = current_path(store)
    try:
        Answers.open(path).close()
    except OpenDataError:
        return False
    return True


def finish(store: Path, serialize: Serialize, progress: ProgressListener | None = None) -> Path:
    """Build the finished answers of the published month, next to its file.

    `serialize` encodes a company. An interrupted build is resumed. Raises `OpenDataError` (no
    month, damaged), `NoRoom`, `BuildRunning` (another process builds them).
    """
    path = current_path(store)
    identity = _identity(path)
    building = f"{identity.hex()[:16]}.building"
    with (
        WorkFolder(store, "answers", "answers.lock", {building, f"{building}-journal"}) as work,
        closing(Snapshot.open(path)) as snapshot,
    ):
        establishments, ranges = snapshot.info().rows["Estabelecimentos"], snapshot.ranges
        work.require_space(establishments * _BYTES_EACH)
        listeners = Listeners(progress)
        listeners.begin("Escrevendo respostas", establishments)
        with closing(begin(work.path / building, _SCHEMA)) as connection:
            pack = _packer(connection, snapshot, serialize)
            done = int(meta(connection, "ranges_done"))
            for number in range(done, ranges):
                packed = sorted(
                    zip(*_packed_answers(snapshot, number, serialize, pack), strict=True)
                )
                with connection:
                    connection.executemany(
                        "INSERT INTO answer (number, body) VALUES (?, ?)", packed
                    )
                    save(connection, "ranges_done", number + 1)
                listeners.advance("", len(packed), len(packed))
            save(connection, "of", identity)
        make_durable(work.path / building)
        if not path.exists():
            raise OpenDataError(f"{path.name} não existe mais: outro mês entrou no lugar")
        for other in store.glob("*.answers"):
            other.unlink()  # of the month before: after a rollback, answers are built from rows
        (work.path / building).replace(answers_path(path))
        work.remove()
    return answers_path(path)


def _rows(snapshot: Snapshot, number: int) -> tuple[Sequence[int], Sequence[bytes]]:
    """Return numbers and rows of a range's establishments, in the order of companies' blocks."""
    text = snapshot.rows_in(ESTABLISHMENT_GROUP, range(number, number + 1))
    order = np.argsort(hash_keys(StoredRows(text, COMPANY_GROUP).numbers))
    rows = text.split(b"\n")
    numbers = StoredRows(text, ESTABLISHMENT_GROUP).numbers
    return numbers[order].tolist(), [rows[each] for each in order.tolist()]


def _packed_answers(
    snapshot: Snapshot, number: int, serialize: Serialize, pack: Callable[[bytes], bytes]
) -> tuple[Sequence[int], Sequence[bytes]]:
    numbers, rows = _rows(snapshot, number)
    return numbers, [pack(serialize(company)) for company in snapshot.companies_of(rows)]


def _samples(snapshot: Snapshot, serialize: Serialize) -> Iterator[bytes]:
    """Yield answers from several ranges; the first one has the oldest companies."""
    step = max(1, snapshot.ranges // _SAMPLED_RANGES)
    for number in range(0, snapshot.ranges, step):
        _, rows = _rows(snapshot, number)
        yield from map(serialize, snapshot.companies_of(rows[: _SAMPLES // _SAMPLED_RANGES]))


def _packer(
    connection: apsw.Connection, snapshot: Snapshot, serialize: Serialize
) -> Callable[[bytes], bytes]:
    """Return the compressor with the file's dictionary, which is trained first if it is missing."""
    dictionary = load(connection, "dictionary")
    if dictionary is None:
        dictionary = b""
        with suppress(zstandard.ZstdError):  # too few, or all the same: nothing to learn
            dictionary = zstandard.train_dictionary(
                _DICTIONARY_BYTES, list(_samples(snapshot, serialize)), level=_LEVEL
            ).as_bytes()
        save(connection, "dictionary", dictionary)
    loaded = zstandard.ZstdCompressionDict(dictionary)
    if dictionary:
        loaded.precompute_compress(level=_LEVEL)
    # With a checksum: a damaged disk must never cause a wrong answer.
    return zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=loaded, write_dict_id=False, write_checksum=True
    ).compress


def _identity(snapshot: Path) -> bytes:
    """Return a digest of the month, its build and the form of answers."""
    with closing(Snapshot.open(snapshot)) as opened:
        info = msgspec.json.encode(opened.info())
    return sha256(b"%d %b %b" % (VERSION, snapshot.name.encode(), info)).digest()
