"""The tables of desk and caches that are copied, derived from our SQLite schema.

PostgreSQL's tables have the same columns under the same names, and a few more for its nodes.
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

# Tables that are not moved: the last probe of writing; the mark of `secret.key`, which each side
# has already; and the least numbers to issue, which each side sets itself (`continue_after`).
LEFT_BEHIND = ("heartbeat", "pepper", "number_floor")
# A backup has the mark, to be compared with its `secret.key`. Rate limits are reset; messages would
# be sent again by a restored service.
_NOT_BACKED_UP = ("heartbeat", "mail", "number_floor", "rate_limit")

# Append-only tables have triggers that refuse these unconditionally (without `WHEN`).
_VERBS = ("UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `kind` is SQLite's: INTEGER, REAL, TEXT or BLOB."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table with its key columns first. `mode` is that of its cache, None for the desk's."""

    name: str
    columns: Sequence[Column]
    key_columns: int  # how many of the columns are the key
    unique: Sequence[str]  # text columns with a unique constraint, besides the key
    numbered: bool  # its key is a number that the database issues
    appended: bool  # append-only
    mode: Mode | None = None

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    @property
    def key(self) -> Sequence[Column]:
        """The columns of the key."""
        return self.columns[: self.key_columns]

    @property
    def label(self) -> str:
        """The name, with the mode of its cache."""
        return self.name if self.mode is None else f"{self.name} ({self.mode})"


def newest_schema() -> int:
    """Return the newest version of the desk's schema, on either engine."""
    return _newest("desk")


def desk_tables() -> Sequence[MovedTable]:
    """Return the desk's tables that are moved, referenced ones first."""
    return [one for one in _in_order(newest_schema()) if one.name not in LEFT_BEHIND]


def backup_tables(schema: int) -> Sequence[MovedTable]:
    """Return the tables of a backup with this schema, referenced ones first."""
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
    query = partial(_query, folder, schema)
    listed = (
        "SELECT name, sql FROM sqlite_master"  # noqa: S608 - ours
        " WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        f" AND name <> '{statements.HISTORY}'"  # each database has its own
    )
    return {name: _table(query, name, mode) for name, _ in query(f"{listed} ORDER BY rowid")}


def _table(query: Callable[..., list[Any]], name: str, mode: Mode | None) -> MovedTable:
    rows = query(f"PRAGMA table_info({name})")
    keys = sorted((row[5], row[1]) for row in rows if row[5])
    kinds = {row[1]: row[2] for row in rows}
    in_order = [column for _, column in keys]
    in_order += [column for column in kinds if column not in in_order]
    triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
    walls = " ".join(sql for (sql,) in query(triggers, name))
    return MovedTable(
        name,
        [Column(column, kinds[column]) for column in in_order],
        len(keys),
        [column for column in _alone_unique(query, name) if kinds[column] == "TEXT"],
        numbered=len(keys) == 1 and kinds[in_order[0]] == "INTEGER",
        appended=all(re.search(rf"BEFORE {verb} ON \w+\s+BEGIN", walls) for verb in _VERBS),
        mode=mode,
    )


def _alone_unique(query: Callable[..., list[Any]], name: str) -> Sequence[str]:
    found = []
    for _, index, unique, origin, _ in query(f"PRAGMA index_list({name})"):
        columns = [row[2] for row in query(f"PRAGMA index_info({index})")]
        if unique and origin == "u" and len(columns) == 1:
            found += columns
    return found


def _parents(name: str, schema: int) -> set[str]:
    return {row[2] for row in _query("desk", schema, f"PRAGMA foreign_key_list({name})")}


def _query(folder: str, schema: int, sql: str, *values: str) -> list[Any]:
    return _model(folder, schema).execute(sql, values).fetchall()


@cache
def _model(folder: str, schema: int) -> apsw.Connection:
    """Return an empty database with this schema, to read its catalog."""
    connection = apsw.Connection(":memory:")
    files = statements.migrations("sqlite", folder)
    for number in sorted(number for number in files if number <= schema):
        connection.execute(files[number].read_text("utf-8"))
    return connection


def _newest(folder: str) -> int:
    return max(statements.migrations("sqlite", folder))
