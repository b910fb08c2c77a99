"""From a key to the block that holds its rows; the same sum for one key and for millions.

A key is read as a base-36 number, so letters need no special case: 12 characters fit 63
bits. Multiplying by an odd constant spreads keys evenly and loses nothing (it can be undone
modulo 2**64), so equal products mean equal keys.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

_SPREAD = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio, made odd
_MASK = (1 << 64) - 1
_GATHER = pow(_SPREAD, -1, 1 << 64)  # what undoes it
_HALF = np.uint64(32)

_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NOT_A_CHARACTER = 255
_VALUES = np.full(256, _NOT_A_CHARACTER, np.uint8)
_VALUES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(36, dtype=np.uint8)


def spread(key: str) -> int:
    """The spread number of one key (8 or 12 characters)."""
    return int(key, 36) * _SPREAD & _MASK


def block_of(number: int, blocks: int) -> int:
    """The block of a spread number. Grows with the number, so sorted numbers fill in order."""
    return (number >> 32) * blocks >> 32


# Spread numbers of two roots differ by more than 4 million: what is left of them without these
# bits still tells all roots apart, and an establishment's number has room in their place.
_ORDER_BITS = 21


def place_of(cnpj: str) -> int:
    """Where a CNPJ (its first 12 characters count) stands among all: a number of its own.

    Grows with the block of its company. It fits SQLite's signed row ids.
    """
    return ((spread(cnpj[:8]) >> _ORDER_BITS << _ORDER_BITS) | int(cnpj[8:12], 36)) - (1 << 63)


def characters(buffer: Bytes, starts: Positions, count: int) -> Bytes:
    """The `count` bytes from each start, as a matrix. Every start has that many after it."""
    # Seen as overlapping items of `count` bytes; four times as fast as a matrix of positions.
    items = np.ndarray(len(buffer) - count + 1, f"V{count}", buffer, strides=(1,))
    return items[starts].view(np.uint8).reshape(-1, count)


def are_key_characters(matrix: Bytes) -> npt.NDArray[np.bool_]:
    """For each character, whether it is one of `0-9A-Z`."""
    return np.asarray(_VALUES[matrix] != _NOT_A_CHARACTER)


def _read(*matrices: Bytes) -> Any:
    """The base-36 numbers of keys whose characters stand side by side in the matrices."""
    total: Any = np.zeros(len(matrices[0]), np.uint64)
    base = np.uint64(36)
    for matrix in matrices:
        values = _VALUES[matrix].astype(np.uint64)
        for column in range(matrix.shape[1]):
            total = total * base + values[:, column]
    return total


def spread_all(*matrices: Bytes) -> Numbers:
    """`spread` of many keys at once, whose characters stand side by side in the matrices."""
    return np.asarray(_read(*matrices) * np.uint64(_SPREAD), np.uint64)


def keys_of(numbers: Numbers) -> Numbers:
    """The base-36 numbers of spread numbers: they grow as the keys do in ASCII order."""
    return np.asarray(numbers * np.uint64(_GATHER), np.uint64)


def key_text(number: int) -> str:
    """The twelve characters of a base-36 number."""
    threes = _threes()
    high, low = divmod(number, 36**6)
    first, second = divmod(high, 36**3)
    third, fourth = divmod(low, 36**3)
    return threes[first] + threes[second] + threes[third] + threes[fourth]


@cache
def _threes() -> Sequence[str]:
    """All that three characters may be: a table instead of a division for each."""
    return ["".join(three) for three in product(_ALPHABET.decode(), repeat=3)]


def places_of(roots: Numbers, orders: Bytes) -> Positions:
    """`place_of` of many CNPJs at once: their roots' spread numbers, and the four characters."""
    bits = np.uint64(_ORDER_BITS)
    # The highest bit turned over and read as a sign: 2**63 less.
    places: Any = (roots >> bits << bits | _read(orders)) ^ np.uint64(1 << 63)
    return np.asarray(places.view(np.int64))


def blocks_of(numbers: Numbers, blocks: int) -> Positions:
    """`block_of` of many spread numbers at once."""
    return ((numbers >> _HALF) * np.uint64(blocks) >> _HALF).astype(np.int64)
