"""The interface of a connection, the same for both engines."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias


class Rows(Protocol):
    """The result rows of a statement."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """Runs single statements in an open transaction. Placeholders of values are question marks."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one statement."""
        ...


class SqlConnection(Protocol):
    """One connection. Placeholders of values are question marks."""

    # The error that a broken constraint of the schema raises.
    broken_rule: type[Exception]
    # A condition: the bytes of `{column}` contain those of the parameter.
    contains: str
    # The end of a SELECT by which several processes claim different rows.
    skip_locked: str
    # The value of a new row's number in an INSERT; formatted with `{table}` and `{column}`.
    new_number: str

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one statement."""
        ...

    def insert_rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Insert many rows, fast, within a transaction."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Open a transaction for writing. These transactions run one after another.

        So rows that only such transactions change do not change between a read and the commit.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Open a read transaction on one snapshot. It does not block writers."""
        ...

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        """Make the next number of a table at least this one, within a transaction."""
        ...

    def scrub(self) -> None:
        """Remove deleted content from the files, as far as the engine can. Blocks no writer."""
        ...


# Opens another connection for slow reads; it is closed afterwards.
OpenReader: TypeAlias = Callable[[], AbstractContextManager[SqlConnection]]
