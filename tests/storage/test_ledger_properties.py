"""Random changes of accounts: the books equal a model.

The state machine runs working days: top-ups, charges, holds that are settled later or never, keys,
receipts that are delivered repeatedly, many requests in one commit, turns of the month, processes
that die. The model is a list of the acknowledged changes, summed each time.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from balcao.core.access import Account
from balcao.core.calendar import civil_day, civil_month
from balcao.core.errors import StorageFailed
from balcao.core.idempotency import IdempotencyRecord, RecordedAnswer
from balcao.core.ledger import Change, HoldGone, InsufficientFunds, KeepReceipt, KeyBound, Refusal
from balcao.core.receipts import Receipt
from balcao.storage.desk.desk import Desk
from balcao.storage.numbers import least_number
from tests.storage.engines import ENGINES, Engine
from tests.storage.people import a_trace, together
from tests.storage.world import (
    DAY_MS,
    NOW,
    a_bind,
    a_charge,
    a_finish,
    a_hold,
    a_keep,
    a_settle,
    a_top_up,
    account_of,
    charged,
    open_account,
)

CEILING = 40

OpenHold: TypeAlias = tuple[int, str, int, str | None]  # who, request, credits, key


@dataclass
class Facts:
    """The acknowledged changes of one account, from which everything else is computed."""

    account: Account
    top_ups: list[int] = field(default_factory=list)
    posts: dict[str, tuple[str, int]] = field(default_factory=dict)  # request -> month, credits
    holds: dict[str, int] = field(default_factory=dict)
    keys: dict[str, IdempotencyRecord] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)  # key -> the request that took it

    @property
    def balance(self) -> int:
        return sum(self.top_ups) - sum(credits for _, credits in self.posts.values())

    @property
    def held(self) -> int:
        return sum(self.holds.values())

    def available(self, now_ms: int) -> int:
        if self.account.plan != "pos_pago":
            return self.balance - self.held
        month = civil_month(now_ms)
        return CEILING - self.held - sum(c for m, c in self.posts.values() if m == month)

    def finish(self, key: str, request: str) -> None:
        self.keys[key] = IdempotencyRecord("f", "finished", RecordedAnswer(request, 200, b"{}"))
        self.holders[key] = request

    def shortfall(self, credits: int, now_ms: int) -> InsufficientFunds | None:
        available = self.available(now_ms)
        return None if credits <= available else InsufficientFunds(credits, max(available, 0))


@dataclass
class Wish:
    """A list of changes, its expected outcome, and its request."""

    changes: Sequence[Change]
    expected: Refusal | type[StorageFailed] | None


class LedgerMachine(RuleBasedStateMachine):
    """The desk and the model."""

    engine_name = "sqlite"

    holds: Bundle[OpenHold] = Bundle("holds")
    who = st.integers(0, 1)
    credits = st.integers(1, 25)
    some_key = st.sampled_from([None, "key-a", "key-b", "key-c"])
    receipts = st.lists(st.sampled_from(["own-a", "own-b", "public-a", "public-b"]), max_size=2)

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.engine: Engine = ENGINES[self.engine_name](Path(self.folder.name))
        self.desk: Desk = self.engine.open()
        self.now_ms = NOW
        self.ids = (f"{least_number(self.now_ms)}-7abc-{number:04}" for number in count())

    @initialize()
    def two_accounts(self) -> None:
        prepaid = open_account(self.engine, self.desk, "ana", credits=30)
        postpaid = open_account(
            self.engine, self.desk, "caio", plan="pos_pago", ceiling_credits=CEILING
        )
        self.books = [Facts(prepaid, top_ups=[30]), Facts(postpaid)]
        self.recorded: dict[str, KeepReceipt] = {}

    def teardown(self) -> None:
        self.engine.close()
        self.folder.cleanup()

    # Random requests. Each has its expected outcome and updates the model.

    def charge(self, who: int, credits: int, key: str | None, kinds: Sequence[str] = ()) -> Wish:
        facts, request = self.books[who], next(self.ids)
        receipts = self._receipts(facts, kinds)
        changes: list[Change] = [
            a_charge(facts.account, request, credits, at_ms=self.now_ms),
            *receipts,
        ]
        if key is not None:
            changes.append(a_finish(facts.account, key, request, at_ms=self.now_ms))
        if len(changes) == 1:  # one row for both
            trace = a_trace(facts.account, request, credits=credits, opened_ms=self.now_ms)
            changes = [
                together(a_charge(facts.account, request, credits, at_ms=self.now_ms), trace)
            ]
        refusal = self._key_taken(facts, key) or facts.shortfall(credits, self.now_ms)
        if refusal is None:
            facts.posts[request] = (civil_month(self.now_ms), credits)
            self._record(receipts)
            if key is not None:
                facts.finish(key, request)
        return Wish(changes, refusal)

    def charge_again(self, who: int, credits: int) -> Wish | None:
        facts = self.books[who]
        if not facts.posts or facts.shortfall(credits, self.now_ms) is not None:
            return None
        request = next(iter(facts.posts))
        again = a_charge(facts.account, request, credits, at_ms=self.now_ms)
        return Wish([*self._receipts(facts, ["own-a", "public-b"]), again], StorageFailed)

    def hold(self, who: int, credits: int, key: str | None) -> tuple[Wish, str]:
        facts, request = self.books[who], next(self.ids)
        changes: list[Change] = [a_hold(facts.account, request, credits, at_ms=self.now_ms)]
        if key is not None:
            changes.append(a_bind(facts.account, key, request, at_ms=self.now_ms))
        refusal = self._key_taken(facts, key) or facts.shortfall(credits, self.now_ms)
        if refusal is None:
            facts.holds[request] = credits
            if key is not None:
                facts.keys[key] = IdempotencyRecord("f", "running", None)
                facts.holders[key] = request
        return Wish(changes, refusal), request

    def settle(
        self, who: int, request: str, credits: int, key: str | None, kinds: Sequence[str] = ()
    ) -> Wish:
        facts = self.books[who]
        receipts = self._receipts(facts, kinds)
        changes: list[Change] = [
            a_settle(facts.account, request, credits, at_ms=self.now_ms),
            *receipts,
        ]
        if key is not None:
            changes.append(a_finish(facts.account, key, request, at_ms=self.now_ms))
        if key is not None and facts.holders.get(key, request) != request:
            return Wish(changes, KeyBound())  # its key expired meanwhile and was bound again
        if request not in facts.holds:
            return Wish(changes, HoldGone())
        del facts.holds[request]
        self._record(receipts)
        if credits:
            facts.posts[request] = (civil_month(self.now_ms), credits)
        if key is not None:
            facts.finish(key, request)
        return Wish(changes, None)

    def _key_taken(self, facts: Facts, key: str | None) -> KeyBound | None:
        return KeyBound() if key in facts.keys else None

    def _receipts(self, facts: Facts, kinds: Sequence[str]) -> list[KeepReceipt]:
        """Two receipts with the same bytes: one of an account and a public one."""
        records = []
        for kind in kinds:
            owner = facts.account if kind.startswith("own") else None
            number = f"{facts.account.name}-{kind}" if owner else kind
            records.append(a_keep(owner, number, content=kind[-1], at_ms=self.now_ms))
        return records

    def _record(self, receipts: Sequence[KeepReceipt]) -> None:
        for receipt in receipts:
            self.recorded.setdefault(receipt.receipt_id, receipt)

    def send(self, *wishes: Wish) -> None:
        """Commit lists together, and compare each outcome with the expected one."""
        outcomes = self.engine.together(self.desk, *(wish.changes for wish in wishes))
        for wish, outcome in zip(wishes, outcomes, strict=True):
            if wish.expected is StorageFailed:
                assert isinstance(outcome, StorageFailed)
            else:
                assert outcome == wish.expected

    # Moves.

    @rule(who=who, credits=st.integers(1, 60))
    def top_up(self, who: int, credits: int) -> None:
        facts = self.books[who]
        self.send(Wish([a_top_up(facts.account, credits, at_ms=self.now_ms)], None))
        facts.top_ups.append(credits)

    @rule(credits=st.integers(1, 60))
    def take_back(self, credits: int) -> None:
        facts = self.books[0]
        short = facts.shortfall(credits, self.now_ms)
        self.send(Wish([a_top_up(facts.account, -credits, at_ms=self.now_ms)], short))
        if short is None:
            facts.top_ups.append(-credits)

    @rule(who=who, credits=credits, key=some_key, kinds=receipts)
    def charge_at_once(self, who: int, credits: int, key: str | None, kinds: list[str]) -> None:
        self.send(self.charge(who, credits, key, kinds))

    @rule(who=who, kinds=receipts)
    def deliver_again_for_nothing(self, who: int, kinds: list[str]) -> None:
        receipts = self._receipts(self.books[who], kinds)
        assert self.engine.commit(self.desk, *receipts) is None
        self._record(receipts)

    @rule(days=st.integers(0, 2))
    def details_go(self, days: int) -> None:
        """Charges stay."""
        before_ms = self.now_ms - days * DAY_MS
        while self.engine.run(self.desk.people.purge_people(self.now_ms, before_ms, 0, 0)):
            pass

    @rule(who=who, credits=credits)
    def try_to_charge_twice(self, who: int, credits: int) -> None:
        if (wish := self.charge_again(who, credits)) is not None:
            self.send(wish)

    @rule(target=holds, who=who, credits=credits, key=some_key)
    def hold_for_a_source(
        self, who: int, credits: int, key: str | None
    ) -> OpenHold | MultipleResults[OpenHold]:
        wish, request = self.hold(who, credits, key)
        self.send(wish)
        return (who, request, credits, key) if wish.expected is None else multiple()

    @rule(hold=consumes(holds), part=st.floats(0, 1), kinds=receipts)
    def settle_one(self, hold: OpenHold, part: float, kinds: list[str]) -> None:
        who, request, credits, key = hold
        self.send(self.settle(who, request, round(credits * part), key, kinds))

    @rule(hold=holds)
    def settle_one_twice(self, hold: OpenHold) -> None:
        who, request, credits, _ = hold
        self.send(
            self.settle(who, request, credits, None), self.settle(who, request, credits, None)
        )

    @rule(
        target=holds,
        orders=st.lists(
            st.tuples(
                st.sampled_from(["charge", "again", "hold"]), who, credits, some_key, receipts
            ),
            min_size=2,
            max_size=12,
        ),
        settled=st.lists(consumes(holds), max_size=3),
    )
    def many_in_one_commit(
        self,
        orders: list[tuple[str, int, int, str | None, list[str]]],
        settled: list[OpenHold],
    ) -> MultipleResults[OpenHold]:
        wishes = [
            self.settle(who, request, credits // 2, key) for who, request, credits, key in settled
        ]
        opened = []
        for kind, who, credits, key, kinds in orders:
            if kind == "charge":
                wishes.append(self.charge(who, credits, key, kinds))
            elif kind == "again" and (again := self.charge_again(who, credits)) is not None:
                wishes.append(again)
            elif kind == "hold":
                wish, request = self.hold(who, credits, key)
                wishes.append(wish)
                if wish.expected is None:
                    opened.append((who, request, credits, key))
        if wishes:
            self.send(*wishes)
        return multiple(*opened)

    @rule(days=st.integers(1, 40))
    def time_passes(self, days: int) -> None:
        self.now_ms += days * DAY_MS
        for facts in self.books:
            facts.keys.clear()
            facts.holders.clear()
        # Every key expires.
        self.engine.run(self.desk.purge(self.now_ms + 400 * DAY_MS))

    @rule(age_days=st.integers(0, 30), limit=st.integers(1, 4))
    def old_receipts_are_purged(self, age_days: int, limit: int) -> None:
        before_ms = self.now_ms - age_days * DAY_MS
        old = sorted(r.at_ms for r in self.recorded.values() if r.at_ms < before_ms)[:limit]
        self.engine.run(self.desk.purge_receipts(before_ms, limit, self.now_ms))
        free = sorted(about for (about,) in self.engine.sql("DELETE FROM job RETURNING about"))

        left = {
            number: receipt
            for number, receipt in self.recorded.items()
            if self.desk.receipt(number) is not None
        }
        gone = [r for number, r in self.recorded.items() if number not in left]
        assert sorted(receipt.at_ms for receipt in gone) == old, "the oldest first"
        assert free == sorted({receipt.digest for receipt in gone})
        self.recorded = left

    @rule(who=who)
    def somebody_asks_for_the_bill(self, who: int) -> None:
        facts = self.books[who]
        today = civil_day(self.now_ms)
        rows = self.desk.totals.read(facts.account.account_id, civil_day(NOW), today, ("day",))
        assert sum(row.requests for row in rows) == len(facts.posts)
        assert sum(row.credits for row in rows) == sum(c for _, c in facts.posts.values())

    @rule()
    def the_process_dies(self) -> None:
        """The old desk is not closed, as when a process is killed."""
        self.engine.kill(self.desk)
        self.desk = self.engine.open()
        given_back = self.desk.recover(self.now_ms)
        assert given_back == sum(len(facts.holds) for facts in self.books)
        for facts in self.books:
            facts.holds.clear()
            for key, attempt in facts.keys.items():
                if attempt.state == "running":
                    facts.keys[key] = IdempotencyRecord("f", "died", None)

    # Invariants.

    @invariant()
    def the_books_say_what_the_facts_say(self) -> None:
        for facts in self.books:
            now = account_of(self.desk, facts.account)
            assert (now.balance_credits, now.held_credits) == (facts.balance, facts.held)
            posts = {request: credits for request, (_, credits) in facts.posts.items()}
            assert charged(self.desk, facts.account) == posts
            for key in ("key-a", "key-b", "key-c"):
                number = facts.account.account_id
                earlier = self.engine.run(self.desk.find_attempt(number, key, self.now_ms))
                assert earlier == facts.keys.get(key)

    @invariant()
    def a_receipt_is_there_if_its_charge_is(self) -> None:
        for facts in self.books:
            for keep in self._receipts(facts, ["own-a", "own-b", "public-a", "public-b"]):
                expected = Receipt(
                    keep.receipt_id,
                    keep.account_id,
                    keep.digest,
                    keep.media_type,
                    keep.size_bytes,
                    operation=keep.operation,
                )
                known = keep.receipt_id in self.recorded
                assert self.desk.receipt(keep.receipt_id) == (expected if known else None)

    @invariant()
    def whoever_asks_is_told_what_the_books_say(self) -> None:
        for facts in self.books:
            account = facts.account.account_id
            for request, credits in facts.holds.items():
                said = self.desk.operation(account, request)
                assert said is not None
                assert (said.state, said.held_credits) == ("running", credits)
            for request, (_, credits) in facts.posts.items():
                said = self.desk.operation(account, request)
                assert said is not None
                assert (said.state, said.charged_credits) == ("charged", credits)

    @invariant()
    def nobody_is_overdrawn(self) -> None:
        prepaid, postpaid = (account_of(self.desk, facts.account) for facts in self.books)
        assert 0 <= prepaid.held_credits <= prepaid.balance_credits
        assert postpaid.held_credits >= 0
        assert postpaid.month_credits + postpaid.held_credits <= CEILING

    @invariant()
    def the_check_agrees(self) -> None:
        check = self.desk.check()
        assert check.complaints == []
        assert check.open_operations == sum(len(facts.holds) for facts in self.books)


# A database of its own for each example takes a while.
EXAMPLES = {"sqlite": 20, "postgresql": 4}


@pytest.mark.parametrize("engine_name", sorted(ENGINES))
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.nightly)])
def test_the_ledger_stays_consistent(engine_name: str, times: int) -> None:
    machine = type("Machine", (LedgerMachine,), {"engine_name": engine_name})
    examples = EXAMPLES[engine_name] * times
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
