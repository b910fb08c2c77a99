"""`balcao account`."""

import re
import shlex
from datetime import datetime
from functools import partial

import pytest

from balcao.cli import installation
from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.ledger import Charge
from balcao.service.clock import Clock
from tests.cli.shell import Shell


def test_an_account_is_live_by_default(shell: Shell) -> None:
    live = shell("account create acme --plan pos_pago --json").json
    test = shell("account create ensaio --plan gratuito --test --json").json
    assert (live["mode"], test["mode"]) == ("live", "test")
    assert [account["name"] for account in shell("account list --json").json] == ["acme", "ensaio"]


@pytest.mark.parametrize(
    ("options", "included"),
    [
        ("--plan pre_pago", True),
        ("--plan pre_pago --certificates", True),
        ("--plan gratuito", False),
        ("--plan pos_pago", False),
        ("--plan pos_pago --certificates", True),
    ],
)
def test_certificates_follow_the_plan_and_the_contract(
    shell: Shell, options: str, included: bool
) -> None:
    assert shell(f"account create acme {options} --json").json["certificates"] is included


def test_the_free_plan_never_includes_certificates(fresh: Shell) -> None:
    result = fresh("account create acme --plan gratuito --certificates", code=2)
    assert "nunca inclui as certidões" in result.err
    assert not fresh.path.exists()


def test_only_a_post_paid_account_has_a_ceiling(shell: Shell) -> None:
    assert (
        "só o plano pos_pago" in shell("account create a --plan pre_pago --ceiling 5", code=2).err
    )
    made = shell("account create a --plan pos_pago --ceiling 5 --json").json
    assert made["ceiling_credits"] == 5
    assert "Limite mensal:" in shell("account show a").out


def test_an_account_is_found_by_name_and_by_number(shell: Shell) -> None:
    made = shell("account create acme --plan pre_pago --partner-optin --json").json
    assert made["partner_optin"] is True
    by_name = shell("account show acme --json").json
    by_number = shell(f"account show {made['account_id']} --json").json
    assert by_name == by_number
    assert by_name["available_credits"] == 0


def test_a_name_is_unique(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    result = shell("account create acme --plan gratuito", code=1)
    assert result.err.startswith("erro: Já existe uma conta chamada 'acme'")
    assert result.out == ""


@pytest.mark.parametrize("name", ["12", "''", "' acme'", "'a\tb'", "x" * 101])
def test_a_name_is_no_number_and_printable(shell: Shell, name: str) -> None:
    assert "NOME" in shell(f"account create {name} --plan pre_pago", code=2).err


def test_an_unknown_account_suggests_similar_names(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell("account create outra --plan pre_pago")
    result = shell("account show acne", code=1)
    assert result.err.startswith("erro: Não há conta 'acne'. Seria 'acme'? Contas existentes: ")
    assert result.err.endswith("balcao account list.\n")
    assert "outra" not in result.err
    assert "Seria" not in shell("account show zzz", code=1).err


def test_the_next_command_can_be_pasted(shell: Shell) -> None:
    result = shell("account create 'Açaí & Cia' --plan pre_pago").out
    words = shlex.split(result.split("créditos: ")[1])
    assert words[0] == f"BALCAO_HOME={shell.path}"
    assert words[-6:] == ["credit", "add", "Açaí & Cia", "1000", "--reason", "..."]


@pytest.mark.parametrize(
    ("options", "available", "expected"),
    [
        ("--plan pos_pago", None, "sem limite"),
        ("--plan pos_pago --ceiling 5", 5, "5"),
        ("--plan pre_pago", 0, "0"),
    ],
)
def test_available_credits_depend_on_the_plan(
    shell: Shell, options: str, available: int | None, expected: str
) -> None:
    shell(f"account create a {options}")
    assert shell("account show a --json").json["available_credits"] == available
    assert re.search(rf"Disponíveis: +{expected}\n", shell("account show a").out)


def test_the_usage_of_a_month_ends_with_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    made = shell("account create a --plan pos_pago --ceiling 5 --json").json
    shell("key create a")
    at = to_ms(datetime(2026, 8, 31, 23, 59, tzinfo=BRASILIA))
    charge = Charge(made["account_id"], 1, "r", "suframa", 3, "regra", "cache", at)
    with shell.desk() as desk:
        assert desk.commit_now([charge]) is None
    for now, month, available in ((at, 3, 2), (at + 60_000, 0, 5)):
        monkeypatch.setattr(
            installation, "Clock", partial(Clock, partial(int, now), partial(int, 0))
        )
        for found in (shell("account show a --json").json, *shell("account list --json").json):
            assert (found["month_credits"], found["available_credits"]) == (month, available)
        assert re.search(rf"Usados neste mês: +{month}\n", shell("account show a").out)


def test_listing_creates_no_data_folder(fresh: Shell) -> None:
    result = fresh("account list", code=1)
    assert "BALCAO_HOME" in result.err
    assert not fresh.path.exists()


def test_the_data_folder_is_private(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    assert shell.path.stat().st_mode & 0o077 == 0


# Changes and suspension


@pytest.mark.parametrize(
    ("begin", "options", "after"),
    [
        ("pre_pago", "--plan pos_pago --ceiling 500", ("pos_pago", True, False, 500)),
        ("pre_pago", "--plan gratuito", ("gratuito", False, False, None)),
        ("pre_pago", "--partner-optin", ("pre_pago", True, True, None)),
        ("gratuito", "--plan pre_pago", ("pre_pago", True, False, None)),
        ("pos_pago --ceiling 5", "--certificates", ("pos_pago", True, False, 5)),
        ("pos_pago --ceiling 5", "--no-ceiling", ("pos_pago", False, False, None)),
        ("pos_pago --ceiling 5", "--plan pre_pago", ("pre_pago", True, False, None)),
        (
            "pos_pago --certificates --partner-optin",
            "--no-certificates --no-partner-optin --ceiling 0",
            ("pos_pago", False, False, 0),
        ),
    ],
)
def test_a_change_keeps_the_rest(
    shell: Shell, begin: str, options: str, after: tuple[object, ...]
) -> None:
    shell(f"account create acme --plan {begin}")
    changed = shell(f"account change acme {options} --json").json
    names = ("plan", "certificates", "partner_optin", "ceiling_credits")
    assert tuple(changed[name] for name in names) == after
    assert shell("account show acme --json").json.items() >= changed.items()


@pytest.mark.parametrize(
    ("begin", "options", "expected"),
    [
        ("pre_pago", "", "informe o que mudar"),
        ("pre_pago", "--ceiling 5", "só o plano pos_pago"),
        ("pos_pago", "--plan pre_pago --ceiling 5", "só o plano pos_pago"),
        ("pos_pago", "--ceiling 5 --no-ceiling", "não pode ser usado"),
        ("gratuito", "--certificates", "nunca inclui as certidões"),
        ("pre_pago", "--no-certificates", "sempre inclui certidões"),
    ],
)
def test_an_invalid_change_is_refused(
    shell: Shell, begin: str, options: str, expected: str
) -> None:
    before = shell(f"account create acme --plan {begin} --json").json
    assert expected in shell(f"account change acme {options}", code=2).err
    assert shell("account list --json").json == [before]


def test_a_change_is_described(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    assert shell("account change acme --plan pos_pago --ceiling 5000").out == (
        "Conta acme: plano pós-pago, certidões sim, CPF dos sócios não; limite do mês: 5.000.\n"
    )
    assert shell("account change acme --plan gratuito").out == (
        "Conta acme: plano gratuito, certidões não, CPF dos sócios não.\n"
    )


def test_a_debt_prevents_a_prepaid_plan(shell: Shell) -> None:
    shell("account create acme --plan pos_pago")
    shell("credit add acme -5 --reason correção")
    result = shell("account change acme --plan pre_pago", code=1)
    assert result.err.startswith("erro: O gasto ou o saldo da conta não permite essa mudança")
    assert shell("account show acme --json").json["plan"] == "pos_pago"


def test_a_suspended_account_is_shown_as_such(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    assert "account resume 1" in shell("account suspend acme").out
    assert "suspensa" in shell("account list").out
    assert re.search(r"Suspensa em: +\d", shell("account show acme").out)
    assert shell("account suspend 1 --json").json["suspended_at"] is not None
    assert "reativada" in shell("account resume acme").out
    assert shell("account resume acme --json").json["suspended_at"] is None
    assert "uspensa" not in shell("account list").out + shell("account show acme").out
