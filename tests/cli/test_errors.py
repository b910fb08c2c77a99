"""`balcao errors`: the tree of errors with their attributes."""

import pytest

from balcao.cli import output
from balcao.core import errors
from tests.cli.shell import Shell


def test_the_tree_is_printed_for_people(fresh: Shell) -> None:
    rows = [row.strip() for row in fresh("errors").out.splitlines()]
    assert sum("── " in row for row in rows) == len(list(errors.all_errors()))
    (row,) = [row for row in rows if "InvalidUf " in row]
    assert row.split("InvalidUf")[0] == "│   │   ├── "
    assert " ".join(row.split()[4:]) == "400 UF_INVALIDA A UF informada não existe nesta operação."
    (row,) = [row for row in rows if "EmailTaken " in row]
    assert row.split()[2:4] == ["—", "—"]
    assert row.endswith("Esse e-mail já está em uso. Veja: balcao user list.")
    assert not fresh.path.exists(), "nothing is made"


def test_the_tree_is_not_broken_in_a_terminal(
    fresh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", 80)
    out = fresh("errors").out
    assert max(map(len, out.splitlines())) <= 80
    for kind in errors.all_errors():
        assert f"── {kind.__name__} " in out


def test_cards_are_printed_for_programs(fresh: Shell) -> None:
    listed = {card["name"]: card for card in fresh("errors --json").json}
    assert listed["CnpjNotFound"] == {
        "name": "CnpjNotFound",
        "parent": "NotFound",
        "status": 404,
        "code": "CNPJ_NAO_ENCONTRADO",
        "message": "O CNPJ não existe ou foi removido da base da Receita Federal.",
        "short": "CNPJ não encontrado",
        "tone": "info",
        "field": None,
        "hint": None,
        "notice": {
            "tone": "warn",
            "title": "Este CNPJ não existe",
            "text": "Segundo a fonte, o CNPJ não existe ou foi removido da base da Receita"
            " Federal.",
            "advice": "Confira o número. Uma empresa aberta há poucos dias pode ainda não constar.",
        },
        "operator_hint": None,
    }
    assert listed["EmailTaken"]["code"] is None
    assert listed["EmailTaken"]["operator_hint"].startswith("Esse e-mail já está em uso")
