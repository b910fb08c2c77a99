"""The context shared by all parts of batches, and readers of a stored batch's parameters."""

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
from balcao.core.batches import SourceDemand, quote_digest
from balcao.core.calendar import HOUR_MS
from balcao.core.request_tags import tag_problem
from balcao.core.secrets import Secrets
from balcao.lookup.context import Parts
from balcao.operations import tariff
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch
from balcao.storage.connection import SqlConnection

# Runs within the transaction that it belongs to.
CommitStep: TypeAlias = Callable[[SqlConnection], None]

# Job names; the subject of each job is a batch ID.
VALIDATE = "lote_validar"
RUN = "lote_executar"

# Rows start in groups, each of which occupies the event loop (ADR 0044). While clients also send
# single lookups, groups are small, and each is followed by a pause `PAUSE_RATIO` times as long.
GROUP = 32  # rows: enough to share a commit
SMALL_GROUP = 2
PAUSE_RATIO = 2.0
SERIES_SECONDS = 1.0  # single lookups usually come in series


@dataclass(slots=True)
class RowPacer:
    """Limits how many rows of batches start at once, and pauses between the groups.

    `arrivals` returns the number of single lookups that this process has answered.
    """

    arrivals: Callable[[], int] = lambda: 0
    _seen: int = field(default=0)
    _until: float = field(default=0.0)
    _began: float = field(default=0.0)

    def group_size(self) -> int:
        """Return how many rows may start now."""
        self._began = asyncio.get_running_loop().time()
        if (arrived := self.arrivals()) != self._seen:
            self._seen, self._until = arrived, self._began + SERIES_SECONDS
        return SMALL_GROUP if self._began < self._until else GROUP

    async def pause(self) -> None:
        """Yield the event loop to the rows that were started, then to single lookups."""
        await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        if now < self._until:
            await asyncio.sleep(PAUSE_RATIO * (now - self._began))


class FileSummary(msgspec.Struct, frozen=True):
    """Summary of a file's columns and rows, stored with its batch."""

    table: str  # for people: what kind of file
    columns: tuple[str, ...]  # for people: which column is what
    letters: Mapping[str, int | None]  # by role: its column; None: it has none
    rows_digest: str = ""
    asked: tuple[SourceDemand, ...] = ()  # sources that may be called, in order

    @property
    def stored(self) -> str:
        """The stored form, JSON."""
        return msgspec.json.encode(self).decode()


@dataclass(frozen=True, slots=True)
class BatchContext:
    """Services shared by all parts of batches of a process. `folder` holds temporary files."""

    parts: Parts
    secrets: Secrets
    folder: Path
    new_id: Callable[[], str]
    pace: RowPacer = field(default_factory=RowPacer)

    def now_ms(self) -> int:
        """Return the current instant."""
        return self.parts.now_ms()

    def seal(self, batch: StoredBatch) -> BatchSeal:
        """Return the encryption of a batch's data."""
        return seal_of(self.secrets.ring.by_id(batch.secret_id), batch.batch_id)

    def remove_leftovers(self) -> None:
        """Remove unencrypted files left by processes that died. Blocking."""
        for path in self.folder.glob("*"):
            try:
                if path.stat().st_mtime * 1000 >= self.now_ms() - HOUR_MS:
                    continue
                if path.is_dir():  # temporary files of an unfinished spreadsheet
                    shutil.rmtree(path)
                else:
                    path.unlink()
            except FileNotFoundError:  # removed meanwhile by its process
                continue

    def operation(self, path: str) -> Operation | None:
        """Return the operation with this path, None if it no longer exists."""
        found = (each for each in self.parts.operations.values() if each.path == path)
        return next(found, None)

    async def caller(self, batch: StoredBatch) -> Caller | None:
        """Return the caller of a batch's rows, None if its key or account is inactive."""
        return await self.parts.desk.caller_for(
            batch.account_id, batch.key_id, batch.user_id, self.now_ms()
        )

    def digest(self, batch: StoredBatch, rows_digest: str) -> str:
        """Return the digest of a quote for these rows under the current tariff."""
        return quote_digest(
            bytes.fromhex(rows_digest), tariff.version(), batch.operation, batch.parameters
        )


def common_parameters(parameters: str) -> Mapping[str, str]:
    """Return the parameters for all rows, parsed from their stored query string."""
    return dict(parse_qsl(parameters, keep_blank_values=True))


def summary_of(batch: StoredBatch) -> FileSummary | None:
    """Return how the batch's file was interpreted, None if unread or erased."""
    return None if batch.layout is None else msgspec.json.decode(batch.layout, type=FileSummary)


def column_choices(batch: StoredBatch) -> Mapping[str, Choice]:
    """Return the columns that the request chose, by role."""
    return msgspec.json.decode(batch.columns, type=dict[str, Choice])


def row_tag(ref: str | None) -> str | None:
    """Return a row's `ref` if it is valid as a request's tag (contract 11.1), else None."""
    return ref if ref and tag_problem(ref) is None else None
