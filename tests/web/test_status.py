"""The public page: how the service is, in words, and nothing about whom it asks or who asks it."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from balcao.errors import StorageFailed
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.web.vocabulary import SOURCES
from tests.http.house import PROVIDERS, federal, opened
from tests.opendata.months import Month
from tests.web.browser import Browser
from tests.web.consulting import GOOD
from tests.web.test_operator_sources import note

INFOSIMPLES = InfosimplesSettings(
    url=f"{PROVIDERS}/infosimples",
    token=SecretStr("t"),
    ufs=("SP", "MG"),
    certificate_ufs=("SP",),
)


def estado(browser: Browser) -> dict[str, object]:
    said = browser.get("/status/estado.json")
    assert said.status == 200
    assert said.headers["content-type"] == "application/json"
    assert said.headers["access-control-allow-origin"] == "*"
    told: dict[str, object] = json.loads(said.text)
    return told


def by_operation(told: dict[str, object]) -> dict[str, dict[str, object]]:
    subjects = told["assuntos"]
    assert isinstance(subjects, list)
    return {each["operacao"]: each for each in subjects}


def test_it_is_public_and_names_nobody(tmp_path: Path) -> None:
    with opened(tmp_path, infosimples=INFOSIMPLES) as house:
        assert house.get(federal(GOOD)).status == 200
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        note(house, "infosimples", "state_registration", "SP", *["failed"] * 5)
        stranger = Browser(house)
        page, told = stranger.get("/status"), json.dumps(estado(stranger))
        assert page.status == 200
        assert len(page.tree.xpath("//h1")) == 1
        for text in (page.text.lower(), told.lower()):
            for name in (*SOURCES, *(name.lower() for name in SOURCES.values())):
                # The words "snapshot" and the like may not be there either.
                assert name not in text.replace("/docs/sandbox", ""), name
            assert PROVIDERS not in text
            for account in house.house.desk.accounts():
                assert f'"{account.name}"' not in text
                assert f">{account.name}<" not in text
        assert "crédito" not in page.words.lower()
        assert stranger.get("/app/operador").status == 303


def test_standings_by_subject_and_uf(tmp_path: Path) -> None:
    with opened(tmp_path, infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        note(house, "infosimples", "state_registration", "SP", *["failed"] * 5)
        note(house, "infosimples", "state_registration", "MG", "found")
        note(house, "infosimples", "state_certificate", "SP", "found", "failed")
        browser = Browser(house)
        told = estado(browser)
        assert told["ambiente"] == "producao"
        subjects = by_operation(told)
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


def test_without_live_sources_the_sandbox_is_shown_and_called_so(tmp_path: Path) -> None:
    with opened(tmp_path) as house:
        assert house.get(federal(GOOD)).status == 200
        browser = Browser(house)
        page = browser.get("/status")
        assert "Nenhuma fonte de produção está ligada" in page.words
        assert "na sandbox" in page.words
        told = estado(browser)
        assert told["ambiente"] == "sandbox"
        federal_one = by_operation(told)["certidao-negativa-de-debitos-federal"]
        assert federal_one["situacao"] == "operacional"


def test_the_month_in_use(tmp_path: Path) -> None:
    with opened(tmp_path / "home", infosimples=INFOSIMPLES) as house:
        assert estado(Browser(house))["dados_abertos"] is None
    with opened(tmp_path / "other", infosimples=INFOSIMPLES) as house:
        Month(tmp_path / "month").build(house.house.settings.home / "opendata" / "live")
        month = estado(Browser(house))["dados_abertos"]
        assert isinstance(month, dict)
        assert month["extraido_em"] == "2026-08-08"
        assert month["idade_dias"] >= 0
        assert "08/08/2026" in Browser(house).get("/status").words


def test_a_script_is_given_what_changes(tmp_path: Path) -> None:
    with opened(tmp_path) as house:
        browser = Browser(house)
        (region,) = browser.get("/status").tree.xpath("//*[@hx-trigger='every 30s']")
        part = browser.get(region.get("hx-get"), hx_request="true")
        assert part.status == 200
        assert "<html" not in part.text
        assert "Atualizado às" in part.words


def test_while_the_database_is_away_the_service_itself_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)
        assert estado(Browser(house))["servico"] == "operacional"
    with opened(tmp_path / "other", infosimples=INFOSIMPLES) as house:
        note(house, "infosimples", "federal_certificate", "", *["found"] * 3)

        async def away(_: int) -> None:
            raise StorageFailed("database away")

        monkeypatch.setattr(house.house.desk, "heartbeat", away)
        told = estado(Browser(house))
        assert told["servico"] == "fora_do_ar"
        # The sources are well all the same.
        federal_one = by_operation(told)["certidao-negativa-de-debitos-federal"]
        assert federal_one["situacao"] == "operacional"
        page = Browser(house).get("/status")
        assert page.status == 200
        assert "O serviço está fora do ar" in page.words
        assert page.tree.xpath("//*[@class='verdict bad']")
