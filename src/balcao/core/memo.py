"""A bounded memo, and a filter that keeps keys out which are used once."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Marks of a doorkeeper per key: the more, the fewer keys share one.
_MARKS_PER_KEY = 8


class Memo(Generic[K, V]):
    """A memo in two generations: values that are not used during one generation are forgotten."""

    __slots__ = ("_max", "_old", "_recent")

    def __init__(self, values_max: int) -> None:
        self._max = values_max // 2
        self._recent: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value, if it is remembered."""
        value = self._recent.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Remember a value."""
        if len(self._recent) >= self._max:
            self.turn()
        self._recent[key] = value

    def turn(self) -> None:
        """Begin a generation, and forget the values not used during the last one."""
        self._old, self._recent = self._recent, {}

    def clear(self) -> None:
        """Forget everything."""
        self._old, self._recent = {}, {}


class Doorkeeper:
    """Filters out keys that are used only once (the doorkeeper of TinyLFU).

    To remember a value that is not used again costs as much as to compute it. Sometimes a new
    key is taken for a known one.
    """

    __slots__ = ("_keys_max", "_left", "_marks", "_mask")

    def __init__(self, keys_max: int) -> None:
        """Forget all keys after `keys_max` of them, which is a power of two."""
        assert keys_max.bit_count() == 1
        self._keys_max = self._left = keys_max
        self._mask = keys_max * _MARKS_PER_KEY - 1
        self._marks = bytearray(keys_max * _MARKS_PER_KEY)

    def knows(self, key: Hashable) -> bool:
        """Return whether this key was passed before, lately; note it."""
        at = hash(key) & self._mask
        if self._marks[at]:
            return True
        if not self._left:
            self._left = self._keys_max
            self._marks = bytearray(len(self._marks))
        self._left -= 1
        self._marks[at] = 1
        return False
