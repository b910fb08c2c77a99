"""Decides a batch of change lists against the books, before anything is written.

The lists are decided in order. Each is admitted or refused as a whole, and a refusal does not
affect the other lists. The result is rows for set-based statements; the schema checks everything a
second time. Used by every engine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import msgspec

from balcao.core.batches import RowState, RowStatus, RowTally, can_move
from balcao.core.calendar import HOUR_MS, civil_day, civil_month, day_starts_ms
from balcao.core.certificates import CertificateSummary
from balcao.core.events import NewEvent
from balcao.core.ledger import (
    Audit,
    Balance,
    Bind,
    Change,
    Charge,
    DoneBefore,
    Enqueue,
    Finish,
    Hold,
    HoldGone,
    KeepReceipt,
    KeyBound,
    Refusal,
    RowGone,
    RowMoved,
    Settle,
    TopUp,
    Touch,
    Trace,
    TracedCharge,
    Unbind,
)
from balcao.core.observations import Observation
from balcao.core.result_summary import ResultSummary
from balcao.storage.budgets import BudgetBook
from balcao.storage.numbers import least_number, numbers_of_hour

Row: TypeAlias = tuple[Any, ...]  # as the engine takes and gives it
Outcome: TypeAlias = Refusal | Exception | None  # of a list; None: committed


@dataclass(frozen=True, slots=True)
class OpenHold:
    """A hold that is not settled yet."""

    account_id: int
    key_id: int | None  # None: asked in the web application
    operation: str
    credits: int
    client: str | None = None
    reference: str | None = None
    budgets: str | None = None  # that it counts against, in their stored form


@dataclass(slots=True)
class Needs:
    """The rows to read before the lists can be decided."""

    accounts: set[int] = field(default_factory=set)
    holds: set[str] = field(default_factory=set)
    keys: dict[tuple[int, str], int] = field(default_factory=dict)  # with the request's instant
    forms: set[str] = field(default_factory=set)
    rows: set[tuple[str, int]] = field(default_factory=set)  # of batches
    observations: list[Observation] = field(default_factory=list)


def needs(lists: Iterable[Sequence[Change]]) -> Needs:
    """Return the accounts, holds, idempotency keys, forms and rows that these lists concern."""
    needed = Needs()
    for changes in lists:
        for change in changes:
            if type(change) is TracedCharge:  # first, since nearly all changes are
                needed.accounts.add(change.account_id)
            else:
                _need(needed, change)
    return needed


# In each `match` below, frequent changes are first: patterns that do not match took almost half of
# the time that a lookup with an idempotency key takes here.
def _need(needed: Needs, change: Change) -> None:
    match change:
        case Trace():
            pass
        case Charge():
            needed.accounts.add(change.account_id)
        case Finish() | Bind() | Unbind():
            needed.keys[change.account_id, change.key_digest] = change.at_ms
        case Observation():
            needed.accounts.add(change.account_id)
            needed.observations.append(change)
        case Hold() | TopUp() | NewEvent():
            needed.accounts.add(change.account_id)
        case Settle():
            needed.accounts.add(change.account_id)
            needed.holds.add(change.request_id)
        case Audit():
            if change.signed.form_id is not None:
                needed.forms.add(change.signed.form_id)
        case RowMoved():
            needed.accounts.add(change.account_id)
            needed.rows.add((change.batch_id, change.line))
        case _:
            pass


def is_batch_row(changes: Sequence[Change]) -> bool:
    """Return whether a list belongs to a row of a batch, which can wait for other commits."""
    for change in changes:  # noqa: SIM110 - in every commit: a generator costs more than the loop
        if type(change) is RowMoved:
            return True
    return False


# Changes that may be refused as repeated, and for what they spend.
_REPEATABLE = frozenset({Finish, Bind, Audit, RowMoved})
_SPENDING = frozenset({Charge, Hold, TracedCharge, Settle, TopUp})


@dataclass(slots=True)
class Batch:
    """The state that lists are decided by, and the rows admitted so far."""

    balances: dict[int, Balance]
    holds: dict[str, OpenHold]
    bound: dict[tuple[int, str], str]  # idempotency key -> request_id
    forms: set[str] = field(default_factory=set)  # carried out
    book: BudgetBook = field(default_factory=BudgetBook)
    # Written in this order: charged lookups; those about a person or with a certificate, which
    # have more columns; ledger entries.
    charged_lookups: list[Row] = field(default_factory=list)
    full_charged_lookups: list[Row] = field(default_factory=list)
    entries: list[Row] = field(default_factory=list)
    months: set[str] = field(default_factory=set)  # of all but `charged_lookups`
    opened: list[Row] = field(default_factory=list)
    closed: list[Row] = field(default_factory=list)
    bindings: list[Row] = field(default_factory=list)
    finished: list[Row] = field(default_factory=list)
    unbound: list[Row] = field(default_factory=list)
    touched: dict[int, int] = field(default_factory=dict)
    receipts: list[Row] = field(default_factory=list)  # may be recorded already
    traces: list[Row] = field(default_factory=list)  # may be recorded already
    certificates: list[Row] = field(default_factory=list)  # traces with a certificate
    audits: list[Row] = field(default_factory=list)
    events: list[NewEvent] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    jobs: dict[tuple[str, str], Enqueue] = field(default_factory=dict)
    rows: dict[tuple[str, int], RowStatus] = field(default_factory=dict)  # of batches
    moved: dict[tuple[str, int], Row] = field(default_factory=dict)
    # Earliest charge of each account for an instant that is in the daily totals already.
    late: dict[int, int] = field(default_factory=dict)
    # Changes of the counts of batches.
    tallies: dict[tuple[str, RowState], RowTally] = field(default_factory=dict)

    def admit(self, changes: Sequence[Change]) -> Refusal | None:
        """Admit a list, or return why it is refused; a refused list adds no row.

        Repeated requests are detected before anything else, wherever they are in the list: a retry
        of the request that spent the last credits returns its answer, not insufficient credits
        (contract 2.10, 9.1). So a refusal for credits implies that no idempotency key was stored.
        """
        first, others = changes[0], changes[1:]
        if type(first) is TracedCharge and self._is_one_row(first):
            if not others:  # most lists
                return self._charged_lookup(first)
            if type(last := others[-1]) is Observation:
                refused = self.admit(changes[:-1])
                if refused is None:
                    self.observations.append(last)
                return refused
            if len(others) == 1 and type(row := others[0]) is RowMoved:
                refused = self._find_repeat(row) or self._charged_lookup(first)
                if refused is None:
                    self._move(row)
                return refused
        for kinds, judge in ((_REPEATABLE, self._find_repeat), (_SPENDING, self._find_shortage)):
            for change in changes:
                if type(change) in kinds and (refusal := judge(change)) is not None:
                    return refusal
        for change in changes:
            self._apply(change)
        return None

    def _find_repeat(self, change: Change) -> Refusal | None:
        """Return a refusal if the change's key, form or row was used before."""
        match change:
            case Finish():
                holder = self.bound.get((change.account_id, change.key_digest))
                if holder is None or holder == change.recorded.request_id:
                    return None
                return KeyBound()
            case Bind():
                bound = (change.account_id, change.key_digest) in self.bound
                return KeyBound() if bound else None
            case Audit():
                return DoneBefore() if change.signed.form_id in self.forms else None
            case RowMoved():
                row = self.rows.get((change.batch_id, change.line))
                return None if can_move(row, change.state, change.request_id) else RowGone()
            case _:
                return None

    def _find_shortage(self, change: Change) -> Refusal | None:
        """Return a refusal if credits are short in account or budget, or the hold is gone."""
        match change:
            case Charge() | Hold() | TracedCharge():
                balance = self.balances[change.account_id]
                short = balance.shortfall(change.credits, civil_month(change.at_ms))
                if short is not None or not balance.budgets:
                    return short
                return self.book.covering(change).refusal(change)
            case Settle():
                return None if change.request_id in self.holds else HoldGone()
            case TopUp(credits=credits) if credits < 0:
                return self.balances[change.account_id].shortfall_if_taken_back(-credits)
            case _:
                return None

    def _apply(self, change: Change) -> None:
        match change:
            case Charge():
                self._charge(change)
            case Trace():
                if change.certificate is None:
                    self.traces.append(_trace_row(change))
                else:
                    self.certificates.append(
                        (*_trace_values(change), *_certificate_values(change.certificate))
                    )
            case Finish():
                self._finish(change)
            case TracedCharge():
                for each in change.split():
                    self._apply(each)
            case Hold():
                self._hold(change)
            case Settle():
                self._settle(change)
            case TopUp():
                self.balances[change.account_id].balance_credits += change.credits
                self._add_entry(
                    (change.account_id, change.at_ms, civil_month(change.at_ms), "top_up",
                     change.credits, 0, None, None, None, None, None, change.reason, None, None,
                     None)
                )  # fmt: skip
            case Bind():
                self.bound[change.account_id, change.key_digest] = change.request_id
                self.bindings.append(
                    (change.account_id, change.key_digest, change.fingerprint,
                     change.request_id, "running", change.at_ms, change.expires_ms,
                     None, None, None)
                )  # fmt: skip
            case Unbind():
                key = (change.account_id, change.key_digest)
                if self.bound.get(key) == change.request_id:  # else another request has it by now
                    del self.bound[key]
                self.unbound.append((change.account_id, change.key_digest, change.request_id))
            case Touch():
                self.touched[change.key_id] = change.at_ms
            case KeepReceipt():
                self.receipts.append(
                    (change.receipt_id, change.account_id, change.operation, change.digest,
                     change.media_type, change.size_bytes, change.at_ms, change.document_hash,
                     change.cnpj)
                )  # fmt: skip
            case Audit():
                if change.signed.form_id is not None:
                    self.forms.add(change.signed.form_id)
                self.audits.append(audit_row(change))
            case Enqueue():
                self.jobs[change.kind, change.about] = change
            case NewEvent():
                self.events.append(change)
            case RowMoved():
                self._move(change)
            case Observation():
                self.observations.append(change)
            case _:
                assert_never(change)

    def _move(self, change: RowMoved) -> None:
        row = self.rows[change.batch_id, change.line]
        self._tally(change.batch_id, row, -1)
        back = change.state == "pendente"
        row.state, row.credits = change.state, change.credits
        row.request_id = None if back else change.request_id
        self._tally(change.batch_id, row, 1)
        self.moved[change.batch_id, change.line] = (
            row.state, row.request_id, row.credits, None if back else change.code, change.at_ms,
            change.answer, int(back and change.code is not None), change.batch_id, change.line,
        )  # fmt: skip

    def _tally(self, batch_id: str, row: RowStatus, sign: int) -> None:
        tally = self.tallies.setdefault((batch_id, row.state), RowTally())
        tally.rows += sign
        tally.credits += sign * row.credits

    def _is_one_row(self, charge: TracedCharge) -> bool:
        """Return whether a charge can be stored as one charged lookup.

        After a row of another month it would count in a month in which it was not admitted.
        """
        least, end = numbers_of_hour(charge.opened_ms // HOUR_MS)
        if not least <= charge.request_id < end:
            return False
        return not self.months or self.months <= {civil_month(charge.opened_ms)}

    def _charged_lookup(self, charge: TracedCharge) -> Refusal | None:
        month, credits = civil_month(charge.opened_ms), charge.credits
        balance, budgets = self.balances[charge.account_id], None
        if balance.budgets:
            if (refused := self._find_shortage(charge)) is not None:
                return refused
            balance.post(credits, month)
            budgets = self.book.covering(charge).charge(charge)
        elif (short := balance.spend(credits, month)) is not None:
            return short
        if charge.request_id < least_number(balance.folded_ms):
            self._unfold(charge.account_id, charge.opened_ms)
        row = (*msgspec.structs.astuple(charge)[:_STORED_FIELDS], month, budgets)
        if charge.document_hash is None and charge.certificate is None:
            self.charged_lookups.append(row)
        else:
            self.full_charged_lookups.append(
                (*row, charge.document_hash, *_certificate_values(charge.certificate))
            )
            self.months.add(month)
        return None

    def _unfold(self, account_id: int, at_ms: int) -> None:
        self.late[account_id] = min(at_ms, self.late.get(account_id, at_ms))

    def _add_entry(self, entry: Row) -> None:
        self.entries.append(entry)
        self.months.add(entry[2])

    def _charge(self, change: Charge) -> None:
        month, balance = civil_month(change.at_ms), self.balances[change.account_id]
        balance.post(change.credits, month)
        if change.at_ms < balance.folded_ms:
            self._unfold(change.account_id, change.at_ms)
        budgets = self.book.covering(change).charge(change) if balance.budgets else None
        self._add_entry(
            (change.account_id, change.at_ms, month, "charge", -change.credits, 0,
             change.request_id, change.key_id, change.operation, change.rule, change.origin, None,
             change.client, change.reference, budgets)
        )  # fmt: skip

    def _hold(self, change: Hold) -> None:
        month, balance = civil_month(change.at_ms), self.balances[change.account_id]
        balance.hold(change.credits, month)
        budgets = self.book.covering(change).hold(change) if balance.budgets else None
        self.holds[change.request_id] = OpenHold(
            change.account_id, change.key_id, change.operation, change.credits, change.client,
            change.reference, budgets,
        )  # fmt: skip
        self._add_entry(
            (change.account_id, change.at_ms, month, "hold", 0, change.credits,
             change.request_id, change.key_id, change.operation, None, None, None,
             change.client, change.reference, budgets)
        )  # fmt: skip
        self.opened.append(
            (change.request_id, change.account_id, change.operation, change.credits, change.at_ms,
             change.client, change.reference, budgets)
        )  # fmt: skip

    def _settle(self, change: Settle) -> None:
        hold = self.holds.pop(change.request_id)
        assert hold.account_id == change.account_id, "a hold is settled by its own account"
        assert 0 <= change.credits <= hold.credits, "the hold is the highest possible price"
        month = civil_month(change.at_ms)
        balance = self.balances[change.account_id]
        balance.hold(-hold.credits, month)
        if change.credits:
            balance.post(change.credits, month)
            if change.at_ms < balance.folded_ms:
                self._unfold(change.account_id, change.at_ms)
        if hold.budgets is not None:
            self.book.settle(hold.budgets, hold.credits, change.credits, change.at_ms)
        kind = "post" if change.credits else "void"
        self._add_entry(
            (change.account_id, change.at_ms, month, kind, -change.credits, -hold.credits,
             change.request_id, hold.key_id, hold.operation, change.rule, change.origin, None,
             hold.client, hold.reference, hold.budgets)
        )  # fmt: skip
        self.closed.append((change.request_id,))

    def _finish(self, change: Finish) -> None:
        recorded = change.recorded
        key = (change.account_id, change.key_digest)
        if key in self.bound:
            self.finished.append((recorded.status, recorded.body, recorded.fresh_ms, *key))
            return
        self.bound[key] = recorded.request_id
        self.bindings.append(
            (*key, change.fingerprint, recorded.request_id, "finished", change.at_ms,
             change.expires_ms, recorded.status, recorded.body, recorded.fresh_ms)
        )  # fmt: skip


def _certificate_values(brought: CertificateSummary | None) -> Row:
    """Return a certificate's verdict, validity, name, receipt and day of issue."""
    if brought is None:
        return _NO_CERTIFICATE
    return (
        brought.verdict, brought.validity, brought.name, brought.receipt_id, brought.issued_on,
    )  # fmt: skip


def _trace_values(trace: Trace) -> Row:
    return msgspec.structs.astuple(trace)[: len(TRACE_COLUMNS)]


def _trace_row(trace: Trace) -> Row:
    result_summary = trace.result_summary or _NO_GIST
    return (*_trace_values(trace), result_summary.name, result_summary.result)


_NO_GIST = ResultSummary(None, None)


def audit_row(done: Audit) -> Row:
    """Return an audited action as a row of `AUDIT_COLUMNS`."""
    signed, detail = done.signed, done.detail
    if signed.key_id is not None:
        by = f"pela chave número {signed.key_id}"
        detail = f"{detail}; {by}" if detail else by
    return (
        done.at_ms, signed.channel, signed.user_id, signed.form_id, done.action, done.account_id,
        done.target, detail,
    )  # fmt: skip


# The receipt's own details are in its record, which may be deleted before these rows.
_CERTIFICATE_ONLY_COLUMNS = ("verdict", "validity", "name", "receipt_id", "issued_on")
_NO_CERTIFICATE = (None,) * len(_CERTIFICATE_ONLY_COLUMNS)
# The lookup's batch is not stored with the charge; later fields are in
# `FULL_CHARGED_LOOKUP_COLUMNS`.
_STORED_FIELDS = TracedCharge.__struct_fields__.index("batch_id")
CHARGED_LOOKUP_COLUMNS = (
    *TracedCharge.__struct_fields__[:_STORED_FIELDS],
    "month",
    "budgets",
)
FULL_CHARGED_LOOKUP_COLUMNS = (*CHARGED_LOOKUP_COLUMNS, "person_hash", *_CERTIFICATE_ONLY_COLUMNS)
ENTRY_COLUMNS = (
    "account_id", "at_ms", "month", "kind", "balance_change", "held_change",
    "request_id", "key_id", "operation", "rule", "origin", "reason", "client", "reference",
    "budgets",
)  # fmt: skip
BINDING_COLUMNS = (
    "account_id", "key_digest", "fingerprint", "request_id", "state", "bound_ms",
    "expires_ms", "status", "body", "fresh_ms",
)  # fmt: skip
RECEIPT_COLUMNS = (
    "receipt_id", "account_id", "operation", "digest", "media_type", "size_bytes", "created_ms",
    "document_hash", "cnpj",
)  # fmt: skip
OPENED_COLUMNS = (
    "request_id", "account_id", "operation", "credits", "opened_ms", "client", "reference",
    "budgets",
)  # fmt: skip
# The columns that all traces have.
TRACE_COLUMNS = Trace.__struct_fields__[:-2]
GIST_COLUMNS = (*TRACE_COLUMNS, *ResultSummary.__struct_fields__)
CERTIFICATE_COLUMNS = (*TRACE_COLUMNS, *_CERTIFICATE_ONLY_COLUMNS)
AUDIT_COLUMNS = (
    "at_ms", "channel", "user_id", "form_id", "action", "account_id", "target", "detail",
)  # fmt: skip


def unfolded(batch: Batch) -> list[tuple[int, str, int]]:
    """Return accounts whose totals are reset: the account, the first day, and the day's start."""
    days = [(account_id, civil_day(at_ms)) for account_id, at_ms in sorted(batch.late.items())]
    return [(account_id, day.isoformat(), day_starts_ms(day)) for account_id, day in days]


def tally_rows(batch: Batch) -> list[Row]:
    """Return changes of batches' counts as rows: rows, credits, batch, state."""
    return [
        (tally.rows, tally.credits, *key)
        for key, tally in sorted(batch.tallies.items())
        if tally.rows or tally.credits
    ]
