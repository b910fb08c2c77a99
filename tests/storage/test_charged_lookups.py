"""Charged lookups: one row that reads like an entry and a trace, and becomes an entry."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from balcao.core.access import Account
from balcao.core.calendar import civil_day, civil_day_text, civil_month
from balcao.core.certificates import CertificateSummary
from balcao.core.data_subject import ERASED, data_subject
from balcao.core.documents import Cpf
from balcao.core.ledger import Change, InsufficientFunds, TracedCharge
from balcao.core.result_summary import ResultSummary
from balcao.storage.batch import FULL_CHARGED_LOOKUP_COLUMNS
from balcao.storage.desk.desk import Desk
from balcao.storage.people import TraceFilter
from tests.storage.engines import Engine, PostgresEngine, SqliteEngine
from tests.storage.people import ALWAYS, a_trace, together
from tests.storage.world import (
    DAY_MS,
    NOW,
    Balance,
    a_charge,
    a_hold,
    a_keep,
    a_settle,
    account_of,
    balance,
    brasilia,
    charged,
    consumption,
    entries,
    open_account,
)

HOUR_MS = 3_600_000
HOUR_BEGAN = NOW - NOW % HOUR_MS


def number(at_ms: int, n: int = 0) -> str:
    """Return a request number, a UUID of version 7, made at this instant."""
    digits = f"{at_ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7abc-8def-{n:012x}"


def a_lookup(
    account: Account, n: int, *, at_ms: int = NOW, made_ms: int | None = None, **other: object
) -> TracedCharge:
    """Return the change that a cached answer commits."""
    request = number(at_ms if made_ms is None else made_ms, n)
    return together(
        a_charge(account, request, at_ms=at_ms),
        a_trace(account, request, opened_ms=at_ms, settled_ms=at_ms + 1, **other),
    )


PERSON = data_subject(b"s" * 32, Cpf.parse("900.100.001-00"))
WHO: dict[str, Any] = {"document": "***100001**", "document_hash": PERSON.document_hash}
BROUGHT = CertificateSummary(
    "CND", "2027-02-15", "PADARIA DO ZE", "n1", "application/pdf", "2026-08-19"
)
# All kinds of answers that are available at once.
KINDS: tuple[dict[str, Any], ...] = (
    {},
    WHO,
    {"certificate": BROUGHT, "uf": "SP", "client": "Padaria", "reference": "nf 7"},
    {"certificate": CertificateSummary("CPEND", None, None, "n2", "application/pdf"), **WHO},
    {
        "certificate": CertificateSummary("none", None, None, None, None),
        "document": "11222333000181",
    },
)
FILTERS: tuple[dict[str, object], ...] = (
    {},
    {"charged": True},
    {"document_hash": PERSON.document_hash},
    {"document_hash": PERSON.document_hash, "charged": True},
    {"results": ["CND", "none"]},
    {"results": ["CND", "none"], "charged": True},
    {"words": ["PADARIA"]},
    {"document": "11222333000181", "uf": ""},
)


def rows(engine: Engine) -> tuple[int, int, int]:
    """Return the numbers of charged lookups, charges among entries, and traces."""
    counts = "SELECT (SELECT count(*) FROM charged_lookup),"
    counts += " (SELECT count(*) FROM ledger_entry WHERE kind = 'charge'),"
    return engine.sql(f"{counts} (SELECT count(*) FROM trace)")[0]


def seen(desk: Desk, account: Account) -> tuple[object, ...]:
    """Return the results of all queries of an account's requests."""
    whose, people = account.account_id, desk.people
    requests = [entry.request_id for entry in entries(desk, account) if entry.request_id]
    return (
        account_of(desk, account),
        entries(desk, account),
        consumption(desk, whose),
        desk.totals.books(whose, civil_day(NOW), civil_day(NOW)),
        [
            people.traces(whose, TraceFilter(0, NOW * 2, **wanted), limit)  # type: ignore[arg-type]
            for wanted in FILTERS
            for limit in (100, 3)
        ],
        [people.certificates(whose, user, 3) for user in (None, 4711)],
        desk.data_subjects.held(PERSON),
        [desk.operation(whose, request) for request in requests],
        [people.trace(whose, request) for request in requests],
        [people.owner_of(request) for request in requests],
    )


def test_one_row_is_equivalent_to_entry_and_trace(engine: Engine, tmp_path: Path) -> None:
    """Two installations with the same requests, stored in one form and in the other."""
    (tmp_path / "other").mkdir()
    other = type(engine)(tmp_path / "other")  # type: ignore[call-arg]
    told = []
    with closing(other):
        for one, apart in ((engine, False), (other, True)):
            desk = one.open()
            account = open_account(one, desk, "ana", credits=10)
            one.commit(desk, a_keep(account, "n1"), a_keep(account, "n2"))
            charged_lookups = [
                a_lookup(account, n, at_ms=NOW + n % 2, **kind) for n, kind in enumerate(KINDS * 2)
            ]
            lists: list[Sequence[Change]] = [[charged_lookup] for charged_lookup in charged_lookups]
            if apart:
                lists = [
                    [change]
                    for charged_lookup in charged_lookups
                    for change in charged_lookup.split()
                ]
            one.together(desk, *lists)
            assert rows(one) == ((0, 10, 4) if apart else (10, 0, 0))
            said = [seen(desk, account)]
            one.run(desk.data_subjects.erase(PERSON, NOW))
            said.append(seen(desk, account))
            # Details are purged, but those with a certificate are kept as long as receipts.
            assert one.run(desk.people.purge_people(NOW, NOW + 9, 0, NOW)) == (4 if apart else 10)
            said.append(seen(desk, account))
            assert len(desk.people.certificates(account.account_id, None, 9)) == 6
            assert desk.check().complaints == []
            assert desk.check().entries == 11
            told.append(said)
    assert told[0] == told[1]


def test_a_person_is_erased_and_nothing_else(engine: Engine, desk: Desk, ana: Account) -> None:
    """The only change of a charged lookup that is allowed."""
    for n, kind in enumerate(KINDS):
        engine.commit(desk, a_lookup(ana, n, **kind))
    before = desk.people.traces(ana.account_id, ALWAYS, 9)
    assert rows(engine) == (5, 0, 0)
    held, _ = engine.run(desk.data_subjects.erase(PERSON, NOW))
    assert [one.request_id for one in held.requests] == [number(NOW, 1), number(NOW, 3)]
    for was, now in zip(before, desk.people.traces(ana.account_id, ALWAYS, 9), strict=True):
        if was.document_hash is None:
            assert now == was
        else:
            certificate = was.certificate and replace(
                was.certificate, receipt_id=None, media_type=None
            )
            assert now == replace(was, document=ERASED, document_hash=None, certificate=certificate)
    assert rows(engine) == (5, 0, 0)
    nobody = engine.run(desk.data_subjects.erase(PERSON, NOW))[0]
    assert nobody.requests == []


def test_a_lookup_purged_during_an_erasure(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any step of the erasure."""
    run_in_writer = desk.data_subjects._run_in_writer
    for n in range(4):
        engine.commit(desk, a_lookup(ana, n, **KINDS[3]))
        assert rows(engine)[0] == 1
        strokes = count()

        async def after_a_purge(
            work: Callable[[Any], Any], n: int = n, strokes: Iterator[int] = strokes
        ) -> Any:
            if next(strokes) == n:
                await desk.people.purge_people(NOW, NOW + 9, 0, 0)
            return await run_in_writer(work)

        monkeypatch.setattr(desk.data_subjects, "_run_in_writer", after_a_purge)
        engine.run(desk.data_subjects.erase(PERSON, NOW))
        assert next(strokes) == 3, "charged_lookups, traces, certificates"
        engine.run(desk.people.purge_people(NOW, NOW + 9, 0, 0))
        traces = desk.people.certificates(ana.account_id, None, 9)
        assert [(one.document, one.document_hash) for one in traces] == [(ERASED, None)] * (n + 1)
        assert engine.run(desk.data_subjects.erase(PERSON, NOW))[0].requests == []


def test_credits_that_are_short(engine: Engine, desk: Desk, ana: Account) -> None:
    lists = [(a_lookup(ana, n),) for n in range(12)]
    outcomes = engine.together(desk, *lists)
    assert outcomes == [None] * 10 + [InsufficientFunds(1, 0)] * 2
    assert balance(desk, ana) == Balance(0, 0)
    assert rows(engine) == (10, 0, 0)


NOT_CHARGED_LOOKUPS: dict[str, Callable[[Account], tuple[Change, ...]]] = {
    "one that is remembered": lambda ana: (
        a_charge(ana, number(NOW)),
        a_trace(ana, number(NOW), result_summary=ResultSummary("ACME", "ATIVA")),
    ),
    "a receipt that is new": lambda ana: (a_lookup(ana, 0), a_keep(ana, "n1")),
    "a clock that was set in between": lambda ana: (a_lookup(ana, 0, made_ms=HOUR_BEGAN - 1),),
    "one that was set back": lambda ana: (a_lookup(ana, 0, made_ms=HOUR_BEGAN + HOUR_MS),),
    "no number": lambda ana: (together(a_charge(ana, "r1"), a_trace(ana, "r1")),),
}


@pytest.mark.parametrize("what", NOT_CHARGED_LOOKUPS)
def test_other_charges_are_an_entry_and_a_trace(
    engine: Engine, desk: Desk, ana: Account, what: str
) -> None:
    assert engine.commit(desk, *NOT_CHARGED_LOOKUPS[what](ana)) is None
    charged_lookups, charges, _ = rows(engine)
    assert (charged_lookups, charges) == (0, 1)
    assert balance(desk, ana) == Balance(9, 0)
    assert len(desk.people.traces(ana.account_id, ALWAYS, 9)) == 1


@pytest.mark.parametrize("made_ms", [HOUR_BEGAN, HOUR_BEGAN + HOUR_MS - 1])
def test_the_largest_distance_from_its_number(engine: Engine, desk: Desk, made_ms: int) -> None:
    ana = open_account(engine, desk, "ana", credits=1, at_ms=NOW - 99)
    assert engine.commit(desk, a_lookup(ana, 0, made_ms=made_ms)) is None
    assert rows(engine) == (1, 0, 0)
    for from_ms, to_ms, charged_lookups in (
        (NOW, NOW + 1, 1),
        (NOW + 1, NOW + 9, 0),
        (NOW - 9, NOW, 0),
    ):
        assert len([*desk.entries(ana.account_id, from_ms, to_ms)]) == charged_lookups


# Retention.


def test_an_old_charged_lookup_becomes_an_entry(engine: Engine, desk: Desk, ana: Account) -> None:
    old, new = brasilia("2026-01-31 23:59:59"), NOW
    engine.commit(desk, a_lookup(ana, 1, at_ms=old))
    engine.commit(desk, a_lookup(ana, 2, at_ms=new))
    engine.commit(desk, a_hold(ana, "h1", 2))
    before = seen(desk, ana)
    purged = engine.run(desk.people.purge_people(NOW, NOW - 30 * DAY_MS, 0, 0))
    assert purged == 1
    assert rows(engine) == (1, 1, 0)
    after = seen(desk, ana)
    assert after[:4] == before[:4]
    assert after[5] == before[5]
    assert after[7] == before[7]
    assert [trace.opened_ms for trace in desk.people.traces(ana.account_id, ALWAYS, 9)] == [new]
    assert desk.people.trace(ana.account_id, number(old, 1)) is None
    assert desk.check().complaints == []
    assert engine.run(desk.people.purge_people(NOW, NOW - 30 * DAY_MS, 0, 0)) == 0


def test_a_reached_ceiling_does_not_keep_a_charged_lookup_from_becoming_an_entry(
    engine: Engine, desk: Desk
) -> None:
    caio = open_account(engine, desk, "caio", plan="pos_pago", ceiling_credits=3)
    engine.together(desk, *((a_lookup(caio, n),) for n in range(3)))
    assert engine.run(desk.people.purge_people(NOW, NOW + DAY_MS, 0, 0)) == 3
    assert account_of(desk, caio).month_credits == 3
    assert engine.commit(desk, a_lookup(caio, 9)) == InsufficientFunds(1, 0)
    assert rows(engine) == (0, 3, 0)


def test_many_are_purged_in_steps(
    engine: Engine, desk: Desk, ana: Account, bruno: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.storage.desk.people.PURGED_AT_ONCE", 4)
    whose = [bruno, ana] * 5
    engine.together(desk, *((a_lookup(one, n),) for n, one in enumerate(whose)))
    before = seen(desk, ana)[:4], seen(desk, bruno)[:4]
    strokes = []
    while gone := engine.run(desk.people.purge_people(NOW, NOW + DAY_MS, 0, 0)):
        strokes.append(gone)
    assert strokes == [4, 4, 2]
    assert (seen(desk, ana)[:4], seen(desk, bruno)[:4]) == before
    assert desk.check().complaints == []


# Months, and periods.


def test_a_late_charge_counts_in_the_present_month(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=10, at_ms=NOW - 30 * DAY_MS)
    july, august = brasilia("2026-07-31 23:59:59"), brasilia("2026-08-01 00:00:00")
    moments = [july, july, august, july, august]
    engine.together(desk, *((a_lookup(ana, n, at_ms=at),) for n, at in enumerate(moments)))
    now = account_of(desk, ana)
    assert (now.month, now.month_credits, now.balance_credits) == ("2026-08", 3, 5)


@pytest.mark.parametrize("first_is", ["an entry", "a charged lookup", "a person's"])
@pytest.mark.parametrize("months", [("07", "08"), ("08", "07")])
def test_a_batch_at_the_turn_of_the_month_counts_in_order(
    engine: Engine, desk: Desk, first_is: str, months: tuple[str, str]
) -> None:
    caio = open_account(
        engine, desk, "caio", plan="pos_pago", ceiling_credits=9, at_ms=NOW - 30 * DAY_MS
    )
    ends = {"07": brasilia("2026-07-31 23:59:59"), "08": brasilia("2026-08-01 00:00:00")}
    first, second = (ends[month] for month in months)
    lists: list[Sequence[Change]]
    if first_is == "an entry":
        lists = [(a_charge(caio, "r1", at_ms=first),), (a_lookup(caio, 2, at_ms=second),)]
    elif first_is == "a charged lookup":
        lists = [(a_lookup(caio, 2, at_ms=first),), (a_charge(caio, "r1", at_ms=second),)]
    else:
        lists = [(a_lookup(caio, 2, at_ms=first, **WHO),), (a_lookup(caio, 3, at_ms=second),)]
    assert engine.together(desk, *lists) == [None, None]
    now = account_of(desk, caio)
    assert (now.month, now.month_credits) == ("2026-08", 1 if months == ("07", "08") else 2)


def test_a_period_has_exactly_its_own_charges(engine: Engine, desk: Desk) -> None:
    """Whatever the clock does between a request's number and its charge."""
    ana = open_account(engine, desk, "ana", credits=10_000, at_ms=NOW - 90 * DAY_MS)
    chance = random.Random(38)
    facts: list[tuple[int, str]] = []
    lists: list[tuple[Change, ...]] = []
    for n in range(300):
        at_ms = NOW + chance.randrange(-3 * DAY_MS, 3 * DAY_MS)
        jump = chance.choice([0, 1, 40, 60_000, HOUR_MS // 4, HOUR_MS, DAY_MS, 40 * DAY_MS])
        charged_lookup = a_lookup(
            ana, n, at_ms=at_ms, made_ms=at_ms + chance.choice([-1, 1]) * jump
        )
        request = charged_lookup.request_id
        if n % 5 == 0:
            lists += [(a_hold(ana, request, 2, at_ms=at_ms - 9),)]
            lists += [(a_settle(ana, request, 1, at_ms=at_ms), charged_lookup.split()[1])]
        else:
            lists.append((charged_lookup,))
        facts.append((at_ms, request))
    for start in range(0, len(lists), 60):
        assert engine.together(desk, *lists[start : start + 60])[0] is None
    charged_lookups, _, _ = rows(engine)
    assert 100 < charged_lookups < 240

    instants = sorted(at_ms for at_ms, _ in facts)
    for turn in range(120):
        if turn % 2:
            from_ms, to_ms = sorted(chance.sample(instants, 2))
        else:
            from_ms = NOW + chance.randrange(-4 * DAY_MS, 4 * DAY_MS)
            to_ms = from_ms + chance.choice([1, 999, HOUR_MS, DAY_MS, 4 * DAY_MS])
        wanted = sorted(fact for fact in facts if from_ms <= fact[0] < to_ms)
        found = [*desk.entries(ana.account_id, from_ms, to_ms)]
        assert sorted((entry.at_ms, entry.request_id) for entry in found) == wanted
        assert [entry.at_ms for entry in found] == [at_ms for at_ms, _ in wanted]
    by_day = Counter(civil_day_text(at_ms) for at_ms in instants)
    found_by_day: Counter[str] = Counter()
    for row in consumption(desk, ana.account_id):
        found_by_day[row.day] += row.credits
    assert found_by_day == by_day
    assert account_of(desk, ana).month == civil_month(max(instants))


# Constraints of the schema.

INTO = (
    "INSERT INTO charged_lookup"
    " (account_id, request_id, opened_ms, month, operation, document, strategy,"
    " refresh, status, origin, credits, rule, settled_ms) VALUES"
)
CHARGED_LOOKUP = (
    f"{INTO} ({{}}, '{{}}', {NOW}, '2026-08', 'x', 'x', 'x', {{}}, 200, '{{}}', {{}}, 'x', 0)"
)
ENTRY = (
    "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
    f" request_id, operation, rule, origin) VALUES (1, {NOW}, '2026-08', {{}}, '{number(NOW)}',"
    " 'x', 'x', 'cache')"
)
OTHER = number(NOW, 1)
WALLS = {
    "changing a charged lookup": "UPDATE charged_lookup SET document = 'x'",
    "changing its price": "UPDATE charged_lookup SET credits = 2",
    "whom another was about": "UPDATE charged_lookup SET person_hash = x'00'",
    "a person that was none": "UPDATE charged_lookup SET person_hash = NULL",
    "its receipt": "UPDATE charged_lookup SET receipt_id = 'n1'",
    "its verdict": "UPDATE charged_lookup SET verdict = 'CND'",
    "charging a charged lookup again": CHARGED_LOOKUP.format(1, number(NOW), 0, "cache", 1),
    "an entry for it": ENTRY.format("'charge', -1, 0"),
    "a hold for it": ENTRY.format("'hold', 0, 1"),
    "a charged lookup for what was charged": CHARGED_LOOKUP.format(
        1, number(NOW, 7), 0, "cache", 1
    ),
    "a charged lookup for what is held": CHARGED_LOOKUP.format(1, number(NOW, 8), 0, "cache", 1),
    "charging more than is there": CHARGED_LOOKUP.format(1, OTHER, 0, "cache", 9),
    "charging nothing": CHARGED_LOOKUP.format(1, OTHER, 0, "cache", 0),
    "giving credits": CHARGED_LOOKUP.format(1, OTHER, 0, "cache", -1),
    "an unknown origin": CHARGED_LOOKUP.format(1, OTHER, 0, "elsewhere", 1),
    "removing its account": "DELETE FROM account WHERE account_id = 1",
    "nobody's beside it": CHARGED_LOOKUP.format(1, OTHER, 0, "cache", 1)
    + CHARGED_LOOKUP.format(4711, number(NOW, 2), 0, "cache", 1).replace(INTO, ",", 1),
    "nobody's": CHARGED_LOOKUP.format(4711, OTHER, 0, "cache", 1),
    "perhaps refreshed": CHARGED_LOOKUP.format(1, OTHER, 2, "cache", 1),
    "numbered long before": CHARGED_LOOKUP.format(1, number(NOW - HOUR_MS - 1), 0, "cache", 1),
    "numbered long after": CHARGED_LOOKUP.format(1, number(NOW + HOUR_MS), 0, "cache", 1),
    "not numbered": CHARGED_LOOKUP.format(1, "r1", 0, "cache", 1),
}


@pytest.fixture
def charged_thrice(engine: Engine, desk: Desk, ana: Account) -> Desk:
    """Ten credits: one for a charged lookup, one for an entry; two are held."""
    engine.commit(desk, a_lookup(ana, 0))
    engine.commit(desk, a_charge(ana, number(NOW, 7)))
    engine.commit(desk, a_hold(ana, number(NOW, 8), 2))
    return desk


@pytest.mark.parametrize("attempt", WALLS)
def test_the_schema_refuses(
    engine: Engine, charged_thrice: Desk, ana: Account, attempt: str
) -> None:
    with pytest.raises(engine.wall):
        engine.sql(WALLS[attempt])
    desk = charged_thrice
    assert balance(desk, ana) == Balance(8, 2)
    assert charged(desk, ana) == {number(NOW): 1, number(NOW, 7): 1}
    assert desk.check().complaints == []
    assert desk.people.trace(ana.account_id, number(NOW)) == a_lookup(ana, 0).split()[1]


def test_only_the_person_of_a_charged_lookup_can_change(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_lookup(ana, 0, **KINDS[3]))
    before = desk.people.trace(ana.account_id, number(NOW))
    forgotten = f"document = '{ERASED}', person_hash = NULL, receipt_id = NULL"
    others = {*FULL_CHARGED_LOOKUP_COLUMNS, "key_digest"} - {
        "document",
        "person_hash",
        "receipt_id",
    }
    refused = [f"{forgotten}, {name} = {name}" for name in sorted(others)]
    refused += [
        "person_hash = x'00'",
        "person_hash = NULL",
        "document = 'x', person_hash = NULL, receipt_id = NULL",
        f"document = '{ERASED}', person_hash = NULL, receipt_id = 'n9'",
    ]
    for values in refused:
        with pytest.raises(engine.wall):
            engine.sql(f"UPDATE charged_lookup SET {values}")
    assert desk.people.trace(ana.account_id, number(NOW)) == before
    engine.sql(f"UPDATE charged_lookup SET {forgotten}")
    with pytest.raises(engine.wall):
        engine.sql(f"UPDATE charged_lookup SET {forgotten}")


def test_the_same_statements_pass_if_the_constraints_hold(
    engine: Engine, charged_thrice: Desk, ana: Account
) -> None:
    engine.sql(CHARGED_LOOKUP.format(1, OTHER, 1, "online", 6))
    assert balance(charged_thrice, ana) == Balance(2, 2)
    engine.sql("DELETE FROM charged_lookup")
    assert balance(charged_thrice, ana) == Balance(2, 2)
    assert charged(charged_thrice, ana) == {number(NOW): 1, number(NOW, 7): 1, OTHER: 6}
    assert charged_thrice.check().complaints == []


def test_replacing_a_charged_lookup_does_not_charge_twice(
    engine: Engine, charged_thrice: Desk, ana: Account
) -> None:
    if isinstance(engine, PostgresEngine):
        with pytest.raises(engine.wall, match="deleted"):
            engine.sql("TRUNCATE charged_lookup")
        for statement in (
            "DELETE FROM charged_lookup_rest",
            "UPDATE charged_lookup_rest SET credits = 1",
        ):
            with pytest.raises(engine.wall, match="comes and goes by its table"):
                engine.sql(statement)
        with pytest.raises(engine.wall, match="an account never goes"):
            engine.sql("DELETE FROM account")
        with pytest.raises(engine.wall, match="an account keeps its number"):
            engine.sql("UPDATE account SET account_id = 9")
    else:
        assert isinstance(engine, SqliteEngine)
        again = CHARGED_LOOKUP.format(1, number(NOW), 0, "cache", 1)
        with pytest.raises(engine.wall):
            charged_thrice.engine.connection.execute(
                again.replace("INSERT", "INSERT OR REPLACE", 1)
            )
    assert charged(charged_thrice, ana) == {number(NOW): 1, number(NOW, 7): 1}
    assert charged_thrice.check().complaints == []
