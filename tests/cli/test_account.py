"""`balcao account`."""

import pytest

from tests.cli.shell import Shell


def test_an_account_is_live_unless_it_is_said_to_be_a_test(shell: Shell) -> None:
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


def test_the_free_plan_never_includes_certificates(shell: Shell) -> None:
    said = shell("account create acme --plan gratuito --certificates", code=2)
    assert "nunca inclui as certidões" in said.err
    assert not shell.path.exists()


def test_only_a_post_paid_account_has_a_ceiling(shell: Shell) -> None:
    assert (
        "só o plano pos_pago" in shell("account create a --plan pre_pago --ceiling 5", code=2).err
    )
    account = shell("account create a --plan pos_pago --ceiling 5 --json").json
    assert account["ceiling_credits"] == 5
    assert "Teto mensal:" in shell("account show a").out


def test_an_account_is_found_by_name_and_by_number(shell: Shell) -> None:
    made = shell("account create acme --plan pre_pago --partner-optin --json").json
    assert made["partner_optin"] is True
    by_name = shell("account show acme --json").json
    by_number = shell(f"account show {made['account_id']} --json").json
    assert by_name == by_number
    assert by_name["available_credits"] == 0


def test_a_name_is_given_once(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    said = shell("account create acme --plan gratuito", code=1)
    assert said.err.startswith("erro: Já existe uma conta chamada 'acme'")
    assert said.out == ""


@pytest.mark.parametrize("name", ["12", "''", "' acme'", "'a\tb'", "x" * 101])
def test_a_name_can_be_told_from_a_number_and_printed(shell: Shell, name: str) -> None:
    assert "NOME" in shell(f"account create {name} --plan pre_pago", code=2).err


def test_an_unknown_account_is_answered_with_those_there_are(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    said = shell("account show acne", code=1)
    assert said.err == "erro: Não há conta 'acne'. As contas desta pasta: acme.\n"


def test_looking_makes_no_data_folder(shell: Shell) -> None:
    said = shell("account list", code=1)
    assert "BALCAO_HOME" in said.err
    assert not shell.path.exists()


def test_the_data_folder_is_private(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    assert shell.path.stat().st_mode & 0o077 == 0
