"""The header's search box: the page for each text, and texts kept out of addresses."""

import re
from urllib.parse import unquote

import pytest

from tests.records import FEDERAL, federal_of, state_of
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import FARMER, GOOD, ZONE

BOX = "/app/procurar"


def sought(browser: Browser, text: str) -> PageResponse:
    return browser.post(BOX, {"procurar": text})


def error(answer: PageResponse) -> str:
    found = answer.tree.xpath("//p[@id='procurar-error']/text()")
    return str(found[0]) if found else ""


@pytest.mark.parametrize("role", ["consultant", "manager", "operator"])
def test_every_page_has_one_box(house: Service, role: str) -> None:
    browser = signed_in(house, role=role)  # type: ignore[arg-type]
    paths = ["/app/eu", BOX]
    paths += ["/app/operador"] if role == "operator" else ["/app", "/app/lotes", "/app/nada"]
    for path in paths:
        answer = browser.get(path)
        (box,) = answer.tree.xpath("//input[@name='procurar']")
        assert box.get("id") == "procurar"
        (form,) = answer.tree.xpath("//form[@role='search']")
        assert (form.get("method"), form.get("action")) == ("post", BOX)
    assert not Browser(house).get("/app/entrar").tree.xpath("//form[@role='search']")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("90.010.001/0001-00", f"/app/empresas/{GOOD}"),
        ("12.abc.345/01de-35", "/app/empresas/12ABC34501DE35"),
        (f"CNPJ {GOOD}, matriz", f"/app/empresas/{GOOD}"),
        (
            "01A202E1-A061-7653-8263-9D4B2F084F6B",
            "/app/historico/01a202e1-a061-7653-8263-9d4b2f084f6b",
        ),
    ],
)
def test_texts_with_a_page_redirect_to_it(browser: Browser, text: str, where: str) -> None:
    answer = sought(browser, text)
    assert (answer.status, answer.location) == (303, where)


def test_several_documents_become_a_batch(house: Service, browser: Browser) -> None:
    answer = sought(browser, f"{GOOD} 90.010.002/0001-54 {FARMER}")
    assert answer.status == 200
    (listed,) = answer.tree.xpath("//textarea[@name='lista']/text()")
    assert listed.split() == [GOOD, "90.010.002/0001-54", FARMER]
    assert answer.tree.xpath("//form[@id='lote']/@action") == ["/app/lotes/novo"]
    assert not house.charges()


def test_one_invalid_document_leaves_the_others_usable(browser: Browser) -> None:
    for text in (f"{GOOD} 9001000200015", f"9001000200015, {GOOD}; {FARMER}"):
        answer = sought(browser, text)
        assert answer.status == 200
        (listed,) = answer.tree.xpath("//textarea[@name='lista']/text()")
        assert sorted(listed.split()) == sorted(re.findall(r"\d+", text))
        assert "1 linha não é um documento" in answer.words
        assert f"Linha {listed.split().index('9001000200015') + 1}. Um CNPJ tem" in answer.words
    assert "não é um documento" not in sought(browser, f"{GOOD} {FARMER}").words
    many = sought(browser, "9001000200015 " * 8).words
    assert ("8 linhas não são documentos" in many, "e outras 3" in many) == (True, True)


def test_an_invalid_text_is_explained_and_can_be_corrected(browser: Browser) -> None:
    answer = sought(browser, "90.010.001/0001-01")
    assert answer.status == 422
    assert "terminaria em 00, e não em 01" in error(answer)
    assert answer.field("procurar") == "90.010.001/0001-01"
    assert "14 caracteres" in error(sought(browser, "1234567"))
    assert sought(browser, "").status == 200
    long = sought(browser, f"{GOOD} " * 1_400)
    assert long.status == 413
    assert "crie um lote" in error(long)
    assert browser.get(BOX).status == 200


def test_a_person_is_a_page_without_an_address(house: Service, browser: Browser) -> None:
    answer = sought(browser, "900.100.001-00")
    assert answer.status == 200
    assert answer.tree.findtext(".//h1") == "CPF ***.100.001-**"
    assert "***.100.001-**" in answer.tree.findtext(".//title")
    shown = answer.tree.text_content()
    assert "900.100.001-00" not in shown
    assert FARMER not in shown
    for address in answer.tree.xpath("//@href | //@action | //@formaction"):
        assert "100001" not in re.sub(r"\D", "", unquote(address))
    # Its forms lead to results.
    forms = {form.get("action"): form for form in answer.tree.xpath("//main//form")}
    paths = ("certidao-federal", "certidao-trabalhista", "produtor-rural")
    assert set(forms) == {f"/app/consultas/{each}" for each in paths}
    form = forms["/app/consultas/certidao-federal"]
    fields = {each.get("name"): each.get("value") or "" for each in form.xpath(".//input")}
    asked = browser.post(form.get("action"), {**fields, "nascimento": "01/01/1980"})
    assert asked.status == 303
    assert asked.location.startswith("/app/consultas/resultado/")
    again = sought(browser, FARMER)
    number = asked.location.rpartition("/")[2]
    assert again.tree.xpath(f"//a[@href='/app/historico/{number}']")
    # A consultant sees no requests of colleagues.
    other = sought(signed_in(house, role="consultant"), FARMER)
    assert "Nenhuma consulta sobre esta pessoa" in other.words


def test_no_event_has_the_searched_text(house: Service, browser: Browser) -> None:
    for text in (FARMER, "900.100.001-00", "maria das dores", "ana@balcao.test"):
        sought(browser, text)
    house.front.request_log.flush()
    logged = house.logged.decode()
    assert "app:procurar" in logged
    for text in (FARMER, "900.100", "maria", "ana@"):
        assert text not in logged


def test_signing_in_returns_to_an_empty_box(house: Service) -> None:
    answer = sought(Browser(house), FARMER)
    assert answer.status == 303
    assert answer.location.startswith("/app/entrar")
    assert "100001" not in re.sub(r"\D", "", unquote(answer.location))


# ---- Certificates by their code ----


def code_of(house: Service, by: Client, **headers: str) -> tuple[str, str]:
    """Look up a certificate by the API; return the request's number and the control code."""
    answer = house.get(federal_of(ZONE), by, **headers)
    return answer.json["request_id"], answer.json["certificate_code"]


@pytest.mark.parametrize("with_key", [True, False])
def test_a_certificate_by_its_code(house: Service, with_key: bool) -> None:
    """Recorded under a key; or, without a key, as long as the same certificate is cached."""
    headers = {"idempotency_key": "certidao-0123456789"} if with_key else {}
    mine = house.account(f"minha {with_key}")
    number, code = code_of(house, mine, **headers)
    browser = signed_in(house, mine)
    for text in (code, code.lower(), f"Código de controle: {code}."):
        answer = sought(browser, text)
        assert (answer.status, answer.location) == (303, f"/app/consultas/resultado/{number}")
    # A certificate of another account or of a colleague is not found.
    for other in (
        signed_in(house, house.account(f"outra {with_key}")),
        signed_in(house, mine, "consultant"),
    ):
        none = sought(other, code)
        assert none.status == 404
        assert "não tem certidão com este código" in error(none)


def test_a_renewed_certificate_is_not_an_earlier_request_s(house: Service) -> None:
    """The cached one is valid for longer: its code belongs to another certificate."""
    mine = house.account("renovada")
    number, code = code_of(house, mine)
    browser, desk = signed_in(house, mine), house.desk
    assert number in sought(browser, code).location
    earlier = "UPDATE certificate_trace SET validity = date(validity, '-1 day')"
    desk.engine.connection.execute(f"{earlier} WHERE request_id = ?", (number,))
    assert sought(browser, code).status == 404


@pytest.mark.parametrize("with_key", [True, False])
def test_a_states_certificate_by_its_code(house: Service, with_key: bool) -> None:
    headers = {"idempotency_key": "estadual-0123456789"} if with_key else {}
    mine = house.account(f"estadual {with_key}")
    asked = house.get(state_of(ZONE, "MG"), mine, **headers).json
    for text in (asked["codigo"], asked["numero"], asked["codigo"].replace("-", " ")):
        answer = sought(signed_in(house, mine), text)
        assert answer.status == 303
        assert answer.location == f"/app/consultas/resultado/{asked['request_id']}"
    # Only one's own; other text gets the usual message.
    other = sought(signed_in(house, house.account(f"alheia {with_key}")), asked["codigo"])
    assert (other.status, "14 caracteres" in error(other)) == (422, True)


# ---- Names ----


def test_names_among_earlier_requests(house: Service) -> None:
    mine = house.account("nomes")
    house.get(federal_of(GOOD), mine)
    browser = signed_in(house, mine)
    answer = sought(browser, "ativa empr")
    assert answer.tree.xpath("//ul[@class='companies']//a/@href") == [f"/app/empresas/{GOOD}"]
    assert "Nenhuma tem" in sought(browser, "padaria").words
    assert "Nenhuma tem" in sought(signed_in(house, mine, "consultant"), "empresa ativa").words


def test_without_an_index_there_is_no_search(house: Service, browser: Browser) -> None:
    answer = sought(browser, "padaria do joão")
    assert "ainda não está disponível" in answer.words
    assert not answer.tree.xpath("//form[@action='/app/busca']")


# ---- Operators ----


def test_operators_find_accounts_users_and_requests(house: Service, operator: Browser) -> None:
    mine = house.account("Contábil Horizonte")
    person = signed_in(house, mine).user
    assert person is not None
    page = f"/app/operador/contas/{mine.account_id}"
    assert sought(operator, "contabil horiz").location == page
    assert sought(operator, str(mine.account_id)).location == page
    user = f"{page}/usuarios/{person.user_id}"
    assert sought(operator, person.email.upper()).location == user
    assert operator.get(user).status == 200
    number = house.get(f"{FEDERAL}?cnpj={GOOD}", mine).json["request_id"]
    found = sought(operator, number)
    assert found.location == f"/app/operador/requisicoes/{number}"
    signed_in(house, mine)  # another of that name
    several = sought(operator, "pessoa")
    assert len(several.tree.xpath("//main//a[contains(@href, '/usuarios/')]")) > 1
    house.account("Contábil Aurora")
    assert page in sought(operator, "contabil").tree.xpath("//main//a/@href")
    none = sought(operator, "ninguém assim")
    assert none.status == 404
    assert "Nenhuma conta" in none.words


def test_operators_learn_what_they_typed(operator: Browser) -> None:
    assert "São 2 documentos" in sought(operator, f"{GOOD} {ZONE}").words
    long = sought(operator, "a" * 20_001)
    assert (long.status, "20.000 caracteres" in long.words) == (413, True)


@pytest.mark.parametrize("text", [GOOD, FARMER, "BCF6.24B5.98D7.4E50", f"{GOOD} {ZONE}"])
def test_operators_look_nothing_up(house: Service, operator: Browser, text: str) -> None:
    answer = sought(operator, text)
    assert answer.status == 200
    assert "Operadores não consultam" in answer.words
    if text == FARMER:
        assert FARMER not in answer.text
