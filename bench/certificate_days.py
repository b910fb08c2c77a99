"""Check in 100 000 random cases that only valid certificates are served, and all of them.

    .venv/bin/python -m bench.certificate_days [CASES] [SEED]

Each case is a certificate, its validity and extension, the instant of its lookup, the present
instant, a strategy, and whether the online path is forced; instants cluster around midnight, the
ends of months, leap days and the old days of summer time. The service's decision about the entry is
compared with an independent oracle: summer time from a handwritten table, days as integers, no time
zone data and no text dates. `tests/core/test_certificate_days.py` runs a few thousand of these
cases.
"""

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from balcao.core.certificates import CertificateType, FederalCertificate, StateCertificate
from balcao.core.documents import Cnpj
from balcao.core.freshness import CacheEntry, Serve
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.operations import OPERATIONS

CNPJ = Cnpj.parse("90010001000100")
CASES = 100_000
SEED = 20_260_805
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
EPOCH = date(1970, 1, 1).toordinal()

# Summer time in Brasília: its first day, which began at 01:00, and the first day after it.
SUMMERS = (
    ("2000-10-08", "2001-02-18"),
    ("2001-10-14", "2002-02-17"),
    ("2002-11-03", "2003-02-16"),
    ("2003-10-19", "2004-02-15"),
    ("2004-11-02", "2005-02-20"),
    ("2005-10-16", "2006-02-19"),
    ("2006-11-05", "2007-02-25"),
    ("2007-10-14", "2008-02-17"),
    ("2008-10-19", "2009-02-15"),
    ("2009-10-18", "2010-02-21"),
    ("2010-10-17", "2011-02-20"),
    ("2011-10-16", "2012-02-26"),
    ("2012-10-21", "2013-02-17"),
    ("2013-10-20", "2014-02-16"),
    ("2014-10-19", "2015-02-22"),
    ("2015-10-18", "2016-02-21"),
    ("2016-10-16", "2017-02-19"),
    ("2017-10-15", "2018-02-18"),
    ("2018-11-04", "2019-02-17"),
)


def _number(day: str) -> int:
    return date.fromisoformat(day).toordinal()


# The clock went forward at midnight of standard time, and back at midnight of summer time.
_SUMMERS_MS = tuple(
    (
        (_number(first) - EPOCH) * DAY_MS + 3 * HOUR_MS,
        (_number(after) - EPOCH) * DAY_MS + 2 * HOUR_MS,
    )
    for first, after in SUMMERS
)
FIRST, LAST = _number("2001-01-01"), _number("2040-12-31")
EDGES = (
    *(_number(day) for summer in SUMMERS[1:] for day in summer),
    *(
        date(year, month, 1).toordinal() + shift
        for year in range(2002, 2040)
        for month in (1, 2, 3, 5, 12)
        for shift in (-1, 0)
    ),
    *(_number(f"{year}-02-29") for year in range(2004, 2040, 4)),
)


def brasilia_day(at_ms: int) -> int:
    """Return the number of the civil day in Brasília."""
    summer = any(start <= at_ms < end for start, end in _SUMMERS_MS)
    return EPOCH + (at_ms - (2 if summer else 3) * HOUR_MS) // DAY_MS


@dataclass(frozen=True, slots=True)
class Case:
    """One entry of the cache, and one request for it. Days are numbers."""

    kind: CertificateType | None
    code: bool
    validity: int | None
    extension: int | None
    asked_ms: int
    now_ms: int
    strategy: Strategy
    forced: Literal["", "refresh", "reissue"]


def draw(chance: random.Random) -> Case:
    """Return a random case, mostly a borderline one."""
    day = chance.choice(EDGES) if chance.random() < 0.5 else chance.randint(FIRST + 400, LAST - 400)
    midnight = (day - EPOCH) * DAY_MS + chance.choice((2, 3)) * HOUR_MS
    near = (0, 1, 999, 1000, HOUR_MS // 2, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1, 3 * HOUR_MS)
    match chance.randrange(4):
        case 0:
            now_ms = midnight + chance.choice(near)
        case 1:
            now_ms = midnight - chance.choice(near)
        case 2:
            now_ms = midnight + chance.randrange(-2 * HOUR_MS, 2 * HOUR_MS)
        case _:
            now_ms = midnight + chance.randrange(DAY_MS)
    today = brasilia_day(now_ms)
    return Case(
        chance.choice(("CND", "CND", "CPEND", "CPEND", "CPD", None)),
        chance.random() < 0.9,
        _near(chance, today, 0.08),
        _near(chance, today, 0.5),
        now_ms - _age(chance),
        now_ms,
        chance.choice(list(Strategy)),
        chance.choice(("", "", "", "refresh", "reissue")),
    )


def _near(chance: random.Random, today: int, none: float) -> int | None:
    if chance.random() < none:
        return None
    if chance.random() < 0.7:
        return today + chance.randint(-2, 3)
    return today + chance.randint(-200, 200)


def _age(chance: random.Random) -> int:
    match chance.randrange(4):
        case 0:
            return chance.choice((0, 1, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1, HOUR_MS - 1000))
        case 1:
            return chance.randrange(2 * HOUR_MS)
        case 2:
            return chance.randrange(3 * DAY_MS)
        case _:
            return chance.randrange(200 * DAY_MS)


def may_be_served(case: Case) -> bool:
    """Apply contract 4.6, by the oracle's calendar."""
    today = brasilia_day(case.now_ms)
    if case.kind in ("CND", "CPEND"):
        if not case.code or case.validity is None:
            return False
        return today < max(case.validity, case.extension or case.validity)
    young = case.now_ms - case.asked_ms < HOUR_MS
    return young and brasilia_day(case.asked_ms) == today


def expected(case: Case) -> str:
    """Return `serve`, `fallback` or `ask`, by the specification's table of strategies."""
    if not may_be_served(case):
        return "ask"
    match case.strategy:
        case Strategy.SO_ONLINE:
            return "ask"
        case Strategy.ONLINE_PREFERENCIAL:
            return "fallback" if case.kind in ("CND", "CPEND") else "ask"
    return "ask" if case.forced else "serve"


def seen(case: Case) -> str:
    """Return the service's decision."""
    operation = OPERATIONS["federal_certificate"]
    inquiry = Inquiry("federal_certificate", CNPJ, reissue=case.forced == "reissue")
    question = Question(
        "federal_certificate", (inquiry,), case.strategy, 0, refresh=case.forced == "refresh"
    )
    record = FederalCertificate(
        CNPJ.text,
        kind=case.kind,
        code="A1B2" if case.code else None,
        validity=_text(case.validity),
        extended_validity=_text(case.extension),
    )
    kept = CacheEntry(operation.encode(inquiry, record), case.asked_ms, "fonte")
    plan = operation.cache_decision(question, inquiry, kept, case.now_ms)
    if isinstance(plan, Serve):
        assert plan.kept == kept
        return "serve"
    assert plan.fallback in (None, kept)
    return "ask" if plan.fallback is None else "fallback"


def expected_of_state(case: Case) -> str:
    """Apply contract 4.7: a positive result is served until the day before its validity ends."""
    good = case.kind is not None and case.kind != "CPD"
    valid = case.validity is not None and brasilia_day(case.now_ms) < case.validity
    return "serve" if good and valid and case.forced != "refresh" else "ask"


def seen_of_state(case: Case) -> str:
    """Return the service's decision about the entry as a state's: no extension, no strategy."""
    operation = OPERATIONS["state_certificate"]
    inquiry = Inquiry("state_certificate", CNPJ, "SP")
    question = Question(
        "state_certificate",
        (inquiry,),
        Strategy.CACHE_PREFERENCIAL,
        0,
        uf="SP",
        refresh=case.forced == "refresh",
    )
    good = case.kind is not None and case.kind != "CPD"
    record = StateCertificate(
        CNPJ.text, "SP", negative=good, issued=good, validity=_text(case.validity)
    )
    kept = CacheEntry(operation.encode(inquiry, record), case.asked_ms, "fonte")
    plan = operation.cache_decision(question, inquiry, kept, case.now_ms)
    if isinstance(plan, Serve):
        return "serve"
    return "ask" if plan.fallback is None else "fallback"


def _text(day: int | None) -> str | None:
    return None if day is None else date.fromordinal(day).isoformat()


def wrong(cases: int, seed: int = SEED) -> Iterator[str]:
    """Yield every case on which the service and the oracle disagree."""
    chance = random.Random(seed)
    for _ in range(cases):
        case = draw(chance)
        if (decision := seen(case)) != (due := expected(case)):
            yield f"federal: {decision} and not {due}: {case}"
        if (decision := seen_of_state(case)) != (due := expected_of_state(case)):
            yield f"state: {decision} and not {due}: {case}"


def main(arguments: list[str]) -> None:
    cases = int(arguments[0]) if arguments else CASES
    seed = int(arguments[1]) if len(arguments) > 1 else SEED
    started = time.perf_counter()
    complaints = list(wrong(cases, seed))
    chance = random.Random(seed)
    drawn = [draw(chance) for _ in range(cases)]
    for complaint in complaints[:20]:
        print(complaint)
    due = [expected(case) for case in drawn]
    print(
        f"{cases} cases, seed {seed}: {len(complaints)} wrong;"
        f" federal: {due.count('serve')} served,"
        f" {due.count('fallback')} kept as a fallback, {due.count('ask')} asked;"
        f" {time.perf_counter() - started:.1f} s"
    )
    if complaints:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
