"""Counts of a search by main activity: the sections, divisions, groups or classes below it.

Counts are free of charge, for a search that was paid for; each level narrows the search.
"""

from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.activities import ActivityLevel, levels_below
from balcao.core.search import COUNT_MAX, HitCount
from balcao.web.pages.search.terms import MonthNames

# Fields of a search that are no filters.
_OTHERS = frozenset({"limite", "cursor"})
_NARROWED = ("divisao", "cnae_principal")


class LevelCount(msgspec.Struct, frozen=True):
    """A level with its number of hits."""

    level: ActivityLevel
    hits: HitCount
    narrowed: str  # the value of its button: `divisao=47`

    @property
    def number(self) -> str:
        """The number in words; a dash if time did not suffice."""
        total = f"{self.hits.total:,}".replace(",", ".")
        if self.hits.exact:
            return total
        if not self.hits.total:
            return "—"
        return f"mais de {total}" if self.hits.total >= COUNT_MAX else f"ao menos {total}"


def levels_of(filters: Mapping[str, str], names: MonthNames) -> Sequence[ActivityLevel]:
    """Return the levels below a search."""
    divisions, begins = (
        [each.strip() for each in filters.get(name, "").split(",") if each.strip()]
        for name in _NARROWED
    )
    return levels_below(divisions, begins, names.activities)


def narrowed_filters(
    filters: Mapping[str, str], levels: Sequence[ActivityLevel]
) -> Sequence[Mapping[str, str]]:
    """Return the filters of each level."""
    kept = {name: value for name, value in filters.items() if name not in _OTHERS}
    return [kept | dict([_narrowing(level)]) for level in levels]


def counted(levels: Sequence[ActivityLevel], hits: Sequence[HitCount]) -> Sequence[LevelCount]:
    """Return the levels that have hits, or may have them."""
    return [
        LevelCount(level, of, "=".join(_narrowing(level)))
        for level, of in zip(levels, hits, strict=True)
        if of.total or not of.exact
    ]


def narrowing(value: str) -> Mapping[str, str]:
    """Return the filter in the value of a level's button; empty if it is no level's."""
    name, _, codes = value.partition("=")
    return {name: codes} if name in _NARROWED and codes else {}


def _narrowing(level: ActivityLevel) -> tuple[str, str]:
    if level.code.isdecimal() and len(level.code) > len(level.divisions[0]):
        return "cnae_principal", level.code
    return "divisao", ",".join(level.divisions)
