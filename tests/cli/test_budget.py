"""`balcao budget`."""

from collections.abc import Iterator

import pytest

from balcao.core.ledger import Charge
from tests.cli.shell import Shell

COMPANY = "cnpj-receita-federal"


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> Iterator[None]:
    shell("account create acme --plan pre_pago")
    shell("key create acme --name loja")
    shell("credit add acme 100 --reason carga")
    yield
    assert shell("ledger check --json").json["ok"]


def test_lifecycle_of_a_budget(shell: Shell) -> None:
    made = shell(
        f"budget create acme --key loja --period month --credits 10 --operation {COMPANY}"
        " --warn 50 --json"
    ).json
    assert (made["owner_kind"], made["owner"], made["credits_max"]) == ("chave", "1", 10)
    assert (made["operations"], made["warn_percent"], made["name"]) == ([COMPANY], 50, "Chave 1")
    now_ms = 4_000_000_000_000  # in a separate month
    with shell.desk() as desk:
        charge = Charge(1, 1, "r1", COMPANY, 4, "company/lookup", "cache", now_ms)
        assert desk.commit_now([charge]) is None
        assert desk.budgets.one(1, made["number"], now_ms).use.spent_credits == 4
    (of_key,) = shell("key show 1 --json").json["budgets"]
    assert of_key["number"] == made["number"]
    assert "10 créditos por mês" in shell("key show 1").out
    listed = shell("budget list acme").out
    assert "chave loja" in listed
    assert "10 créditos" in listed
    number = made["number"]
    changed = shell(f"budget change acme {number} --credits 3 --calls 7 --json").json
    assert (changed["credits_max"], changed["calls_max"]) == (3, 7)
    assert shell(f"budget change acme {number} --no-credits --json").json["credits_max"] is None
    few = shell(f"budget change acme {number} --operation suframa --json").json
    assert few["operations"] == ["suframa"]
    every = shell(f"budget change acme {number} --all-operations --json").json
    assert every["operations"] is None
    assert [key["budgets"] for key in shell("key list acme --json").json] == [1]
    assert "removido" in shell(f"budget delete acme {number}").out
    assert shell("budget list acme --json").json == []


def test_a_clients_budget(shell: Shell) -> None:
    made = shell("budget create acme --client 4471 --period once --calls 5 --name Loja --json").json
    assert (made["owner_kind"], made["owner"], made["back_at"]) == ("cliente", "4471", None)


@pytest.mark.parametrize(
    ("command", "code", "expected"),
    [
        ("create acme --period day --credits 1", 2, "--key ou --client"),
        ("create acme --key loja --client x --period day --credits 1", 2, "--key ou --client"),
        ("create acme --key loja --period day", 2, "--credits, --calls"),
        ("create acme --key outra --period day --credits 1", 1, "Não há uma chave em vigor"),
        ("create acme --client 529.982.247-25 --period day --credits 1", 1, "Um CPF não é aceito"),
        ("create acme --client 90010000100 --period day --credits 1", 1, "Um CPF não é aceito"),
        ("create acme --key loja --period year --credits 1", 2, "year"),
        ("change acme 0198 --credits 1", 1, "não tem este orçamento"),
        ("change acme 0198", 2, "informe o que mudar"),
        ("delete acme 0198", 1, "não tem este orçamento"),
    ],
)
def test_invalid_budgets(shell: Shell, command: str, code: int, expected: str) -> None:
    failed = shell(f"budget {command}", code=code)
    assert expected in " ".join(failed.err.split())
