"""A service of the version before rules were codes: updated, restored, moved elsewhere."""

import csv
import io
from contextlib import closing

import apsw
import psycopg
import pytest

from balcao.backup.shelf import kept_in
from tests.cli.shell import Shell
from tests.storage import sentences
from tests.test_tariff import SENTENCES

CODES = ["federal_certificate/online", "rural_producer/uf+addresses"]
FILLED = (
    "INSERT INTO account (account_id, name, plan, mode, certificates, partner_optin, created_ms)"
    " VALUES (1, 'acme', 'pre_pago', 'live', 0, 0, 1)",
    "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change, reason)"
    " VALUES (1, 1780000000000, '2026-05', 'top_up', 100, 0, 'carga')",
    *(
        "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
        " request_id, key_id, operation, rule, origin) VALUES (1, 1780000000000, '2026-05',"
        f" 'charge', -2, 0, 'r{number}', NULL, 'x', '{SENTENCES[code]}', 'online')"
        for number, code in enumerate(CODES)
    ),
)


@pytest.fixture(params=["sqlite", "postgresql"])
def old(
    request: pytest.FixtureRequest, shell: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """With two charges, on one of the engines."""
    if request.param == "sqlite":
        for file in shell.path.glob("balcao.db*"):
            file.unlink()
        sentences.make_sqlite(shell.home.desk)
        with closing(apsw.Connection(str(shell.home.desk))) as connection:
            for sql in FILLED:
                connection.execute(sql)
    else:
        monkeypatch.setenv("BALCAO_DATABASE", address)
        sentences.make_postgresql(address)
        with psycopg.connect(address) as connection:
            for sql in FILLED:
                connection.execute(sql.encode())
    return shell


def listed(shell: Shell) -> list[tuple[str, str]]:
    said = shell("usage acme --from 2026-05-01 --to 2026-05-31 --csv").out
    return [(row["rule"], row["rule_code"]) for row in csv.DictReader(io.StringIO(said))]


EXPECTED = [(SENTENCES[code], code) for code in CODES]


def test_updated_and_brought_back_from_the_copy_of_before(old: Shell) -> None:
    assert "Cópia de antes" in old("account list").err
    assert listed(old) == EXPECTED
    assert old("ledger check --json").json["ok"]

    (copy,) = kept_in(old.path / "backups")
    assert "A cópia confere" in old(f"backup restore {copy.path} --verify").out
    old(f"backup restore {copy.path} --replace")
    assert "Cópia de antes" in old("account list").err  # older again, and then not any more
    assert listed(old) == EXPECTED
    assert old("ledger check --json").json["ok"]


def test_moved_to_the_other_engine(
    old: Shell, address: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    was_sqlite = request.node.callspec.params["old"] == "sqlite"
    there = address if was_sqlite else "sqlite"
    if not was_sqlite:
        for file in old.path.glob("balcao.db*"):
            file.unlink()
    assert "inicie antes" in old(f"storage move --to {there}", code=1).err
    assert listed(old) == EXPECTED  # which updated it
    assert old(f"storage move --to {there} --final --json").json["ok"]
    monkeypatch.setenv("BALCAO_DATABASE", address if was_sqlite else "")
    assert listed(old) == EXPECTED
    assert old("ledger check --json").json["ok"]
