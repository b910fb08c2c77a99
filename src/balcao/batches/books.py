"""What all parts of the batches share: the stored ones, who asks for them, and what they ask."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

Telling: TypeAlias = Callable[[SqlConnection], None]

# Kinds of jobs; each is about a batch's number.
VALIDATE = "lote_validar"
RUN = "lote_executar"


class Understood(msgspec.Struct, frozen=True):
    """How a file was understood, as it is kept with its batch."""

    table: str  # for people: what kind of file
    columns: tuple[str, ...]  # for people: which column is what
    letters: Mapping[str, int | None]  # by role: its column; None: it has none
    rows_digest: str = ""
    asked: tuple[AskedLine, ...] = ()  # who may have to be asked, in order

    @property
    def kept(self) -> str:
        """As it is stored."""
        return msgspec.json.encode(self).decode()


@dataclass(frozen=True, slots=True)
class BatchBooks:
    """One for a process. `folder` is where a file is while it is read."""

    parts: Parts
    pepper: bytes
    folder: Path
    new_id: Callable[[], str]

    def now_ms(self) -> int:
        """The instant."""
        return self.parts.now_ms()

    def seal(self, batch_id: str) -> BatchSeal:
        """Of one batch."""
        return seal_of(self.pepper, batch_id)

    def remove_left(self) -> None:
        """Remove files that processes which died left unsealed. Blocking."""
        for path in self.folder.glob("*"):
            try:
                if path.stat().st_mtime * 1000 < self.now_ms() - HOUR_MS:
                    path.unlink()
            except FileNotFoundError:  # whoever read it is done
                continue

    def operation(self, path: str) -> Operation | None:
        """The operation of this path."""
        found = (each for each in self.parts.operations.values() if each.path == path)
        return next(found, None)

    async def caller(self, batch: StoredBatch) -> Caller | None:
        """On whose behalf its rows are asked. None: the key or the account is out of force."""
        return await self.parts.desk.caller_for(
            batch.account_id, batch.key_id, batch.user_id, self.now_ms()
        )

    def event(self, kind: str, batch: StoredBatch, **told: object) -> Telling:
        """What the account is told, in the commit of its cause (decisions 13.7)."""
        at_ms = self.now_ms()
        body = {"lote": batch.batch_id, "operacao": batch.operation, **told}
        text = msgspec.json.encode(body).decode()
        happening = Happening(batch.account_id, kind, at_ms, text)
        return lambda connection: write_event(connection, happening)

    def digest(self, batch: StoredBatch, rows_digest: str) -> str:
        """Of a quote for these rows, by the tariff of now."""
        return quote_digest(
            bytes.fromhex(rows_digest), tariff.version(), batch.operation, batch.parameters
        )


def common_of(parameters: str) -> Mapping[str, str]:
    """The parameters for all rows, of the query they are kept as."""
    return dict(parse_qsl(parameters, keep_blank_values=True))


def understood_of(batch: StoredBatch) -> Understood | None:
    """How its file was understood; None: it was not read yet, or is erased."""
    return None if batch.told is None else msgspec.json.decode(batch.told, type=Understood)


def chosen_of(batch: StoredBatch) -> Mapping[str, Choice]:
    """The columns that somebody chose for it, by role."""
    return msgspec.json.decode(batch.columns, type=dict[str, Choice])


def quote_words(quote: BatchQuote) -> Mapping[str, object]:
    """A quote in an event."""
    return {
        "creditos_min": quote.least,
        "creditos_max": quote.greatest,
        "validas": quote.valid,
        "valida_ate": instant(quote.until_ms),
    }


def mark_of(ref: str | None) -> str | None:
    """A client's own id as the mark of a request, where it can be one (decisions 11.1)."""
    return ref if ref and mark_flaw(ref) is None else None
