"""`balcao credit`, `balcao usage` and `balcao ledger`."""

import asyncio
import csv
import io
import re
from datetime import datetime
from typing import Any

import pytest

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.ledger import Charge, Hold, Origin, Settle
from tests.cli.shell import Shell

END_OF_TIME_MS = 2**62


@pytest.fixture(autouse=True)
def _account(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell("key create acme --name produção")


def charge(
    shell: Shell,
    at: str,
    request: str,
    credits: int = 1,
    *,
    origin: Origin = "cache",
    operation: str = "suframa",
) -> None:
    """Charge a lookup at an instant of Brasília time."""
    at_ms = to_ms(datetime.fromisoformat(at).replace(tzinfo=BRASILIA))
    with shell.desk() as desk:
        refusal = desk.commit_now(
            [Charge(1, 1, request, operation, credits, "suframa/lookup", origin, at_ms)]
        )
    assert refusal is None


def test_credits_are_added_and_withdrawn(shell: Shell) -> None:
    assert shell('credit add acme 1000 --reason "pedido 123"').out == (
        "1.000 créditos acrescentados à conta acme. Novo saldo: 1.000.\n"
    )
    taken = shell("credit add acme -1 --reason estorno").out
    assert taken == "1 crédito retirado da conta acme. Novo saldo: 999.\n"
    found = shell("credit add acme -49 --reason estorno --json").json
    assert (found["added_credits"], found["balance_credits"]) == (-49, 950)
    assert shell("ledger check --json").json["ok"]


def test_an_account_never_goes_below_zero(shell: Shell) -> None:
    shell("credit add acme 10 --reason compra")
    result = shell("credit add acme -11 --reason estorno", code=1)
    assert result.err == (
        "erro: A conta acme tem 10 créditos disponíveis. Não é possível retirar 11.\n"
    )
    assert shell("account show acme --json").json["balance_credits"] == 10


def test_the_debt_of_a_post_paid_account_is_corrected_despite_its_ceiling(shell: Shell) -> None:
    shell("account create depois --plan pos_pago --ceiling 5")
    assert "Novo saldo: -100." in shell("credit add depois -100 --reason correção").out
    assert "Novo saldo: -40." in shell("credit add depois 60 --reason pagamento").out
    assert shell("account show depois --json").json["available_credits"] == 5
    assert shell("ledger check --json").json["ok"]


@pytest.mark.parametrize(
    "line",
    [
        "credit add acme 0 --reason nada",
        "credit add acme 5",
        "credit add acme 5 --reason ''",
        "credit add acme cinco --reason compra",
        "credit add acme 1000000000001 --reason compra",
        "credit add acme 5 --razão compra",
    ],
)
def test_invalid_credits_are_wrong_usage(shell: Shell, line: str) -> None:
    shell(line, code=2)
    assert shell("account show acme --json").json["balance_credits"] == 0


def test_days_are_those_of_brasilia_and_both_ends_are_included(shell: Shell) -> None:
    shell("credit add acme 100 --reason compra")
    for number, at in enumerate(
        (
            "2026-09-30 23:59:59.999",  # the day before
            "2026-10-01 00:00:00",
            "2026-10-01 23:59:59.999",
            "2026-10-02 12:00:00",
            "2026-10-02 23:59:59.999",
            "2026-10-03 00:00:00",  # the day after
        )
    ):
        charge(shell, at, f"r{number}")
    found = shell("usage acme --from 2026-10-01 --to 2026-10-02 --json").json
    assert [(row["day"], row["queries"]) for row in found["rows"]] == [
        ("2026-10-01", 2),
        ("2026-10-02", 2),
    ]
    rows = csv_rows(shell, "--from 2026-10-01 --to 2026-10-02")
    assert [row["request_id"] for row in rows] == ["r1", "r2", "r3", "r4"]


def test_no_consumption(shell: Shell) -> None:
    first, second, *more = shell("usage acme --from 2026-10-01 --to 2026-10-02").out.splitlines()
    assert first == "Consumo da conta acme, de 01/10/2026 a 02/10/2026"
    assert second == "Nada foi consumido neste período."
    assert more == ["Créditos acrescentados no período: 0. Saldo atual: 0."]


def test_totals_equal_the_ledger(shell: Shell) -> None:
    shell("credit add acme 500 --reason compra")
    shell("credit add acme -30 --reason estorno")
    charge(shell, "2026-10-01 10:00:00", "a", 1, origin="cache", operation="suframa")
    charge(shell, "2026-10-01 11:00:00", "b", 27, origin="online", operation="sintegra")
    charge(shell, "2026-10-01 12:00:00", "c", 2, origin="online", operation="sintegra")
    charge(shell, "2026-10-05 10:00:00", "d", 1, origin="cache", operation="suframa")
    held_then_posted_and_voided(shell)
    period = "--from 0001-01-01 --to 2100-12-31"

    with shell.desk() as desk:
        entries = list(desk.entries(1, 0, END_OF_TIME_MS))
    consumed = -sum(entry.credits for entry in entries if entry.kind != "top_up")
    assert consumed == 1 + 27 + 2 + 1 + 3

    found = shell(f"usage acme {period} --json").json
    assert found["total"] == {"queries": 5, "credits": consumed}
    assert sum(row["credits"] for row in found["rows"]) == consumed
    assert found["added_credits"] - consumed == found["balance_credits"]
    assert {
        "day": "2026-10-01",
        "operation": "sintegra",
        "origin": "online",
        "queries": 2,
        "credits": 29,
        "client": None,
    } in found["rows"]

    rows = csv_rows(shell, period)
    assert sum(int(row["credits"]) for row in rows) == consumed
    assert rows[0] == {
        "time": "2026-10-01T10:00:00.000-03:00",
        "request_id": "a",
        "operation": "suframa",
        "rule": "suframa: 1 por consulta concluída",
        "rule_code": "suframa/lookup",
        "origin": "cache",
        "key_id": "1",
        "key": "produção",
        "credits": "1",
        "client": "",
        "reference": "",
    }
    people = shell(f"usage acme {period}").out
    assert "01/10/2026" not in people
    assert re.search(r"Inscrições estaduais +da fonte +3 +32\n", people)
    assert re.search(r"Suframa +guardado +2 +2\n", people)
    (total,) = [line for line in people.splitlines() if "Total" in line]
    assert total.split() == ["Total", "5", str(consumed)]


def held_then_posted_and_voided(shell: Shell) -> None:
    at_ms = to_ms(datetime(2026, 10, 6, tzinfo=BRASILIA))
    with shell.desk() as desk:
        for request, price in (("e", 3), ("f", 0)):
            assert desk.commit_now([Hold(1, 1, request, "sintegra", 27, at_ms)]) is None
            settle = Settle(1, request, price, "a regra", "online", at_ms)
            assert desk.commit_now([settle]) is None


def csv_rows(shell: Shell, period: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(shell(f"usage acme {period} --csv").out)))


@pytest.mark.parametrize(
    "options",
    ["--from 2026-10-02 --to 2026-10-01", "--from ontem", "--csv --json", "--to 9999-12-31"],
)
def test_invalid_periods_are_wrong_usage(shell: Shell, options: str) -> None:
    shell(f"usage acme {options}", code=2)


def test_wrong_sums_are_reported(shell: Shell) -> None:
    shell("credit add acme 10 --reason compra")
    assert "confere" in shell("ledger check").out
    with shell.desk() as desk:
        desk._connection.execute("UPDATE account SET balance_credits = balance_credits + 1")
    assert "conta acme" in shell("ledger check", code=1).err
    found = shell("ledger check --json", code=1).json
    assert found["ok"] is False
    assert len(found["complaints"]) == 1
    assert "livro-razão" in shell("doctor", code=1).out


def test_usage_by_client(shell: Shell) -> None:
    shell("credit add acme 500 --reason compra")
    day = to_ms(datetime.fromisoformat("2026-10-01 10:00:00").replace(tzinfo=BRASILIA))
    with shell.desk() as desk:
        for request, client in (("a", "loja-7"), ("b", "loja-7"), ("c", None)):
            charge = Charge(
                1, 1, request, "suframa", 1, "suframa/lookup", "cache", day, client, "p"
            )
            assert desk.commit_now([charge]) is None
    period = "--from 2026-10-01 --to 2026-10-31"
    rows = shell(f"usage acme {period} --json").json["rows"]
    assert [(row["client"], row["queries"]) for row in rows] == [(None, 1), ("loja-7", 2)]
    assert [row["client"] for row in csv_rows(shell, period)] == ["loja-7", "loja-7", ""]
    assert {row["reference"] for row in csv_rows(shell, period)} == {"p"}
    by_day = shell(f"usage acme {period} --days").out
    assert re.search(r"01/10/2026 +Suframa +guardado +loja-7 +2 +2", by_day)
    assert "loja-7" not in shell(f"usage acme {period}").out
    shell(f"usage acme {period} --days --by client", code=2)


def test_usage_by_key_uf_and_client(shell: Shell) -> None:
    shell("credit add acme 500 --reason compra")
    day = to_ms(datetime.fromisoformat("2026-10-01 10:00:00").replace(tzinfo=BRASILIA))
    with shell.desk() as desk:
        for request, key, client, credits in (
            ("a", 1, "loja-7", 1), ("b", 1, "loja-7", 4), ("c", None, None, 2),
        ):  # fmt: skip
            rule = "suframa/lookup"
            charge = Charge(1, key, request, "suframa", credits, rule, "cache", day, client)
            assert desk.commit_now([charge]) is None
    period = "--from 2026-10-01 --to 2026-10-31"
    found = shell(f"usage acme {period} --by client --json").json
    assert found["by"] == "client"
    assert found["rows"] == [
        {"client": None, "queries": 1, "credits": 2},
        {"client": "loja-7", "queries": 2, "credits": 5},
    ]
    assert found["total"] == {"queries": 3, "credits": 7}
    assert shell(f"usage acme {period} --by key --json").json["rows"] == [
        {"key_id": None, "key": None, "queries": 1, "credits": 2},
        {"key_id": 1, "key": "produção", "queries": 2, "credits": 5},
    ]
    assert shell(f"usage acme {period} --by uf --json").json["rows"] == [
        {"uf": None, "queries": 3, "credits": 7}
    ]
    assert "sem cliente" in shell(f"usage acme {period} --by client").out
    assert "sem UF" in shell(f"usage acme {period} --by uf").out
    result = re.sub(r" +\n", "\n", shell(f"usage acme {period} --by key").out)
    assert re.search(r"produção +2 +5\n *aplicação web +1 +2\n", result)
    assert re.search(r"Total +3 +7", result)
    assert "é key, uf ou client" in shell(f"usage acme {period} --by dia", code=2).err
    shell(f"usage acme {period} --by key --csv", code=2)


def test_wrong_daily_totals_are_rebuilt(shell: Shell) -> None:
    shell("credit add acme 500 --reason compra")
    charge(shell, "2026-10-01 10:00:00", "a", 3)
    with shell.desk() as desk:
        at_ms = to_ms(datetime(2026, 10, 2, tzinfo=BRASILIA))
        assert asyncio.run(desk.totals.fold(at_ms)) == 1
        desk._connection.execute("UPDATE daily_total SET requests = 2")
    result = shell("ledger check", code=1).err
    assert (
        "os totais diários (all) não são os lançamentos, em 1 dias a partir de 2026-10-01" in result
    )
    assert "serão refeitos" in shell("ledger refold acme").out
    assert "confere" in shell("ledger check").out
    period = "--from 2026-10-01 --to 2026-10-31 --json"
    assert shell(f"usage acme {period}").json["total"] == {"queries": 1, "credits": 3}
