"""The tables of the desk and of the caches that are copied, read from our own SQLite schema.

PostgreSQL's tables have the same columns by the same names, and a few for its nodes besides.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import apsw

from balcao.core.questions import Mode
from balcao.storage import statements

MODES: Sequence[Mode] = ("live", "test")

# A time of this process, and nothing that anybody would miss; the mark of `secret.key`, which each
# end has of its own and compares with the folder's; and from where on numbers are issued, which
# each end writes in its own way (`go_on_after`).
LEFT_BEHIND = ("heartbeat", "pepper", "number_floor")
# A backup has the mark, so that it can be compared with its `secret.key`. Limits begin anew.
_NOT_BACKED_UP = ("heartbeat", "number_floor", "rate_limit")

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


def newest_schema() -> int:
    """Return the version that this program brings a desk's schema up to, on either engine."""
    return _newest("desk")


def desk_tables() -> Sequence[MovedTable]:
    """Return the desk's tables that are moved; those that others refer to come first."""
    return [one for one in _in_order(newest_schema()) if one.name not in LEFT_BEHIND]


def backup_tables(schema: int) -> Sequence[MovedTable]:
    """Return the tables of a backup whose desk has this schema, in the same order."""
    return [one for one in _in_order(schema) if one.name not in _NOT_BACKED_UP]


@cache
def _in_order(schema: int) -> Sequence[MovedTable]:
    found = _tables("desk", schema, None)
    parents = {name: _parents(name, schema) for name in found}
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
    """Return the only table of a cache."""
    (table,) = _tables("cache", _newest("cache"), mode).values()
    return table


def all_tables() -> Sequence[MovedTable]:
    """Everything that is moved, in the order in which rows can be inserted."""
    return [*desk_tables(), *map(cache_table, MODES)]


def _tables(folder: str, schema: int, mode: Mode | None) -> dict[str, MovedTable]:
    ask = partial(_ask, folder, schema)
    listed = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return {name: _table(ask, name, mode) for name, _ in ask(f"{listed} ORDER BY rowid")}


def _table(ask: Callable[..., list[Any]], name: str, mode: Mode | None) -> MovedTable:
    rows = ask(f"PRAGMA table_info({name})")
    keys = sorted((row[5], row[1]) for row in rows if row[5])
    kinds = {row[1]: row[2] for row in rows}
    in_order = [column for _, column in keys]
    in_order += [column for column in kinds if column not in in_order]
    triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
    walls = " ".join(sql for (sql,) in ask(triggers, name))
    return MovedTable(
        name,
        [Column(column, kinds[column]) for column in in_order],
        len(keys),
        [column for column in _alone_unique(ask, name) if kinds[column] == "TEXT"],
        numbered=len(keys) == 1 and kinds[in_order[0]] == "INTEGER",
        appended=all(re.search(rf"BEFORE {deed} ON \w+\s+BEGIN", walls) for deed in _DEEDS),
        mode=mode,
    )


def _alone_unique(ask: Callable[..., list[Any]], name: str) -> Sequence[str]:
    found = []
    for _, index, unique, origin, _ in ask(f"PRAGMA index_list({name})"):
        columns = [row[2] for row in ask(f"PRAGMA index_info({index})")]
        if unique and origin == "u" and len(columns) == 1:
            found += columns
    return found


def _parents(name: str, schema: int) -> set[str]:
    return {row[2] for row in _ask("desk", schema, f"PRAGMA foreign_key_list({name})")}


def _ask(folder: str, schema: int, sql: str, *values: str) -> list[Any]:
    return _model(folder, schema).execute(sql, values).fetchall()


@cache
def _model(folder: str, schema: int) -> apsw.Connection:
    """Return an empty database with this schema, whose catalog is read."""
    connection = apsw.Connection(":memory:")
    files = statements.migrations("sqlite", folder)
    for number in sorted(number for number in files if number <= schema):
        connection.execute(files[number].read_text("utf-8"))
    return connection


def _newest(folder: str) -> int:
    return max(statements.migrations("sqlite", folder))
