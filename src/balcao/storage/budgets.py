"""Budgets while a batch is being admitted: what counts against which, and what is written.

Read behind the lock that keeps others from the account; written once, a row for each budget and
period, however many charges there were (ADR 0043). A book is for one batch, or for as long as
nobody else has written: that is for the engine to know.
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
    Happening,
    OverBudget,
    OwnerKind,
    event_body,
    over,
    owners_of,
    period_of,
    threshold_reached,
    warnings_due,
)
from balcao.core.calendar import HOUR_MS, civil_day_text
from balcao.core.ledger import Change, Charge, Hold, TracedCharge

# As `budget_columns` reads them; then a use: its period and numbers, or nulls where there is none.
BUDGET_COLUMNS = Budget.__struct_fields__
USE_COLUMNS = ("budget_id", "period", *BudgetUse.__struct_fields__)
EVENT_COLUMNS = Happening.__struct_fields__

Owner: TypeAlias = tuple[int, OwnerKind, str]  # the account first
Named: TypeAlias = tuple[int, str]  # a budget and one of its periods


class BudgetNeeds(NamedTuple):
    """Which budgets a batch has to know, of the accounts that have any."""

    owners: set[Owner]
    instants: Sequence[int]  # one of each day


def budget_needs(lists: Iterable[Sequence[Change]], accounts: Collection[int]) -> BudgetNeeds:
    """Whose budgets cover the charges and holds of these accounts, and at which instants."""
    alike, hours = set[tuple[int, int | None, str | None, str | None]](), dict[int, int]()
    for changes in lists:
        for change in changes:
            kind = type(change)
            if kind is not Charge and kind is not Hold and kind is not TracedCharge:
                continue
            assert isinstance(change, Charge | Hold | TracedCharge)
            if change.account_id in accounts:
                alike.add((change.account_id, change.key_id, change.client, change.batch_id))
                hours[change.at_ms // HOUR_MS] = change.at_ms
    owners = {
        (account_id, *owner)
        for account_id, key_id, client, batch_id in alike
        for owner in owners_of(key_id, client, batch_id)
    }
    return BudgetNeeds(owners, [*{civil_day_text(at): at for at in hours.values()}.values()])


class BudgetReader(Protocol):
    """Reads rows of `BUDGET_COLUMNS`, each with one of its uses or with nulls."""

    def owned(self, owner: Owner, at_ms: int) -> Iterable[Sequence[Any]]:
        """Those of an owner that live, with the uses of an instant."""

    def named(self, budget_id: int, period: str) -> Iterable[Sequence[Any]]:
        """One, living or not, with its use of that period."""


class BudgetTally(msgspec.Struct, gc=False):
    """A budget in one period, as the batch counts on."""

    budget: Budget
    period: str
    use: BudgetUse
    is_stored: bool  # whether the use has a row
    at_ms: int | None = None  # of the batch's last change that it heard of; None: of none yet
    refused: bool = False


class Covering(msgspec.Struct, frozen=True, gc=False):
    """What one kind of operation counts against; `text` is how that is stored."""

    tallies: Sequence[BudgetTally]
    text: str | None
    heard: list[BudgetTally] = []  # the book's, of those that heard of a change

    def refusal(self, change: Charge | Hold | TracedCharge) -> OverBudget | None:
        """None when all budgets cover it, else the first that does not."""
        for tally in self.tallies:
            if (refused := over(tally.budget, tally.use, tally.period, change.credits)) is not None:
                _hear(tally, change.at_ms, self.heard)
                tally.refused = True
                return refused
        return None

    def charge(self, change: Charge | TracedCharge) -> str | None:
        """Count a charge that is covered; how what it counts against is stored."""
        for tally in self.tallies:
            _hear(tally, change.at_ms, self.heard)
            use = tally.use
            use.spent_credits += change.credits
            use.calls += 1
        return self.text

    def hold(self, change: Hold) -> str | None:
        """Count a hold likewise."""
        for tally in self.tallies:
            _hear(tally, change.at_ms, self.heard)
            use = tally.use
            use.held_credits += change.credits
            use.calls += 1
        return self.text


NOTHING = Covering((), None)


class Uses(NamedTuple):
    """What a batch has to write: rows of `USE_COLUMNS` in the order of their keys."""

    first: list[tuple[Any, ...]]  # of a period that had none
    again: list[tuple[Any, ...]]


@dataclass(slots=True)
class BudgetBook:
    """The budgets that a batch has to do with.

    `reader`: who can be asked for those that are not known yet; None: all are learnt before.
    """

    reader: BudgetReader | None = None
    _owned: dict[Owner, dict[int, Budget]] = field(default_factory=dict)  # those that live
    _tallies: dict[Named, BudgetTally] = field(default_factory=dict)
    _coverings: dict[tuple[Any, ...], Covering] = field(default_factory=dict)
    _heard: list[BudgetTally] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._coverings) + len(self._tallies)

    def learn(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take in budgets, each with one of its uses or with none: see `BUDGET_COLUMNS`.

        A use that is known already stays as it is counted on here.
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

    def knows(self, text: str) -> bool:
        """Whether all that an open operation counts against was read."""
        return all(named in self._tallies for named in _names(text))

    def settle(self, text: str, held_credits: int, credits: int, at_ms: int) -> None:
        """Move a hold to what is spent, in its own periods; of no credits, it never was."""
        for named in _names(text):
            if named not in self._tallies and self.reader is not None:
                self.learn(self.reader.named(*named))
            tally = self._tallies[named]
            _hear(tally, at_ms, self._heard)
            tally.use.held_credits -= held_credits
            tally.use.spent_credits += credits
            tally.use.calls -= not credits

    def covering(self, change: Charge | Hold | TracedCharge) -> Covering:
        """What a charge or hold counts against; the same for all that are alike."""
        alike = (
            change.account_id, change.key_id, change.client, change.batch_id, change.operation,
            change.at_ms // HOUR_MS,
        )  # fmt: skip
        covering = self._coverings.get(alike)
        if covering is None:
            covering = self._coverings[alike] = self._cover(change)
        return covering

    def _cover(self, change: Charge | Hold | TracedCharge) -> Covering:
        tallies = []
        for kind, value in owners_of(change.key_id, change.client, change.batch_id):
            owner = change.account_id, kind, value
            if self.reader is not None:
                self.learn(self.reader.owned(owner, change.at_ms))
            for budget_id, budget in sorted(self._owned.get(owner, {}).items()):
                if budget.covers(change.operation):
                    named = budget_id, period_of(budget.period, change.at_ms)
                    if named not in self._tallies:
                        new = BudgetTally(budget, named[1], BudgetUse(), is_stored=False)
                        self._tallies[named] = new
                    tallies.append(self._tallies[named])
        if not tallies:
            return NOTHING
        # JSON, which `json` would take ten times as long to write.
        names = [f'[{tally.budget.budget_id},"{tally.period}"]' for tally in tallies]
        return Covering(tallies, f"[{','.join(names)}]", self._heard)

    def close(self) -> tuple[Uses, list[Happening]]:
        """What is to be written of the batch, and what is to be told. Once for each batch."""
        uses = Uses([], [])
        told: list[Happening] = []
        for tally in sorted(self._heard, key=_named):
            budget, use, refused = tally.budget, tally.use, tally.refused
            # What was ended is over, though what it held goes on to its end.
            if budget.ended_ms is None:
                reached = threshold_reached(budget, use, refused=refused)
                if reached > use.warned_percent:
                    body = event_body(budget, use, tally.period)
                    told += [
                        Happening(budget.account_id, kind, tally.at_ms or 0, body)
                        for kind in warnings_due(budget, use, refused=refused)
                    ]
                    use.warned_percent = reached
            rows = uses.again if tally.is_stored else uses.first
            rows.append((budget.budget_id, tally.period, *msgspec.structs.astuple(use)))
            tally.is_stored, tally.at_ms, tally.refused = True, None, False
        self._heard.clear()
        return uses, told


def _hear(tally: BudgetTally, at_ms: int, heard: list[BudgetTally]) -> None:
    if tally.at_ms is None:
        heard.append(tally)
    tally.at_ms = at_ms


def _named(tally: BudgetTally) -> Named:
    return tally.budget.budget_id, tally.period


def budget_of(row: Sequence[Any]) -> Budget:
    """A row of `BUDGET_COLUMNS`."""
    paths = row[_OPERATIONS]
    operations = None if paths is None else tuple(json.loads(paths))
    return Budget(*[*row[:_OPERATIONS], operations, *row[_OPERATIONS + 1 :]])


_OPERATIONS = BUDGET_COLUMNS.index("operations")


@lru_cache(maxsize=1_024)
def _names(text: str) -> Sequence[Named]:
    return tuple((budget_id, period) for budget_id, period in json.loads(text))
