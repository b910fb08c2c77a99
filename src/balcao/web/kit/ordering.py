"""Order of a whole list, chosen by a link in a column's heading: `?ordem=nome`, `?ordem=-nome`.

Only for lists that are read whole: ordering one page of a longer list would mislead.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from balcao.core.request_tags import contains_cpf
from balcao.core.text import unaccented
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext

FIELD = "ordem"

Row = TypeVar("Row")
Value = str | float | None


@dataclass(frozen=True, slots=True)
class OrderBy(Generic[Row]):
    """A column's value in a row. `largest_first`: the order that the first press chooses."""

    value: Callable[[Row], Value]
    largest_first: bool = False


@dataclass(frozen=True, slots=True)
class Ordering(Generic[Row]):
    """The columns of a list that can be chosen, and the chosen one."""

    columns: Mapping[str, OrderBy[Row]]
    path: str
    kept: Mapping[str, str]  # the other fields of the address
    column: str
    is_descending: bool

    @property
    def chosen(self) -> str:
        """The value of the address's field."""
        return f"-{self.column}" if self.is_descending else self.column

    def state(self, column: str) -> Literal["ascending", "descending"] | None:
        """Return the value of a heading's `aria-sort`; None: ordered by another column."""
        if column != self.column:
            return None
        return "descending" if self.is_descending else "ascending"

    def href(self, column: str) -> str:
        """Return the address that a column's heading leads to: pressed again, it turns around."""
        if column == self.column:
            descending = not self.is_descending
        else:
            descending = self.columns[column].largest_first
        chosen = f"-{column}" if descending else column
        return filters.address(self.path, {**self.kept, FIELD: chosen})

    def page(self, field: str, number: int) -> str:
        """Return the address of another page in this order."""
        return filters.address(self.path, {**self.kept, FIELD: self.chosen, field: str(number)})

    def apply(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows in the chosen order; rows without a value come last."""
        by = self.columns[self.column]
        values = [(_comparable(by.value(row)), row) for row in rows]
        present = [pair for pair in values if pair[0] is not None]
        present.sort(key=lambda pair: pair[0], reverse=self.is_descending)
        return [row for _, row in present] + [row for value, row in values if value is None]


def ordering_of(
    context: PageContext,
    columns: Mapping[str, OrderBy[Row]],
    usual: str,
    paging: Sequence[str] = (),
) -> Ordering[Row]:
    """Read the order from the address, else `usual`; its fields for `paging` are not kept."""
    query = context.request.query_params
    asked = query.get(FIELD, "")
    if asked.removeprefix("-") not in columns:
        asked = usual
    dropped = (FIELD, "feito", *paging)
    # Filters that were refused because they hold a CPF are not repeated in links.
    kept = {
        name: value
        for name, value in query.items()
        if name not in dropped and not contains_cpf(value)
    }
    return Ordering(
        columns,
        context.request.url.path,
        kept,
        asked.removeprefix("-"),
        asked.startswith("-"),
    )


def _comparable(value: Value) -> Any:
    return unaccented(value) if isinstance(value, str) else value
