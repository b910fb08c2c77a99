"""The interface of an open database that the desk uses.

What both engines have in common is in `storage/desk/`, built on these operations.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from balcao.core.access import Caller
from balcao.core.clock import ClockReading
from balcao.core.data_subject import AnswerAbout
from balcao.core.idempotency import IdempotencyRecord
from balcao.core.ledger import Change, Refusal
from balcao.core.observed_items import FindInMonth
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection
from balcao.storage.group_commit import Callback

T = TypeVar("T")

Attempt: TypeAlias = IdempotencyRecord | None


class DatabaseState(msgspec.Struct, frozen=True):
    """State of a database server, as a node sees it."""

    writable: bool
    waiting_commits: int  # for a synchronous standby, of all nodes


# Called on the event loop with the verdicts of all limits and the outcome of the changes, as from
# `commit`. Verdicts are None if a limit refuses or could not be counted: then nothing was
# committed. They may be empty if the commit failed.
OnCharged: TypeAlias = Callable[[Sequence[Verdict] | None, Refusal | Exception | None], None]


class Engine(Protocol):
    """One database, open in this process. Every method that does I/O raises `StorageFailed`."""

    @property
    def connection(self) -> SqlConnection:
        """The connection for rare statements, used synchronously on the event loop's thread."""
        ...

    @property
    def queries(self) -> Mapping[str, str]:
        """The statements whose SQL differs between engines, by name."""
        ...

    # Connections.

    def open_reader(self) -> AbstractContextManager[SqlConnection]:
        """Open a connection for slow reads, usable in any thread; it is closed afterwards."""
        ...

    def full_scan(self) -> AbstractContextManager[SqlConnection]:
        """Open a connection for reading whole tables."""
        ...

    def write_in_place(self) -> AbstractContextManager[SqlConnection]:
        """Give `connection` for rare writes: actions of operators, and at the start.

        Broken constraints raise the engine's own error.
        """
        ...

    async def run_in_writer(self, work: Callable[[SqlConnection], T]) -> T:
        """Run `work` in the writer's thread and return its result. Raises the errors of `work`."""
        ...

    # Replacements of the installation's secret.

    def nodes_without_secret(self, connection: SqlConnection, secret_id: str) -> Sequence[int]:
        """Return the numbers of serving nodes that have not reported a secret."""
        ...

    async def report_secrets(self, secret_ids: Sequence[str]) -> None:
        """Record which secrets this node has. Raises `StorageFailed`."""
        ...

    # For every request. `Desk` caches parts of `commit` and `caller`.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit a list of changes durably, in one transaction with concurrent ones."""
        ...

    def commit_nowait(self, changes: Sequence[Change], on_done: Callback[Refusal | None]) -> None:
        """Like `commit`, without awaiting: calls `on_done(outcome)` later, on the event loop."""
        ...

    def on_refusal(self, callback: Callable[[Refusal | Exception | None], None]) -> None:
        """Call `callback` on the event loop with the reason for every list that is refused."""
        ...

    @property
    def find_in_month(self) -> FindInMonth:
        """The function that `find_in_month_by` has set."""
        ...

    def find_in_month_by(self, find: FindInMonth) -> None:
        """Set the function that finds companies of the month in use, called in any thread.

        They are the state of watched subjects before the first answer of an own lookup.
        """
        ...

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit one list outside an event loop, for the command line. Raises `StorageFailed`."""
        ...

    async def caller(self, key_hash: bytes) -> Caller | None:
        """Return the holder of a key, or None if it is unknown or not in force."""
        ...

    async def find_attempt(
        self, account_id: int, key_digest: str, now_ms: int
    ) -> IdempotencyRecord | None:
        """Return the attempt recorded under an idempotency key that has not expired.

        Raises `StorageFailed`, and `CommitUncertain` where a record is not confirmed.
        """
        ...

    def find_attempt_nowait(
        self, account_id: int, key_digest: str, now_ms: int, on_found: Callback[Attempt]
    ) -> None:
        """Like `find_attempt`, without awaiting: calls `on_found`, maybe within this call."""
        ...

    async def has_received(self, answer: AnswerAbout) -> bool:
        """Return whether an account has received an answer about a person.

        Charged lookups are not searched: the first answer about a person is charged in two steps,
        which leaves a trace (ADR 0080). Raises `StorageFailed`.
        """
        ...

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """Count one request against all limits of account and key, or none if one refuses it."""
        ...

    def charge_nowait(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        on_done: OnCharged,
    ) -> None:
        """Do `spend` and, if no limit refuses, `commit`, without awaiting.

        Without changes `on_done` may be called within this call.
        """
        ...

    # At the start, and periodically.

    def recover(self, now_ms: int) -> int:
        """Release the holds of dead processes; called once before serving. Return the count."""
        ...

    async def recover_others(self, now_ms: int) -> int:
        """Release the holds of other processes that died, while serving. Return the count.

        Always 0 where only one process can use the database. Raises `StorageFailed`.
        """
        ...

    async def database_clock(self, steady_ms: Callable[[], int]) -> ClockReading | None:
        """Read the database's clock together with the steady one. None: it has no clock.

        Raises `StorageFailed`.
        """
        ...

    def latest_instant(self) -> int | None:
        """Return the approximate time of the last commit, by its writer's clock. None: never."""
        ...

    def set_clock_doubt(self, ahead_ms: int) -> None:
        """Subtract this possible error of the clock from the instants recorded by heartbeats.

        Otherwise the next process to start would trust a clock that is not confirmed (ADR 0025).
        """
        ...

    async def safe_past(self, now_ms: int) -> int:
        """Return the earlier of this instant and the database's own.

        A node with a wrong clock must not delete data of all nodes as expired. Raises
        `StorageFailed`.
        """
        ...

    async def forget_limits(self, now_ms: int) -> None:
        """Reset the rate limits that are not empty at this instant: the clock was ahead.

        Raises `StorageFailed`.
        """
        ...

    async def maintain_reserve(self) -> None:
        """Keep a reserve of disk space, or free space if the disk is full.

        Does nothing if the database server manages the disk. Raises `StorageFailed`.
        """
        ...

    async def state(self) -> DatabaseState | None:
        """Return the state of the server; None for a file.

        Raises `StorageFailed`.
        """
        ...

    async def heartbeat(self, now_ms: int) -> None:
        """Write a small row durably, as a check that writing works. Raises `StorageFailed`."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Remove some expired idempotency records. Return the count; 0: none are left.

        Raises `StorageFailed`.
        """
        ...

    async def drop_traces(self, before_ms: int) -> int:
        """Drop old monthly partitions of traces, if the engine has them. Return the count."""
        ...

    def close(self) -> None:
        """Finish the queued work and close the files or connections."""
        ...
