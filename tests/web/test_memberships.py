"""Operators with a membership in an account, and acting by it (contract 7.6)."""

import pytest
from argon2 import PasswordHasher

from balcao.accounts.links import new_token
from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from tests.service import Client, Service
from tests.storage.people import ALWAYS
from tests.web.browser import Browser, PageResponse, signed_in
from tests.web.lookups import COMPANY, GOOD
from tests.web.test_operator_accounts import opened_account

ACCOUNTS = "/app/operador/contas"
PASSWORD = "tranquila-cadeira-7"


@pytest.fixture
def house(fresh: Service) -> Service:
    return fresh


def who_is(browser: Browser) -> int:
    assert browser.user is not None
    return browser.user.user_id


def give(
    operator: Browser, account_id: int, role: str = "manager", user_id: int = 0, **fields: str
) -> PageResponse:
    form = {"form_id": new_token(), "operador": str(user_id or who_is(operator)), "papel": role}
    return operator.post(f"{ACCOUNTS}/{account_id}/lugares", form | fields)


def act_by(operator: Browser, account_id: int | str = "") -> PageResponse:
    return operator.post("/app/eu/lugar", {"conta": str(account_id)})


def menu(answer: PageResponse) -> list[str]:
    return [" ".join(one.text_content().split()) for one in answer.tree.xpath("//nav//a")]


def test_an_operator_without_a_membership_sees_no_switch(operator: Browser) -> None:
    page = operator.get("/app/operador")
    assert not page.tree.xpath("//form[@action='/app/eu/lugar']")
    refused = act_by(operator, operator.house.client.account_id)
    assert refused.status == 403
    assert "Você não tem mais acesso" in refused.words
    assert operator.get("/app/operador").status == 200


def test_a_membership_is_given_used_and_left(operator: Browser, who: Client) -> None:
    users = f"{ACCOUNTS}/{who.account_id}/usuarios"
    answer = give(operator, who.account_id, sentar="1")
    assert (answer.status, answer.location) == (303, "/app/consultas")
    page = operator.get("/app/consultas")
    assert page.status == 200
    assert "Chaves" in menu(page)
    assert "Contas" not in menu(page)
    # Operators' pages are closed while acting as a member.
    closed = operator.get("/app/operador")
    assert closed.status == 403
    assert "volte a ser operador" in closed.words
    assert operator.get(users).status == 403
    buttons = page.tree.xpath("//form[@action='/app/eu/lugar']//button")
    assert [" ".join(button.text_content().split()) for button in buttons] == [
        "Operador administra o serviço",
        f"{account_name(operator, who)} Gestor, teste, agora",
    ]
    assert (act_by(operator).status, operator.get("/app").location) == (303, "/app/operador")
    closed = operator.get("/app/consultas")
    assert closed.status == 403
    assert "troque para ela no menu" in closed.words
    assert "Pessoa" in operator.get(users).words
    # The audit log has it under the account.
    entries = operator.house.desk.people.audit(10, account_id=who.account_id)
    assert (entries[0].action, entries[0].user_id) == ("seat.give", who_is(operator))


def account_name(operator: Browser, who: Client) -> str:
    return operator.house.desk.account(who.account_id).name


def test_lookups_by_a_membership_are_charged_and_signed(sandbox: Service) -> None:
    operator = signed_in(sandbox, role="operator")
    number = operator.house.client.account_id
    give(operator, number, sentar="1")
    form_id = operator.get(COMPANY).field("form_id")
    asked = operator.post(COMPANY, {"cnpj": GOOD, "form_id": form_id})
    assert asked.status in (200, 303)
    desk = operator.house.desk
    (trace,) = desk.people.traces(number, ALWAYS, 10)
    assert trace.user_id == who_is(operator)
    assert "Pessoa" in operator.get("/app/historico").words
    # The name stays after the membership ended.
    act_by(operator)
    take(operator, number, who_is(operator))
    history = operator.get(f"{ACCOUNTS}/{number}/historico")
    assert operator.user is not None
    assert operator.user.name in history.words


def take(browser: Browser, account_id: int, user_id: int, base: str = "") -> PageResponse:
    base = base or f"{ACCOUNTS}/{account_id}"
    return browser.post(f"{base}/lugares/{user_id}/retirar", {"form_id": new_token()})


def test_operators_without_a_membership_are_not_named(operator: Browser, who: Client) -> None:
    assert operator.user is not None
    manager = signed_in(operator.house, who)
    pages = ("/app/historico", f"/app/historico?pessoa={who_is(operator)}", "/app/extrato")
    for page in pages:
        assert operator.user.name not in manager.get(page).text
    give(operator, who.account_id)
    for page in pages:
        assert operator.user.name in manager.get(page).text


def test_a_manager_sees_memberships_and_removes_them(operator: Browser, who: Client) -> None:
    manager = signed_in(operator.house, who)
    give(operator, who.account_id, "consultant", sentar="1")
    assert operator.get("/app/lotes").status == 200
    page = manager.get("/app/usuarios")
    assert operator.user is not None
    assert operator.user.name in page.words
    assert operator.user.email not in page.words
    assert "Adicionar um operador" not in page.words
    # An operator is not one of the account's users: no link, no suspension, no role.
    for below in ("", "/link", "/suspender"):
        answer = manager.post(
            f"/app/usuarios/{operator.user.user_id}{below}", {"form_id": "x" * 20}
        )
        assert answer.status == 404, below
    assert give(manager, who.account_id).status == 403
    answer = take(manager, who.account_id, operator.user.user_id, "/app")
    assert answer.location.startswith("/app/usuarios?feito=sem-lugar")
    # Effective with the next page; the session continues as the operator's.
    assert operator.get("/app/lotes").status == 403
    assert operator.get("/app/operador").status == 200


def test_the_membership_in_use_cannot_be_removed(operator: Browser, who: Client) -> None:
    give(operator, who.account_id, sentar="1")
    answer = take(operator, who.account_id, who_is(operator), "/app")
    assert answer.status == 422
    assert operator.get("/app/lotes").status == 200


def test_another_account_s_manager_removes_nothing(operator: Browser, who: Client) -> None:
    other = opened_account(operator, "outra")
    give(operator, other.account_id)
    take(signed_in(operator.house, who), who.account_id, who_is(operator), "/app")
    assert len(operator.house.desk.memberships.within(other.account_id)) == 1


def test_only_operators_have_memberships(operator: Browser, who: Client) -> None:
    user = signed_in(operator.house, who).user
    assert user is not None
    for user_id in (user.user_id, 4711):
        assert give(operator, who.account_id, user_id=user_id).status == 422
    assert give(operator, who.account_id, "operator").status == 422
    assert operator.house.desk.memberships.within(who.account_id) == []


def test_an_operator_s_e_mail_suggests_a_membership(operator: Browser, who: Client) -> None:
    assert operator.user is not None
    form = {
        "form_id": new_token(),
        "nome": "Eu",
        "email": operator.user.email.upper(),
        "papel": "manager",
    }
    answer = operator.post(f"{ACCOUNTS}/{who.account_id}/usuarios", form)
    assert answer.status == 422
    assert "Adicione-o a esta conta" in answer.words
    theirs = signed_in(operator.house, who).post("/app/usuarios", form)
    assert "Este e-mail já está em uso" in theirs.words  # without naming its owner
    assert "operador" not in theirs.tree.xpath("string(//main)")


def _give_password(browser: Browser) -> None:
    assert browser.user is not None
    people, hashed = browser.house.desk.people, PasswordHasher(1, 8, 1).hash(PASSWORD)
    change = people.set_password(browser.user.user_id, hashed, Signature("cli"), system_now_ms())
    browser.house.run(change)
    browser.sign_in(browser.user)  # a new password ends all sessions


def test_another_session_is_ended(operator: Browser) -> None:
    assert operator.user is not None
    elsewhere = Browser(operator.house)
    _give_password(operator)
    elsewhere.sign_in(operator.user)
    page = operator.get("/app/eu")
    (form,) = page.tree.xpath("//button/@formaction")
    for address in (form, "/app/eu/sessoes"):
        refused = operator.post(address, {"atual": "errada"})
        assert (refused.status, "Senha atual incorreta" in refused.words) == (422, True)
        assert elsewhere.get("/app/eu").status == 200
    assert operator.post(form, {"atual": PASSWORD}).location == "/app/eu?feito=sessao"
    assert operator.post(form, {"atual": PASSWORD}).location == "/app/eu?feito=sessao-antes"
    assert elsewhere.get("/app/eu").status == 303
    assert "Nenhuma outra sessão aberta" in operator.get("/app/eu").words


def test_sessions_of_other_people_cannot_be_ended(operator: Browser, who: Client) -> None:
    manager = signed_in(operator.house, who)
    elsewhere = Browser(operator.house)
    assert operator.user is not None
    elsewhere.sign_in(operator.user)
    (form,) = operator.get("/app/eu").tree.xpath("//button/@formaction")
    _give_password(manager)
    answer = manager.post(form, {"atual": PASSWORD})
    assert answer.location == "/app/eu?feito=sessao-antes"
    assert elsewhere.get("/app/eu").status == 200


def test_filters_offer_no_operator_without_a_membership(
    house: Service, operator: Browser, who: Client
) -> None:
    """Nor the statement's filters: an account sees only operators that are involved with it."""
    browser, number = signed_in(house, who), str(who_is(operator))
    for path in ("/app/historico", "/app/extrato"):
        offered = "//select[@name='pessoa']/option/@value"
        assert number not in browser.get(path).tree.xpath(offered)
        give(operator, who.account_id)
        assert number in browser.get(path).tree.xpath(offered)
        operator.post(
            f"{ACCOUNTS}/{who.account_id}/lugares/{number}/retirar", {"form_id": new_token()}
        )
