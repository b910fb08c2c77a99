"""Rules of a download: the meaning of replies, the retries, the number of connections.

Pure functions (ADR 0047).
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

CONNECTIONS_MAX = 4
# After this many stalls use fewer connections: the server is slow, or limits us.
_STALLS_PER_STEP = 3
_CONNECTION_STEPS = (CONNECTIONS_MAX, 2, 1)

RETRIES_MAX = 3  # consecutive, without progress
_WAIT_SECONDS, _WAIT_SECONDS_MAX = 5, 120

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)")
_GONE = {401, 403, 404, 410}


class ReplyOutcome(Enum):
    """Meaning of a reply that brings no usable bytes."""

    DONE = auto()  # the file is complete
    DISCARD = auto()  # the bytes on the disk are unusable
    RETRY = auto()  # a temporary failure: retry later
    GONE = auto()  # the share, or the file in it, is gone
    CHANGED = auto()  # the file is not the one that was listed any more


@dataclass(frozen=True, slots=True)
class WriteFrom:
    """Write the body from this byte on; later bytes on the disk are dropped."""

    at: int


def interpret_reply(
    have: int, total: int, status: int, content_range: str | None, length: int | None
) -> WriteFrom | ReplyOutcome:
    """Interpret the reply to a request for the rest of a file, after `have` bytes of `total`.

    `length`: content length, where the reply has one.
    """
    match status:
        case 206:
            return _partial(have, total, content_range)
        case 200:
            return WriteFrom(0) if length is None or length == total else ReplyOutcome.CHANGED
        case 416:
            match = _CONTENT_RANGE.fullmatch(content_range or "")
            size = int(match[3]) if match else total
            if size != total:
                return ReplyOutcome.CHANGED
            return ReplyOutcome.DONE if have == total else ReplyOutcome.DISCARD
        case status if status in _GONE:
            return ReplyOutcome.GONE
        case _:
            return ReplyOutcome.RETRY


def _partial(have: int, total: int, content_range: str | None) -> WriteFrom | ReplyOutcome:
    match = _CONTENT_RANGE.fullmatch(content_range or "")
    if match is None or match[1] is None:
        return ReplyOutcome.DISCARD
    if int(match[3]) != total:
        return ReplyOutcome.CHANGED
    return WriteFrom(have) if int(match[1]) == have else ReplyOutcome.DISCARD


@dataclass(frozen=True, slots=True)
class RetryState:
    """Consecutive attempts without progress. Others are unlimited: a large part takes dozens."""

    failures: int = 0

    def after(self, *, progress: bool) -> "RetryState":
        """Return the state after a failed attempt."""
        return RetryState() if progress else RetryState(self.failures + 1)

    @property
    def exhausted(self) -> bool:
        return self.failures > RETRIES_MAX

    @property
    def wait_seconds(self) -> int:
        """Seconds before the next attempt: none after progress, then 5, doubling to 120."""
        if not self.failures:
            return 0
        return min(_WAIT_SECONDS << (self.failures - 1), _WAIT_SECONDS_MAX)


def connections_after(stalls: int) -> int:
    """Return the number of connections, by the stalls and failed connections so far: 4, 2, 1."""
    return _CONNECTION_STEPS[min(stalls // _STALLS_PER_STEP, len(_CONNECTION_STEPS) - 1)]
