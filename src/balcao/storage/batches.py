"""Records of batches as they are stored (ADR 0044)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from balcao.core.batches import (
    FINISHED_STATES,
    BatchQuote,
    BatchState,
    PauseReason,
    RowState,
    RowTally,
)

Tallies: TypeAlias = Mapping[RowState, RowTally]


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to be created; the pieces of its file are stored already."""

    batch_id: str
    account_id: int
    key_id: int | None  # None: in the web application
    user_id: int | None
    name: str
    client: str | None
    operation: str  # its path
    parameters: str  # for all rows, as a query
    columns: str  # roles of columns chosen by the user: JSON
    media_type: str
    repeats: str | None  # the batch whose failed rows are looked up again; None: there is a file
    create_key: str | None  # digest of the Idempotency-Key
    create_fingerprint: str
    created_ms: int
    file_bytes: int = 0  # as stored
    secret_id: str | None = None  # that its data is sealed with; None: the installation's first
    ceiling: int | None = None  # it is started by itself, once it is quoted
    of_wallet: bool = False  # it buys certificates of the portfolio, by its clock


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch without the content of its file."""

    batch_id: str
    account_id: int
    key_id: int | None
    user_id: int | None
    name: str
    client: str | None
    operation: str
    parameters: str
    columns: str
    media_type: str
    repeats: str | None
    create_fingerprint: str
    state: BatchState
    reason: PauseReason | None
    code: str | None
    message: str | None
    layout: str | None  # how the file was understood: JSON
    header: bytes | None  # sealed
    quote: BatchQuote | None
    ceiling: int | None
    created_ms: int
    confirmed_ms: int | None
    ended_ms: int | None
    erased_ms: int | None
    secret_id: str | None
    of_wallet: bool
    tallies: Tallies = field(default_factory=dict)

    def rows(self, *states: RowState) -> int:
        """Return the number of rows in one of these states; in any, if none is named."""
        return sum(
            tally.rows for state, tally in self.tallies.items() if not states or state in states
        )

    @property
    def spent(self) -> int:
        """Return the credits that were charged."""
        return sum(
            tally.credits for state, tally in self.tallies.items() if state != "em_andamento"
        )

    @property
    def held(self) -> int:
        """Return the credits that are held for rows under way."""
        found = self.tallies.get("em_andamento")
        return 0 if found is None else found.credits

    @property
    def still_at_most(self) -> int:
        """Return the credits that it may still cost, besides those spent and held."""
        if self.quote is None or self.state in FINISHED_STATES or self.state == "encerrando":
            return 0
        most = (
            self.quote.greatest if self.ceiling is None else min(self.quote.greatest, self.ceiling)
        )
        return max(0, most - self.spent - self.held)


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row as read from the file."""

    line: int
    state: RowState  # invalida, recusada or pendente
    ref: str | None
    client: str | None
    document: str | None
    document_hash: bytes | None
    same: bytes | None
    least: int
    greatest: int
    at_hand: bool
    code: str | None
    cells: bytes  # sealed


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row and its outcome."""

    line: int
    state: RowState
    ref: str | None = None
    client: str | None = None
    document: str | None = None  # a CNPJ, or a masked CPF
    repeated_of: int | None = None  # the line of the first equal row
    request_id: str | None = None
    credits: int = 0
    code: str | None = None
    settled_ms: int | None = None
    tries: int = 0
    cells: bytes | None = None  # sealed
    answer: bytes | None = None  # sealed
