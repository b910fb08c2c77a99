"""The buttons of the company's page: their prices, and that each looks up once."""

import asyncio
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from tests.records import state_of
from tests.service import Client, Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.companies import address, buttons, lines, of_all, of_form, press, spent
from tests.web.lookups import BROKEN, CLOSED, DOWN, GOOD, SLOW, ZONE

OF_FORMS = ("empresa", "certidao-federal", "certidao-estadual", "inscricoes-estaduais", "suframa")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Service]:
    """Return a service with the sandbox's month, and nothing in the cache yet."""
    with open_service(tmp_path, establishments=1) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def mine(house: Service) -> Client:
    return house.client


# ---- Opening the page ----


def test_opening_costs_nothing_and_asks_no_source(
    house: Service, browser: Browser, mine: Client
) -> None:
    answer = browser.get(address(GOOD))
    assert answer.status == 200
    assert answer.tree.findtext(".//h1") == "EMPRESA ATIVA FICTICIA LTDA"
    assert "Matriz · SAO PAULO SP · aberta em 02/03/2015" in answer.words
    assert set(lines(answer).values()) == {"ainda não consultado"}
    assert [of_form(answer, slug)[0] for slug in OF_FORMS] == [
        "empresa...n.1",
        "certidao-federal...n.2",
        "certidao-estadual.SP..n.2",
        "inscricoes-estaduais.SP..n.1",
        "suframa...n.1",
    ]
    assert "1 cr" in of_form(answer, "empresa")[1]  # our own copy answers: exactly
    assert "até 2 cr" in of_form(answer, "certidao-federal")[1]
    assert of_all(answer) == ("falta.11", "Consultar o que falta · até 11 cr")
    assert not house.charges(mine)
    assert "A conta ainda não consultou esta empresa." in answer.words


# ---- Pressing buttons ----


def test_each_register_by_its_button(house: Service, browser: Browser, mine: Client) -> None:
    answer = browser.get(address(GOOD))
    for slug, costs in (
        ("certidao-federal", 2),
        ("certidao-estadual", 2),
        ("inscricoes-estaduais", 1),
    ):
        before = spent(house, mine)
        answer = press(browser, GOOD, of_form(answer, slug)[0])
        assert spent(house, mine) == before + costs
    shown = lines(answer)
    assert shown["Certidão federal"].startswith("CND BCF6.24B5.98D7.4E50")
    assert shown["Certidão estadual SP"].startswith("Certidão negativa")
    assert shown["Inscrições estaduais SP"].startswith("1 inscrição ativa em SP")
    assert answer.tree.xpath("//a[starts-with(@href, '/app/comprovantes/')]")
    assert re.search(r"15/02/2027.*faltam \d+ dias", answer.words)
    # A certificate in force can be renewed from the source.
    value, text = of_form(answer, "certidao-federal")
    assert (value[-4:], "Renovar" in text) == (".r.2", True)
    before = spent(house, mine)
    answer = press(browser, GOOD, value)
    assert spent(house, mine) == before + 2
    # Every request is an entry of the timeline, and an event with its own number.
    numbers = [
        link.rpartition("/")[2] for link in answer.tree.xpath("//ol[@class='timeline']//a/@href")
    ]
    assert len(numbers) == 4
    events = [house.event(number) for number in numbers]
    assert {each["operation"] for each in events} == {"app:consultar"}
    assert sum(each["credits"] for each in events) == 7


def test_a_button_asks_once(house: Service, browser: Browser, mine: Client) -> None:
    """A double click, and the same button of an outdated page."""
    value, _ = of_form(browser.get(address(GOOD)), "certidao-federal")
    headers = {"sec-fetch-site": "same-origin"}

    async def clicks() -> list[PageResponse]:
        sending = [
            browser.send("POST", f"{address(GOOD)}/consultar", {"o": value}, headers)
            for _ in range(3)
        ]
        return await asyncio.gather(*sending)

    assert [answer.status for answer in house.run(clicks())] == [303] * 3
    answer = press(browser, GOOD, value)
    assert spent(house, mine) == 2
    assert "Última tentativa" not in lines(answer)["Certidão federal"]
    renew, _ = of_form(browser.get(address(GOOD)), "certidao-federal")
    for _ in range(3):
        press(browser, GOOD, renew)
    assert spent(house, mine) == 4


def test_everything_missing_at_once(house: Service, browser: Browser, mine: Client) -> None:
    press(browser, ZONE, "suframa...n")
    answer = browser.get(address(ZONE))
    assert of_all(answer) == ("falta.10", "Consultar o que falta · até 10 cr")
    headers = {"sec-fetch-site": "same-origin"}

    async def clicks() -> None:
        sending = [
            browser.send("POST", f"{address(ZONE)}/consultar", {"o": "falta.10"}, headers)
            for _ in range(2)
        ]
        await asyncio.gather(*sending)

    house.run(clicks())
    assert spent(house, mine) == 1 + 10
    answer = browser.get(address(ZONE))
    assert of_all(answer) == ("", "")
    assert not any("ainda não consultado" in shown for shown in lines(answer).values())
    # Pressed again on the outdated page, nothing is missing.
    press(browser, ZONE, "falta.10")
    assert spent(house, mine) == 11

    all_receipts = f"{address(ZONE)}/comprovantes"
    assert answer.tree.xpath(f"//a[@href='{all_receipts}']")
    with zipfile.ZipFile(io.BytesIO(browser.get(all_receipts).content)) as archive:
        assert archive.testzip() is None
        kinds = sorted(name.removeprefix(ZONE).split("_")[-2] for name in archive.namelist()[:-1])
        assert kinds == ["estadual-AM", "federal", "fgts", "trabalhista"]
        assert all(archive.read(name).startswith(b"%PDF") for name in archive.namelist()[:-1])


def test_without_a_month_one_press_asks_the_registry_and_then_its_state(tmp_path: Path) -> None:
    """The certificate of the company's own UF is asked last, within the price on the button."""
    with open_service(tmp_path) as house:
        browser, mine = signed_in(house), house.client
        page = browser.get(address(GOOD))
        assert "“Consultar o que falta” consulta o cadastro e" in lines(page)["Certidão estadual"]
        value, text = of_all(page)
        assert (value, text) == ("falta.11", "Consultar o que falta · até 11 cr")
        page = press(browser, GOOD, value)
        shown = lines(page)
        assert shown["Certidão estadual SP"].startswith("Certidão negativa")
        assert not any("ainda não consultado" in text for text in shown.values())
        assert spent(house, mine) == 10  # Suframa has no registration, which is free
        press(browser, GOOD, value)  # on the outdated page: nothing is missing
        assert spent(house, mine) == 10


def test_slow_results_appear_as_they_arrive(
    house: Service, browser: Browser, mine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.web.pages.companies.page._AT_ONCE_SECONDS", 0.05)
    headers = {"sec-fetch-site": "same-origin"}
    value, _ = of_form(browser.get(address(SLOW)), "certidao-federal")

    async def story() -> PageResponse:
        answer = await browser.send("POST", f"{address(SLOW)}/consultar", {"o": value}, headers)
        assert answer.status == 303
        await house.until(lambda: house.money(mine)[1] > 0)
        meanwhile = await browser.send("GET", address(SLOW), None, {})
        await house.until(lambda: house.money(mine)[1] == 0)
        return meanwhile

    meanwhile = house.run(story())
    assert lines(meanwhile)["Certidão federal"].startswith("Consultando…")
    assert meanwhile.tree.xpath("//noscript/meta/@http-equiv") == ["refresh"]
    assert not [each for each in buttons(meanwhile) if each.startswith("certidao-federal")]
    afterwards = browser.get(address(SLOW))
    assert lines(afterwards)["Certidão federal"].startswith("CND")
    assert not afterwards.tree.xpath("//noscript/meta")
    assert spent(house, mine) == 2


def test_failures_cost_nothing_and_can_be_repeated(
    house: Service, browser: Browser, mine: Client
) -> None:
    answer = browser.get(address(BROKEN))
    for cnpj, word in ((BROKEN, "falhou"), (DOWN, "indisponível")):
        value, _ = of_form(browser.get(address(cnpj)), "certidao-federal")
        for _ in range(2):
            answer = press(browser, cnpj, value)
            shown = lines(answer)["Certidão federal"]
            assert "Última tentativa, agora" in shown
            assert word in shown
            assert "sem custo" in shown
        assert of_all(answer)[1].startswith("Consultar o que falta")
    (folded,) = answer.tree.xpath("//ol[@class='timeline']/li")
    assert ", 2 vezes" in folded.text_content()
    assert spent(house, mine) == 0


@pytest.mark.parametrize("value", ["falta.10", "falta", "falta.x", "certidao-federal...n.1"])
def test_nothing_costs_more_than_its_button_showed(
    house: Service, browser: Browser, mine: Client, value: str
) -> None:
    """The kept result that was priced has expired since."""
    answer = browser.post(f"{address(GOOD)}/consultar", {"o": value})
    assert answer.status == 402
    assert "O preço mudou" in answer.words
    assert "Nada foi cobrado" in answer.words
    assert spent(house, mine) == 0
    press(browser, GOOD, of_form(answer, "certidao-federal")[0])
    assert spent(house, mine) == 2


def test_another_uf(house: Service, browser: Browser, mine: Client) -> None:
    answer = press(browser, GOOD, "certidao-estadual.?..n", **{"uf_certidao-estadual": "AM"})
    assert "Certidão estadual AM" in lines(answer)
    assert spent(house, mine) == 2
    # Without a choice nothing happens; the same one again shows its earlier result.
    press(browser, GOOD, "certidao-estadual.?..n", **{"uf_certidao-estadual": ""})
    press(browser, GOOD, "certidao-estadual.?..n", **{"uf_certidao-estadual": "AM"})
    assert spent(house, mine) == 2


def test_too_few_credits(house: Service) -> None:
    poor = house.account("poucos", credits=1)
    browser = signed_in(house, poor)
    answer = browser.get(address(CLOSED))
    disabled = {each.get("value") for each in answer.tree.xpath("//button[@name='o'][@disabled]")}
    assert {"falta.11", "certidao-federal...n.2"} <= disabled
    assert "empresa...n.1" not in disabled
    refused = browser.post(f"{address(CLOSED)}/consultar", {"o": "certidao-federal...n"})
    assert refused.status == 402
    assert "Créditos insuficientes" in refused.words
    assert refused.tree.xpath("//div[@role='alert']")
    assert house.money(poor) == (1, 0)
    # If one of several is refused, the page reports what was charged for the others.
    refused = browser.post(f"{address(CLOSED)}/consultar", {"o": "falta.11"})
    assert refused.status == 402
    assert house.money(poor) == (0, 0)
    assert "Nada foi cobrado" not in refused.words
    assert "As respondidas estão na lista abaixo" in refused.words


def test_a_suspended_account_sees_results_but_looks_up_nothing(house: Service) -> None:

    mine = house.account("suspensa")
    house.get(state_of(GOOD), mine)
    browser = signed_in(house, mine)
    people = house.desk.people
    house.run(people.suspend_account(mine.account_id, True, Signature("cli"), system_now_ms()))
    answer = browser.get(address(GOOD))
    assert lines(answer)["Certidão estadual SP"].startswith("Certidão negativa")
    assert not buttons(answer)
    refused = browser.post(f"{address(GOOD)}/consultar", {"o": "empresa...n"})
    assert refused.status == 403
    assert "suspendeu" in refused.words
