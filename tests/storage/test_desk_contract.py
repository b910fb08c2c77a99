"""The desk on every engine. A new engine is complete when these tests pass."""

import asyncio
from collections.abc import Sequence

import pytest

from balcao.core.access import Account, Caller, Plan
from balcao.core.errors import NameTaken, StorageFailed
from balcao.core.idempotency import IdempotencyRecord, RecordedAnswer
from balcao.core.ledger import (
    Change,
    HoldGone,
    InsufficientFunds,
    KeyBound,
    Refusal,
    Settle,
    TopUp,
    Touch,
    Unbind,
)
from balcao.core.rate_limit import Limit
from balcao.storage.contract import LedgerEntry, NewAccount, NewKey
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.world import (
    DAY_MS,
    KEPT_MS,
    NOW,
    OPERATION,
    Balance,
    a_bind,
    a_charge,
    a_finish,
    a_hash,
    a_hold,
    a_settle,
    a_top_up,
    account_of,
    balance,
    brasilia,
    charged,
    entries,
    open_account,
)

# Charges and top-ups.


def test_a_charge_takes_credits_and_records_why(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_charge(ana, "r1", 3)) is None

    assert balance(desk, ana) == Balance(7, 0)
    assert entries(desk, ana) == [
        LedgerEntry(NOW, "top_up", 10, None, None, None, None, None, "carga"),
        LedgerEntry(NOW, "charge", -3, "r1", ana.account_id, OPERATION, "consulta", "cache", None),
    ]


def test_the_last_credit_can_be_spent_and_no_more(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_charge(ana, "r1", 11)) == InsufficientFunds(11, 10)
    assert engine.commit(desk, a_charge(ana, "r2", 10)) is None
    assert engine.commit(desk, a_charge(ana, "r3", 1)) == InsufficientFunds(1, 0)

    assert charged(desk, ana) == {"r2": 10}
    assert balance(desk, ana) == Balance(0, 0)


def test_an_account_never_pays_for_another(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    assert engine.commit(desk, a_charge(bruno, "r1", 6)) == InsufficientFunds(6, 5)
    assert engine.commit(desk, a_charge(ana, "r2", 6)) is None
    assert (balance(desk, ana).credits, balance(desk, bruno).credits) == (4, 5)


def test_a_request_is_never_charged_twice(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r1"))

    assert charged(desk, ana) == {"r1": 1}
    assert balance(desk, ana) == Balance(9, 0)


def test_a_request_is_never_charged_twice_within_one_shared_commit(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    first, again, other = engine.together(
        desk, [a_charge(ana, "r1")], [a_charge(ana, "r1")], [a_charge(bruno, "r2")]
    )

    assert first is None
    assert isinstance(again, StorageFailed)
    assert other is None
    assert charged(desk, ana) == {"r1": 1}
    assert charged(desk, bruno) == {"r2": 1}


def test_a_request_that_was_charged_cannot_be_held_for_and_the_reverse(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_hold(ana, "r1"))
    engine.commit(desk, a_hold(ana, "r2"))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r2"))
    engine.commit(desk, a_settle(ana, "r2", 1))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_hold(ana, "r2"))

    assert charged(desk, ana) == {"r1": 1, "r2": 1}
    assert balance(desk, ana) == Balance(8, 0)


def test_available_credits_can_be_taken_back(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_hold(ana, "r1", 4))
    assert engine.commit(desk, a_top_up(ana, -7)) == InsufficientFunds(7, 6)
    assert engine.commit(desk, a_top_up(ana, -6, reason="engano")) is None

    assert balance(desk, ana) == Balance(4, 4)
    assert [entry.reason for entry in entries(desk, ana)] == ["carga", "engano"]


# Many at once.


def test_a_refusal_does_not_affect_the_others_of_its_commit(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    outcomes = engine.together(
        desk,
        [a_charge(ana, "r1", 6)],
        [a_charge(ana, "r2", 6)],  # four are left
        [a_charge(bruno, "r3", 5)],
        [a_charge(ana, "r4", 4)],
    )

    assert outcomes == [None, InsufficientFunds(6, 4), None, None]
    assert charged(desk, ana) == {"r1": 6, "r4": 4}
    assert charged(desk, bruno) == {"r3": 5}


def test_credits_added_in_the_same_commit_can_be_spent(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.together(
        desk, [a_charge(ana, "r1", 10)], [a_top_up(ana, 2)], [a_charge(ana, "r2", 2)]
    ) == [None, None, None]
    assert balance(desk, ana) == Balance(0, 0)


def test_of_64_requests_for_the_last_ten_credits_ten_succeed(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    outcomes = engine.together(desk, *([a_charge(ana, f"r{n}")] for n in range(64)))

    assert outcomes.count(None) == 10
    assert outcomes.count(InsufficientFunds(1, 0)) == 54
    assert balance(desk, ana) == Balance(0, 0)


def test_64_in_flight_share_commits(engine: Engine, desk: Desk) -> None:
    """No request waits for a timer, and none has an fsync of its own."""
    ana = open_account(engine, desk, "ana", credits=1_000)
    engine.batches().clear()

    async def client(number: int) -> None:
        for turn in range(5):
            assert await desk.commit([a_charge(ana, f"r{number}-{turn}")]) is None

    async def all_clients() -> None:
        await asyncio.gather(*(client(number) for number in range(64)))

    engine.run(all_clients())

    assert sum(engine.batches()) == 320
    assert max(engine.batches()) > 1
    assert len(engine.batches()) < 320
    assert balance(desk, ana) == Balance(680, 0)


def test_a_list_is_committed_as_a_whole_or_not_at_all(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_bind(ana, "key", "somebody quicker"))

    assert engine.commit(desk, a_hold(ana, "r1", 2), a_bind(ana, "key", "r1")) == KeyBound()
    assert engine.commit(
        desk, a_finish(ana, "new", "r2"), a_charge(ana, "r2", 11)
    ) == InsufficientFunds(11, 10)

    assert balance(desk, ana) == Balance(10, 0)
    assert engine.run(desk.find_attempt(ana.account_id, "new", NOW)) is None


def test_a_list_that_overdraws_step_by_step_is_not_kept(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    """Each step alone could be paid. No lookup does this; the schema refuses it."""
    outcomes = engine.together(
        desk,
        [a_charge(bruno, "r1")],
        [a_charge(ana, "r2", 6), a_charge(ana, "r3", 6)],
        [a_charge(bruno, "r4")],
    )

    assert outcomes[0] is None
    assert isinstance(outcomes[1], InsufficientFunds | StorageFailed)
    assert outcomes[2] is None
    assert balance(desk, ana) == Balance(10, 0)
    assert charged(desk, bruno) == {"r1": 1, "r4": 1}


def test_an_invalid_list_fails_alone(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 2))
    nobody = TopUp(4711, 1, "carga", NOW)
    outcomes = engine.together(
        desk,
        [a_charge(bruno, "r2")],
        [nobody],
        [a_settle(ana, "r1", 3)],  # more than was held
        [a_settle(bruno, "r1", 1)],  # another account's
        [a_charge(bruno, "half a character: \ud800")],
        [a_charge(bruno, "r3")],
    )

    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        StorageFailed,
        StorageFailed,
        StorageFailed,
        StorageFailed,
        type(None),
    ]
    assert charged(desk, bruno) == {"r2": 1, "r3": 1}
    assert balance(desk, ana) == Balance(10, 2)


def test_the_change_of_a_cancelled_caller_is_committed_and_affects_no_other(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    async def one_hangs_up() -> list[Refusal | BaseException | None]:
        tasks = [asyncio.create_task(desk.commit([a_charge(ana, f"r{n}")])) for n in range(3)]
        await asyncio.sleep(0)  # all three have submitted their changes
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = engine.run(one_hangs_up())

    assert outcomes[0] is None
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert outcomes[2] is None
    assert charged(desk, ana) == {"r0": 1, "r1": 1, "r2": 1}
    assert engine.commit(desk, a_charge(ana, "r3")) is None


# Holds.


def test_held_credits_are_still_owned_but_cannot_be_spent(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.commit(desk, a_hold(ana, "r1", 4)) is None
    assert balance(desk, ana) == Balance(10, 4)
    assert desk.check().open_operations == 1

    assert engine.commit(desk, a_charge(ana, "r2", 7)) == InsufficientFunds(7, 6)
    assert engine.commit(desk, a_hold(ana, "r3", 7)) == InsufficientFunds(7, 6)
    assert engine.commit(desk, a_hold(ana, "r4", 6)) is None
    assert entries(desk, ana)[1:] == [], "a hold moves no credits"


@pytest.mark.parametrize(("posted", "left"), [(3, 7), (1, 9), (0, 10)])
def test_a_settlement_posts_the_real_price_and_releases_the_rest(
    engine: Engine, desk: Desk, ana: Account, posted: int, left: int
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3))
    later = NOW + 2_500
    assert engine.commit(desk, a_settle(ana, "r1", posted, at_ms=later)) is None

    assert balance(desk, ana) == Balance(left, 0)
    assert desk.check().open_operations == 0
    posts = [entry for entry in entries(desk, ana) if entry.kind != "top_up"]
    if posted:
        number = ana.account_id
        assert posts == [
            LedgerEntry(later, "post", -posted, "r1", number, OPERATION, "consulta", "online", None)
        ]
    else:
        assert posts == []


def test_a_hold_is_settled_once(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3))
    assert engine.commit(desk, a_settle(ana, "r1", 2)) is None
    assert engine.commit(desk, a_settle(ana, "r1", 2)) == HoldGone()
    assert engine.commit(desk, a_settle(ana, "r1", 0)) == HoldGone()
    assert engine.commit(desk, a_settle(ana, "nobody's", 1)) == HoldGone()

    assert charged(desk, ana) == {"r1": 2}
    assert balance(desk, ana) == Balance(8, 0)


def test_a_hold_is_settled_once_within_one_shared_commit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3))
    outcomes = engine.together(desk, [a_settle(ana, "r1", 2)], [a_settle(ana, "r1", 0)])
    assert outcomes == [None, HoldGone()]
    assert balance(desk, ana) == Balance(8, 0)


def test_the_answer_of_a_released_hold_is_not_recorded(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """Otherwise the answer would be free under its idempotency key."""
    engine.commit(desk, a_hold(ana, "r1", 3), a_bind(ana, "key", "r1"))
    desk.recover(NOW)

    assert engine.commit(desk, a_settle(ana, "r1", 3), a_finish(ana, "key", "r1")) == HoldGone()
    assert engine.run(desk.find_attempt(ana.account_id, "key", NOW)) == IdempotencyRecord(
        "f", "died", None
    )
    assert balance(desk, ana) == Balance(10, 0)


# Post-paid accounts.

LAST_OF_JULY = brasilia("2026-07-31 23:59:59.999")
FIRST_OF_AUGUST = brasilia("2026-08-01 00:00:00")


def post_paid(engine: Engine, desk: Desk, ceiling_credits: int | None) -> Account:
    return open_account(
        engine, desk, "caio", plan="pos_pago", ceiling_credits=ceiling_credits, at_ms=LAST_OF_JULY
    )


def test_a_post_paid_account_has_no_balance_to_exceed(engine: Engine, desk: Desk) -> None:
    caio = post_paid(engine, desk, None)
    assert engine.commit(desk, a_charge(caio, "r1", 100_000)) is None
    assert engine.commit(desk, a_hold(caio, "r2", 5)) is None
    assert engine.commit(desk, a_settle(caio, "r2", 5)) is None

    assert balance(desk, caio) == Balance(-100_005, 0)
    assert desk.check().complaints == []


def test_a_ceiling_is_enforced_exactly(engine: Engine, desk: Desk) -> None:
    caio = post_paid(engine, desk, 10)
    assert engine.commit(desk, a_charge(caio, "r1", 11)) == InsufficientFunds(11, 10)
    assert engine.commit(desk, a_charge(caio, "r2", 6)) is None
    assert engine.commit(desk, a_hold(caio, "r3", 3)) is None
    assert engine.commit(desk, a_charge(caio, "r4", 2)) == InsufficientFunds(2, 1)
    assert engine.commit(desk, a_settle(caio, "r3", 1)) is None
    assert engine.commit(desk, a_charge(caio, "r5", 3)) is None
    assert engine.commit(desk, a_charge(caio, "r6", 1)) == InsufficientFunds(1, 0)
    assert account_of(desk, caio).month_credits == 10


@pytest.mark.parametrize("first", ["charge", "hold"])
def test_a_ceiling_is_reset_with_the_civil_month_of_brasilia(
    engine: Engine, desk: Desk, first: str
) -> None:
    caio = post_paid(engine, desk, 10)
    assert engine.commit(desk, a_charge(caio, "r1", 10, at_ms=LAST_OF_JULY)) is None
    assert engine.commit(desk, a_charge(caio, "r2", 1, at_ms=LAST_OF_JULY)) == InsufficientFunds(
        1, 0
    )

    if first == "charge":
        assert engine.commit(desk, a_charge(caio, "r3", 10, at_ms=FIRST_OF_AUGUST)) is None
    else:
        assert engine.commit(desk, a_hold(caio, "r3", 10, at_ms=FIRST_OF_AUGUST)) is None
        assert engine.commit(desk, a_settle(caio, "r3", 10, at_ms=FIRST_OF_AUGUST)) is None
    assert engine.commit(desk, a_charge(caio, "r4", 1, at_ms=FIRST_OF_AUGUST)) == InsufficientFunds(
        1, 0
    )
    assert balance(desk, caio) == Balance(-20, 0)
    assert desk.check().complaints == []


def test_a_month_that_is_over_does_not_come_back(engine: Engine, desk: Desk) -> None:
    """A request of the last second of July is charged after one of August."""
    caio = post_paid(engine, desk, 10)
    assert engine.commit(desk, a_charge(caio, "r1", 9, at_ms=FIRST_OF_AUGUST)) is None
    assert engine.commit(desk, a_charge(caio, "r2", 1, at_ms=LAST_OF_JULY)) is None
    assert engine.commit(desk, a_charge(caio, "r3", 1, at_ms=LAST_OF_JULY)) == InsufficientFunds(
        1, 0
    )
    assert engine.commit(desk, a_charge(caio, "r4", 1, at_ms=FIRST_OF_AUGUST)) == InsufficientFunds(
        1, 0
    )


def test_a_hold_of_the_old_month_is_posted_in_the_new_one(engine: Engine, desk: Desk) -> None:
    caio = post_paid(engine, desk, 10)
    engine.commit(desk, a_charge(caio, "r1", 8, at_ms=LAST_OF_JULY))
    engine.commit(desk, a_hold(caio, "r2", 2, at_ms=LAST_OF_JULY))

    assert engine.commit(desk, a_settle(caio, "r2", 2, at_ms=FIRST_OF_AUGUST)) is None
    assert account_of(desk, caio).month_credits == 2
    assert engine.commit(desk, a_charge(caio, "r3", 8, at_ms=FIRST_OF_AUGUST)) is None


def test_a_shared_commit_across_the_turn_of_the_month(engine: Engine, desk: Desk) -> None:
    caio = post_paid(engine, desk, 10)
    outcomes = engine.together(
        desk,
        [a_charge(caio, "r1", 10, at_ms=LAST_OF_JULY)],
        [a_charge(caio, "r2", 1, at_ms=LAST_OF_JULY)],
        [a_hold(caio, "r3", 9, at_ms=FIRST_OF_AUGUST)],
        [a_charge(caio, "r4", 2, at_ms=FIRST_OF_AUGUST)],
        [a_settle(caio, "r3", 9, at_ms=FIRST_OF_AUGUST)],
        [a_charge(caio, "r5", 1, at_ms=FIRST_OF_AUGUST)],
    )
    assert outcomes == [None, InsufficientFunds(1, 0), None, InsufficientFunds(2, 1), None, None]


# Idempotency.


def test_a_bound_key_is_running_until_it_is_finished(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    number = ana.account_id
    assert engine.run(desk.find_attempt(number, "key", NOW)) is None
    assert engine.commit(desk, a_hold(ana, "r1"), a_bind(ana, "key", "r1")) is None
    assert engine.run(desk.find_attempt(number, "key", NOW)) == IdempotencyRecord(
        "f", "running", None
    )

    body = '{"nome":"AÇÚCAR"}'.encode()
    finish = a_finish(ana, "key", "r1", body=body)
    assert engine.commit(desk, a_settle(ana, "r1", 1), finish) is None

    recorded = RecordedAnswer("r1", 200, body)
    assert engine.run(desk.find_attempt(number, "key", NOW)) == IdempotencyRecord(
        "f", "finished", recorded
    )


def test_a_running_key_has_its_beginning_and_expiry(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1"), a_bind(ana, "key", "r1", at_ms=NOW + 7))
    running = engine.run(desk.find_attempt(ana.account_id, "key", NOW + 9))
    assert running is not None
    assert running.bound_ms == NOW + 7
    assert running.expires_ms == NOW + 7 + KEPT_MS


def test_an_available_answer_binds_and_finishes_in_one_step(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1")) is None
    found = engine.run(desk.find_attempt(ana.account_id, "key", NOW))
    assert found == IdempotencyRecord("f", "finished", RecordedAnswer("r1", 200, b"{}"))


def test_a_key_belongs_to_the_first_request(engine: Engine, desk: Desk, ana: Account) -> None:
    outcomes = engine.together(
        desk,
        [a_hold(ana, "r1"), a_bind(ana, "key", "r1")],
        [a_hold(ana, "r2"), a_bind(ana, "key", "r2")],
        [a_charge(ana, "r3"), a_finish(ana, "key", "r3")],
    )
    assert outcomes == [None, KeyBound(), KeyBound()]
    assert engine.commit(desk, a_charge(ana, "r4"), a_finish(ana, "key", "r4")) == KeyBound()
    assert engine.commit(desk, a_hold(ana, "r5"), a_bind(ana, "key", "r5")) == KeyBound()

    assert charged(desk, ana) == {}
    assert balance(desk, ana) == Balance(10, 1)


def asked_with_a_key(
    form: str, account: Account, request: str, *, price: int, key_first: bool
) -> list[Change]:
    """Return the first commit of a lookup: a charge if it is available at once, else a hold."""
    changes: list[Change]
    if form == "at hand":
        changes = [a_charge(account, request, price), a_finish(account, "key", request)]
    else:
        changes = [a_hold(account, request, price), a_bind(account, "key", request)]
    return changes[::-1] if key_first else changes


@pytest.mark.parametrize("apart", [False, True], ids=["one commit", "one after another"])
@pytest.mark.parametrize("plan", ["pre_pago", "pos_pago"])
@pytest.mark.parametrize("key_first", [False, True])
def test_a_duplicate_is_recognized_when_the_first_one_took_the_last_credits(
    engine: Engine, desk: Desk, plan: Plan, key_first: bool, apart: bool
) -> None:
    """The key is checked first, within a commit too (contract 9.1), and under a monthly ceiling."""
    price = 3
    for first in ("at hand", "online"):
        for again in ("at hand", "online"):
            account = open_account(
                engine,
                desk,
                f"{first}, {again}",
                plan=plan,
                credits=price if plan == "pre_pago" else 0,
                ceiling_credits=price if plan == "pos_pago" else None,
            )
            lists = [
                asked_with_a_key(
                    first if n == 0 else again,
                    account,
                    f"{first}, {again} {n}",
                    price=price,
                    key_first=key_first,
                )
                for n in range(5)
            ]
            outcomes: Sequence[Refusal | BaseException | None]
            if apart:
                outcomes = [engine.commit(desk, *changes) for changes in lists]
            else:
                outcomes = engine.together(desk, *lists)
            assert outcomes == [None, *4 * [KeyBound()]]
            state = "finished" if first == "at hand" else "running"
            found = engine.run(desk.find_attempt(account.account_id, "key", NOW))
            assert found is not None
            assert found.state == state


def test_a_request_refused_for_its_credits_leaves_its_key_free(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """Each of them is decided again, until one can be paid (contract 6.2)."""
    outcomes = engine.together(
        desk,
        [a_charge(ana, "r1", 11), a_finish(ana, "key", "r1")],
        [a_hold(ana, "r2", 11), a_bind(ana, "key", "r2")],
        [a_top_up(ana, 1)],
        [a_hold(ana, "r3", 11), a_bind(ana, "key", "r3")],
        [a_charge(ana, "r4", 11), a_finish(ana, "key", "r4")],
    )
    assert outcomes == [
        InsufficientFunds(11, 10),
        InsufficientFunds(11, 10),
        None,
        None,
        KeyBound(),
    ]
    assert balance(desk, ana) == Balance(11, 11)


def test_an_unbound_key_can_be_bound_in_the_same_commit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 10), a_bind(ana, "key", "r1"))
    outcomes = engine.together(
        desk,
        [a_hold(ana, "r2", 10), a_bind(ana, "key", "r2")],
        [a_settle(ana, "r1", 0), Unbind(ana.account_id, "key", "r1", NOW)],
        [a_hold(ana, "r3", 10), a_bind(ana, "key", "r3")],
        [
            Unbind(ana.account_id, "key", "r1", NOW)
        ],  # r1 has unbound its key before, and the present binding is r3's
        [a_hold(ana, "r4", 10), a_bind(ana, "key", "r4")],
    )
    assert outcomes == [KeyBound(), None, None, None, KeyBound()]
    assert engine.run(desk.find_attempt(ana.account_id, "key", NOW)) == IdempotencyRecord(
        "f", "running", None
    )
    assert engine.commit(desk, a_settle(ana, "r3", 10), a_finish(ana, "key", "r3")) is None
    assert charged(desk, ana) == {"r3": 10}


def test_a_finished_key_stays_finished(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1", body=b"1"))
    again = engine.commit(desk, a_charge(ana, "r2"), a_finish(ana, "key", "r2", body=b"2"))

    assert again == KeyBound()
    found = engine.run(desk.find_attempt(ana.account_id, "key", NOW))
    assert found == IdempotencyRecord("f", "finished", RecordedAnswer("r1", 200, b"1"))
    assert charged(desk, ana) == {"r1": 1}


def test_the_same_key_of_two_accounts_is_two_keys(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1"))
    assert engine.run(desk.find_attempt(bruno.account_id, "key", NOW)) is None
    assert engine.commit(desk, a_charge(bruno, "r2"), a_finish(bruno, "key", "r2")) is None


def test_a_key_expires(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1"))
    number, end = ana.account_id, NOW + KEPT_MS
    assert engine.run(desk.find_attempt(number, "key", end - 1)) is not None
    assert engine.run(desk.find_attempt(number, "key", end)) is None

    still_bound = a_bind(ana, "key", "r2", at_ms=end - 1)
    assert engine.commit(desk, a_hold(ana, "r2"), still_bound) == KeyBound()
    assert engine.commit(desk, a_hold(ana, "r2"), a_bind(ana, "key", "r2", at_ms=end)) is None
    assert engine.run(desk.find_attempt(number, "key", end)) == IdempotencyRecord(
        "f", "running", None
    )


def test_purging_removes_expired_records_only(engine: Engine, desk: Desk, ana: Account) -> None:
    number = ana.account_id
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "old", "r1", at_ms=NOW))
    engine.commit(desk, a_charge(ana, "r2"), a_finish(ana, "young", "r2", at_ms=NOW + 1))
    assert engine.run(desk.purge(NOW + KEPT_MS - 1)) == 0
    assert engine.run(desk.purge(NOW + KEPT_MS)) == 1
    assert engine.run(desk.purge(NOW + KEPT_MS)) == 0

    assert engine.run(desk.find_attempt(number, "old", NOW)) is None
    assert engine.run(desk.find_attempt(number, "young", NOW)) is not None
    assert charged(desk, ana) == {"r1": 1, "r2": 1}, "the ledger is not purged"


# A process died.


def test_the_holds_of_a_dead_process_are_released(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3), a_bind(ana, "unfinished", "r1"))
    engine.commit(desk, a_hold(bruno, "r2", 5))
    engine.commit(desk, a_charge(ana, "r3", 1), a_finish(ana, "finished", "r3"))
    engine.commit(desk, a_hold(ana, "r4", 2))
    engine.commit(desk, a_settle(ana, "r4", 1))

    engine.kill(desk)
    next_one = engine.open()
    assert next_one.recover(NOW + 1) == 2
    assert next_one.recover(NOW + 2) == 0

    assert balance(next_one, ana) == Balance(8, 0)
    assert balance(next_one, bruno) == Balance(5, 0)
    assert charged(next_one, ana) == {"r3": 1, "r4": 1}
    number = ana.account_id
    assert engine.run(next_one.find_attempt(number, "unfinished", NOW)) == IdempotencyRecord(
        "f", "died", None
    )
    kept = IdempotencyRecord("f", "finished", RecordedAnswer("r3", 200, b"{}"))
    assert engine.run(next_one.find_attempt(number, "finished", NOW)) == kept
    check = next_one.check()
    assert (check.complaints, check.open_operations) == ([], 0)


def test_the_key_of_a_dead_request_stays_bound(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_hold(ana, "r1"), a_bind(ana, "key", "r1"))
    desk.recover(NOW)
    assert engine.commit(desk, a_hold(ana, "r2"), a_bind(ana, "key", "r2")) == KeyBound()


def test_everything_survives_a_restart(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1", 3))
    engine.commit(desk, a_hold(ana, "r2", 2), a_bind(ana, "key", "r2"))
    before = (desk.accounts(), desk.keys(ana.account_id), entries(desk, ana))

    next_one = engine.open()
    assert (next_one.accounts(), next_one.keys(ana.account_id), entries(next_one, ana)) == before
    assert engine.commit(next_one, a_settle(ana, "r2", 2)) is None
    assert balance(next_one, ana) == Balance(5, 0)


# The storage cannot write.


def test_a_full_disk_refuses_keeps_nothing_and_recovers(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    with engine.cannot_write(desk):
        for turn in range(3):
            outcomes = engine.together(
                desk,
                [a_charge(ana, f"r2-{turn}"), a_finish(ana, f"key-{turn}", f"r2-{turn}")],
                [a_hold(ana, f"r3-{turn}", 2)],
                [a_top_up(ana, 100)],
            )
            assert [type(outcome) for outcome in outcomes] == [StorageFailed] * 3
        assert balance(desk, ana) == Balance(9, 0), "reads still work"

    assert engine.run(desk.find_attempt(ana.account_id, "key-0", NOW)) is None
    assert charged(engine.open(), ana) == {"r1": 1}
    assert engine.commit(desk, a_charge(ana, "r2-0")) is None, "the same request may come again"
    assert balance(desk, ana) == Balance(8, 0)
    assert engine.open().check().complaints == []


def test_a_hold_made_before_the_disk_was_full_can_be_settled_after(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3), a_bind(ana, "key", "r1"))
    settlement: list[Change] = [a_settle(ana, "r1", 2), a_finish(ana, "key", "r1")]
    with engine.cannot_write(desk), pytest.raises(StorageFailed):
        engine.commit(desk, *settlement)

    assert balance(desk, ana) == Balance(10, 3)
    assert engine.run(desk.find_attempt(ana.account_id, "key", NOW)) == IdempotencyRecord(
        "f", "running", None
    )
    assert engine.commit(desk, *settlement) is None
    assert balance(desk, ana) == Balance(8, 0)


# Accounts and keys.


def test_accounts_have_the_given_terms(desk: Desk) -> None:
    new = NewAccount(
        "Açaí & Cia", "pos_pago", "test", certificates=True, partner_optin=True, ceiling_credits=9
    )
    account = desk.create_account(new, NOW)

    number = account.account_id
    assert account == Account(number, "Açaí & Cia", "pos_pago", "test", True, True, 9, 0, 0, 0, NOW)
    with pytest.raises(NameTaken):
        desk.create_account(NewAccount("Açaí & Cia", "gratuito", "live"), NOW)
    assert desk.accounts() == [account]


def test_a_caller_is_an_account_through_one_of_its_keys(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    key = desk.create_key(
        NewKey(ana.account_id, "loja", "balcao_live_B", a_hash("loja"), NOW + DAY_MS, 7, 70), NOW
    )
    number = ana.account_id
    found = engine.run(desk.caller(a_hash("loja"), NOW))
    assert found == Caller(
        number, key.key_id, "pre_pago", "live", False, False, NOW + DAY_MS, 7, 70
    )
    assert [one.name for one in desk.keys(number)] == ["principal", "loja"], "newest last"
    assert engine.run(desk.caller(a_hash("unknown"), NOW)) is None


def test_an_expired_key_has_its_expiry(engine: Engine, desk: Desk, ana: Account) -> None:
    """The authenticator decides whether it has expired, at the time of a request."""
    expires = NOW + 100
    desk.create_key(NewKey(ana.account_id, "k", "p", a_hash("short"), expires), NOW)
    for now in (NOW, expires - 1, expires, expires + DAY_MS):
        caller = engine.run(desk.caller(a_hash("short"), now))
        assert caller is not None
        assert caller.expires_ms == expires


def test_a_revoked_key_is_refused_here_at_once(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is not None
    assert desk.revoke_key(ana.account_id, NOW) is True
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is None
    assert desk.keys(ana.account_id)[0].revoked_ms == NOW


def test_a_revoked_key_is_refused_everywhere_within_a_second(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    server = engine.open()
    assert engine.run(server.caller(a_hash("ana"), NOW)) is not None

    desk.revoke_key(ana.account_id, NOW)
    assert engine.run(server.caller(a_hash("ana"), NOW + 1_000)) is None


def test_a_key_read_before_its_creation_is_known_within_a_second(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    server = engine.open()
    assert engine.run(server.caller(a_hash("new"), NOW)) is None
    desk.create_key(NewKey(ana.account_id, "new", "p", a_hash("new")), NOW)
    assert engine.run(server.caller(a_hash("new"), NOW + 1_000)) is not None


def test_a_clock_that_was_set_back_does_not_keep_a_revoked_key_alive(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    server = engine.open()
    assert engine.run(server.caller(a_hash("ana"), NOW)) is not None
    desk.revoke_key(ana.account_id, NOW)
    assert engine.run(server.caller(a_hash("ana"), NOW - DAY_MS)) is None


def test_revoking_twice_keeps_the_first_instant(desk: Desk, ana: Account) -> None:
    desk.revoke_key(ana.account_id, NOW)
    assert desk.revoke_key(ana.account_id, NOW + 5) is True
    assert desk.keys(ana.account_id)[0].revoked_ms == NOW
    assert desk.revoke_key(4711, NOW) is False


def test_the_last_use_of_a_key_is_recorded(engine: Engine, desk: Desk, ana: Account) -> None:
    assert desk.keys(ana.account_id)[0].last_used_ms is None
    engine.commit(desk, Touch(ana.account_id, NOW + 5))
    assert desk.keys(ana.account_id)[0].last_used_ms == NOW + 5


# Rate limits.

TWO = Limit("minuto", 2, 60_000)
TEN = Limit("dia", 10, DAY_MS)
ONE_OF_KEY = Limit("chave-minuto", 1, 60_000, of_key=True)


def a_caller(engine: Engine, desk: Desk, name: str) -> Caller:
    caller = engine.run(desk.caller(a_hash(name), NOW))
    assert caller is not None
    return caller


def passes(
    engine: Engine, desk: Desk, name: str, limits: Sequence[Limit], now_ms: int = NOW
) -> bool:
    return all(
        verdict.allowed
        for verdict in engine.run(desk.spend(a_caller(engine, desk, name), limits, now_ms))
    )


def test_a_request_counts_against_all_limits_or_none(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert [passes(engine, desk, "ana", [TWO, TEN]) for _ in range(5)] == [True, True] + [False] * 3
    minute, day = engine.run(desk.spend(a_caller(engine, desk, "ana"), [TWO, TEN], NOW))
    assert not minute.allowed
    assert day.remaining == 7, "two were counted; this one would be the third"


def test_keys_of_an_account_share_its_limit_and_have_their_own(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    desk.create_key(NewKey(ana.account_id, "loja", "p", a_hash("loja")), NOW)
    assert passes(engine, desk, "ana", [TWO, ONE_OF_KEY])
    assert not passes(engine, desk, "ana", [TWO, ONE_OF_KEY]), "the key's own"
    assert passes(engine, desk, "loja", [TWO, ONE_OF_KEY])
    assert not passes(engine, desk, "loja", [TWO]), "the account's"
    assert passes(engine, desk, "bruno", [TWO, ONE_OF_KEY])


def test_a_restart_resets_no_limits(engine: Engine, desk: Desk, ana: Account) -> None:
    assert passes(engine, desk, "ana", [TWO])
    assert passes(engine, desk, "ana", [TWO])
    desk.close()

    next_one = engine.open()
    assert not passes(engine, next_one, "ana", [TWO])
    assert passes(engine, next_one, "ana", [TWO], NOW + 30_000)


def test_a_crash_keeps_limits_written_with_a_commit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert passes(engine, desk, "ana", [TWO])
    assert passes(engine, desk, "ana", [TWO])
    engine.commit(desk, a_charge(ana, "r1"))
    assert not passes(engine, engine.open(), "ana", [TWO])


def test_limits_counted_by_a_clock_a_week_ahead_are_void(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert passes(engine, desk, "ana", [TWO], NOW + 7 * DAY_MS)
    assert passes(engine, desk, "ana", [TWO], NOW + 7 * DAY_MS)
    assert [passes(engine, desk, "ana", [TWO]) for _ in range(3)] == [True, True, False]


# What an operator reads.


def test_entries_of_a_period_begin_with_the_first_and_end_before_the_last_instant(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    for at_ms in (NOW + 30, NOW + 10, NOW + 20):
        engine.commit(desk, a_charge(ana, f"r{at_ms - NOW}", at_ms=at_ms))
    found = desk.entries(ana.account_id, NOW + 10, NOW + 30)
    assert [entry.request_id for entry in found] == ["r10", "r20"]


def test_entries_are_of_one_account_and_moved_credits(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 2))
    engine.commit(desk, a_settle(ana, "r1", 0))
    engine.commit(desk, a_charge(bruno, "r2"))
    assert [entry.kind for entry in entries(desk, ana)] == ["top_up"]


def test_a_slow_reader_does_not_make_others_read_old_rows(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    reading = iter(desk.entries(ana.account_id, 0, NOW + 1))
    next(reading)

    engine.commit(desk, a_charge(ana, "r2"), a_finish(ana, "key", "r2"))
    assert balance(desk, ana) == Balance(8, 0)
    assert engine.run(desk.find_attempt(ana.account_id, "key", NOW)) is not None


def test_the_books_of_a_working_day_agree(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    engine.commit(desk, a_hold(bruno, "r2", 2))
    check = desk.check()
    assert (check.accounts, check.entries, check.open_operations) == (2, 4, 1)
    assert check.complaints == []


NEW_OPERATION = (
    "INSERT INTO open_operation (request_id, account_id, operation, credits, opened_ms)"
    " VALUES ('{}', 1, 'x', 1, 0)"
)
TAMPERED = {
    "UPDATE account SET balance_credits = balance_credits + 1 WHERE name = 'ana'": "ana",
    "UPDATE account SET held_credits = held_credits - 1 WHERE name = 'ana'": "ana",
    "DELETE FROM open_operation WHERE request_id = 'r2'": "r2",
    "UPDATE open_operation SET credits = 1 WHERE request_id = 'r2'": "r2",
    NEW_OPERATION.format("r1"): "r1",  # it was charged, nothing is held
    NEW_OPERATION.format("r3"): "r3",  # it was settled
}


@pytest.mark.parametrize("error", TAMPERED)
def test_the_check_finds_tampered_rows(
    engine: Engine, desk: Desk, ana: Account, error: str
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    engine.commit(desk, a_hold(ana, "r2", 2))
    engine.commit(desk, a_hold(ana, "r3", 2))
    engine.commit(desk, a_settle(ana, "r3", 2))
    assert desk.check().complaints == []

    engine.sql(error)
    (found,) = desk.check().complaints
    assert TAMPERED[error] in found


# The server and the command line, on one database.


def test_two_desks_see_each_other_s_changes_at_once(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    command_line = engine.open()
    engine.commit(command_line, a_top_up(ana, 5))
    assert engine.commit(desk, a_charge(ana, "r1", 15)) is None
    assert balance(command_line, ana) == Balance(0, 0)
    assert engine.commit(command_line, a_charge(ana, "r2")) == InsufficientFunds(1, 0)


def test_two_desks_working_at_the_same_time_never_overdraw(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=100)
    other = engine.open()

    async def both() -> list[Refusal | None]:
        work = [
            one.commit([a_charge(ana, f"{name}-{n}")])
            for n in range(75)
            for name, one in (("server", desk), ("line", other))
        ]
        return await asyncio.gather(*work)

    outcomes = engine.run(both())
    assert outcomes.count(None) == 100
    assert balance(desk, ana) == Balance(0, 0)
    assert len(charged(other, ana)) == 100
    assert desk.check().complaints == []


def test_a_request_is_charged_once_by_two_desks_too(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    other = engine.open()

    async def both() -> Sequence[Refusal | BaseException | None]:
        work = [one.commit([a_charge(ana, "r1")]) for one in (desk, other)]
        return await asyncio.gather(*work, return_exceptions=True)

    outcomes = engine.run(both())
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "StorageFailed"]
    assert charged(desk, ana) == {"r1": 1}


def test_a_hold_is_settled_once_by_two_desks_too(engine: Engine, desk: Desk, ana: Account) -> None:
    other = engine.open()
    engine.commit(desk, a_hold(ana, "r1", 3))
    settle = Settle(ana.account_id, "r1", 2, "consulta", "online", NOW)

    async def both() -> list[Refusal | None]:
        return await asyncio.gather(*(one.commit([settle]) for one in (desk, other)))

    outcomes = engine.run(both())
    assert outcomes.count(None) == 1
    assert outcomes.count(HoldGone()) == 1
    assert balance(desk, ana) == Balance(8, 0)


# Closing.


def test_closing_finishes_the_queued_changes(engine: Engine, desk: Desk, ana: Account) -> None:
    async def close_at_once() -> None:
        task = asyncio.create_task(desk.commit([a_charge(ana, "r1")]))
        await asyncio.sleep(0)  # submitted
        await asyncio.sleep(0)  # handed to the writer
        desk.close()
        assert await task is None

    engine.run(close_at_once())
    assert charged(engine.open(), ana) == {"r1": 1}
