"""Operators' seats in accounts, on every engine (contract 7.6)."""

import pytest

from balcao.core.access import Account
from balcao.core.errors import FormDone
from balcao.core.people import Session, User
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.people import BY, HOUR_MS, a_form, a_token, a_user, deeds
from tests.storage.world import NOW, open_account


@pytest.fixture
def lia(engine: Engine, desk: Desk, ana: Account) -> User:
    return a_user(engine, desk, ana, "Lia", password="hash of lia")


@pytest.fixture
def olga(engine: Engine, desk: Desk) -> User:
    """An operator who is signed in in two browsers."""
    user = a_user(engine, desk, None, "Olga", password="hash of olga")
    for name in ("here", "there"):
        engine.run(
            desk.people.open_session(user.user_id, a_token(name), BY, NOW, f"Firefox {name}")
        )
    return user


def session(desk: Desk, name: str = "here") -> Session:
    found = desk.people.session(a_token(name), NOW, HOUR_MS, HOUR_MS)
    assert found is not None
    return found


def wear(engine: Engine, desk: Desk, user: User, account_id: int | None) -> bool:
    number = session(desk).session_id
    return engine.run(desk.memberships.act_in(number, user.user_id, account_id))


def test_a_seat_is_given_used_and_left(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    assert not wear(engine, desk, olga, ana.account_id)  # there is none yet
    membership = engine.run(
        desk.memberships.give(olga.user_id, ana.account_id, "manager", a_form("1"), NOW)
    )
    assert (
        list(desk.memberships.of(olga.user_id))
        == list(desk.memberships.within(ana.account_id))
        == [membership]
    )
    assert desk.memberships.places_of(olga.user_id) == [(membership, ana.name, ana.mode)]
    assert session(desk).user == desk.people.user(olga.user_id)  # nothing changed by itself

    assert wear(engine, desk, olga, ana.account_id)
    worn = session(desk)
    assert (worn.user.user_id, worn.user.account_id, worn.user.role) == (
        olga.user_id,
        ana.account_id,
        "manager",
    )
    assert worn.membership == membership
    assert worn.runs_the_service
    assert session(desk, "there").membership is None  # another browser
    assert desk.people.users(ana.account_id) == []  # she belongs to no account
    assert [one.user_id for one in desk.people.users(None)] == [olga.user_id]

    assert wear(engine, desk, olga, None)
    assert session(desk).membership is None
    assert session(desk).user.role == "operator"


def test_a_removed_seat_is_not_used_any_more(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "consultant", BY, NOW))
    wear(engine, desk, olga, ana.account_id)
    engine.run(desk.memberships.take(olga.user_id, ana.account_id, BY, NOW))
    assert session(desk).user.role == "operator"
    assert desk.memberships.within(ana.account_id) == []
    # A seat that is given again is a new one.
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "manager", BY, NOW))
    assert session(desk).membership is None
    engine.run(desk.memberships.take(olga.user_id, 4711, BY, NOW))  # no error


def test_a_changed_role_is_in_force_at_once(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "consultant", BY, NOW))
    wear(engine, desk, olga, ana.account_id)
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "manager", BY, NOW))
    assert session(desk).user.role == "manager"


def test_only_operators_hold_seats(engine: Engine, desk: Desk, ana: Account, lia: User) -> None:
    other = open_account(engine, desk, "outra")
    with pytest.raises(LookupError):
        engine.run(desk.memberships.give(lia.user_id, other.account_id, "manager", BY, NOW))
    wall = "INSERT INTO seat (user_id, account_id, role, given_ms) VALUES ({}, {}, '{}', 0)"
    with pytest.raises(engine.wall):
        engine.sql(wall.format(lia.user_id, other.account_id, "manager"))
    assert desk.memberships.within(other.account_id) == []


def test_walls(engine: Engine, desk: Desk, ana: Account, olga: User) -> None:
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "manager", BY, NOW))
    with pytest.raises(LookupError):
        engine.run(desk.memberships.give(olga.user_id, 4711, "manager", BY, NOW))
    for wrong in (
        f"INSERT INTO seat (user_id, account_id, role, given_ms)"
        f" VALUES ({olga.user_id}, {ana.account_id}, 'manager', 0)",
        "UPDATE seat SET role = 'operator'",
        f"UPDATE seat SET account_id = {ana.account_id}",
        "UPDATE web_session SET seat_id = 4711",
    ):
        with pytest.raises(engine.wall):
            engine.sql(wrong)


def test_a_seat_cannot_be_used_by_another_user(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    rita = a_user(engine, desk, None, "Rita", password="hash of rita")
    engine.run(desk.memberships.give(rita.user_id, ana.account_id, "manager", BY, NOW))
    assert not wear(engine, desk, olga, ana.account_id)
    assert not engine.run(
        desk.memberships.act_in(session(desk).session_id, rita.user_id, ana.account_id)
    )
    assert session(desk).membership is None
    engine.sql("UPDATE web_session SET seat_id = (SELECT seat_id FROM seat)")  # by hand
    assert session(desk).membership is None


def test_seats_are_in_the_log_of_their_account(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    whom, where = olga.user_id, ana.account_id
    engine.run(desk.memberships.give(whom, where, "consultant", a_form("a"), NOW))
    with pytest.raises(FormDone):
        engine.run(desk.memberships.give(whom, where, "manager", a_form("a"), NOW))
    engine.run(desk.memberships.give(whom, where, "consultant", a_form("b"), NOW))  # no change
    engine.run(desk.memberships.give(whom, where, "manager", a_form("c"), NOW))
    engine.run(desk.memberships.take(whom, where, a_form("d"), NOW))
    target = f"usuário {whom}"
    assert [deed for deed in deeds(desk) if deed[0].startswith("seat.")] == [
        ("seat.give", where, target, "papel consultor"),
        ("seat.change", where, target, "papel gestor"),
        ("seat.take", where, target, "papel gestor"),
    ]


def test_a_suspended_operator_uses_no_seat(
    engine: Engine, desk: Desk, ana: Account, olga: User
) -> None:
    a_user(engine, desk, None, "Rita", password="hash of rita")
    engine.run(desk.memberships.give(olga.user_id, ana.account_id, "manager", BY, NOW))
    wear(engine, desk, olga, ana.account_id)
    engine.run(desk.people.suspend_user(olga.user_id, True, BY, NOW))
    assert desk.people.session(a_token("here"), NOW, HOUR_MS, HOUR_MS) is None


def test_sessions_are_listed_and_ended_one_by_one(
    engine: Engine, desk: Desk, olga: User, lia: User
) -> None:
    engine.run(desk.people.touch_session(session(desk, "there").session_id, NOW + 5))
    engine.run(desk.people.open_session(lia.user_id, a_token("lia"), BY, NOW))
    listed = desk.people.sessions(olga.user_id, NOW + 5, HOUR_MS, HOUR_MS)
    assert [one.browser for one in listed] == ["Firefox there", "Firefox here"]
    theirs = session(desk, "lia").session_id
    assert not engine.run(desk.people.close_one_session(olga.user_id, theirs))
    assert engine.run(desk.people.close_one_session(olga.user_id, listed[0].session_id))
    assert not engine.run(desk.people.close_one_session(olga.user_id, listed[0].session_id))
    left = desk.people.sessions(olga.user_id, NOW + 5, HOUR_MS, HOUR_MS)
    assert [one.browser for one in left] == ["Firefox here"]
    assert desk.people.sessions(olga.user_id, NOW + HOUR_MS, HOUR_MS, 2 * HOUR_MS) == []
