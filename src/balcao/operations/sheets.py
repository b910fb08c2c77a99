"""What stands of an answer in a table of many: facts in columns, and values to compare with.

Each operation chooses in its own folder (`sheet.py`) what whoever keeps books wants to see. All
are pure functions of the JSON body that callers of the API get (decision 0045).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from balcao.core.writing import day
from balcao.operations.views import Body, truth


@dataclass(frozen=True, slots=True)
class SheetFact:
    """One column: `balcao_<name>`, and its cell; None: the answer does not say."""

    name: str
    of: Callable[[Body], str | None]


# The official values of one fact, as the answer writes them. Empty: there is none, and that is
# known; None: the answer does not say.
Official = Callable[[Body], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class InSheets:
    """Columns of an operation; by fact (`razao_social`, `cep`, …) what files are compared with."""

    facts: Sequence[SheetFact] = ()
    official: Mapping[str, Official] = field(default_factory=dict)


def within(body: Body, path: str) -> Any:
    """The value at `response.natureza_juridica.codigo`, None where there is none."""
    return _reach(body, _steps(path))


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _reach(value: Any, steps: Sequence[str]) -> Any:
    for name in steps:
        if type(value) is not dict:  # as JSON is read; asking for a Mapping takes six times as long
            return None
        value = value.get(name)
    return value


def fact(name: str, path: str) -> SheetFact:
    """A column with a text, number, or yes and no of the answer."""
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
    """A column with a day: `31/12/2026`."""

    def of(body: Body) -> str | None:
        value = within(body, path)
        return day(str(value)) if value else None

    return SheetFact(name, of)


def one(path: str) -> Official:
    """The official value at a path."""

    def of(body: Body) -> Sequence[str] | None:
        value = within(body, path)
        return None if value is None or value == "" else (str(value),)

    return of


def joined(*parts: object, by: str = ", ") -> str | None:
    """Those of the parts that say something; None: none does."""
    return by.join(str(part) for part in parts if part) or None
