"""Check digits of CNPJs, CPFs and Suframa's numbers: modulo 11 of a weighted sum.

The value of a character is its ASCII code minus 48. Rules: contract 2.1 and 2.2; ADR 0049;
`cnpj-alfanumerico.md` section 2. The tests compare with a library.
"""

from collections.abc import Sequence
from operator import mul

# Weights of the first digit in the low bits, those of the second above: one pass sums both.
_BITS = 12
_LOW = (1 << _BITS) - 1


def _weights(first: Sequence[int], second: Sequence[int]) -> tuple[Sequence[int], int]:
    """Return the combined weights of both digits, and their sum times the ASCII code of `0`."""
    both = [low + (high << _BITS) for low, high in zip(first, second, strict=True)]
    return both, ord("0") * sum(both)


_CNPJ = _weights((5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3))
_CPF = _weights((10, 9, 8, 7, 6, 5, 4, 3, 2), (11, 10, 9, 8, 7, 6, 5, 4, 3))
_ZONE = _weights((9, 8, 7, 6, 5, 4, 3, 2), (0,) * 8)


def _check_digits(base: str, weights: tuple[Sequence[int], int]) -> str:
    sums = sum(map(mul, base.encode("ascii"), weights[0])) - weights[1]
    rest = (sums & _LOW) % 11
    first = 11 - rest if rest > 1 else 0
    rest = ((sums >> _BITS) + 2 * first) % 11
    second = 11 - rest if rest > 1 else 0
    return f"{first}{second}"


def cnpj_check_digits(base: str) -> str:
    """Return the two check digits of 12 characters `[0-9A-Z]`."""
    return _check_digits(base, _CNPJ)


def cpf_check_digits(base: str) -> str:
    """Return the two check digits of 9 digits."""
    return _check_digits(base, _CPF)


def zone_check_digit(base: str) -> str:
    """Return the last digit of a Suframa number from its first eight (ADR 0049)."""
    return _check_digits(base, _ZONE)[0]
