"""What was made a moment ago, to be used again: two halves, and a doorkeeper before them."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Of a doorkeeper, for each key that it knows: so seldom two keys share one.
_MARKS_PER_KEY = 8


class Memo(Generic[K, V]):
    """A memo in two halves: what is not used while one becomes the other is forgotten.

    What was used lately is in `fresh`: who looks there first need not call `get`.
    """

    __slots__ = ("_max", "_old", "fresh")

    def __init__(self, values_max: int) -> None:
        self._max = values_max // 2
        self.fresh: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value, if it is remembered."""
        value = self.fresh.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Remember a value."""
        if len(self.fresh) >= self._max:
            self.turn()
        self.fresh[key] = value

    def turn(self) -> None:
        """The new half becomes the old one, and that is forgotten."""
        self._old, self.fresh = self.fresh, {}

    def clear(self) -> None:
        """Forget all of it."""
        self._old, self.fresh = {}, {}


class Doorkeeper:
    """Tells what comes again from what comes once (the doorkeeper of TinyLFU).

    To remember what nobody asks for a second time costs as much as to make it: memory that was
    not touched for long is taken, and given back. Now and then a key that is new passes for one
    that is known.
    """

    __slots__ = ("_keys_max", "_left", "_marks", "_mask")

    def __init__(self, keys_max: int) -> None:
        """It forgets all of them when it has seen so many, which is a power of two."""
        assert keys_max.bit_count() == 1
        self._keys_max = self._left = keys_max
        self._mask = keys_max * _MARKS_PER_KEY - 1
        self._marks = bytearray(keys_max * _MARKS_PER_KEY)

    def knows(self, key: Hashable) -> bool:
        """Whether it was asked for this key before, not too long ago."""
        at = hash(key) & self._mask
        if self._marks[at]:
            return True
        if not self._left:
            self._left = self._keys_max
            self._marks = bytearray(len(self._marks))
        self._left -= 1
        self._marks[at] = 1
        return False
