"""`/app/busca`: the API's search by hand, priced before, charged once."""

import csv
import io
import re
from collections.abc import Iterator, Mapping

import pytest

from balcao.core.calendar import HOUR_MS
from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.idempotency import digest
from balcao.home import Home
from balcao.opendata.search.building import build_index
from balcao.web.kit.context import PageContext
from balcao.web.pages.search import pages as search
from tests.service import CREDITS, Client, Service, open_service
from tests.web.browser import Browser, PageResponse, signed_in

SEARCH = "/app/busca"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_service(tmp_path_factory.mktemp("casa"), establishments=600) as house:
        build_index(Home(house.settings.home).opendata("test"))
        yield house
        house.assert_books_agree()


@pytest.fixture
def mine(house: Service, request: pytest.FixtureRequest) -> Client:
    return house.account(request.node.name)


@pytest.fixture
def browser(house: Service, mine: Client) -> Browser:
    return signed_in(house, mine)


def search_for(browser: Browser, **filters: str) -> PageResponse:
    """Open the form, fill it in and send it."""
    form_id = browser.get(SEARCH).tree.xpath("//form[@id='busca']/input[@name='form_id']/@value")
    return sent(browser, {"form_id": form_id[0], **filters})


def sent(browser: Browser, fields: Mapping[str, str]) -> PageResponse:
    """Send a search form, and follow it to its result."""
    response = browser.post(SEARCH, fields)
    return browser.get(response.location) if response.status == 303 else response


def page_of(response: PageResponse) -> str:
    """Return the address of a page that was paid for."""
    (action,) = response.tree.xpath("//form[@id='resultados']/@action")
    return str(action).removesuffix("/lote")


def fields(response: PageResponse, form: str) -> dict[str, str]:
    """Return the fields that a form of the page sends."""
    found = response.tree.xpath(f"//form[@id='{form}']//input[@type='hidden']")
    return {each.get("name"): each.get("value") for each in found}


def companies(response: PageResponse) -> list[str]:
    links = response.tree.xpath("//table[contains(@class, 'found-companies')]//th/span/a/@href")
    return [link.rpartition("/")[2] for link in links]


def spent(house: Service, by: Client) -> int:
    return CREDITS - house.money(by)[0]


def test_the_form_shows_its_price(house: Service, browser: Browser) -> None:
    response = browser.get(SEARCH)
    assert response.status == 200
    assert "Custa 1 crédito por página com resultados" in response.words
    assert "Buscar · 1 cr" in response.words
    names = set(response.tree.xpath("//form[@id='busca']//*[@name]/@name"))
    assert {"q", "uf", "municipio", "cnae", "situacao", "capital_min", "raiz"} <= names
    assert "pessoas" not in names


WITHOUT_PEOPLE = "sem empresários individuais nem MEI"


def test_each_count_mentions_that_sole_traders_are_excluded(
    house: Service, browser: Browser
) -> None:
    for form in ({"acao": "contar"}, {"limite": "20"}, {"q": "zzzyyyxxx"}):
        assert WITHOUT_PEOPLE in search_for(browser, uf="SP", **form).words
    by = house.account("pessoas-na-busca", plan="pre_pago", partner_optin=True)
    mine = signed_in(house, by)
    assert WITHOUT_PEOPLE in search_for(mine, uf="SP", acao="contar").words
    assert WITHOUT_PEOPLE not in search_for(mine, uf="SP", acao="contar", pessoas="true").words


def test_mei_is_offered_where_people_may_be_searched(house: Service, browser: Browser) -> None:
    options = "//select[@name='mei']/option/@value"
    assert browser.get(SEARCH).tree.xpath(options) == ["", "false"]
    response = search_for(browser, uf="SP", mei="true")
    assert (response.status, "Nada encontrado" in response.words) == (403, False)
    by = house.account("mei-na-busca", plan="pre_pago", partner_optin=True)
    assert signed_in(house, by).get(SEARCH).tree.xpath(options) == ["", "true", "false"]


def test_a_page_recorded_by_another_version_is_gone(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    form_id = browser.get(SEARCH).field("form_id")
    asked = browser.post(SEARCH, {"form_id": form_id, "uf": "SP"})
    recorded = search._recorded

    async def older(context: PageContext, number: str) -> bytes:
        return (await recorded(context, number)).replace(b',"inclui_pessoas":false', b"")

    monkeypatch.setattr(search, "_recorded", older)
    assert browser.get(asked.location).status == 404


def test_a_page_is_charged_once(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, uf="SP", situacao="ATIVA", limite="20")
    assert response.status == 200
    first = companies(response)
    assert len(first) == 20
    assert "Cobrado: 1 crédito." in response.words
    more = sent(browser, fields(response, "mais"))
    assert not set(companies(more)) & set(first)
    assert companies(sent(browser, fields(response, "mais"))) == companies(more)
    assert spent(house, mine) == 2
    # Back, and another filter in the same form is another search.
    other = sent(browser, {**fields(response, "mais"), "situacao": "BAIXADA", "cursor": ""})
    assert other.status == 200
    assert spent(house, mine) == 3
    assert {entry.operation for entry in house.charges(mine)} == {"busca-de-empresas"}


def test_results_can_be_reopened(house: Service, browser: Browser, mine: Client) -> None:
    """Each page is answered by GET, which never charges; only its owner's browser may see it."""
    form_id = browser.get(SEARCH).field("form_id")
    asked = browser.post(SEARCH, {"form_id": form_id, "uf": "SP", "q": "ficticia"})
    assert asked.status == 303
    response = browser.get(asked.location)
    assert "Cobrado: 1 crédito. Voltar a esta página é grátis." in response.words
    assert response.field("q") == "ficticia"
    assert companies(browser.get(asked.location)) == companies(response)
    counted = search_for(browser, uf="SP", acao="contar")
    assert "estabelecimentos" in counted.words
    assert spent(house, mine) == 2
    colleague = signed_in(house, mine).get(asked.location)
    assert (colleague.status, companies(colleague)) == (404, [])


def test_searches_are_erased_with_the_person(
    house: Service, browser: Browser, mine: Client
) -> None:
    """With any spelling of the CPF. The same form shows nothing again, and charges nothing."""
    asked = {"form_id": browser.get(SEARCH).field("form_id"), "q": "fulana 900100001-00"}
    found = browser.post(SEARCH, asked).location
    assert browser.get(found).field("q") == asked["q"]

    desk, parts = house.desk, house.front.parts
    person = data_subject(parts.receipt_numbers.pepper, Cpf.parse("90010000100"))
    house.run(desk.data_subjects.erase(person, parts.now_ms()))

    assert browser.get(found).status == 404
    assert browser.post(SEARCH, asked).status == 409
    assert spent(house, mine) == 0


def halves_of(found: str) -> list[str]:
    """Return the keys of the recorded result and of its form's question."""
    number = found.rpartition("/")[2]
    return [digest(f"web-{number}"), digest(f"web-form-{number}")]


@pytest.mark.parametrize("half", [0, 1])
def test_a_page_of_which_one_half_is_erased_is_gone(
    house: Service, browser: Browser, half: int
) -> None:
    asked = {"form_id": browser.get(SEARCH).field("form_id"), "uf": "SP", "acao": "contar"}
    found = browser.post(SEARCH, asked).location
    assert browser.get(found).status == 200
    erased = "UPDATE idempotency SET body = x'' WHERE key_digest = ?"
    house.desk.engine.connection.execute(erased, (halves_of(found)[half],))
    assert browser.get(found).status == 404


def test_both_halves_of_a_page_expire_together(house: Service, browser: Browser) -> None:
    asked = {"form_id": browser.get(SEARCH).field("form_id"), "uf": "SP"}
    halves = halves_of(browser.post(SEARCH, asked).location)
    kept = "SELECT expires_ms - bound_ms FROM idempotency WHERE key_digest IN (?, ?)"
    left = house.desk.engine.connection.execute(kept, halves).fetchall()
    assert left == 2 * [(house.settings.idempotency_hours * HOUR_MS,)]


def test_an_expired_page_offers_a_new_search(browser: Browser) -> None:
    gone = browser.get(f"{SEARCH}/resultado/{'0' * 32}")
    assert gone.status == 404
    assert "Esta página da busca não está mais disponível" in gone.words
    assert gone.tree.xpath("//form[@id='busca']")


def test_every_page_of_the_api_and_no_other(house: Service, browser: Browser) -> None:
    by = house.account("api")
    wanted = house.get("/buscas/v1/empresas?uf=MG&limite=100", by).json["itens"]
    response = search_for(browser, uf="MG", limite="20")
    seen = companies(response)
    while more := fields(response, "mais"):
        response = sent(browser, more)
        seen += companies(response)
    assert seen == [item["cnpj"] for item in wanted]


def test_counting_and_then_seeing(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, uf="SP", acao="contar")
    assert "estabelecimentos" in response.words
    assert spent(house, mine) == 1
    total = int(response.words.split(" estabelecimentos")[0].split()[-1])
    listed = search_for(browser, uf="SP", limite="100")
    assert len(companies(listed)) == min(total, 100)


def test_nothing_found_is_free(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, q="zzzyyyxxx")
    assert "Nada encontrado" in response.words
    assert "Nada foi cobrado." in response.words
    assert spent(house, mine) == 0


@pytest.mark.parametrize(
    ("filters", "status", "expected"),
    [
        ({}, 422, "Nenhum filtro preenchido"),
        ({"uf": "XX"}, 422, "Aceita siglas de UF"),
        ({"capital_min": "mil"}, 422, "Deve ser um valor em reais"),
        ({"municipio": "Lugar Nenhum", "uf": "SP"}, 422, "“Lugar Nenhum” não encontrado"),
        ({"cnae": "xyzxyz"}, 422, "Nenhuma atividade com “xyzxyz”"),
        ({"cnae": "12345"}, 422, "código desconhecido: 12345"),
        ({"aberta_desde": "2020-01-02", "aberta_ate": "2020-01-01"}, 422, "É posterior a “Aberta"),
        ({"uf": "SP", "cursor": "00000000.c1"}, 410, ""),
        ({"uf": "SP", "pessoas": "true"}, 403, ""),
    ],
)
def test_errors_are_explained_and_fields_kept(
    house: Service, mine: Client, filters: Mapping[str, str], status: int, expected: str
) -> None:
    response = search_for(signed_in(house, mine), **filters)
    assert response.status == status
    assert expected in response.words
    assert response.tree.xpath("//div[@role='alert']")
    for name, value in filters.items():
        if name not in ("cursor", "pessoas"):
            assert response.tree.xpath(f"//form[@id='busca']//input[@name='{name}']/@value") == [
                value
            ]
    assert spent(house, mine) == 0


def error_at(response: PageResponse, name: str) -> str:
    """Return the error at a field, which names it as its description."""
    (field,) = response.tree.xpath(f"//form[@id='busca']//*[@name='{name}']")
    assert field.get("aria-invalid") == "true"
    assert f"{name}-error" in field.get("aria-describedby")
    return str(response.tree.xpath(f"string(//p[@id='{name}-error'])"))


def ticked(response: PageResponse, name: str) -> Mapping[str, str]:
    """Return the choices below a field, by the name of the box."""
    boxes = response.tree.xpath(f"//input[starts-with(@name, 't_{name}_')]")
    return {box.get("name"): " ".join(box.xpath("string(..)").split()) for box in boxes}


def test_every_wrong_field_has_its_error(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, uf="XX", cep="12", cnae="padaria")
    assert "Aceita siglas de UF" in error_at(response, "uf")
    assert "de 5 a 8 dígitos" in error_at(response, "cep")
    assert "Atividades com “padaria”" in error_at(response, "cnae")
    assert not response.tree.xpath("//*[@name='q'][@aria-invalid]")
    assert spent(house, mine) == 0


def test_an_activity_in_words_is_chosen_and_then_searched(
    house: Service, browser: Browser, mine: Client
) -> None:
    response = search_for(browser, uf="SP", cnae="padaria, 6201501")
    offered = ticked(response, "cnae")
    assert "padaria" in offered["t_cnae_4721102"].lower()
    assert spent(house, mine) == 0
    chosen = search_for(browser, uf="SP", cnae="padaria, 6201501", t_cnae_4721102="1")
    assert chosen.field("cnae") == "6201501, 4721102"
    assert companies(chosen) == companies(search_for(browser, uf="SP", cnae="4721102,6201501"))


def test_a_town_with_a_typing_error_is_suggested(house: Service, browser: Browser) -> None:
    response = search_for(browser, municipio="sao pualo")
    assert "Você quis dizer" in error_at(response, "municipio")
    (box,) = ticked(response, "municipio")
    assert box == "t_municipio_SAO PAULO/SP"
    chosen = search_for(browser, municipio="sao pualo", **{box: "1"})
    assert companies(chosen) == companies(search_for(browser, municipio="sao paulo", uf="SP"))
    # A name of one town needs no UF.
    assert search_for(browser, municipio="São Paulo").field("municipio") == "SAO PAULO/SP"
    elsewhere = search_for(browser, municipio="São Paulo", uf="RJ")
    assert "Há em SP" in error_at(elsewhere, "municipio")


def test_values_are_suggested_while_typing(browser: Browser) -> None:
    def suggested(**typed: str) -> list[str]:
        return re.findall('data-value="([^"]+)"', browser.post(f"{SEARCH}/sugestoes", typed).text)

    assert "4721102" in suggested(campo="cnae", texto="6201501, padar")
    assert "4721102" in suggested(campo="cnae_principal", texto="4721-1")
    assert suggested(campo="municipio", texto="são paul", uf="SP")[0] == "SAO PAULO/SP"
    assert suggested(campo="municipio", texto="são paul", uf="RJ") == []
    assert suggested(campo="q", texto="padaria") == suggested(campo="cnae", texto="p") == []


def test_the_total_comes_with_the_first_page(house: Service, browser: Browser) -> None:
    by = house.account("total")
    total = house.get("/buscas/v1/empresas/contagem?uf=SP", by).json["total"]
    response = search_for(browser, uf="SP", limite="20")
    assert f"{total} estabelecimentos" in response.words
    assert "Nesta página, 20. Cobrado: 1 crédito." in response.words
    assert "estabelecimentos, sem" not in sent(browser, fields(response, "mais")).words


def test_counts_by_activity_narrow_the_search(
    house: Service, browser: Browser, mine: Client
) -> None:
    """From sections to subclasses, each level with the number of hits below it."""
    response = search_for(browser, uf="SP", limite="100")
    total, levels = len(companies(response)), []
    for cost in range(1, 6):
        assert spent(house, mine) == cost
        links = response.tree.xpath("//p[@id='atividades']/a/@href")
        if not links:
            break
        counted = browser.get(links[0].partition("#")[0])
        rows = counted.tree.xpath("//section[@id='atividades']//tbody/tr")
        numbers = {
            row.xpath("string(.//button/@value)"): int(row.xpath("string(td[@class='number'])"))
            for row in rows
        }
        assert sum(numbers.values()) <= total
        narrowest, total = max(numbers.items(), key=lambda each: each[1])
        levels.append(narrowest)
        form = {**fields(counted, "por-atividade"), "atividade": narrowest}
        response = sent(browser, form)
        assert len(companies(response)) == total
    assert [level.partition("=")[0] for level in levels[:3]] == [
        "divisao",
        "divisao",
        "cnae_principal",
    ]
    assert len(levels) == 5


def test_amounts_as_people_write_them(browser: Browser) -> None:
    written = companies(search_for(browser, uf="SP", capital_min="10.000,00"))
    assert written == companies(search_for(browser, uf="SP", capital_min="10000"))
    assert written


def test_a_page_as_a_file(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, uf="RJ", limite="20")
    file = browser.get(f"{page_of(response)}/pagina.csv")
    assert file.status == 200
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    head, *rows = csv.reader(io.StringIO(file.content.decode("utf-8-sig")), delimiter=";")
    assert head[0] == "cnpj"
    assert [row[0] for row in rows] == companies(response)
    assert spent(house, mine) == 1
    # Pages that were not paid for have no file, and a count has no companies.
    asked = {"form_id": browser.get(SEARCH).field("form_id"), "uf": "RJ", "acao": "contar"}
    counted = browser.post(SEARCH, asked)
    for path in (f"{SEARCH}/resultado/{'0' * 32}", counted.location):
        other = browser.get(f"{path}/pagina.csv")
        assert other.status == 404
        assert "Esta página da busca não está mais disponível" in other.words
    assert spent(house, mine) == 2


def test_companies_for_a_batch(house: Service, browser: Browser, mine: Client) -> None:
    response = search_for(browser, uf="RJ", limite="100")
    found, batch = companies(response), f"{page_of(response)}/lote"
    ticked = {f"e_{each}": "1" for each in found[1:3]}

    def listed(answer: PageResponse) -> list[str]:
        (text,) = answer.tree.xpath("//textarea[@name='lista']/text()")
        return ["".join(c for c in line if c.isalnum()) for line in text.split()]

    assert listed(browser.post(batch, ticked)) == found[1:3]
    all_of_them = {f"e_{each}": "1" for each in found} | {"quais": "todas"}
    assert listed(browser.post(batch, all_of_them)) == found
    alone = search_for(browser, raiz=found[0][:8], uf="RJ", matriz="true")
    assert len(companies(alone)) == 1
    assert "Criar lote com todas" in response.words
    assert "Criar lote com todas" not in alone.words
    before = spent(house, mine)
    none = browser.post(batch)
    assert none.status == 422
    assert "Selecione ao menos uma" in none.words
    # Not from another person's page, and nothing that is not on the page.
    stranger = {"e_11222333000181": "1"}
    assert browser.post(batch, stranger).status == 422
    assert signed_in(house, mine).post(batch, ticked).status == 404
    assert spent(house, mine) == before == 2


def test_persons_only_with_the_opt_in(house: Service) -> None:
    opted = signed_in(house, house.account("opt", partner_optin=True))
    assert opted.get(SEARCH).tree.xpath("//input[@name='pessoas']")
    assert search_for(opted, uf="SP", pessoas="true").status == 200


def test_too_few_credits(house: Service) -> None:
    poor = house.account("sem nada", credits=0)
    browser = signed_in(house, poor)
    assert browser.get(SEARCH).tree.xpath("//form[@id='busca']//button[@disabled]")
    response = search_for(browser, uf="SP")
    assert response.status == 402
    assert "Créditos insuficientes" in response.words


def test_from_the_search_box_to_the_search(house: Service, browser: Browser, mine: Client) -> None:
    response = browser.post("/app/procurar", {"procurar": "empresa ativa ficticia"})
    (form,) = response.tree.xpath("//form[@action='/app/busca']")
    typed = {each.get("name"): each.get("value") for each in form.xpath(".//input")}
    assert typed["q"] == "empresa ativa ficticia"
    found = sent(browser, typed)
    assert companies(found)[0] == "90010001000100"
    assert spent(house, mine) == 1


def test_search_terms_are_in_no_log(house: Service, browser: Browser) -> None:
    response = search_for(browser, q="ficticia", municipio="sao paulo", uf="SP")
    house.front.request_log.flush()
    logged = house.logged.decode()
    assert "app:buscar" in logged
    assert "ficticia" not in logged
    assert "paulo" not in logged
    for address in response.tree.xpath("//main//@href | //main//@action"):
        assert "q=" not in address


def test_without_an_index(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_service(tmp_path_factory.mktemp("vazia")) as house:
        browser = signed_in(house)
        response = browser.get(SEARCH)
        assert "A busca ainda não está disponível" in response.words
        assert not response.tree.xpath("//form[@id='busca']")
        refused = browser.post(SEARCH, {"form_id": "x" * 20, "uf": "SP"})
        assert refused.status == 503


@pytest.mark.parametrize("text", ["90.010.001/0001-00", '="90010001000100"', "CNPJ 90010001000100"])
def test_a_cnpj_in_the_name_field_opens_its_company(
    house: Service, browser: Browser, mine: Client, text: str
) -> None:
    response = browser.post(SEARCH, {"form_id": "f-numero", "q": text})
    assert (response.status, response.location) == (303, "/app/empresas/90010001000100")
    assert not house.charges(mine)


def test_a_cnpj_among_words_is_a_search(browser: Browser) -> None:
    found = search_for(browser, q="Padaria 90010001000100", uf="SP")
    assert found.status == 200
    assert (found.field("q"), found.field("uf")) == ("Padaria 90010001000100", "SP")


def test_a_whole_cnpj_in_the_root_field(browser: Browser) -> None:
    found = search_for(browser, raiz="90.010.001/0001-00", pessoas="")
    assert found.status == 200
    assert found.field("raiz") == "90010001"
