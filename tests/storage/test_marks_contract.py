"""Client, reference and restrictions of keys, with charges and details, on every engine."""

import dataclasses
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from balcao.core.access import Account, KeyRestrictions
from balcao.core.certificates import CertificateSummary
from balcao.core.compat_apis import compat_operation
from balcao.core.errors import FormDone, InvalidParameter
from balcao.core.ledger import Change
from balcao.storage.contract import NewKey
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.people import ALWAYS, BY, a_form, a_trace, deeds, together
from tests.storage.test_charged_lookups import number
from tests.storage.world import (
    DAY_MS,
    NOW,
    OPERATION,
    a_bind,
    a_charge,
    a_finish,
    a_hash,
    a_hold,
    a_settle,
    consumption,
)

MARKS = {"client": "loja-7", "reference": "NF:12/3"}
MARKED = "SELECT kind, client, reference FROM ledger_entry WHERE request_id = ? ORDER BY 1"


def marked(*changes: Change) -> Sequence[Change]:
    return [replace(change, **MARKS) for change in changes]


def a_marked_charged_lookup(ana: Account, n: int) -> Sequence[Change]:
    return marked(together(a_charge(ana, number(NOW, n)), a_trace(ana, number(NOW, n))))


def test_a_charged_lookup_carries_its_marks_into_the_ledger(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.commit(desk, *a_marked_charged_lookup(ana, 1)) is None
    assert engine.sql("SELECT client, reference FROM charged_lookup") == [("loja-7", "NF:12/3")]
    (trace,) = desk.people.traces(ana.account_id, ALWAYS, 9)
    assert (trace.client, trace.reference) == ("loja-7", "NF:12/3")
    assert engine.run(desk.people.purge_people(NOW, NOW + DAY_MS, 0, 0)) == 1
    assert engine.sql(MARKED, number(NOW, 1)) == [("charge", "loja-7", "NF:12/3")]
    assert desk.check().complaints == []


def test_a_settlement_says_the_marks_of_its_hold(engine: Engine, desk: Desk, ana: Account) -> None:
    for request, credits, kind in (("r1", 1, "post"), ("r2", 0, "void")):
        assert engine.commit(desk, *marked(a_hold(ana, request, 2))) is None
        assert engine.commit(desk, a_settle(ana, request, credits)) is None
        assert engine.sql(MARKED, request) == [
            ("hold", "loja-7", "NF:12/3"),
            (kind, "loja-7", "NF:12/3"),
        ]


def test_what_a_dead_process_held_is_given_back_with_its_marks(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    assert engine.commit(desk, *marked(a_hold(ana, "r1", 2))) is None
    engine.kill(desk)
    assert engine.open().recover(NOW + 1) == 1
    assert engine.sql(MARKED, "r1") == [
        ("hold", "loja-7", "NF:12/3"),
        ("void", "loja-7", "NF:12/3"),
    ]


@pytest.mark.parametrize(
    "brought", [None, CertificateSummary("CND", "2027-01-01", "X", None, None)]
)
def test_traces_of_both_tables_have_client_and_reference(
    engine: Engine, desk: Desk, ana: Account, brought: CertificateSummary | None
) -> None:
    trace = a_trace(ana, "r1", key_digest="k", certificate=brought, **MARKS)
    changes = [*marked(a_charge(ana, "r1")), a_finish(ana, "k", "r1"), trace]
    assert engine.commit(desk, *changes) is None
    assert desk.people.trace(ana.account_id, "r1") == trace


def test_requests_without_client_and_reference(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.commit(desk, a_hold(ana, "r1", 1), a_bind(ana, "k", "r1")) is None
    assert engine.commit(desk, a_settle(ana, "r1", 1), a_trace(ana, "r1")) is None
    assert engine.sql(MARKED, "r1") == [("hold", None, None), ("post", None, None)]


def test_restrictions_are_read_with_their_key(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.sql(
        "UPDATE api_key SET networks = ?, operations = ?, client_required = 1, administers = 1",
        '["10.0.0.0/8","2001:db8::/32"]',
        f'["{OPERATION}"]',
    )
    restrictions = KeyRestrictions(("10.0.0.0/8", "2001:db8::/32"), (OPERATION,), True, True)
    (key,) = desk.keys(ana.account_id)
    assert key.restrictions == restrictions
    caller = engine.run(desk.caller(a_hash("ana"), NOW))
    assert caller is not None
    assert caller.restrictions == restrictions


# Queries.


def test_consumption_by_client_and_by_reference(engine: Engine, desk: Desk, ana: Account) -> None:
    for n, (client, reference) in enumerate((("a", "p"), ("a", "q"), ("b", "p"), (None, None))):
        marks = {"client": client, "reference": reference}
        request = number(NOW, n) if n % 2 else f"r{n}"
        charge = replace(a_charge(ana, request), **marks)
        assert engine.commit(desk, together(charge, a_trace(ana, request, **marks))) is None
    period = (ana.account_id, 0, NOW * 2)
    by_client = [
        (row.client, row.reference, row.requests) for row in consumption(desk, ana.account_id)
    ]
    assert by_client == [(None, None, 1), ("a", None, 2), ("b", None, 1)]
    rows = desk.consumption_by_reference(*period, 4)
    assert rows is not None
    by_reference = [(row.client, row.reference, row.requests) for row in rows]
    assert by_reference == [(None, None, 1), ("a", "p", 1), ("a", "q", 1), ("b", "p", 1)]
    assert desk.consumption_by_reference(*period, 3) is None
    entries = {entry.request_id: entry for entry in desk.entries(*period)}
    assert (entries["r2"].client, entries["r2"].reference) == ("b", "p")
    assert entries[number(NOW, 1)].reference == "q"


def test_requests_of_a_reference(engine: Engine, desk: Desk, ana: Account, bruno: Account) -> None:
    """Charged lookups and holds, settled or not, newest first and in pages; only of the account."""
    assert engine.commit(desk, *a_marked_charged_lookup(ana, 1)) is None
    held, settled = number(NOW, 2), number(NOW, 3)
    assert engine.commit(desk, *marked(a_hold(ana, held, 2), a_hold(ana, settled, 2))) is None
    assert engine.commit(desk, a_settle(ana, settled, 1)) is None
    assert engine.commit(desk, a_charge(ana, number(NOW, 4))) is None
    assert engine.commit(desk, *marked(a_charge(bruno, number(NOW, 5)))) is None

    def page(limit: int, before: str | None = None, from_ms: int = NOW) -> list[tuple[str, str]]:
        reference = MARKS["reference"]
        found = desk.operations_referred(ana.account_id, reference, from_ms, limit, before)
        assert {(each.client, each.reference) for each in found} <= {("loja-7", reference)}
        assert all(desk.operation(ana.account_id, each.request_id) == each for each in found)
        return [(each.request_id, each.state) for each in found]

    newest = [(settled, "charged"), (held, "running"), (number(NOW, 1), "charged")]
    assert page(9) == newest
    assert page(2) == newest[:2]
    assert page(2, held) == newest[2:]
    assert page(9, from_ms=NOW + 2 * DAY_MS) == []
    assert engine.run(desk.people.purge_people(NOW, NOW + DAY_MS, 0, 0)) > 0
    assert page(9) == newest


def test_the_request_under_a_key(engine: Engine, desk: Desk, ana: Account, bruno: Account) -> None:
    assert desk.operation_under_key(ana.account_id, "k") is None
    assert engine.commit(desk, a_hold(ana, "r1", 2), a_bind(ana, "k", "r1")) is None
    running = desk.operation_under_key(ana.account_id, "k")
    assert running is not None
    assert (running.request_id, running.state) == ("r1", "running")
    trace = a_trace(ana, "r1", key_digest="k")
    assert engine.commit(desk, a_settle(ana, "r1", 1), a_finish(ana, "k", "r1"), trace) is None
    engine.sql("DELETE FROM idempotency")
    # Refused later under the same key: newer, and no operation.
    refused = a_trace(ana, "r2", key_digest="k", credits=0, status=400, code="X", origin=None)
    assert engine.commit(desk, refused) is None
    found = desk.operation_under_key(ana.account_id, "k")
    assert found == desk.operation(ana.account_id, "r1")
    assert desk.operation_under_key(bruno.account_id, "k") is None


@pytest.mark.parametrize("wanted", [{"client": "loja-7"}, {"reference": "NF:12/3"}])
def test_traces_by_client_or_reference(
    engine: Engine, desk: Desk, ana: Account, wanted: dict[str, str]
) -> None:
    assert engine.commit(desk, *a_marked_charged_lookup(ana, 1)) is None
    unmarked = together(a_charge(ana, number(NOW, 2)), a_trace(ana, number(NOW, 2)))
    assert engine.commit(desk, unmarked) is None
    assert engine.commit(desk, a_trace(ana, "r3", client="b", reference="b")) is None
    found = desk.people.traces(ana.account_id, dataclasses.replace(ALWAYS, **wanted), 9)  # type: ignore[arg-type]
    assert [trace.request_id for trace in found] == [number(NOW, 1)]


# Restrictions.


def test_a_change_of_restrictions_is_signed_and_in_force(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    (key,) = desk.keys(ana.account_id)
    assert key.restrictions is None
    restrictions = KeyRestrictions(("10.0.0.0/8",), ("suframa",), True, True)
    assert desk.change_restrictions(key.key_id, restrictions, NOW, BY)
    assert desk.keys(ana.account_id)[0].restrictions == restrictions
    caller = engine.run(desk.caller(a_hash("ana"), NOW))
    assert caller is not None
    assert caller.restrictions == restrictions
    assert deeds(desk, "key.change") == [
        (
            *("key.change", ana.account_id, "chave principal"),
            f"número {key.key_id}; endereços todos → 10.0.0.0/8; operações todas → suframa;"
            " exige cliente não → sim; administra não → sim",
        )
    ]
    assert desk.change_restrictions(key.key_id, restrictions, NOW, BY), "nothing to do"
    assert len(deeds(desk, "key.change")) == 1
    assert desk.change_restrictions(key.key_id, None, NOW, a_form("f1"))
    assert desk.keys(ana.account_id)[0].restrictions is None
    with pytest.raises(FormDone):
        desk.change_restrictions(key.key_id, restrictions, NOW, a_form("f1"))
    assert not desk.change_restrictions(99, restrictions, NOW, BY)


def test_a_face_key_stays_one_and_has_networks(engine: Engine, desk: Desk, ana: Account) -> None:
    """Whoever changes it (contract 16.4)."""
    of_face = (compat_operation("brasilapi"),)
    new = NewKey(
        ana.account_id,
        "k",
        "p",
        a_hash("k"),
        restrictions=KeyRestrictions(("10.0.0.0/8",), of_face),
    )
    key = desk.create_key(new, NOW, BY)
    with pytest.raises(InvalidParameter):
        desk.create_key(
            dataclasses.replace(new, hash=a_hash("l"), restrictions=KeyRestrictions((), of_face)),
            NOW,
        )
    for wider in (KeyRestrictions(("::/0",)), KeyRestrictions(("::/0",), ("suframa",), True, True)):
        assert desk.change_restrictions(key.key_id, wider, NOW, BY)
        caller = engine.run(desk.caller(a_hash("k"), NOW))
        assert caller is not None
        assert caller.restrictions == KeyRestrictions(("::/0",), of_face)
    for opener in (None, KeyRestrictions(), KeyRestrictions((), of_face)):
        with pytest.raises(InvalidParameter):
            desk.change_restrictions(key.key_id, opener, NOW, BY)
    assert desk.keys(ana.account_id)[-1].restrictions == KeyRestrictions(("::/0",), of_face)
    assert len(deeds(desk, "key.change")) == 1


def test_a_key_created_with_restrictions(engine: Engine, desk: Desk, ana: Account) -> None:
    restrictions = KeyRestrictions(("2001:db8::/32",), client_required=True)
    made = desk.create_key(
        NewKey(ana.account_id, "k", "p", a_hash("k"), restrictions=restrictions), NOW, BY
    )
    assert made.restrictions == restrictions
    ((_, _, _, said),) = [deed for deed in deeds(desk, "key.create") if deed[2] == "chave k"]
    assert said.endswith("endereços 2001:db8::/32; exige cliente sim")


def test_restrictions_are_in_force_in_another_process_within_a_second(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    other = engine.open()
    before = engine.run(other.caller(a_hash("ana"), NOW))
    assert before is not None
    assert before.restrictions is None
    assert desk.change_restrictions(ana.account_id, KeyRestrictions(operations=()), NOW, BY)
    after = engine.run(other.caller(a_hash("ana"), NOW + 500))
    assert after is not None
    assert after.restrictions == KeyRestrictions(operations=())


def test_the_schema_accepts_only_booleans(engine: Engine, desk: Desk, ana: Account) -> None:
    for column in ("client_required", "administers"):
        with pytest.raises(engine.wall):
            engine.sql(f"UPDATE api_key SET {column} = 2")
