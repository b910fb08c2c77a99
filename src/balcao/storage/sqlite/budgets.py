"""A cache of budgets for the writing connection, valid as long as nothing else writes to the file.

SQLite's data version changes with every foreign write; its own page cache relies on it, too
(https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, "data version").
"""

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from balcao.core.budgets import periods_of
from balcao.storage.budgets import USE_COLUMNS, BudgetBook, Owner
from balcao.storage.sqlite import QUERIES

# An UPDATE by key is cheaper than an INSERT that conflicts.
UPDATE_USE = (
    f"UPDATE budget_use SET {', '.join(f'{name} = ?' for name in USE_COLUMNS[2:])}"  # noqa: S608 - columns of ours
    " WHERE budget_id = ? AND period = ?"
)

REMEMBERED_MAX = 20_000  # entries of about 500 bytes each


class FileBudgets:
    """The budgets that a writing connection keeps between its commits."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._book = BudgetBook(self)
        # The file's data version that the book is based on. None: unknown, so the book is invalid.
        self._version: int | None = None

    def book(self) -> BudgetBook:
        """Return the book for a write transaction that has begun.

        The book is discarded afterwards, unless `committed` is called.
        """
        known, self._version = self._version, None
        if known != self._connection.data_version() or len(self._book) > REMEMBERED_MAX:
            self._book = BudgetBook(self)
        return self._book

    def committed(self) -> None:
        """Keep the book after a commit. Must be called before the connection is used again."""
        self._version = self._connection.data_version()

    def read_owned(self, owner: Owner, at_ms: int) -> Iterable[Sequence[Any]]:
        return self._connection.execute(QUERIES["budgets"], (*periods_of(at_ms), *owner))

    def read_period(self, budget_id: int, period: str) -> Iterable[Sequence[Any]]:
        return self._connection.execute(QUERIES["budgets_of_holds"], (budget_id, period))
