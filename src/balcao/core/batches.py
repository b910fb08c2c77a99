"""Batches of lookups: states and their transitions, rows, the quote (ADR 0044).

```
recebido → validando → cotado → executando → concluido
                 ↘ recusado      executando ⇄ pausado (a reason)
cotado | executando | pausado → encerrando → encerrado        cotado → expirado
```

There is no other transition (contract 13.2). A row is charged at most once: a change of its state
is in the same commit as its cause, and both are refused if the row is in another state by then.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from balcao.core.errors import (
    CeilingOfBatch,
    CeilingOfClient,
    CeilingOfKey,
    CeilingOfWallet,
    InsufficientCredits,
    KeyRefused,
    OperationNotAllowed,
)

BatchState: TypeAlias = Literal[
    "recebido",
    "validando",
    "cotado",
    "executando",
    "pausado",
    "concluido",
    "encerrando",
    "encerrado",
    "expirado",
    "recusado",
]
BATCH_STATES: tuple[BatchState, ...] = get_args(BatchState)

PauseReason: TypeAlias = Literal["teto", "saldo", "usuario", "fonte", "limite_da_chave"]
PAUSE_REASONS: tuple[PauseReason, ...] = get_args(PauseReason)

RowState: TypeAlias = Literal[
    "invalida",
    "repetida",
    "pendente",
    "em_andamento",
    "concluida",
    "falha",
    "recusada",
    "cancelada",
]
ROW_STATES: tuple[RowState, ...] = get_args(RowState)

TRANSITIONS: Mapping[BatchState, frozenset[BatchState]] = {
    "recebido": frozenset({"validando"}),
    "validando": frozenset({"cotado", "recusado"}),
    "cotado": frozenset({"executando", "encerrando", "expirado"}),
    "executando": frozenset({"concluido", "pausado", "encerrando"}),
    "pausado": frozenset({"executando", "encerrando"}),
    "encerrando": frozenset({"encerrado"}),
    "concluido": frozenset(),
    "encerrado": frozenset(),
    "expirado": frozenset(),
    "recusado": frozenset(),
}

# Final states: the data may be deleted.
FINISHED_STATES: frozenset[BatchState] = frozenset(
    {"concluido", "encerrado", "expirado", "recusado"}
)
# Rows that are still to be looked up.
OPEN_ROWS: frozenset[RowState] = frozenset({"pendente", "em_andamento"})
# Rows that were looked up, or cancelled before that.
ENDED_ROWS: frozenset[RowState] = frozenset({"concluida", "falha", "recusada", "cancelada"})

# A quote can be confirmed for a day (contract 13.3).
QUOTE_MS = 24 * 3_600_000

# Attempts for a row whose source was unavailable.
TRIES_MAX = 3

# With fewer past rows no price is expected.
PAST_ROWS_MIN = 100


def can_transition(state: BatchState, other: BatchState) -> bool:
    """Return whether a batch may go from one state to another."""
    return other in TRANSITIONS[state]


class RowStatus(msgspec.Struct, gc=False):
    """The state of a row while changes are checked, one after another."""

    state: RowState
    request_id: str | None = None  # the request that holds it, while it is `em_andamento`
    credits: int = 0  # held for it, or charged


def can_move(row: RowStatus | None, to: RowState, request_id: str | None) -> bool:
    """Return whether a request may change the row's state. `row` None: it was deleted.

    A request that waits for a source first takes the row, and then it alone may change it. An
    available result goes from `pendente` to the final state in one step: of two requests, the
    second is refused.
    """
    if row is None:
        return False
    if row.state == "em_andamento":
        return row.request_id == request_id and to != "em_andamento"
    return row.state == "pendente" and to != "pendente"


def state_after(status: int, tries: int) -> RowState:
    """Return the row's state after a reply (contract 13.4). `tries`: earlier attempts.

    A 404 is a result. A 503 is retried.
    """
    match status:
        case 200 | 404:
            return "concluida"
        case 403:
            return "recusada"
        case 503 if tries + 1 < TRIES_MAX:
            return "pendente"
        case _:
            return "falha"


# The job that completes an interrupted erasure.
ERASE = "lote_apagar"

# Refusals of a row that pause its batch, because other rows would be refused too; by code.
PAUSES: Mapping[str, PauseReason] = {
    InsufficientCredits.code: "saldo",
    CeilingOfBatch.code: "teto",
    CeilingOfWallet.code: "teto",
    CeilingOfClient.code: "teto",
    CeilingOfKey.code: "limite_da_chave",
    KeyRefused.code: "limite_da_chave",
    OperationNotAllowed.code: "limite_da_chave",
}


class RowTally(msgspec.Struct, gc=False):
    """A number of rows, and the credits held for them or charged."""

    rows: int = 0
    credits: int = 0


class BatchQuote(msgspec.Struct, frozen=True):
    """The least and the greatest price of a batch, in credits."""

    digest: str
    least: int
    greatest: int
    valid: int  # rows that will be asked about
    at_hand: int  # of these, with an available result
    quoted_ms: int
    until_ms: int  # it can be confirmed until then

    @property
    def to_ask(self) -> int:
        """Rows for which a source may have to be asked."""
        return self.valid - self.at_hand


def quote_digest(rows_digest: bytes, tariff: str, operation: str, parameters: str) -> str:
    """Return the digest to be confirmed: of rows, prices, operation and parameters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (rows_digest, tariff.encode(), operation.encode(), parameters.encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def expected_credits(past: RowTally, quote: BatchQuote) -> int | None:
    """Return the expected price by the cost of past rows, within the quote; None: too few rows."""
    if past.rows < PAST_ROWS_MIN:
        return None
    expected = round(past.credits / past.rows * quote.valid)
    return min(max(expected, quote.least), quote.greatest)


class SourceDemand(msgspec.Struct, frozen=True, array_like=True):
    """A source that rows may need, for a UF. `rows`: for how many of them it is called first."""

    source: str
    uf: str  # "": the question has none
    rows: int = 0


# An available row: read, charge, seal, store (`python -m bench batches speed`).
_ROW_SECONDS = 0.0002


def expected_seconds(
    quote: BatchQuote, usual: Sequence[tuple[int, float | None]], places: int
) -> int | None:
    """Return the expected seconds without other load; None: no recent call of a source is known.

    `usual`: per source, the number of rows and the usual milliseconds of a call. `places`: how many
    rows may wait for sources at once.
    """
    known = [(rows, ms) for rows, ms in usual if rows and ms is not None]
    seconds = quote.valid * _ROW_SECONDS
    if quote.to_ask:
        asked = sum(rows for rows, _ in known)
        if not asked:
            return None
        mean_ms = sum(rows * ms for rows, ms in known) / asked
        seconds += math.ceil(quote.to_ask / places) * mean_ms / 1000
    return math.ceil(seconds)


def row_of_key(key: str) -> tuple[str, int] | None:
    """Return batch and line of a row's idempotency key, `lote/{id}/{linha}` (13.4), or None."""
    match key.split("/"):
        case ["lote", batch_id, line] if line.isascii() and line.isdigit() and len(line) <= 9:
            return batch_id, int(line)
        case _:
            return None
