"""What is moved: every table of the desk and of the caches, as our own SQLite schema has them.

PostgreSQL's tables have the same columns by the same names, and a few for its nodes besides.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import apsw

from balcao.core.questions import Mode
from balcao.storage.sqlite.files import migrate

MODES: Sequence[Mode] = ("live", "test")

# A time of this process, and nothing that anybody would miss; the mark of `secret.key`, which each
# end has of its own and compares with the folder's; and from where on numbers are issued, which
# each end writes in its own way (`go_on_after`).
LEFT_BEHIND = ("heartbeat", "pepper", "number_floor")

# What no row of a table suffers that only grows. Under a condition (`WHEN`) it is another matter.
_DEEDS = ("UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `kind` is SQLite's: INTEGER, REAL, TEXT or BLOB."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class MovedTable:
    """One table, its key first. `mode` is that of the cache it belongs to, None for the desk's."""

    name: str
    columns: Sequence[Column]
    key_columns: int  # so many of the columns are the key, in its order
    unique: Sequence[str]  # texts that no two rows share, besides the key
    numbered: bool  # its key is a number that the database gives
    appended: bool  # its rows never change and never go
    mode: Mode | None = None

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    @property
    def key(self) -> Sequence[Column]:
        """The columns that tell a row from the others."""
        return self.columns[: self.key_columns]

    @property
    def label(self) -> str:
        """Its name, and of which cache it is."""
        return self.name if self.mode is None else f"{self.name} ({self.mode})"


@cache
def desk_tables() -> Sequence[MovedTable]:
    """The desk's, those that are referred to before those that refer to them."""
    found = _tables("desk", None)
    parents = {name: _parents(name) for name in found}
    ordered: list[MovedTable] = []
    while parents:
        free = [name for name, needs in parents.items() if not needs & parents.keys() - {name}]
        assert free, "the schema refers in a circle"
        for name in free:
            del parents[name]
            ordered.append(found[name])
    return ordered


@cache
def cache_table(mode: Mode) -> MovedTable:
    """The only one of a cache."""
    (table,) = _tables("cache", mode).values()
    return table


def all_tables() -> Sequence[MovedTable]:
    """Everything that is moved, in the order in which rows can be inserted."""
    return [*desk_tables(), *map(cache_table, MODES)]


def _tables(folder: str, mode: Mode | None) -> dict[str, MovedTable]:
    listed = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return {
        name: _table(folder, name, mode)
        for name, _ in _ask(folder, f"{listed} ORDER BY rowid")
        if name not in LEFT_BEHIND
    }


def _table(folder: str, name: str, mode: Mode | None) -> MovedTable:
    rows = _ask(folder, f"PRAGMA table_info({name})")
    keys = sorted((row[5], row[1]) for row in rows if row[5])
    kinds = {row[1]: row[2] for row in rows}
    in_order = [column for _, column in keys]
    in_order += [column for column in kinds if column not in in_order]
    triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
    walls = " ".join(sql for (sql,) in _ask(folder, triggers, name))
    return MovedTable(
        name,
        [Column(column, kinds[column]) for column in in_order],
        len(keys),
        [column for column in _alone_unique(folder, name) if kinds[column] == "TEXT"],
        numbered=len(keys) == 1 and kinds[in_order[0]] == "INTEGER",
        appended=all(re.search(rf"BEFORE {deed} ON \w+\s+BEGIN", walls) for deed in _DEEDS),
        mode=mode,
    )


def _alone_unique(folder: str, name: str) -> Sequence[str]:
    found = []
    for _, index, unique, origin, _ in _ask(folder, f"PRAGMA index_list({name})"):
        columns = [row[2] for row in _ask(folder, f"PRAGMA index_info({index})")]
        if unique and origin == "u" and len(columns) == 1:
            found += columns
    return found


def _parents(name: str) -> set[str]:
    return {row[2] for row in _ask("desk", f"PRAGMA foreign_key_list({name})")}


def _ask(folder: str, sql: str, *values: str) -> list[Any]:
    return _model(folder).execute(sql, values).fetchall()


@cache
def _model(folder: str) -> apsw.Connection:
    """A new and empty database of ours, to be asked what is in one."""
    connection = apsw.Connection(":memory:")
    migrate(connection, folder)
    return connection
