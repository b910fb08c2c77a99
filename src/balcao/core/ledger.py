"""Credits: the changes a request may want, as values, and whether an account can bear them.

Whole credits. A charge is one entry when the answer is at hand; when a source must be asked
it is a hold, then a post of the real price or a void (contract 5.1). Entries are never
changed or removed; a mistake is corrected by another entry. Times are milliseconds since 1970.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from balcao.core.access import Account, Plan
from balcao.core.batches import RowState
from balcao.core.budgets import Happening, OverBudget
from balcao.core.certificates import CertificateGiven, MediaType
from balcao.core.documents import CNPJ_CHARACTERS
from balcao.core.gist import Gist
from balcao.core.idempotency import Recorded
from balcao.core.people import Action, Signature

Origin: TypeAlias = Literal["cache", "online"]


class Marks(msgspec.Struct, frozen=True, gc=False):
    """What a client of ours marks a request with, for itself (contract 11.1). Never a CPF."""

    client: str | None = None  # whom it is for
    reference: str | None = None  # what it belongs to
    batch_id: str | None = None  # of which batch it is a row; not kept with the money


NO_MARKS = Marks()


class Charge(msgspec.Struct, frozen=True, gc=False):
    """Post the price of an answer that is at hand, in one step."""

    account_id: int
    key_id: int | None  # None: in the web application
    request_id: str
    operation: str
    credits: int
    rule: str  # code of the tariff rule that made the price (contract 5.4, 9.10)
    origin: Origin
    at_ms: int
    client: str | None = None
    reference: str | None = None
    batch_id: str | None = None


class Hold(msgspec.Struct, frozen=True, gc=False):
    """Set the greatest price of the path aside, before a source is asked."""

    account_id: int
    key_id: int | None  # None: in the web application
    request_id: str
    operation: str
    credits: int
    at_ms: int
    client: str | None = None
    reference: str | None = None
    batch_id: str | None = None


class Settle(msgspec.Struct, frozen=True, gc=False):
    """Post `credits` of a hold and free the rest; 0 credits is a void."""

    account_id: int
    request_id: str
    credits: int
    rule: str
    origin: Origin | None
    at_ms: int


class TopUp(msgspec.Struct, frozen=True, gc=False):
    """Credits given (or, below zero, taken back) by an operator, with the reason."""

    account_id: int
    credits: int
    reason: str
    at_ms: int


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Take an idempotency key for a request that goes on to a source."""

    account_id: int
    key_digest: str
    fingerprint: str
    request_id: str
    at_ms: int
    expires_ms: int


class Finish(msgspec.Struct, frozen=True, gc=False):
    """Record the answer under its idempotency key; binds the key if nobody did before."""

    account_id: int
    key_digest: str
    fingerprint: str
    recorded: Recorded
    at_ms: int
    expires_ms: int


class Unbind(msgspec.Struct, frozen=True, gc=False):
    """Let go of a key: the execution that took it ended in a refusal, which binds none (6.2)."""

    account_id: int
    key_digest: str
    request_id: str
    at_ms: int


class Trace(msgspec.Struct, frozen=True, gc=False):
    """What is remembered of a request besides money, for the page that explains it.

    Purged after some months, while the ledger stays: so no CPF is in here, only its masked form
    and a keyed hash by which a person's requests can be found and forgotten. One that brought a
    certificate stays as long as the receipt (ADR 0028).
    """

    request_id: str
    account_id: int
    key_id: int | None  # None: asked in the web application
    user_id: int | None  # who asked there
    operation: str
    document: str  # a CNPJ, or a masked CPF
    document_hash: bytes | None  # of a CPF
    uf: str | None  # as asked; BR is all of them
    strategy: str
    refresh: bool  # the caller asked to pass over what we keep, or for a new issuance
    key_digest: str | None  # where the answer is recorded for a while
    status: int
    code: str | None  # of an error
    origin: Origin | None
    source: str | None
    asked_ms: int | None  # when the source was asked
    credits: int
    rule: str
    opened_ms: int
    settled_ms: int
    client: str | None = None
    reference: str | None = None
    certificate: CertificateGiven | None = None  # what it brought of one
    gist: Gist | None = None  # what else it said; of what was at hand it is not remembered

    @property
    def of_company(self) -> bool:
        """Whether a company's number is in it: else it is a person's masked one, or erased."""
        return len(self.document) == CNPJ_CHARACTERS


class TracedCharge(msgspec.Struct, frozen=True, gc=False):
    """A charge of an answer that is at hand and its trace, in one: what most requests come to.

    The fields are those of both, each of them once.
    """

    account_id: int
    request_id: str
    opened_ms: int
    key_id: int | None
    user_id: int | None
    operation: str
    document: str
    uf: str | None
    strategy: str
    refresh: bool
    status: int
    code: str | None
    origin: Origin
    source: str | None
    asked_ms: int | None
    credits: int
    rule: str
    settled_ms: int
    client: str | None = None
    reference: str | None = None
    batch_id: str | None = None
    document_hash: bytes | None = None
    certificate: CertificateGiven | None = None

    @property
    def at_ms(self) -> int:
        """When it is charged."""
        return self.opened_ms

    def apart(self) -> tuple[Charge, Trace]:
        """The same in two."""
        charge = Charge(
            self.account_id, self.key_id, self.request_id, self.operation, self.credits, self.rule,
            self.origin, self.opened_ms, self.client, self.reference, self.batch_id,
        )  # fmt: skip
        trace = Trace(
            self.request_id, self.account_id, self.key_id, self.user_id, self.operation,
            self.document, self.document_hash, self.uf, self.strategy, self.refresh, None,
            self.status, self.code, self.origin, self.source, self.asked_ms, self.credits,
            self.rule, self.opened_ms, self.settled_ms, self.client, self.reference,
            self.certificate,
        )  # fmt: skip
        return charge, trace


class Audit(msgspec.Struct, frozen=True, gc=False):
    """Something that was done in the office, and by whom. Refused when its form was sent before."""

    signed: Signature
    action: Action
    account_id: int | None
    target: str  # what it was done to, in words: a key's name, a user's number; no e-mail
    detail: str  # what was changed, in words
    at_ms: int


class Touch(msgspec.Struct, frozen=True, gc=False):
    """Remember that a key was used."""

    key_id: int
    at_ms: int


class KeepReceipt(msgspec.Struct, frozen=True, gc=False):
    """Record a receipt whose bytes are stored already. Never refused; once recorded, no news.

    It goes with every delivery: the same receipt has the same number each time.
    """

    receipt_id: str
    account_id: int | None  # None: public
    operation: str
    digest: str
    media_type: MediaType
    size_bytes: int
    at_ms: int
    document_hash: bytes | None = None  # of a CPF: by which it is found when it must be erased
    cnpj: str | None = None  # of a company's federal certificate: the one that it names


class Enqueue(msgspec.Struct, frozen=True, gc=False):
    """Leave something to be done after this commit (ADR 0035). Never refused.

    One that is open already is asked for once more, one that was given up begins anew.
    """

    kind: str
    about: str  # what it is done to: an identifier or a digest, never a document
    at_ms: int


class RowMoved(msgspec.Struct, frozen=True, gc=False):
    """A row of a batch becomes that, in the commit of what made it so (ADR 0044).

    Taken with the hold, ended with the charge; refused, and all that goes with it, where it is
    not open any more or somebody else's.
    """

    account_id: int
    batch_id: str
    line: int
    request_id: str
    state: RowState
    credits: int  # held for it, or charged
    code: str | None  # of an error; of an open row, why it was given back
    answer: bytes | None  # sealed
    at_ms: int


Change: TypeAlias = (
    Charge
    | Hold
    | Settle
    | TopUp
    | Bind
    | Finish
    | Unbind
    | Touch
    | KeepReceipt
    | Trace
    | TracedCharge
    | Audit
    | Enqueue
    | RowMoved
    | Happening
)


class Short(msgspec.Struct, frozen=True, gc=False):
    """Refused: the available credits do not cover the price."""

    needed_credits: int
    available_credits: int


class KeyBound(msgspec.Struct, frozen=True, gc=False):
    """Refused: the idempotency key was bound by somebody quicker."""


class HoldGone(msgspec.Struct, frozen=True, gc=False):
    """Refused: the hold was given back already; what it paid for is not charged."""


class DoneBefore(msgspec.Struct, frozen=True, gc=False):
    """Refused: this very form was sent and carried out before (a reload, a double click)."""


class RowGone(msgspec.Struct, frozen=True, gc=False):
    """Refused: the row of a batch is not open any more, or somebody else's."""


Refusal: TypeAlias = Short | OverBudget | KeyBound | HoldGone | DoneBefore | RowGone


@dataclass(slots=True)
class Purse:
    """An account's credits while a batch of changes is being admitted, one after another."""

    plan: Plan
    balance_credits: int
    held_credits: int
    ceiling_credits: int | None
    month: str
    month_credits: int
    budgets: int = 0  # how many live, of all its parts
    folded_ms: int = 0  # what was charged before is in the daily totals already

    def short_of(self, credits: int, month: str) -> Short | None:
        """None when `credits` more can be spent now, else what is missing (402)."""
        available = available_credits(self, month)
        if available is None or credits <= available:
            return None
        return Short(credits, max(available, 0))

    def short_to_take_back(self, credits: int) -> Short | None:
        """None when an operator may take `credits` back, else what is missing.

        No month and no ceiling: the balance counts. What a post-paid account owes may be
        corrected to any amount.
        """
        available = self.balance_credits - self.held_credits
        if self.plan == "pos_pago" or credits <= available:
            return None
        return Short(credits, max(available, 0))

    def spend(self, credits: int, month: str) -> Short | None:
        """`post` what can be; else what is missing."""
        short = self.short_of(credits, month)
        if short is None:
            self.post(credits, month)
        return short

    def post(self, credits: int, month: str) -> None:
        """Credits leave the account."""
        if month != self.month:
            self._turn_to(month)
        self.balance_credits -= credits
        self.month_credits += credits

    def hold(self, credits: int, month: str) -> None:
        """Credits are set aside (or freed, below zero)."""
        self._turn_to(month)
        self.held_credits += credits

    def _turn_to(self, month: str) -> None:
        # Months only go on: what comes late counts in the month that has begun meanwhile.
        if month > self.month:
            self.month, self.month_credits = month, 0


def spent_credits(of: Purse | Account, month: str) -> int:
    """Posted in this civil month: nothing yet when the last entry is of an earlier one."""
    return 0 if month > of.month else of.month_credits


def available_credits(of: Purse | Account, month: str) -> int | None:
    """What can be spent in this civil month; None: as much as is wanted."""
    if of.plan != "pos_pago":
        return of.balance_credits - of.held_credits
    if of.ceiling_credits is None:
        return None
    return of.ceiling_credits - spent_credits(of, month) - of.held_credits
