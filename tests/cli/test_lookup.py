"""`balcao lookup`: on the service's machine, and with an API key."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from balcao.cli import lookup, service_client
from balcao.cli.service_client import _KEY_NAME, ServiceReply
from balcao.core.writing import credits_between
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from tests.cli.shell import Shell
from tests.service import Service, open_service

BASE = "http://balcao.invalid"
SUFRAMA, UNKNOWN = "90010002000154", "90010004000143"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_service(tmp_path_factory.mktemp("casa")) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def shell(house: Service, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell next to a running service, which gets its requests without a network."""

    def fetch(base: str, path: str, headers: Mapping[str, str], *, is_local: bool) -> ServiceReply:
        assert (base, is_local) == (BASE, "BALCAO_URL" not in os.environ)
        result = house.request("GET", path, None, body=b"", **dict(headers))
        return ServiceReply(result.status, result.headers, result.body)

    monkeypatch.setattr(service_client, "fetch", fetch)
    monkeypatch.setattr(service_client, "_local_address", lambda settings: BASE)
    home = house.settings.home
    monkeypatch.setenv("BALCAO_HOME", str(home))
    monkeypatch.delenv("BALCAO_KEY", raising=False)
    monkeypatch.delenv("BALCAO_URL", raising=False)
    return Shell(Path(home))


def arguments_for(operation: Operation) -> str:
    """Return the arguments for an operation: its example and required parameters."""
    required = [
        f"{each.name}={each.example}"
        for each in operation.parameters
        if each.required and each.place == "query"
    ]
    return " ".join([operation.path, operation.form.example, *required])


def test_every_operation_is_looked_up_shown_and_charged(house: Service, shell: Shell) -> None:
    for operation in OPERATIONS.values():
        before = house.balance().balance_credits
        result = shell(f"lookup {arguments_for(operation)} --account ana --yes")
        cost = before - house.balance().balance_credits
        assert cost, operation.path
        assert f"Cobrado: {cost} crédito" in result.out
        assert "Custo:" in result.err
        assert "<" not in result.out  # no markup of pages
    keys = house.desk.keys(house.client.account_id)[1:]
    assert [each.name for each in keys] == ["balcao consultar"] * len(OPERATIONS)
    assert all(each.revoked_ms and each.expires_ms for each in keys)
    assert [each.restrictions and each.restrictions.operations for each in keys] == [
        (each.path,) for each in OPERATIONS.values()
    ]


def test_json_and_kinds_of_errors(house: Service, shell: Shell) -> None:
    answer = shell(f"lookup suframa {SUFRAMA} --account ana --yes --json").json
    assert (answer["status"], answer["answer"]["cnpj"]) == (200, SUFRAMA)
    assert answer["quote"]["creditos_max"] == answer["credits"] == 1
    assert answer["request_id"] == answer["answer"]["request_id"]

    before = house.balance().balance_credits
    assert "CNPJ_INVALIDO" in shell("lookup suframa 1 --account ana --yes", code=2).err
    missing = shell(f"lookup suframa {UNKNOWN} --account ana --yes", code=5)
    assert "Nada foi cobrado. Requisição" in missing.err
    assert not missing.out
    shell(f"lookup suframa {SUFRAMA} --account ninguem --yes", code=1)
    result = shell(f"lookup suframa {SUFRAMA} uf=SP --account ana --yes", code=2).err
    assert "não é um parâmetro desta consulta. Parâmetros: cache" in result
    for swapped in ("lookup 90010000100 suframa", f"lookup suframa {SUFRAMA} 90010000100"):
        assert "90010000100" not in shell(f"{swapped} --account ana --yes", code=2).err
    assert "--yes" in shell(f"lookup suframa {SUFRAMA} --account ana", code=2).err
    house.account("dura", credits=0)
    poor = shell(f"lookup suframa {SUFRAMA} --account dura --yes --json", code=4).json
    assert poor["quote"]["recusa"] == "SALDO_INSUFICIENTE"
    assert house.balance().balance_credits == before


def test_with_an_api_key(house: Service, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"lookup suframa {SUFRAMA}"
    assert "BALCAO_KEY" in shell(f"{line} --yes", code=1).err
    monkeypatch.setenv("BALCAO_URL", f"{BASE}/")
    monkeypatch.setenv("BALCAO_KEY", "nenhuma")
    assert "API_KEY_INVALIDA" in shell(f"{line} --yes", code=3).err
    monkeypatch.setenv("BALCAO_KEY", house.client.key)
    assert "Incentivos fiscais" in shell(f"{line} --yes").out

    # Without consent to the price nothing is charged.
    before = house.balance().balance_credits
    questions: list[str] = []

    def no(text: str, **_: object) -> str:
        questions.append(text)
        return "n"

    monkeypatch.setattr(lookup, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr("typer.prompt", no)
    assert "Nada foi consultado" in shell(line, code=1).err
    assert questions == ["Consultar por 1 crédito? [s/N]"]
    assert house.balance().balance_credits == before


def test_the_handbook_shows_what_the_command_prints() -> None:
    handbook = (Path(__file__).parents[2] / "docs/pt/linha-de-comando.md").read_text(
        encoding="utf-8"
    )
    assert f"a chave usada (`{_KEY_NAME}`)" in " ".join(handbook.split())
    assert re.search(rf"Custo: +{credits_between(0, 1)}\n", handbook)
