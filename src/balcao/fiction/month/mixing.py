"""Seeded hashes and permutations of whole arrays, without tables.

numpy's own generators may change between versions; these functions do not.
"""

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_MASK = (1 << 64) - 1


def mix(values: U64, salt: int) -> U64:
    """Return a hash of each value (the finaliser of SplitMix64)."""
    x = values + np.uint64(salt & _MASK)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mix_one(value: int, salt: int) -> int:
    """Return the hash of `mix` for one number."""
    x = (value + salt) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def salt(seed: int, *names: int | str) -> int:
    """Return a salt for one use of the seed, so that different uses are independent."""
    value = mix_one(seed, 0x9E3779B97F4A7C15)
    for name in names:
        number = name if isinstance(name, int) else int.from_bytes(name.encode(), "big")
        value = mix_one(number & _MASK, value)
    return value


def permute(numbers: I64, half: int, key: int) -> I64:
    """Permute the values 0 to half*half - 1 by four Feistel rounds with addition."""
    low = (numbers % half).astype(np.uint64)
    high = (numbers // half).astype(np.uint64)
    size = np.uint64(half)
    for turn in range(2):
        low = (low + mix(high, salt(key, turn, "low")) % size) % size
        high = (high + mix(low, salt(key, turn, "high")) % size) % size
    return (high * size + low).astype(np.int64)


def permute_without(numbers: I64, half: int, key: int, excluded: I64, start: int = 0) -> I64:
    """Permute the values from `start` on that are not in `excluded` (sorted).

    The n-th allowed value follows its cycle to the next allowed one, so no two results are equal.
    """
    ahead = excluded[excluded >= start] - start
    rank = np.searchsorted(ahead - np.arange(len(ahead)), numbers, side="right")
    found = permute(numbers + rank + start, half, key)
    while len(again := np.flatnonzero(np.isin(found, excluded))):
        found[again] = permute(found[again], half, key)
    return found


def shuffled(count: int, key: int) -> I64:
    """Return the numbers 0 to count - 1 in a seeded order."""
    return np.argsort(mix(np.arange(count, dtype=np.uint64), key), kind="stable")
