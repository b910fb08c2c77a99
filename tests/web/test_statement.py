"""`/app/extrato`: its figures are those of the desk, and the ledger's entries add up to them."""

import csv
import datetime
import io
import uuid
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from lxml import etree

from balcao.accounts import statement
from balcao.accounts.keys import issue_key
from balcao.accounts.statement import ChargeFilter, Period, Proof, rows_of
from balcao.core.calendar import civil_day
from balcao.core.column_letters import column_index
from balcao.core.ledger import Charge, TopUp
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.web.pages.statement import pages
from tests.records import federal_of
from tests.service import Client, Service
from tests.web.browser import signed_in

CNPJ = "90010001000100"
DAY_MS = 86_400_000
FORMULA = "=1+1"


def days_ago(days: int) -> str:
    return (civil_day(system_now_ms()) - datetime.timedelta(days)).isoformat()


def charge(
    house: Service,
    of: Client,
    days: int,
    credits: int,
    operation: str = "sintegra",
    *,
    origin: Any = "online",
    key_id: int | None = 0,
) -> None:
    """Write a charge of some days ago into the ledger."""
    entry = Charge(
        of.account_id,
        of.key_id if key_id == 0 else key_id,
        str(uuid.uuid4()),
        operation,
        credits,
        "regra",
        origin,
        system_now_ms() - days * DAY_MS,
    )
    assert house.desk.commit_now([entry]) is None


@pytest.fixture(scope="module")
def used(house: Service) -> Client:
    """Return an account with a history. One key is named like a formula."""
    who = house.account("usada", credits=0)
    desk, now = house.desk, system_now_ms()
    # Old top-ups, and some in the period.
    desk.commit_now([TopUp(who.account_id, 1_000, "antes", now - 100 * DAY_MS)])
    desk.commit_now([TopUp(who.account_id, 50, "depois", now - 4 * DAY_MS)])
    home = Home(house.settings.home)
    _, odd = issue_key(desk, home, house.balance(who), FORMULA, now)
    charge(house, who, 90, 7)
    charge(house, who, 5, 3)
    charge(house, who, 5, 2, "cnpj-receita-federal", origin="cache", key_id=None)
    charge(house, who, 4, 4, origin="cache", key_id=odd.key_id)
    charge(house, who, 1, 1, "suframa")
    return who


def table(response: Any) -> Sequence[Sequence[str]]:
    rows = response.tree.xpath("//table[caption[contains(., 'Consumo por')]]/tbody/tr")
    return [[cell.text_content().strip() for cell in row] for row in rows if len(row) > 1]


def total(response: Any) -> Sequence[str]:
    cells = response.tree.xpath("//table[caption[contains(., 'Consumo por')]]/tfoot/tr/td")
    return [cell.text_content().strip() for cell in cells]


def test_the_page_has_the_desk_s_figures(house: Service, used: Client) -> None:
    response = signed_in(house, used).get("/app/extrato")
    assert response.status == 200
    today = civil_day(system_now_ms())
    period = Period.of(None, None, today)
    with house.desk.totals.snapshot() as moment:
        rows = [*rows_of(moment, used.account_id, period, ChargeFilter())]
    assert len(rows) == 4
    assert total(response)[-1] == str(sum(row.credits for row in rows)) == "10"
    # And both equal the ledger's entries.
    entries = house.desk.entries(used.account_id, period.from_ms, period.to_ms)
    assert -sum(entry.credits for entry in entries if entry.kind != "top_up") == 10
    # By operation, the most credits first.
    assert [(row[0], *row[-2:]) for row in table(response)] == [
        ("Inscrições estaduais", "2", "7"),
        ("Empresa", "1", "2"),
        ("Suframa", "1", "1"),
    ]
    # By day, the newest first.
    response = signed_in(house, used).get("/app/extrato?agrupar=dia")
    assert [row[-1] for row in table(response)] == ["1", "4", "5"]
    response = signed_in(house, used).get("/app/extrato?agrupar=operacao&por_dia=1")
    assert [row[-1] for row in table(response)] == ["1", "4", "3", "2"]


def test_the_proof_goes_from_balance_to_balance(house: Service, used: Client) -> None:
    words = signed_in(house, used).get("/app/extrato").words
    slip = words.partition("A soma fecha?")[2].partition("Consumo por dia,")[0]
    assert "início do dia993" in slip.replace("dia 993", "dia993")  # 1000 - 7
    assert "+50" in slip
    assert "−10" in slip
    assert "1.033" in slip
    assert "Confere com o livro-razão" in slip
    assert house.balance(used).balance_credits == 1033


def test_a_period_that_is_over_is_proven_too(house: Service, used: Client) -> None:
    browser = signed_in(house, used)
    response = browser.get(f"/app/extrato?de={days_ago(6)}&ate={days_ago(5)}")
    slip = response.words.partition("A soma fecha?")[2]
    assert "988" in slip  # 993 - 5
    assert "Confere com o livro-razão" in slip
    assert "Com os posteriores (45)" in slip  # 50 - 5


def test_the_debt_of_a_postpaid_account(house: Service) -> None:
    who = house.account("devedora", plan="pos_pago", credits=0)
    charge(house, who, 40, 5)
    charge(house, who, 2, 4)
    words = signed_in(house, who).get("/app/extrato").words
    slip = words.partition("A soma fecha?")[2]
    assert "Devido em" in slip
    assert "+4" in slip
    assert "Devido no fim de" in slip
    assert "valor devido atual é 9" in slip
    assert "Confere" in slip


def test_a_ledger_that_does_not_add_up_is_reported(
    house: Service, used: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = statement.read_statement

    def missing(*asked: Any) -> Any:
        response = real(*asked)
        return replace(response, books=replace(response.books, charged=9))

    monkeypatch.setattr(pages, "read_statement", missing)
    response = signed_in(house, used).get("/app/extrato")
    assert "Não confere com o livro-razão" in response.words
    assert response.tree.xpath("//*[@role='alert']")


@pytest.mark.parametrize(
    ("query", "credits"),
    [
        ("operacao=sintegra", ["4", "3"]),
        ("origem=cache", ["4", "2"]),
        ("chave=web", ["2"]),
        ("operacao=sintegra&origem=online", ["3"]),
        ("origem=outra&chave=nenhuma", ["1", "4", "3", "2"]),  # an unknown filter
        ("chave=999999&operacao=nada", ["1", "4", "3", "2"]),
        ("pessoa=x&uf=XX", ["1", "4", "3", "2"]),
        ("pessoa=4711", []),
        ("pessoa=(sem)&uf=(sem)&cliente=(sem)", ["1", "4", "3", "2"]),
        ("uf=SP", []),
    ],
)
def test_filters(house: Service, used: Client, query: str, credits: Sequence[str]) -> None:
    browser = signed_in(house, used)
    response = browser.get(f"/app/extrato?por_dia=1&{query}")
    assert [row[-1] for row in table(response)] == credits
    assert "Confere com o livro-razão" in response.words  # of everything, regardless of filters
    lines = browser.get(f"/app/extrato.csv?{query}").text.splitlines()
    assert len(lines) == len(credits) + 1


def test_the_key_filter(house: Service, used: Client) -> None:
    response = signed_in(house, used).get(f"/app/extrato?por_dia=1&chave={used.key_id}")
    assert [row[-1] for row in table(response)] == ["1", "3"]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("de=2026-02-30", "Uma das datas não existe."),
        ("de=ontem", "Uma das datas não existe."),
        ("de=2026-03-02&ate=2026-03-01", "A primeira data é depois da última."),
        ("de=2025-01-01&ate=2026-01-02", "O período pode ter no máximo 366 dias."),
    ],
)
def test_invalid_periods(house: Service, used: Client, query: str, complaint: str) -> None:
    browser = signed_in(house, used)
    response = browser.get(f"/app/extrato?{query}")
    assert response.status == 422
    assert complaint in response.words
    for file in ("csv", "xlsx"):
        answer = browser.get(f"/app/extrato.{file}?{query}")
        assert (answer.status, answer.location[:13]) == (303, "/app/extrato?")


def test_csv_equals_the_api_s(house: Service, used: Client) -> None:
    """Rows and bytes equal those of `/conta/v1/consumo?formato=csv`."""
    response = signed_in(house, used).get("/app/extrato.csv")
    first, last = days_ago(29), days_ago(0)
    assert response.content == house.get("/conta/v1/consumo?formato=csv", used).body
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    named = response.headers["content-disposition"]
    assert named == f'attachment; filename="extrato-{first}-{last}.csv"'
    rows = list(csv.DictReader(io.StringIO(response.text.removeprefix("\ufeff")), delimiter=";"))
    assert [int(row["creditos"]) for row in rows] == [2, 3, 4, 1]
    assert [row["chave"] for row in rows] == ["aplicação web", "teste", f"'{FORMULA}", "teste"]


SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(content: bytes, number: int) -> Sequence[Sequence[str | float | None]]:
    """Return a sheet's cells: texts and numbers. A formula fails the test."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        page = etree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
    assert not list(page.iter(f"{SHEET}f"))
    rows = []
    for row in page.iter(f"{SHEET}row"):
        values: list[str | float | None] = []
        for cell in row.iter(f"{SHEET}c"):
            at = column_index(cell.get("r", "").rstrip("0123456789")) or 0
            values += [None] * (at - len(values))  # empty cells are omitted
            text = cell.find(f"{SHEET}is")
            value = cell.findtext(f"{SHEET}v")
            if text is not None:
                values.append("".join(str(piece) for piece in text.itertext()))
            else:
                values.append(None if value is None else float(value))
        rows.append(values)
    return rows


def serial(day: str) -> float:
    """Return a day's number in spreadsheets."""
    return float((datetime.date.fromisoformat(day) - datetime.date(1899, 12, 30)).days)


def test_the_spreadsheet_has_the_same_rows_as_numbers_and_days(
    house: Service, used: Client
) -> None:
    response = signed_in(house, used).get("/app/extrato.xlsx")
    assert response.status == 200
    assert response.headers["content-disposition"].endswith('.xlsx"')
    head, *rows, total = cells(response.content, 2)
    usual = ["Dia", "Operação", "Chave", "Origem", "Consultas", "Créditos"]
    assert head == [*usual, "Cliente", "Referência"]
    assert rows == [
        [serial(days_ago(5)), "Empresa", "aplicação web", "guardado", 1.0, 2.0],
        [serial(days_ago(5)), "Inscrições estaduais", "teste", "da fonte", 1.0, 3.0],
        [serial(days_ago(4)), "Inscrições estaduais", FORMULA, "guardado", 1.0, 4.0],
        [serial(days_ago(1)), "Suframa", "teste", "da fonte", 1.0, 1.0],
    ]
    assert total == ["Total", None, None, None, 4.0, 10.0]
    summary = {row[0]: row[1] for row in cells(response.content, 1)}
    assert summary["Conta"] == "usada"
    assert summary["Créditos consumidos"] == 10
    assert summary["Saldo no início do período, em créditos"] == 993
    assert summary["Saldo no fim do período, em créditos"] == 1033
    assert summary["Confere com o livro-razão"] == "sim"


def test_the_sheet_has_its_header_frozen(house: Service, used: Client) -> None:
    response = signed_in(house, used).get("/app/extrato.xlsx")
    with zipfile.ZipFile(io.BytesIO(response.content)) as book:
        page = etree.fromstring(book.read("xl/worksheets/sheet2.xml"))
        names = etree.fromstring(book.read("xl/workbook.xml"))
    (pane,) = page.iter(f"{SHEET}pane")
    assert (pane.get("state"), pane.get("ySplit")) == ("frozen", "1")
    assert list(page.iter(f"{SHEET}col"))
    assert [each.get("name") for each in names.iter(f"{SHEET}sheet")] == ["Resumo", "Consumo"]


def test_a_year_of_an_account_with_many_keys_is_a_small_page(house: Service) -> None:
    who = house.account("grande")
    for days in range(0, 360):
        charge(house, who, days, 1)
        charge(house, who, days, 2, "suframa", origin="cache", key_id=None)
    browser = signed_in(house, who)
    response = browser.get(f"/app/extrato?agrupar=chave&por_dia=1&de={days_ago(365)}")
    assert response.status == 200
    assert len(response.content) < 100_000
    assert len(table(response)) == 60
    assert "linhas 1 a 60 de 720" in response.words
    assert total(response)[-1] == "1.080"
    (following,) = response.tree.xpath("//a[@rel='next']/@href")
    second = browser.get(following)
    assert "linhas 61 a 120 de 720" in second.words
    assert not {tuple(row) for row in table(second)} & {tuple(row) for row in table(response)}
    last = browser.get(following.replace("pagina=2", "pagina=99"))
    assert len(table(last)) == 60
    assert not last.tree.xpath("//a[@rel='next']")
    assert "Créditos por semana" in response.words


def test_each_person_sees_their_own_account(house: Service, used: Client) -> None:
    stranger = house.account("estranha")
    house.get(federal_of(CNPJ), stranger)
    # Another account's key is no filter.
    response = signed_in(house, stranger).get(f"/app/extrato?chave={used.key_id}")
    assert [row[-1] for row in table(response)] == ["2"]
    assert "Filtro desconhecido, ignorado: chave." in response.words
    response = signed_in(house, stranger).get("/app/extrato?operacao=suframa")
    assert table(response) == []
    assert "Nenhuma consulta cobrada no período, com estes filtros." in response.words


def test_a_period_ends_today_at_the_latest(house: Service, used: Client) -> None:
    browser, today = signed_in(house, used), days_ago(0)
    response = browser.get(f"/app/extrato?de={days_ago(4)}&ate={days_ago(-9)}")
    assert (response.status, response.field("ate")) == (200, today)
    assert "o período vai até hoje" in response.words
    assert [row[-1] for row in table(response)] == ["4", "1"]
    late = browser.get(f"/app/extrato?de={days_ago(-2)}&ate={days_ago(-9)}")
    assert (late.status, "A primeira data ainda não chegou." in late.words) == (422, True)


@pytest.mark.parametrize(
    ("proof", "agrees"),
    [
        (Proof(10, 5, 3, 1, 13), True),
        (Proof(10, 5, 3, 1, 12), False),  # another balance
        (Proof(10, 5, 2, 1, 13), False),  # a charge is missing in the totals
        (Proof(-10, 0, 3, -1, -14), True),
    ],
)
def test_proofs(proof: Proof, agrees: bool) -> None:
    assert proof.agrees is agrees


def test_a_choice_of_everything_includes_everything() -> None:
    assert ChargeFilter().is_all
    assert not ChargeFilter(key="web").is_all
