"""`/app/usuarios`: a manager adds, changes and suspends users."""

import re

import pytest

from balcao.core.people import User
from balcao.service.clock import system_now_ms
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in

PATH = "/app/usuarios"
PASSWORD = "uma frase que serve bem"


def add(browser: Browser, email: str, **fields: str) -> PageResponse:
    """Fill in the page's form and send it."""
    form_id = browser.get(PATH).field("form_id")
    usual = {"nome": "Maria Souza", "email": email, "papel": "consultant", "form_id": form_id}
    return browser.post(PATH, usual | fields)


def link_of(answer: PageResponse) -> str:
    """Return the path of the one-time link on a page."""
    found = re.findall(r"https?://[^\"<> ]+(/app/convite/[\w-]+)", answer.text)
    assert found, answer.words
    assert len(set(found)) == 1
    return str(found[0])


def users(house: Service, of: Client) -> list[User]:
    return list(house.desk.people.users(of.account_id))


def one(house: Service, of: Client, email: str) -> User:
    (found,) = (user for user in users(house, of) if user.email == email)
    return found


def test_a_new_user_signs_in_by_the_link(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    answer = add(manager, "maria@empresa.test")
    assert (answer.status, answer.headers["cache-control"]) == (201, "no-store")
    link = link_of(answer)
    user = one(house, who, "maria@empresa.test")
    assert (user.name, user.role, user.has_password) == ("Maria Souza", "consultant", False)
    assert "Falta escolher a senha" in manager.get(PATH).words
    assert link not in manager.get(PATH).text  # shown once
    theirs = Browser(house)
    theirs.get(link)
    done = theirs.post(link, {"senha": PASSWORD, "de_novo": PASSWORD})
    assert done.status == 303, done.words
    assert theirs.get("/app").status == 200
    assert theirs.get(PATH).status == 403  # a consultant
    assert one(house, who, "maria@empresa.test").has_password


def test_the_same_form_adds_one(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    form_id = manager.get(PATH).field("form_id")
    first = add(manager, "joao@empresa.test", form_id=form_id)
    link = link_of(first)
    again = add(manager, "joao@empresa.test", form_id=form_id)
    assert again.status == 409
    assert "já tinha sido enviado" in again.words
    assert len(users(house, who)) == 2
    # The link that was shown is still valid.
    assert Browser(house).get(link).status == 200


def test_a_taken_e_mail(house: Service, who: Client) -> None:
    other = house.account("outra-casa")
    assert add(signed_in(house, other), "ana@empresa.test").status == 201
    answer = add(signed_in(house, who), "ANA@empresa.test")
    assert answer.status == 422
    assert "Este e-mail já está em uso" in answer.words
    assert len(users(house, who)) == 1


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"nome": ""}, "Informe o nome"),
        ({"nome": "x" * 101}, "Informe o nome"),
        ({"email": "maria"}, "Informe um e-mail completo."),
        ({"papel": "operator"}, "Escolha um dos papéis."),
        ({"papel": ""}, "Escolha um dos papéis."),
        ({"form_id": ""}, "Convidar um usuário"),
    ],
)
def test_invalid_fields(
    house: Service, who: Client, fields: dict[str, str], complaint: str
) -> None:
    answer = add(signed_in(house, who), **({"email": "errada@empresa.test"} | fields))
    assert answer.status == 422
    assert complaint in answer.words
    assert len(users(house, who)) == 1


def test_name_and_role_are_changed(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    add(manager, "carla@empresa.test")
    user = one(house, who, "carla@empresa.test")
    page = manager.get(f"{PATH}/{user.user_id}")
    fields = {"nome": "Carla Lima", "papel": "manager", "form_id": page.field("form_id")}
    done = manager.post(f"{PATH}/{user.user_id}", fields)
    assert done.location == f"{PATH}?feito=mudado"
    changed = one(house, who, "carla@empresa.test")
    assert (changed.name, changed.role) == ("Carla Lima", "manager")
    assert "Usuário alterado." in manager.get(done.location).words
    # The same form again changes nothing, and is reported.
    again = manager.post(f"{PATH}/{user.user_id}", fields | {"nome": "Outra"})
    assert again.location == f"{PATH}?feito=antes"
    assert one(house, who, "carla@empresa.test").name == "Carla Lima"
    for wrong in ({"nome": ""}, {"papel": "operator"}):
        assert manager.post(f"{PATH}/{user.user_id}", fields | wrong).status == 422


def test_a_suspended_user_is_signed_out_and_can_be_resumed(house: Service, who: Client) -> None:
    manager, other = signed_in(house, who), signed_in(house, who, "consultant")
    assert other.user is not None
    assert other.get("/app").status == 200
    path = f"{PATH}/{other.user.user_id}"
    assert manager.post(f"{path}/suspender").location == f"{PATH}?feito=suspenso"
    assert other.get("/app").status == 303  # to sign-in
    assert "Suspenso" in manager.get(PATH).words
    refused = manager.post(f"{path}/link", {"form_id": "de-um-suspenso"})
    assert (refused.status, "Reative o usuário antes" in refused.words) == (422, True)
    assert manager.post(f"{path}/retomar").location == f"{PATH}?feito=retomado"
    assert house.desk.people.user(other.user.user_id).suspended_ms is None  # type: ignore[union-attr]


def test_managers_cannot_lock_themselves_out(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    assert manager.user is not None
    path = f"{PATH}/{manager.user.user_id}"
    for answer in (
        manager.post(f"{path}/suspender"),
        manager.post(path, {"nome": "Eu", "papel": "consultant"}),
    ):
        assert answer.status == 422
        assert "Você não pode suspender o próprio acesso nem deixar de ser gestor." in answer.words
    assert manager.get(PATH).status == 200
    assert "suspender" not in " ".join(manager.get(path).tree.xpath("//form/@action"))
    # One's own name may be changed.
    assert manager.post(path, {"nome": "Eu Mesma", "papel": "manager"}).status == 303
    assert users(house, who)[0].name == "Eu Mesma"


def test_a_new_link_makes_the_earlier_one_void(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    first = link_of(add(manager, "davi@empresa.test"))
    user = one(house, who, "davi@empresa.test")
    path = f"{PATH}/{user.user_id}"
    form_id = manager.get(path).tree.xpath(f"//form[@action='{path}/link']//input[@name='form_id']")
    fields = {"form_id": form_id[0].get("value")}
    answer = manager.post(f"{path}/link", fields)
    assert answer.status == 201
    second = link_of(answer)
    assert Browser(house).get(first).status == 404
    assert Browser(house).get(second).status == 200
    again = manager.post(f"{path}/link", fields)
    assert (again.status, "já tinha sido enviado" in again.words) == (409, True)
    assert Browser(house).get(second).status == 200
    assert manager.post(f"{path}/link").status == 422


def test_users_of_other_accounts_are_not_found(house: Service, who: Client) -> None:
    stranger = signed_in(house, house.account(f"{who.account_id}-alheia"))
    operator = signed_in(house, role="operator")
    manager = signed_in(house, who)
    assert stranger.user is not None
    assert operator.user is not None
    numbers = (stranger.user.user_id, operator.user.user_id, 999_999, "x", "9" * 40)
    for number in numbers:
        assert manager.get(f"{PATH}/{number}").status == 404
        for action in ("", "/suspender", "/retomar", "/link"):
            fields = {"nome": "X", "papel": "manager", "form_id": f"{number}{action}"}
            assert manager.post(f"{PATH}/{number}{action}", fields).status == 404
    assert stranger.get("/app").status == 200


def test_no_token_and_no_e_mail_is_logged(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    link = link_of(add(manager, "sigilo@empresa.test"))
    house.front.request_log.flush()
    token = link.rpartition("/")[2]
    assert token.encode() not in bytes(house.logged)
    assert b"sigilo@" not in bytes(house.logged)
    log = house.desk.people.audit(10, account_id=who.account_id)
    assert {"user.create", "user.link"} <= {entry.action for entry in log}
    texts = " ".join(entry.target + entry.detail for entry in log)
    assert token not in texts
    assert "sigilo" not in texts
    assert system_now_ms() >= log[0].at_ms
