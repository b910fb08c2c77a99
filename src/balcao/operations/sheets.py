"""Columns of result files: facts of an answer, and values to compare with those in a file.

Each operation defines its columns in its `page.py`, as pure functions of the API's JSON body (ADR
0045).
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from balcao.operations.views import Body, truth

CellValue: TypeAlias = str | int | datetime.date | None
# The kind of a column's cells in spreadsheets. `receipt`: the address of a receipt.
CellKind: TypeAlias = Literal["text", "number", "day", "receipt"]


@dataclass(frozen=True, slots=True)
class SheetFact:
    """A column of result files and the function for its cells; None if the answer lacks it."""

    name: str  # `balcao_<name>` in CSV
    title: str  # in spreadsheets
    text: str  # its description
    of: Callable[[Body], CellValue]
    kind: CellKind = "text"
    width: int = 18  # in spreadsheets, in characters


# Returns the official values of a fact. Empty: there is none; None: the answer lacks it.
Official = Callable[[Body], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class SheetColumns:
    """An operation's columns, and by name of a fact (`razao_social`, `cep`) its official values."""

    facts: Sequence[SheetFact] = ()
    official: Mapping[str, Official] = field(default_factory=dict)
    name: str = ""  # the fact that is the holder's name; empty: answers have none
    # Returns the outcome of an answer, to count equal ones; None: it has none.
    outcome: Callable[[Body], str | None] = lambda body: None

    def name_in(self, body: Body) -> str | None:
        """Return the holder's name in an answer."""
        found = next((each.of(body) for each in self.facts if each.name == self.name), None)
        return found if isinstance(found, str) else None


def within(body: Body, path: str) -> Any:
    """Return the value at a path such as `response.natureza_juridica.codigo`, or None."""
    return _reach(body, _steps(path))


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _reach(value: Any, steps: Sequence[str]) -> Any:
    for name in steps:
        if type(value) is not dict:  # six times faster than isinstance(value, Mapping)
            return None
        value = value.get(name)
    return value


def fact(name: str, path: str, title: str, text: str, width: int = 18) -> SheetFact:
    """Return a column with a text, a number or a flag of the answer."""
    steps = _steps(path)

    def of(body: Body) -> str | None:
        value = _reach(body, steps)
        if type(value) is str:
            return value or None
        if isinstance(value, bool):
            return truth(value)
        return None if value is None else str(value)

    return SheetFact(name, title, text, of, width=width)


def day_fact(name: str, path: str, title: str, text: str) -> SheetFact:
    """Return a column of dates."""
    steps = _steps(path)
    return SheetFact(name, title, text, lambda body: day_of(_reach(body, steps)), "day", 12)


def day_of(value: object) -> CellValue:
    """Return the date that a text begins with; another text is returned unchanged."""
    if not value:
        return None
    text = str(value)
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return text


def one(path: str) -> Official:
    """Return a function that reads the official value at a path of the body."""

    def of(body: Body) -> Sequence[str] | None:
        value = within(body, path)
        return None if value is None or value == "" else (str(value),)

    return of


def joined(*parts: object, by: str = ", ") -> str | None:
    """Join the parts that are not empty; None if all are."""
    return by.join(str(part) for part in parts if part) or None


RECEIPT = SheetFact(
    "comprovante",
    "Comprovante",
    "Endereço do comprovante: na planilha, o da página, completo.",
    lambda body: body.get("print"),
    "receipt",
    44,
)
