"""The snapshot while it is built: one SQLite file (`files.py`), one transaction per partition.

After a restart of the machine `store.Work` starts anew.
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
    """All that reading a group's zips left, besides their spill files."""

    reports: list[PartReport]  # in the order of the group's tables, then of their parts
    dictionary: bytes
    partitions: int
    blocks_per_partition: int


class Sorting(msgspec.Struct):
    """How far the sorting of a group is."""

    partitions_done: int = 0
    stored: dict[str, int] = {}  # rows by zip
    duplicates: dict[str, int] = {}  # rows by zip
    most_partners: tuple[int, str] = (0, "")

    def add(self, gathered: Gathered, files: Iterable[str]) -> None:
        """Count one more partition."""
        assert gathered.partition == self.partitions_done
        self.partitions_done += 1
        for file, stored, again in zip(files, gathered.stored, gathered.duplicates, strict=True):
            self.stored[file] = self.stored.get(file, 0) + stored
            self.duplicates[file] = self.duplicates.get(file, 0) + again
        self.most_partners = max(self.most_partners, gathered.most_partners)


class Building:
    """The one writer."""

    def __init__(self, path: Path) -> None:
        self._connection = begin(path, _SCHEMA)

    def reading(self, group: TableGroup) -> GroupReading | None:
        """What reading the group left; None when it is not complete."""
        value = load(self._connection, f"reading:{group.name}")
        return None if value is None else msgspec.msgpack.decode(value, type=GroupReading)

    def save_reading(self, group: TableGroup, reading: GroupReading) -> None:
        """The group's zips have all been read."""
        with self._connection:
            save(self._connection, f"reading:{group.name}", msgspec.msgpack.encode(reading))

    def sorting(self, group: TableGroup) -> Sorting:
        """How far the sorting of the group is."""
        value = load(self._connection, f"sorting:{group.name}")
        return Sorting() if value is None else msgspec.msgpack.decode(value, type=Sorting)

    def add(self, group: TableGroup, gathered: Gathered, sorting: Sorting) -> None:
        """Keep a partition's blocks, and that it is done, together."""
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
        """Write what a snapshot needs besides its blocks. Reading and sorting stay for resume."""
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
        """Release the file."""
        self._connection.close()


_SCHEMA = """
CREATE TABLE IF NOT EXISTS domain (
    name TEXT NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, code)
) WITHOUT ROWID;
""" + "".join(
    f"CREATE TABLE IF NOT EXISTS {group.name} (block INTEGER PRIMARY KEY, rows BLOB NOT NULL);\n"
    for group in GROUPS
)
