"""*Sistema*, the first steps, and the check of sources, for operators."""

import asyncio
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from balcao.accounts.links import new_token
from balcao.core.calendar import civil_day
from balcao.core.findings import Finding
from balcao.core.people import AT_THE_TERMINAL
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.service.clock import system_now_ms
from balcao.settings.groups import Group
from balcao.web.kit import guard
from balcao.web.kit.configured import ConfiguredSources
from balcao.web.kit.examinations import Examinations
from balcao.web.kit.month_age import MonthAge
from balcao.web.kit.standings import SUBJECTS
from balcao.web.pages.operator import first_steps, overview
from tests.service import Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.test_operator_accounts import account, open_account

OFFICE = "/app/operador"
SYSTEM = f"{OFFICE}/sistema"
# A closed port: the connection is refused at once.
CNPJA = CnpjaSettings(url="http://127.0.0.1:9", key=SecretStr("abre-te-sesamo"))
PAGES = ("sistema", "copias", "configuracoes", "prorrogacoes", "obsoletos", "primeiros-passos")


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


def open_steps(answer: PageResponse) -> dict[str, bool]:
    """Return the steps of a page, and whether each is done."""
    items = answer.tree.xpath("//ol[@class='timeline']/li")
    return {
        item.xpath("string(div[@class='what']/text()[1])").strip(): "good" in item.get("class")
        for item in items
    }


# Access.


@pytest.mark.parametrize("page", PAGES)
def test_only_operators_see_the_installation(operator: Browser, page: str) -> None:
    assert operator.get(f"{OFFICE}/{page}").status == 200
    assert signed_in(operator.house).get(f"{OFFICE}/{page}").status == 403
    assert Browser(operator.house).get(f"{OFFICE}/{page}").status == 303


@pytest.mark.parametrize("page", [*PAGES[:-1], "operadores", "dados-abertos", "auditoria"])
def test_the_menu_marks_the_current_page(operator: Browser, page: str) -> None:
    answer = operator.get(f"{OFFICE}/{page}")
    marked = answer.tree.xpath("//nav[@aria-label='Principal']//a[@aria-current]/text()")
    assert marked == ["Sistema"]
    assert len(answer.tree.xpath("//nav[@aria-label='Sistema']//a[@aria-current]")) == 1


# Health.


def test_the_first_visit_and_the_button_start_an_examination(operator: Browser) -> None:
    assert "Última verificação " in operator.get(SYSTEM).words
    assert operator.post(SYSTEM).location == SYSTEM
    answer = operator.get(SYSTEM)
    names = [cell.text_content() for cell in answer.tree.xpath("//tbody/tr/th")]
    assert {"banco de dados", "livro-razão", "backup", "TLS"} <= set(names)
    assert "Última verificação " in answer.words
    # Failures come first.
    states = [
        badge.text_content().strip()
        for badge in answer.tree.xpath("//tbody//span[contains(@class, 'badge')]")
    ]
    assert states == sorted(states, key=["falha", "aviso", "ok"].index)


def test_one_examination_at_a_time_and_bugs_are_reported(house: Service) -> None:
    calls = []

    def look() -> list[Finding]:
        calls.append(1)
        raise RuntimeError("segredo")

    async def twice() -> Examinations:
        seen = Examinations(look)
        await seen.start(1)
        assert seen.since_ms is None
        await seen.start(2)
        return seen

    seen = house.run(twice())
    assert len(calls) == 2
    assert seen.last is not None
    (found,) = seen.last.findings
    assert (found.status, seen.last.at_ms) == ("fail", 2)
    assert "RuntimeError" in found.text
    assert "segredo" not in found.text


# Settings and backups.


def test_settings_are_shown_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_CNPJA__KEY", "abre-te-sesamo")
    with open_service(tmp_path, cnpja=CNPJA) as house:
        answer = signed_in(house, role="operator").get(f"{OFFICE}/configuracoes")
    assert "abre-te-sesamo" not in answer.text
    rows = {
        row.xpath("string(th/code)"): [cell.text_content() for cell in row.xpath("td")]
        for row in answer.tree.xpath("//tbody/tr")
    }
    assert rows["cnpja.key"][1].startswith("ambiente")
    assert rows["breaker_failures"][1] == "padrão"
    # The folder was set neither by file nor by variable, so the configured value differs.
    assert "foi informado no comando" in rows["home"][1]


def test_settings_that_became_unreadable(
    operator: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "balcao.toml"
    broken.write_text("[cnpja\nkey = abre-te-sesamo")
    monkeypatch.setenv("BALCAO_CONFIG", str(broken))
    answer = operator.get(f"{OFFICE}/configuracoes")
    assert answer.status == 409
    assert "corrija o arquivo" in answer.words
    assert "abre-te-sesamo" not in answer.text


def test_only_configured_settings(operator: Browser) -> None:
    page = operator.get(f"{OFFICE}/configuracoes").tree
    assert page.xpath("//main//h2/text()") == [group.value for group in Group]
    (mail,) = page.xpath("//h2[.='E-mail']/following::tbody[1]/tr[1]/th/code/text()")
    assert mail == "smtp_host"
    whole = page.xpath("//tbody/tr")
    some = operator.get(f"{OFFICE}/configuracoes?so=definidas").tree.xpath("//tbody/tr")
    assert 0 < len(some) < len(whole)


def test_backups_are_listed(operator: Browser) -> None:
    path = f"{OFFICE}/copias"
    assert "Nenhum backup" in operator.get(path).words
    folder = operator.house.settings.home / "backups"
    folder.mkdir()
    (folder / "balcao-20261101-030000.tar").write_bytes(b"x" * 2_500_000)
    answer = operator.get(path).words
    assert "balcao-20261101-030000.tar" in answer
    assert "01/11/2026 às 00:00" in answer
    assert "2,5" in answer
    assert "O último backup está atrasado" in answer
    assert "No mesmo disco" in answer


# First steps.


def test_first_steps_are_checked(operator: Browser) -> None:
    found = open_steps(operator.get(f"{OFFICE}/primeiros-passos"))
    assert len(found) == 8
    assert found["Conta de operador"]
    assert not found["Segundo fator"]
    assert not found["Endereço público e HTTPS"]
    assert operator.user is not None
    people = operator.house.desk.people
    operator.house.run(people.set_totp(operator.user.user_id, b"sealed", AT_THE_TERMINAL, 1))
    assert open_steps(operator.get(OFFICE))["Segundo fator"]


def test_the_list_is_closed_but_its_page_stays(operator: Browser) -> None:
    assert open_steps(operator.get(OFFICE))
    path = f"{OFFICE}/primeiros-passos"
    assert operator.post(path, {"form_id": new_token()}).location == OFFICE
    assert not open_steps(operator.get(OFFICE))
    assert open_steps(operator.get(path))
    (entry,) = operator.house.desk.people.audit(1, action="checklist.close")
    assert operator.user is not None
    assert entry.user_id == operator.user.user_id


def test_an_account_with_credits_and_its_first_person(operator: Browser) -> None:
    fields = {"creditos": "1.000", "pessoa": "Ana Lima", "email": "ana@empresa.test"}
    form_id = new_token()
    answer = open_account(operator, "acme", form_id=form_id, **fields)
    acme = account(operator.house, "acme")
    here = f"{OFFICE}/contas/{acme.account_id}"
    assert (answer.status, answer.location) == (303, here)
    shown = operator.get(here)
    assert "Conta acme criada, 1.000 créditos" in shown.words
    assert "/app/convite/" in shown.text
    assert 'balcao-convite=""' in shown.headers["set-cookie"]  # shown once
    other = operator.house.account("outra")
    assert "/app/convite/" not in operator.get(f"{OFFICE}/contas/{other.account_id}").text
    del operator.cookies[guard.NEW_LINK]
    assert "/app/convite/" not in operator.get(here).text
    assert acme.balance_credits == 1_000
    (ana,) = operator.house.desk.people.users(acme.account_id)
    assert (ana.name, ana.role) == ("Ana Lima", "manager")
    # Sent again: everything exists once.
    again = open_account(operator, "acme", form_id=form_id, **fields)
    assert (again.status, again.location.endswith("feito=ja")) == (303, True)
    assert account(operator.house, "acme").balance_credits == 1_000
    assert len(operator.house.desk.people.users(acme.account_id)) == 1
    found = open_steps(operator.get(f"{OFFICE}/primeiros-passos"))
    assert found["A primeira conta de produção"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"creditos": "-5"}, "não tem créditos para retirar"),
        ({"creditos": "muitos"}, "número inteiro"),
        ({"pessoa": "Ana"}, "ou deixe os dois em branco"),
        ({"email": "ana@empresa.test"}, "ou deixe os dois em branco"),
        ({"pessoa": "Ana", "email": "ana"}, "e-mail completo"),
    ],
)
def test_invalid_forms_open_no_account(
    operator: Browser, fields: dict[str, str], text: str
) -> None:
    refused = open_account(operator, "acme", **fields)
    assert refused.status == 422
    assert text in refused.words
    assert all(one.name != "acme" for one in operator.house.desk.accounts())


def test_a_first_person_with_a_known_e_mail(operator: Browser) -> None:
    assert operator.user is not None
    fields = {"pessoa": "Eu", "email": operator.user.email}
    answer = open_account(operator, "acme", **fields)
    assert answer.location.endswith("/usuarios?feito=email")
    assert "A conta foi criada, mas o usuário não" in operator.get(answer.location).words


def test_the_month_step() -> None:
    today = civil_day(system_now_ms())
    assert not first_steps._month(None).done
    assert first_steps._month(MonthAge(today, today)).done


def test_the_sources_step() -> None:
    nothing = ConfiguredSources((), dict.fromkeys(SUBJECTS, ()), {})
    step = first_steps._sources(nothing)
    assert not step.done
    assert step.note.startswith(f"0 de {len(SUBJECTS)} operações")


@pytest.mark.parametrize(
    ("newest", "apart", "done"),
    [(None, False, False), (None, True, False), (1, False, False), (1, True, True)],
)
def test_the_backup_step(newest: int | None, apart: bool, done: bool) -> None:
    assert first_steps._backup(newest, is_apart=apart, every_hours=24).done is done


# Sources.


def test_an_example_for_a_source_that_is_off(operator: Browser) -> None:
    answer = operator.get(f"{OFFICE}/fontes?ativar=serpro_cnd")
    (block,) = answer.tree.xpath("//pre/code")
    assert block.text_content() == (
        '[serpro]\ncnd = true\nconsumer_key = "…"\nconsumer_secret = "…"'
    )
    assert operator.get(f"{OFFICE}/fontes/verificar?fonte=cnpja").status == 404


def test_a_source_is_checked_once(tmp_path: Path) -> None:
    with open_service(tmp_path, cnpja=CNPJA) as house:
        operator = signed_in(house, role="operator")
        path = f"{OFFICE}/fontes/verificar"
        asked = operator.get(f"{path}?fonte=cnpja")
        assert "O CNPJá não cobra por ela" in asked.words
        assert (
            house.desk.people.audit(1, action="source.check") == []
        )  # opening the page asks no source
        form = {"fonte": "cnpja", "form_id": new_token()}
        answer = operator.post(path, form)
        assert answer.status == 200
        assert "falha" in [b.text_content().strip() for b in answer.tree.xpath("//tbody//span")]
        again = operator.post(path, form)
        assert again.status == 409
        assert "Nada foi consultado de novo" in again.words
        assert len(house.desk.people.audit(5, action="source.check")) == 1
        assert "abre-te-sesamo" not in asked.text + answer.text + again.text


# Extensions.


def test_acts_are_typed(operator: Browser) -> None:
    path = f"{OFFICE}/prorrogacoes"
    form = {
        "form_id": new_token(),
        "certidao": "federal",
        "emitidas_de": "2019-09-26",
        "emitidas_ate": "2020-03-24",
        "dias": "90",
        "ato": "Portaria 555/2020",
    }
    answer = operator.post(path, form)
    assert answer.location.endswith("feito=incluida")
    assert operator.post(path, form).location.endswith("feito=ja")
    words = operator.get(path).words
    assert "Federal" in words
    assert "26/09/2019 a 24/03/2020" in words
    assert "por 90 dias" in words
    more = {"form_id": new_token(), "certidao": "fgts", "ato": "Circular 893"}
    assert operator.post(path, form | more).location.endswith("feito=incluida")
    assert "Regularidade do FGTS" in operator.get(path).words
    operator.post(f"{path}/2/remover", {"form_id": new_token()})
    (act,) = operator.house.desk.extensions.all()
    for expected in ("removida", "nenhuma"):
        gone = operator.post(f"{path}/{act.extension_id}/remover", {"form_id": new_token()})
        assert gone.location.endswith(f"feito={expected}")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"certidao": "XX"}, "Escolha a certidão"),
        ({"emitidas_de": "ontem"}, "Escolha um dia"),
        ({"dias": "9999"}, "de 1 a 3650"),
        ({"ate": "2020-12-31"}, "não os dois"),
        ({"ato": ""}, "O ato tem de 1 a 200"),
    ],
)
def test_invalid_acts(operator: Browser, fields: dict[str, str], text: str) -> None:
    usual = {
        "form_id": new_token(),
        "certidao": "SP",
        "emitidas_de": "2026-05-01",
        "emitidas_ate": "2026-05-31",
        "dias": "90",
        "ato": "Decreto 1",
    }
    refused = operator.post(f"{OFFICE}/prorrogacoes", usual | fields)
    assert refused.status == 422
    assert text in refused.words
    assert "Decreto 1" in refused.text or "ato" in fields  # the typed values are kept
    assert operator.house.desk.extensions.all() == []


def test_faults_of_the_installation_are_named_on_the_start_page() -> None:
    findings = [Finding("ok", "bem", "TLS"), Finding("fail", "nenhum backup", "backup")]
    seen = Examinations(lambda: findings)
    asyncio.run(seen.start(1))
    tools = SimpleNamespace(examinations=seen)
    month = MonthAge(date(2026, 8, 8), date(2026, 11, 27))
    faults = list(overview.faults(tools, month))  # type: ignore[arg-type]
    assert [(each.tone, each.text) for each in faults] == [
        ("bad", "1 verificação falhou: backup"),
        ("warn", "Há um mês mais novo dos dados abertos que o de 08/08/2026, em uso"),
    ]
    assert not list(overview.faults(SimpleNamespace(examinations=Examinations(list)), None))  # type: ignore[arg-type]
