"""Columns of result files: facts of an answer, and values to compare with those in a file.

Each operation defines its columns in its `page.py`, as pure functions of the API's JSON body (ADR
0045).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from balcao.core.writing import day
from balcao.operations.views import Body, truth


@dataclass(frozen=True, slots=True)
class SheetFact:
    """A column `balcao_<name>` and the function for its cells; None if the answer lacks it."""

    name: str
    of: Callable[[Body], str | None]


# Returns the official values of a fact. Empty: there is none; None: the answer lacks it.
Official = Callable[[Body], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class SheetColumns:
    """An operation's columns, and by name of a fact (`razao_social`, `cep`) its official values."""

    facts: Sequence[SheetFact] = ()
    official: Mapping[str, Official] = field(default_factory=dict)


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


def fact(name: str, path: str) -> SheetFact:
    """Return a column with a text, a number or a flag of the answer."""
    steps = _steps(path)

    def of(body: Body) -> str | None:
        value = _reach(body, steps)
        if type(value) is str:
            return value or None
        if isinstance(value, bool):
            return truth(value)
        return None if value is None else str(value)

    return SheetFact(name, of)


def day_fact(name: str, path: str) -> SheetFact:
    """Return a column of dates, formatted as `31/12/2026`."""

    def of(body: Body) -> str | None:
        value = within(body, path)
        return day(str(value)) if value else None

    return SheetFact(name, of)


def one(path: str) -> Official:
    """Return a function that reads the official value at a path of the body."""

    def of(body: Body) -> Sequence[str] | None:
        value = within(body, path)
        return None if value is None or value == "" else (str(value),)

    return of


def joined(*parts: object, by: str = ", ") -> str | None:
    """Join the parts that are not empty; None if all are."""
    return by.join(str(part) for part in parts if part) or None
