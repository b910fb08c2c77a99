"""One end of a move, whichever engine it is: what both can be asked and told."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from balcao.core.errors import StorageNewer
from balcao.storage.contract import LedgerCheck
from balcao.storage.ends.errors import MoveRefused
from balcao.storage.ends.lines import PutAside
from balcao.storage.ends.tables import MovedTable


class End(Protocol):
    """Where data come from, or go to. Used by one thread."""

    @property
    def place(self) -> str:
        """Where it is, for people: no user and no password."""
        ...

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """One statement on the desk, values as question marks; all its rows."""
        ...

    def is_there(self, name: str) -> bool:
        """Whether the desk has a table of this name."""
        ...

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        """The rows of a table as lines, all or those whose number is greater than `after`."""
        ...

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        """How many rows it has, all or those of such numbers."""
        ...

    def make_room(self, months: Collection[date]) -> None:
        """Rows of these months will come: make what an engine has by month. Some may be there."""
        ...

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Add rows. The schema's triggers are not asked: the balances come with the accounts."""
        ...

    def update(self, table: MovedTable, lines: PutAside) -> None:
        """Give rows that are there their new form, likewise."""
        ...

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """Remove rows, likewise."""
        ...

    def greatest(self, table: MovedTable) -> int:
        """The greatest number in it; 0: it is empty."""
        ...

    def last_number(self, table: MovedTable) -> int:
        """The greatest number that was ever given, as far as it is known; 0: none."""
        ...

    def go_on_after(self, table: MovedTable, number: int) -> None:
        """The next number given is greater than this one."""
        ...

    def claim(self) -> None:
        """Make sure that no server runs here. Raises `MoveRefused`."""
        ...

    def one_moment(self, *, alone: bool) -> AbstractContextManager[None]:
        """What is read within is of one moment. `alone`: nobody may write before its end."""
        ...

    def together(self) -> AbstractContextManager[Any]:
        """What is told within is kept whole or not at all."""
        ...

    def wall_up(self) -> None:
        """No table takes a change any more, whoever wants to make it."""
        ...

    def tear_down(self) -> None:
        """Tables take changes again."""
        ...

    def recover(self, now_ms: int) -> int:
        """Give back the holds of processes that ended, as every start does. Count."""
        ...

    def books(self) -> LedgerCheck:
        """Add the books up again."""
        ...

    def close(self) -> None:
        """Let go of it."""
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
