"""Imported months, progress of an import, and rollback to the previous month."""

import fcntl
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from balcao.accounts.links import new_token
from balcao.core.month_switch import MonthInUse
from balcao.opendata.fetching.state import StateFile
from balcao.opendata.progress_file import FileProgress
from balcao.web.kit.month_age import MonthAge
from tests.opendata.months import Month
from tests.service import Service, open_service
from tests.web.browser import Browser, PageResponse

PATH = "/app/operador/dados-abertos"
NOVEMBER_MS = 1_795_000_000_000
JULY, AUGUST = date(2026, 7, 11), date(2026, 8, 8)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Service]:
    with open_service(tmp_path / "home") as house:
        yield house


def store_of(house: Service) -> Path:
    return house.settings.home / "opendata" / "live"


def built(house: Service, tmp_path: Path, *days: date) -> None:
    for day in days:
        Month(tmp_path / str(day), day=day).build(store_of(house))


def states(page: PageResponse) -> list[tuple[str, str]]:
    rows = page.tree.xpath("//section[@id='meses-live']//tbody/tr")
    return [("".join(row[0].itertext()), "".join(row[1].itertext())) for row in rows]


def actions(house: Service) -> list[str]:
    entries = house.desk.people.audit(10, action="opendata.rollback")
    return [entry.detail for entry in entries]


def test_without_imported_months(operator: Browser) -> None:
    page = operator.get(PATH)
    assert page.status == 200
    assert "Nenhum mês em uso" in page.words
    assert "comparação" not in page.words
    assert "balcao opendata build PASTA" in page.words
    assert "Voltar ao mês anterior" not in page.words
    asked = operator.get(f"{PATH}/voltar")
    assert asked.status == 409
    assert "Não há um mês anterior guardado" in asked.words


def test_rollback(house: Service, operator: Browser, tmp_path: Path) -> None:
    built(house, tmp_path, JULY, AUGUST)
    house.run(house.desk.months.record("2026-07", MonthInUse(AUGUST), NOVEMBER_MS))
    page = operator.get(PATH)
    assert "Última comparação das carteiras: mês 08/2026, em andamento desde" in page.words
    assert "0 itens comparados, 0 com mudança, 0 não verificados." in page.words
    assert states(page) == [("08/08/2026", "em uso"), ("11/07/2026", "guardado")]
    (link,) = page.tree.xpath("//section[@id='meses-live']//a[contains(., 'Voltar ao mês')]/@href")
    question = operator.get(link)
    assert "Voltar ao mês de 11/07/2026?" in question.words
    form = {name: question.field(name) for name in ("form_id", "ambiente", "de")}
    assert states(operator.get(PATH))[0] == ("08/08/2026", "em uso")  # nothing happened yet

    assert operator.post(f"{PATH}/voltar", form).location == f"{PATH}?feito=voltou"
    assert (
        "só volta a ser usado se for importado outra vez"
        in operator.get(f"{PATH}?feito=voltou").words
    )
    assert states(operator.get(PATH)) == [
        ("08/08/2026", "descartado, ainda no disco"),
        ("11/07/2026", "em uso"),
    ]
    assert actions(house) == ["de 08/08/2026 para 11/07/2026"]
    # Again, with the same form and another one: its month is no longer in use.
    for again in (form, {**form, "form_id": new_token()}):
        assert operator.post(f"{PATH}/voltar", again).status == 409
    assert states(operator.get(PATH))[1] == ("11/07/2026", "em uso")
    assert len(actions(house)) == 1


def test_a_failed_rollback_changes_nothing(
    house: Service, operator: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(house, tmp_path, JULY, AUGUST)

    def broken(store: Path) -> date:
        raise OSError(5, "disco")

    monkeypatch.setattr("balcao.web.pages.operator.opendata.rollback", broken)
    form = {"form_id": new_token(), "ambiente": "live", "de": f"{AUGUST}.snapshot"}
    answer = operator.post(f"{PATH}/voltar", form)
    assert answer.status == 409
    assert "Nada foi alterado" in answer.words
    assert actions(house) == ["não foi feito: OSError", "de 08/08/2026 para 11/07/2026"]


def test_progress_of_an_import(house: Service, operator: Browser, tmp_path: Path) -> None:
    store = store_of(house)
    built(house, tmp_path, JULY)
    with (store / "lock").open("r+") as lock, FileProgress(store, AUGUST) as progress:
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress.begin("Lendo empresas", 1000)
        progress.begin("Lendo estabelecimentos", 1000)
        progress.advance("x.zip", 250, 1234)
        progress.begin("Lendo sócios", 1000)
        page = operator.get(PATH)
        assert "Importando o mês de 08/08/2026" in page.words
        assert "0% desta fase. Lendo sócios" in page.words
        (region,) = page.tree.xpath("//*[@hx-get]")
        assert region.get("hx-trigger") == "every 3s"
        part = operator.get(region.get("hx-get"), hx_request="true")
        assert "<html" not in part.text
        assert "Importando o mês" in part.words
    # The lock is free and no end is recorded: the import was killed.
    after = operator.get(PATH)
    assert "Importando" not in after.words
    assert after.tree.xpath("//*[@hx-get]/@hx-trigger") == ["every 30s"]


def test_progress_of_a_download(house: Service, operator: Browser) -> None:
    store = store_of(house)
    with StateFile(store, lambda: NOVEMBER_MS) as state_file:
        state_file.update("baixando", month="2026-11", bytes_done=379, bytes_total=1000)
        page = operator.get(PATH)
        assert "Baixando o mês 2026-11: 37%." in page.words
        assert page.tree.xpath("//*[@hx-get]/@hx-trigger") == ["every 3s"]
        assert page.tree.xpath("//section[@id='meses-test']//*[contains(., 'Baixando')]") == []
    assert "interrompido em 37% do mês 2026-11" in operator.get(PATH).words
    with StateFile(store, lambda: NOVEMBER_MS) as state_file:
        state_file.update("falhou", "o disco está cheio", month="2026-11")
    assert "O mês 2026-11 não foi colocado em uso: o disco está cheio." in operator.get(PATH).words


def test_a_month_in_use_for_too_long() -> None:
    assert not MonthAge(date(2026, 10, 10), date(2026, 11, 24)).is_alarming
    assert MonthAge(date(2026, 10, 10), date(2026, 11, 25)).is_alarming


@pytest.mark.parametrize(
    ("extraction", "today", "behind", "verdict"),
    [
        ((2026, 10, 10), (2026, 10, 20), 0, "É o mês mais recente publicado."),
        ((2026, 10, 10), (2026, 11, 8), 0, "É o mês mais recente publicado."),
        ((2026, 10, 10), (2026, 11, 9), 0, "O mês de novembro deve sair em breve"),
        ((2026, 10, 10), (2026, 11, 17), 0, "O mês de novembro deve sair em breve"),
        ((2026, 10, 10), (2026, 11, 18), 1, "Um mês mais novo já foi publicado."),
        ((2026, 11, 14), (2026, 11, 15), 0, "É o mês mais recente publicado."),
        ((2026, 10, 10), (2026, 12, 18), 2, "Já foram publicados 2 meses mais novos."),
        ((2026, 12, 12), (2027, 1, 10), 0, "O mês de janeiro deve sair em breve"),
        ((2026, 12, 12), (2027, 2, 1), 1, "Um mês mais novo já foi publicado."),
    ],
)
def test_a_month_s_age_follows_the_publisher_s_calendar(
    extraction: tuple[int, int, int], today: tuple[int, int, int], behind: int, verdict: str
) -> None:
    age = MonthAge(date(*extraction), date(*today))
    assert age.behind == behind
    assert age.verdict.startswith(verdict)
    assert age.tone == ("good", "warn", "bad")[behind]
