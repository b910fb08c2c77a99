"""Users, sessions and links on every engine (`storage.desk.people.People`)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from balcao.core.access import Account
from balcao.core.errors import EmailTaken, FormDone, LastOperator, StorageFailed
from balcao.core.people import AT_THE_TERMINAL, Signature, User
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.people import FAILURES_A_DAY, People
from balcao.storage.people import FailedSignIn, Link, NewUser
from tests.storage.engines import Engine
from tests.storage.people import BY, HOUR_MS, a_form, a_token, a_user, deeds
from tests.storage.world import DAY_MS, NOW

IDLE_MS = HOUR_MS
LIFETIME_MS = 12 * HOUR_MS


@pytest.fixture
def people(desk: Desk) -> People:
    return desk.people


@pytest.fixture
def lia(engine: Engine, desk: Desk, ana: Account) -> User:
    """A consultant of Ana's account, with a password."""
    return a_user(engine, desk, ana, "Lia", password="hash of lia")


@pytest.fixture
def olga(engine: Engine, desk: Desk) -> User:
    """The only operator."""
    return a_user(engine, desk, None, "Olga", password="hash of olga")


def signed_in(people: People, token: bytes, now_ms: int) -> int | None:
    """Return the session of a token."""
    found = people.session(token, now_ms, IDLE_MS, LIFETIME_MS)
    return None if found is None else found.user.user_id


# Users.


def test_a_new_user(engine: Engine, desk: Desk, people: People, ana: Account) -> None:
    new = NewUser("  Lia@Exemplo.com.br ", "Lia Prado", "manager", ana.account_id)
    user = engine.run(people.add_user(new, BY, NOW))

    assert user == User(
        user_id=user.user_id,
        account_id=ana.account_id,
        email="Lia@Exemplo.com.br",
        name="Lia Prado",
        role="manager",
        has_password=False,
        has_totp=False,
        created_ms=NOW,
        seen_ms=None,
        suspended_ms=None,
    )
    assert people.user(user.user_id) == user
    assert people.user(4711) is None
    assert deeds(desk, "user.create") == [
        ("user.create", ana.account_id, f"usuário {user.user_id}", "papel gestor")
    ]


def test_an_address_is_used_once_ignoring_case(
    engine: Engine, desk: Desk, ana: Account, bruno: Account, lia: User
) -> None:
    people = desk.people
    before = deeds(desk)
    for account in (ana, bruno):
        again = NewUser("LIA@exemplo.COM.br", "Outra", "manager", account.account_id)
        with pytest.raises(EmailTaken) as error:
            engine.run(people.add_user(again, a_form("f1"), NOW))
        assert "exemplo" not in str(error.value).casefold()
    assert people.users(bruno.account_id) == []
    assert deeds(desk) == before
    # The form was not carried out, and may be sent with another address.
    other = NewUser("outra@exemplo.com.br", "Outra", "manager", bruno.account_id)
    engine.run(people.add_user(other, a_form("f1"), NOW))


def test_users_are_listed_by_name_and_operators_separately(
    engine: Engine, desk: Desk, people: People, ana: Account, bruno: Account
) -> None:
    for name in ("Zoe", "ana", "Bia"):
        a_user(engine, desk, ana, name)
    a_user(engine, desk, bruno, "Caio")
    a_user(engine, desk, None, "Olga")
    assert [user.name for user in people.users(ana.account_id)] == ["ana", "Bia", "Zoe"]
    assert [user.name for user in people.users(bruno.account_id)] == ["Caio"]
    assert [(user.name, user.role) for user in people.users(None)] == [("Olga", "operator")]


def test_there_is_an_operator_when_one_has_a_password(
    engine: Engine, desk: Desk, people: People, lia: User
) -> None:
    assert not people.has_operator()
    olga = a_user(engine, desk, None, "Olga")
    assert not people.has_operator()
    engine.run(people.set_password(olga.user_id, "hash", BY, NOW))
    assert people.has_operator()


def test_a_sign_in_ignores_the_case_of_the_address(
    engine: Engine, people: People, lia: User
) -> None:
    engine.run(people.set_totp(lia.user_id, b"sealed", BY, NOW))
    known = people.credentials(" lia@EXEMPLO.com.br")
    assert known is not None
    assert known.user == people.user(lia.user_id)
    assert (known.password_hash, known.totp_secret, known.totp_step) == (
        "hash of lia",
        b"sealed",
        0,
    )
    assert known.user.has_totp
    assert people.credentials("ninguem@exemplo.com.br") is None


def test_another_name_and_role(engine: Engine, desk: Desk, people: People, lia: User) -> None:
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    engine.run(people.change_user(lia.user_id, "Lia Prado", "manager", BY, NOW))
    found = people.session(a_token("t"), NOW, IDLE_MS, LIFETIME_MS)
    assert found is not None
    assert (found.user.name, found.user.role) == ("Lia Prado", "manager")
    engine.run(people.change_user(lia.user_id, "Lia Prado", "manager", BY, NOW))
    assert deeds(desk, "user.change") == [
        (
            "user.change",
            lia.account_id,
            f"usuário {lia.user_id}",
            "papel consultor → gestor; nome alterado",
        )
    ], "what changes nothing is not logged"


def test_the_operator_role_is_neither_lost_nor_gained(
    engine: Engine, desk: Desk, people: People, lia: User, olga: User
) -> None:
    for user, role in ((lia, "operator"), (olga, "manager")):
        with pytest.raises(LookupError):
            engine.run(people.change_user(user.user_id, "Outro", role, BY, NOW))  # type: ignore[arg-type]
        assert people.user(user.user_id) == user
    assert deeds(desk, "user.change") == []


def test_a_suspension_works_at_once_and_can_be_lifted(
    engine: Engine, desk: Desk, people: People, lia: User, olga: User
) -> None:
    token, link = a_token("t"), a_token("l")
    engine.run(people.open_session(lia.user_id, token, BY, NOW))
    make_link(engine, people, link, lia)

    engine.run(people.suspend_user(lia.user_id, True, BY, NOW + 5))
    engine.run(people.suspend_user(lia.user_id, True, BY, NOW + 6))
    suspended = people.user(lia.user_id)
    assert suspended is not None
    assert suspended.suspended_ms == NOW + 5
    assert signed_in(people, token, NOW + 5) is None
    assert people.credentials(lia.email) is None
    assert people.link(link, NOW) is None
    engine.run(people.open_session(lia.user_id, a_token("late"), BY, NOW))

    engine.run(people.suspend_user(lia.user_id, False, BY, NOW + 7))
    assert people.credentials(lia.email) is not None
    for ended in (token, a_token("late")):
        assert signed_in(people, ended, NOW + 7) is None, "ended sessions stay ended"
    assert people.link(link, NOW) is None
    assert [action for action, *_ in deeds(desk)[-2:]] == ["user.suspend", "user.resume"]


def test_sessions_and_links_of_a_suspended_user_do_not_work(
    engine: Engine, people: People, lia: User
) -> None:
    """Even if it is open for whatever reason."""
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    engine.sql("UPDATE person SET suspended_ms = 1")
    make_link(engine, people, a_token("l"), lia)
    assert signed_in(people, a_token("t"), NOW) is None
    assert people.link(a_token("l"), NOW) is None
    assert claim(engine, people, a_token("l")) is None


def test_the_last_operator_who_can_sign_in_cannot_be_suspended(
    engine: Engine, desk: Desk, people: People, lia: User, olga: User
) -> None:
    without_password = a_user(engine, desk, None, "Nina")
    with pytest.raises(LastOperator):
        engine.run(people.suspend_user(olga.user_id, True, a_form("f"), NOW))
    engine.run(people.suspend_user(without_password.user_id, True, BY, NOW))
    engine.run(people.suspend_user(lia.user_id, True, BY, NOW))

    second = a_user(engine, desk, None, "Rui", password="hash")
    engine.run(people.suspend_user(olga.user_id, True, a_form("f"), NOW))
    with pytest.raises(LastOperator):
        engine.run(people.suspend_user(second.user_id, True, BY, NOW))
    assert people.credentials(second.email) is not None


def test_two_operators_cannot_suspend_each_other_at_the_same_time(
    engine: Engine, desk: Desk, people: People, olga: User
) -> None:
    rui = a_user(engine, desk, None, "Rui", password="hash")

    async def both() -> list[BaseException | None]:
        work = [people.suspend_user(user.user_id, True, BY, NOW) for user in (olga, rui)]
        return await asyncio.gather(*work, return_exceptions=True)

    assert [type(outcome) for outcome in engine.run(both())] == [type(None), LastOperator]


def test_a_new_password_ends_sessions_and_links(engine: Engine, people: People, lia: User) -> None:
    other = a_token("t")
    engine.run(people.open_session(lia.user_id, other, BY, NOW))
    make_link(engine, people, a_token("l"), lia)
    engine.run(people.set_password(lia.user_id, "new hash", BY, NOW))
    known = people.credentials(lia.email)
    assert known is not None
    assert known.password_hash == "new hash"
    assert signed_in(people, other, NOW) is None
    assert people.link(a_token("l"), NOW) is None


def test_the_same_password_under_newer_parameters_ends_nothing(
    engine: Engine, desk: Desk, people: People, lia: User
) -> None:
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    before = deeds(desk)
    known = people.credentials(lia.email)
    assert known is not None
    old = known.password_hash
    assert old is not None
    engine.run(people.rehash_password(lia.user_id, "late", replaces="no longer", now_ms=NOW))
    assert people.credentials(lia.email) == known
    engine.run(people.rehash_password(lia.user_id, "newer", replaces=old, now_ms=NOW))
    known = people.credentials(lia.email)
    assert known is not None
    assert known.password_hash == "newer"
    assert signed_in(people, a_token("t"), NOW) == lia.user_id
    assert deeds(desk) == before


def test_the_second_factor(engine: Engine, desk: Desk, people: People, lia: User) -> None:
    user_id = lia.user_id
    engine.run(people.set_totp(user_id, b"sealed", BY, NOW))
    assert engine.run(people.use_totp_step(user_id, 100))
    assert not engine.run(people.use_totp_step(user_id, 100)), "a code is good once"
    assert not engine.run(people.use_totp_step(user_id, 99))
    assert engine.run(people.use_totp_step(user_id, 101))
    assert not engine.run(people.use_totp_step(4711, 1))
    engine.run(people.set_totp(user_id, None, BY, NOW))
    known = people.credentials(lia.email)
    assert known is not None
    assert (known.totp_secret, known.user.has_totp) == (None, False)
    assert [detail for *_, detail in deeds(desk, "user.totp")] == [
        "segundo fator ligado",
        "segundo fator desligado",
    ]


Work = Callable[[People, int, Signature], Coroutine[Any, Any, Any]]

TO_ONE_USER: dict[str, Work] = {
    "change": lambda people, user, by: people.change_user(user, "Outro nome", "manager", by, NOW),
    "suspend": lambda people, user, by: people.suspend_user(user, True, by, NOW),
    "password": lambda people, user, by: people.set_password(user, "another", by, NOW),
    "second factor": lambda people, user, by: people.set_totp(user, b"sealed", by, NOW),
    "link": lambda people, user, by: people.make_link(
        a_token(f"new {user}"), "set_password", user, signed=by, now_ms=NOW, expires_ms=NOW + 1
    ),
}


@pytest.mark.parametrize("name", TO_ONE_USER)
def test_nothing_is_done_to_a_user_who_is_unknown(
    engine: Engine, desk: Desk, people: People, lia: User, name: str
) -> None:
    before = deeds(desk)
    with pytest.raises(LookupError):
        engine.run(TO_ONE_USER[name](people, 4711, a_form("f")))
    assert deeds(desk) == before


@pytest.mark.parametrize("name", TO_ONE_USER)
def test_a_form_is_carried_out_once(
    engine: Engine, desk: Desk, people: People, lia: User, name: str
) -> None:
    other = a_user(engine, desk, desk.account(1), "Outra")
    before = len(deeds(desk))
    engine.run(TO_ONE_USER[name](people, lia.user_id, a_form("f")))
    done = people.user(other.user_id), deeds(desk)
    assert len(done[1]) == before + 1
    with pytest.raises(FormDone):
        engine.run(TO_ONE_USER[name](people, other.user_id, a_form("f")))
    assert (people.user(other.user_id), deeds(desk)) == done
    engine.run(TO_ONE_USER[name](people, other.user_id, a_form("g")))


def test_a_form_for_a_new_user_is_carried_out_once(
    engine: Engine, people: People, ana: Account
) -> None:
    new = NewUser("lia@exemplo.com.br", "Lia", "manager", ana.account_id)
    engine.run(people.add_user(new, a_form("f"), NOW))
    with pytest.raises(FormDone):  # not that the address is taken
        engine.run(people.add_user(new, a_form("f"), NOW))


@pytest.mark.parametrize("name", TO_ONE_USER)
def test_an_action_and_its_log_entry_are_one_commit(
    engine: Engine, desk: Desk, people: People, lia: User, name: str
) -> None:
    """If the log refuses the entry, nothing is done."""
    new = NewUser("x@exemplo.com.br", "X", "operator", None)
    known = people.credentials(lia.email)
    with engine.wall_off("audit_entry"):
        with pytest.raises(StorageFailed):
            engine.run(TO_ONE_USER[name](people, lia.user_id, BY))
        with pytest.raises(StorageFailed):
            engine.run(people.add_user(new, BY, NOW))
    assert people.credentials(lia.email) == known
    assert people.link(a_token(f"new {lia.user_id}"), NOW) is None
    assert people.users(None) == []
    engine.run(TO_ONE_USER[name](people, lia.user_id, BY))


def test_a_full_disk_is_reported(engine: Engine, desk: Desk, people: People, lia: User) -> None:
    with engine.cannot_write(desk):
        for work in TO_ONE_USER.values():
            with pytest.raises(StorageFailed):
                engine.run(work(people, lia.user_id, BY))
        with pytest.raises(StorageFailed):
            engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    assert people.user(lia.user_id) == lia


def test_reprs_contain_no_personal_data(people: People, lia: User) -> None:
    known = people.credentials(lia.email)
    shown = repr((lia, known, NewUser(lia.email, lia.name, "manager", 1)))
    for secret in (lia.email, lia.name, "hash of lia"):
        assert secret not in shown


# Sessions.


def test_a_session_from_sign_in_to_sign_out(engine: Engine, people: People, lia: User) -> None:
    token = a_token("t")
    engine.run(people.open_session(lia.user_id, token, BY, NOW))
    found = people.session(token, NOW + 1, IDLE_MS, LIFETIME_MS)
    assert found is not None
    assert found.user == people.user(lia.user_id)
    assert found.user.seen_ms == NOW
    assert (found.opened_ms, found.seen_ms) == (NOW, NOW)
    assert signed_in(people, a_token("other"), NOW) is None

    engine.run(people.close_session(token))
    assert signed_in(people, token, NOW) is None
    engine.run(people.close_session(token))


def test_a_session_ends_when_it_is_idle(engine: Engine, people: People, lia: User) -> None:
    token = a_token("t")
    engine.run(people.open_session(lia.user_id, token, BY, NOW))
    assert signed_in(people, token, NOW + IDLE_MS - 1) == lia.user_id
    assert signed_in(people, token, NOW + IDLE_MS) is None

    found = people.session(token, NOW + IDLE_MS - 1, IDLE_MS, LIFETIME_MS)
    assert found is not None
    engine.run(people.touch_session(found.session_id, NOW + IDLE_MS - 1))
    assert signed_in(people, token, NOW + IDLE_MS) == lia.user_id
    seen = people.user(lia.user_id)
    assert seen is not None
    assert seen.seen_ms == NOW + IDLE_MS - 1


def test_a_session_ends_however_much_it_is_used(engine: Engine, people: People, lia: User) -> None:
    token = a_token("t")
    engine.run(people.open_session(lia.user_id, token, BY, NOW))
    found = people.session(token, NOW, IDLE_MS, LIFETIME_MS)
    assert found is not None
    engine.run(people.touch_session(found.session_id, NOW + LIFETIME_MS - 1))
    assert signed_in(people, token, NOW + LIFETIME_MS - 1) == lia.user_id
    assert signed_in(people, token, NOW + LIFETIME_MS) is None


def test_a_late_use_of_a_closed_session_affects_no_other(
    engine: Engine, people: People, lia: User, olga: User
) -> None:
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    found = people.session(a_token("t"), NOW, IDLE_MS, LIFETIME_MS)
    assert found is not None
    engine.run(people.close_session(a_token("t")))
    engine.run(people.open_session(olga.user_id, a_token("o"), BY, NOW))
    engine.run(people.touch_session(found.session_id, NOW + 5))
    for user in (lia, olga):
        seen = people.user(user.user_id)
        assert seen is not None
        assert seen.seen_ms == NOW


def test_signing_out_everywhere_else(engine: Engine, people: People, lia: User, olga: User) -> None:
    for name, user in (("a", lia), ("b", lia), ("c", lia), ("o", olga)):
        engine.run(people.open_session(user.user_id, a_token(name), BY, NOW))
    assert engine.run(people.close_other_sessions(lia.user_id, a_token("b"))) == 2
    open_now = [name for name in "abco" if signed_in(people, a_token(name), NOW)]
    assert open_now == ["b", "o"]


def test_failed_sign_ins_cannot_fill_the_log(
    engine: Engine, desk: Desk, people: People, lia: User, olga: User
) -> None:
    def failed(user: User, at_ms: int, reason: str = "senha incorreta") -> None:
        engine.run(people.note_failed_sign_in(user.user_id, reason, "203.0.113.0/24", at_ms))

    for at_ms in range(NOW, NOW + 2 * FAILURES_A_DAY):
        failed(lia, at_ms)
    failed(lia, NOW + 30, "segundo fator incorreto")
    failed(olga, NOW)
    newest, last, *others = people.failed_sign_ins(lia.user_id, 100)
    assert newest == FailedSignIn(NOW + 30, "segundo fator incorreto (203.0.113.0/24)")
    assert last.at_ms == NOW + FAILURES_A_DAY - 1
    assert last.detail.endswith("não são registradas")
    assert len(others) == FAILURES_A_DAY - 1
    assert len(people.failed_sign_ins(olga.user_id, 100)) == 1
    failed(lia, NOW + DAY_MS)
    assert people.failed_sign_ins(lia.user_id, 1)[0].at_ms == NOW + DAY_MS
    failed(lia, NOW + DAY_MS)  # only the first of the ten is a day old
    assert len(people.failed_sign_ins(lia.user_id, 100)) == FAILURES_A_DAY + 2


def test_only_an_operators_sign_in_is_logged(
    engine: Engine, desk: Desk, people: People, lia: User, olga: User
) -> None:
    for user in (lia, olga):
        by = Signature("web", user.user_id)
        engine.run(people.open_session(user.user_id, a_token(user.name), by, NOW))
    assert deeds(desk, "user.sign_in") == [("user.sign_in", None, f"usuário {olga.user_id}", "")]
    with pytest.raises(LookupError):
        engine.run(people.open_session(4711, a_token("nobody"), BY, NOW))


def test_a_user_of_a_suspended_account_may_still_sign_in(
    engine: Engine, people: People, lia: User
) -> None:
    """So that the statement can be read."""
    assert lia.account_id is not None
    engine.run(people.suspend_account(lia.account_id, True, BY, NOW))
    assert people.credentials(lia.email) is not None
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    assert signed_in(people, a_token("t"), NOW) == lia.user_id


# One-time links.

GOOD_UNTIL = NOW + 3 * DAY_MS


def make_link(engine: Engine, people: People, token: bytes, user: User | None) -> None:
    engine.run(
        people.make_link(
            token,
            "first_operator" if user is None else "set_password",
            None if user is None else user.user_id,
            signed=BY,
            now_ms=NOW,
            expires_ms=GOOD_UNTIL,
        )
    )


def claim(engine: Engine, people: People, token: bytes, now_ms: int = NOW) -> User | None:
    operator = NewUser("olga@exemplo.com.br", "Olga", "operator", None)
    return engine.run(people.claim_link(token, "by link", now_ms, operator))


def test_a_link_sets_a_password_once(engine: Engine, desk: Desk, people: People, lia: User) -> None:
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    make_link(engine, people, a_token("l"), lia)
    assert people.link(a_token("l"), NOW) == Link(
        "set_password", people.user(lia.user_id), GOOD_UNTIL
    )
    assert signed_in(people, a_token("t"), NOW) == lia.user_id, "a link alone ends nothing"

    assert claim(engine, people, a_token("l")) == people.user(lia.user_id)
    known = people.credentials(lia.email)
    assert known is not None
    assert known.password_hash == "by link"
    assert signed_in(people, a_token("t"), NOW) is None
    last = people.audit(1)[0]
    assert (last.action, last.channel, last.user_id) == ("user.password", "web", lia.user_id)
    assert last.account_id == lia.account_id

    done = deeds(desk)
    assert people.link(a_token("l"), NOW) is None
    assert claim(engine, people, a_token("l")) is None
    assert claim(engine, people, a_token("unknown")) is None
    assert deeds(desk) == done


def test_a_link_is_used_once_by_concurrent_requests(
    engine: Engine, people: People, lia: User
) -> None:
    make_link(engine, people, a_token("l"), lia)

    async def both() -> list[User | None]:
        return await asyncio.gather(
            *(people.claim_link(a_token("l"), password, NOW) for password in ("one", "two"))
        )

    outcomes = engine.run(both())
    assert [outcome is None for outcome in outcomes] == [False, True]
    known = people.credentials(lia.email)
    assert known is not None
    assert known.password_hash == "one"


def test_a_link_expires(engine: Engine, people: People, lia: User) -> None:
    make_link(engine, people, a_token("l"), lia)
    assert people.link(a_token("l"), GOOD_UNTIL - 1) is not None
    assert people.link(a_token("l"), GOOD_UNTIL) is None
    assert claim(engine, people, a_token("l"), GOOD_UNTIL) is None
    assert claim(engine, people, a_token("l"), GOOD_UNTIL - 1) is not None


def test_a_new_link_voids_the_earlier_ones_of_this_user(
    engine: Engine, people: People, lia: User, olga: User
) -> None:
    make_link(engine, people, a_token("olga"), olga)
    make_link(engine, people, a_token("first"), lia)
    make_link(engine, people, a_token("second"), lia)
    assert people.link(a_token("first"), NOW) is None
    assert claim(engine, people, a_token("first")) is None
    assert people.link(a_token("second"), NOW) is not None
    assert people.link(a_token("olga"), NOW) is not None


def test_the_first_operator_signs_up_by_a_link(engine: Engine, desk: Desk, people: People) -> None:
    make_link(engine, people, a_token("void"), None)
    make_link(engine, people, a_token("l"), None)
    assert people.link(a_token("void"), NOW) is None
    assert people.link(a_token("l"), NOW) == Link("first_operator", None, GOOD_UNTIL)

    operator = claim(engine, people, a_token("l"))
    assert operator is not None
    assert (operator.role, operator.account_id, operator.has_password) == ("operator", None, True)
    assert people.has_operator()
    who = f"usuário {operator.user_id}"
    assert deeds(desk)[-3:] == [
        ("user.link", None, "primeiro operador", "link para definir a senha"),
        ("user.create", None, who, "papel operador"),
        ("user.password", None, who, "senha definida pelo link"),
    ]
    assert [entry.user_id for entry in people.audit(2)] == [operator.user_id] * 2
    assert claim(engine, people, a_token("l")) is None


def test_the_first_operators_link_is_void_when_there_is_one(
    engine: Engine, desk: Desk, people: People
) -> None:
    make_link(engine, people, a_token("l"), None)
    olga = a_user(engine, desk, None, "Olga")
    assert people.link(a_token("l"), NOW) is not None
    engine.run(people.set_password(olga.user_id, "hash", BY, NOW))
    assert people.link(a_token("l"), NOW) is None
    assert claim(engine, people, a_token("l")) is None
    assert [user.user_id for user in people.users(None)] == [olga.user_id]


def test_a_link_stays_valid_when_the_address_is_taken(
    engine: Engine, desk: Desk, people: People, ana: Account
) -> None:
    a_user(engine, desk, ana, "olga")
    make_link(engine, people, a_token("l"), None)
    before = deeds(desk)
    with pytest.raises(EmailTaken):
        claim(engine, people, a_token("l"))
    assert people.link(a_token("l"), NOW) is not None
    assert (people.users(None), deeds(desk)) == ([], before)
    other = NewUser("outra@exemplo.com.br", "Olga", "operator", None)
    assert engine.run(people.claim_link(a_token("l"), "by link", NOW, other)) is not None


def test_what_is_done_at_the_terminal_needs_no_form(
    engine: Engine, people: People, lia: User
) -> None:
    for _ in range(2):
        engine.run(people.set_password(lia.user_id, "x", AT_THE_TERMINAL, NOW))
    assert [entry.channel for entry in people.audit(2)] == ["cli", "cli"]


def test_everything_is_visible_to_another_process(
    engine: Engine, people: People, lia: User
) -> None:
    engine.run(people.open_session(lia.user_id, a_token("t"), BY, NOW))
    make_link(engine, people, a_token("l"), lia)
    beside = engine.open().people
    assert signed_in(beside, a_token("t"), NOW) == lia.user_id
    assert beside.link(a_token("l"), NOW) == people.link(a_token("l"), NOW)
    assert beside.audit(100) == people.audit(100)


def test_all_users_but_operators(desk: Desk, people: People, lia: User, olga: User) -> None:
    assert [user.user_id for user in people.everybody()] == [lia.user_id]
    assert people.everybody()[0].email == lia.email
    assert olga.account_id is None
