"""Check digits of CNPJs, CPFs and Suframa's numbers: modulo 11.

A character counts as its ASCII code minus 48. Rules: decisions 2.1 and 2.2; decision 0049;
`cnpj-alfanumerico.md` section 2. Those of documents are written out, because every lookup of a
company that was not asked for lately needs them, and the generator millions of them; the tests
compare with a library's.
"""

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias


def cnpj_check_digits(base: str) -> str:
    """The two check digits of 12 characters `[0-9A-Z]`."""
    a, b, c, d, e, f, g, h, i, j, k, m = base.encode("ascii")
    # The weights add up to 58 and 62: 48 is taken off every code at once.
    first = (
        (5 * (a + i) + 4 * (b + j) + 3 * (c + k) + 2 * (d + m) + 9 * e + 8 * f + 7 * g + 6 * h)
        - 48 * 58
    ) % 11
    first = 11 - first if first > 1 else 0
    second = (
        (6 * (a + i) + 5 * (b + j) + 4 * (c + k) + 3 * (d + m) + 2 * e + 9 * f + 8 * g + 7 * h)
        - 48 * 62
        + 2 * first
    ) % 11
    second = 11 - second if second > 1 else 0
    return f"{first}{second}"


def checks_cnpj(number: int) -> bool:
    """Whether a CNPJ of 14 digits, as a number, ends with its check digits."""
    return _checks(number, _cnpj_sums())


def checks_cpf(number: int) -> bool:
    """Whether a CPF of 11 digits, as a number, ends with its check digits."""
    return _checks(number, _cpf_sums())


_FIRST_BITS = 10
_FIRST = (1 << _FIRST_BITS) - 1

_Sums: TypeAlias = tuple[list[int], list[int], list[int]]


@cache
def _cnpj_sums() -> _Sums:
    return _sums((5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3))


@cache
def _cpf_sums() -> _Sums:
    return _sums((10, 9, 8, 7, 6, 5, 4, 3, 2), (11, 10, 9, 8, 7, 6, 5, 4, 3))


def _checks(number: int, sums: _Sums) -> bool:
    """By what each third of the digits adds to both sums."""
    base, digits = divmod(number, 100)
    third = len(sums[0])
    high, low = divmod(base, third)
    both = sums[0][high // third] + sums[1][high % third] + sums[2][low]
    first = (both & _FIRST) % 11
    first = 11 - first if first > 1 else 0
    second = ((both >> _FIRST_BITS) + 2 * first) % 11
    second = 11 - second if second > 1 else 0
    return 10 * first + second == digits


def _sums(*weights: Sequence[int]) -> _Sums:
    """Of each third of the digits what it adds to both sums: the first one in the low bits.

    Three looks instead of a product for each digit.
    """
    third = len(weights[0]) // 3
    tables: list[list[int]] = []
    for at in (0, third, 2 * third):
        added = [0]
        for first, second in zip(*(each[at : at + third] for each in weights), strict=True):
            weight = first + (second << _FIRST_BITS)
            added = [before + digit * weight for before in added for digit in range(10)]
        tables.append(added)
    one, two, three = tables
    return one, two, three


def cpf_check_digits(base: str) -> str:
    """The two check digits of 9 digits."""
    a, b, c, d, e, f, g, h, i = base.encode("ascii")
    # The weights add up to 54 and 63 without that of the first check digit.
    first = (10 * a + 9 * b + 8 * c + 7 * d + 6 * e + 5 * f + 4 * g + 3 * h + 2 * i - 48 * 54) % 11
    first = 11 - first if first > 1 else 0
    second = (
        11 * a
        + 10 * b
        + 9 * c
        + 8 * d
        + 7 * e
        + 6 * f
        + 5 * g
        + 4 * h
        + 3 * i
        - 48 * 63
        + 2 * first
    ) % 11
    second = 11 - second if second > 1 else 0
    return f"{first}{second}"


def zone_check_digit(base: str) -> str:
    """The last digit of a number of Suframa's, out of the first eight (decision 0049)."""
    weighed = zip((9, 8, 7, 6, 5, 4, 3, 2), base, strict=True)
    rest = sum(weight * int(digit) for weight, digit in weighed) % 11
    return str(11 - rest) if rest > 1 else "0"
