"""When certificates of portfolios are bought again, and by which question (contract 20.6)."""

from datetime import date, datetime
from typing import Any

import msgspec
import pytest

from balcao.core.business_days import business_day_from, business_day_until, is_business_day
from balcao.core.calendar import BRASILIA, from_ms, to_ms
from balcao.core.errors import NewIssueRefused
from balcao.core.idempotency import is_valid_key
from balcao.core.paper_notices import EXPIRED, failing_near_end, notice_due
from balcao.core.papers import NOT_ISSUED, Paper
from balcao.core.renewals import (
    AFTER_THE_END,
    after_failure,
    next_renewal_ms,
    plan_of,
    query_of,
    renewal_key,
)
from balcao.core.wallet import Renewal

TERMS = Renewal()
ANY_DAY = Renewal(dias_uteis=False)
MINUTE = 60_000


def at(day: str, hour: int = 9, minute: int = 0) -> int:
    year, month, number = map(int, day.split("-"))
    return to_ms(datetime(year, month, number, hour, minute, tzinfo=BRASILIA))


NOW = at("2026-08-05")  # a Wednesday
EMPTY = Paper(
    "p1", 1, "certidao_federal", "", "90010001", None, None, None, None, None, None, None, None,
    None, None, None, None, 0, 0, 0, None, None, None, None, 0,
)  # fmt: skip


def a_paper(last_day: str | None = "2026-09-18", **changes: Any) -> Paper:
    values: dict[str, Any] = {
        "verdict": "CND", "issued_on": "2026-03-22", "validity": last_day, "last_day": last_day,
        "answered_ms": at("2026-03-22"),
    }  # fmt: skip
    return msgspec.structs.replace(EMPTY, **{**values, **changes})


def planned(
    paper: Paper,
    terms: Renewal | None = TERMS,
    now_ms: int = NOW,
    *,
    reissues: bool = True,
) -> str | None:
    at_ms = next_renewal_ms(paper, terms, now_ms, reissues=reissues)
    return None if at_ms is None else from_ms(at_ms).date().isoformat()


@pytest.mark.parametrize(
    ("day", "business"),
    [
        ("2026-11-20", False),  # a Friday, national since 2024
        ("2026-04-03", False),  # Good Friday
        ("2026-02-17", True),  # carnival is no holiday
        ("2026-11-28", False),
        ("2026-11-30", True),
    ],
)
def test_weekends_and_national_holidays_are_no_business_days(day: str, *, business: bool) -> None:
    assert is_business_day(date.fromisoformat(day)) is business


def test_business_days_before_and_after() -> None:
    assert business_day_from(date(2026, 11, 20)) == date(2026, 11, 23)
    assert business_day_until(date(2026, 11, 22)) == date(2026, 11, 19)


@pytest.mark.parametrize(
    ("changes", "terms", "expected"),
    [
        ({}, TERMS, "2026-09-08"),
        ({}, None, None),
        ({"kind": "outra", "name": "Alvará", "verdict": None}, TERMS, None),
        ({}, Renewal(dias_antes=11), "2026-09-08"),  # Independence Day moves to the next day
        ({}, Renewal(dias_antes=11, dias_uteis=False), "2026-09-07"),
        ({"last_day": "2026-09-07"}, Renewal(dias_antes=1), "2026-09-04"),  # the end comes first
        ({"last_day": "2026-08-01"}, TERMS, "2026-08-05"),  # expired
        ({"verdict": None, "last_day": None}, TERMS, "2026-08-05"),
        ({"last_day": None}, TERMS, None),  # undated
        ({"verdict": "CPD", "last_day": None}, TERMS, None),
        ({"verdict": "none", "last_day": None}, TERMS, None),
        ({"reason": NOT_ISSUED}, TERMS, None),
        ({"purchases": 1, "last_day": "2026-09-06"}, TERMS, "2026-09-06"),  # a Sunday
        ({"purchases": 1, "last_day": "2026-08-05", "answered_ms": NOW}, TERMS, "2026-08-06"),
        ({"purchases": 2}, TERMS, None),
        # Never within the first half of its life.
        ({"issued_on": "2026-08-20"}, Renewal(dias_antes=60), "2026-09-03"),
        ({"kind": "certidao_estadual", "uf": "SP"}, TERMS, "2026-09-08"),
    ],
)
def test_a_certificate_is_bought_so_many_days_before_its_end(
    changes: dict[str, Any], terms: Renewal | None, expected: str | None
) -> None:
    assert planned(a_paper(**changes), terms) == expected


def test_sources_that_issue_nothing_new_are_asked_after_the_end() -> None:
    paper = a_paper()
    assert planned(paper, reissues=False) == "2026-09-21"
    assert planned(paper, ANY_DAY, reissues=False) == "2026-09-19"
    assert plan_of(paper, TERMS, NOW, reissues=False).reason == AFTER_THE_END
    waiting = a_paper(reason=AFTER_THE_END)
    assert plan_of(waiting, TERMS, NOW, reissues=True).reason is None
    labour = a_paper(kind="certidao_trabalhista")
    assert planned(labour, reissues=False) == "2026-09-08"
    refused = after_failure(paper, NewIssueRefused.code, TERMS, NOW, reissues=True)
    assert (refused.attempts, refused.failures, refused.reason) == (1, 1, NewIssueRefused.code)
    assert from_ms(refused.next_ms or 0).date().isoformat() == "2026-09-21"
    assert plan_of(refused, TERMS, NOW, reissues=True) == (refused.next_ms, NewIssueRefused.code)
    once = a_paper("2026-08-01", purchases=1, answered_ms=NOW)
    assert planned(once, reissues=False) == "2026-08-06"


def test_failures_are_tried_again_three_times_in_a_day_and_then_daily() -> None:
    paper, minutes = a_paper(), []
    for _ in range(5):
        paper = after_failure(paper, "CERTIDAO_FALHOU", TERMS, NOW, reissues=True)
        minutes.append(((paper.next_ms or 0) - NOW) // MINUTE)
    assert minutes == [20, 60, 180, 1440, 1440]
    assert (paper.attempts, paper.failures, paper.purchases) == (5, 5, 0)


@pytest.mark.parametrize(("now", "day"), [(at("2026-09-08", 7), 8), (at("2026-09-08", 20), 9)])
def test_papers_are_spread_over_the_window(now: int, day: int) -> None:
    terms = Renewal(janela="08:30-12:00")
    instants = [
        next_renewal_ms(a_paper(paper_id=f"p{number}"), terms, now, reissues=True) or 0
        for number in range(500)
    ]
    times = [from_ms(each) for each in instants]
    assert {each.day for each in times} == {day}
    assert all("08:30" <= f"{each:%H:%M}" < "12:00" for each in times)
    assert len(set(instants)) > 490


def test_within_the_window_nothing_waits_for_its_time_of_tomorrow() -> None:
    noon = at("2026-09-08", 19, 59)
    assert next_renewal_ms(a_paper(), TERMS, noon, reissues=True) == noon


def test_each_kind_has_its_question() -> None:
    new = {"preferencia_emissao": "nova", "cache_strategy": "SO_ONLINE"}
    assert query_of(a_paper(), reissues=True) == new
    assert query_of(a_paper(), reissues=False) == {}
    assert query_of(a_paper(reason=NewIssueRefused.code), reissues=True) == {}
    assert query_of(a_paper(kind="regularidade_fgts"), reissues=True) == {
        "atualizar_online": "true"
    }
    unknown = a_paper(None, verdict=None)
    assert query_of(unknown, reissues=True) == {}
    assert query_of(msgspec.structs.replace(unknown, kind="regularidade_fgts"), reissues=True) == {}


def test_no_client_can_send_the_key_of_a_renewal() -> None:
    key = renewal_key("i", a_paper(attempts=2))
    assert key.strip() == "carteira/i/p1/2026-09-18/3"
    assert not is_valid_key(key)
    assert renewal_key("i", a_paper(None), 7).strip() == "carteira/i/p1/-/1/7"


@pytest.mark.parametrize(
    ("today", "told", "expected"),
    [
        ("2026-09-07", None, None),
        ("2026-09-08", None, 10),
        ("2026-09-08", 10, None),
        ("2026-09-10", 10, None),
        ("2026-09-13", 10, 5),
        ("2026-09-16", None, 5),  # late: the one of 10 counts as written
        ("2026-09-17", 5, 1),
        ("2026-09-12", 5, None),  # a clock that was set back
        ("2026-09-18", 5, None),  # the last day
        ("2026-09-19", 5, EXPIRED),
        ("2026-10-19", None, EXPIRED),
        ("2026-10-19", 0, None),
    ],
)
def test_each_notice_is_due_once(today: str, told: int | None, expected: int | None) -> None:
    day, days = date.fromisoformat(today), (10, 5, 1)
    assert notice_due(a_paper(told=told), days, day) == expected
    by_hand = a_paper(told=told, kind="outra", verdict=None, name="Alvará")
    assert notice_due(by_hand, days, day) == expected
    assert notice_due(a_paper(told=told, verdict="CPD"), days, day) is None
    assert notice_due(a_paper(None, told=told), days, day) is None


def test_a_certificate_that_fails_is_reported_again_three_days_before_its_end() -> None:
    found = {
        day: failing_near_end(a_paper(failures=2), date(2026, 9, day)) for day in (14, 15, 18, 19)
    }
    assert found == {14: False, 15: True, 18: True, 19: False}
    assert not failing_near_end(a_paper(), date(2026, 9, 18))
