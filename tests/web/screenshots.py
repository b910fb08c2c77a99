"""Makes the pictures in `docs/screenshots`: `make screenshots`.

It uses its own service with two months of invented history; every name and document is fictitious.
"""

import json
import re
import sys
import tempfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect

from balcao.core.calendar import from_ms
from balcao.service.clock import system_now_ms
from tests.web import live as people
from tests.web.live import Live, started, with_a_past
from tests.web.test_browser import ask, consult

LISTED = (
    *("90.010.001/0001-00", "90.010.002/0001-54", "90.010.003/0001-07", "90.020.006/0001-13"),
    *("90.010.001/0001-01", "90.010.001/0001-00", "90.020.003/0001-80", "90.010.004/0001-43"),
)
CHANGED = ("90030001000171", "90030004000105", "90030010000162")
CERTIFIED = ("90030012000151", "90030013000104", "90030014000140", "90010001000100")
CERTIFICATES = ["certidao_federal", "certidao_trabalhista", "regularidade_fgts"]
CNPJ, BRANCH = "90010001000100", "90010007000268"


def main(folder: Path) -> None:
    """Take all screenshots."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch)) as live:
        with_a_past(live)
        _prices_then_result(live, folder)
        _of_the_account(live, folder)
        _of_a_batch(live, folder)
        _of_the_portfolio(live, folder)
        _of_the_operator(live, folder)
        _on_a_phone_in_the_dark(live, folder)


def _prices_then_result(live: Live, folder: Path) -> None:
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.MANAGER)
        page.goto(f"/app/empresas/{CNPJ}")
        page.get_by_role("button", name=re.compile("o que falta")).click()
        expect(page.locator("table.registers")).not_to_contain_text("Consultando")
        _take(page, folder / "empresa.png")
        ask(page, "certidao-federal", CNPJ)
        consult(page)
        _take(page, folder / "certidao-federal.png")
        page.get_by_role("link", name="Explicação desta consulta").click()
        _take(page, folder / "requisicao.png")
        ask(page, "inscricoes-estaduais", BRANCH, UF="BR")
        consult(page)
        _take(page, folder / "inscricoes.png")
        ask(page, "certidao-federal", CNPJ)
        expect(page.locator("#preco")).to_contain_text("Há um resultado guardado")
        _take(page, folder / "preco-antes.png")


def _of_the_account(live: Live, folder: Path) -> None:
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.MANAGER)
        page.goto("/app/extrato")
        _take(page, folder / "extrato.png")


def _of_a_batch(live: Live, folder: Path) -> None:
    """Take the batch's price, and its end."""
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.CONSULTANT)
        page.goto("/app/lotes/novo")
        page.get_by_label("Cole os documentos").fill("\n".join(LISTED))
        page.get_by_label("Nome do lote").fill("Certidões federais de novembro")
        page.get_by_role("button", name="Ver o preço").click()
        page.get_by_text("Quanto pode custar").wait_for()
        _take(page, folder / "lote-cotado.png")
        page.get_by_role("button", name="Iniciar").click()
        page.get_by_text("Concluído").first.wait_for()
        _take(page, folder / "lote.png")


def _of_the_portfolio(live: Live, folder: Path) -> None:
    """Take the changes of a month, and certificates of which some end soon."""
    with closing(live.open_context()) as context:
        page = live.sign_in(context, people.MANAGER)
        admin = json.loads(live.cli("key", "create", "pre-pago", "--admin", "--json"))["key"]
        headers = {"x-api-key": admin, "content-type": "application/json"}

        def call(method: str, path: str, body: object = None) -> Any:
            data = None if body is None else json.dumps(body)
            reply = page.request.fetch(
                f"{live.base}/carteira/v1{path}", method=method, headers=headers, data=data
            )
            assert reply.ok, reply.text()
            return reply.json()

        call("PATCH", "", {"teto_creditos_mes": 100, "renovar_padrao": {"dias_antes": 10}})
        items = [{"documento": each, "vigiar": ["cadastro", "socios"]} for each in CHANGED]
        items += [{"documento": each, "vigiar": CERTIFICATES} for each in CERTIFIED]
        call("POST", "/itens?retroativo=true", {"itens": items})
        page.goto("/app/carteira/mudancas")
        _take(page, folder / "carteira-mudancas.png")
        later = from_ms(system_now_ms() + 16 * 24 * 3_600_000).isoformat(timespec="seconds")
        call("POST", "/relogio", {"ate": later})
        while call("GET", "/relogio")["estado"] != "parado":
            page.wait_for_timeout(500)
        page.goto("/app/carteira/certidoes")
        _take(page, folder / "carteira-certidoes.png")
        call("DELETE", "/relogio")


def _of_the_operator(live: Live, folder: Path) -> None:
    with closing(live.open_context(dark=True)) as context:
        page = live.sign_in(context, people.OPERATOR)
        page.goto("/app/operador")
        page.get_by_role("button", name="Ocultar").click()
        expect(page.get_by_role("button", name="Ocultar")).to_have_count(0)
        _take(page, folder / "painel.png")


def _on_a_phone_in_the_dark(live: Live, folder: Path) -> None:
    with closing(live.open_context(dark=True, narrow=True)) as context:
        page = live.sign_in(context, people.CONSULTANT)
        ask(page, "certidao-federal", CNPJ)
        consult(page)
        _take(page, folder / "telefone.png")


def _take(page: Page, file: Path) -> None:
    """Save the page in 128 colours: a third of the bytes, and no visible difference."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").quantize(128).save(file, optimize=True)
    print(file)  # noqa: T201 - run by a person


if __name__ == "__main__":
    main(Path(sys.argv[1]))
