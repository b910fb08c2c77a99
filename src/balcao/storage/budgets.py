"""The budgets of a batch of changes: which apply to a change, their use, and the rows to write.

They are read under the lock of their account and written once, one row for each budget and period,
however many charges there were (ADR 0043). A `BudgetBook` is for one batch, or as long as the
engine can tell that nothing else has written.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from balcao.core.budgets import (
    Budget,
    BudgetUse,
    OverBudget,
    OwnerKind,
    event_body,
    event_cause,
    excess,
    owners_of,
    period_of,
    threshold_reached,
    warnings_due,
)
from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.events import NewEvent
from balcao.core.ledger import Change, Charge, Hold, TracedCharge

# A row read by an engine: a budget, then one of its uses (period and numbers, or nulls if none).
BUDGET_COLUMNS = Budget.__struct_fields__
USE_COLUMNS = ("budget_id", "period", *BudgetUse.__struct_fields__)

Owner: TypeAlias = tuple[int, OwnerKind, str]  # the account first
BudgetPeriod: TypeAlias = tuple[int, str]  # a budget and one of its periods


class BudgetNeeds(NamedTuple):
    """The budgets to read for a batch: those of these owners, at these instants."""

    owners: set[Owner]
    instants: Sequence[int]  # one of each day


def budget_needs(lists: Iterable[Sequence[Change]], accounts: Collection[int]) -> BudgetNeeds:
    """Return whose budgets apply to the charges and holds of these accounts, and at what times."""
    alike, hours = set[tuple[int, int | None, str | None, str | None, bool]](), dict[int, int]()
    for changes in lists:
        for change in changes:
            kind = type(change)
            if kind is not Charge and kind is not Hold and kind is not TracedCharge:
                continue
            assert isinstance(change, Charge | Hold | TracedCharge)
            if change.account_id in accounts:
                alike.add(
                    (
                        change.account_id,
                        change.key_id,
                        change.client,
                        change.batch_id,
                        change.of_wallet,
                    )
                )
                hours[change.at_ms // HOUR_MS] = change.at_ms
    owners = {
        (account_id, *owner)
        for account_id, key_id, client, batch_id, of_wallet in alike
        for owner in owners_of(key_id, client, batch_id, account_id if of_wallet else None)
    }
    return BudgetNeeds(owners, [*{civil_day_text(at): at for at in hours.values()}.values()])


class BudgetReader(Protocol):
    """Reads rows of `BUDGET_COLUMNS`, each with one of its uses or with nulls."""

    def read_owned(self, owner: Owner, at_ms: int) -> Iterable[Sequence[Any]]:
        """Read an owner's budgets in force, with their uses in the periods of an instant."""

    def read_period(self, budget_id: int, period: str) -> Iterable[Sequence[Any]]:
        """Read a budget, in force or not, with its use in a period."""


class BudgetTally(msgspec.Struct, gc=False):
    """A budget in one period, with its use as counted so far."""

    budget: Budget
    period: str
    use: BudgetUse
    is_stored: bool  # whether the use has a row
    at_ms: int | None = None  # of the batch's last change that concerned it; None: none yet
    refused: bool = False


class Covering(msgspec.Struct, frozen=True, gc=False):
    """The budgets that a charge or hold counts against; `text` is their stored form."""

    tallies: Sequence[BudgetTally]
    text: str | None
    changed: list[BudgetTally] = []  # of the book: tallies that a change concerned

    def refusal(self, change: Charge | Hold | TracedCharge) -> OverBudget | None:
        """Return the refusal of the first budget that a change exceeds; None if all cover it."""
        for tally in self.tallies:
            if (
                refused := excess(tally.budget, tally.use, tally.period, change.credits)
            ) is not None:
                _mark_changed(tally, change.at_ms, self.changed)
                tally.refused = True
                return refused
        return None

    def charge(self, change: Charge | TracedCharge) -> str | None:
        """Count a charge that is covered, and return the stored form of its budgets."""
        for tally in self.tallies:
            _mark_changed(tally, change.at_ms, self.changed)
            use = tally.use
            use.spent_credits += change.credits
            use.calls += 1
        return self.text

    def hold(self, change: Hold) -> str | None:
        """Count a hold that is covered, and return the stored form of its budgets."""
        for tally in self.tallies:
            _mark_changed(tally, change.at_ms, self.changed)
            use = tally.use
            use.held_credits += change.credits
            use.calls += 1
        return self.text


NOTHING = Covering((), None)


class Uses(NamedTuple):
    """Rows of `USE_COLUMNS` to write, in the order of their keys."""

    inserts: list[tuple[Any, ...]]
    updates: list[tuple[Any, ...]]


@dataclass(slots=True)
class BudgetBook:
    """The budgets that a batch of changes concerns.

    `reader` reads budgets on demand; None: all of them are loaded before.
    """

    reader: BudgetReader | None = None
    _owned: dict[Owner, dict[int, Budget]] = field(default_factory=dict)  # in force
    _tallies: dict[BudgetPeriod, BudgetTally] = field(default_factory=dict)
    _coverings: dict[tuple[Any, ...], Covering] = field(default_factory=dict)
    _changed: list[BudgetTally] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._coverings) + len(self._tallies)

    def load(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add budgets, each with one of its uses or with none: see `BUDGET_COLUMNS`.

        A use that is loaded already keeps what was counted here.
        """
        for row in rows:
            budget = budget_of(row[: len(BUDGET_COLUMNS)])
            period, *use = row[len(BUDGET_COLUMNS) :]
            if budget.ended_ms is None:
                owner = budget.account_id, budget.owner_kind, budget.owner
                self._owned.setdefault(owner, {})[budget.budget_id] = budget
            if period is not None and (budget.budget_id, period) not in self._tallies:
                tally = BudgetTally(budget, period, BudgetUse(*use), is_stored=True)
                self._tallies[budget.budget_id, period] = tally

    def has_loaded(self, text: str) -> bool:
        """Return whether all budgets of an open operation are loaded."""
        return all(named in self._tallies for named in _period_keys(text))

    def settle(self, text: str, held_credits: int, credits: int, at_ms: int) -> None:
        """Turn a hold into a charge of these credits in its own periods; 0 undoes it."""
        for named in _period_keys(text):
            if named not in self._tallies and self.reader is not None:
                self.load(self.reader.read_period(*named))
            tally = self._tallies[named]
            _mark_changed(tally, at_ms, self._changed)
            tally.use.held_credits -= held_credits
            tally.use.spent_credits += credits
            tally.use.calls -= not credits

    def covering(self, change: Charge | Hold | TracedCharge) -> Covering:
        """Return the budgets that a charge or hold counts against."""
        key = (
            change.account_id, change.key_id, change.client, change.batch_id, change.of_wallet,
            change.operation, change.at_ms // HOUR_MS,
        )  # fmt: skip
        covering = self._coverings.get(key)
        if covering is None:
            covering = self._coverings[key] = self._cover(change)
        return covering

    def _cover(self, change: Charge | Hold | TracedCharge) -> Covering:
        tallies = []
        wallet = change.account_id if change.of_wallet else None
        for kind, value in owners_of(change.key_id, change.client, change.batch_id, wallet):
            owner = change.account_id, kind, value
            if self.reader is not None:
                self.load(self.reader.read_owned(owner, change.at_ms))
            for budget_id, budget in sorted(self._owned.get(owner, {}).items()):
                if budget.covers(change.operation):
                    named = budget_id, period_of(budget.period, change.at_ms)
                    if named not in self._tallies:
                        new = BudgetTally(budget, named[1], BudgetUse(), is_stored=False)
                        self._tallies[named] = new
                    tallies.append(self._tallies[named])
        if not tallies:
            return NOTHING
        # JSON, written ten times as fast as by `json`.
        names = [f'[{tally.budget.budget_id},"{tally.period}"]' for tally in tallies]
        return Covering(tallies, f"[{','.join(names)}]", self._changed)

    def close(self) -> tuple[Uses, list[NewEvent]]:
        """Return the rows and the events to write. Called once for each batch."""
        uses = Uses([], [])
        events: list[NewEvent] = []
        for tally in sorted(self._changed, key=_period_key):
            budget, use, refused = tally.budget, tally.use, tally.refused
            # A budget that has ended sends no warnings, though its holds are still settled.
            if budget.ended_ms is None:
                reached = threshold_reached(budget, use, refused=refused)
                if reached > use.warned_percent:
                    body = event_body(budget, use, tally.period)
                    events += [
                        NewEvent(
                            budget.account_id,
                            kind,
                            tally.at_ms or 0,
                            body,
                            event_cause(budget, tally.period, kind),
                        )
                        for kind in warnings_due(budget, use, refused=refused)
                    ]
                    use.warned_percent = reached
            rows = uses.updates if tally.is_stored else uses.inserts
            rows.append((budget.budget_id, tally.period, *msgspec.structs.astuple(use)))
            tally.is_stored, tally.at_ms, tally.refused = True, None, False
        self._changed.clear()
        return uses, events


def _mark_changed(tally: BudgetTally, at_ms: int, changed: list[BudgetTally]) -> None:
    if tally.at_ms is None:
        changed.append(tally)
    tally.at_ms = at_ms


def _period_key(tally: BudgetTally) -> BudgetPeriod:
    return tally.budget.budget_id, tally.period


def budget_of(row: Sequence[Any]) -> Budget:
    """Return the budget of a row of `BUDGET_COLUMNS`."""
    paths = row[_OPERATIONS]
    operations = None if paths is None else tuple(json.loads(paths))
    return Budget(*[*row[:_OPERATIONS], operations, *row[_OPERATIONS + 1 :]])


_OPERATIONS = BUDGET_COLUMNS.index("operations")


@lru_cache(maxsize=1_024)
def _period_keys(text: str) -> Sequence[BudgetPeriod]:
    return tuple((budget_id, period) for budget_id, period in json.loads(text))
