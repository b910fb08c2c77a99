"""Operators' actions on accounts and keys, each with its log entry, on every engine."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from balcao.core.access import Account
from balcao.core.errors import FormDone, NameTaken, StorageFailed, TermsRefused
from balcao.core.ledger import Audit, DoneBefore, InsufficientFunds
from balcao.core.people import Signature
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.people import People
from balcao.storage.people import Terms
from tests.storage.engines import Engine
from tests.storage.people import BY, a_form, a_user, deeds
from tests.storage.world import (
    DAY_MS,
    NOW,
    Balance,
    a_charge,
    a_hash,
    a_hold,
    a_top_up,
    account_of,
    balance,
    brasilia,
    entries,
    open_account,
)

FREE = Terms("gratuito", False, False, None)
POST_PAID = Terms("pos_pago", True, False, None)


@pytest.fixture
def people(desk: Desk) -> People:
    return desk.people


def a_key(account: Account, name: str) -> NewKey:
    return NewKey(account.account_id, name, "balcao_live_A", a_hash(name))


def test_accounts_and_keys_are_logged_with_their_terms(
    engine: Engine, desk: Desk, people: People
) -> None:
    new = NewAccount("acme", "pos_pago", "test", certificates=True, ceiling_credits=500)
    acme = desk.create_account(new, NOW)
    key = desk.create_key(
        NewKey(
            acme.account_id, "produção", "p", a_hash("k"), brasilia("2026-12-31 00:00:00"), 10, 99
        ),
        NOW,
        a_form("f1"),
    )
    assert desk.revoke_key(key.key_id, NOW, a_form("f2"))

    number = acme.account_id
    assert deeds(desk) == [
        (
            "account.create",
            number,
            "conta acme",
            "plano pos_pago; certidões sim; CPF dos sócios não; teto 500; tipo teste",
        ),
        (
            "key.create",
            number,
            "chave produção",
            f"número {key.key_id}; vale até 30/12/2026 23:59; até 10 por minuto; até 99 por dia",
        ),
        ("key.revoke", number, "chave produção", f"número {key.key_id}"),
    ]
    newest, _, oldest = people.audit(10)
    assert (oldest.channel, oldest.user_id, oldest.account_name) == ("cli", None, "acme")
    assert (newest.channel, newest.user_id, newest.user_name) == ("web", 99, None)
    assert newest.at_ms == NOW


def test_a_key_is_revoked_and_logged_once(engine: Engine, desk: Desk, ana: Account) -> None:
    (key,) = desk.keys(ana.account_id)
    assert desk.revoke_key(key.key_id, NOW + 1, BY)
    assert desk.revoke_key(key.key_id, NOW + 2, BY)
    assert not desk.revoke_key(4711, NOW, BY)
    assert desk.keys(ana.account_id)[0].revoked_ms == NOW + 1
    assert len(deeds(desk, "key.revoke")) == 1


def test_a_form_opens_one_account_and_issues_one_key(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    new = NewAccount("acme", "pre_pago", "live")
    desk.create_account(new, NOW, a_form("f1"))
    with pytest.raises(FormDone):  # and not that the name is taken
        desk.create_account(new, NOW, a_form("f1"))
    with pytest.raises(FormDone):
        desk.create_account(NewAccount("other", "pre_pago", "live"), NOW, a_form("f1"))
    desk.create_key(a_key(ana, "one"), NOW, a_form("f2"))
    with pytest.raises(FormDone):
        desk.create_key(a_key(ana, "two"), NOW, a_form("f2"))
    with pytest.raises(FormDone):
        desk.revoke_key(1, NOW, a_form("f2"))
    assert [account.name for account in desk.accounts()] == ["ana", "acme"]
    assert [key.name for key in desk.keys(ana.account_id)] == ["principal", "one"]
    assert [key.revoked_ms for key in desk.keys(ana.account_id)] == [None, None]


def test_a_name_that_is_taken_leaves_nothing_in_the_log(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    before = deeds(desk)
    with pytest.raises(NameTaken):
        desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW, a_form("f"))
    assert deeds(desk) == before
    desk.create_account(NewAccount("other", "pre_pago", "live"), NOW, a_form("f"))


def test_an_action_of_the_desk_and_its_log_entry_are_one_commit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: desk.create_account(NewAccount("acme", "pre_pago", "live"), NOW),
        lambda: desk.create_key(a_key(ana, "other"), NOW),
        lambda: desk.revoke_key(1, NOW),
        lambda: engine.run(desk.people.change_account(1, POST_PAID, BY, NOW)),
        lambda: engine.run(desk.people.suspend_account(1, True, BY, NOW)),
        lambda: engine.commit(desk, a_top_up(ana, 5), an_audit("f", ana)),
    ]
    with engine.wall_off("audit_entry"):
        for attempt in attempts:
            with pytest.raises((engine.wall, StorageFailed)):
                attempt()
    assert desk.accounts() == [replace(ana, balance_credits=10, month="2026-08")]
    assert [key.revoked_ms for key in desk.keys(1)] == [None]


# Terms.


def test_changing_the_terms_of_an_account(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    terms = Terms("pos_pago", True, True, 500)
    after = engine.run(people.change_account(ana.account_id, terms, a_form("f"), NOW))
    assert after == account_of(desk, ana)
    assert (after.plan, after.certificates, after.partner_optin) == ("pos_pago", True, True)
    assert (after.ceiling_credits, after.balance_credits) == (500, 10)
    engine.run(people.change_account(ana.account_id, terms, BY, NOW))
    assert deeds(desk, "account.change") == [
        (
            "account.change",
            ana.account_id,
            "conta ana",
            "plano pre_pago → pos_pago; certidões não → sim; CPF dos sócios não → sim;"
            " teto nenhum → 500",
        )
    ], "what changes nothing is not logged"
    with pytest.raises(FormDone):
        engine.run(people.change_account(ana.account_id, FREE, a_form("f"), NOW))
    with pytest.raises(LookupError):
        engine.run(people.change_account(4711, FREE, BY, NOW))
    assert account_of(desk, ana) == after


def test_changed_terms_are_in_force_at_once(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    before = engine.run(desk.caller(a_hash("ana"), NOW))
    assert before is not None
    assert not before.partner_optin
    engine.run(people.change_account(ana.account_id, Terms("pos_pago", False, True, None), BY, NOW))
    after = engine.run(desk.caller(a_hash("ana"), NOW))
    assert after is not None
    assert (after.plan, after.partner_optin) == ("pos_pago", True)


@pytest.mark.parametrize(
    ("terms", "allowed"),
    [
        (Terms("pre_pago", False, False, None), False),  # it owes 8
        (Terms("gratuito", False, False, None), False),
        (Terms("pos_pago", False, False, 9), False),  # 8 are spent and 2 are held
        (Terms("pos_pago", False, False, 10), True),
        (Terms("pos_pago", True, True, None), True),
    ],
)
def test_spending_and_debts_can_forbid_terms(
    engine: Engine, desk: Desk, people: People, terms: Terms, allowed: bool
) -> None:
    caio = open_account(engine, desk, "caio", plan="pos_pago", ceiling_credits=20)
    engine.commit(desk, a_charge(caio, "r1", 8))
    engine.commit(desk, a_hold(caio, "r2", 2))
    before, log = account_of(desk, caio), deeds(desk)
    work = people.change_account(caio.account_id, terms, BY, NOW)
    if allowed:
        assert engine.run(work).ceiling_credits == terms.ceiling_credits
        return
    with pytest.raises(TermsRefused):
        engine.run(work)
    assert (account_of(desk, caio), deeds(desk)) == (before, log)


def test_only_a_post_paid_account_can_have_a_ceiling(
    engine: Engine, people: People, ana: Account
) -> None:
    with pytest.raises(TermsRefused):
        engine.run(people.change_account(1, Terms("pre_pago", False, False, 5), BY, NOW))


def test_the_spending_of_a_past_month_forbids_no_ceiling(
    engine: Engine, desk: Desk, people: People
) -> None:
    july, august = brasilia("2026-07-31 12:00:00"), brasilia("2026-08-01 00:00:00")
    caio = open_account(engine, desk, "caio", plan="pos_pago", at_ms=july)
    engine.commit(desk, a_charge(caio, "r1", 50, at_ms=july))
    low = Terms("pos_pago", False, False, 10)
    with pytest.raises(TermsRefused):
        engine.run(people.change_account(caio.account_id, low, BY, july))
    after = engine.run(people.change_account(caio.account_id, low, BY, august))
    assert (after.ceiling_credits, after.month, after.month_credits) == (10, "2026-08", 0)
    assert engine.commit(desk, a_charge(caio, "r2", 11, at_ms=august)) == InsufficientFunds(11, 10)
    assert engine.commit(desk, a_charge(caio, "r3", 10, at_ms=august)) is None
    assert desk.check().complaints == []


# Suspension.


def test_the_keys_of_a_suspended_account_are_refused_at_once(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is not None
    after = engine.run(people.suspend_account(ana.account_id, True, BY, NOW))
    assert after.suspended_ms == NOW
    assert desk.account(ana.account_id) == after
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is None
    assert engine.run(desk.caller(a_hash("bruno"), NOW)) is not None
    again = engine.run(people.suspend_account(ana.account_id, True, BY, NOW + 9))
    assert again.suspended_ms == NOW

    after = engine.run(people.suspend_account(ana.account_id, False, BY, NOW))
    assert after.suspended_ms is None
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is not None
    assert deeds(desk)[-2:] == [
        ("account.suspend", ana.account_id, "conta ana", ""),
        ("account.resume", ana.account_id, "conta ana", ""),
    ]


def test_a_suspension_by_another_process_is_in_force_within_a_second(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is not None
    engine.run(engine.open().people.suspend_account(ana.account_id, True, BY, NOW))
    assert engine.run(desk.caller(a_hash("ana"), NOW + 999)) is None


def test_a_form_suspends_once(engine: Engine, desk: Desk, people: People, ana: Account) -> None:
    engine.run(people.suspend_account(ana.account_id, True, a_form("f"), NOW))
    engine.run(people.suspend_account(ana.account_id, False, a_form("g"), NOW))
    with pytest.raises(FormDone):
        engine.run(people.suspend_account(ana.account_id, True, a_form("f"), NOW))
    assert desk.account(ana.account_id).suspended_ms is None
    with pytest.raises(LookupError):
        engine.run(people.suspend_account(4711, True, BY, NOW))


# Actions that are committed with the ledger's changes.


def an_audit(form: str | None, account: Account) -> Audit:
    signed = Signature("web", 99, form)
    return Audit(signed, "credit.add", account.account_id, "pedido 1", "+5 créditos", NOW)


def test_a_form_gives_credits_once(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_top_up(ana, 5), an_audit("f", ana)) is None
    assert engine.commit(desk, a_top_up(ana, 5), an_audit("f", ana)) == DoneBefore()
    beside = engine.open()
    assert engine.commit(beside, a_top_up(ana, 5), an_audit("f", ana)) == DoneBefore()
    assert balance(desk, ana) == Balance(15, 0)
    assert deeds(desk, "credit.add") == [("credit.add", 1, "pedido 1", "+5 créditos")]
    with pytest.raises(FormDone):
        desk.create_key(a_key(ana, "x"), NOW, a_form("f"))


def test_a_double_click_within_one_shared_commit(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    outcomes = engine.together(
        desk,
        [a_top_up(ana, 5), an_audit("f", ana)],
        [a_top_up(ana, 5), an_audit("f", ana)],
        [a_top_up(bruno, 5), an_audit("g", bruno)],
    )
    assert outcomes == [None, DoneBefore(), None]
    assert (balance(desk, ana), balance(desk, bruno)) == (Balance(15, 0), Balance(10, 0))


def test_a_refused_action_is_not_logged_and_its_form_can_be_sent_again(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.commit(desk, an_audit("f", ana), a_top_up(ana, -11)) == InsufficientFunds(11, 10)
    assert deeds(desk, "credit.add") == []
    assert engine.commit(desk, an_audit("f", ana), a_top_up(ana, -10)) is None


def test_actions_without_a_form_are_never_refused(engine: Engine, desk: Desk, ana: Account) -> None:
    for _ in range(2):
        assert engine.commit(desk, an_audit(None, ana)) is None
    assert engine.together(desk, [an_audit(None, ana)], [an_audit(None, ana)]) == [None, None]
    assert len(deeds(desk, "credit.add")) == 4
    assert len(entries(desk, ana)) == 1


# Reading the log.


def test_the_log_is_read_in_pages_newest_first(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    lia = a_user(engine, desk, ana, "Lia")
    by_lia = Signature("web", lia.user_id)
    for turn in range(3):
        for account in (ana, bruno):
            engine.commit(
                desk,
                Audit(by_lia, "credit.add", account.account_id, f"{turn}", "", NOW + DAY_MS),
            )
    everything = people.audit(100)
    assert [entry.entry_id for entry in everything] == sorted(
        (entry.entry_id for entry in everything), reverse=True
    )
    first = people.audit(2)
    second = people.audit(100, before_id=first[-1].entry_id)
    assert [*first, *second] == list(everything)
    found = people.audit(100, account_id=ana.account_id, action="credit.add")
    assert [entry.target for entry in found] == ["2", "1", "0"]
    assert {(entry.user_name, entry.account_name) for entry in found} == {("Lia", "ana")}
    assert people.audit(100, before_id=found[-1].entry_id, action="credit.add") == []
