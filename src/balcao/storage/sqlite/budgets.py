"""Budgets of the one file: remembered for as long as nobody but their keeper writes to it.

SQLite tells when a file has changed, whoever did it: what its own pages in memory rely on, this
relies on too (https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, "data version").
"""

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from balcao.core.budgets import periods_of
from balcao.storage.budgets import USE_COLUMNS, BudgetBook, Owner
from balcao.storage.sqlite import QUERIES

# By the row's key: cheaper than to insert it once more and meet the conflict.
USE_AGAIN = (
    f"UPDATE budget_use SET {', '.join(f'{name} = ?' for name in USE_COLUMNS[2:])}"  # noqa: S608 - columns of ours
    " WHERE budget_id = ? AND period = ?"
)

REMEMBERED_MAX = 20_000  # coverings and uses, of some 500 bytes each


class FileBudgets:
    """What one writing connection knows of budgets, from one of its commits to the next."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._book = BudgetBook(self)
        # Of the file, as the book knows it. None: there is no telling, so the book is void.
        self._version: int | None = None

    def book(self) -> BudgetBook:
        """The book for a transaction that was begun for writing.

        What it counts is forgotten again unless `committed` follows, whatever happens instead.
        """
        known, self._version = self._version, None
        if known != self._connection.data_version() or len(self._book) > REMEMBERED_MAX:
            self._book = BudgetBook(self)
        return self._book

    def committed(self) -> None:
        """The transaction is part of the file. Before anybody uses the connection again."""
        self._version = self._connection.data_version()

    def owned(self, owner: Owner, at_ms: int) -> Iterable[Sequence[Any]]:
        """See `BudgetReader`."""
        return self._connection.execute(QUERIES["budgets"], (*periods_of(at_ms), *owner))

    def named(self, budget_id: int, period: str) -> Iterable[Sequence[Any]]:
        """See `BudgetReader`."""
        return self._connection.execute(QUERIES["budgets_of_holds"], (budget_id, period))
