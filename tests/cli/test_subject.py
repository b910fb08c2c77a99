"""`balcao subject`: the CPF is never an argument, and nothing of it is printed."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from balcao.cli.app import app
from balcao.core.data_subject import document_hash
from balcao.core.freshness import Kept
from balcao.core.questions import Mode
from balcao.service import erasure
from balcao.storage.sqlite.cache import SqliteCache
from tests.cli.shell import Said, Shell
from tests.storage import postgres

CPF = "90010000100"
FORMS = (CPF, "900.100.001-00", "100001")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody serves who would have to forget."""
    monkeypatch.setattr(erasure, "FORGOTTEN_SECONDS", 0.0)


@pytest.fixture
def kept(shell: Shell) -> Shell:
    """An account, and one entry in the sandbox's cache."""
    shell("account create acme --plan pre_pago")
    mode: Mode = "test"
    cache = SqliteCache(shell.home.cache(mode), shell.home.pepper())
    cache.keep([(f"rural_producer:{CPF}:SP", Kept(b'{"cpf":"90010000100"}', 1, "cnpja"))])
    cache.close()
    return shell


def told(line: str, typed: str = f"{CPF}\n", *, code: int = 0) -> Said:
    """Run a command that reads the CPF, and insist that it is not repeated."""
    result = CliRunner().invoke(app, shlex.split(line), input=typed, prog_name="balcao")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    said = Said(result.exit_code, result.stdout, result.stderr)
    assert said.code == code, said
    assert not [form for form in FORMS if form in said.out + said.err]
    return said


def test_find_says_what_there_is_and_not_what_it_says(kept: Shell) -> None:
    said = told("subject find")
    assert "Cache (sandbox)" in said.out
    assert "rural_producer SP" in said.out

    found = told("subject find --json", "900.100.001-00\n").json
    assert [(one["mode"], one["subject"], one["uf"]) for one in found["cache"]] == [
        ("test", "rural_producer", "SP")
    ]
    assert (found["requests"], found["receipts"], found["recorded_answers"]) == ([], [], [])


def test_erase_shows_first_then_erases_and_says_so_in_the_log(kept: Shell) -> None:
    assert "Nada foi apagado" in told("subject erase --dry-run").out
    assert "--yes" in told("subject erase", code=1).err
    assert len(told("subject find --json").json["cache"]) == 1

    assert "Apagado: cache 1," in told("subject erase --yes").out
    after = told("subject find --json").json
    assert after["cache"] == []
    assert len(after["erased_before_at"]) == 2, "it began and it ended"
    with kept.desk() as desk:
        ended, begun = desk.people.audit(10, action="subject.erase")
    assert begun.target == ended.target
    assert CPF not in begun.target
    assert begun.target != document_hash(kept.home.pepper(), CPF).hex()


def test_who_hangs_up_on_the_list_does_not_keep_it_from_being_done(
    kept: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `| head` does."""

    def hung_up(*of: object) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr("balcao.cli.subject.show", hung_up)
        CliRunner().invoke(app, ["subject", "erase", "--yes"], input=f"{CPF}\n")
    assert told("subject find --json").json["cache"] == []


def test_a_cpf_as_an_argument_is_refused_and_not_repeated(kept: Shell) -> None:
    for command in ("find", "erase"):
        said = told(f"subject {command} {CPF}", code=1)
        assert "histórico" in said.err


def test_what_is_no_cpf_is_refused_and_not_repeated(kept: Shell) -> None:
    said = told("subject find", "90010000101\n", code=1)
    assert "90010000101" not in said.err
    assert "não é um CPF válido" in said.err


def test_backups_of_before_are_named_with_their_last_day(kept: Shell, tmp_path: Path) -> None:
    kept("backup create")
    said = told("subject erase --yes").out
    assert "Cópias de segurança de antes de agora: 1; a última delas sai até" in said
    assert "subject erase" in said


def test_what_was_left_of_before_is_named(
    kept: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By a restoration, and by a move to PostgreSQL: `erase` does not reach either."""
    kept("backup create")
    (backup,) = (kept.path / "backups").glob("*.tar")
    kept(f"backup restore {backup} --replace")
    (aside,) = kept.path.glob("before-restore-*")
    damaged = kept.path / "cache.damaged"
    damaged.write_bytes(b"")
    assert told("subject find --json").json["backups"]["left_behind"] == [str(aside), str(damaged)]
    said = told("subject erase --yes").out
    assert all(f"até que você os apague: {path}" in said for path in (aside, damaged))
    damaged.unlink()

    address = postgres.server().new_database()
    try:
        kept(f"storage move --to {address} --final")
        monkeypatch.setenv("BALCAO_DATABASE", address)
        left = told("subject find --json").json["backups"]["left_behind"]
    finally:
        postgres.server().drop_database(address)
    assert left == [
        *(str(kept.path / name) for name in ("balcao.db", "cache.db", "cache-sandbox.db")),
        str(aside),
    ]
