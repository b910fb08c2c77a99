"""The application in a real browser, as people use it."""

import io
import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Locator, Page, expect

from balcao.core.calendar import civil_day, day_starts_ms
from balcao.core.ledger import Charge, TopUp
from balcao.operations import tariff
from balcao.operations.names import SHORT
from balcao.service.clock import system_now_ms
from balcao.storage.sqlite.desk import SqliteDesk
from tests.web import live as people
from tests.web.accessibility import complaints_of, violations
from tests.web.live import CHROMIUM, NO_BROWSER, Live, started
from tests.web.test_look import contrast
from tests.web.test_webhooks import add_webhook

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)

NEGATIVE, POSITIVE = "90010001000100", "90010003000107"
SUFRAMA = "90010002000154"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with started(tmp_path_factory.mktemp("servico")) as live:
        people.with_failures(live)
        yield live


@pytest.fixture
def context(live: Live) -> Iterator[BrowserContext]:
    with closing(live.open_context()) as context:
        yield context


def _balance(live: Live, account: str = "pre-pago") -> int:
    with closing(SqliteDesk(live.home.desk)) as desk:
        assert not desk.check().complaints
        return next(each.balance_credits for each in desk.accounts() if each.name == account)


def ask(page: Page, form: str, cnpj: str, **fields: str) -> None:
    page.goto(f"/app/consultas/{form}")
    page.get_by_label("CNPJ", exact=True).fill(cnpj)
    for label, value in fields.items():
        page.get_by_label(label, exact=True).select_option(value)


def consult(page: Page) -> None:
    page.get_by_role("button", name="Consultar", exact=True).click()
    page.wait_for_url(re.compile("/app/consultas/resultado/"))


def test_a_federal_certificate_online_and_then_from_the_cache(
    live: Live, context: BrowserContext
) -> None:
    page, before = live.sign_in(context, people.CONSULTANT), _balance(live)
    ask(page, "certidao-federal", "90010001000100")
    expect(page.get_by_label("CNPJ", exact=True)).to_have_value("90.010.001/0001-00")
    expect(page.locator("#preco")).to_contain_text("Até 2 créditos")
    consult(page)
    expect(page.locator(".verdict")).to_contain_text(re.compile("negativa", re.IGNORECASE))
    expect(page.locator(".slip")).to_contain_text("2 créditos")
    assert _balance(live) == before - 2

    # The receipt opens in the same browser only.
    address = page.get_by_role("link", name="Abrir").get_attribute("href")
    assert address is not None
    receipt = context.request.get(address)
    assert receipt.headers["content-type"] == "application/pdf"
    assert receipt.body().startswith(b"%PDF")
    with closing(live.open_context()) as stranger:
        assert "/app/entrar" in stranger.request.get(address).url
    with page.expect_download() as download:
        page.get_by_role("link", name="Baixar").click()
    assert download.value.suggested_filename.endswith(".pdf")

    ask(page, "certidao-federal", "90010001000100")
    expect(page.locator("#preco")).to_contain_text("Há um resultado guardado de")
    expect(page.locator("#preco")).to_contain_text("1 crédito")
    consult(page)
    expect(page.locator(".slip")).to_contain_text("1 crédito")
    assert _balance(live) == before - 3

    # Renewing, with the price on the button.
    page.get_by_role("button", name="Atualizar online (2 créditos)").click()
    expect(page.locator(".slip")).to_contain_text("2 créditos")
    assert _balance(live) == before - 5


def test_a_state_certificate_and_its_explanation(live: Live, context: BrowserContext) -> None:
    page, before = live.sign_in(context, people.MANAGER), _balance(live)
    ask(page, "certidao-estadual", "90010001000100", UF="SP")
    consult(page)
    assert _balance(live) == before - 2
    ask(page, "certidao-estadual", "90010001000100", UF="SP")
    consult(page)
    assert _balance(live) == before - 3
    page.get_by_role("link", name="Explicação desta consulta").click()
    expect(page.locator(".timeline")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("cache")


def test_a_button_stays_under_the_finger(live: Live, context: BrowserContext) -> None:
    """Leaving a field requests the price; a pressed button below the price must not move."""
    page = live.sign_in(context, people.CONSULTANT)
    ask(page, "suframa", SUFRAMA)
    consult(page)
    page.goto("/app/consultas/suframa")
    button = page.get_by_role("button", name="Consultar", exact=True)
    box = button.bounding_box()
    assert box is not None
    page.get_by_label("CNPJ", exact=True).fill(SUFRAMA)
    page.mouse.move(box["x"] + 20, box["y"] + 5)
    with page.expect_response(re.compile("/preco$")) as price:
        page.mouse.down()
    assert "Você consultou este documento" in price.value.text()  # one line more
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    assert button.bounding_box() == box
    page.mouse.up()
    page.wait_for_url(re.compile("/app/consultas/resultado/"))

    # Released next to it, the deferred price is shown.
    page.goto("/app/consultas/suframa")
    page.get_by_label("CNPJ", exact=True).fill(SUFRAMA)
    page.mouse.move(box["x"] + 20, box["y"] + 5)
    with page.expect_response(re.compile("/preco$")):
        page.mouse.down()
    page.mouse.move(5, 5)
    page.mouse.up()
    expect(page.locator("#preco")).to_contain_text("Você consultou este documento")


def test_facts_of_a_result_can_be_copied(live: Live, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = live.sign_in(context, people.CONSULTANT)
    ask(page, "inscricoes-estaduais", "90010001000100", UF="SP")
    consult(page)

    def copied(name: str) -> str:
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_text("Copiado").first).to_be_visible()
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert copied("Copiar link") == page.url
    assert copied("Copiar o CNPJ") == "90.010.001/0001-00"
    number = page.locator("tbody th .document").first.text_content()
    assert number
    assert copied(f"Copiar {number}") == number
    page.evaluate("window.print = () => { document.title = 'impressa' }")
    page.get_by_role("button", name="Imprimir").click()
    assert page.title() == "impressa"


def test_the_price_stands_in_the_button(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    ask(page, "certidao-federal", "90020003000180")
    button = page.get_by_role("button", name="Consultar", exact=True)
    expect(button).to_have_text("Consultar · até 2 créditos")
    page.get_by_label("CNPJ", exact=True).fill("")
    expect(button).to_have_text("Consultar")
    expect(page.get_by_role("button", name="Ver preço")).to_be_hidden()


def test_on_a_phone_the_receipt_is_seen_at_once(live: Live) -> None:
    with closing(live.open_context(narrow=True)) as context:
        page = live.sign_in(context, people.CONSULTANT)
        ask(page, "certidao-federal", "90010001000100")
        consult(page)
        expect(page.get_by_role("link", name="Abrir PDF")).to_be_in_viewport()
        expect(page.get_by_text("Cobrado:")).to_be_in_viewport()
        page.goto("/app/historico")
        page.locator("tbody tr").first.wait_for()
        tops = page.locator("tbody tr").evaluate_all("all => all.map(one => one.offsetHeight)")
        assert max(tops) < 126


def test_nothing_is_charged_twice(live: Live, context: BrowserContext) -> None:
    """A double click, a reload of the result, and going back to send the same form again."""
    page, before = live.sign_in(context, people.CONSULTANT), _balance(live)
    ask(page, "certidao-federal", "90010003000107")
    page.get_by_role("button", name="Consultar", exact=True).dblclick()
    page.wait_for_url(re.compile("/app/consultas/resultado/"))
    result = page.url
    assert _balance(live) == before - 2
    page.reload()
    assert _balance(live) == before - 2
    # The same form, sent twice more by hand at the same time.
    page.goto("/app/consultas/suframa")
    page.get_by_label("CNPJ", exact=True).fill("90010002000154")
    sent: Any = page.evaluate(
        """async () => {
            const body = new URLSearchParams(new FormData(document.getElementById("consulta")));
            const address = document.getElementById("consulta").action;
            const all = [1, 2, 3].map(() => fetch(address, {method: "POST", body}));
            return (await Promise.all(all)).map(answer => answer.url);
        }"""
    )
    assert len(set(sent)) == 1
    assert sent[0] != result
    assert _balance(live) == before - 3


def test_typed_documents_are_checked_in_the_browser(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    page.goto("/app/consultas/empresa")
    field = page.get_by_label("CNPJ", exact=True)
    field.press_sequentially("12abc34501de35")
    expect(field).to_have_value("12.ABC.345/01DE-35")  # letters stay, in upper case
    field.press("Tab")
    expect(page.locator("#cnpj-error")).to_be_empty()
    for pasted in ("CNPJ: 90.010.001/0001-00", "90.010.001 / 0001 - 00, matriz"):
        field.fill(pasted)
        expect(field).to_have_value("90.010.001/0001-00")
    complaint = page.locator("#cnpj-error")
    # Text that is no document stays as typed, and is explained.
    for text, expected in (
        ("90.010.001/0001-00 90010002000154, 12ABC34501DE35", "Há 3 documentos aqui"),
        ("padaria do joão", "Informe um CNPJ com 14 caracteres"),
        ("padaria 2000", "Informe um CNPJ com 14 caracteres"),
        ("90.010.001/0001-001", "O CNPJ tem 14 caracteres; aqui há 15."),
    ):
        field.fill("")
        field.press_sequentially(text)
        expect(field).to_have_value(text)
        field.press("Tab")
        expect(complaint).to_contain_text(expected)
    field.fill("900.100.001-00")
    expect(field).to_have_value("900.100.001-00")  # and not half a CNPJ, 90.010.000/100
    field.press("Tab")
    expect(complaint).to_contain_text("Este é um CPF")
    link = complaint.get_by_role("link", name="Certidão federal")
    expect(link).to_have_attribute("href", "/app/consultas/certidao-federal?quem=cpf")
    field.fill("90010001000101")
    field.press("Tab")
    expect(page.locator("#cnpj-error")).not_to_be_empty()
    expect(field).to_have_attribute("aria-invalid", "true")


def test_a_date_pasted_with_its_year_first_is_understood(
    live: Live, context: BrowserContext
) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    page.goto("/app/consultas/certidao-federal?quem=cpf")
    field = page.get_by_label("Data de nascimento")
    field.fill("1980-01-31")  # in one piece, as a paste
    expect(field).to_have_value("31/01/1980")
    field.fill("")
    field.press_sequentially("31011980")
    expect(field).to_have_value("31/01/1980")


def test_a_long_name_does_not_push_the_history_out_of_its_page(
    live: Live, context: BrowserContext
) -> None:
    page = live.sign_in(context, people.MANAGER)
    ask(page, "certidao-federal", "90080001000186")
    consult(page)
    page.goto("/app/historico")
    name = page.locator("tbody th a").first
    name.evaluate("(name) => { name.textContent = 'COOPERATIVA AGROPECUARIA FICTICIA '.repeat(3) }")
    table = page.get_by_role("region").last
    assert table.evaluate("table => table.scrollWidth <= table.clientWidth")


def test_a_negative_result_shows_its_cost_and_advice(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    ask(page, "certidao-federal", _positive_with_debts())
    consult(page)
    expect(page.locator(".verdict.bad, .verdict.warn")).to_be_visible()
    expect(page.locator(".slip")).to_contain_text("crédito")


def _positive_with_debts() -> str:
    """Return a company of the sandbox with a positive certificate (sandbox.md)."""
    return "90010003000107"


@pytest.mark.parametrize("form", ["inscricoes-estaduais", "empresa", "suframa"])
def test_the_other_lookups(live: Live, context: BrowserContext, form: str) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    cnpj = "90010002000154" if form == "suframa" else "90010007000268"
    ask(page, form, cnpj, **({"UF": "BR"} if form == "inscricoes-estaduais" else {}))
    consult(page)
    expect(page.locator(".slip")).to_contain_text("crédito")
    if form == "inscricoes-estaduais":
        expect(page.locator("svg [data-uf], svg text", has_text="SP").first).to_be_visible()


def test_a_key_from_creation_to_revocation(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.MANAGER)
    page.goto("/app/chaves")
    page.get_by_label("Nome").fill("ERP de teste")
    page.get_by_role("button", name="Criar chave").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("criada")
    found = re.search(r"balcao_test_\w{49}", page.content())
    assert found
    assert not list(violations(page))
    line = ["curl", "-sS", "-H", f"x-api-key: {found[0]}"]
    line.append(f"{live.base}/consultas/v2/cnpj-receita-federal/90010001000100")
    response = json.loads(subprocess.run(line, capture_output=True, check=True, timeout=30).stdout)
    assert response["success"] is True
    page.goto("/app/chaves")
    assert found[0] not in page.content()
    page.get_by_role("link", name="Revogar a chave ERP de teste").click()
    page.get_by_role("button", name=re.compile("Revogar")).click()
    page.wait_for_url(re.compile("/app/chaves"))
    page.wait_for_timeout(1100)  # in force within a second
    response = json.loads(subprocess.run(line, capture_output=True, check=True, timeout=30).stdout)
    assert response["error_message"]["code"] == "API_KEY_INVALIDA"


def test_the_statement_and_its_files(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.MANAGER)
    live.get("/consultas/v2/cnpj-receita-federal/90010001000100")
    page.goto("/app/extrato")
    expect(page.locator("figure svg.days").first).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Confere com o livro-razão")
    for name, kind in (("CSV", ".csv"), ("Planilha", ".xlsx")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename.endswith(kind)
        assert download.value.path().stat().st_size > 100


def test_the_statement_s_chart_scrolls_on_phones_alone(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.MANAGER)
    live.get("/consultas/v2/cnpj-receita-federal/90010001000100")
    page.goto("/app/extrato")
    hidden, outside = {}, {}
    for width in (800, 960, 1100, 1184, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        hidden[width] = page.locator(".chart .scroll").first.evaluate(
            "chart => chart.scrollWidth - chart.clientWidth"
        )
        outside[width] = page.locator(".aside").evaluate(
            "both => both.children[0].offsetTop == both.children[1].offsetTop"
        )
    assert not any(hidden.values()), hidden
    assert outside == {800: False, 960: False, 1100: False, 1184: True, 1280: True}


def test_an_operator_gives_credits_once(live: Live, context: BrowserContext) -> None:
    page, before = live.sign_in(context, people.OPERATOR), _balance(live)
    page.goto("/app/operador/contas")
    page.get_by_role("link", name="pre-pago", exact=True).click()
    page.get_by_label("Quantidade").fill("500")
    page.get_by_label("Motivo").fill("pedido 77")
    page.get_by_role("button", name="Lançar créditos").dblclick()
    # The browser may have waited for either request.
    done = re.compile("Créditos lançados|Nada foi feito de novo")
    expect(page.get_by_role("main")).to_contain_text(done)
    assert _balance(live) == before + 500
    page.goto("/app/operador/auditoria")
    expect(page.get_by_role("main")).to_contain_text("pedido 77")


def test_pages_that_only_a_form_leads_to(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.OPERATOR)
    page.goto("/app/eu")
    page.locator("#atual-totp").fill(people.PASSWORD)
    page.get_by_role("button", name="Ativar o segundo fator").click()
    expect(page.get_by_label("Código de 6 dígitos")).to_be_visible()
    assert not list(violations(page))
    page = live.sign_in(context, people.MANAGER)
    page.goto("/app/usuarios")
    page.get_by_label("Nome").fill("Rui Teles")
    page.get_by_label("E-mail").fill("rui@balcao.test")
    page.get_by_role("button", name="Convidar").click()
    expect(page.get_by_role("main")).to_contain_text("/app/convite/")
    assert not list(violations(page))


def test_the_status_is_public(live: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/status")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Situação")
    incident = page.get_by_role("listitem").filter(has_text="Certidão estadual (MG e SP)")
    expect(incident).to_have_count(1)
    # Soon after midnight, the failures of the last half hour are yesterday's.
    label = re.compile(
        "Últimos 90 dias: sem falhas em (71 dias; com falhas em 8|70 dias; com falhas em 9) dias"
    )
    expect(page.get_by_role("img", name=label).first).to_be_visible()


def test_without_javascript(live: Live) -> None:
    """The core task: sign in, see the price, look up, read, open the receipt."""
    with closing(live.open_context(scripts=False)) as context:
        page = live.sign_in(context, people.CONSULTANT, again=True)
        before = _balance(live)
        ask(page, "certidao-federal", "90010001000100")
        page.get_by_role("button", name="Ver preço").click()
        expect(page.locator("#preco")).to_contain_text("crédito")
        expect(page.get_by_label("CNPJ", exact=True)).to_have_value(
            re.compile(r"90\.?010\.?001/?0001-?00")
        )
        page.get_by_role("button", name="Consultar", exact=True).click()
        expect(page.locator(".slip")).to_contain_text("crédito")
        assert before - 2 <= _balance(live) < before
        page.locator("details.person > summary").click()
        page.get_by_role("button", name="Sair").click()
        assert "/app/entrar" in page.url


def test_by_keyboard_alone(live: Live, context: BrowserContext) -> None:
    page = live.sign_in(context, people.CONSULTANT)
    page.goto("/app/consultas")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Ir para o conteúdo")).to_be_focused()
    page.keyboard.press("Enter")
    page.goto("/app/consultas/empresa")
    expect(page.get_by_label("CNPJ", exact=True)).to_be_focused()
    page.keyboard.type("90010001000100")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/app/consultas/resultado/"))


def _all_pages(live: Live) -> list[tuple[str | None, str]]:
    """Yield every page with the person who sees it."""
    with closing(SqliteDesk(live.home.desk)) as desk:
        account = next(each for each in desk.accounts() if each.name == "pre-pago")
        user = next(u for u in desk.people.users(account.account_id) if u.role == "consultant")
        key = next(k for k in desk.keys(account.account_id) if k.revoked_ms is None)
        add_webhook(desk, account.account_id)
    number = account.account_id
    mine = [
        "/app", "/app/procurar", "/app/busca", f"/app/empresas/{NEGATIVE}",
        "/app/empresas/90010007000268", "/app/consultas", "/app/extrato?agrupar=cliente&por_dia=1",
        "/app/extrato", "/app/extrato/2026-09", "/app/chaves",
        "/app/webhooks", *(f"/app/webhooks/w1{below}" for below in ("", "/remover")),
        "/app/historico", "/app/historico?nome=ninguem&vencimento=30",
        "/app/historico?cobradas=1&arquivo=csv",
        "/app/usuarios", "/app/eu", f"/app/usuarios/{user.user_id}",
        f"/app/chaves/{key.key_id}/revogar", f"/app/chaves/{key.key_id}/regras", "/app/nada",
        *(
            f"/app/consultas/{form}"
            for form in (
                "certidao-federal", "certidao-estadual", "empresa", "inscricoes-estaduais",
                "produtor-rural", "suframa",
            )
        ),
    ]  # fmt: skip
    theirs = [
        "/app/operador", "/app/procurar", "/app/operador/contas", "/app/operador/contas/nova",
        f"/app/operador/contas/{number}", f"/app/operador/contas/{number}/historico",
        f"/app/operador/contas/{number}/extrato", f"/app/operador/contas/{number}/extrato/2026-09",
        "/app/operador/operadores", "/app/operador/fontes?ativar=cnpja",
        "/app/operador/fontes?ambiente=test",
        "/app/operador/dados-abertos", "/app/operador/auditoria", "/app/operador/sistema",
        "/app/operador/copias", "/app/operador/configuracoes", "/app/operador/prorrogacoes",
        "/app/operador/primeiros-passos", f"/app/operador/contas/{number}/usuarios",
        "/app/operador/obsoletos",
    ]  # fmt: skip
    return [
        (None, "/"), (None, "/app/entrar"), (None, "/status"), (None, "/app/convite/nada"),
        # Both languages share the templates: one of them for each kind of page.
        (None, "/docs"), (None, "/docs/chaves"), (None, "/docs/sandbox"), (None, "/docs/en"),
        (None, "/docs/en/guias/lotes"), (None, "/docs/busca?q=uf"),
        (None, "/docs/en/busca?q=nothing+at+all"), (None, "/docs/operacoes/criar-lote"),
        (None, "/docs/en/operacoes/sintegra"), (None, "/docs/erros"),
        (None, "/docs/en/erros/COTACAO_MUDOU"),
        (people.MANAGER, "/docs/operacoes/certidao-negativa-de-debitos-federal"),
        *((people.MANAGER, path) for path in mine), *((people.OPERATOR, path) for path in theirs),
    ]  # fmt: skip


def _results(live: Live, page: Page) -> Iterator[str]:
    """Yield a result of every operation, including a failure."""
    for form, cnpj, fields in (
        ("certidao-federal", "90010001000100", {}),
        ("certidao-estadual", "90010001000100", {"UF": "SP"}),
        ("empresa", "90010001000100", {}),
        ("inscricoes-estaduais", "90010007000268", {"UF": "BR"}),
        ("suframa", "90010002000154", {}),
        ("certidao-federal", "90020003000180", {}),
    ):
        ask(page, form, cnpj, **fields)
        consult(page)
        yield page.url
        page.goto(page.url.replace("/consultas/resultado/", "/historico/"))
        yield page.url


def test_no_page_breaks_a_rule_of_accessibility(live: Live, context: BrowserContext) -> None:
    """axe finds nothing, and no page is wider than its window or heavier than 110 kB."""
    live.get("/consultas/v2/cnpj-receita-federal/90010001000100")
    found: list[str] = []
    seen: str | None = ""
    page = context.new_page()
    for who, path in _all_pages(live):
        if who != seen:
            context.clear_cookies()
            page = live.sign_in(context, who) if who else context.new_page()
            seen = who
        found += complaints_of(page, path)
    context.clear_cookies()
    page = live.sign_in(context, people.MANAGER)
    for address in _results(live, page):
        found += complaints_of(page, address)
    assert not found, "\n".join(found)


def test_the_documentation_has_a_working_form(live: Live, context: BrowserContext) -> None:
    """A document of the sandbox, the form for it, its price, and the answer."""
    page = live.sign_in(context, people.MANAGER)
    before = _balance(live)
    page.goto("/docs/sandbox")
    page.get_by_role("link", name=f"Testar {SUFRAMA}: Suframa").click()
    expect(page.get_by_label("CNPJ", exact=True)).to_have_value(SUFRAMA)
    page.get_by_role("button", name=re.compile("Consultar")).click()
    page.wait_for_url(re.compile("resposta="))
    answer = page.get_by_label("Corpo da resposta")
    expect(answer).to_contain_text("incentivos")
    expect(page.get_by_label("CNPJ", exact=True)).to_have_value(re.compile("90.?010.?002"))
    assert before - _balance(live) == 1
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.reload()  # colours of what is shown already fade into the others
        page.evaluate(
            "for (const each of document.querySelectorAll('details'))"
            " { each.removeAttribute('name'); each.open = true }"
        )
        assert list(violations(page)) == []
    with closing(live.open_context()) as another:
        stranger = another.new_page()
        stranger.goto(page.url)
        expect(stranger.get_by_text("Para consultar aqui mesmo")).to_be_visible()
        expect(stranger.get_by_label("Corpo da resposta")).to_have_count(0)


# The pages' buttons, in every state that a pointer and a running lookup cause.
_BUTTONS = ["", "primary", "danger", "quiet", "primary small"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_buttons_can_be_read_in_every_state(live: Live, dark: bool) -> None:
    poor = {}
    with closing(live.open_context(dark=dark)) as context:
        page = context.new_page()
        page.emulate_media(reduced_motion="reduce")  # no colour is met half-way
        page.goto("/status")
        page.evaluate(
            """kinds => document.querySelector("main").replaceChildren(...kinds.flatMap(kind =>
                [false, true].map(disabled => {
                    const button = document.createElement("button");
                    button.className = `button ${kind}`;
                    button.textContent = "Consultar";
                    button.disabled = disabled;
                    return button;
                })))""",
            _BUTTONS,
        )
        for button in page.locator("main .button").all():
            for pointed in (False, True):
                page.mouse.move(0, 0)
                if pointed:
                    button.hover(force=True)
                text, ground, kind, disabled = button.evaluate(
                    """button => {
                        const style = getComputedStyle(button);
                        let behind = button;
                        while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                            behind = behind.parentElement;
                        return [style.color, getComputedStyle(behind).backgroundColor,
                                button.className, button.disabled];
                    }"""
                )
                ratio = contrast(_hex(text), _hex(ground))
                if ratio < 4.5:
                    poor[kind, disabled, pointed] = round(ratio, 2)
    assert not poor


def _hex(colour: str) -> str:
    """Return `rgb(1, 2, 3)` as `#010203`."""
    return "#" + "".join(f"{int(number):02x}" for number in re.findall(r"\d+", colour)[:3])


def _pixels(locator: Locator) -> Image.Image:
    return Image.open(io.BytesIO(locator.screenshot())).convert("RGB")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_forced_colours_one_entry_of_the_menu_looks_current(live: Live, dark: bool) -> None:
    with closing(live.open_context(dark=dark)) as context:
        page = live.sign_in(context, people.MANAGER)
        page.emulate_media(forced_colors="active", color_scheme="dark" if dark else "light")
        page.goto("/app/extrato")
        page.mouse.move(0, 0)
        looks = {}
        for link in page.locator(".main-nav a").all():
            picture = _pixels(link)
            under, above = (picture.getpixel((20, picture.height - at)) for at in (2, 8))
            looks[link.inner_text()] = under != above
    assert looks["Extrato"]
    assert [text for text, marked in looks.items() if marked] == ["Extrato"]


def test_the_figures_of_a_printed_statement_stand_on_white(
    live: Live, context: BrowserContext
) -> None:
    page = live.sign_in(context, people.MANAGER)
    page.set_viewport_size({"width": 672, "height": 950})  # A4 within its margins
    page.goto("/app/extrato")
    page.emulate_media(media="print")
    picture = _pixels(page.locator(".stats").first)
    colours = picture.getcolors(maxcolors=1 << 20)
    assert colours is not None
    white = sum(count for count, colour in colours if colour == (255, 255, 255))
    ruled = sum(count for count, colour in colours if colour == (0x99, 0x99, 0x99))
    assert white > 0.8 * picture.width * picture.height
    assert ruled < 0.05 * picture.width * picture.height


def test_a_month_is_one_sheet_of_paper(live: Live, context: BrowserContext, tmp_path: Path) -> None:
    """With the most lines it shows: every operation, clients, rules and top-ups."""
    today = civil_day(system_now_ms())
    last = today.replace(day=1) - timedelta(days=1)
    at_ms = day_starts_ms(last)
    with closing(SqliteDesk(live.home.desk)) as desk:
        balance = next(each for each in desk.accounts() if each.name == "pre-pago")
        number = balance.account_id
        for order in range(9):
            assert desk.commit_now([TopUp(number, 90, f"pedido 2026-{order}", at_ms)]) is None
        for n, (rule, operation) in enumerate(product(sorted(tariff.RULES)[:16], [*SHORT])):
            charge = Charge(
                number, None, str(uuid.uuid4()), operation, 1, rule, "cache", at_ms,
                f"cliente-de-nome-comprido/{n % 30}",
            )  # fmt: skip
            assert desk.commit_now([charge]) is None
    page = live.sign_in(context, people.MANAGER)
    page.goto(f"/app/extrato/{last:%Y-%m}")
    expect(page.get_by_role("main")).to_contain_text("Demonstrativo de")
    paper = tmp_path / "mes.pdf"
    page.pdf(path=paper, prefer_css_page_size=True)
    with pikepdf.open(paper) as pdf:
        assert len(pdf.pages) == 1
