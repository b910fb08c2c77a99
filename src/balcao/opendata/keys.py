"""Mapping of keys to the blocks that hold their rows, for one key and for millions.

A key is read as a base-36 number, so letters need no special case: 12 characters fit 63 bits, and
numbers sort as keys do in ASCII.

A month's blocks are grouped in ranges of roots: a scan in the order of CNPJs has one range in
memory at a time, and needs no further sorting. Within a range a hash fills the blocks evenly:
multiplying by an odd constant spreads numbers and is reversible modulo 2**64, so equal products
mean equal keys.
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

ROOT_CHARACTERS = 8
ORDERS_PER_ROOT = 36**4  # four characters after it distinguish establishments

_MULTIPLIER = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio, made odd
_MASK = (1 << 64) - 1
_HALF = np.uint64(32)

_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NOT_A_CHARACTER = 255
_VALUES = np.full(256, _NOT_A_CHARACTER, np.uint8)
_VALUES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(36, dtype=np.uint8)


def number_of(key: str) -> int:
    """Return the number of one key (8 or 12 characters)."""
    return int(key, 36)


def block_within(number: int, blocks: int) -> int:
    """Return the block within its range that holds a key's rows."""
    return ((number * _MULTIPLIER & _MASK) >> 32) * blocks >> 32


def characters(buffer: Bytes, starts: Positions, count: int) -> Bytes:
    """Return the `count` bytes from each start, as a matrix. Every start has that many after it."""
    # Seen as overlapping items of `count` bytes; four times as fast as a matrix of positions.
    items = np.ndarray(len(buffer) - count + 1, f"V{count}", buffer, strides=(1,))
    return items[starts].view(np.uint8).reshape(-1, count)


def are_key_characters(matrix: Bytes) -> npt.NDArray[np.bool_]:
    """Return for each character whether it is one of `0-9A-Z`."""
    return np.asarray(_VALUES[matrix] != _NOT_A_CHARACTER)


def numbers_of(*matrices: Bytes) -> Numbers:
    """Return `number_of` of many keys; their characters are concatenated across the matrices."""
    total: Any = np.zeros(len(matrices[0]), np.uint64)
    base = np.uint64(36)
    for matrix in matrices:
        values = _VALUES[matrix].astype(np.uint64)
        for column in range(matrix.shape[1]):
            total = total * base + values[:, column]
    return np.asarray(total, np.uint64)


def hash_keys(numbers: Numbers) -> Numbers:
    """Return a hash of each key; the blocks of a range are filled in the order of hashes."""
    return np.asarray(numbers * np.uint64(_MULTIPLIER), np.uint64)


def blocks_within(numbers: Numbers, blocks: int) -> Positions:
    """Return `block_within` of many keys."""
    return ((hash_keys(numbers) >> _HALF) * np.uint64(blocks) >> _HALF).astype(np.int64)


def first_keys(roots: Numbers, key_characters: int) -> Numbers:
    """Return each root's smallest key of that length: the root itself, or its first order."""
    many = 1 if key_characters == ROOT_CHARACTERS else ORDERS_PER_ROOT
    return np.asarray(roots * np.uint64(many), np.uint64)


def ranges_of(numbers: Numbers, bounds: Numbers) -> Positions:
    """Return the range of each key. `bounds`: the first key of each range but the first."""
    return np.searchsorted(bounds, numbers, side="right").astype(np.int64)


def written_numbers(numbers: Numbers) -> bytes:
    """Serialise numbers for a file."""
    return numbers.astype("<u8").tobytes()


def read_numbers(written: bytes) -> Numbers:
    """Deserialise numbers. Raises `ValueError` where they are damaged."""
    return np.frombuffer(written, "<u8").astype(np.uint64)


def key_text(number: int) -> str:
    """Return the twelve characters of a base-36 number."""
    triples = _triples()
    high, low = divmod(number, 36**6)
    first, second = divmod(high, 36**3)
    third, fourth = divmod(low, 36**3)
    return triples[first] + triples[second] + triples[third] + triples[fourth]


@cache
def _triples() -> Sequence[str]:
    """Return a table of all three-character texts, to avoid one division per character."""
    return ["".join(triple) for triple in product(_ALPHABET.decode(), repeat=3)]
