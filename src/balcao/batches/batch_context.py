"""Shared by all parts of batches: one process's context, and what a stored batch was asked with."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl

import msgspec

from balcao.batches.columns import Choice
from balcao.batches.sealing import BatchSeal, seal_of
from balcao.core.access import Caller
from balcao.core.batches import AskedLine, BatchQuote, quote_digest
from balcao.core.budgets import Happening, instant
from balcao.core.calendar import HOUR_MS
from balcao.core.marks import mark_flaw
from balcao.lookup.context import Parts
from balcao.operations import tariff
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_ceilings import write_event

# Is done within the transaction of its cause.
CommitStep: TypeAlias = Callable[[SqlConnection], None]

# Kinds of jobs; each is about a batch's number.
VALIDATE = "lote_validar"
RUN = "lote_executar"

# The event loop's time is taken by groups of rows (ADR 0044). While others send lookups one by
# one, groups are small, and the loop is theirs after each for so many times as long as it took.
GROUP = 32  # rows: enough to share a commit
GROUP_BESIDE_OTHERS = 2
REST = 2.0
BESIDE_SECONDS = 1.0  # a lookup that came a moment ago is followed by others


@dataclass(slots=True)
class Pace:
    """How many rows of batches may be begun at once, and the pauses between them.

    `arrivals`: how many lookups this process has answered one by one.
    """

    arrivals: Callable[[], int] = lambda: 0
    _seen: int = field(default=0)
    _until: float = field(default=0.0)
    _began: float = field(default=0.0)

    def group(self) -> int:
        """Return how many rows may be begun now."""
        self._began = asyncio.get_running_loop().time()
        if (arrived := self.arrivals()) != self._seen:
            self._seen, self._until = arrived, self._began + BESIDE_SECONDS
        return GROUP_BESIDE_OTHERS if self._began < self._until else GROUP

    async def rest(self) -> None:
        """Leave the loop to the rows that were begun, and then to others."""
        await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        if now < self._until:
            await asyncio.sleep(REST * (now - self._began))


class Understood(msgspec.Struct, frozen=True):
    """How a file was understood, as it is kept with its batch."""

    table: str  # for people: what kind of file
    columns: tuple[str, ...]  # for people: which column is what
    letters: Mapping[str, int | None]  # by role: its column; None: it has none
    rows_digest: str = ""
    asked: tuple[AskedLine, ...] = ()  # who may have to be asked, in order

    @property
    def kept(self) -> str:
        """JSON, as it is stored."""
        return msgspec.json.encode(self).decode()


@dataclass(frozen=True, slots=True)
class BatchContext:
    """One for a process. `folder` has files while they are read or written."""

    parts: Parts
    pepper: bytes
    folder: Path
    new_id: Callable[[], str]
    pace: Pace = field(default_factory=Pace)

    def now_ms(self) -> int:
        """Return the instant."""
        return self.parts.now_ms()

    def seal(self, batch_id: str) -> BatchSeal:
        """Return the seal of a batch."""
        return seal_of(self.pepper, batch_id)

    def remove_left(self) -> None:
        """Remove files that processes which died left unsealed. Blocking."""
        for path in self.folder.glob("*"):
            try:
                if path.stat().st_mtime * 1000 >= self.now_ms() - HOUR_MS:
                    continue
                if path.is_dir():  # of a spreadsheet that was being written
                    shutil.rmtree(path)
                else:
                    path.unlink()
            except FileNotFoundError:  # its process is done with it
                continue

    def operation(self, path: str) -> Operation | None:
        """Return the operation of this path; None: there is none any more."""
        found = (each for each in self.parts.operations.values() if each.path == path)
        return next(found, None)

    async def caller(self, batch: StoredBatch) -> Caller | None:
        """Return the caller of a batch's rows; None: the key or the account is out of force."""
        return await self.parts.desk.caller_for(
            batch.account_id, batch.key_id, batch.user_id, self.now_ms()
        )

    def event(self, kind: str, batch: StoredBatch, **more: object) -> CommitStep:
        """Return the step that writes an event, in the commit of its cause (contract 13.7)."""
        at_ms = self.now_ms()
        body = {"lote": batch.batch_id, "operacao": batch.operation, **more}
        text = msgspec.json.encode(body).decode()
        happening = Happening(batch.account_id, kind, at_ms, text)
        return lambda connection: write_event(connection, happening)

    def digest(self, batch: StoredBatch, rows_digest: str) -> str:
        """Return the digest of a quote for these rows, by the current tariff."""
        return quote_digest(
            bytes.fromhex(rows_digest), tariff.version(), batch.operation, batch.parameters
        )


def common_of(parameters: str) -> Mapping[str, str]:
    """Return the parameters for all rows, from the query they are kept as."""
    return dict(parse_qsl(parameters, keep_blank_values=True))


def understood_of(batch: StoredBatch) -> Understood | None:
    """Return how its file was understood; None: it was not read yet, or is erased."""
    return None if batch.told is None else msgspec.json.decode(batch.told, type=Understood)


def chosen_of(batch: StoredBatch) -> Mapping[str, Choice]:
    """Return the columns that somebody chose for a batch, by role."""
    return msgspec.json.decode(batch.columns, type=dict[str, Choice])


def quote_words(quote: BatchQuote) -> Mapping[str, object]:
    """Return what an event has of a quote."""
    return {
        "creditos_min": quote.least,
        "creditos_max": quote.greatest,
        "validas": quote.valid,
        "valida_ate": instant(quote.until_ms),
    }


def mark_of(ref: str | None) -> str | None:
    """Return a client's own id as the mark of a request, if it can be one (contract 11.1)."""
    return ref if ref and mark_flaw(ref) is None else None
