"""How far a move is: told to whoever wants to know."""

from collections.abc import Callable, Iterable, Iterator


class MoveProgress:
    """Is told of a move's steps, in order, and of the rows each one gets through; here, nobody."""

    def begin(self, step: str, rows_total: int) -> None:
        """A step starts (the one before is over)."""

    def advance(self, rows: int) -> None:
        """So many more rows are done."""


_TELL_EVERY = 10_000


def counted(lines: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    """The same lines; now and then it is told how many they were."""
    waiting = 0
    for line in lines:
        yield line
        waiting += 1
        if waiting == _TELL_EVERY:
            advance(waiting)
            waiting = 0
    advance(waiting)
