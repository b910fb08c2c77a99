"""Ranges of days and of amounts as tokens of the index of company search.

A range is the fewest decades, years and months that cover it, or classes of amounts without the
steps outside it. Months and steps that it cuts are listed: their records must be checked.
"""

import calendar
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeAlias

import msgspec

from balcao.core.search_record import (
    CAPITAL,
    CAPITAL_CLASS_MAX,
    CAPITAL_CLASSES,
    CAPITAL_STEP,
    YEAR_MAX,
    YEAR_MIN,
    capital_class,
    capital_step,
    steps_of_class,
    token,
)

Days: TypeAlias = tuple[str | None, str | None]  # from and to, both included

# Approximate cost of a token in a query, with a short and with a long list of records.
_SHORT, _LONG = 1, 4
_LONG_FROM_YEAR = "1990"
_LONG_CLASSES = frozenset(CAPITAL_CLASSES[:11])  # up to 99,999 reais


class TokenRange(msgspec.Struct, frozen=True):
    """A range as index tokens: those inside and those outside. Each record has one of them."""

    is_set: bool = False
    inside: Sequence[str] = ()  # empty: no condition
    outside: Sequence[str] = ()
    by_outside: bool = False  # excluding the tokens outside is cheaper
    near: Sequence[str] = ()  # tokens of steps outside the range, within a class inside
    in_part: Sequence[str] = ()  # tokens of months and steps that the range cuts


def _range(
    prefix: str, inside: Sequence[str], outside: Sequence[str], is_long: Callable[[str], bool]
) -> TokenRange:
    """Return the range of some codes; `outside`: all others of the kind."""
    outside = [*outside, ""]  # of records without a value
    costs = [sum(_LONG if is_long(code) else _SHORT for code in each) for each in (inside, outside)]
    within, without = ([token(prefix, code) for code in each] for each in (inside, outside))
    return TokenRange(True, within, without, by_outside=costs[1] < costs[0])


_FIRST_MONTH, _END_MONTH = YEAR_MIN * 12, (YEAR_MAX + 1) * 12


def periods(prefix: str, days: Days) -> TokenRange:
    """Return the tokens of a range's decades, years and months."""
    first, last = days
    if last is None:
        return TokenRange()
    begin = _FIRST_MONTH if first is None else max(_month_number(first), _FIRST_MONTH)
    end = _month_number(last) + 1
    if not _FIRST_MONTH < end <= _END_MONTH:
        return TokenRange(True)
    cut = [] if first is None or first.endswith("-01") else [_month_code(begin)]
    if last != _last_day(last):
        cut.append(_month_code(end - 1))
    outside = [*_covering(_FIRST_MONTH, begin), *_covering(end, _END_MONTH)]
    found = _range(prefix, _covering(begin, end), outside, _is_long_period)
    in_part = [token(prefix, code) for code in dict.fromkeys(cut)]
    return msgspec.structs.replace(found, in_part=in_part)


def _covering(begin: int, end: int) -> Sequence[str]:
    """Return the fewest decades, years and months that are the months from `begin` to `end`."""
    found = []
    while begin < end:
        months = next(each for each in (120, 12, 1) if begin % each == 0 and begin + each <= end)
        code = _month_code(begin)
        found.append({120: code[:3], 12: code[:4], 1: code}[months])
        begin += months
    return found


def _is_long_period(code: str) -> bool:
    """Return whether many records are of a decade or year; none is, of a month."""
    return len(code) <= len("AAAA") and code >= _LONG_FROM_YEAR[: len(code)]


def _month_number(day: str) -> int:
    return int(day[:4]) * 12 + int(day[5:7]) - 1


def _last_day(day: str) -> str:
    """Return the last day of a day's month."""
    last = calendar.monthrange(int(day[:4]), int(day[5:7]))[1]
    return f"{day[:8]}{last:02d}"


def _month_code(number: int) -> str:
    return f"{number // 12:04d}{number % 12 + 1:02d}"


def classes(least: Decimal | None, most: Decimal | None) -> TokenRange:
    """Return the tokens of a range of amounts."""
    if least is None and most is None:
        return TokenRange()
    first = 0 if least is None else capital_class(least)
    last = CAPITAL_CLASS_MAX if most is None else capital_class(most)
    in_part: list[str] = []
    near: list[str] = []
    if least is not None:
        steps, at = _place_in_class(least)
        near += steps[:at]
        in_part += steps[at : at + 1] if steps[at].endswith("1") else []
    if most is not None:
        steps, at = _place_in_class(most)
        near += steps[at + 1 :]
        in_part += steps[at : at + 1] if steps[at].endswith("1") else []
    inside = CAPITAL_CLASSES[first : last + 1]
    outside = [*CAPITAL_CLASSES[:first], *CAPITAL_CLASSES[last + 1 :]]
    found = _range(CAPITAL, inside, outside, _LONG_CLASSES.__contains__)
    cut, beside = (
        [token(CAPITAL_STEP, step) for step in dict.fromkeys(each)] for each in (in_part, near)
    )
    return msgspec.structs.replace(found, in_part=cut, near=beside)


def _place_in_class(amount: Decimal) -> tuple[Sequence[str], int]:
    """Return the steps of an amount's class, and the position of its own."""
    steps = steps_of_class(capital_class(amount))
    return steps, steps.index(capital_step(amount))
