"""Operators' view of sources: configuration, and recent results."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from balcao.core.availability import SourceCounts
from balcao.observability.health import Health
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.providers.sefaz.settings import SefazSettings
from balcao.service.clock import system_now_ms
from tests.providers import MARANHAO, PROVIDERS
from tests.records import federal_of
from tests.service import Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import DOWN, GOOD

SOURCES = "/app/operador/fontes"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Service]:
    secret = SecretStr("segredo-do-fornecedor")
    with open_service(
        tmp_path,
        cnpja=CnpjaSettings(url=f"{PROVIDERS}/cnpja", key=secret),
        sefaz=SefazSettings(url=f"{PROVIDERS}/sefaz", endpoints=MARANHAO),
        infosimples=InfosimplesSettings(url=f"{PROVIDERS}/infosimples", token=secret, ufs=("SP",)),
    ) as house:
        yield house


def health_of(house: Service) -> Health:
    """Return the service's records of its sources."""
    health: Health = house.front.web._tools.health  # type: ignore[union-attr]
    return health


def note(
    house: Service, source: str, subject: str, uf: str, *outcomes: str, mode: str = "live"
) -> None:
    for outcome in outcomes:
        health_of(house).note(
            mode, source, subject, uf, outcome=outcome, seconds=(0.045,), at_ms=system_now_ms()
        )


def rows(page: PageResponse, subject: str) -> list[list[str]]:
    """Return a subject's table as texts of cells."""
    found = page.tree.xpath(f"//table[caption='{subject}: fontes']/tbody/tr")
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in found]


def test_sources_are_shown_in_order_with_missing_settings(operator: Browser) -> None:
    page = operator.get(SOURCES)
    assert page.status == 200
    company = rows(page, "Empresa")
    assert [row[0][:2] for row in company] == ["1.", "2.", "3.", "4."]
    assert [row[2] for row in company] == [
        "Desativada", "Desativada", "Sem consultas recentes", "Desativada",
    ]  # fmt: skip
    assert "nada importado" in company[0][0]
    assert "ative com BALCAO_MINHA_RECEITA__URL" in company[1][0]
    assert f"{PROVIDERS}/cnpja" in company[2][0]
    assert "segredo-do-fornecedor" not in page.text
    assert "Desativada" in rows(page, "Certidão federal")[1]


def test_without_sources_one_table_says_how_to_activate_them(tmp_path: Path) -> None:
    with open_service(tmp_path) as bare:
        operator = signed_in(bare, role="operator")
        page = operator.get(SOURCES)
        (table,) = page.tree.xpath("//table")
        assert table.findtext("caption") == "Fontes que podem ser ativadas"
        assert not page.tree.xpath("//pre")
        (link,) = page.tree.xpath("//a[.='Ativar CNPJá']/@href")
        opened = operator.get(link)
        assert [pre.text_content() for pre in opened.tree.xpath("//table//pre")] == [
            '[cnpja]\nkey = "…"'
        ]
        assert "Sem fonte ativa: Empresa," in opened.text
        sandbox = operator.get(f"{SOURCES}?ambiente=test")
        assert not sandbox.tree.xpath("//table")
        assert "Sem consultas desde o início do serviço: Empresa," in sandbox.text


def test_costs_of_a_source_are_shown_by_line_and_in_total(
    house: Service, operator: Browser
) -> None:
    for uf, micros in (("SP", 260_000), ("RJ", 1_240_000)):
        note(house, "infosimples", "state_registration", uf, "found")
        health_of(house).spend("live", "infosimples", "state_registration", uf, micros)
    page = operator.get(f"{SOURCES}?assunto=state_registration")
    found = {(row[0], row[1]): row[7] for row in rows(page, "Inscrições estaduais")}
    costs = [cost for (name, _), cost in found.items() if "Infosimples" in name]
    assert sorted(costs) == ["R$ 0,26", "R$ 1,24", "R$ 1,50"]
    assert "valor cobrado pelo fornecedor" in page.text


def test_a_line_shows_recent_results(house: Service, operator: Browser) -> None:
    note(house, "cnpja", "suframa", "", "found", "found", "absent", "failed")
    kept = SourceCounts(system_now_ms(), "suframa", "", "cnpja", 4, 3, 0)
    house.run(house.desk.availability.add("live", [kept]))
    page = operator.get(SOURCES)
    (row,) = rows(page, "Suframa")
    assert row[2:6] == ["Degradado por último: falhou", "75% de 4", "45 ms", "45 ms"]
    assert row[6] == "—"  # without calls there is no circuit yet
    assert row[7] == "—"  # without a price
    assert "falha" in row[8]
    (kept_of,) = page.tree.xpath("//details[summary='Suframa']")
    assert " ".join(kept_of.xpath(".//h3/text() | .//p/text()")) == (
        "CNPJá Sem falhas em 0 de 1 dia com consultas, nos últimos 90."
    )


def test_subjects_by_uf_show_lines_in_trouble(house: Service, operator: Browser) -> None:
    note(house, "sefaz", "state_registration", "SP", "found", "found")
    note(house, "sefaz", "state_registration", "MG", *["failed"] * 5)
    note(house, "infosimples", "state_registration", "SP", *["failed"] * 5)
    page = operator.get(SOURCES)
    table = rows(page, "Inscrições estaduais")
    by_uf = {(row[0].split()[0], row[1]): row[2] for row in table}
    assert by_uf["2.", "2 UFs"] == "Fora do ar: 1 de 2"
    assert ("SEFAZ", "MG") in by_uf
    assert ("SEFAZ", "SP") not in by_uf  # well: only on the subject's own page
    whole = rows(operator.get(f"{SOURCES}?assunto=state_registration"), "Inscrições estaduais")
    assert ("SEFAZ", "SP") in {(row[0].split()[0], row[1]) for row in whole}
    # The best source of each UF counts: SP is served although one of its sources is down.
    tiles = page.tree.xpath(
        "//*[@aria-label='Inscrições estaduais: situação por UF']//*[name()='g']"
    )
    found = {tile.findtext("{*}title") or tile[0].text: tile.get("class") for tile in tiles}
    assert found["SP: Operacional"] == "good"
    assert found["MG: Fora do ar"] == "bad"
    assert found["BA: Sem consultas recentes"] == "neutral"


def test_both_modes_are_separate(house: Service, operator: Browser) -> None:
    assert house.get(federal_of(GOOD)).status == 200
    assert house.get(federal_of(DOWN)).status == 503
    live, sandbox = operator.get(SOURCES), operator.get(f"{SOURCES}?ambiente=test")
    assert rows(live, "Certidão federal")[0][2] == "Sem consultas recentes"
    found = rows(sandbox, "Certidão federal")
    assert found
    assert all(row[2] != "Sem consultas recentes" for row in found)
    assert sandbox.tree.xpath("//nav[@aria-label='Ambiente']//a[@aria-current]/text()") == [
        "Sandbox"
    ]


def test_a_script_gets_the_tables_only(operator: Browser) -> None:
    page = operator.get(f"{SOURCES}?ambiente=test&assunto=suframa")
    (region,) = page.tree.xpath("//*[@hx-trigger='every 15s']")
    assert region.get("hx-get") == f"{SOURCES}?ambiente=test&assunto=suframa"
    part = operator.get(region.get("hx-get"), hx_request="true")
    assert part.status == 200
    assert "<html" not in part.text
    assert len(part.tree.xpath("//table")) == 1


def test_troubled_sources_are_on_the_overview(house: Service, operator: Browser) -> None:
    note(house, "sefaz", "state_registration", "MG", *["failed"] * 5)
    note(house, "sefaz", "state_registration", "SP", "found")
    page = operator.get("/app/operador")
    (row,) = page.tree.xpath("//table[caption='Fontes que precisam de atenção']/tbody/tr")
    assert "Inscrições estaduais, MG" in "".join(row.itertext())
    assert "Fora do ar" in "".join(row.itertext())
    (failures,) = page.tree.xpath("//dt[starts-with(., 'Falhas de fontes')]/following-sibling::dd")
    assert " ".join("".join(failures.itertext()).split()) == "5 de 6 consultas, em produção"
