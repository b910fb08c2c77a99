"""Decisions about lists of changes before they are written: order, refusals, and rows."""

from datetime import datetime
from itertools import permutations

import pytest
from msgspec.structs import replace

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import (
    Audit,
    Balance,
    Bind,
    Change,
    Charge,
    DoneBefore,
    Finish,
    Hold,
    HoldGone,
    InsufficientFunds,
    KeyBound,
    Settle,
    TopUp,
    Touch,
    Unbind,
)
from balcao.core.people import Signature
from balcao.storage.batch import ENTRY_COLUMNS, Batch, OpenHold, needs

AT_MS = to_ms(datetime(2026, 8, 5, 13, 15, tzinfo=BRASILIA))
MONTH = "2026-08"
ANA, BRUNO = 1, 2


def a_batch(*, held: int = 0) -> Batch:
    """Ana has ten credits, `held` of them for request `open`; her key `taken` is bound."""
    holds = {"open": OpenHold(ANA, 7, "op", held)} if held else {}
    balances = {
        ANA: Balance("pre_pago", 10, held, None, MONTH, 0),
        BRUNO: Balance("pre_pago", 1, 0, None, MONTH, 0),
    }
    return Batch(balances, holds, {(ANA, "taken"): "open"})


def charge(request: str, credits: int = 1, account: int = ANA) -> Charge:
    return Charge(account, 7, request, "op", credits, "consulta", "cache", AT_MS)


def hold(request: str, credits: int = 1) -> Hold:
    return Hold(ANA, 7, request, "op", credits, AT_MS)


def settle(request: str, credits: int, account: int = ANA) -> Settle:
    return Settle(account, request, credits, "consulta", "online" if credits else None, AT_MS)


def bind(key: str, request: str) -> Bind:
    return Bind(ANA, key, "f", request, AT_MS, AT_MS + 1)


def finish(key: str, request: str, account: int = ANA) -> Finish:
    return Finish(account, key, "f", RecordedAnswer(request, 200, b"{}"), AT_MS, AT_MS + 1)


def kinds(batch: Batch) -> list[object]:
    return [row[ENTRY_COLUMNS.index("kind")] for row in batch.entries]


def test_what_must_be_read_is_what_the_lists_touch() -> None:
    wanted = needs(
        [
            [charge("r1"), finish("a", "r1")],
            [settle("open", 1, account=BRUNO), bind("b", "open")],
            [Touch(7, AT_MS)],
            [TopUp(3, 5, "carga", AT_MS)],
        ]
    )
    assert wanted.accounts == {ANA, BRUNO, 3}
    assert wanted.holds == {"open"}
    assert set(wanted.keys) == {(ANA, "a"), (ANA, "b")}


def test_lists_are_decided_one_after_another() -> None:
    batch = a_batch()
    assert batch.admit([charge("r1", 6)]) is None
    assert batch.admit([charge("r2", 6)]) == InsufficientFunds(6, 4)
    assert batch.admit([charge("r3", 4)]) is None
    assert batch.admit([charge("r4", 1, account=BRUNO)]) is None
    assert batch.admit([charge("r5", 1, account=BRUNO)]) == InsufficientFunds(1, 0)
    assert [row[ENTRY_COLUMNS.index("request_id")] for row in batch.entries] == ["r1", "r3", "r4"]


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ([charge("r1"), bind("taken", "r1")], KeyBound()),
        ([charge("r1"), finish("taken", "r1")], KeyBound()),
        ([bind("new", "r1"), charge("r1", 11)], InsufficientFunds(11, 10)),
        ([finish("new", "r1"), hold("r1", 11)], InsufficientFunds(11, 10)),
        ([Touch(7, AT_MS), settle("gone", 1), finish("new", "gone")], HoldGone()),
        ([Touch(7, AT_MS), TopUp(ANA, -11, "engano", AT_MS)], InsufficientFunds(11, 10)),
    ],
)
def test_a_refused_list_leaves_no_trace(refused: list[Change], why: object) -> None:
    batch, untouched = a_batch(), a_batch()
    assert batch.admit(refused) == why
    assert batch == untouched


@pytest.mark.parametrize("asked", [charge("r1", 11), hold("r1", 11)])
@pytest.mark.parametrize("key", [bind("taken", "r1"), finish("taken", "r1")])
def test_the_key_is_judged_before_the_credits_wherever_it_stands(
    asked: Change, key: Change
) -> None:
    """A duplicate is no new lookup: it is never refused for its price (contract 9.1)."""
    changes: list[Change] = [asked, key, Touch(7, AT_MS), settle("gone", 1)]
    for in_some_order in permutations(changes):
        assert a_batch().admit(in_some_order) == KeyBound()


def test_a_form_sent_again_is_known_before_the_credits_are_counted() -> None:
    changes: list[Change] = [TopUp(ANA, -11, "engano", AT_MS), audit("known")]
    for in_some_order in permutations(changes):
        batch = a_batch()
        batch.forms.add("known")
        assert batch.admit(in_some_order) == DoneBefore()


def test_a_request_refused_for_its_credits_takes_no_key() -> None:
    batch = a_batch()
    assert batch.admit([charge("r1", 11), finish("new", "r1")]) == InsufficientFunds(11, 10)
    assert batch.admit([hold("r2", 11), bind("new", "r2")]) == InsufficientFunds(11, 10)
    assert batch.admit([TopUp(ANA, 1, "carga", AT_MS)]) is None
    assert batch.admit([hold("r3", 11), bind("new", "r3")]) is None
    assert batch.admit([hold("r4", 11), bind("new", "r4")]) == KeyBound()


def test_a_key_is_let_go_by_its_own_request_only() -> None:
    batch = a_batch(held=3)
    assert batch.admit([Unbind(ANA, "taken", "somebody else", AT_MS)]) is None
    assert batch.admit([hold("r1"), bind("taken", "r1")]) == KeyBound()
    assert batch.admit([settle("open", 0), Unbind(ANA, "taken", "open", AT_MS)]) is None
    assert batch.admit([hold("r2"), bind("taken", "r2")]) is None


def test_a_hold_and_its_settlement_may_share_a_batch() -> None:
    batch = a_batch()
    assert batch.admit([hold("r1", 10), bind("new", "r1")]) is None
    assert batch.admit([charge("r2")]) == InsufficientFunds(1, 0)
    assert batch.admit([settle("r1", 4), finish("new", "r1")]) is None
    assert batch.admit([settle("r1", 4)]) == HoldGone()
    assert batch.admit([charge("r3", 7)]) == InsufficientFunds(7, 6)
    assert batch.admit([charge("r3", 6)]) is None
    assert kinds(batch) == ["hold", "post", "charge"]


def test_a_settlement_of_nothing_is_a_void() -> None:
    batch = a_batch(held=3)
    assert batch.admit([settle("open", 0), finish("taken", "open")]) is None
    assert kinds(batch) == ["void"]
    assert batch.balances[ANA] == Balance("pre_pago", 10, 0, None, MONTH, 0)


@pytest.mark.parametrize(
    "nonsense", [settle("open", 4), settle("open", -1), settle("open", 1, BRUNO)]
)
def test_a_settlement_that_makes_no_sense_is_a_bug(nonsense: Settle) -> None:
    with pytest.raises(AssertionError):
        a_batch(held=3).admit([nonsense])


def test_rows_fit_their_columns() -> None:
    batch = a_batch(held=3)
    assert batch.admit([replace(charge("r1", 2), client="c", reference="r")]) is None
    assert batch.admit([settle("open", 1)]) is None
    assert batch.admit([TopUp(ANA, 5, "carga", AT_MS)]) is None
    assert [dict(zip(ENTRY_COLUMNS, row, strict=True)) for row in batch.entries] == [
        {
            "account_id": ANA, "at_ms": AT_MS, "month": MONTH, "kind": "charge",
            "balance_change": -2, "held_change": 0, "request_id": "r1", "key_id": 7,
            "operation": "op", "rule": "consulta", "origin": "cache", "reason": None,
            "client": "c", "reference": "r", "budgets": None,
        },
        {
            "account_id": ANA, "at_ms": AT_MS, "month": MONTH, "kind": "post",
            "balance_change": -1, "held_change": -3, "request_id": "open", "key_id": 7,
            "operation": "op", "rule": "consulta", "origin": "online", "reason": None,
            "client": None, "reference": None, "budgets": None,
        },
        {
            "account_id": ANA, "at_ms": AT_MS, "month": MONTH, "kind": "top_up",
            "balance_change": 5, "held_change": 0, "request_id": None, "key_id": None,
            "operation": None, "rule": None, "origin": None, "reason": "carga",
            "client": None, "reference": None, "budgets": None,
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wall", "month"),
    [
        (datetime(2026, 7, 31, 23, 59, 59, tzinfo=BRASILIA), "2026-07"),
        (datetime(2026, 8, 1, 0, 0, 0, tzinfo=BRASILIA), "2026-08"),
        (datetime(2026, 7, 31, 23, 0, 0, tzinfo=BRASILIA), "2026-07"),
    ],
)
def test_an_entry_belongs_to_the_civil_month_of_its_instant(wall: datetime, month: str) -> None:
    batch = a_batch()
    batch.admit([TopUp(ANA, 1, "carga", to_ms(wall))])
    assert batch.entries[0][ENTRY_COLUMNS.index("month")] == month


def audit(form: str | None) -> Audit:
    return Audit(Signature("web", 7, form), "credit.add", ANA, "conta ana", "+1", AT_MS)


def test_a_form_is_carried_out_once_within_a_batch() -> None:
    batch = a_batch()
    batch.forms.add("known")
    assert batch.admit([audit("known")]) == DoneBefore()
    assert batch.admit([charge("r1", 11), audit("new")]) == InsufficientFunds(11, 10)
    assert batch.admit([audit("new"), charge("r1")]) is None
    assert batch.admit([audit("new"), charge("r2")]) == DoneBefore()
    assert batch.admit([audit(None)]) is None
    assert batch.admit([audit(None)]) is None
    assert batch.audits == [
        (AT_MS, "web", 7, form, "credit.add", ANA, "conta ana", "+1")
        for form in ("new", None, None)
    ]
    assert kinds(batch) == ["charge"]


def test_forms_are_looked_up_before() -> None:
    assert needs([[audit("a")], [audit("b"), audit(None)]]).forms == {"a", "b"}
