"""Spill files: rows read from one zip, distributed over partitions, waiting to be sorted.

One file per zip. It is written under a temporary name and renamed when complete, so an existing
file is whole: the unit at which a killed import resumes. Layout: batches (each: the rows of
partition 0, of partition 1, ...), then the offsets where each begins, then the report of the
reading, then the lengths of these two and whether the rows are compressed.
"""

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard

from balcao.opendata.repair import Reject
from balcao.opendata.tally import ColumnTally

# Level 1 shrinks rows 2.6 times for 2 ns a byte; the faster levels save no time here.
_LEVEL = 1
_TAIL = struct.Struct("<QQ?")


class PartReport(msgspec.Struct):
    """The result of reading one zip."""

    file: str
    table: str
    read: int  # records, rejected ones included
    mended: int  # records that were not clean and could be read
    rejects: list[Reject]
    tally: ColumnTally
    left_out: str = ""  # why none of it is imported; of optional files only


class SpillWriter:
    """Writes one spill file. Nothing is at `path` until `finish`."""

    def __init__(self, path: Path, *, compressed: bool) -> None:
        self._path = path
        # Two processes may write the same spill: one that lost its parent, and its successor.
        self._temporary = path.with_suffix(f".{os.getpid()}.tmp")
        self._file = self._temporary.open("wb")
        self._compressed = compressed
        compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._pack: Callable[[bytes], bytes] = compressor.compress if compressed else bytes
        self._index: list[list[int]] = []

    def write(self, batch: Sequence[Sequence[memoryview | bytes]]) -> None:
        """Write the pieces of each partition."""
        begins = [self._file.tell()]
        for pieces in batch:
            if pieces:
                self._file.write(self._pack(b"".join(pieces)))
            begins.append(self._file.tell())
        self._index.append(begins)

    def finish(self, report: PartReport | None = None) -> None:
        """Rename the complete file to its name; `report` is that of its zip."""
        index = np.array(self._index, np.uint64).tobytes()
        packed = msgspec.msgpack.encode(report)
        tail = _TAIL.pack(len(index), len(packed), self._compressed)
        self._file.write(index + packed + tail)
        self._file.close()
        self._temporary.replace(self._path)

    def abandon(self) -> None:
        """Delete the unfinished file."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def read_report(path: Path) -> PartReport:
    """Return the report of a complete spill file."""
    with path.open("rb") as file:
        file.seek(-_TAIL.size, os.SEEK_END)
        _, packed_bytes, _ = _TAIL.unpack(file.read())
        file.seek(-_TAIL.size - packed_bytes, os.SEEK_END)
        return msgspec.msgpack.decode(file.read(packed_bytes), type=PartReport)


def read_partition(path: Path, partition: int, partitions: int) -> bytes:
    """Return all rows of one partition, in the order in which they were read."""
    with path.open("rb") as file:
        index, compressed = _read_index(file.fileno(), partitions)
        segments: Iterable[bytes] = (
            os.pread(file.fileno(), end - begin, begin)
            for begin, end in zip(
                index[:, partition].tolist(), index[:, partition + 1].tolist(), strict=True
            )
            if end > begin
        )
        if compressed:
            segments = map(zstandard.ZstdDecompressor().decompress, segments)
        return b"".join(segments)


def _read_index(descriptor: int, partitions: int) -> tuple[npt.NDArray[np.uint64], bool]:
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TAIL.size, size - _TAIL.size)
    index_bytes, packed_bytes, compressed = _TAIL.unpack(tail)
    begin = size - _TAIL.size - packed_bytes - index_bytes
    flat = np.frombuffer(os.pread(descriptor, index_bytes, begin), np.uint64)
    return flat.reshape(-1, partitions + 1), compressed
