"""A new provider is one folder and one line; every part finds it without other changes."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from balcao.providers import OFFERS, PROVIDERS
from tests.cli.shell import PATIENCE_SECONDS, exports, free_port, keys_in, serving

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "balcao"
LINE = '    "acme",\n'

NOW = datetime(2026, 8, 20, tzinfo=UTC)
COMPANY = "/consultas/v2/cnpj-receita-federal"
IN_MAINTENANCE = "90020001000190"  # for every provider but Acme


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with one more provider."""
    folder = tmp_path_factory.mktemp("extended")
    program = folder / "balcao"
    shutil.copytree(SOURCE, program, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        Path(__file__).parent / "acme",
        program / "providers" / "acme",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    listed = program / "providers" / "__init__.py"
    text = listed.read_text("utf-8")
    listed.write_text(text.replace('    "infosimples",\n', f'    "infosimples",\n{LINE}'), "utf-8")
    assert listed.read_text("utf-8").count("\n") == text.count("\n") + 1
    return folder


@pytest.fixture
def at_home(extended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Processes run the extended program, with their own data folder."""
    monkeypatch.setenv("PYTHONPATH", str(extended))
    monkeypatch.setenv("BALCAO_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def balcao(line: str, *, code: int = 0) -> str:
    """Run a command and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "balcao", *line.split()],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == code, done
    return done.stdout


@pytest.mark.usefixtures("at_home")
def test_settings_include_it() -> None:
    manual = balcao("config docs")

    assert "## `acme`\n\nAcme, por contrato.\n" in manual
    assert "| `BALCAO_ACME__KEY` | `acme.key` | segredo | — | Chave da Acme;" in manual
    orders = re.findall(r"`BALCAO_(\w+)_SOURCES` .*`acme`", manual)
    assert orders == ["COMPANY"]


def test_the_command_line_includes_it(at_home: pytest.MonkeyPatch) -> None:
    assert "ative com BALCAO_ACME__KEY" in balcao("source list")

    at_home.setenv("BALCAO_ACME__KEY", "uma chave")
    found = balcao("doctor")
    assert "fonte acme: https://api.acme.example" in found
    assert "há espaço, aspas ou acento em BALCAO_ACME__KEY" in found
    assert "quem responde cadastro de empresas: acme" in found


def test_lookups_simulator_and_sandbox_use_it(at_home: pytest.MonkeyPatch, tmp_path: Path) -> None:
    port = free_port()
    simulator = subprocess.Popen(
        [sys.executable, "-m", "balcao", "simulator", "serve", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert simulator.stdout is not None
        shown = "".join(iter(simulator.stdout.readline, "Ctrl+C encerra.\n"))
        mine = {name: value for name, value in exports(shown).items() if "ACME" in name}
        assert mine == {
            "BALCAO_ACME__URL": f"http://127.0.0.1:{port}/acme",
            "BALCAO_ACME__KEY": "sandbox",
        }
        for name, value in mine.items():
            at_home.setenv(name, value)
        with serving(tmp_path / "home", free_port()) as server:
            server.wait_until_it_answers()
            balcao("account create Fulana --plan pos_pago")
            live = re.search(r"balcao_live_\w+", balcao("key create Fulana"))
            assert live is not None
            for key in (live[0], keys_in(server.out)["pre-pago"]):
                reply = httpx2.get(
                    f"{server.base}{COMPANY}/{IN_MAINTENANCE}", headers={"x-api-key": key}
                )
                assert reply.status_code == 200, reply.text
                assert reply.json()["response"]["nome_empresarial"] == "COMPANHIA DA ACME FICTICIA"
            assert "a Acme respondeu" in balcao("source check --source acme")
    finally:
        simulator.kill()
        simulator.communicate()


def test_offers_match_capabilities_of_adapters() -> None:
    """The lists that settings use without loading adapters match the adapters."""
    offered = {offer.name: frozenset(offer.subjects) for offer in OFFERS[1:]}
    able = {
        source.name: source.adapter.capabilities.subjects
        for provider in PROVIDERS
        for source in provider.sources(provider.settings_class.simulated("http://test"), NOW)
    }
    assert offered == able


# Where providers may be named, and why.
MAY_NAME = (
    "settings/__init__.py",  # default orders of sources
    "providers/__init__.py",  # the list
    "operations/",  # the source of an answer that is an example
    "core/compat_apis.py",  # compatible services, one of which is also a provider
    "http/compat/",  # likewise
    "cli/key.py",  # likewise
    "cli/configuration.py",  # how a variable with parts is written, by example
    "cli/manual.py",  # likewise
    "cli/simulator.py",  # its help text
)


def _names(file: Path) -> Iterator[str]:
    """Yield every name and text of a file, except docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in documents:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def test_no_other_file_names_a_provider() -> None:
    folders = tuple(f"providers/{each.name}/" for each in PROVIDERS)
    word = re.compile("|".join(each.name.replace("_", "[_ ]?") for each in PROVIDERS), re.I)
    found = {
        where: result
        for file in sorted(SOURCE.rglob("*.py"))
        if not (where := file.relative_to(SOURCE).as_posix()).startswith((*MAY_NAME, *folders))
        and (result := [name for name in _names(file) if word.search(name)])
    }
    assert not found, "a provider's own folder says all that there is to say of it"
