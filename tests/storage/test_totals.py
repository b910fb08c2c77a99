"""Daily totals equal the ledger, however far the folding is and whatever the clock did."""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from balcao.core.access import Account
from balcao.core.calendar import civil_day, day_starts_ms
from balcao.core.certificates import CertificateSummary
from balcao.core.ledger import Change, Charge, Settle, Trace
from balcao.storage.desk import folding
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.folding import FOLDED_AT_ONCE
from balcao.storage.desk.totals import PARTS
from balcao.storage.people import TraceFilter
from balcao.storage.totals import DIMENSIONS, Dimension, Fingerprint, Total, TotalsFilter
from tests.storage.engines import Engine
from tests.storage.people import a_trace, together
from tests.storage.test_charged_lookups import number
from tests.storage.world import DAY_MS, NOW, a_hold, a_top_up, account_of, brasilia, open_account

HOUR_MS = 3_600_000
TODAY = civil_day(NOW)


class Fact(NamedTuple):
    """One charge, as expected in the statement."""

    at_ms: int
    credits: int
    operation: str
    key: int
    user: int
    uf: str
    client: str
    origin: str
    rule: str

    @property
    def day(self) -> str:
        return civil_day(self.at_ms).isoformat()


def drawn(
    chance: random.Random, account: Account, n: int, at_ms: int
) -> tuple[Sequence[Sequence[Change]], Fact]:
    """A charged lookup, an entry with or without details, or a hold that was posted."""
    user = chance.choice([None, 7, 8])
    fact = Fact(
        at_ms,
        chance.randrange(1, 5),
        chance.choice(["suframa", "sintegra"]),
        0 if user else account.account_id,
        user or 0,
        chance.choice(["", "SP", "BR"]),
        chance.choice(["", "loja-1", "loja-2"]),
        chance.choice(["cache", "online"]),
        chance.choice(["consulta", "outra"]),
    )
    kind = chance.choice(
        ["charged_lookup", "charged_lookup", "person", "certificate", "bare", "posted"]
    )
    # Numbers are made before the charge, here by more than the schema allows a charged lookup.
    request = number(at_ms - chance.choice([0, 0, 40, 90_000, HOUR_MS // 2]), n)
    key = fact.key or None
    charge = Charge(
        account.account_id, key, request, fact.operation, fact.credits, fact.rule,
        fact.origin, at_ms, fact.client or None,  # type: ignore[arg-type]
    )  # fmt: skip
    trace = a_trace(
        account, request, opened_ms=at_ms, settled_ms=at_ms + 1, key_id=key, user_id=user,
        operation=fact.operation, uf=fact.uf or None, origin=fact.origin, rule=fact.rule,
        credits=fact.credits, client=fact.client or None,
    )  # fmt: skip
    if kind == "person":
        trace = replace(trace, document="***", document_hash=b"h")
    elif kind == "certificate":
        given = CertificateSummary("CND", "2027-01-01", "X", None, None)
        trace = replace(trace, certificate=given)
    elif kind == "bare":  # as a search: no details were ever kept
        return [[charge]], fact._replace(user=0, uf="")
    elif kind == "posted":
        # Asked the day before it was charged, as around midnight.
        asked_ms = at_ms - chance.choice([5, HOUR_MS, 20 * HOUR_MS])
        hold = replace(
            a_hold(account, request, 5, at_ms=asked_ms), key_id=key, operation=fact.operation,
            client=fact.client or None,
        )  # fmt: skip
        settle = Settle(
            account.account_id, request, fact.credits, fact.rule, fact.origin, at_ms  # type: ignore[arg-type]
        )  # fmt: skip
        return [[hold], [settle, replace(trace, opened_ms=asked_ms)]], fact
    return [[together(charge, trace)]], fact


def expected(
    facts: Sequence[Fact], first: date, last: date, by: Sequence[Dimension], wanted: TotalsFilter
) -> dict[tuple[object, ...], tuple[int, int]]:
    requests, credits = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for fact in facts:
        inside = first.isoformat() <= fact.day <= last.isoformat()
        if inside and all(getattr(fact, name) == value for name, value in wanted.columns):
            what = tuple(getattr(fact, name) for name in by)
            requests[what] += 1
            credits[what] += fact.credits
    return {what: (requests[what], credits[what]) for what in requests}


def told(
    totals: Sequence[Total], by: Sequence[Dimension]
) -> dict[tuple[object, ...], tuple[int, int]]:
    found = {
        tuple(getattr(total, name) for name in by): (total.requests, total.credits)
        for total in totals
    }
    assert len(found) == len(totals)
    return found


def some_wanted(chance: random.Random) -> TotalsFilter:
    return TotalsFilter(
        chance.choice([None, None, "suframa"]),
        chance.choice([None, None, 0]),
        chance.choice([None, None, None, 0, 7]),
        chance.choice([None, None, "", "SP"]),
        chance.choice([None, None, "", "loja-1"]),
        chance.choice([None, None, "cache"]),
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_total_equals_the_ledger_and_the_sum_of_its_list(
    engine: Engine, desk: Desk, seed: int
) -> None:
    chance = random.Random(seed)
    began = NOW - 12 * DAY_MS
    ana = open_account(engine, desk, "ana", credits=10_000, at_ms=began - DAY_MS)
    bia = open_account(engine, desk, "bia", credits=10_000, at_ms=began - DAY_MS)
    facts: dict[int, list[Fact]] = {ana.account_id: [], bia.account_id: []}
    added = 0
    now = began
    for n in range(70):
        whose = chance.choice([ana, ana, bia])
        now += chance.randrange(6 * HOUR_MS)
        # Some are late: for an instant that is folded already.
        at_ms = now - chance.choice([0, 0, 0, 3 * HOUR_MS, 3 * DAY_MS])
        lists, fact = drawn(chance, whose, n, max(at_ms, began))
        for changes in lists:
            assert engine.commit(desk, *changes) is None
        facts[whose.account_id].append(fact)
        if n % 20 == 7:
            assert engine.commit(desk, a_top_up(ana, n, reason=f"pedido {n}", at_ms=now)) is None
            added += n
        if chance.random() < 0.2:
            engine.run(desk.totals.fold(now - chance.choice([0, HOUR_MS, DAY_MS])))
    last = civil_day(now)
    for _ in range(25):
        whose = chance.choice([ana, bia])
        of_whose = facts[whose.account_id]
        by = chance.sample(DIMENSIONS, chance.randrange(len(DIMENSIONS)))
        wanted = some_wanted(chance)
        first = civil_day(began) + timedelta(chance.randrange(14))
        until = first + timedelta(chance.randrange(8))
        found = desk.totals.read(whose.account_id, first, until, by, wanted)
        assert told(found, by) == expected(of_whose, first, until, by, wanted)
        listed = TraceFilter(
            day_starts_ms(first),
            day_starts_ms(until + timedelta(1)),
            wanted.operation,
            wanted.key_id,
            user_id=wanted.user_id,
            origin=wanted.origin,
            client=wanted.client,
            uf=wanted.uf,
            charged=True,
        )
        list_of = pages(desk, whose, listed)
        assert sum(trace.credits for trace in list_of) == sum(one.credits for one in found)
        assert len(list_of) == sum(one.requests for one in found)
    for whose in (ana, bia):
        first = civil_day(began) + timedelta(chance.randrange(10))
        books = desk.totals.books(whose.account_id, first, last)
        assert books.balance_credits == account_of(desk, whose).balance_credits
        before = books.added_before - books.charged_before
        within = sum(entry.credits for entry in books.top_ups) - books.charged
        assert before + within + books.added_after - books.charged_after == books.balance_credits
        assert books.charged == sum(
            fact.credits for fact in facts[whose.account_id] if fact.day >= first.isoformat()
        )
    assert desk.check().complaints == []


def pages(desk: Desk, account: Account, wanted: TraceFilter) -> Sequence[Trace]:
    """Read all of a list, three at a time."""
    found: list[Trace] = []
    while True:
        before = found[-1].request_id if found else None
        some = desk.people.traces(account.account_id, wanted, 3, before)
        if not some:
            return found
        found += some


def charged_lookups(engine: Engine, desk: Desk, account: Account, instants: Sequence[int]) -> None:
    lists: list[Sequence[Change]] = []
    for n, at_ms in enumerate(instants):
        request = number(at_ms, n)
        key = account.account_id
        charge = Charge(key, key, request, "suframa", 1, "consulta", "cache", at_ms)
        trace = a_trace(
            account, request, opened_ms=at_ms, settled_ms=at_ms, operation="suframa", uf="SP",
            user_id=7,
        )  # fmt: skip
        lists.append([together(charge, trace)])
    for start in range(0, len(lists), 100):
        assert not any(engine.together(desk, *lists[start : start + 100]))


def folded(engine: Engine) -> Sequence[tuple[str, str, int]]:
    rows = engine.sql(
        "SELECT part, day, CAST(sum(credits) AS BIGINT) FROM daily_total GROUP BY part, day"
    )
    return sorted((part, day, credits) for part, day, credits in rows)


def test_a_step_is_bounded_and_the_rest_follows(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=10_000)
    count = FOLDED_AT_ONCE + 300
    charged_lookups(engine, desk, ana, [NOW + n for n in range(count)])
    until = NOW + DAY_MS
    assert engine.run(desk.totals.fold(until)) == FOLDED_AT_ONCE
    (total,) = desk.totals.read(ana.account_id, TODAY, TODAY, ())
    assert total.credits == count
    assert engine.run(desk.totals.fold(until)) == 300
    assert engine.run(desk.totals.fold(until)) == 0
    assert folded(engine) == [(part, TODAY.isoformat(), count) for part in sorted(PARTS)]


def test_charges_of_one_millisecond_are_one_step(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=10_000)
    charged_lookups(engine, desk, ana, [NOW] * (FOLDED_AT_ONCE + 5))
    # The first finds nothing before that instant.
    strokes = [engine.run(desk.totals.fold(NOW + 1)) for _ in range(3)]
    assert strokes == [1, FOLDED_AT_ONCE + 5, 0]


def test_a_charge_for_a_folded_day_resets_it(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=100)
    yesterday, day = NOW - DAY_MS, TODAY.isoformat()
    charged_lookups(engine, desk, ana, [yesterday, NOW, NOW + 1])
    engine.run(desk.totals.fold(NOW + HOUR_MS))
    assert len(folded(engine)) == 2 * len(PARTS)
    late = together(
        Charge(ana.account_id, None, number(NOW, 99), "suframa", 3, "consulta", "cache", NOW),
        a_trace(ana, number(NOW, 99), key_id=None, operation="suframa", credits=3,
                opened_ms=NOW, settled_ms=NOW),
    )  # fmt: skip
    assert engine.commit(desk, late) is None
    assert {told_day for _, told_day, _ in folded(engine)} == {civil_day(yesterday).isoformat()}
    assert desk.check().complaints == []
    (total,) = desk.totals.read(ana.account_id, TODAY, TODAY, ())
    assert (total.requests, total.credits) == (3, 5)
    engine.run(desk.totals.fold(NOW + HOUR_MS))
    assert [row for row in folded(engine) if row[1] == day] == [
        (part, day, 5) for part in sorted(PARTS)
    ]


def test_details_are_removed_and_the_sums_stay(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=100)
    old = NOW - 3 * DAY_MS
    charged_lookups(engine, desk, ana, [old, old + 1, NOW])
    engine.run(desk.totals.fold(NOW + 1))
    # As the requests' details go: the charged lookups become entries.
    engine.sql(f"DELETE FROM charged_lookup WHERE opened_ms < {NOW} RETURNING 1")
    assert engine.run(desk.totals.coarsen(TODAY)) == 1
    assert engine.run(desk.totals.coarsen(TODAY)) == 0
    found = desk.totals.read(ana.account_id, civil_day(old), TODAY, ("day", "user", "uf"))
    assert [(one.day, one.user, one.uf, one.credits) for one in found] == [
        (civil_day(old).isoformat(), 0, "", 2),
        (TODAY.isoformat(), 7, "SP", 1),
    ]
    assert desk.check().complaints == []
    listed = desk.people.traces(
        ana.account_id, TraceFilter(0, NOW + 1, user_id=0, uf="", charged=True), 10
    )
    assert [(trace.credits, trace.document) for trace in listed] == [(1, ""), (1, "")]


def test_purged_lookups_count_once_wherever_the_fold_stops(engine: Engine, desk: Desk) -> None:
    """`folded_ms` is between a charged lookup's number and its instant, without later charges."""
    ana = open_account(engine, desk, "ana", credits=100)
    charged_lookups(engine, desk, ana, [NOW - DAY_MS])
    request = number(NOW, 9)
    slow = together(
        Charge(ana.account_id, None, request, "suframa", 3, "consulta", "cache", NOW + 40),
        a_trace(ana, request, key_id=None, operation="suframa", credits=3, opened_ms=NOW + 40,
                settled_ms=NOW + 40),
    )  # fmt: skip
    assert engine.commit(desk, slow) is None
    for until in (NOW + 20, NOW + HOUR_MS):
        engine.run(desk.totals.fold(until))
    later = NOW + 2 * DAY_MS
    assert engine.run(desk.people.purge_people(later, later, later, later)) == 2
    for _ in range(2):
        (total,) = desk.totals.read(ana.account_id, TODAY, TODAY, ())
        assert (total.requests, total.credits) == (1, 3)
        assert desk.check().complaints == []
        engine.run(desk.totals.fold(later))


def test_details_are_removed_a_day_at_a_time(
    engine: Engine, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A charge waits for one day of one account at most."""
    old = NOW - 3 * DAY_MS
    for name in ("ana", "bia"):
        charged_lookups(engine, desk, open_account(engine, desk, name, credits=100), [old])
    engine.run(desk.totals.fold(NOW + 1))
    coarsen, done = folding._coarsen, []

    def cut_off(connection: Any, account_id: int, *what: str) -> None:
        done.append(account_id)
        if len({*done}) > 1:
            raise LookupError
        coarsen(connection, account_id, *what)

    monkeypatch.setattr(folding, "_coarsen", cut_off)
    with pytest.raises(LookupError):
        engine.run(desk.totals.coarsen(TODAY))
    detailed = engine.sql("SELECT DISTINCT account_id FROM daily_total WHERE user_id > 0")
    assert detailed == [(done[-1],)]


def test_the_check_finds_a_total_that_is_not_the_ledgers(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=100)
    charged_lookups(engine, desk, ana, [NOW, NOW + 1])
    engine.run(desk.totals.fold(NOW + HOUR_MS))
    engine.sql("UPDATE daily_total SET credits = credits + 1 WHERE part = 'client' RETURNING 1")
    (complaint,) = desk.check().complaints
    assert complaint == (
        "conta ana: os totais diários (client) não são os lançamentos, em 1 dias a partir de"
        f" {TODAY.isoformat()}"
    )
    # By another process: the folding one detects it.
    assert engine.run(desk.totals.fold(NOW + HOUR_MS)) == 0
    other = engine.open()
    engine.run(other.totals.reset(ana.account_id))
    other.close()
    assert desk.check().complaints == []
    assert engine.run(desk.totals.fold(NOW + HOUR_MS)) == 2
    assert desk.check().complaints == []


def test_days_are_those_of_brasilia(engine: Engine, desk: Desk) -> None:
    """Also a day of 23 hours: summer time began at midnight."""
    ana = open_account(engine, desk, "ana", credits=100, at_ms=brasilia("2018-11-01 00:00:00"))
    began = day_starts_ms(date(2018, 11, 4))
    charged_lookups(
        engine, desk, ana, [began - 1, began, began + 23 * HOUR_MS - 1, began + 23 * HOUR_MS]
    )
    for _ in range(2):
        found = desk.totals.read(ana.account_id, date(2018, 11, 3), date(2018, 11, 5), ("day",))
        assert [(one.day, one.requests) for one in found] == [
            ("2018-11-03", 1),
            ("2018-11-04", 2),
            ("2018-11-05", 1),
        ]
        engine.run(desk.totals.fold(NOW))


def test_an_unknown_account_has_no_totals(desk: Desk) -> None:
    assert desk.totals.read(4711, TODAY, TODAY, ("day",)) == []
    with pytest.raises(LookupError):
        desk.totals.books(4711, TODAY, TODAY)


def test_a_months_fingerprint_outlives_the_details(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=100)
    charged_lookups(engine, desk, ana, [NOW + n for n in range(5)])
    before = desk.totals.fingerprint(ana.account_id, TODAY, TODAY)
    assert before.entries == 6  # the top-up among them
    lines = [
        f"{entry.at_ms};{entry.kind};{entry.credits};{entry.request_id or ''};"
        f"{entry.operation or ''};{entry.rule or ''};{entry.origin or ''};;;{entry.reason or ''}\n"
        for entry in sorted(
            desk.entries(ana.account_id, 0, NOW * 2), key=lambda entry: (entry.at_ms, entry.kind)
        )
    ]
    assert before.digest == hashlib.sha256("".join(lines).encode()).hexdigest()
    engine.sql("DELETE FROM charged_lookup RETURNING 1")
    assert desk.totals.fingerprint(ana.account_id, TODAY, TODAY) == before
    assert desk.totals.sealed(ana.account_id, "2026-08") is None
    for found in (before, Fingerprint(7, "other")):
        engine.run(desk.totals.seal(ana.account_id, "2026-08", found))
        assert desk.totals.sealed(ana.account_id, "2026-08") == found
