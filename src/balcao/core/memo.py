"""A bounded memo, and a filter for keys that are used only once."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Slots of a doorkeeper per key: with more, fewer keys share one.
_SLOTS_PER_KEY = 8


class Memo(Generic[K, V]):
    """A memo in two generations: values that are not used during one generation are dropped."""

    __slots__ = ("_max", "_old", "_recent")

    def __init__(self, values_max: int) -> None:
        self._max = values_max // 2
        self._recent: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value, or None."""
        value = self._recent.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        if len(self._recent) >= self._max:
            self.rotate()
        self._recent[key] = value

    def rotate(self) -> None:
        """Begin a generation, and drop the values not used during the last one."""
        self._old, self._recent = self._recent, {}

    def clear(self) -> None:
        """Drop all values."""
        self._old, self._recent = {}, {}


class Doorkeeper:
    """Filters out keys that are used only once (the doorkeeper of TinyLFU).

    Storing a value that is not used again costs as much as computing it. Since keys may share a
    slot, a new key is sometimes taken for a known one.
    """

    __slots__ = ("_keys_max", "_left", "_mask", "_slots")

    def __init__(self, keys_max: int) -> None:
        """Forget all keys after `keys_max` of them, a power of two."""
        assert keys_max.bit_count() == 1
        self._keys_max = self._left = keys_max
        self._mask = keys_max * _SLOTS_PER_KEY - 1
        self._slots = bytearray(keys_max * _SLOTS_PER_KEY)

    def seen_before(self, key: Hashable) -> bool:
        """Record a key, and return whether it was recorded before."""
        at = hash(key) & self._mask
        if self._slots[at]:
            return True
        if not self._left:
            self._left = self._keys_max
            self._slots = bytearray(len(self._slots))
        self._left -= 1
        self._slots[at] = 1
        return False
