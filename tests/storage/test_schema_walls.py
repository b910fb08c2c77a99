"""Constraints of the schema that no bug can break, tested by raw SQL."""

import pytest

from balcao.core.access import Account
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.people import BY, a_form, a_trace, a_user, deeds
from tests.storage.world import (
    NOW,
    Balance,
    a_charge,
    a_hold,
    a_keep,
    a_settle,
    balance,
    charged,
    entries,
    open_account,
)

ENTRY = (
    "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
    " request_id, key_id, operation, rule, origin, reason)"
    " VALUES (1, 0, '2026-08', {}, 1, 'x', 'x', 'online', {})"
)
CHARGE = ENTRY.format("'charge', {}, 0, {}", "NULL")
RECEIPT = (
    "INSERT INTO receipt (receipt_id, account_id, operation, digest, media_type, size_bytes,"
    " created_ms) VALUES ({}, 1, 'x', {}, {}, {}, 0)"
)
DIGEST = "'" + "a1" * 32 + "'"
PDF = "'application/pdf'"
PERSON = (
    "INSERT INTO person (account_id, email, email_key, name, role, created_ms)"
    " VALUES ({}, 'x', {}, 'X', {}, 0)"
)
SESSION = (
    "INSERT INTO web_session (token_digest, user_id, opened_ms, seen_ms) VALUES ({}, {}, 0, 0)"
)
LINK = "INSERT INTO one_time_link VALUES ({}, {}, {}, 0, 1)"
DEED = (
    "INSERT INTO audit_entry (at_ms, channel, form_id, action, target, detail)"
    " VALUES (0, {}, {}, 'key.create', 'x', 'x')"
)
TRACE = (
    "INSERT INTO trace (request_id, account_id, operation, document, strategy, refresh, status,"
    " credits, rule, opened_ms, settled_ms) VALUES ({}, {}, 'x', 'x', 'x', {}, 200, 1, 'x', 0, 0)"
)
POST = ENTRY.format("'post', {}, {}, {}", "NULL")


@pytest.fixture(autouse=True)
def a_day(engine: Engine, desk: Desk, ana: Account) -> None:
    """Ana (account 1) had 10 credits, was charged 1 (r1) and 1 of 2 held (r2); 3 are held (r3).

    She has a receipt, a trace of r1 and a manager, number 1, with a session and a link. What was
    done on form f is in the log.
    """
    engine.commit(desk, a_charge(ana, "r1", 1))
    engine.commit(desk, a_hold(ana, "r2", 2))
    engine.commit(desk, a_settle(ana, "r2", 1))
    engine.commit(desk, a_hold(ana, "r3", 3))
    engine.commit(desk, a_keep(ana, "number"))
    engine.commit(desk, a_trace(ana, "r1"))
    lia = a_user(engine, desk, ana, "lia", role="manager")
    engine.run(desk.people.open_session(lia.user_id, b"t", BY, NOW))
    engine.run(
        desk.people.make_link(
            b"l", "set_password", lia.user_id, signed=a_form("f"), now_ms=NOW, expires_ms=NOW + 1
        )
    )
    assert lia.user_id == 1
    assert ana.account_id == 1


WALLS = {
    "charging more than is there": CHARGE.format(-9, "'new'"),
    "charging what is held": CHARGE.format(-6, "'new'"),
    "holding more than is there": ENTRY.format("'hold', 0, 6, 'new'", "NULL"),
    "taking back more than is there": ENTRY.format("'top_up', -6, 0, NULL", "'engano'"),
    "overdrawing by hand": "UPDATE account SET balance_credits = 2 WHERE account_id = 1",
    "holding less than nothing": "UPDATE account SET held_credits = -1 WHERE account_id = 1",
    "changing an entry": "UPDATE ledger_entry SET balance_change = 0 WHERE request_id = 'r1'",
    "changing a reason": "UPDATE ledger_entry SET reason = 'x' WHERE kind = 'top_up'",
    "removing an entry": "DELETE FROM ledger_entry WHERE request_id = 'r1'",
    "removing all entries": "DELETE FROM ledger_entry",
    "charging again": CHARGE.format(-1, "'r1'"),
    "charging what is held for": CHARGE.format(-1, "'r3'"),
    "holding again": ENTRY.format("'hold', 0, 1, 'r3'", "NULL"),
    "holding for what was charged": ENTRY.format("'hold', 0, 1, 'r1'", "NULL"),
    "settling twice": POST.format(-1, -2, "'r2'"),
    "voiding what was posted": ENTRY.format("'void', 0, -2, 'r2'", "NULL"),
    "settling without a hold": POST.format(-1, -1, "'new'"),
    "settling a charge": POST.format(-1, -1, "'r1'"),
    "freeing less than was held": POST.format(-1, -2, "'r3'"),
    "freeing more than was held": POST.format(-1, -4, "'r3'"),
    "posting more than was held": POST.format(-4, -3, "'r3'"),
    "posting credits to the account": POST.format(1, -3, "'r3'"),
    "settling another account's hold": POST.format(-1, -3, "'r3'").replace("(1,", "(2,"),
    "a charge that gives credits": CHARGE.format(5, "'new'"),
    "a charge of nothing": CHARGE.format(0, "'new'"),
    "a charge without a request": CHARGE.format(-1, "NULL"),
    "a charge without a rule": CHARGE.format(-1, "'new'").replace("'x', 'x'", "'x', NULL"),
    "a hold that gives credits": ENTRY.format("'hold', 5, 1, 'new'", "NULL"),
    "a top-up without a reason": ENTRY.format("'top_up', 5, 0, NULL", "NULL"),
    "an unknown kind of entry": ENTRY.format("'gift', 5, 0, NULL", "'x'"),
    "an entry of nobody's account": CHARGE.format(-1, "'new'").replace("(1,", "(4711,"),
    "live to test": "UPDATE account SET mode = 'test' WHERE account_id = 1",
    "removing an account with entries": "DELETE FROM account WHERE account_id = 1",
    "a prepaid account with a ceiling": "UPDATE account SET ceiling_credits = 5",
    "two accounts of one name": (
        "INSERT INTO account (name, plan, mode, certificates, partner_optin, created_ms)"
        " VALUES ('ana', 'gratuito', 'live', 0, 0, 0)"
    ),
    "two keys of one hash": (
        "INSERT INTO api_key (account_id, name, prefix, hash, created_ms)"
        " SELECT account_id, name, prefix, hash, 0 FROM api_key"
    ),
    "finished without an answer": (
        "INSERT INTO idempotency VALUES (1, 'k', 'f', 'r', 'finished', 0, 1, NULL, NULL, NULL)"
    ),
    "two requests under one key": (
        "INSERT INTO idempotency VALUES (1, 'k', 'f', 'r', 'running', 0, 1, NULL, NULL, NULL),"
        " (1, 'k', 'f', 's', 'running', 0, 1, NULL, NULL, NULL)"
    ),
    "handing a receipt to another account": "UPDATE receipt SET account_id = 2",
    "making a receipt public": "UPDATE receipt SET account_id = NULL",
    "giving a receipt other bytes": f"UPDATE receipt SET digest = {DIGEST}",
    "making a receipt younger": "UPDATE receipt SET created_ms = created_ms + 1",
    "two receipts of one number": RECEIPT.format("'number'", DIGEST, PDF, 1),
    "a receipt of nobody's account": RECEIPT.format("'new'", DIGEST, PDF, 1).replace(
        ", 1, 'x'", ", 4711, 'x'"
    ),
    "a receipt without a number": RECEIPT.format("NULL", DIGEST, PDF, 1),
    "a receipt without bytes": RECEIPT.format("'new'", DIGEST, PDF, 0),
    "a receipt that is too large": RECEIPT.format("'new'", DIGEST, PDF, 10_000_001),
    "a receipt of another kind": RECEIPT.format("'new'", DIGEST, "'image/svg+xml'", 1),
    "half a digest": RECEIPT.format("'new'", "'a1b2'", PDF, 1),
    "two people of one address": PERSON.format("2", "'lia@exemplo.com.br'", "'manager'"),
    "an operator of an account": PERSON.format("1", "'new'", "'operator'"),
    "a manager of no account": PERSON.format("NULL", "'new'", "'manager'"),
    "a person of nobody's account": PERSON.format("4711", "'new'", "'manager'"),
    "an unknown role": PERSON.format("1", "'new'", "'guest'"),
    "making a manager an operator": "UPDATE person SET role = 'operator'",
    "making a manager an operator of no account": (
        "UPDATE person SET role = 'operator', account_id = NULL"
    ),
    "handing a person to another account": "UPDATE person SET account_id = 2",
    "removing a person who is signed in": "DELETE FROM person",
    "two sessions of one token": SESSION.format("x'74'", "1"),
    "nobody's session": SESSION.format("x'00'", "4711"),
    "two links of one token": LINK.format("x'6c'", "'set_password'", "1"),
    "nobody's link": LINK.format("x'00'", "'set_password'", "4711"),
    "a password for nobody": LINK.format("x'00'", "'set_password'", "NULL"),
    "a first operator who is somebody else": LINK.format("x'00'", "'first_operator'", "1"),
    "an unknown kind of link": LINK.format("x'00'", "'gift'", "1"),
    "changing a deed": "UPDATE audit_entry SET detail = 'x'",
    "changing who did it": "UPDATE audit_entry SET user_id = 1",
    "removing a deed": "DELETE FROM audit_entry WHERE form_id = 'f'",
    "removing all deeds": "DELETE FROM audit_entry",
    "carrying a form out again": DEED.format("'web'", "'f'"),
    "a deed through an unknown door": DEED.format("'mail'", "'new'"),
    "two traces of one request": TRACE.format("'r1'", "1", "0"),
    "a trace of nobody's account": TRACE.format("'new'", "4711", "0"),
    "a trace that may have been refreshed": TRACE.format("'new'", "1", "2"),
    "a certificate without a verdict": TRACE.format("'new'", "1", "0").replace(
        "INTO trace", "INTO certificate_trace"
    ),
    "deprecated use by nobody": "INSERT INTO deprecated_use VALUES (4711, 'x', 1, '2026-08-19', 1)",
    "deprecated use without a request": (
        "INSERT INTO deprecated_use VALUES (1, 'x', 1, '2026-08-19', 0)"
    ),
    "a digest that leads elsewhere": RECEIPT.format("'new'", f"'../{'a' * 61}'", PDF, 1),
}


@pytest.mark.parametrize("attempt", WALLS)
def test_the_schema_refuses(
    engine: Engine, desk: Desk, ana: Account, bruno: Account, attempt: str
) -> None:
    engine.commit(desk, a_hold(bruno, "r4", 4))  # enough to settle another account's hold from
    with pytest.raises(engine.wall):
        engine.sql(WALLS[attempt])

    assert balance(desk, bruno) == Balance(5, 4)
    assert balance(desk, ana) == Balance(8, 3)
    assert charged(desk, ana) == {"r1": 1, "r2": 1}
    assert desk.check().complaints == []
    assert engine.sql("SELECT receipt_id, account_id, created_ms FROM receipt") == [
        ("number", ana.account_id, NOW)
    ]
    assert engine.sql("SELECT account_id, role FROM person") == [(ana.account_id, "manager")]
    assert desk.people.session(b"t", NOW, 1, 1) is not None
    assert desk.people.link(b"l", NOW) is not None
    log = deeds(desk)
    assert log.count(("user.link", 1, "usuário 1", "link para definir a senha")) == 1
    assert not any("x" in (target, detail) for _, _, target, detail in log)
    assert desk.people.trace(ana.account_id, "r1") == a_trace(ana, "r1")


@pytest.mark.parametrize(
    "allowed",
    [
        CHARGE.format(-5, "'new'"),
        POST.format(-3, -3, "'r3'"),
        POST.format(-1, -3, "'r3'"),
        ENTRY.format("'void', 0, -3, 'r3'", "NULL"),
        ENTRY.format("'top_up', -5, 0, NULL", "'engano'"),
        RECEIPT.format("'new'", DIGEST, PDF, 10_000_000),
        RECEIPT.format("'new'", DIGEST, "'text/html'", 1).replace(", 1, 'x'", ", NULL, 'x'"),
        "DELETE FROM receipt",
        PERSON.format("1", "'new'", "'manager'"),
        PERSON.format("NULL", "'new'", "'operator'"),
        "UPDATE person SET role = 'consultant', name = 'X'",
        SESSION.format("x'00'", "1"),
        LINK.format("x'00'", "'set_password'", "1"),
        LINK.format("x'00'", "'first_operator'", "NULL"),
        DEED.format("'web'", "'new'"),
        DEED.format("'cli'", "NULL"),
        TRACE.format("'new'", "1", "1"),
        TRACE.format("'r1'", "2", "0"),
        "DELETE FROM trace",
    ],
)
def test_the_same_statements_pass_if_the_constraints_hold(
    engine: Engine, desk: Desk, bruno: Account, allowed: str
) -> None:
    """Otherwise the constraints above could refuse for another reason."""
    engine.sql(allowed)


def test_the_schema_enforces_the_ceiling_of_a_post_paid_account(engine: Engine, desk: Desk) -> None:
    caio = open_account(engine, desk, "caio", plan="pos_pago", ceiling_credits=10)
    number = caio.account_id
    with pytest.raises(engine.wall):
        engine.sql(CHARGE.format(-11, "'new'").replace("(1,", f"({number},"))
    engine.sql(CHARGE.format(-10, "'new'").replace("(1,", f"({number},"))
    with pytest.raises(engine.wall):
        engine.sql(f"UPDATE account SET plan = 'pre_pago' WHERE account_id = {number}")
    assert balance(desk, caio) == Balance(-10, 0)


def test_entries_are_numbered_in_the_order_they_were_made(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    kinds = engine.sql("SELECT kind, request_id FROM ledger_entry ORDER BY entry_id")
    assert kinds == [
        ("top_up", None),
        ("charge", "r1"),
        ("hold", "r2"),
        ("post", "r2"),
        ("hold", "r3"),
    ]
    assert [entry.kind for entry in entries(desk, ana)] == ["top_up", "charge", "post"]
