"""The archives of a release: equal builds, complete, and one version everywhere."""

import json
import os
import re
import subprocess
import tomllib
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import httpx2
import pytest
from packaging.utils import canonicalize_name
from tools.sbom import materials

from balcao import __version__
from balcao.http.documentation import document
from tests.cli.shell import Server, free_port, keys_in, killed_afterwards
from tests.deploy.files import ROOT
from tests.deploy.wheels import build, checkout, install
from tests.test_licences import locked

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(checkout(tmp_path_factory.mktemp("one")))


def test_equal_input_makes_equal_archives(archives: dict[str, Path], tmp_path: Path) -> None:
    again = build(checkout(tmp_path / "elsewhere", 0o077))
    assert {".whl", ".gz"} == set(archives)
    for suffix, path in archives.items():
        other = again[suffix]
        assert path.name == other.name
        assert sha256(path.read_bytes()).digest() == sha256(other.read_bytes()).digest(), suffix


def test_the_wheel_serves_from_any_folder(archives: dict[str, Path], tmp_path: Path) -> None:
    venv, folder = tmp_path / "venv", tmp_path / "anywhere"
    folder.mkdir()
    python = install(archives[".whl"], venv)
    port = free_port()
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BALCAO_")},
        "BALCAO_HOME": str(folder / "data"),
        "BALCAO_PORT": str(port),
        "PYTHONNOUSERSITE": "1",
    }
    shown = subprocess.run(
        [venv / "bin" / "balcao", "--version"],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"balcao {__version__}\n"
    with killed_afterwards(Server(["serve"], folder, port, variables, str(python))) as server:
        server.wait_until_it_answers()
        key = keys_in(server.out)["pre-pago"]
        answer = httpx2.get(server.base + COMPANY, headers={"x-api-key": key})
        assert answer.json()["success"] is True
        for page in ("/", "/docs", "/openapi.json", "/app"):
            page_answer = httpx2.get(server.base + page, follow_redirects=True)
            assert page_answer.status_code == 200, page
        metrics = httpx2.get(server.base + "/metrics").text
        assert f'version="{__version__}"' in metrics


def test_one_version_everywhere() -> None:
    assert version("balcao") == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert document(__version__)["info"]["version"] == __version__
    python = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text("utf-8"))
    typescript = json.loads((ROOT / "clients/typescript/package.json").read_text("utf-8"))
    assert python["project"]["version"] == typescript["version"] == __version__
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(__version__)}\b", changelog, re.MULTILINE)


@pytest.mark.nightly
def test_the_bill_of_materials_lists_what_is_installed() -> None:
    found = materials()
    assert found["metadata"]["component"]["version"] == __version__
    names = [canonicalize_name(each["name"]) for each in found["components"]]
    assert sorted(names) == sorted([*locked(), "htmx-org"])
    for each in found["components"]:
        assert each["licenses"], each["name"]
        assert each["version"] in each["purl"]
    assert str(ROOT) not in json.dumps(found)
    assert found == materials()
