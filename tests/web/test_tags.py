"""Clients and references on pages: statement, history, one request (contract 11.4)."""

import csv
import io

import pytest

from tests.records import CPF, company
from tests.service import Client, Service
from tests.web.browser import Browser, signed_in

CNPJ = "90010001000100"


@pytest.fixture
def browser(house: Service, who: Client) -> Browser:
    """Return a manager of an account with requests for two clients and for none."""
    for client, reference in (("loja-7", "p-1"), ("loja-7", "p-2"), ("loja-8", "p-3")):
        marks = {"x_cliente": client, "x_referencia": reference}
        assert house.get(company(CNPJ), who, **marks).status == 200
    assert house.get(company(CNPJ), who).status == 200
    return signed_in(house, who)


def table(browser: Browser, path: str) -> list[dict[str, str]]:
    text = browser.get(path).text.removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text), delimiter=";"))


def cells(browser: Browser, path: str, label: str) -> list[str]:
    """Return the sorted texts of a column, of the first table that has it."""
    for found in browser.get(path).tree.xpath("//table"):
        heads = ["".join(head.itertext()).strip() for head in found.xpath("./thead/tr/th")]
        if label in heads:
            column = found.xpath(f"./tbody/tr/*[{heads.index(label) + 1}]")
            return sorted("".join(cell.itertext()).strip() for cell in column)
    return []


def test_the_statement_is_by_client(browser: Browser) -> None:
    assert cells(browser, "/app/extrato?agrupar=cliente&por_dia=1", "Cliente") == [
        "loja-7", "loja-8", "sem cliente",
    ]  # fmt: skip
    assert cells(browser, "/app/extrato?cliente=loja-7", "Consultas")[:1] == ["2"]
    assert cells(browser, "/app/extrato?por_dia=1", "Referência") == []
    apart = "/app/extrato?agrupar=referencia&por_dia=1"
    assert cells(browser, apart, "Referência") == ["p-1", "p-2", "p-3", "sem referência"]
    assert "Confere com o livro-razão" in browser.get(apart).words
    (link,) = browser.get(f"{apart}&cliente=loja-7").tree.xpath(
        "//a[contains(@href, '.csv')]/@href"
    )
    lines = table(browser, str(link))
    assert [(line["cliente"], line["referencia"]) for line in lines] == [
        ("loja-7", "p-1"),
        ("loja-7", "p-2"),
    ]


def test_too_many_lines_are_reported(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("balcao.web.pages.statement.pages.LINES_MAX", 2)
    answer = browser.get("/app/extrato?agrupar=referencia")
    assert "Escolha um período mais curto" in answer.words
    assert cells(browser, "/app/extrato?agrupar=referencia&por_dia=1", "Referência") == []


@pytest.mark.parametrize(
    ("query", "count"),
    [("cliente=loja-7", 2), ("referencia=p-3", 1), ("cliente=loja-8&referencia=p-1", 0), ("", 4)],
)
def test_the_history_by_client_and_reference(browser: Browser, query: str, count: int) -> None:
    page = browser.get(f"/app/historico?{query}")
    assert len(page.tree.xpath("//tbody//th/a")) == count
    lines = table(browser, f"/app/historico.csv?{query}")
    assert len(lines) == count
    for name, value in (part.split("=") for part in query.split("&") if part):
        assert {line[name] for line in lines} <= {value}
        assert page.tree.xpath(f"//input[@name='{name}']/@value") == [value]


def test_a_cpf_is_no_filter_and_not_repeated(browser: Browser) -> None:
    for path in ("/app/historico", "/app/extrato"):
        answer = browser.get(f"{path}?cliente={CPF}")
        assert CPF not in answer.text
        assert "Filtro desconhecido, ignorado: cliente." in answer.words


def test_one_request_shows_its_tags(browser: Browser) -> None:
    page = browser.get("/app/historico?referencia=p-3")
    (link,) = page.tree.xpath("//tbody//a[starts-with(@href, '/app/historico/')]/@href")
    words = browser.get(str(link)).words
    assert "Cliente: loja-8" in words
    assert "Referência: p-3" in words
