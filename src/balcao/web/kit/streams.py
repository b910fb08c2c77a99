"""A limit of open event streams, each of which reads once per second."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

STREAMS_MAX, STREAMS_PER_PERSON_MAX = 100, 6


class Streams:
    """The event streams open in this process."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()

    def has_room(self, user_id: int) -> bool:
        """Return whether this person may open another stream."""
        mine = self._open[user_id] < STREAMS_PER_PERSON_MAX
        return mine and self._open.total() < STREAMS_MAX

    @contextmanager
    def open(self, user_id: int) -> Iterator[None]:
        """Count a stream as open within this context."""
        self._open[user_id] += 1
        try:
            yield
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]
