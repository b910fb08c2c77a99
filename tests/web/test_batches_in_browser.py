"""Batches in a real browser: an accountant's thirty certificates, also without script and by
keyboard.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from balcao.fiction.digits import cnpj as cnpj_of
from tests.cli.shell import PATIENCE_SECONDS
from tests.web import live as people
from tests.web.accessibility import complaints_of
from tests.web.live import CHROMIUM, NO_BROWSER, Live, started

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)

COMPANIES = [cnpj_of(f"9001{number:04}", "0001") for number in range(100, 130)]
GOOD, ZONE, BROKEN = "90010001000100", "90010002000154", "90020003000180"
BATCH = re.compile(r"/app/lotes/[0-9a-f-]{36}$")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with started(tmp_path_factory.mktemp("servico")) as live:
        yield live


def listed(page: Page, lines: list[str], operation: str = "Certidão federal") -> str:
    """Open a new batch, wait for its quote and return its address."""
    page.goto("/app/lotes/novo")
    page.get_by_label(operation).check()
    page.get_by_label("Cole os documentos").fill("\n".join(lines))
    page.get_by_role("button", name="Ver o preço").click()
    page.wait_for_url(BATCH)
    sees(page, "Quanto pode custar")
    return page.url


def sees(page: Page, text: str) -> None:
    """Wait until the page has this text, however busy the machine is."""
    expect(page.get_by_text(text).first).to_be_visible(timeout=PATIENCE_SECONDS * 1000)


def test_thirty_certificates_by_five_clicks_and_a_paste(live: Live, tmp_path: Path) -> None:
    with closing(live.open_context()) as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = live.sign_in(context, people.CONSULTANT)
        page.evaluate("text => navigator.clipboard.writeText(text)", "\n".join(COMPANIES))
        clicks = 0

        def click(role: str, name: str) -> None:
            nonlocal clicks
            clicks += 1
            page.get_by_role(role, name=name, exact=False).first.click()  # type: ignore[arg-type]

        click("link", "Lotes")
        click("link", "Novo lote")
        expect(page.get_by_label("Cole os documentos")).to_be_focused()  # without a click
        page.keyboard.press("Control+v")
        click("button", "Ver o preço")
        sees(page, "30 válidas")
        click("button", "Iniciar (até 60 créditos)")
        sees(page, "30 de 30")
        sees(page, "Concluído")  # without a reload
        with page.expect_download() as download:
            click("link", "Comprovantes (.zip)")
        file = tmp_path / "recibos.zip"
        download.value.save_as(file)
        assert clicks == 5
        names = zipfile.ZipFile(io.BytesIO(file.read_bytes())).namelist()
        assert len(names) > 20
        assert "indice.csv" in names
        expect(page.locator("tbody tr")).to_have_count(30)


@pytest.fixture(scope="module")
def addresses(live: Live) -> list[str]:
    """Return the pages of batches in every lasting state."""
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.MANAGER)
        quoted = listed(page, [GOOD, ZONE, GOOD, "90010001000101", BROKEN])
        ended = listed(page, [GOOD, BROKEN])
        page.get_by_role("button", name="Iniciar").click()
        sees(page, "Concluído")
        paused = listed(page, [GOOD, ZONE], "Suframa")
        page.get_by_label("Limite de gasto, em créditos").fill("1")
        page.get_by_role("button", name="Iniciar (até 1 crédito)").click()
        sees(page, "o teto acabou")
        page.goto("/app/lotes/novo")
        page.get_by_label("Cole os documentos").fill("nome\njoão")
        page.get_by_role("button", name="Ver o preço").click()
        sees(page, "não pôde ser lida")
        forms = [paused + below for below in ("/encerrar", "/apagar")]
        return ["/app/lotes", "/app/lotes/novo", quoted, ended, paused, page.url, *forms]


def test_no_page_of_a_batch_breaks_a_rule_of_accessibility(
    live: Live, addresses: list[str]
) -> None:
    """axe finds nothing, and no page is wider than its window, in any state of a batch."""
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.MANAGER)
        found = [each for path in addresses for each in complaints_of(page, path)]
    assert not found, "\n".join(found)


def test_a_batch_without_javascript(live: Live) -> None:
    with closing(live.open_context(scripts=False)) as context:
        page = live.sign_in(context, people.MANAGER)
        page.goto("/app/lotes/novo")
        file = {"name": "clientes.csv", "mimeType": "application/vnd.ms-excel"}
        content = f"CNPJ;UF\n{GOOD};SP\n{ZONE};AM\n".encode()
        page.get_by_label("Certidão estadual").check()
        page.get_by_label("Ou arraste um arquivo para cá").set_input_files(
            {**file, "buffer": content}  # type: ignore[arg-type]
        )
        page.get_by_role("button", name="Ver o preço").click()
        # The page reloads itself until there is a price, and then until the end.
        page.get_by_role("button", name="Iniciar").click()
        sees(page, "Concluído")
        sees(page, "2 de 2")


def test_a_batch_by_keyboard(live: Live) -> None:
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.CONSULTANT)
        page.goto("/app/lotes/novo")
        expect(page.get_by_label("Cole os documentos")).to_be_focused()
        page.keyboard.type(f"{GOOD}, {ZONE}")
        for _ in range(3):  # the columns, the file, the button
            page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Ver o preço")).to_be_focused()
        page.keyboard.press("Enter")
        sees(page, "2 válidas")
        page.get_by_label("Limite de gasto, em créditos").focus()
        page.keyboard.press("Enter")
        sees(page, "Concluído")


def test_several_documents_in_a_field_lead_to_a_batch(live: Live) -> None:
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.CONSULTANT)
        page.goto("/app/consultas/empresa")
        page.get_by_label("CNPJ", exact=True).fill(f"{GOOD} {ZONE}")
        page.keyboard.press("Tab")
        expect(page.locator("#cnpj-error")).to_contain_text("Há 2 documentos aqui")
        page.get_by_role("button", name="crie um lote com todos").click()
        expect(page.get_by_label("Cole os documentos")).to_have_value(f"{GOOD}\n{ZONE}")
        expect(page.get_by_label("Empresa")).to_be_checked()
