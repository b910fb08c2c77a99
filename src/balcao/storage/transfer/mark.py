"""Reading and writing the row that `storage.moved` checks: moves write it, backups copy it."""

from collections.abc import Sequence
from typing import Any

from balcao.storage.moved import TABLE
from balcao.storage.transfer.endpoint import Tables

_MADE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    only_row   bigint NOT NULL PRIMARY KEY CHECK (only_row = 1),
    storage_id text   NOT NULL,
    state      text   NOT NULL CHECK (state IN ('here', 'arriving', 'moved')),
    other_id   text   NOT NULL,
    place      text   NOT NULL,
    at_ms      bigint NOT NULL,
    proven     text   NOT NULL
)
"""
_COLUMNS = "storage_id, state, other_id, place, at_ms, proven"


def read_mark(tables: Tables) -> Sequence[Any] | None:
    """Return the columns of the mark, or None."""
    if not tables.has_table(TABLE):
        return None
    rows = tables.query(f"SELECT {_COLUMNS} FROM {TABLE}")  # noqa: S608
    return rows[0] if rows else None


def write_mark(tables: Tables, columns: Sequence[Any]) -> None:
    """Write the mark, within a transaction of the caller's."""
    tables.query(_MADE)
    tables.query(f"DELETE FROM {TABLE}")  # noqa: S608
    tables.query(
        f"INSERT INTO {TABLE} (only_row, {_COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        columns,
    )


def copy_mark(source: Tables, target: Tables) -> None:
    """Copy the mark of the source: the copy of a desk that was moved away is refused, too."""
    columns = read_mark(source)
    if columns is not None:
        write_mark(target, columns)
