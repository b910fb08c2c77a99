"""How a download goes on: what a reply to a resumed request means, when to try again, how many at
a time. Decides, and asks nobody (ADR 0047).
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

CONNECTIONS_MAX = 4
# After so many stalls one connection fewer... the server is slow, or it counts us.
_STALLS_EACH = 3
_FEWER = (CONNECTIONS_MAX, 2, 1)

RETRIES_MAX = 3  # without progress, one after the other
_WAIT_SECONDS, _WAIT_SECONDS_MAX = 5, 120

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)")
_GONE = {401, 403, 404, 410}


class Turn(Enum):
    """What to do with a reply that brings no bytes of ours."""

    DONE = auto()  # all of it is here
    DISCARD = auto()  # what is here is of no use
    AGAIN = auto()  # the server is not well: later
    GONE = auto()  # the share, or the file in it, is not there any more
    CHANGED = auto()  # the file is not the one that was listed


@dataclass(frozen=True, slots=True)
class Write:
    """The body is written from this byte on; what is behind it goes."""

    at: int


def what_now(
    have: int, total: int, status: int, content_range: str | None, length: int | None
) -> Write | Turn:
    """What a reply means to who has the first `have` bytes of `total`, and asked for the rest.

    `length`: of the body, where it is told.
    """
    match status:
        case 206:
            return _part(have, total, content_range)
        case 200:
            return Write(0) if length is None or length == total else Turn.CHANGED
        case 416:
            told = _CONTENT_RANGE.fullmatch(content_range or "")
            size = int(told[3]) if told else total
            if size != total:
                return Turn.CHANGED
            return Turn.DONE if have == total else Turn.DISCARD
        case status if status in _GONE:
            return Turn.GONE
        case _:
            return Turn.AGAIN


def _part(have: int, total: int, content_range: str | None) -> Write | Turn:
    told = _CONTENT_RANGE.fullmatch(content_range or "")
    if told is None or told[1] is None:
        return Turn.DISCARD
    if int(told[3]) != total:
        return Turn.CHANGED
    return Write(have) if int(told[1]) == have else Turn.DISCARD


@dataclass(frozen=True, slots=True)
class Patience:
    """How often in a row nothing came. Only that counts: a large part takes dozens of attempts."""

    fruitless: int = 0

    def after(self, *, progress: bool) -> "Patience":
        """An attempt has ended before the end; whether it brought anything new."""
        return Patience() if progress else Patience(self.fruitless + 1)

    @property
    def is_over(self) -> bool:
        """Whether to give up."""
        return self.fruitless > RETRIES_MAX

    @property
    def wait_seconds(self) -> int:
        """Before the next attempt: none after progress, then 5, doubling to 120."""
        if not self.fruitless:
            return 0
        return min(_WAIT_SECONDS << (self.fruitless - 1), _WAIT_SECONDS_MAX)


def connections_after(stalls: int) -> int:
    """How many at a time after so many stalls and connections that were not made: 4, 2, 1."""
    return _FEWER[min(stalls // _STALLS_EACH, len(_FEWER) - 1)]
