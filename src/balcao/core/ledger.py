"""The changes that a request commits, as values, and an account's balance.

Whole credits. An available answer is charged by one entry; if a source must be asked, by a hold,
then a post of the actual price or a void (contract 5.1). Entries are never changed or removed; a
mistake is corrected by another entry. Times are milliseconds since 1970.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from balcao.core.access import Account, Plan
from balcao.core.batches import RowState
from balcao.core.budgets import OverBudget
from balcao.core.certificates import CertificateSummary, MediaType
from balcao.core.documents import CNPJ_CHARACTERS
from balcao.core.events import NewEvent
from balcao.core.idempotency import RecordedAnswer
from balcao.core.observations import Observation
from balcao.core.people import Action, Signature
from balcao.core.renewals import Renews
from balcao.core.result_summary import ResultSummary

Origin: TypeAlias = Literal["cache", "online"]
ORIGIN_WORDS: Mapping[Origin, str] = {"cache": "guardado", "online": "da fonte"}


class RequestTags(msgspec.Struct, frozen=True, gc=False):
    """The caller's own labels of a request (contract 11.1). Never a CPF."""

    client: str | None = None  # `X-Cliente`: the end client
    reference: str | None = None  # `X-Referencia`
    batch_id: str | None = None  # if it is a row of a batch; not stored in the ledger
    of_wallet: bool = False  # if the portfolio bought it; not stored in the ledger
    renews: Renews | None = None  # the portfolio's certificate that it renews; not stored either


NO_TAGS = RequestTags()


class Charge(msgspec.Struct, frozen=True, gc=False):
    """Charge the price of an available answer, in one step."""

    account_id: int
    key_id: int | None  # None: in the web application
    request_id: str
    operation: str
    credits: int
    rule: str  # code of the tariff rule (contract 5.4, 9.10)
    origin: Origin
    at_ms: int
    client: str | None = None
    reference: str | None = None
    batch_id: str | None = None
    of_wallet: bool = False


class Hold(msgspec.Struct, frozen=True, gc=False):
    """Hold the highest possible price before a source is asked."""

    account_id: int
    key_id: int | None  # None: in the web application
    request_id: str
    operation: str
    credits: int
    at_ms: int
    client: str | None = None
    reference: str | None = None
    batch_id: str | None = None
    of_wallet: bool = False


class Settle(msgspec.Struct, frozen=True, gc=False):
    """Post `credits` of a hold and release the rest; 0 credits is a void."""

    account_id: int
    request_id: str
    credits: int
    rule: str
    origin: Origin | None
    at_ms: int


class TopUp(msgspec.Struct, frozen=True, gc=False):
    """Credits given by an operator, or taken back if negative, with the reason."""

    account_id: int
    credits: int
    reason: str
    at_ms: int


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Bind an idempotency key to a request before a source is asked."""

    account_id: int
    key_digest: str
    fingerprint: str
    request_id: str
    at_ms: int
    expires_ms: int


class Finish(msgspec.Struct, frozen=True, gc=False):
    """Record the answer under its idempotency key, and bind the key if it is not bound."""

    account_id: int
    key_digest: str
    fingerprint: str
    recorded: RecordedAnswer
    at_ms: int
    expires_ms: int


class Unbind(msgspec.Struct, frozen=True, gc=False):
    """Unbind a key whose execution ended in a refusal, which binds none (contract 6.2)."""

    account_id: int
    key_digest: str
    request_id: str
    at_ms: int


class Trace(msgspec.Struct, frozen=True, gc=False):
    """The stored details of a request without its charges, for the page that explains it.

    Purged after some months; the ledger stays. Contains no CPF, only its masked form and a keyed
    hash for finding and erasing a person's requests. The trace of a certificate is stored as long
    as its receipt (ADR 0028).
    """

    request_id: str
    account_id: int
    key_id: int | None  # None: in the web application
    user_id: int | None  # in the web application
    operation: str
    document: str  # a CNPJ, or a masked CPF
    document_hash: bytes | None  # of a CPF
    uf: str | None  # as requested; BR: all
    strategy: str
    refresh: bool  # the caller asked to bypass the cache, or for a new issuance
    key_digest: str | None  # of the idempotency key under which the answer is recorded
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
    certificate: CertificateSummary | None = None
    result_summary: ResultSummary | None = None  # of other results, unless they were available

    @property
    def of_company(self) -> bool:
        """Whether the document is a company's; else it is a masked CPF, or erased."""
        return len(self.document) == CNPJ_CHARACTERS


class TracedCharge(msgspec.Struct, frozen=True, gc=False):
    """A `Charge` of an available answer and its `Trace` in one, as most requests commit them.

    It has the fields of both, each once.
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
    certificate: CertificateSummary | None = None
    of_wallet: bool = False

    @property
    def at_ms(self) -> int:
        return self.opened_ms

    def split(self) -> tuple[Charge, Trace]:
        """Return the charge and the trace as two values."""
        charge = Charge(
            self.account_id, self.key_id, self.request_id, self.operation, self.credits, self.rule,
            self.origin, self.opened_ms, self.client, self.reference, self.batch_id, self.of_wallet,
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
    """An entry of the audit log. Refused if its form was carried out before."""

    signed: Signature
    action: Action
    account_id: int | None
    target: str  # in words: a key's name, a user's number; no e-mail
    detail: str  # the change, in words
    at_ms: int


class Touch(msgspec.Struct, frozen=True, gc=False):
    """Record that a key was used."""

    key_id: int
    at_ms: int


class KeepReceipt(msgspec.Struct, frozen=True, gc=False):
    """Record a receipt whose bytes are already stored. Never refused; idempotent.

    Committed with every answer that has the receipt: its number is always the same.
    """

    receipt_id: str
    account_id: int | None  # None: public
    operation: str
    digest: str
    media_type: MediaType
    size_bytes: int
    at_ms: int
    document_hash: bytes | None = None  # of a CPF, to find it for erasure
    cnpj: str | None = None  # the one named by a company's federal certificate


class Enqueue(msgspec.Struct, frozen=True, gc=False):
    """Enqueue a job to run after this commit (ADR 0035). Never refused.

    An open job of the same kind and subject runs again; one that had failed for good is restarted.
    """

    kind: str
    about: str  # its subject: an identifier or a digest, never a document
    at_ms: int


class RowMoved(msgspec.Struct, frozen=True, gc=False):
    """A new state of a batch's row, in the commit of its cause (ADR 0044).

    A row is taken with the hold and ended with the charge. If it is no longer open, or another
    request has taken it, the whole commit is refused.
    """

    account_id: int
    batch_id: str
    line: int
    request_id: str
    state: RowState
    credits: int  # held for it, or charged
    code: str | None  # of an error; of an open row, the reason why it was released
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
    | NewEvent
    | Observation
)


class InsufficientFunds(msgspec.Struct, frozen=True, gc=False):
    """Refusal: the available credits do not cover the price."""

    needed_credits: int
    available_credits: int


class KeyBound(msgspec.Struct, frozen=True, gc=False):
    """Refusal: another request has bound the idempotency key."""


class HoldGone(msgspec.Struct, frozen=True, gc=False):
    """Refusal: the hold was already released; its answer is not charged."""


class DoneBefore(msgspec.Struct, frozen=True, gc=False):
    """Refusal: this form was carried out before (a reload, a double click)."""


class RowGone(msgspec.Struct, frozen=True, gc=False):
    """Refusal: the batch's row is no longer open, or another request has taken it."""


Refusal: TypeAlias = InsufficientFunds | OverBudget | KeyBound | HoldGone | DoneBefore | RowGone


@dataclass(slots=True)
class Balance:
    """An account's credits while a commit's changes are checked, one after another."""

    plan: Plan
    balance_credits: int
    held_credits: int
    ceiling_credits: int | None
    month: str
    month_credits: int
    budgets: int = 0  # number of active budgets of the account
    folded_ms: int = 0  # earlier charges are already in the daily totals

    def shortfall(self, credits: int, month: str) -> InsufficientFunds | None:
        """Return None if `credits` more can be spent now, else the refusal (402)."""
        available = available_credits(self, month)
        if available is None or credits <= available:
            return None
        return InsufficientFunds(credits, max(available, 0))

    def shortfall_if_taken_back(self, credits: int) -> InsufficientFunds | None:
        """Return None if an operator may take `credits` back, else the refusal.

        The ceiling of the month does not matter. A post-paid account's debt may be any amount.
        """
        available = self.balance_credits - self.held_credits
        if self.plan == "pos_pago" or credits <= available:
            return None
        return InsufficientFunds(credits, max(available, 0))

    def spend(self, credits: int, month: str) -> InsufficientFunds | None:
        """Post credits if they can be spent, else return the refusal."""
        short = self.shortfall(credits, month)
        if short is None:
            self.post(credits, month)
        return short

    def post(self, credits: int, month: str) -> None:
        """Take credits from the balance."""
        if month != self.month:
            self._turn_to(month)
        self.balance_credits -= credits
        self.month_credits += credits

    def hold(self, credits: int, month: str) -> None:
        """Hold credits, or release them if negative."""
        self._turn_to(month)
        self.held_credits += credits

    def _turn_to(self, month: str) -> None:
        # Months only advance: a late entry counts in the current month.
        if month > self.month:
            self.month, self.month_credits = month, 0


def spent_credits(of: Balance | Account, month: str) -> int:
    """Return the credits posted in this civil month."""
    return 0 if month > of.month else of.month_credits


def available_credits(of: Balance | Account, month: str) -> int | None:
    """Return the credits that can be spent in this civil month; None: without limit."""
    if of.plan != "pos_pago":
        return of.balance_credits - of.held_credits
    if of.ceiling_credits is None:
        return None
    return of.ceiling_credits - spent_credits(of, month) - of.held_credits
