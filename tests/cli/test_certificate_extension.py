"""`balcao certificate-extension`, and `balcao user seat`."""

import pytest

from tests.cli.shell import Shell

_ADD = "certificate-extension add"
_OF = "--from 2019-09-26 --to 2020-03-24"


def test_acts_are_added_listed_and_removed(shell: Shell) -> None:
    result = shell(f'{_ADD} "Portaria 555/2020" {_OF} --days 90 --json').json
    assert result == {
        "extension_id": 1,
        "subject": "federal_certificate",
        "uf": None,
        "issued_from": "2019-09-26",
        "issued_to": "2020-03-24",
        "until_day": None,
        "days": 90,
        "act": "Portaria 555/2020",
        "added_at": result["added_at"],
    }
    shell(f'{_ADD} "Decreto 1" {_OF} --uf sp --until 2020-12-31')
    labour = shell(f'{_ADD} "Ato 2" {_OF} --certificate trabalhista --days 30 --json').json
    assert (labour["subject"], labour["uf"]) == ("labour_certificate", None)
    listed = shell("certificate-extension list").out
    assert "trabalhista" in listed
    shell("certificate-extension remove 3")
    assert "Portaria 555/2020" in listed
    assert "por 90 dias" in listed
    assert "estadual SP" in listed
    assert "até 31/12/2020" in listed
    shell("certificate-extension remove 1")
    assert [one["act"] for one in shell("certificate-extension list --json").json] == ["Decreto 1"]
    assert "Não há a prorrogação 1" in shell("certificate-extension remove 1", code=1).err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"Ato {_OF}", "não os dois"),
        (f"Ato {_OF} --days 90 --until 2020-12-31", "não os dois"),
        (f"Ato {_OF} --days 0", "de 1 a 3650"),
        (f"Ato {_OF} --days 9 --uf XX", "não é um destes"),
        (f"Ato {_OF} --days 9 --uf SP --certificate fgts", "não tem outro tipo"),
        ("Ato --from 2020-02-30 --to 2020-03-24 --days 9", "não é uma data"),
        ("Ato --from 2020-03-25 --to 2020-03-24 --days 9", "antes do começo"),
    ],
)
def test_invalid_acts(shell: Shell, line: str, expected: str) -> None:
    assert expected in " ".join(shell(f"{_ADD} {line}", code=2).err.replace("│", " ").split())
    assert shell("certificate-extension list --json").json == []


def test_an_operator_gets_a_seat(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell("user create op@exemplo.com.br --name Op --operator")
    shell("user create ana@exemplo.com.br --name Ana --account acme --role gestor")
    result = shell("user seat OP@exemplo.com.br acme --json").json
    assert [(one["account_id"], one["role"]) for one in result["seats"]] == [(1, "manager")]
    assert "como consultor" in shell("user seat op@exemplo.com.br acme --role consultor").out
    with shell.desk() as desk:
        assert [membership.role for membership in desk.memberships.within(1)] == ["consultant"]
    shell("user seat op@exemplo.com.br acme --remove")
    with shell.desk() as desk:
        assert desk.memberships.within(1) == []
    refused = shell("user seat ana@exemplo.com.br acme", code=1).err
    assert "não é operador" in refused
    assert "ana@" not in refused
