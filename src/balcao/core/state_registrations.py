"""Validation of state registration numbers (inscrição estadual) by each state's rule (ADR 0049).

Length and check digits are checked, as published by the states for SINTEGRA. Prefixes are not:
states add new ones when a range is used up (PA in 2024, GO in 2023, DF, RS). Sources may drop
leading zeros or keep punctuation; such numbers are valid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

# Returns the valid check digits, from the whole number and the weighted sum; more than one if the
# state has issued numbers with both.
Rule: TypeAlias = Callable[[str, int], str]


def _eleven(_: str, total: int) -> str:
    """Apply modulo 11: 11 minus the remainder; 10 and 11 become 0."""
    rest = total % 11
    return str(11 - rest) if rest > 1 else "0"


def _wrapped(_: str, total: int) -> str:
    """Apply modulo 11, with 10 as 0 and 11 as 1 (RO, and PE before 2009)."""
    return str((11 - total % 11) % 10)


def _remainder(_: str, total: int) -> str:
    """Return the last digit of the remainder of 11 (SP)."""
    return str(total % 11 % 10)


def _nine(_: str, total: int) -> str:
    """Return the remainder of 9 (RR)."""
    return str(total % 9)


def _ten(_: str, total: int) -> str:
    """Apply modulo 10 (MG's first digit)."""
    return str(-total % 10)


def _bahia(number: str, total: int) -> str:
    """Apply modulo 11 if the second of nine digits is 6, 7 or 9, else modulo 10."""
    return _eleven(number, total) if number[1] in "679" else _ten(number, total)


def _goias(number: str, total: int) -> str:
    """Apply modulo 11; in an old range a remainder of 1 gives 1; one number was issued twice."""
    base = int(number[:8])
    if base == 11_094_402:
        return "01"
    if total % 11 == 1 and 10_103_105 <= base <= 10_119_997:
        return "10"
    return _eleven(number, total)


def _amapa(number: str, total: int) -> str:
    """Apply modulo 11; sums of two old ranges have a constant added; in the second, 11 gives 1."""
    base = int(number[:8])
    if 3_000_001 <= base <= 3_017_000:
        return _eleven(number, total + 5)
    if 3_017_001 <= base <= 3_019_022:
        return "1" if (total + 9) % 11 == 0 else _eleven(number, total + 9)
    return _eleven(number, total)


@dataclass(frozen=True, slots=True)
class _Check:
    """A check digit: its position (from 0), and the weights of the digits from the left."""

    at: int
    weights: tuple[int, ...]
    rule: Rule = _eleven
    of_digits: bool = False  # sum the digits of the products instead of the products

    def right(self, number: str) -> str:
        """Return the valid digits for this position."""
        # Ends with the weights; `0` is 48 in ASCII.
        products = map(mul, self.weights, [code - 48 for code in number.encode()])
        if self.of_digits:  # none of them has three
            return self.rule(number, sum(sum(divmod(each, 10)) for each in products))
        return self.rule(number, sum(products))


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a state's numbers. Checks are in the order of their computation."""

    length: int
    checks: tuple[_Check, ...]
    zeros_lost: bool = False  # numbers may begin with zeros, which sources drop
    begins: str = ""  # if needed to distinguish forms

    def fits(self, text: str) -> bool:
        """Return whether a number has this form."""
        number = text.rjust(self.length, "0") if self.zeros_lost else text
        if len(number) != self.length or not number.startswith(self.begins):
            return False
        return all(number[check.at] in check.right(number) for check in self.checks)


def _falling(first: int, last: int = 2) -> tuple[int, ...]:
    return tuple(range(first, last - 1, -1))


def _one(*weights: int, rule: Rule = _eleven, zeros_lost: bool = True) -> _Form:
    """Return a form with a single check digit, at the end."""
    check = _Check(len(weights), weights, rule)
    return _Form(len(weights) + 1, (check,), zeros_lost=zeros_lost)


_USUAL = (_one(*_falling(9)),)
# AC and DF: two digits, over eleven and over twelve.
_LONG = (
    _Form(
        13,
        (_Check(11, (4, 3, 2, *_falling(9))), _Check(12, (5, 4, 3, 2, *_falling(9)))),
        zeros_lost=True,
    ),
)
_SAO_PAULO_FIRST = _Check(8, (1, 3, 4, 5, 6, 7, 8, 10), _remainder)

_FORMS: Mapping[str, tuple[_Form, ...]] = {
    "AC": _LONG,
    "AL": _USUAL,
    "AM": _USUAL,
    "AP": (_one(*_falling(9), rule=_amapa),),
    # Eight digits are nine with a leading zero. The last digit is computed first.
    "BA": (
        _Form(
            9,
            (_Check(8, _falling(8), _bahia), _Check(7, (*_falling(9, 3), 0, 2), _bahia)),
            zeros_lost=True,
        ),
    ),
    "CE": _USUAL,
    "DF": _LONG,
    "ES": _USUAL,
    "GO": (_one(*_falling(9), rule=_goias),),
    "MA": _USUAL,
    # For the first check digit a zero is inserted after the three digits of the municipality.
    "MG": (
        _Form(
            13,
            (
                _Check(11, (1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 2), _ten, of_digits=True),
                _Check(12, (3, 2, *_falling(11))),
            ),
            zeros_lost=True,
        ),
    ),
    "MS": _USUAL,
    "MT": (_one(3, 2, *_falling(9)),),
    "PA": _USUAL,
    "PB": _USUAL,
    # Nine digits since eFisco; older ones have fourteen.
    "PE": (
        _Form(9, (_Check(7, _falling(8)), _Check(8, _falling(9))), zeros_lost=True),
        _one(5, 4, 3, 2, 1, *_falling(9), rule=_wrapped, zeros_lost=False),
    ),
    "PI": _USUAL,
    "PR": (
        _Form(
            10,
            (_Check(8, (3, 2, *_falling(7))), _Check(9, (4, 3, 2, *_falling(7)))),
            zeros_lost=True,
        ),
    ),
    "RJ": (_one(2, *_falling(7)),),
    "RN": (_one(*_falling(9), zeros_lost=False), _one(*_falling(10), zeros_lost=False)),
    # Before August 2000 numbers began with three digits of the municipality, not checked.
    "RO": (
        _one(6, 5, 4, 3, 2, *_falling(9), rule=_wrapped),
        _one(0, 0, 0, *_falling(6), rule=_wrapped, zeros_lost=False),
    ),
    "RR": (_one(1, 2, 3, 4, 5, 6, 7, 8, rule=_nine),),
    "RS": (_one(2, *_falling(9)),),
    "SC": _USUAL,
    "SE": _USUAL,
    # A rural producer's number, with or without a P, has no second check digit.
    "SP": (
        _Form(12, (_SAO_PAULO_FIRST, _Check(11, (3, 2, *_falling(10)), _remainder))),
        _Form(12, (_SAO_PAULO_FIRST,), begins="0"),
    ),
    # Before June 2002 the third and fourth digits were a type, not checked.
    "TO": (*_USUAL, _one(9, 8, 0, 0, *_falling(7), zeros_lost=False)),
}

_PUNCTUATION = re.compile(r"[./\-\s]")
_DIGITS = re.compile(r"[0-9]{1,14}", re.ASCII)


def is_valid(uf: str, number: str) -> bool:
    """Return whether a registration number is valid in `uf`, one of the 27.

    `number` may have punctuation, and may lack leading zeros.
    """
    text = number if number.isdigit() else _PUNCTUATION.sub("", number).upper()
    if uf == "SP":
        text = text.removeprefix("P")
    if not _DIGITS.fullmatch(text) or not text.strip("0"):
        return False
    return any(form.fits(text) for form in _FORMS[uf])


def length(uf: str) -> int:
    """Return the length of the numbers that `uf` issues today."""
    return _FORMS[uf][0].length


def completed(uf: str, number: str) -> str:
    """Return a number of `length(uf)` digits with its check digits corrected."""
    for check in _FORMS[uf][0].checks:
        number = f"{number[: check.at]}{check.right(number)[0]}{number[check.at + 1 :]}"
    return number
