"""`/app/chaves`: a key is created, shown once, works, and is revoked for good."""

import datetime
import re
import shlex

import pytest

from balcao.accounts.keys import issue_key
from balcao.core.access import KeyRestrictions, is_well_formed
from balcao.core.calendar import civil_day, day_starts_ms
from balcao.core.compat_apis import compat_operation
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.web.pages.keys.pages import IN_FORCE_MAX
from tests.records import company
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in

CNPJ = "90010001000100"
PATH = "/app/chaves"


def create(browser: Browser, **fields: str) -> PageResponse:
    """Fill in the page's form and send it."""
    form_id = browser.get(PATH).field("form_id")
    return browser.post(PATH, {"nome": "ERP", "form_id": form_id, **fields})


def shown(response: PageResponse) -> str:
    found = re.findall(r"balcao_test_[0-9A-Za-z]{49}", response.text)
    assert found
    assert len(set(found)) == 1
    return str(found[0])


def test_a_new_key_works_and_is_shown_once(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    response = create(browser, nome="Folha de pagamento")
    assert response.status == 201
    assert response.headers["cache-control"] == "no-store"
    key = shown(response)
    assert is_well_formed(key)
    made = house.desk.keys(who.account_id)[-1]
    assert made.name == "Folha de pagamento"
    answer = house.get(company(CNPJ), Client(who.account_id, made.key_id, key))
    assert (answer.status, answer.credits) == (200, 1)
    # It has a copy button, and is in a line for a shell.
    assert key in response.tree.xpath("//button/@data-copy")
    (line,) = [text for text in response.tree.xpath("//code/text()") if text.startswith("curl ")]
    assert shlex.split(line)[3] == f"x-api-key: {key}"
    # Never again.
    assert key not in browser.get(PATH).text
    assert made.prefix in browser.get(PATH).text


def test_a_key_s_name_must_not_contain_a_cpf(house: Service, who: Client) -> None:
    """Its name would stay in the audit log forever (contract 11.1)."""
    before = house.desk.keys(who.account_id)
    response = create(signed_in(house, who), nome="900.100.001-00 Fulana")
    assert response.status == 422
    assert "não pode ter um CPF" in response.words
    assert house.desk.keys(who.account_id) == before


def test_the_same_form_creates_one_key(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    fields = {"nome": "ERP", "form_id": browser.get(PATH).field("form_id")}
    key = shown(browser.post(PATH, fields))
    again = browser.post(PATH, fields)
    assert again.status == 409
    assert key not in again.text
    assert "já foi criada e mostrada" in again.words
    assert len(house.desk.keys(who.account_id)) == 2
    # The page has a fresh form for another key.
    assert browser.post(PATH, {"nome": "ERP", "form_id": again.field("form_id")}).status == 201


def test_a_form_without_a_number_creates_nothing(house: Service, who: Client) -> None:
    assert signed_in(house, who).post(PATH, {"nome": "ERP"}).status == 422
    assert len(house.desk.keys(who.account_id)) == 1


def test_a_key_with_limits_and_last_day(house: Service, who: Client) -> None:
    today = civil_day(system_now_ms())
    browser = signed_in(house, who)
    until = today + datetime.timedelta(days=10)
    response = create(browser, vale_ate=until.isoformat(), por_minuto="2", por_dia="900")
    key = house.desk.keys(who.account_id)[-1]
    assert (key.per_minute, key.per_day) == (2, 900)
    # To the end of its last day, in Brasília.
    assert key.expires_ms == day_starts_ms(until + datetime.timedelta(days=1))
    client = Client(who.account_id, key.key_id, shown(response))
    assert [house.get(company(CNPJ), client).status for _ in range(3)] == [200, 200, 429]
    words = browser.get(PATH).words
    assert f"{until:%d/%m/%Y}" in words
    assert "2 por minuto, 900 por dia" in words


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"nome": ""}, "Informe um nome"),
        ({"nome": "x" * 101}, "Informe um nome"),
        ({"nome": "a\x00b"}, "Informe um nome"),
        ({"vale_ate": "2026-02-30"}, "Esta data não existe."),
        ({"vale_ate": "2020-01-01"}, "Esta data já passou."),
        ({"por_minuto": "0"}, "Use um número inteiro"),
        ({"por_dia": "muitas"}, "Use um número inteiro"),
        ({"por_dia": "9" * 15}, "Use um número inteiro"),
    ],
)
def test_invalid_fields(
    house: Service, who: Client, fields: dict[str, str], complaint: str
) -> None:
    response = create(signed_in(house, who), **fields)
    assert response.status == 422
    # Only the server's message: browsers have their own, in their own language.
    assert response.tree.xpath("//form[@novalidate]//*[@aria-invalid='true']")
    assert complaint in response.words
    assert len(house.desk.keys(who.account_id)) == 1


def test_at_most_fifty_keys_are_in_force(house: Service, who: Client) -> None:
    desk, home = house.desk, Home(house.settings.home)
    account, now = house.balance(who), system_now_ms()
    for number in range(IN_FORCE_MAX - 2):
        issue_key(desk, home, account, f"chave {number}", now)
    issue_key(desk, home, account, "vencida", now - 9, expires_ms=now - 1)  # not counted
    browser = signed_in(house, who)
    assert create(browser).status == 201
    response = create(browser)
    assert response.status == 422
    assert "até 50 chaves ativas" in response.words
    assert len(response.content) < 100_000
    desk.revoke_key(who.key_id, now)
    assert create(browser).status == 201


def test_a_revoked_key_is_refused(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert house.get(company(CNPJ), who).status == 200
    response = browser.get(f"{PATH}/{who.key_id}/revogar")
    assert response.status == 200
    assert "Esta ação não pode ser desfeita" in response.words
    assert house.get(company(CNPJ), who).status == 200  # opening the page changed nothing
    done = browser.post(f"{PATH}/{who.key_id}/revogar")
    assert (done.status, done.location) == (303, f"{PATH}?feito=revogada")
    assert house.get(company(CNPJ), who).status == 401
    assert "Chave revogada." in browser.get(done.location).words
    # Idempotent.
    at = house.desk.keys(who.account_id)[0].revoked_ms
    assert browser.post(f"{PATH}/{who.key_id}/revogar").status == 303
    assert house.desk.keys(who.account_id)[0].revoked_ms == at
    assert "já está revogada" in browser.get(f"{PATH}/{who.key_id}/revogar").words


def test_keys_of_other_accounts_are_not_found(house: Service, who: Client) -> None:
    other = house.account(f"{who.account_id}-alheia")
    browser = signed_in(house, other)
    for number in (str(who.key_id), "999999", "x", "-1", "9" * 40):
        assert browser.get(f"{PATH}/{number}/revogar").status == 404
        assert browser.post(f"{PATH}/{number}/revogar").status == 404
    assert house.desk.keys(who.account_id)[0].revoked_ms is None


def test_creation_and_revocation_are_in_the_log(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    key = shown(create(browser, nome="Do log"))
    made = house.desk.keys(who.account_id)[-1]
    browser.post(f"{PATH}/{made.key_id}/revogar")
    log = house.desk.people.audit(10, account_id=who.account_id)
    assert browser.user is not None
    deeds = [(entry.action, entry.channel, entry.user_id) for entry in log[:2]]
    user_id = browser.user.user_id
    assert deeds == [("key.revoke", "web", user_id), ("key.create", "web", user_id)]
    assert all(key not in entry.target + entry.detail for entry in log)
    assert key.encode() not in bytes(house.logged)


# Rules.


def test_a_key_with_restrictions(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    response = create(
        browser,
        ips="203.0.113.0/24\n2001:db8::1",
        op_suframa="1",
        cliente_obrigatorio="1",
        administra="1",
    )
    assert response.status == 201
    key = house.desk.keys(who.account_id)[-1]
    assert key.restrictions == KeyRestrictions(
        ("203.0.113.0/24", "2001:db8::1/128"), ("suframa",), True, True
    )
    words = browser.get(PATH).words
    assert "de 203.0.113.0/24 e 2001:db8::1/128" in words
    assert "só Suframa" in words
    assert "exige X-Cliente" in words
    assert "pode administrar a conta" in words


def test_restrictions_are_changed_and_shown(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    path = f"{PATH}/{who.key_id}/regras"
    page = browser.get(path)
    assert not page.tree.xpath("//form//input[@checked]")
    fields = {"form_id": page.field("form_id"), "ips": "10.0.0.0/8", "op_sintegra": "1"}
    response = browser.post(path, fields)
    assert (response.status, response.headers["location"]) == (303, f"{PATH}?feito=mudada")
    assert "Regras salvas" in browser.get(f"{PATH}?feito=mudada").words
    assert house.get(company(CNPJ), who).code == "ENDERECO_NAO_PERMITIDO"
    page = browser.get(path)
    assert page.tree.xpath("//textarea[@name='ips']/text()")[0].strip() == "10.0.0.0/8"
    assert page.tree.xpath("//input[@checked]/@name") == ["op_sintegra"]
    again = browser.post(path, fields)
    assert again.headers["location"] == f"{PATH}?feito=ja"
    assert browser.post(path, {"form_id": page.field("form_id")}).status == 303
    assert house.desk.keys(who.account_id)[0].restrictions is None
    deeds = house.desk.people.audit(9, action="key.change")
    assert [(each.channel, each.target) for each in deeds] == [("web", "chave teste")] * 2


@pytest.mark.parametrize(
    ("ips", "complaint"),
    [
        ("casa", "“casa” não é um endereço IP nem uma rede."),
        ("10.0.0.0/8\n10.0.0.7/8", "“10.0.0.7/8” não é um endereço IP nem uma rede."),
        ("\n".join(f"10.0.0.{last}" for last in range(51)), "No máximo 50"),
    ],
)
def test_invalid_restrictions(house: Service, who: Client, ips: str, complaint: str) -> None:
    browser = signed_in(house, who)
    path = f"{PATH}/{who.key_id}/regras"
    fields = {"ips": ips, "op_suframa": "1", "cliente_obrigatorio": "1"}
    response = browser.post(path, {"form_id": browser.get(path).field("form_id"), **fields})
    made = create(browser, **fields)
    for answer in (response, made):
        assert answer.status == 422
        assert complaint in answer.words
        (box,) = answer.tree.xpath("//textarea[@aria-invalid='true']")
        assert box.text.strip() == ips, "what was typed stands there"
        assert answer.tree.xpath("//input[@checked]/@name") == ["op_suframa", "cliente_obrigatorio"]
    assert made.tree.xpath("//details[@open]//textarea"), "what is wrong is seen"
    assert house.desk.keys(who.account_id)[0].restrictions is None


def test_a_revoked_key_cannot_be_changed(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    path = f"{PATH}/{who.key_id}/regras"
    form_id = browser.get(path).field("form_id")
    assert house.desk.revoke_key(who.key_id, 1)
    assert "não pode ser alterada" in browser.get(path).words
    assert browser.post(path, {"form_id": form_id, "administra": "1"}).status == 422
    assert house.desk.keys(who.account_id)[0].restrictions is None


def test_a_compatible_api_s_key_allows_only_network_changes(house: Service, who: Client) -> None:
    """Contract 16.4."""
    desk, home = house.desk, Home(house.settings.home)
    restrictions = KeyRestrictions(("10.0.0.0/8",), (compat_operation("receitaws"),))
    _, key = issue_key(
        desk, home, desk.account(who.account_id), "face", 1, restrictions=restrictions
    )
    browser = signed_in(house, who)
    path = f"{PATH}/{key.key_id}/regras"
    assert "só a API compatível com ReceitaWS" in browser.get(PATH).words
    page = browser.get(path)
    assert "Só as redes permitidas podem ser alteradas" in page.words
    assert not page.tree.xpath("//form//input[@type='checkbox']")
    open_to_all = browser.post(path, {"form_id": page.field("form_id"), "ips": ""})
    assert open_to_all.status == 422
    assert "Deixe ao menos um" in open_to_all.words
    fields = {"ips": "10.0.0.7", "op_sintegra": "1", "administra": "1"}
    assert browser.post(path, {"form_id": page.field("form_id"), **fields}).status == 303
    assert desk.keys(who.account_id)[-1].restrictions == KeyRestrictions(
        ("10.0.0.7/32",), restrictions.operations
    )
