"""What a front and the house say to each other (decision 0046). Both are of one version.

The words of one turn of a loop go as one list. Changes are a commit's own, and go as they are.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from balcao.core.access import Caller
from balcao.core.data_subject import AnswerAbout
from balcao.core.freshness import Kept
from balcao.core.ledger import KeepReceipt, Refusal, Trace, TracedCharge
from balcao.core.questions import Mode
from balcao.core.rate_limit import Limit
from balcao.observability.metrics import Measured

# What a request in the lane changes (`Booking.charging`).
LaneChange: TypeAlias = TracedCharge | KeepReceipt | Trace


class FrontWord(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One of them."""


# Of a front.


class Whose(FrontWord, frozen=True, gc=False, array_like=True, tag=1):
    """Whose key is this?"""

    key: bytes


class LookedUp(FrontWord, frozen=True, gc=False, array_like=True, tag=2):
    """What has the cache under these keys?

    `answer`: of a person, only for an account that has received it before.
    """

    number: int
    mode: Mode
    keys: Sequence[str]
    answer: AnswerAbout | None = None


class Payment(FrontWord, frozen=True, gc=False, array_like=True, tag=3):
    """Count a request of the key's limits; if none refuses, make these changes durable."""

    number: int
    key: bytes
    changes: Sequence[LaneChange]


class Noted(FrontWord, frozen=True, gc=False, array_like=True, tag=4):
    """Changes that nobody waits for."""

    changes: Sequence[LaneChange]


class Gone(FrontWord, frozen=True, gc=False, array_like=True, tag=5):
    """A connection of this address is over."""

    address: str


class Written(FrontWord, frozen=True, gc=False, array_like=True, tag=6):
    """Lines of the log."""

    lines: bytes


class Counted(FrontWord, frozen=True, gc=False, array_like=True, tag=7):
    """Measurements since the last ones."""

    measured: Measured


class Over(FrontWord, frozen=True, gc=False, array_like=True, tag=8):
    """A connection is the house's now, with what was read of it. Its socket comes along.

    `overdue`: the rest of the head did not come in time. `ending`: after this answer.
    """

    address: str
    host: str
    port: int
    read: bytes
    overdue: bool
    ending: bool


class Ready(FrontWord, frozen=True, gc=False, array_like=True, tag=9):
    """It can take clients. A program that was replaced meanwhile would speak otherwise."""

    version: str


Asked: TypeAlias = Whose | LookedUp | Payment | Noted | Gone | Written | Counted | Over | Ready


# Of the house.


class CallerTold(FrontWord, frozen=True, gc=False, array_like=True, tag=1):
    """Whose key it is. None: the house has to say so itself."""

    key: bytes
    caller: Caller | None
    limits: Sequence[Limit] = ()


class Had(FrontWord, frozen=True, gc=False, array_like=True, tag=2):
    """What the cache has, by its keys. None: somebody would have to be waited for."""

    number: int
    entries: dict[str, Kept] | None


class Failure(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=True):
    """The storage could not do it (`StorageFailed`); `bug`: something that nobody foresaw."""

    detail: str
    bug: bool = False
    perhaps_kept: bool = False


class Paid(FrontWord, frozen=True, gc=False, array_like=True, tag=3):
    """What became of a `Payment`. `left`: of each limit, requests and ms, as a verdict has them.

    None: nothing was done, since a limit refuses or the key is not whose it was. The house has to
    say so itself.
    """

    number: int
    left: Sequence[tuple[int, float]] | None
    outcome: Refusal | Failure | None = None


class Take(FrontWord, frozen=True, gc=False, array_like=True, tag=4):
    """A client, whose socket comes along, with what was read of it."""

    address: str
    host: str
    port: int
    read: bytes


class Time(FrontWord, frozen=True, gc=False, array_like=True, tag=5):
    """The time that is believed, against the steady clock, in milliseconds."""

    offset_ms: int


class Farewell(FrontWord, frozen=True, gc=False, array_like=True, tag=6):
    """Take nobody any more, finish the answers under way, and end."""

    patience_seconds: float


class Forget(FrontWord, frozen=True, gc=False, array_like=True, tag=7):
    """Somebody was erased: remember nothing that was made of answers."""


Said: TypeAlias = CallerTold | Had | Paid | Take | Time | Farewell | Forget
