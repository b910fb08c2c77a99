"""`/app/extrato/2026-10`: the unchanging sheet of a month that is over (contract 15.5)."""

import datetime
import re
import uuid

import pytest

from balcao.accounts.statement import Period, month_of
from balcao.core.calendar import civil_day, day_starts_ms
from balcao.core.ledger import Charge, TopUp
from balcao.service.clock import system_now_ms
from balcao.web.pages.statement.query import before_in_words, neighbours, title_of
from tests.service import Client, Service
from tests.web.browser import signed_in
from tests.web.test_statement import cells

LAST_MONTH = month_of(civil_day(system_now_ms()).replace(day=1) - datetime.timedelta(days=1))
MONTH = f"{LAST_MONTH.first:%Y-%m}"


def charge(house: Service, who: Client, at_ms: int, credits: int, client: str | None) -> None:
    entry = Charge(
        who.account_id, who.key_id, str(uuid.uuid4()), "suframa", credits, "suframa/lookup",
        "cache", at_ms, client,
    )  # fmt: skip
    assert house.desk.commit_now([entry]) is None


@pytest.fixture
def who(house: Service) -> Client:
    """Return an account that was used in the last month, and once before and after it."""
    made = house.account(f"mensal-{uuid.uuid4().hex[:6]}", credits=0)
    begins, ends = LAST_MONTH.from_ms, LAST_MONTH.to_ms
    house.desk.commit_now([TopUp(made.account_id, 100, "antes", begins - 2)])
    charge(house, made, begins - 1, 1, None)
    charge(house, made, begins, 2, "loja-7")
    house.desk.commit_now([TopUp(made.account_id, 30, "pedido 7", begins + 5)])
    charge(house, made, ends - 1, 4, None)
    charge(house, made, ends, 8, None)
    return made


def test_the_sheet_has_the_month_s_figures(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    answer = browser.get(f"/app/extrato/{MONTH}")
    assert answer.status == 200
    words = re.sub(r"\s+", "", answer.words)
    for each in (
        "iníciododia99", "Créditosacrescentados+30", "Consumodoperíodo−6", "123", "loja-7",
        "2consultascobradas;3lançamentos", "Suframa:1porconsulta", "pedido7", "semcliente",
    ):  # fmt: skip
        assert each in words, each
    workbook = browser.get(f"/app/extrato/{MONTH}/planilha.xlsx").content
    assert cells(workbook, 4)[1][0] == "Suframa: 1 por consulta concluída"
    summary = {row[0]: row[1] for row in cells(workbook, 1)}
    assert summary["Saldo no início, em créditos"] == 99
    assert summary["Saldo no fim, em créditos"] == 123
    assert summary["Lançamentos"] == 3
    digest = summary["SHA-256 dos lançamentos"]
    assert str(digest) in answer.words
    # It is the ledger's, and was stored.
    totals, number = house.desk.totals, who.account_id
    made = totals.fingerprint(number, LAST_MONTH.first, LAST_MONTH.last)
    assert made == totals.sealed(number, MONTH)
    assert made.digest == digest


def test_a_late_entry_changes_the_fingerprint(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    before = browser.get(f"/app/extrato/{MONTH}").words
    charge(house, who, LAST_MONTH.from_ms + 1, 1, None)
    after = browser.get(f"/app/extrato/{MONTH}").words
    assert "3 consultas cobradas; 4 lançamentos" in after
    assert before.partition("SHA-256")[2][:90] != after.partition("SHA-256")[2][:90]


def test_a_month_that_is_not_over_redirects_to_the_statement(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    today = civil_day(system_now_ms())  # which may not be the month in which the tests began
    this = month_of(today)
    answer = browser.get(f"/app/extrato/{today:%Y-%m}")
    assert (answer.status, answer.location) == (
        303, f"/app/extrato?de={this.first}&ate={this.last}",
    )  # fmt: skip
    for wrong in ("2026-13", "2026-1", "outubro", "9999-12"):
        assert browser.get(f"/app/extrato/{wrong}").status == 404
    # The statement of a month that is over links to it.
    month = browser.get(f"/app/extrato?de={LAST_MONTH.first}&ate={LAST_MONTH.last}")
    assert month.tree.xpath(f"//a[@href='/app/extrato/{MONTH}']")
    assert not browser.get("/app/extrato").tree.xpath("//a[contains(., 'Demonstrativo')]")


def test_sheets_of_other_accounts_are_not_found(house: Service, who: Client) -> None:
    operator = signed_in(house, role="operator")
    answer = operator.get(f"/app/operador/contas/{who.account_id}/extrato/{MONTH}")
    assert answer.status == 200
    assert "3 lançamentos" in answer.words
    stranger = signed_in(house, house.account(f"outra-{uuid.uuid4().hex[:6]}"))
    assert "0 lançamentos" in stranger.get(f"/app/extrato/{MONTH}").words
    assert stranger.get(f"/app/operador/contas/{who.account_id}/extrato/{MONTH}").status in {
        403, 404,
    }  # fmt: skip


DAY = datetime.date.fromisoformat


def a_period(first: str, last: str) -> Period:
    return Period(DAY(first), DAY(last))


@pytest.mark.parametrize(
    ("period", "before", "words"),
    [
        (("2026-10-01", "2026-10-31"), ("2026-09-01", "2026-09-30"), "setembro"),
        (("2026-03-01", "2026-03-31"), ("2026-02-01", "2026-02-28"), "fevereiro"),
        (("2026-01-01", "2026-01-31"), ("2025-12-01", "2025-12-31"), "dezembro"),
        (("2026-11-01", "2026-11-23"), ("2026-10-01", "2026-10-23"), "1º a 23 de outubro"),
        (("2026-11-01", "2026-11-01"), ("2026-10-01", "2026-10-01"), "1º de outubro"),
        (("2026-03-01", "2026-03-30"), ("2026-02-01", "2026-02-28"), "fevereiro"),
        (("2026-10-25", "2026-11-23"), ("2026-09-25", "2026-10-24"), "os 30 dias antes"),
        (("2026-11-23", "2026-11-23"), ("2026-11-22", "2026-11-22"), "o dia antes"),
    ],
)
def test_the_period_of_comparison(
    period: tuple[str, str], before: tuple[str, str], words: str
) -> None:
    """Contract 15.2."""
    assert a_period(*period).before == a_period(*before)
    assert before_in_words(a_period(*period)) == words


def test_months_step_by_months_and_days_by_as_many() -> None:
    today = DAY("2026-11-23")
    assert neighbours(a_period("2026-10-01", "2026-10-31"), today) == (
        a_period("2026-09-01", "2026-09-30"),
        a_period("2026-11-01", "2026-11-23"),
    )
    assert neighbours(a_period("2026-11-01", "2026-11-23"), today) == (
        a_period("2026-10-01", "2026-10-31"),
        None,
    )
    assert neighbours(a_period("2026-11-10", "2026-11-12"), today) == (
        a_period("2026-11-07", "2026-11-09"),
        a_period("2026-11-13", "2026-11-15"),
    )
    assert title_of(a_period("2026-10-01", "2026-10-31"), today) == "outubro de 2026"
    assert title_of(a_period("2026-11-01", "2026-11-23"), today) == "novembro de 2026"
    assert title_of(a_period("2026-10-01", "2026-10-30"), today) == "01/10/2026 a 30/10/2026"
    assert title_of(a_period("2026-10-02", "2026-10-02"), today) == "02/10/2026"
    assert day_starts_ms(today) == a_period("2026-11-23", "2026-11-23").from_ms
