"""Help with examples, usage errors in Portuguese, and failures without a traceback."""

import errno
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
import typer

from balcao.cli.app import app, loaded
from balcao.cli.failures import CommandFailed, explain
from balcao.cli.portuguese import translate
from balcao.core import errors
from balcao.opendata import errors as opendata
from balcao.providers.sefaz.certificate import CertificateUnusable
from tests.cli.shell import Shell

ENGLISH = re.compile(r"\b(Usage|Error|Missing|Invalid|No such|Options|Show|default|required)\b")


def commands(group: Any = None, above: str = "") -> Iterator[tuple[str, Any]]:
    top: Any = group or typer.main.get_command(app)
    for name, listed in top.commands.items():
        command = loaded(listed)
        if hasattr(command, "commands"):
            yield from commands(command, f"{above}{name} ")
        elif not listed.hidden:
            yield f"{above}{name}", command


NAMES = [name for name, _ in commands()]


@pytest.mark.parametrize("name", NAMES)
def test_every_help_has_an_example_and_is_portuguese(fresh: Shell, name: str) -> None:
    result = fresh(f"{name} --help").out
    assert not re.search(r"<\w", result)  # <bool>, <list[Path]>
    assert "Uso: balcao" in result
    assert "Exemplo:" in result
    assert f"balcao {name}" in result.split("Exemplo:")[1]
    assert not ENGLISH.search(result)
    assert not fresh.path.exists()


def test_paragraphs_of_help_are_wrapped_once(fresh: Shell) -> None:
    """Source lines of 100 characters must not leave single words on a terminal of 80."""
    result = fresh("opendata build --help").out
    paragraph = result.split("A Receita Federal publica")[1].split("Exemplo:")[0].strip()
    lines = [line.rstrip() for line in paragraph.splitlines()]
    assert all(len(line) > 50 for line in lines[1:-1]), lines


def test_the_main_help_lists_every_group(shell: Shell) -> None:
    result = shell("--help").out
    for name in NAMES:
        assert name.split()[0] in result
    assert not ENGLISH.search(result)
    assert shell("--version").out.startswith("balcao ")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("conta", "Não existe o comando 'conta'."),
        ("acount", "Seria 'account'?"),
        ("account create", "Falta o argumento 'NOME'."),
        ("account create a", "Falta a opção '--plan'."),
        ("account create a --plan caro", "'caro' não é um destes: 'gratuito', 'pre_pago'"),
        ("account create a --plan pos_pago --ceiling -1", "deve ser 0 ou mais."),
        ("account create a --plano x", "Não existe a opção --plano. Seria --plan?"),
        ("account create a --plan", "A opção --plan precisa de um valor."),
        ("account list a", "Argumento a mais: a."),
        ("serve --port 99999", "deve ser 65535 ou menos."),
        ("serve --port oito", "não é um número inteiro."),
        ("opendata build /nada", "'/nada' não existe."),
        ("opendata sample x --establishments 5 --seed 1 --alphanumeric x", "não é um número."),
    ],
)
def test_usage_errors_are_explained(shell: Shell, line: str, expected: str) -> None:
    err = shell(line, code=2).err
    assert expected in err
    assert not ENGLISH.search(err)


def test_usage_errors_show_the_usage(shell: Shell) -> None:
    err = shell("key create", code=2).err
    assert err.startswith("Uso: balcao key create [OPÇÕES] ")
    assert err.endswith("Ajuda: balcao key create --help\n")


def test_untranslated_messages_are_unchanged() -> None:
    assert translate("Something new.") == "Something new."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CommandFailed("Assim não."), "Assim não."),
        (errors.HomeInUse("/dados"), "/dados já está em uso"),
        (CertificateUnusable("a.pfx: senha recusada"), "a.pfx: senha recusada. Corrija"),
        (errors.StorageNewer("schema 9 is newer than this program's 1"), "versão mais nova"),
        (errors.StorageUnreleased(), "versão de desenvolvimento"),
        (errors.PepperDiffers(), "secret.key"),
        (errors.EmailTaken(), "user list"),
        (errors.FormDone(), "já foi feito"),
        (errors.TermsRefused(), "Nada foi alterado"),
        (errors.LastOperator(), "Crie outro antes"),
        (errors.StorageFailed("IOError"), "Não foi possível gravar"),
        (opendata.BuildRunning("x"), "Outra importação"),
        (opendata.BadInput("no zip"), "no zip"),
        (opendata.VerificationFailed(["a", "b"]), "a; b"),
        (opendata.VerificationFailed(["a"], only_size=True), "repita com --force"),
        (apsw.FullError("x"), "disco está cheio"),
        (apsw.BusyError("x"), "ocupado"),
        (apsw.NotADBError("x"), "danificado"),
        (apsw.CantOpenError("x"), "permissões"),
        (apsw.IOError("x"), "disco falhou"),
        (OSError(errno.ENOSPC, "x", "/dados/a"), "disco está cheio (/dados/a)"),
        (OSError(errno.EACCES, "x"), "Sem permissão"),
        (OSError(errno.EXDEV, "Invalid link"), "Invalid link"),
    ],
)
def test_expected_failures_have_a_message(error: Exception, expected: str) -> None:
    assert expected in (explain(error) or "")


def test_a_failed_commit_has_its_cause() -> None:
    failed = errors.StorageFailed("FullError")
    failed.__cause__ = apsw.FullError("x")
    assert "disco está cheio" in (explain(failed) or "")


def test_a_bug_has_no_explanation() -> None:
    assert explain(KeyError("x")) is None


def test_a_data_folder_that_is_a_file(fresh: Shell) -> None:
    fresh.path.write_text("")
    result = fresh("account create acme --plan pre_pago", code=1)
    assert result.err.startswith("erro: Há um arquivo onde devia haver uma pasta")


def test_an_invalid_database_file(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    shell.home.desk.write_bytes(b"not a database" * 1000)
    assert "danificado" in shell("account list", code=1).err
    assert "danificado" in shell("doctor", code=1).out


def test_the_shell_completes_names(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_BALCAO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "balcao opendata ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert shell("").out.split() == [
        "build",
        "fetch",
        "status",
        "list",
        "rollback",
        "answers",
        "search",
        "sample",
    ]


def test_the_shell_completes_values(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_BALCAO_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")

    def suggestions(line: str) -> list[str]:
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"balcao {line}")
        return [each.partition("\t")[0] for each in shell("").out.split("\n") if each]

    monkeypatch.delenv("_BALCAO_COMPLETE")
    for name in ("acme", "outra"):
        shell(f"account create {name} --plan pre_pago")
        shell(f"key create {name}")
    monkeypatch.setenv("_BALCAO_COMPLETE", "complete_fish")
    assert suggestions("account show ") == ["acme", "outra"]
    assert suggestions("quote x --account a") == ["acme"]
    assert suggestions("key revoke ") == ["1", "2"]
    assert suggestions("source check --uf R") == ["RJ", "RN", "RO", "RR", "RS"]
    assert "cnpja" in suggestions("source check --source c")
    assert suggestions("lookup si") == ["sintegra"]
    assert "uf=SP" in suggestions("lookup sintegra 90010001000100 uf=S")
    assert suggestions("lookup sintegra 90010001000100 uf = S") == ["SC", "SE", "SP"]  # as bash
    assert suggestions("lookup sintegra 90010001000100 uf =")[:2] == ["BR", "AC"]
    with shell.desk() as desk:
        desk._connection.execute("PRAGMA user_version = 999")
    assert suggestions("account show ") == []


def test_completion_is_installed_in_portuguese(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer import completion

    monkeypatch.setattr(completion, "install", lambda: ("bash", "/casa/.bashrc"))
    result = shell("--install-completion").out
    assert "Autocompletar do bash instalado em /casa/.bashrc." in result


def test_portuguese_names_of_commands_still_work(shell: Shell) -> None:
    for english, portuguese in (("lookup", "consultar"), ("open", "abrir")):
        words = shell(f"{english} --help").out.replace(
            f"balcao {english} ", f"balcao {portuguese} ", 1
        )
        assert shell(f"{portuguese} --help").out.split() == words.split()
    shown = shell("--help").out
    assert "│ consultar" not in shown
    assert "│ abrir" not in shown
    assert "--sim" in shell("lookup --help").out


def test_lines_of_the_main_help_are_those_of_the_commands() -> None:
    for name, listed in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        paragraph = str(loaded(listed).help).partition("\n\n")[0]
        assert " ".join(paragraph.split()) == listed.help, name


def loaded_by(*words: str) -> tuple[str, set[str]]:
    """Run the command line in a new process; return its errors and the modules it has loaded."""
    script = (
        "import sys\n"
        f"sys.argv = {['balcao', *words]}\n"
        "from balcao.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('MODULES', *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    return done.stderr, set(done.stdout.partition("MODULES ")[2].split())


HEAVY = {
    "numpy",
    "lxml",
    "uvicorn",
    "httpx2",
    "starlette",
    "cryptography",
    "pygments",
    "markdown_it",
    "balcao.service.compose",
    "balcao.opendata.importer",
}


def test_help_and_usage_errors_load_almost_nothing() -> None:
    unused = HEAVY | {"pydantic", "asyncio", "structlog", "apsw", "balcao.storage", "msgspec"}
    for words in (["--version"], ["nada"], ["--nada"], ["config", "show", "--nada"], ["--help"]):
        _, modules = loaded_by(*words)
        assert "balcao.cli.app" in modules
        assert not unused & modules, words
        assert words == ["--help"] or "rich" not in modules


def test_small_commands_load_little() -> None:
    err, modules = loaded_by("key", "create", "acme")
    assert "Não há dados do Balcão" in err
    assert not HEAVY & modules
