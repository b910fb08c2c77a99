"""A connection as the desk's SQL sees it, whichever engine is behind it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias


class Rows(Protocol):
    """What a statement gave."""

    def fetchone(self) -> Any:
        """The first row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """One connection. Values stand in the SQL as question marks."""

    # What is raised when a rule of the schema is broken.
    broken_rule: type[Exception]
    # Whether the bytes of a column are somewhere within another's; the column comes first.
    contains: str
    # Ends a SELECT of rows that several processes want to take: each takes others.
    skip_locked: str
    # The number of a new row, as a value of an INSERT; the table and its numbered column come in.
    new_number: str

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one statement."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All that is written within, or none of it; such transactions follow one another.

        So what is read within stays true to the end, as far as only deeds change it.
        """
        ...

    def one_moment(self) -> AbstractContextManager[None]:
        """What is read within is of one moment, and keeps nobody from writing."""
        ...

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        """Issue no number below this one in a table any more. Part of a transaction."""
        ...

    def scrub(self) -> None:
        """Take what was erased out of the files, as far as that can be done.

        Keeps nobody else from writing.
        """
        ...


# Another one for what may take long, closed afterwards.
Apart: TypeAlias = Callable[[], AbstractContextManager[SqlConnection]]
