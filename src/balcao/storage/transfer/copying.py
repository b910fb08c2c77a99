"""Copying a whole desk into an empty one: backups of PostgreSQL, and restores into it."""

from collections.abc import Callable, Collection
from datetime import date
from typing import TypeAlias

from balcao.core.calendar import civil_day
from balcao.core.freshness import DAY_MS
from balcao.storage.transfer.endpoint import Tables
from balcao.storage.transfer.errors import BackupStopped
from balcao.storage.transfer.mark import copy_mark
from balcao.storage.transfer.tables import backup_tables

Stopped: TypeAlias = Callable[[], bool]

_TIMES = ("at_ms / {} FROM ledger_entry", "opened_ms / {} FROM charged_lookup",
          "opened_ms / {} FROM trace")  # fmt: skip


def never() -> bool:
    """Return False: a `Stopped` for a process without a server."""
    return False


def check_stopped(stopped: Stopped) -> None:
    """Raise `BackupStopped` if the server is stopping."""
    if stopped():
        raise BackupStopped("O backup foi interrompido.")


def copy_desk(source: Tables, target: Tables, schema: int) -> None:
    """Copy all rows of a desk into an empty one of the same schema.

    The source's transaction makes the copy a consistent snapshot.
    """
    target.make_partitions(months_of(source))
    for table in backup_tables(schema):
        target.insert(table, source.lines(table))
        if table.numbered:
            target.continue_after(table, source.last_number(table))
    copy_mark(source, target)


def months_of(source: Tables) -> Collection[date]:
    """Return the months, in Brasília, in which there were requests."""
    days = {
        int(day)
        for sql in _TIMES
        for (day,) in source.query(f"SELECT DISTINCT {sql.format(DAY_MS)}")
    }
    # A UTC day overlaps two days in Brasília.
    ends = (at_ms for day in days for at_ms in (day * DAY_MS, (day + 1) * DAY_MS - 1))
    return {civil_day(at_ms).replace(day=1) for at_ms in ends}
