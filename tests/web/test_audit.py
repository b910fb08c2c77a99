"""Every action of operators is in the audit log, with its author."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

from balcao.accounts.links import new_token
from balcao.core.people import Action, Signature, User
from balcao.service.clock import system_now_ms
from balcao.web.pages.operator import audit
from balcao.web.pages.operator.audit import ACTIONS
from tests.opendata.months import Month
from tests.service import Service, open_service
from tests.web.browser import Browser, signed_in

AUDIT = "/app/operador/auditoria"
ACCOUNTS = "/app/operador/contas"
OPERATORS = "/app/operador/operadores"
PER_PAGE = 10


def test_every_action_has_a_name() -> None:
    assert set(ACTIONS) == set(get_args(Action))
    assert len(set(ACTIONS.values())) == len(ACTIONS)


def test_every_action_has_an_entry(tmp_path: Path) -> None:
    with open_service(tmp_path / "home") as house:
        operator = Browser(house)
        user = operator.sign_in_as("operator")
        _everything(house, operator, tmp_path)
        entries = house.desk.people.audit(100)
        mine = [entry for entry in entries if entry.user_id == user.user_id]
        assert all(entry.channel == "web" for entry in mine)
        done = {entry.action for entry in mine}
        # These are on other pages, for oneself, or need a configured source; the last one has no
        # page.
        not_here = {"user.password", "user.sign_in", "source.check", "subject.erase"}
        # And these are done by users of an account (`test_batches.py`, `test_webhooks.py`).
        not_here |= {"user.recovery", "user.sign_in_failed", "secret.rotate"}
        not_here |= {
            action for action in get_args(Action) if action.startswith(("batch.", "webhook."))
        }
        assert set(get_args(Action)) - done == not_here
        answer = operator.get(AUDIT)
        for action in done:
            assert ACTIONS[action] in answer.words
        assert user.name in answer.words
        # It contains neither e-mail addresses nor tokens.
        assert "@balcao.test" not in answer.text
        assert "/app/convite/" not in answer.text


def _everything(house: Service, operator: Browser, folder: Path) -> None:
    """Perform every action."""

    def do(path: str, **fields: str) -> str:
        answer = operator.post(path, {"form_id": new_token(), **fields})
        assert answer.status in (201, 303), f"{path}: {answer.status} {answer.words}"
        return answer.text

    do(f"{ACCOUNTS}/nova", nome="acme", plano="gratuito", tipo="live")
    desk = house.desk
    number = next(one.account_id for one in desk.accounts() if one.name == "acme")
    account = f"{ACCOUNTS}/{number}"
    do(f"{account}/termos", plano="pre_pago")
    do(f"{account}/creditos", creditos="10", motivo="pedido")
    do(f"{account}/suspender")
    do(f"{account}/reativar")
    do(f"{account}/chaves", nome="folha")
    do(f"{account}/chaves/{desk.keys(number)[0].key_id}/regras", administra="1")
    do(f"{account}/chaves/orcamentos", cliente="loja", periodo="mes", teto_creditos="1")
    (budget,) = desk.budgets.of_account(number, system_now_ms())
    of_client = f"{account}/chaves/orcamentos/{budget.budget.number}"
    do(of_client, nome="Loja", teto_creditos="2")
    do(f"{of_client}/remover")
    do(f"{account}/chaves/{desk.keys(number)[0].key_id}/revogar")
    do(f"{account}/usuarios", nome="Ana", email="ana@balcao.test", papel="manager")
    (ana,) = desk.people.users(number)
    one = f"{account}/usuarios/{ana.user_id}"
    do(one, nome="Ana", papel="consultant")
    do(f"{one}/suspender")
    do(f"{one}/retomar")
    do(f"{one}/link")
    house.run(desk.people.set_totp(ana.user_id, b"sealed", Signature("cli"), system_now_ms()))
    do(f"{one}/sem-totp")
    for day in (date(2026, 7, 11), date(2026, 8, 8)):
        Month(folder / str(day), day=day).build(house.settings.home / "opendata" / "live")
    oneself = str(operator.user.user_id) if operator.user else ""
    for role in ("consultant", "manager"):
        do(f"{account}/lugares", operador=oneself, papel=role)
    do(f"{account}/lugares/{oneself}/retirar")
    acts = "/app/operador/prorrogacoes"
    of = {"certidao": "SP", "emitidas_de": "2026-05-01", "emitidas_ate": "2026-05-31"}
    do(acts, **of, ate="2026-12-31", ato="Decreto 1")
    (act,) = desk.extensions.all()
    do(f"{acts}/{act.extension_id}/remover")
    do("/app/operador/primeiros-passos")
    do(f"{account}/aviso-de-saldo", abaixo_de="5")
    do("/app/operador/copias")
    do("/app/operador/dados-abertos/buscar")
    do("/app/operador/dados-abertos/voltar", ambiente="live", de="2026-08-08.snapshot")


def test_operators_add_and_suspend_each_other(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        people = house.desk.people
        first = Browser(house)
        me = first.sign_in_as("operator")
        form = {"form_id": new_token(), "nome": "Olga", "email": "olga@balcao.test"}
        made = first.post(OPERATORS, form)
        assert made.status == 201
        assert made.text.count("/app/convite/") >= 1
        again = first.post(OPERATORS, form)
        assert again.status == 422
        assert "o link já foi mostrado" in again.words
        assert "/app/convite/" not in again.text
        other = next(user for user in people.users(None) if user.user_id != me.user_id)

        house.run(people.set_totp(other.user_id, b"sealed", Signature("cli"), system_now_ms()))
        steps: Mapping[str, Callable[[], bool]] = {
            "sem-totp": lambda: not _user(house, other.user_id).has_totp,
            "suspender": lambda: _user(house, other.user_id).suspended_ms is not None,
            "reativar": lambda: _user(house, other.user_id).suspended_ms is None,
        }
        for step, is_done in steps.items():
            assert not is_done() or step == "reativar"
            answer = first.post(f"{OPERATORS}/{other.user_id}/{step}", {"form_id": new_token()})
            assert answer.status == 303, answer.words
            assert is_done()
        link = first.post(f"{OPERATORS}/{other.user_id}/link", {"form_id": new_token()})
        assert link.status == 201
        assert "/app/convite/" in link.text

        # Not to oneself, and not to another account's user by another address.
        for step in ("suspender", "link", "sem-totp"):
            own = first.post(f"{OPERATORS}/{me.user_id}/{step}", {"form_id": new_token()})
            assert own.status == 422
            assert "não pode fazer isso com o próprio acesso" in own.words
        manager = Browser(house).sign_in_as("manager", house.client.account_id)
        for step in ("suspender", "link", "sem-totp"):
            path = f"{OPERATORS}/{manager.user_id}/{step}"
            assert first.post(path, {"form_id": new_token()}).status == 404


def _user(house: Service, user_id: int) -> User:
    found = house.desk.people.user(user_id)
    assert found is not None
    return found


def test_the_last_operator_who_can_sign_in_stays(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        people = house.desk.people
        # One operator with a password, and one without.
        with_password = Browser(house).sign_in_as("operator")
        house.run(
            people.set_password(with_password.user_id, "x", Signature("cli"), system_now_ms())
        )
        without = signed_in(house, role="operator")
        path = f"{OPERATORS}/{with_password.user_id}/suspender"
        answer = without.post(path, {"form_id": new_token()})
        assert answer.status == 422
        assert "último operador que consegue entrar" in answer.words
        assert _user(house, with_password.user_id).suspended_ms is None


def test_the_log_is_filtered_and_paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "PER_PAGE", PER_PAGE)
    with open_service(tmp_path) as house:
        operator = signed_in(house, role="operator")
        number = house.client.account_id
        for turn in range(PER_PAGE + 5):
            step = "reativar" if turn % 2 else "suspender"
            operator.post(f"{ACCOUNTS}/{number}/{step}", {"form_id": new_token()})
        page = operator.get(f"{AUDIT}?conta=ana")
        assert len(page.tree.xpath("//tbody/tr")) == PER_PAGE
        (older,) = page.tree.xpath("//a[@rel='next']/@href")
        rest = operator.get(older)
        # The account's oldest entries: its opening and the key.
        assert 5 <= len(rest.tree.xpath("//tbody/tr")) < PER_PAGE
        assert not rest.tree.xpath("//a[@rel='next']")
        only = operator.get(f"{AUDIT}?acao=account.create&conta={number}")
        assert len(only.tree.xpath("//tbody/tr")) == 1
        assert "Conta criada" in only.words
        unknown = operator.get(f"{AUDIT}?conta=ninguem")
        assert "Não há conta com esse nome ou número" in unknown.words
