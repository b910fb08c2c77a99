"""The snapshot while it is built: one SQLite file (`files.py`), one transaction per partition.

After a restart of the machine `store.Work` starts over.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from balcao.opendata.domains import DomainTable
from balcao.opendata.files import begin, load, save
from balcao.opendata.gather import Gathered
from balcao.opendata.layout import GROUPS, TableGroup
from balcao.opendata.snapshot import SnapshotInfo
from balcao.opendata.spill import PartReport


class GroupReading(msgspec.Struct):
    """The result of reading a group's zips, without their spill files."""

    reports: list[PartReport]  # in the order of the group's tables, then of their parts
    dictionary: bytes
    partitions: int
    blocks_per_partition: int


class Sorting(msgspec.Struct):
    """Progress of sorting a group."""

    partitions_done: int = 0
    stored: dict[str, int] = {}  # rows by zip
    duplicates: dict[str, int] = {}  # rows by zip
    most_partners: tuple[int, str] = (0, "")

    def add(self, gathered: Gathered, files: Iterable[str]) -> None:
        assert gathered.partition == self.partitions_done
        self.partitions_done += 1
        for file, stored, again in zip(files, gathered.stored, gathered.duplicates, strict=True):
            self.stored[file] = self.stored.get(file, 0) + stored
            self.duplicates[file] = self.duplicates.get(file, 0) + again
        self.most_partners = max(self.most_partners, gathered.most_partners)


class SnapshotWriter:
    """The snapshot file under construction; has a single writer."""

    def __init__(self, path: Path) -> None:
        self._connection = begin(path, _SCHEMA)

    def reading(self, group: TableGroup) -> GroupReading | None:
        """Return the result of reading the group; None when it is not complete."""
        value = load(self._connection, f"reading:{group.name}")
        return None if value is None else msgspec.msgpack.decode(value, type=GroupReading)

    def save_reading(self, group: TableGroup, reading: GroupReading) -> None:
        """Record that all zips of the group have been read."""
        with self._connection:
            save(self._connection, f"reading:{group.name}", msgspec.msgpack.encode(reading))

    def sorting(self, group: TableGroup) -> Sorting:
        """Return the group's sorting progress."""
        value = load(self._connection, f"sorting:{group.name}")
        return Sorting() if value is None else msgspec.msgpack.decode(value, type=Sorting)

    def add(self, group: TableGroup, gathered: Gathered, sorting: Sorting) -> None:
        """Store a partition's blocks and the progress in one transaction."""
        first = gathered.partition * len(gathered.blocks)
        with self._connection:
            self._connection.executemany(
                f"INSERT INTO {group.name} (block, rows) VALUES (?, ?)",  # noqa: S608
                enumerate(gathered.blocks, first),
            )
            save(self._connection, f"sorting:{group.name}", msgspec.msgpack.encode(sorting))

    def finish(
        self,
        info: SnapshotInfo,
        dictionaries: dict[str, bytes],
        bounds: bytes,
        domains: Iterable[DomainTable],
    ) -> None:
        """Write everything but the blocks. The progress of the import is kept, for resuming."""
        with self._connection:
            self._connection.execute("DELETE FROM domain")
            self._connection.executemany(
                "INSERT INTO domain (name, code, text) VALUES (?, ?, ?)",
                (
                    (table.name, code, text)
                    for table in domains
                    for code, text in table.texts.items()
                    if text
                ),
            )
            for name, dictionary in dictionaries.items():
                save(self._connection, f"dictionary:{name}", dictionary)
            save(self._connection, "bounds", bounds)
            save(self._connection, "info", msgspec.json.encode(info))

    def close(self) -> None:
        self._connection.close()


_SCHEMA = """
CREATE TABLE IF NOT EXISTS domain (
    name TEXT NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, code)
) WITHOUT ROWID;
""" + "".join(
    f"CREATE TABLE IF NOT EXISTS {group.name} (block INTEGER PRIMARY KEY, rows BLOB NOT NULL);\n"
    for group in GROUPS
)
