"""An open database as the one desk uses it: what an engine has to be able to do.

All that both engines say alike stands once, in `storage/desk/`, and is built of these verbs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from balcao.core.access import Caller
from balcao.core.clock import Heard
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Refusal
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection

T = TypeVar("T")


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

    # What every request needs; for the promises see `Desk`.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make a list durable together with all that come at the same time."""
        ...

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """Make one durable outside an event loop."""
        ...

    async def caller(self, key_hash: bytes) -> Caller | None:
        """Who holds a key, as it is now."""
        ...

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """What is recorded under an idempotency key."""
        ...

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """Count a request against its limits."""
        ...

    # Beside the requests; likewise.

    def recover(self, now_ms: int) -> int:
        """Give back what dead processes held, before serving."""
        ...

    async def recover_others(self, now_ms: int) -> int:
        """The same while serving."""
        ...

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """The database's own clock."""
        ...

    def latest_instant(self) -> int | None:
        """About when something was committed last."""
        ...

    def doubt(self, ahead_ms: int) -> None:
        """By how much the time may be ahead."""
        ...

    async def surely_past(self, now_ms: int) -> int:
        """The earlier one of two clocks, where there are two."""
        ...

    async def forget_limits(self, now_ms: int) -> None:
        """Begin limits anew that are not empty."""
        ...

    async def keep_room(self) -> None:
        """Have room on disk, where that is ours."""
        ...

    async def heartbeat(self, now_ms: int) -> None:
        """Make something small durable."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Remove some recorded answers that have run out, and what only this engine has too
        much of. Count of the answers.
        """
        ...

    async def drop_traces(self, before_ms: int) -> int:
        """Drop old traces as a whole, where they lie by month. Count of months."""
        ...

    def close(self) -> None:
        """Finish what is queued and let go of the files or connections."""
        ...
