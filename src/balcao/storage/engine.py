"""An open database as the one desk uses it: what an engine has to be able to do.

All that both engines say alike stands once, in `storage/desk/`, and is built of these verbs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from balcao.core.access import Caller
from balcao.core.clock import Heard
from balcao.core.data_subject import AnswerAbout
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Refusal
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection
from balcao.storage.turns import Told

T = TypeVar("T")


class DatabaseState(msgspec.Struct, frozen=True):
    """State of a database server, as a node sees it."""

    writable: bool
    waiting_commits: int  # for a synchronous standby, of all nodes


# Hears, on the loop's thread, the verdicts of all limits and what became of the changes, as
# `commit` has it. No verdicts (None): a limit refuses, or they could not be counted, and nothing
# was done. Of changes that could not be committed there may be an empty list of them.
ToldPaid: TypeAlias = Callable[[Sequence[Verdict] | None, Refusal | Exception | None], None]


class Engine(Protocol):
    """One database, open in this process. Whatever does I/O here raises `StorageFailed`."""

    @property
    def here(self) -> SqlConnection:
        """The connection for what is rare, used in place on the event loop's thread."""
        ...

    @property
    def queries(self) -> Mapping[str, str]:
        """What engines say in their own words, by name."""
        ...

    # Connections.

    def apart(self) -> AbstractContextManager[SqlConnection]:
        """Another connection for what may take long, in whatever thread; closed afterwards."""
        ...

    def from_end_to_end(self) -> AbstractContextManager[SqlConnection]:
        """A connection for who reads every row there is."""
        ...

    def in_place(self) -> AbstractContextManager[SqlConnection]:
        """`here`, to write what operators and a start write now and then.

        Rules of the schema that are broken stay what the engine raises.
        """
        ...

    async def in_turn(self, work: Callable[[SqlConnection], T]) -> T:
        """Have some work done in the writer's turn. Raises what the work refuses, too."""
        ...

    # What every request needs. `Desk` remembers something of `commit` and `caller` on top.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make a list durable together with all that come at the same time."""
        ...

    def tell(self, changes: Sequence[Change], told: Told[Refusal | None]) -> None:
        """`commit` for who cannot wait: `told` hears the outcome on the loop's thread, later."""
        ...

    def on_refused(self, hear: Callable[[Refusal | Exception | None], None]) -> None:
        """Have this hear, on the loop's thread, of every list that is not kept, and why."""
        ...

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit one list outside an event loop, for the command line. Raises `StorageFailed`."""
        ...

    async def caller(self, key_hash: bytes) -> Caller | None:
        """Who holds a key, as it is now."""
        ...

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """Return what is recorded under an idempotency key that has not run out.

        Raises `StorageFailed`, and `CommitUncertain` where a record is not confirmed.
        """
        ...

    async def received(self, answer: AnswerAbout) -> bool:
        """Return whether an account has received an answer about a person.

        Charged lookups are not searched: the first answer about a person is charged in two steps,
        which leaves a trace (ADR 0080). Raises `StorageFailed`.
        """
        ...

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """Count one request against all limits of account and key, or none if one refuses."""
        ...

    def pay(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        told: ToldPaid,
    ) -> None:
        """`spend` and then, if no limit refuses, `commit`, for who cannot wait.

        Without changes `told` may hear of it within this call.
        """
        ...

    # A start, and what is done now and then beside the requests.

    def recover(self, now_ms: int) -> int:
        """Give back the holds of processes that died; called once, before serving. Count."""
        ...

    async def recover_others(self, now_ms: int) -> int:
        """The same while serving, for other processes on the same database that died. Count.

        Where one process has the database to itself there are none. Raises `StorageFailed`.
        """
        ...

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """What the database's own clock says beside the steady one. None: it has none of its own.

        Raises `StorageFailed`.
        """
        ...

    def latest_instant(self) -> int | None:
        """About when something was committed last, by the clock of whoever did. None: never."""
        ...

    def doubt(self, ahead_ms: int) -> None:
        """By how much the time may be ahead: instants in the books are that much earlier.

        Else a clock on trial would be right for whoever starts next (ADR 0025).
        """
        ...

    async def surely_past(self, now_ms: int) -> int:
        """This instant, or the database's own where that is earlier.

        Of many nodes one may have a wrong clock: what it took for old, all would lose. Raises
        `StorageFailed`.
        """
        ...

    async def forget_limits(self, now_ms: int) -> None:
        """Begin the limits anew that are not empty at this instant: the clock was ahead.

        Raises `StorageFailed`.
        """
        ...

    async def keep_room(self) -> None:
        """Have some room on disk for when it is full; free what can be when it is.

        Where the storage is another's, nothing. Raises `StorageFailed`.
        """
        ...

    async def state(self) -> DatabaseState | None:
        """Return the state of the server; None: there is none, it is a file.

        Raises `StorageFailed`.
        """
        ...

    async def heartbeat(self, now_ms: int) -> None:
        """Make something small durable, to know that it can be done. Raises `StorageFailed`."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Remove some idempotency records that have run out. Count; 0: there are none left.

        Raises `StorageFailed`.
        """
        ...

    async def drop_traces(self, before_ms: int) -> int:
        """Drop old traces as a whole, where they lie by month. Count of months."""
        ...

    def close(self) -> None:
        """Finish what is queued and let go of the files or connections."""
        ...
