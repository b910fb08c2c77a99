"""The search box, the company's page, the search and the portfolio in a real browser."""

import re
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from balcao.core.item_events import ItemEvent
from balcao.opendata.errors import BuildRunning
from balcao.opendata.search.building import build_index
from balcao.opendata.search.index import has_index
from balcao.service.clock import system_now_ms
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import PATIENCE_SECONDS
from tests.web import live as people
from tests.web.accessibility import complaints
from tests.web.live import CHROMIUM, NO_BROWSER, Live, started

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)

CNPJ, ZONE = "90.010.001/0001-00", "90.010.002/0001-54"
BOX = "#procurar"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with started(tmp_path_factory.mktemp("servico")) as live:
        store = live.home.opendata("test")
        with suppress(BuildRunning):  # the service may have built it before
            build_index(store)
        until = time.monotonic() + PATIENCE_SECONDS
        while not has_index(store):
            assert time.monotonic() < until
            time.sleep(0.05)
        yield live


@pytest.fixture
def context(live: Live) -> Iterator[BrowserContext]:
    with closing(live.open_context()) as context:
        yield context


def balance(live: Live) -> int:
    with closing(SqliteDesk(live.home.desk)) as desk:
        assert not desk.check().complaints
        return next(each.balance_credits for each in desk.accounts() if each.name == "pre-pago")


def paste(page: Page, text: str) -> None:
    page.locator(BOX).focus()
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text", text);
            const pasted = new ClipboardEvent("paste",
                {clipboardData: data, bubbles: true, cancelable: true});
            if (document.activeElement.dispatchEvent(pasted))
                document.execCommand("insertText", false, text);
        }""",
        text,
    )


@pytest.mark.parametrize("scripts", [True, False], ids=["script", "no script"])
def test_from_signing_in_to_three_documents(live: Live, scripts: bool) -> None:
    """One paste and three clicks: federal and state certificates, and registrations."""
    cnpj = CNPJ if scripts else ZONE
    with closing(live.open_context(scripts=scripts)) as context:
        page = live.sign_in(context, people.CONSULTANT, again=True)
        before, clicks = balance(live), 0
        expect(page.locator(BOX)).to_be_focused()  # the page after signing in
        page.locator(BOX).fill(cnpj)
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/app/empresas/[0-9]{14}$"))
        for name in ("Certidão federal", "Certidão estadual", "Inscrições estaduais"):
            row = page.locator("table.registers tr", has_text=name).first
            row.get_by_role("button", name=re.compile("^Consultar")).click()
            clicks += 1
            row = page.locator("table.registers tr", has_text=name).first
            expect(row).to_contain_text("por Caio Brandão")
        assert clicks == 3
        assert before - 5 <= balance(live) < before
        assert page.get_by_role("link", name=re.compile("^Comprovante")).count() == 2


def test_the_key_that_leads_to_the_box(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.MANAGER)
    page.goto("/app/lotes")
    page.keyboard.press("/")
    expect(page.locator(BOX)).to_be_focused()
    expect(page.locator(BOX)).to_have_value("")
    page.keyboard.type("1/2")
    expect(page.locator(BOX)).to_have_value("1/2")  # within a field it is an ordinary character
    paste(page, f"{CNPJ}\n{ZONE}\n")
    expect(page.locator(BOX)).to_have_value(f"1/2{CNPJ} {ZONE}")
    page.locator(BOX).fill("")
    paste(page, f"{CNPJ}\n{ZONE}\n900.100.001-00")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/app/procurar"))
    expect(page.locator("#lista")).to_have_value(f"{CNPJ}\n{ZONE}\n900.100.001-00")


def test_a_double_click_on_everything_missing(live: Live, context: BrowserContext) -> None:
    page, before = live.sign_in(context, people.MANAGER), balance(live)
    page.goto("/app/empresas/90010003000107")
    page.get_by_role("button", name=re.compile("o que falta")).dblclick()
    expect(page.locator("table.registers")).not_to_contain_text("ainda não consultado")
    expect(page.get_by_role("button", name=re.compile("o que falta"))).to_have_count(0)
    spent = before - balance(live)
    assert 9 <= spent <= 11  # the price of one press
    page.reload()
    assert before - balance(live) == spent


def test_slow_results_appear_by_themselves(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.MANAGER)
    page.goto("/app/empresas/90020006000113")  # its sources take three seconds
    page.get_by_role("button", name=re.compile("o que falta")).click()
    federal = page.locator("table.registers tr", has_text="Certidão federal")
    expect(federal).to_contain_text("CND", timeout=30_000)
    expect(page.locator("table.registers")).not_to_contain_text("Consultando…", timeout=30_000)


@pytest.mark.parametrize("theme", ["Claro", "Escuro"])
def test_a_theme_by_hand(live: Live, context: BrowserContext, theme: str) -> None:
    page = live.sign_in(context, people.MANAGER)
    page.goto("/app/eu")
    page.locator(".person summary").click()
    page.get_by_role("button", name=theme).click()
    page.wait_for_url(re.compile("/app/eu$"))
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert page.evaluate(scheme) == {"Claro": "light", "Escuro": "dark"}[theme]


def test_pages_that_are_posted_break_no_rule(live: Live, context: BrowserContext) -> None:
    """Accessibility of pages without an address, in both themes and widths."""
    page = live.sign_in(context, people.MANAGER)
    found: list[str] = []
    page.goto(f"/app/empresas/{re.sub('[^0-9]', '', CNPJ)}")
    missing = page.get_by_role("button", name=re.compile("o que falta"))
    if missing.count():
        missing.click()
        page.wait_for_load_state()
    found += complaints(page)
    page.get_by_text("Em outra UF").click()
    page.locator(".person summary").click()
    found += complaints(page)
    page.goto("/app")
    found += complaints(page)
    for text in ("90.010.001/0001-01", "900.100.001-00", "ficticia", "BCF6.24B5.98D7.4E51"):
        page.locator(BOX).fill(text)
        page.locator(BOX).press("Enter")
        page.wait_for_url(re.compile("/app/procurar"))
        page.wait_for_load_state()
        found += complaints(page)
    page.goto("/app/busca")
    page.get_by_text("Mais filtros").click()
    found += complaints(page)
    found += _suggestions(page)
    page.get_by_label("UF", exact=True).fill("SP")
    page.get_by_label("CNAE", exact=True).fill("")
    page.get_by_role("button", name=re.compile("^Buscar")).click()
    companies = page.locator(".found-companies tbody tr")
    expect(companies.first).to_be_visible()
    found += complaints(page)
    companies.first.get_by_role("link").click()
    page.wait_for_url(re.compile("/app/empresas/"))
    page.go_back()
    page.get_by_role("link", name="Contar por atividade").click()
    page.get_by_role("button", name="Filtrar por G Comércio").wait_for()
    found += complaints(page)
    page.locator(".found-companies input").first.check()
    page.get_by_role("button", name="Criar lote com as marcadas").click()
    expect(page.locator("#lista")).to_have_value(re.compile(r"^\S{18}$"))
    assert not found, "\n".join(found)


def _suggestions(page: Page) -> list[str]:
    """Choose an activity by keyboard; return the faults of the list, and of choices at a field."""
    field = page.get_by_label("CNAE", exact=True)
    field.fill("padar")
    option = page.get_by_role("option", name="4721102")
    expect(option).to_be_visible()
    field.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    found = complaints(page)
    field.press("Enter")
    expect(field).to_have_value("4721102")
    expect(option).to_be_hidden()
    field.fill("padaria")
    field.press("Escape")
    page.get_by_role("button", name=re.compile("^Buscar")).click()
    expect(page.get_by_label("4721102")).to_be_visible()
    return [*found, *complaints(page)]


def change_all(live: Live) -> None:
    """Write a grave event of every item."""
    data = {"de": "ATIVA", "para": "INAPTA", "grave": True}
    columns = ", ".join(HEAD_COLUMNS)
    with closing(SqliteDesk(live.home.desk)) as desk:
        connection = desk.engine.connection
        for row in connection.execute(f"SELECT {columns} FROM wallet_item").fetchall():
            head = head_of(row)
            event = ItemEvent("empresa.situacao", head.item_id, system_now_ms(), None, data)
            with connection.transaction():
                write_item_events(connection, head, [event])


def test_a_list_is_synchronised_and_its_changes_read(live: Live) -> None:
    """Without scripts, from an empty portfolio to a company's timeline."""
    with (
        closing(live.open_context(scripts=False)) as plain,
        closing(live.open_context()) as context,
    ):
        page, checked = live.sign_in(plain, people.MANAGER), live.sign_in(context, people.MANAGER)

        def look(page: Page) -> None:
            checked.goto(page.url)
            assert complaints(checked) == []

        page.goto("/app/carteira/incluir")
        look(page)
        page.get_by_label("Sincronizar").check()
        page.get_by_label("Etiqueta de todas").fill("clientes")
        page.get_by_label("Cole os CNPJs, um por linha").fill(f"{CNPJ}\n{ZONE}\n")
        page.get_by_role("button", name="Conferir").click()
        page.get_by_role("button", name="Sincronizar").click()
        page.wait_for_url("**/app/carteira?**")
        change_all(live)
        for path in (
            *("/app/carteira", "/app/carteira/mudancas?desde=tudo", "/app/carteira/avisos"),
            *("/app/carteira/certidoes", "/app/carteira/certidoes?vista=mes"),
            "/app/carteira/calendarios",
        ):
            page.goto(path)
            look(page)
        page.goto("/app/carteira")
        page.locator("tbody a").first.click()
        page.get_by_role("button", name="Marcar como tratada").click()
        page.get_by_role("button", name="Desmarcar como tratada").wait_for()
        look(page)
