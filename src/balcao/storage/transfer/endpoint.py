"""The interfaces of source and target of a copy, the same for both engines."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from balcao.core.errors import StorageNewer
from balcao.storage.contract import LedgerCheck
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.lines import LineBuffer
from balcao.storage.transfer.tables import MovedTable


class Tables(Protocol):
    """The tables of an open desk, and of its caches, with their rows as lines.

    Used by one thread.
    """

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run one statement on the desk, with question marks for values; return all its rows."""
        ...

    def has_table(self, name: str) -> bool:
        """Return whether the desk has a table of this name."""
        ...

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        """Yield the rows of a table as lines, all or those whose number is greater than `after`."""
        ...

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        """Return the number of rows of a table, all or those in a range of numbers."""
        ...

    def make_partitions(self, months: Collection[date]) -> None:
        """Create the missing partitions of these months, if the engine has partitions."""
        ...

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Add rows without running triggers: balances are copied with the accounts."""
        ...

    def update(self, table: MovedTable, lines: LineBuffer) -> None:
        """Update existing rows without running triggers."""
        ...

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Delete rows without running triggers."""
        ...

    def max_number(self, table: MovedTable) -> int:
        """Return the highest number in a table; 0 if it is empty."""
        ...

    def last_number(self, table: MovedTable) -> int:
        """Return the highest number ever issued, as far as recorded; 0: none."""
        ...

    def continue_after(self, table: MovedTable, number: int) -> None:
        """Issue only numbers above this one from now on."""
        ...


class MoveEndpoint(Tables, Protocol):
    """The source or the target of a move."""

    @property
    def place(self) -> str:
        """The place, as shown to people: without user and password."""
        ...

    def claim(self) -> None:
        """Check that no server runs here; lock it out if possible. Raises `MoveRefused`."""
        ...

    def snapshot(self, *, alone: bool) -> AbstractContextManager[None]:
        """Open one snapshot of all tables. `alone`: block writers until it ends."""
        ...

    def transaction(self) -> AbstractContextManager[Any]:
        """Open a transaction for writing."""
        ...

    def block_writes(self) -> None:
        """Make the database refuse every change of every table from now on."""
        ...

    def allow_writes(self) -> None:
        """Undo `block_writes`."""
        ...

    def recover(self, now_ms: int) -> int:
        """Release the holds of dead processes, as every start does. Return their count."""
        ...

    def books(self) -> LedgerCheck:
        """Check the consistency of the books."""
        ...

    def close(self) -> None:
        """Close the connections and release the locks."""
        ...


def check_version(has: int, newest: int) -> None:
    """Refuse a schema other than this program's. Raises `MoveRefused`, `StorageNewer`."""
    if has > newest:
        raise StorageNewer(f"schema {has} is newer than this program's {newest}")
    if has < newest:
        raise MoveRefused(
            f"A origem tem a versão {has} do esquema, e este programa usa a {newest}. Inicie"
            " antes o serviço com esta versão do Balcão para atualizar."
        )
