"""Messages to send by e-mail: stored with their cause and its job, counted, refused, purged."""

from collections.abc import Sequence
from itertools import count

import pytest

from balcao.core.access import Account
from balcao.core.errors import FormDone
from balcao.core.people import LinkPurpose, Signature
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.mail import SEND_MAIL, LowBalance, MailCount, NewMail
from tests.storage.engines import Engine
from tests.storage.people import BY, a_form, a_token, a_user, deeds
from tests.storage.world import DAY_MS, NOW, a_charge, a_top_up, open_account

SEALED = b"\0sealed\xff"


def a_mail(number: str = "m1", *, expires_ms: int = NOW + DAY_MS) -> NewMail:
    return NewMail(number, "invitation", SEALED, NOW, expires_ms)


def due(engine: Engine) -> list[str]:
    return sorted(
        about for (about,) in engine.sql(f"SELECT about FROM job WHERE kind = '{SEND_MAIL}'")
    )


def test_a_link_and_its_message_are_one_commit(engine: Engine, desk: Desk, ana: Account) -> None:
    user, people = a_user(engine, desk, ana), desk.people

    def link(signed: Signature, number: str) -> object:
        return engine.run(
            people.make_link(
                a_token(number), "set_password", user.user_id, signed=signed, now_ms=NOW,
                expires_ms=NOW + DAY_MS, message=a_mail(number),
            )
        )  # fmt: skip

    link(a_form("once"), "m1")
    with pytest.raises(FormDone):
        link(a_form("once"), "m2")
    assert due(engine) == ["m1"]
    found = engine.run(desk.mail.find("m1"))
    assert found is not None
    assert (found.kind, found.content, found.expires_ms) == ("invitation", SEALED, NOW + DAY_MS)
    assert engine.run(desk.mail.find("m2")) is None


def test_a_reset_does_not_void_an_invitation(engine: Engine, desk: Desk, ana: Account) -> None:
    user, people = a_user(engine, desk, ana), desk.people
    purposes: dict[str, LinkPurpose] = {"invited": "set_password", "reset": "reset_password"}
    for name, purpose in purposes.items():
        engine.run(
            people.make_link(
                a_token(name),
                purpose,
                user.user_id,
                signed=BY,
                now_ms=NOW,
                expires_ms=NOW + DAY_MS,
            )
        )
    assert people.link(a_token("invited"), NOW) is not None
    assert engine.run(people.claim_link(a_token("reset"), "hash", NOW)) is not None
    assert people.link(a_token("invited"), NOW) is None
    assert deeds(desk, "user.link")[-1][3] == "link para redefinir a senha, pedido por e-mail"


def test_attempts_refusals_and_expiry(engine: Engine, desk: Desk) -> None:
    mail = desk.mail
    for number in ("m1", "m2", "m3"):
        engine.run(mail.add(a_mail(number)))
    assert [engine.run(mail.count_attempt("m1")) for _ in range(2)] == [1, 2]
    engine.run(mail.refuse("m2", 550))
    refused = engine.run(mail.find("m2"))
    assert refused is not None
    assert refused.content is None
    engine.run(mail.remove("m3"))
    assert engine.run(mail.counts()) == [
        MailCount("invitation", 550, 1, NOW, 0),
        MailCount("invitation", None, 1, NOW, 2),
    ] or engine.run(mail.counts()) == [
        MailCount("invitation", None, 1, NOW, 2),
        MailCount("invitation", 550, 1, NOW, 0),
    ]
    assert engine.run(mail.purge(NOW + DAY_MS - 1)) == 0
    assert engine.run(mail.purge(NOW + DAY_MS)) == 2
    assert engine.run(mail.counts()) == []


def test_a_low_balance_is_noticed_once_per_crossing(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    mail, numbers, told = desk.mail, count(1), list[LowBalance]()

    def compose(low: LowBalance) -> Sequence[NewMail]:
        told.append(low)
        return [a_mail(f"low{next(numbers)}") for _ in low.emails]

    def look() -> int:
        return engine.run(mail.notify_low_balances(compose, NOW))

    a_user(engine, desk, ana, "Lia", role="manager", password="hash")
    a_user(engine, desk, ana, "Leo", role="manager")  # invited, no password yet
    a_user(engine, desk, ana, "Rui", password="hash")  # a consultant
    number = ana.account_id
    engine.run(mail.set_threshold(number, 9, BY, NOW))
    assert engine.run(mail.threshold(number)) == 9
    assert look() == 0  # ten credits
    assert engine.commit(desk, a_charge(ana, "0001", 1)) is None
    assert look() == 0  # nine: not below
    assert engine.commit(desk, a_charge(ana, "0002", 1)) is None
    assert (look(), look()) == (1, 0)
    (low,) = told
    assert (low.account, low.available, low.threshold) == ("ana", 8, 9)
    assert low.emails == ["Lia@Exemplo.com.br"]
    assert due(engine) == ["low1"]
    assert engine.commit(desk, a_top_up(ana, 5)) is None
    assert look() == 0  # above again, so that the next crossing counts
    assert engine.commit(desk, a_charge(ana, "0003", 6)) is None
    assert look() == 1
    engine.run(mail.set_threshold(number, None, BY, NOW))
    assert engine.run(mail.threshold(number)) is None
    events = desk.events.after(number, 0, 10)
    assert [(one.kind, one.body) for one in events] == [
        ("saldo.baixo", '{"saldo":8,"limiar":9}'),
        ("saldo.baixo", '{"saldo":7,"limiar":9}'),
    ]
    assert deeds(desk, "account.notice") == [
        ("account.notice", number, "conta ana", "aviso de saldo baixo nenhum → 9"),
        ("account.notice", number, "conta ana", "aviso de saldo baixo 9 → nenhum"),
    ]


def test_post_paid_accounts_have_no_balance(engine: Engine, desk: Desk) -> None:
    late = open_account(engine, desk, "late", plan="pos_pago")
    engine.run(desk.mail.set_threshold(late.account_id, 9, BY, NOW))
    assert engine.run(desk.mail.notify_low_balances(lambda _: [], NOW)) == 0
    with pytest.raises(LookupError):
        engine.run(desk.mail.set_threshold(99_999, 9, BY, NOW))
