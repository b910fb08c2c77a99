"""`balcao user`, and links to sign in."""

import asyncio
import re

import pytest

from balcao.accounts.links import (
    FIRST_OPERATOR_HOURS,
    LINK_HOURS,
    first_operator_link,
    new_token,
    open_ticket,
    token_digest,
)
from balcao.accounts.seal import Seal
from balcao.core.people import Signature
from balcao.core.secrets import single
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.people import AuditEntry
from tests.cli.shell import Shell

HOUR_MS = 3_600_000
LINK = re.compile(r"http://127\.0\.0\.1:8000/app/convite/([A-Za-z0-9_-]{43})\n")
ANA = "user create ana@acme.com.br --name 'Ana Lima' --account acme --role manager"
OLGA = "user create olga@exemplo.com.br --name Olga --operator"


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")


def token_in(out: str) -> str:
    match = LINK.fullmatch(out)
    assert match, out
    return match[1]


def claim(shell: Shell, token: str) -> None:
    """Use the link, as its page does."""
    with shell.desk() as desk:
        work = desk.people.claim_link(token_digest(token), "a hash", 1)
        assert asyncio.run(work) is not None


def log(shell: Shell) -> list[AuditEntry]:
    with shell.desk() as desk:
        return list(desk.people.audit(100))[::-1]


def test_a_user_is_created_and_stdout_has_only_the_link(shell: Shell) -> None:
    result = shell(ANA)
    token = token_in(result.out)
    assert token not in result.err
    assert result.err.startswith("Usuário 1 criado.")
    assert "72 horas" in result.err
    assert "o do serviço nesta máquina" in result.err
    with shell.desk() as desk:
        link = desk.people.link(token_digest(token), 0)
    assert link is not None
    assert link.user is not None
    assert (link.user.name, link.user.role, link.user.account_id) == ("Ana Lima", "manager", 1)
    assert link.expires_ms - link.user.created_ms == pytest.approx(LINK_HOURS * HOUR_MS, abs=60_000)
    claim(shell, token)
    assert shell("user list --json").json[0]["has_password"] is True


def test_a_user_as_json(shell: Shell) -> None:
    found = shell(f"{ANA} --json").json
    assert LINK.fullmatch(found.pop("link") + "\n")
    assert found.pop("created_at")
    assert found == {
        "link_hours": 72,
        "user_id": 1,
        "account_id": 1,
        "email": "ana@acme.com.br",
        "name": "Ana Lima",
        "role": "manager",
        "has_password": False,
        "has_totp": False,
        "seen_at": None,
        "suspended_at": None,
    }


def test_links_begin_with_the_public_address(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_PUBLIC_URL", "https://balcao.exemplo.com.br/")
    assert Settings().public_url
    result = shell(OLGA)
    assert result.out.startswith("https://balcao.exemplo.com.br/app/convite/")
    assert "BALCAO_PUBLIC_URL" not in result.err


def test_otherwise_with_the_address_of_the_service(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's address may differ from the settings of this terminal."""
    at = "http://127.0.0.1:8765"
    monkeypatch.setattr("balcao.examination.service.running_address", lambda settings, home: at)
    result = shell(OLGA)
    assert result.out.startswith(f"{at}/app/convite/")
    assert "BALCAO_PUBLIC_URL" in result.err


def test_operators_and_the_users_of_an_account_are_listed(shell: Shell) -> None:
    shell(ANA)
    shell(OLGA)
    shown = shell("user list").out
    for word in ("ana@acme.com.br", "acme", "gestor", "olga@exemplo.com.br", "operador"):
        assert word in shown
    assert "sem senha" in shown
    everybody = shell("user list --json").json
    assert [(user["name"], user["role"]) for user in everybody] == [
        ("Olga", "operator"),
        ("Ana Lima", "manager"),
    ]
    assert [user["name"] for user in shell("user list --account acme --json").json] == ["Ana Lima"]
    assert "Não há conta 'x'" in shell("user list --account x", code=1).err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("user create ana --name Ana --operator", "não é um endereço de e-mail"),
        ("user create a@b.co --name ' ' --operator", "deve ter de 1 a 100 caracteres"),
        ("user create a@b.co --name Ana", "informe --account CONTA e --role PAPEL"),
        ("user create a@b.co --name Ana --account acme", "informe --account CONTA e --role PAPEL"),
        ("user create a@b.co --name Ana --operator --account acme", "não pertence a nenhuma conta"),
        ("user create a@b.co --name Ana --account acme --role operator", "não é um destes"),
        ("user create a@b.co --name Ana --account acme --role operador", "consultor, gestor, "),
    ],
)
def test_wrong_usage_is_refused(shell: Shell, line: str, expected: str) -> None:
    assert expected in shell(line, code=2).err
    assert shell("user list --json").json == []


@pytest.mark.parametrize(
    ("role", "meant"),
    [
        ("consultor", "consultant"),
        ("gestor", "manager"),
        ("Gestor", "manager"),
        ("consultant", "consultant"),
        ("manager", "manager"),
    ],
)
def test_roles_in_portuguese_and_in_english(shell: Shell, role: str, meant: str) -> None:
    assert shell("user list").out.startswith("Nenhum usuário. Crie um: ")
    line = f"user create ana@acme.com.br --name Ana --account acme --role {role} --json"
    assert shell(line).json["role"] == meant


def test_an_email_is_unique(shell: Shell) -> None:
    shell(ANA)
    result = shell("user create ANA@acme.com.br --name Outra --operator", code=1)
    assert result.err.startswith("erro: Esse e-mail já está em uso.")
    assert "acme.com" not in result.err.casefold()
    assert result.out == ""


def test_a_new_link_voids_the_old_one(shell: Shell) -> None:
    first = token_in(shell(ANA).out)
    for wanted in ("Ana@ACME.com.br", "1"):
        second = token_in(shell(f"user link {wanted}").out)
        with shell.desk() as desk:
            assert desk.people.link(token_digest(first), 0) is None
            assert desk.people.link(token_digest(second), 0) is not None
        first = second
    assert LINK.fullmatch(shell("user link 1 --json").json["link"] + "\n")


def test_an_unknown_user_is_not_repeated(shell: Shell) -> None:
    for command in ("link", "suspend", "resume", "reset-totp"):
        result = shell(f"user {command} segredo@exemplo.com.br", code=1)
        assert result.err.startswith("erro: Não há usuário com esse e-mail ou número.")
        assert "segredo" not in result.err


def test_a_suspended_user_gets_no_link(shell: Shell) -> None:
    shell(ANA)
    assert "user resume 1" in shell("user suspend ana@acme.com.br").out
    assert "suspenso em" in shell("user list").out
    assert "está suspenso" in shell("user link 1", code=1).err
    assert shell("user suspend 1 --json").json["suspended_at"] is not None
    assert "pode entrar" in shell("user resume ana@acme.com.br").out
    assert shell("user resume 1 --json").json["suspended_at"] is None
    token_in(shell("user link 1").out)


def test_the_last_operator_cannot_be_suspended(shell: Shell) -> None:
    claim(shell, token_in(shell(OLGA).out))
    result = shell("user suspend 1", code=1)
    assert result.err.startswith("erro: Este é o último operador que consegue entrar")
    assert "user create EMAIL --name NOME --operator" in result.err
    claim(shell, token_in(shell(OLGA.replace("olga", "rui")).out))
    shell("user suspend 1")


def test_a_lost_second_factor_is_turned_off(shell: Shell) -> None:
    user_id = shell(f"{ANA} --json").json["user_id"]
    assert "já não tinha" in shell("user reset-totp ana@acme.com.br").out
    assert log(shell)[-1].action != "user.totp"
    with shell.desk() as desk:
        asyncio.run(desk.people.set_totp(user_id, b"sealed", Signature("web", user_id), 1))
    assert shell("user list --json").json[0]["has_totp"] is True
    assert "desativado" in shell("user reset-totp 1").out
    assert shell("user list --json").json[0]["has_totp"] is False
    assert shell("user reset-totp 1 --json").json["has_totp"] is False


def test_actions_at_the_terminal_are_logged_without_addresses(shell: Shell) -> None:
    shell(ANA)
    shell("user suspend 1")
    shell("key create acme --name ERP")
    shell("key revoke 1")
    shell('credit add acme 1000 --reason "pedido 1"')
    shell("credit add acme -1001 --reason engano", code=1)
    found = log(shell)
    assert [(entry.action, entry.target, entry.detail) for entry in found] == [
        (
            "account.create",
            "conta acme",
            "plano pre_pago; certidões sim; CPF dos sócios não; teto nenhum; tipo produção",
        ),
        ("user.create", "usuário 1", "papel gestor"),
        ("user.link", "usuário 1", "link para definir a senha"),
        ("user.suspend", "usuário 1", ""),
        ("key.create", "chave ERP", "número 1"),
        ("key.revoke", "chave ERP", "número 1"),
        ("credit.add", "conta acme", "+1000 créditos: pedido 1"),
    ]
    assert {(entry.channel, entry.user_id, entry.account_id) for entry in found} == {
        ("cli", None, 1)
    }


# Tokens and the first operator


def test_a_token_has_256_bits_and_a_digest_that_does_not_reveal_it() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)
    digests = {token_digest(token) for token in tokens}
    assert {len(digest) for digest in digests} == {32}
    assert len(digests) == 100


def test_the_first_operators_link_is_made_until_there_is_an_operator(shell: Shell) -> None:
    now = 1_790_000_000_000
    with shell.desk() as desk:
        token = first_operator_link(desk, now)
        assert token is not None
        link = desk.people.link(token_digest(token), now)
        assert link is not None
        assert (link.purpose, link.user) == ("first_operator", None)
        assert link.expires_ms == now + FIRST_OPERATOR_HOURS * HOUR_MS
        assert desk.people.audit(1)[0].channel == "start"
    claim(shell, token_in(shell(OLGA).out))
    with shell.desk() as desk:
        assert first_operator_link(desk, now) is None
        assert desk.people.link(token_digest(token), now) is None


def test_no_command_repeats_a_token(shell: Shell) -> None:
    token = token_in(shell(ANA).out)
    for line in ("user list", "user list --json", "account show acme --json", "doctor --json"):
        result = shell(line)
        assert token not in result.out + result.err
    assert token.encode() not in shell.home.desk.read_bytes()


def test_an_operator_gets_a_link_on_the_terminal(shell: Shell) -> None:
    shell(ANA)
    assert "user create" in shell("open", code=1).err  # Ana is no operator
    shell(OLGA)
    result = shell("open")
    token = result.out.strip().rpartition("/")[2]
    assert result.out.startswith("http://127.0.0.1:8000/app/convite/")
    assert token not in result.err
    ticket = open_ticket(Seal(single(shell.home.pepper())), token, system_now_ms())
    assert ticket is not None
    assert ticket.user_id == 2
    assert open_ticket(Seal(single(shell.home.pepper())), token, ticket.expires_ms) is None
    made = log(shell)[-1]
    assert (made.channel, made.action, made.detail) == ("cli", "user.link", "link para entrar")
    shell("user create rui@exemplo.com.br --name Rui --operator")
    assert "(2, 3)" in shell("open", code=1).err
    assert shell("open rui@exemplo.com.br --json").json["user_id"] == 3
