"""The archives of a release: equal builds, complete, and one version everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import httpx2
import pytest

from balcao import __version__
from balcao.http.documentation import document
from tests.cli.shell import Server, free_port, keys_in, killed_afterwards
from tests.deploy.files import ROOT

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"


def _checkout(to: Path, umask: int) -> Path:
    """Copy the files that belong to the repository, as a clone with this umask would have them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    before = os.umask(umask)
    try:
        for name in filter(None, listed.split("\0")):
            if not (ROOT / name).is_file():  # deleted, and not committed yet
                continue
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, path)
    finally:
        os.umask(before)
    return to


def _build(checkout: Path) -> dict[str, Path]:
    """Build both archives; return them by their ending."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", "dist"],
        cwd=checkout,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return {path.suffix: path for path in (checkout / "dist").iterdir()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return _build(_checkout(tmp_path_factory.mktemp("one"), 0o022))


def test_equal_input_makes_equal_archives(archives: dict[str, Path], tmp_path: Path) -> None:
    again = _build(_checkout(tmp_path / "elsewhere", 0o077))
    assert {".whl", ".gz"} == set(archives)
    for suffix, path in archives.items():
        other = again[suffix]
        assert path.name == other.name
        assert sha256(path.read_bytes()).digest() == sha256(other.read_bytes()).digest(), suffix


def test_the_wheel_serves_from_any_folder(archives: dict[str, Path], tmp_path: Path) -> None:
    venv, folder = tmp_path / "venv", tmp_path / "anywhere"
    folder.mkdir()
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run(
        [
            *uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            python,
            "--no-deps",
            "--offline",
            archives[".whl"],
        ],
        check=True,
    )
    # The libraries of this environment, but not its own installation of the project.
    site = next((venv / "lib").iterdir()) / "site-packages"
    libraries = Path(sysconfig.get_path("purelib"))
    for library in libraries.iterdir():
        if not library.name.startswith(("balcao", "_balcao", "__editable__")):
            target = site / library.name
            if not target.exists():
                target.symlink_to(library)
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
