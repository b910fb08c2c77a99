"""Compression of blocks, with a dictionary trained on some megabytes of the month's rows.

A block has some 3 kB, too little for a compressor to learn from; the dictionary holds what all
blocks share (separators, cities, streets, activities, first names).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import zstandard

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.errors import BadInput
from balcao.opendata.layout import TAX_REGIMES, TableGroup, TableLayout
from balcao.opendata.scan import find_fields, stored_rows
from balcao.opendata.tax_regimes import read_lines

# Level 3 makes blocks 5 % smaller and takes a quarter longer, on the slowest step of all.
_LEVEL = 1
DICTIONARY_BYTES = 64 * 1024
SAMPLES_BYTES = 100 * DICTIONARY_BYTES  # as the authors of zstd recommend
_SAMPLES_BYTES_MIN = 4 * DICTIONARY_BYTES


class Packer:
    """Compresses blocks, each with a checksum: a damaged disk must never cause a wrong answer."""

    def __init__(self, dictionary: bytes) -> None:
        self.pack: Callable[[bytes | memoryview], bytes] = zstandard.ZstdCompressor(
            level=_LEVEL,
            dict_data=_load(dictionary, precompute=True),
            write_dict_id=False,
            write_checksum=True,
        ).compress


class Unpacker:
    """Decompresses blocks. Raises `zstandard.ZstdError` for invalid ones."""

    def __init__(self, dictionary: bytes) -> None:
        self.unpack: Callable[[bytes], bytes] = zstandard.ZstdDecompressor(
            dict_data=_load(dictionary, precompute=False)
        ).decompress


def _load(dictionary: bytes, *, precompute: bool) -> zstandard.ZstdCompressionDict:
    # An empty dictionary is allowed and has no effect.
    loaded = zstandard.ZstdCompressionDict(dictionary)
    if precompute and dictionary:
        loaded.precompute_compress(level=_LEVEL)
    return loaded


def train(samples: Sequence[bytes]) -> bytes:
    """Train a dictionary on sample blocks; empty when they are too few to learn from."""
    if sum(map(len, samples)) < _SAMPLES_BYTES_MIN:
        return b""
    try:
        trained = zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), level=_LEVEL)
    except zstandard.ZstdError:  # nothing to learn: all samples are the same
        return b""
    return trained.as_bytes()


# How many rows of each table a block holds, about (`rfb-open-data.md`, section 11).
_ROWS_IN_BLOCK = {"Estabelecimentos": 16, "Empresas": 16, "Simples": 12, "Socios": 6}
_ROWS_IN_BLOCK[TAX_REGIMES.name] = 4


@dataclass(frozen=True, slots=True)
class TrainTask:
    """A group and its zips, to train the group's dictionary on."""

    group: TableGroup
    parts: tuple[Part, ...]


def train_dictionary(task: TrainTask) -> bytes:
    """Train the group's dictionary; empty for months too small to need one.

    Blocks are sorted by a hashed key, so their rows are practically random: rows in the order of a
    file make samples as good as real blocks, before any block exists.
    """
    rows = {table.name: _rows(table, task) for table in task.group.tables}
    samples: list[bytes] = []
    length = 0
    while length < SAMPLES_BYTES:
        sample = b"".join(
            b"\n" + row
            for table, table_rows in rows.items()
            for row, _ in zip(table_rows, range(_ROWS_IN_BLOCK[table]), strict=False)
        )
        if not sample:
            break
        samples.append(sample)
        length += len(sample)
    return train(samples)


def _rows(table: TableLayout, task: TrainTask) -> Iterator[bytes]:
    parts = [part for part in task.parts if part.table == table.name]
    # From the middle on: part 0 is the one that differs from the others.
    for part in parts[len(parts) // 2 :]:
        for buffer in _buffers(part):
            fields = find_fields(buffer, table) if buffer else None
            if fields is not None:
                yield from stored_rows(fields, table).split(b"\n")[:-1]


def _buffers(part: Part) -> Iterator[bytes]:
    """Yield whole lines of a zip; none from where an optional one is damaged."""
    if part.table == TAX_REGIMES.name:
        with suppress(BadInput):
            yield from (lines.clean for lines, _ in read_lines(part))
        return
    for chunk, _ in read_chunks(part):
        yield chunk[chunk.find(b"\n") + 1 : chunk.rfind(b"\n") + 1]
