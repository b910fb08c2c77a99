"""The company's page: the account's results, prices, and buttons that look up once."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from balcao.core.rate_limit import Limit
from balcao.home import Home
from balcao.opendata.search.building import build_index
from balcao.web.kit.snippets.one_request import of_request
from tests.records import federal_of
from tests.service import Client, Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.companies import address, buttons, lines, press, spent
from tests.web.lookups import GOOD, ZONE

BRANCH, HEAD = "90010007000268", "90010007000187"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service with a month of open data and its index, as after a first start."""
    with open_service(tmp_path_factory.mktemp("casa"), establishments=300) as house:
        build_index(Home(house.settings.home).opendata("test"))
        yield house
        house.assert_books_agree()


@pytest.fixture
def mine(house: Service, request: pytest.FixtureRequest) -> Client:
    return house.account(request.node.name)


@pytest.fixture
def browser(house: Service, mine: Client) -> Browser:
    return signed_in(house, mine)


@pytest.mark.parametrize(
    ("typed", "status"),
    [("12abc34501de35", 303), ("90010001000101", 404), ("900100010", 404), ("x" * 600, 404)],
)
def test_addresses(browser: Browser, typed: str, status: int) -> None:
    answer = browser.get(address(typed))
    assert answer.status == status
    if status == 303:
        assert answer.location == address("12ABC34501DE35")


def test_an_unknown_company(browser: Browser) -> None:
    """Neither the month nor the account has it: the state must be chosen, the rest can be looked
    up.
    """
    answer = browser.get(address("99999999000191"))
    assert answer.tree.findtext(".//h1") == "CNPJ 99.999.999/0001-91"
    values = buttons(answer)
    assert "empresa...n.1" in values
    assert "certidao-estadual.?..n.2" in values
    assert not [value for value in values if value.startswith("certidao-estadual..")]
    asked = press(browser, "99999999000191", "empresa...n")
    assert lines(asked)["Cadastro (Receita Federal)"].startswith("CNPJ não encontrado")
    assert "Não consta no cadastro" in asked.words


@pytest.mark.parametrize(
    "value", ["", "nada...n", "empresa.SP.x.y.z", "certidao-estadual.XX..n", "produtor-rural.SP..n"]
)
def test_values_that_no_button_sends(
    house: Service, browser: Browser, mine: Client, value: str
) -> None:
    answer = browser.post(f"{address(GOOD)}/consultar", {"o": value})
    assert answer.status == (402 if value.startswith("empresa") else 400)
    assert spent(house, mine) == 0


# ---- Access ----


def test_a_plan_without_certificates(house: Service) -> None:
    free = house.account("gratis", plan="gratuito")
    browser = signed_in(house, free)
    answer = browser.get(address(GOOD))
    assert lines(answer)["Certidão federal"].startswith("não incluído no plano")
    assert not [each for each in buttons(answer) if each.startswith("certidao")]
    assert browser.post(f"{address(GOOD)}/consultar", {"o": "certidao-federal...n"}).status == 403
    assert not house.charges(free)


def test_consultants_see_theirs_and_managers_all(house: Service) -> None:
    """As ADR 0018 requires."""
    mine = house.account("papeis")
    house.get(federal_of(GOOD), mine)
    caio, marina = signed_in(house, mine, "consultant"), signed_in(house, mine)
    assert lines(caio.get(address(GOOD)))["Certidão federal"] == "ainda não consultado"
    press(caio, GOOD, "certidao-estadual.SP..n")
    theirs = lines(caio.get(address(GOOD)))
    assert theirs["Certidão estadual SP"].startswith("Certidão negativa")
    assert caio.user is not None
    assert f"por {caio.user.name}" in lines(marina.get(address(GOOD)))["Certidão estadual SP"]
    assert lines(marina.get(address(GOOD)))["Certidão federal"].startswith("CND")
    stranger = signed_in(house, house.account("estranhos"))
    assert set(lines(stranger.get(address(GOOD))).values()) == {"ainda não consultado"}
    operator = signed_in(house, role="operator")
    assert operator.get(address(GOOD)).status == 403


# ---- The month ----


def partners(answer: PageResponse) -> str:
    found = answer.tree.xpath("//table[caption='Sócios e administradores']")
    return " ".join(found[0].text_content().split()) if found else ""


def test_persons_of_the_month_need_the_opt_in(house: Service) -> None:
    plain, opted = house.account("sem optin"), house.account("com optin", partner_optin=True)
    answer = signed_in(house, plain).get(address(GOOD))
    assert "REDE DE FILIAIS FICTICIA LTDA" in partners(answer)
    assert "FULANA DA FICCAO SILVA" not in answer.words
    assert "2 sócios não aparecem aqui" in answer.words
    assert answer.tree.xpath(f"//table//a[@href='{address(HEAD)}']")
    assert "FULANA DA FICCAO SILVA" in partners(signed_in(house, opted).get(address(GOOD)))
    # An account with the registry's answer sees them; never a whole CPF.
    mine = signed_in(house, plain)
    answer = press(mine, GOOD, "empresa...n")
    assert "FULANA DA FICCAO SILVA" in partners(answer)
    assert "***.256.481-**" in partners(answer)


def test_a_company_that_is_a_person(house: Service) -> None:
    """As in searches: with the opt-in, or after an answer about it (contract 14.4)."""
    opted, plain = house.account("com", partner_optin=True), house.account("sem")
    found = house.get("/buscas/v1/empresas?natureza=2135&pessoas=true&limite=1", opted)
    (item,) = found.json["itens"]
    cnpj, name = item["cnpj"], item["nome_empresarial"]
    assert name in signed_in(house, opted).get(address(cnpj)).words
    browser = signed_in(house, plain)
    answer = browser.get(address(cnpj))
    assert answer.tree.findtext(".//h1").startswith("CNPJ ")
    assert name not in answer.words
    assert name in press(browser, cnpj, "empresa...n").words


def test_head_office_and_branches(house: Service, browser: Browser) -> None:
    answer = browser.get(address(BRANCH))
    (listed,) = answer.tree.xpath("//ul[contains(@class, 'establishments')]")
    assert listed.xpath(".//a/@href") == [address(HEAD)]
    assert "90.010.007/0002-68" in listed.text_content()
    assert "2 no mês" in answer.words
    # A foreign cursor starts from the beginning.
    assert "2 no mês" in browser.get(f"{address(BRANCH)}?filiais=ffffffff.c1").words


def test_companies_of_which_it_is_a_partner(house: Service) -> None:
    opted = signed_in(house, house.account("ligadas", partner_optin=True))
    (linked,) = opted.get(address(HEAD)).tree.xpath("//h3[.='É sócia de']/following-sibling::ul")
    assert address(GOOD) in linked.xpath(".//a/@href")
    plain = signed_in(house, house.account("ligadas sem")).get(address(HEAD))
    assert "É sócia de" not in plain.words


# ---- Recent companies, and the page's limits ----


def test_recent_companies_on_the_first_page(house: Service, browser: Browser) -> None:
    assert "Empresas recentes" not in browser.get("/app").words
    for cnpj in (GOOD, ZONE, GOOD):
        press(browser, cnpj, "empresa...n")
    press(browser, GOOD, "suframa...n")
    answer = browser.get("/app")
    links = answer.tree.xpath("//ul[@class='companies']//a/@href")
    assert links == [address(GOOD), address(ZONE)]


def test_a_refused_request_makes_no_recent_company(
    house: Service, mine: Client, browser: Browser
) -> None:
    path, reused = "/consultas/v2/cnpj-receita-federal/", {"idempotency_key": "used-for-one"}
    assert house.get(path + GOOD, mine, **reused).status == 200
    assert house.get(path + ZONE, mine, **reused).status == 400
    links = browser.get("/app").tree.xpath("//ul[@class='companies']//a/@href")
    assert links == [address(GOOD)]


def test_recent_companies_have_the_name_of_any_answer(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(browser, GOOD, "empresa...n")
    monkeypatch.setattr("balcao.web.pages.companies.facts.company_in_month", lambda *_, **__: None)
    (answer,) = browser.get("/app").tree.xpath("//ul[@class='companies']/li")
    assert answer.text_content().startswith("EMPRESA ATIVA FICTICIA LTDA 90.010.001/0001-00")


def test_opening_too_many_pages_is_limited(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "balcao.web.pages.companies.page.COMPANIES_LIMIT", Limit("few", 2, 86_400_000)
    )
    answers = [browser.get(address(GOOD)) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert "use os lotes" in answers[-1].words


# ---- Snippets ----

URL = "https://balcao.test/consultas/v2/sintegra/90010001000100?uf=SP"


def test_snippets_have_the_address_and_no_key() -> None:
    snippets = dict(of_request(URL))
    languages = {"curl", "Python", "PHP", "C#", "Node", "Go", "Java", "Delphi"}
    assert set(snippets) == languages
    for text in snippets.values():
        assert text.count(URL) == 1
        assert "x-api-key" in text
        assert "BALCAO_KEY" in text


def test_the_python_snippet_works(
    house: Service, mine: Client, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    asked: list[Any] = []

    class Answer:
        def __enter__(self) -> "Answer":
            return self

        def __exit__(self, *_: object) -> None: ...

        def read(self) -> bytes:
            return b'{"success": true}'

    def urlopen(request: Any, timeout: float) -> Answer:
        asked.append(request)
        return Answer()

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setenv("BALCAO_KEY", mine.key)
    text = dict(of_request(URL))["Python"]
    ast.parse(text)
    exec(compile(text, "trecho", "exec"), {})
    (request,) = asked
    assert request.full_url == URL
    assert request.headers["X-api-key"] == mine.key
    assert "success" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("node") is None, reason="não há Node")
def test_the_snippet_in_node_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "trecho.mjs"
    file.write_text(dict(of_request(URL))["Node"], "utf-8")
    subprocess.run(["node", "--check", file], check=True)


def test_the_page_shows_its_own_addresses(house: Service, browser: Browser) -> None:
    answer = browser.get(address(GOOD))
    base = house.settings.address
    shown = answer.tree.xpath("//dl[@class='addresses']//code/text()")
    assert f"{base}/consultas/v2/cnpj-receita-federal/{GOOD}" in shown
    assert f"{base}/consultas/v2/certidao-negativa-de-debitos-federal?cnpj={GOOD}" in shown
    assert f"{base}/consultas/v2/sintegra/{GOOD}?uf=SP" in shown
    for url in shown:
        assert house.get(url.removeprefix(base)).status in (200, 404)
