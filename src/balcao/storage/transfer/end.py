"""The two sides of a copy, whichever engine they are."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from balcao.core.errors import StorageNewer
from balcao.storage.contract import LedgerCheck
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.lines import PutAside
from balcao.storage.transfer.tables import MovedTable


class Tables(Protocol):
    """The tables of an open desk, and of its caches, whose rows are read and written as lines.

    Used by one thread.
    """

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run one statement on the desk, with question marks for values; return all its rows."""
        ...

    def is_there(self, name: str) -> bool:
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
        """Return how many rows a table has, all or those of such numbers."""
        ...

    def make_room(self, months: Collection[date]) -> None:
        """Make the partitions of these months, where the engine has any. Some may be there."""
        ...

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Add rows. The schema's triggers do not run: the balances come with the accounts."""
        ...

    def update(self, table: MovedTable, lines: PutAside) -> None:
        """Give rows that are there their new form. The triggers do not run."""
        ...

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Remove rows. The triggers do not run."""
        ...

    def greatest(self, table: MovedTable) -> int:
        """Return the greatest number in a table; 0: it is empty."""
        ...

    def last_number(self, table: MovedTable) -> int:
        """Return the greatest number that was ever given, as far as it is known; 0: none."""
        ...

    def go_on_after(self, table: MovedTable, number: int) -> None:
        """Make the next number given greater than this one."""
        ...


class End(Tables, Protocol):
    """The source or the target of a move."""

    @property
    def place(self) -> str:
        """The place, as shown to people: without user and password."""
        ...

    def claim(self) -> None:
        """Make sure that no server runs here. Raises `MoveRefused`."""
        ...

    def one_moment(self, *, alone: bool) -> AbstractContextManager[None]:
        """Read everything as of one moment. `alone`: nobody may write before the end."""
        ...

    def together(self) -> AbstractContextManager[Any]:
        """Keep all that is written within, or none of it."""
        ...

    def wall_up(self) -> None:
        """Refuse every change of every table from now on."""
        ...

    def tear_down(self) -> None:
        """Undo `wall_up`."""
        ...

    def recover(self, now_ms: int) -> int:
        """Give back the holds of processes that ended, as every start does. Return their count."""
        ...

    def books(self) -> LedgerCheck:
        """Add the books up again."""
        ...

    def close(self) -> None:
        """Close the connections and release the locks."""
        ...


def check_version(has: int, newest: int) -> None:
    """Refuse to read another schema than this program's. Raises `MoveRefused`, `StorageNewer`."""
    if has > newest:
        raise StorageNewer(f"schema {has} is newer than this program's {newest}")
    if has < newest:
        raise MoveRefused(
            f"A origem tem a versão {has} do esquema, e este programa usa a {newest}: inicie antes"
            " o serviço com esta versão do Balcão, que a atualiza."
        )
