"""Train a group's dictionary from a few megabytes of its rows. Runs in a worker."""

from collections.abc import Iterator
from dataclasses import dataclass

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.compression import SAMPLES_BYTES, train
from balcao.opendata.layout import TABLES, TableGroup, TableLayout
from balcao.opendata.scan import find_fields, stored_rows

# How many rows of each table a block holds, about (`rfb-open-data.md`, section 11).
_ROWS_IN_BLOCK = {"Estabelecimentos": 16, "Empresas": 16, "Simples": 12, "Socios": 6}


@dataclass(frozen=True, slots=True)
class TrainTask:
    """A group and its zips."""

    group: TableGroup
    parts: tuple[Part, ...]


def train_dictionary(task: TrainTask) -> bytes:
    """The dictionary; empty for months too small to need one.

    Blocks are sorted by a spread key, so to the eye their rows are drawn at random: rows as
    they come from a file make samples as good as real blocks, before any block exists.
    """
    rows = {table.name: _rows(table, task) for table in task.group.tables}
    samples: list[bytes] = []
    length = 0
    while length < SAMPLES_BYTES:
        sample = b"".join(
            b"\n" + row
            for table, of_table in rows.items()
            for row, _ in zip(of_table, range(_ROWS_IN_BLOCK[table]), strict=False)
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
        for chunk, _ in read_chunks(part):
            buffer = chunk[chunk.find(b"\n") + 1 : chunk.rfind(b"\n") + 1]
            fields = find_fields(buffer, TABLES[part.table]) if buffer else None
            if fields is not None:
                yield from stored_rows(fields, table).split(b"\n")[:-1]
