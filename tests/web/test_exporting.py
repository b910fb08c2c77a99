"""Files of long lists: requested by form, written by a job, then downloaded (contract 15.6)."""

import asyncio
import csv
import datetime
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from balcao.batches.tables.opening import open_table
from balcao.core.calendar import HOUR_MS, civil_day_text, day_starts_ms
from balcao.core.ledger import Trace
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import StoredExport
from balcao.storage.people import TraceFilter
from balcao.web.pages.history import files
from balcao.web.pages.history import pages as history
from balcao.web.pages.history.exporting import FileWriting
from balcao.web.pages.history.files import FileContext
from balcao.web.pages.history.requests import Names
from tests.records import company
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.test_statement import cells

CNPJ = "90010001000100"


@pytest.fixture
def browser(house: Service, who: Client, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Return a manager of an account with more requests than are sent at once."""
    monkeypatch.setattr(history, "AT_ONCE_MAX", 2)
    for _ in range(4):
        assert house.get(company(CNPJ), who).status == 200
    return signed_in(house, who)


def asked_for(house: Service, who: Client) -> StoredExport | None:
    users = house.desk.people.users(who.account_id)
    for user in users:
        found = asyncio.run(house.desk.exports.of_user(who.account_id, user.user_id))
        if found is not None:
            return found
    return None


def hidden(page: PageResponse) -> dict[str, str]:
    """Return the fields that the button sends."""
    (form,) = page.tree.xpath("//form[@action='/app/historico/arquivo']")
    return {each.get("name"): each.get("value") for each in form.xpath(".//input")}


def write(desk: Desk, export: StoredExport | None, folder: Path) -> None:
    assert export is not None
    asyncio.run(FileWriting(desk, folder).write(export.export_id))


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_long_list_is_a_file_that_is_ready_later(
    house: Service, who: Client, browser: Browser, tmp_path: Path, form: str
) -> None:
    response = browser.get(f"/app/historico.{form}?operacao=cnpj-receita-federal")
    assert response.status == 303
    assert f"arquivo={form}" in response.location
    page = browser.get(response.location)
    assert "Um arquivo deste tamanho é preparado em segundo plano" in page.words
    answer = browser.post("/app/historico/arquivo", hidden(page))
    assert answer.status == 303
    export = asked_for(house, who)
    assert export is not None
    if export.size_bytes is None:  # the service's own worker may have been faster
        write(house.desk, export, tmp_path)
    assert "Seu arquivo está pronto" in browser.get("/app/historico").words
    file = browser.get("/app/historico/arquivo")
    assert file.status == 200
    assert file.headers["content-disposition"].endswith(f'.{form}"')
    assert int(file.headers["content-length"]) == len(file.content)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff")), delimiter=";"))
        assert len(rows) == 4
        assert set(rows[0]) == {column.name for column in files.COLUMNS}
    else:
        head, *lines, total = cells(file.content, 2)
        assert head[:4] == ["Quando", "Número da consulta", "O que", "Documento"]
        assert len(lines) == 4
        assert total[0] == "Total"
    # Not another person's.
    assert signed_in(house, house.account(f"alheia-{form}")).get(
        "/app/historico/arquivo"
    ).status == 303  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_a_former_manager_cannot_download_a_manager_s_file(
    house: Service, who: Client, browser: Browser, tmp_path: Path
) -> None:
    page = browser.get(browser.get("/app/historico.csv").location)
    browser.post("/app/historico/arquivo", hidden(page))
    export = asked_for(house, who)
    assert export is not None
    if export.size_bytes is None:
        write(house.desk, export, tmp_path)
    assert browser.get("/app/historico/arquivo").status == 200
    desk, user = house.desk, browser.user
    assert user is not None
    house.run(
        desk.people.change_user(
            user.user_id, user.name, "consultant", AT_THE_TERMINAL, user.seen_ms or 0
        )
    )
    assert browser.get("/app/historico/arquivo").status == 303
    assert "Seu arquivo" not in browser.get("/app/historico").words


def test_short_lists_are_sent_at_once(house: Service, who: Client, browser: Browser) -> None:
    history.AT_ONCE_MAX = 4  # the fixture restores it
    assert browser.get("/app/historico.csv").status == 200
    assert "Seu arquivo" not in browser.get("/app/historico").words


def test_an_abandoned_file_is_not_written(
    house: Service, who: Client, browser: Browser, tmp_path: Path
) -> None:
    desk = house.desk
    asyncio.run(FileWriting(desk, tmp_path).write("4711"))
    assert desk.exports is not None
    assert not list(tmp_path.iterdir())


def test_charged_requests_are_read_day_by_day(
    house: Service, who: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page of them reads its whole period: for a month, a file would take forever."""
    desk, asked = house.desk, []

    def noted(
        account_id: int, wanted: TraceFilter, limit: int, before: str | None = None
    ) -> Sequence[Trace]:
        asked.append((wanted.from_ms, wanted.to_ms))
        return ()

    monkeypatch.setattr(desk.people, "traces", noted)
    from_ms, to_ms = (
        day_starts_ms(datetime.date(2026, 2, 27)),
        day_starts_ms(datetime.date(2026, 3, 1)) + HOUR_MS,
    )
    wanted = TraceFilter(from_ms, to_ms)
    for charged in (False, True):
        assert not list(files.all_of(desk, who.account_id, replace(wanted, charged=charged)))
    whole, *days = asked
    assert whole == (from_ms, to_ms)
    assert [civil_day_text(each) for each, _ in days] == ["2026-03-01", "2026-02-28", "2026-02-27"]
    assert [each for _, each in days] == [to_ms, *[each for each, _ in days[:-1]]]
    assert days[-1][0] == from_ms


def test_sheets_have_as_many_rows_as_sheets_may(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.storage.people import a_trace

    monkeypatch.setattr(files, "SHEET_ROWS_MAX", 3)
    names = Names({None: "aplicação web", 1: "ERP"}, {})

    class Owner:
        account_id = 1

    traces = [a_trace(Owner(), f"r{n}", credits=2) for n in range(7)]  # type: ignore[arg-type]
    file = io.BytesIO()
    about = FileContext(datetime.date(2026, 11, 28), None)
    files.write_workbook(map(names.row, traces), about, file)
    counts = [len(cells(file.getvalue(), sheet)) - 2 for sheet in (2, 3, 4)]
    assert counts == [3, 3, 1]
    assert cells(file.getvalue(), 4)[-1][11] == 14
    (tmp_path / "historico.xlsx").write_bytes(file.getvalue())
    with open_table(tmp_path / "historico.xlsx") as table:  # as the list of a batch
        assert table.header[3] == "Documento"
    empty = io.BytesIO()
    files.write_workbook(iter(()), about, empty)
    assert len(cells(empty.getvalue(), 2)) == 2
    assert ["Consultas", 0] in cells(empty.getvalue(), 1)
