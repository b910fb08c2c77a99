"""Batches of lookups: their states and the arrows between them, rows, the quote (ADR 0044).

```
recebido → validando → cotado → executando → concluido
                 ↘ recusado      executando ⇄ pausado (a reason)
cotado | executando | pausado → encerrando → encerrado        cotado → expirado
```

There is no other arrow (contract 13.2). A row is charged at most once: every move of a row is part
of the commit of its cause, and is refused with it where the row is not what its mover took it for.
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

ARROWS: Mapping[BatchState, frozenset[BatchState]] = {
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

# Nothing happens to them by themselves any more: their data may go.
OVER: frozenset[BatchState] = frozenset({"concluido", "encerrado", "expirado", "recusado"})
# Rows that may still be asked about.
OPEN_ROWS: frozenset[RowState] = frozenset({"pendente", "em_andamento"})
# Rows that were asked about, or would have been, and are over.
ENDED_ROWS: frozenset[RowState] = frozenset({"concluida", "falha", "recusada", "cancelada"})

# A quote that nobody confirms stands for a day (contract 13.3).
QUOTE_MS = 24 * 3_600_000

# A row that a source could not be asked about is asked again; so often, and no more.
TRIES_MAX = 3

# Fewer rows of the past say nothing of rows to come.
PAST_ROWS_MIN = 100


def may_become(state: BatchState, other: BatchState) -> bool:
    """Return whether a state may become another."""
    return other in ARROWS[state]


class RowStanding(msgspec.Struct, gc=False):
    """The state of a row while changes are being admitted, one after another."""

    state: RowState
    request_id: str | None = None  # whose row it is, while it is `em_andamento`
    credits: int = 0  # held for it, or charged


def may_move(row: RowStanding | None, to: RowState, request_id: str | None) -> bool:
    """Return whether this request may move the row. None: there is no such row any more.

    A request that waits for a source takes the row first, and then it alone may move it. What is
    available now goes from `pendente` to its end in one step: of two requests one finds it ended.
    """
    if row is None:
        return False
    if row.state == "em_andamento":
        return row.request_id == request_id and to != "em_andamento"
    return row.state == "pendente" and to != "pendente"


def end_of(status: int, tries: int) -> RowState:
    """Return the row's state after a reply (contract 13.4). `tries`: earlier attempts.

    That there is no such thing is an answer. A source that cannot be asked now may be later.
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


# The job that takes up an erasure which was cut short.
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
    at_hand: int  # of these, what is here
    quoted_ms: int
    until_ms: int  # it can be confirmed until then

    @property
    def to_ask(self) -> int:
        """Rows for which a source may have to be asked."""
        return self.valid - self.at_hand


def quote_digest(rows_digest: bytes, tariff: str, operation: str, parameters: str) -> str:
    """Return the digest that a confirmation names: of rows, prices, operation and parameters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (rows_digest, tariff.encode(), operation.encode(), parameters.encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def expected_credits(past: RowTally, quote: BatchQuote) -> int | None:
    """Return the expected price, by what such rows cost before; None: too few are known.

    Never outside the quote's own bounds.
    """
    if past.rows < PAST_ROWS_MIN:
        return None
    expected = round(past.credits / past.rows * quote.valid)
    return min(max(expected, quote.least), quote.greatest)


class AskedLine(msgspec.Struct, frozen=True, array_like=True):
    """A source that rows may need for a UF. `rows`: the number for which it is the first."""

    source: str
    uf: str  # "": the question has none
    rows: int = 0


# Of a row that is at hand: reading, charging, sealing, keeping (`python -m bench batches speed`).
_ROW_SECONDS = 0.0002


def expected_seconds(
    quote: BatchQuote, usual: Sequence[tuple[int, float | None]], places: int
) -> int | None:
    """Return the expected seconds without other load; None: no source has answered of late.

    `usual`: for how many rows a line comes first, and how many milliseconds it usually takes.
    `places`: how many rows may wait for sources at once.
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
    """Return the batch and line in a row's idempotency key, `lote/{id}/{linha}` (contract 13.4).

    None: it is another key.
    """
    match key.split("/"):
        case ["lote", batch_id, line] if line.isascii() and line.isdigit() and len(line) <= 9:
            return batch_id, int(line)
        case _:
            return None
