"""`balcao key`."""

import asyncio
import re
from collections.abc import Iterator
from datetime import datetime

import pytest

from balcao.core.access import is_well_formed, key_hash
from balcao.core.calendar import BRASILIA, civil_day_text
from balcao.core.deprecations import DeprecatedUse
from balcao.service.clock import system_now_ms
from tests.cli.shell import Shell
from tests.service import at_once


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> Iterator[None]:
    shell("account create acme --plan pre_pago")
    yield
    assert shell("ledger check --json").json["ok"]


def test_stdout_has_only_the_key(shell: Shell) -> None:
    result = shell("key create acme")
    key = result.out.removesuffix("\n")
    assert is_well_formed(key)
    assert key not in result.err
    assert "não será mostrada de novo" in result.err
    with shell.desk() as desk:
        caller = at_once(desk.caller(key_hash(key, shell.home.pepper()), 0))
    assert caller is not None
    assert caller.mode == "live"


def test_a_key_as_json(shell: Shell) -> None:
    found = shell("key create 1 --name produção --per-minute 10 --per-day 100 --json").json
    assert is_well_formed(found.pop("key"))
    assert found["name"] == "produção"
    assert (found["per_minute"], found["per_day"]) == (10, 100)
    assert found["expires_at"] is None


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ("2099-12-31", datetime(2100, 1, 1, tzinfo=BRASILIA)),
        ("2099-12-31T18:30:00-03:00", datetime(2099, 12, 31, 18, 30, tzinfo=BRASILIA)),
        ("2099-12-31T21:30:00Z", datetime(2099, 12, 31, 18, 30, tzinfo=BRASILIA)),
        ("2099-12-31T18:30", datetime(2099, 12, 31, 18, 30, tzinfo=BRASILIA)),
    ],
)
def test_a_key_is_valid_to_the_end_of_its_last_day_in_brasilia(
    shell: Shell, given: str, ends: datetime
) -> None:
    found = shell(f"key create acme --expires {given} --json").json
    assert datetime.fromisoformat(found["expires_at"]) == ends


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2020-01-01", "já passou"), ("31/12/2099", "AAAA-MM-DD"), ("9999-12-31", "tarde demais")],
)
def test_an_invalid_expiry_is_refused(shell: Shell, given: str, expected: str) -> None:
    assert expected in shell(f"key create acme --expires {given}", code=2).err
    assert shell("key list acme --json").json == []


@pytest.mark.parametrize(
    "line",
    [
        "key create acme --name '900.100.001-00 Fulana'",
        "account create 'Fulana 90010000100' --plan pre_pago",
        "user create ana@acme.test --name 'Ana 900.100.001-00' --account acme --role gestor",
        "credit add acme 10 --reason 'pedido de 90010000100'",
        "certificate-extension add 'Ato de 90010000100' --from 2026-01-01 --to 2026-02-01 --days 9",
    ],
)
def test_a_cpf_is_refused_in_permanent_texts(shell: Shell, line: str) -> None:
    """Contract 11.1."""
    assert "CPF" in shell(line, code=2).err


def test_keys_are_listed_without_their_secret(shell: Shell) -> None:
    key = shell("key create acme --name primeira").out.strip()
    listed = shell("key list acme")
    assert key not in listed.out
    assert key[:18] in listed.out
    (found,) = shell("key list acme --json").json
    assert found["prefix"] == key[:18]
    assert key not in shell("key list acme --json").out


def test_a_revoked_key_stays_revoked(shell: Shell) -> None:
    key_id = shell("key create acme --json").json["key_id"]
    assert "revogada" in shell(f"key revoke {key_id}").out
    first = shell("key list acme --json").json[0]["revoked_at"]
    assert first is not None
    assert "já estava revogada" in shell(f"key revoke {key_id}").out
    assert shell(f"key revoke {key_id} --json").json["revoked_at"] == first
    assert "está revogada" in shell(f"key change {key_id} --require-client", code=1).err


def test_revoking_an_unknown_key_suggests_the_list(shell: Shell) -> None:
    assert "balcao key list" in shell("key revoke 99", code=1).err


def test_no_command_repeats_a_key_or_the_pepper(shell: Shell) -> None:
    key = shell("key create acme").out.strip()
    pepper = shell.home.pepper()
    shell('credit add acme 5 --reason "compra"')
    for line in (
        "account list",
        "account list --json",
        "account show acme --json",
        "key list acme",
        "key list acme --json",
        "key revoke 1",
        "usage acme",
        "usage acme --csv",
        "ledger check --json",
        "config show",
        "config show --json",
        "doctor --json",
        "opendata status",
    ):
        result = shell(line)
        for secret in (key, key[18:], pepper.hex(), repr(pepper)):
            assert secret not in result.out + result.err, line


RULES = "--ip 203.0.113.0/24 --ip 2001:db8::1 --operation suframa --require-client --admin"


def test_a_key_with_rules(shell: Shell) -> None:
    made = shell(f"key create acme {RULES} --json").json
    rules = {
        "ips": ["203.0.113.0/24", "2001:db8::1/128"],
        "operations": ["suframa"],
        "client_required": True,
        "admin": True,
    }
    assert rules.items() <= made.items()
    number = made["key_id"]
    assert rules.items() <= shell(f"key show {number} --json").json.items()
    assert rules.items() <= shell("key list acme --json").json[0].items()
    people = shell(f"key show {number}").out
    assert "203.0.113.0/24, 2001:db8::1/128" in people
    assert re.search(r"Exige cliente +sim", people)
    assert "exige cliente" in shell("key list acme").out


def test_rules_are_changed_one_by_one(shell: Shell) -> None:
    number = shell(f"key create acme {RULES} --json").json["key_id"]
    result = shell(f"key change {number} --any-ip --no-admin").out
    assert f"Chave {number} (chave) da conta acme: só suframa; exige cliente." in result
    changed = shell(f"key change {number} --operation sintegra --no-require-client --json").json
    assert (changed["operations"], changed["client_required"]) == (["sintegra"], False)
    assert "já tinha estas regras" in shell(f"key change {number}").out
    result = shell(f"key change {number} --any-operation").out
    assert result.strip().endswith("da conta acme: nenhuma.")
    with shell.desk() as desk:
        details = [each.detail for each in desk.people.audit(99, action="key.change")]
    assert details[0] == f"número {number}; operações sintegra → todas"
    assert len(details) == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--ip 10.0.0.7/8", "não é um endereço nem uma rede"),
        ("--ip casa", "não é um endereço nem uma rede"),
        ("--operation nada", "Operações: "),
        ("--ip 10.0.0.1 --any-ip", "não se usa com --any-ip"),
        ("--operation suframa --any-operation", "não se usa com --any-operation"),
    ],
)
def test_invalid_rules(shell: Shell, options: str, expected: str) -> None:
    number = shell("key create acme --json").json["key_id"]
    assert expected in " ".join(shell(f"key change {number} {options}", code=2).err.split())
    if "--any" not in options:
        shell(f"key create acme {options}", code=2)


def test_no_such_key(shell: Shell) -> None:
    for command in ("key show 99", "key change 99 --admin"):
        assert "Não há chave número 99" in shell(command, code=1).err


def test_at_most_fifty_networks(shell: Shell) -> None:
    fifty = " ".join(f"--ip 10.0.0.{last}" for last in range(50))
    shell(f"key create acme {fifty}")
    assert "no máximo 50" in shell(f"key create acme {fifty} --ip 10.0.1.1", code=2).err


# Keys of compatible APIs (contract 16.4)

OF_FACE = "key create acme --face brasilapi"


def test_a_face_key_has_networks_and_a_daily_ceiling(shell: Shell) -> None:
    result = shell(f"{OF_FACE} --ip 203.0.113.7 --ip 2001:db8::/32 --daily-credits 500")
    assert is_well_formed(result.out.strip())
    assert "/compat/k/CHAVE/brasilapi/" in result.err
    assert "500 créditos por dia" in result.err
    shown = shell("key show 1").out
    assert "só a API compatível: BrasilAPI" in shown
    assert "500 créditos por dia" in shown
    answer = shell("key show 1 --json").json
    assert answer["operations"] == ["compat/brasilapi"]
    assert answer["ips"] == ["203.0.113.7/32", "2001:db8::/32"]
    (budget,) = answer["budgets"]
    assert (budget["period"], budget["credits_max"], budget["operations"]) == ("dia", 500, None)
    refused = shell(f"budget delete acme {budget['number']}", code=1)
    assert "revogue a chave" in refused.err
    assert shell("key list acme").out.count("face BrasilAPI") == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{OF_FACE} --daily-credits 5", "--ip"),
        (f"{OF_FACE} --ip 203.0.113.7", "--daily-credits"),
        (f"{OF_FACE} --ip 203.0.113.7 --daily-credits 0", "--daily-credits"),
        (f"{OF_FACE} --ip 203.0.113.7 --daily-credits 5 --operation sintegra", "--operation"),
        (f"{OF_FACE} --ip 203.0.113.7 --daily-credits 5 --admin", "--admin"),
        (f"{OF_FACE} --ip 203.0.113.7 --daily-credits 5 --require-client", "--require-client"),
        ("key create acme --face outra --ip 203.0.113.7 --daily-credits 5", "brasilapi"),
        ("key create acme --daily-credits 5", "--face"),
    ],
)
def test_requirements_of_a_face_key(shell: Shell, line: str, expected: str) -> None:
    assert expected in shell(line, code=2).err
    assert shell("key list acme --json").json == []


def test_only_networks_of_a_face_key_can_change(shell: Shell) -> None:
    shell(f"{OF_FACE} --ip 203.0.113.7 --daily-credits 5")
    for change in ("--any-ip", "--operation sintegra", "--any-operation", "--admin"):
        assert "com BrasilAPI" in shell(f"key change 1 {change}", code=1).err
    shell("key change 1 --ip 203.0.113.8")
    answer = shell("key show 1 --json").json
    assert (answer["ips"], answer["operations"]) == (["203.0.113.8/32"], ["compat/brasilapi"])


def test_keys_that_use_deprecated_features(shell: Shell) -> None:
    assert "Nenhuma chave ativa usa" in shell("key deprecated").out
    shell("key create acme --name erp")
    with shell.desk() as desk:
        (key,) = desk.keys(1)
        today = civil_day_text(system_now_ms())
        use = DeprecatedUse(1, "cabecalho-cache", key.key_id, today, 7)
        asyncio.run(desk.deprecated_uses.add([use]))
    (found,) = shell("key deprecated acme --json").json
    assert (found["account"], found["key"], found["requests"]) == ("acme", "erp", 7)
    assert "Cabeçalho cache" in shell("key deprecated").out
    shell("key revoke 1")
    assert shell("key deprecated --json").json == []
