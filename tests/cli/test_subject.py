"""`balcao subject`: the CPF is never an argument and never printed."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from balcao.cli.app import app
from balcao.core.data_subject import document_hash
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Mode
from balcao.service import erasure
from balcao.storage.sqlite.cache import SqliteCache
from tests.cli.shell import CommandResult, Shell
from tests.storage import postgres

CPF = "90010000100"
FORMS = (CPF, "900.100.001-00", "100001")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the wait for running services to drop their memory."""
    monkeypatch.setattr(erasure, "FORGOTTEN_SECONDS", 0.0)


@pytest.fixture
def kept(shell: Shell) -> Shell:
    """An account, and one entry in the sandbox's cache."""
    shell("account create acme --plan pre_pago")
    mode: Mode = "test"
    cache = SqliteCache(shell.home.cache(mode), shell.home.pepper())
    cache.keep([(f"rural_producer:{CPF}:SP", CacheEntry(b'{"cpf":"90010000100"}', 1, "cnpja"))])
    cache.close()
    return shell


def run_with_cpf(line: str, typed: str = f"{CPF}\n", *, code: int = 0) -> CommandResult:
    """Run a command that reads the CPF, and assert that it is not printed."""
    result = CliRunner().invoke(app, shlex.split(line), input=typed, prog_name="balcao")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    outcome = CommandResult(result.exit_code, result.stdout, result.stderr)
    assert outcome.code == code, outcome
    assert not [form for form in FORMS if form in outcome.out + outcome.err]
    return outcome


def test_find_lists_records_without_their_content(kept: Shell) -> None:
    result = run_with_cpf("subject find")
    assert "Cache (sandbox)" in result.out
    assert "rural_producer SP" in result.out

    found = run_with_cpf("subject find --json", "900.100.001-00\n").json
    assert [(one["mode"], one["subject"], one["uf"]) for one in found["cache"]] == [
        ("test", "rural_producer", "SP")
    ]
    assert (found["requests"], found["receipts"], found["recorded_answers"]) == ([], [], [])


def test_erase_lists_then_erases_and_is_in_the_audit_log(kept: Shell) -> None:
    assert "Nada foi apagado" in run_with_cpf("subject erase --dry-run").out
    assert "--yes" in run_with_cpf("subject erase", code=1).err
    assert len(run_with_cpf("subject find --json").json["cache"]) == 1

    assert "Apagado: cache 1," in run_with_cpf("subject erase --yes").out
    after = run_with_cpf("subject find --json").json
    assert after["cache"] == []
    assert len(after["erased_before_at"]) == 2, "it began and it ended"
    with kept.desk() as desk:
        ended, begun = desk.people.audit(10, action="subject.erase")
    assert begun.target == ended.target
    assert CPF not in begun.target
    assert begun.target != document_hash(kept.home.pepper(), CPF).hex()


def test_a_closed_pipe_does_not_prevent_the_erasure(
    kept: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe is closed, as by `| head`."""

    def hung_up(*of: object) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr("balcao.cli.subject.show", hung_up)
        CliRunner().invoke(app, ["subject", "erase", "--yes"], input=f"{CPF}\n")
    assert run_with_cpf("subject find --json").json["cache"] == []


def test_a_cpf_as_an_argument_is_refused_and_not_repeated(kept: Shell) -> None:
    for command in ("find", "erase"):
        result = run_with_cpf(f"subject {command} {CPF}", code=1)
        assert "histórico" in result.err


def test_an_invalid_cpf_is_refused_and_not_repeated(kept: Shell) -> None:
    result = run_with_cpf("subject find", "90010000101\n", code=1)
    assert "90010000101" not in result.err
    assert "CPF inválido" in result.err


def test_older_backups_are_listed_with_their_last_day(kept: Shell, tmp_path: Path) -> None:
    kept("backup create")
    result = run_with_cpf("subject erase --yes").out
    assert "Backups anteriores: 1; o último é apagado até" in result
    assert "subject erase" in result


def test_older_copies_are_listed(
    kept: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Copies of a restore and of a move to PostgreSQL, which `erase` does not reach."""
    kept("backup create")
    (backup,) = (kept.path / "backups").glob("*.tar")
    kept(f"backup restore {backup} --replace")
    (aside,) = kept.path.glob("before-restore-*")
    damaged = kept.path / "cache.damaged"
    damaged.write_bytes(b"")
    assert run_with_cpf("subject find --json").json["backups"]["left_behind"] == [
        str(aside),
        str(damaged),
    ]
    result = run_with_cpf("subject erase --yes").out
    assert all(f"até você apagar: {path}" in result for path in (aside, damaged))
    damaged.unlink()

    address = postgres.server().new_database()
    try:
        kept(f"storage move --to {address} --final")
        monkeypatch.setenv("BALCAO_DATABASE", address)
        left = run_with_cpf("subject find --json").json["backups"]["left_behind"]
    finally:
        postgres.server().drop_database(address)
    assert left == [
        *(str(kept.path / name) for name in ("balcao.db", "cache.db", "cache-sandbox.db")),
        str(aside),
    ]
