"""The public status page: the state of the service in words, without sources or customers."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from pydantic import SecretStr

from balcao.core.availability import MINUTE_MS, SourceCounts, begins_ms
from balcao.core.calendar import HOUR_MS, from_ms
from balcao.core.errors import StorageFailed
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.service.availability import AvailabilityCounts
from balcao.service.clock import system_now_ms
from balcao.sources.upstream import SourceCall
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.web.kit.words.vocabulary import SOURCES
from tests.opendata.months import Month
from tests.providers import PROVIDERS
from tests.records import federal_of
from tests.service import open_service
from tests.web.browser import Browser
from tests.web.lookups import GOOD
from tests.web.test_operator_sources import note

INFOSIMPLES = InfosimplesSettings(
    url=f"{PROVIDERS}/infosimples",
    token=SecretStr("t"),
    ufs=("SP", "MG"),
    certificate_ufs=("SP",),
)


CERTIFICATE = "certidao-negativa-de-debitos-federal"


def estado(browser: Browser) -> dict[str, Any]:
    answer = browser.get("/status/estado.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"
    body: dict[str, Any] = json.loads(answer.text)
    return body


def historico(browser: Browser) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(browser.get("/status/historico.json").text)
    return body


def by_operation(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    subjects = body["assuntos"]
    assert isinstance(subjects, list)
    return {each["operacao"]: each for each in subjects}


def test_it_is_public_and_names_no_source(tmp_path: Path) -> None:
    with open_service(tmp_path, infosimples=INFOSIMPLES) as house:
        assert house.get(federal_of(GOOD)).status == 200
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        note(house, "infosimples", "state_registration", "SP", *["failed"] * 5)
        stranger = Browser(house)
        page, body = stranger.get("/status"), json.dumps(estado(stranger))
        assert page.status == 200
        assert len(page.tree.xpath("//h1")) == 1
        elsewhere = [
            stranger.get(f"/status/{name}").text
            for name in ("historico.json", "incidentes.atom", "selo.svg")
        ]
        for text in (page.text.lower(), body.lower(), *map(str.lower, elsewhere)):
            for name in (*SOURCES, *(name.lower() for name in SOURCES.values())):
                # Internal words such as "snapshot" may not appear either.
                assert name not in text.replace("/docs/sandbox", ""), name
            assert PROVIDERS not in text
            for account in house.desk.accounts():
                assert f'"{account.name}"' not in text
                assert f">{account.name}<" not in text
        assert "crédito" not in page.words.lower()
        assert stranger.get("/app/operador").status == 303


def test_standings_by_subject_and_uf(tmp_path: Path) -> None:
    with open_service(tmp_path, infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        note(house, "infosimples", "state_registration", "SP", *["failed"] * 5)
        note(house, "infosimples", "state_registration", "MG", "found")
        note(house, "infosimples", "state_certificate", "SP", "found", "failed")
        browser = Browser(house)
        body = estado(browser)
        assert body["ambiente"] == "producao"
        subjects = by_operation(body)
        assert subjects["certidao-negativa-de-debitos-federal"]["situacao"] == "operacional"
        assert subjects["suframa"]["situacao"] == "nao_atendido"
        state = subjects["sintegra"]["ufs"]
        assert isinstance(state, dict)
        assert len(state) == 27
        assert (state["SP"], state["MG"], state["BA"]) == (
            "fora_do_ar", "operacional", "nao_atendido",
        )  # fmt: skip
        certificates = subjects["certidao-negativa-de-debitos-estadual"]["ufs"]
        assert isinstance(certificates, dict)
        assert (certificates["SP"], certificates["MG"]) == ("degradado", "nao_atendido")
        rural = subjects["produtor-rural"]["ufs"]
        assert isinstance(rural, dict)
        assert rural["SP"] == "sem_consultas_recentes"
        page = browser.get("/status")
        assert "Com falhas em parte" in page.words
        assert "Nenhuma fonte de produção" not in page.words
        assert (
            page.tree.xpath("//*[name()='g']/*[name()='title']/text()").count("SP: Fora do ar") == 1
        )


def test_without_live_sources_the_sandbox_is_shown(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        assert house.get(federal_of(GOOD)).status == 200
        browser = Browser(house)
        page = browser.get("/status")
        assert "Nenhuma fonte de produção está ativa" in page.words
        assert "na sandbox" in page.words
        body = estado(browser)
        assert body["ambiente"] == "sandbox"
        federal_one = by_operation(body)["certidao-negativa-de-debitos-federal"]
        assert federal_one["situacao"] == "operacional"


def test_the_month_in_use(tmp_path: Path) -> None:
    with open_service(tmp_path / "home", infosimples=INFOSIMPLES) as house:
        assert estado(Browser(house))["dados_abertos"] is None
    with open_service(tmp_path / "other", infosimples=INFOSIMPLES) as house:
        Month(tmp_path / "month").build(house.settings.home / "opendata" / "live")
        month = estado(Browser(house))["dados_abertos"]
        assert isinstance(month, dict)
        assert month["extraido_em"] == "2026-08-08"
        assert month["idade_dias"] >= 0
        assert "08/08/2026" in Browser(house).get("/status").words


def test_a_script_gets_the_changing_part(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        browser = Browser(house)
        (region,) = browser.get("/status").tree.xpath("//*[@hx-trigger='every 30s']")
        part = browser.get(region.get("hx-get"), hx_request="true")
        assert part.status == 200
        assert "<html" not in part.text
        assert "Atualizado às" in part.words


def test_while_the_database_is_down_the_service_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service(tmp_path, infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        assert estado(Browser(house))["servico"] == "operacional"
    with open_service(tmp_path / "other", infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)

        async def away(_: int) -> None:
            raise StorageFailed("database away")

        def away_too(*_: object) -> None:
            raise StorageFailed("database away")

        monkeypatch.setattr(house.desk, "heartbeat", away)
        monkeypatch.setattr(house.desk.availability, "read", away_too)
        assert Browser(house).get("/status/historico.json").status == 503
        body = estado(Browser(house))
        assert body["servico"] == "fora_do_ar"
        # The sources still work.
        federal_one = by_operation(body)["certidao-negativa-de-debitos-federal"]
        assert federal_one["situacao"] == "operacional"
        page = Browser(house).get("/status")
        assert page.status == 200
        assert "O serviço está fora do ar" in page.words
        assert "O histórico não está disponível no momento." in page.words
        assert page.tree.xpath("//*[@class='verdict bad']")


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    """Counts are written when the process ends, and the next one reads them."""
    with open_service(tmp_path) as house:
        assert house.get(federal_of(GOOD)).status == 200
        quiet = by_operation(historico(Browser(house)))[CERTIFICATE]
        assert {each["situacao"] for each in quiet["dias"]} == {"sem_consultas"}
        assert (
            "Nenhum incidente. Sem consultas, não há como saber."
            in Browser(house).get("/status").words
        )
    with open_service(tmp_path, name="rui") as house:
        browser = Browser(house)
        assert by_operation(estado(browser))[CERTIFICATE]["situacao"] == "operacional"
        body = by_operation(historico(browser))[CERTIFICATE]
        assert [len(body["horas"]), len(body["dias"])] == [24, 90]
        assert [each["situacao"] for each in body["dias"]].count("operacional") == 1
        assert (
            "Sem falhas em 1 de 1 dia com consultas, nos últimos 90."
            in browser.get("/status").words
        )


def test_a_failure_is_an_incident_on_page_json_feed_and_badge(tmp_path: Path) -> None:
    with open_service(tmp_path, infosimples=INFOSIMPLES) as house:
        now = system_now_ms()
        availability = house.desk.availability
        began = begins_ms("minute", now - 20 * MINUTE_MS)
        rows = [
            SourceCounts(began + at, "state_registration", uf, "infosimples", 3, 0, 0)
            for at in (0, MINUTE_MS)
            for uf in ("SP", "MG")
        ]
        house.run(availability.add("live", rows))
        house.run(availability.follow("live", now))
        browser = Browser(house)
        (incident,) = historico(browser)["incidentes"]
        assert incident == {
            "id": f"sintegra-{from_ms(began):%Y%m%dT%H%M}",
            "operacao": "sintegra",
            "ufs": ["MG", "SP"],
            "situacao": "fora_do_ar",
            "inicio": from_ms(began).isoformat(),
            "fim": None,
            "recuperado": None,
        }
        # This process made no lookup itself.
        assert by_operation(estado(browser))["sintegra"]["ufs"]["SP"] == "fora_do_ar"
        page = browser.get("/status")
        (item,) = page.tree.xpath(f"//*[@id='{incident['id']}']")
        assert "Inscrições estaduais (MG e SP) Desde" in " ".join("".join(item.itertext()).split())
        feed = browser.get("/status/incidentes.atom")
        assert feed.headers["content-type"] == "application/atom+xml"
        atom = {"a": "http://www.w3.org/2005/Atom"}
        (entry,) = etree.fromstring(feed.content).findall("a:entry", atom)
        assert entry.findtext("a:id", "", atom).endswith(f"/status#{incident['id']}")
        assert entry.findtext("a:title", "", atom) == "Inscrições estaduais (MG e SP): fora do ar"
        badge = browser.get("/status/selo.svg?operacao=sintegra")
        assert (
            etree.fromstring(badge.content).get("aria-label") == "Inscrições estaduais: Fora do ar"
        )
        assert browser.get("/status/selo.svg?operacao=nada").status == 404


def test_counts_that_cannot_be_written_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        counts = AvailabilityCounts(desk, lambda: MINUTE_MS)
        counts.note("live", SourceCall("a", "found", 0.1), MINUTE_MS)
        counts.note("live", SourceCall("a", "unavailable", 0.1, counts=False), MINUTE_MS)
        counts.note("live", SourceCall("a", "failed", 0.1, counts=False), 0)  # the caller gave up

        async def away(*_: object) -> None:
            raise StorageFailed("database away")

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(desk.availability, "add", away)
            with pytest.raises(StorageFailed):
                asyncio.run(counts.write())
        counts.note("live", SourceCall("a", "failed", 0.1), MINUTE_MS)
        for _ in range(2):
            asyncio.run(counts.write_last())
        (row,) = desk.availability.read("live", (0, 0, 0, 0), HOUR_MS).minutes
        assert row == SourceCounts(MINUTE_MS, "company", "", "a", 2, 1, 1)
