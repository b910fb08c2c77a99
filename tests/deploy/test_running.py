"""The image's promises about a running service, without the image."""

import ast
import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.shell import free_port, keys_in
from tests.deploy.contained import UID, contained
from tests.deploy.files import directives

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"


def healthcheck(port: int) -> int:
    """Run the Dockerfile's healthcheck."""
    line = re.search(r"^\s+CMD (\[.*\])$", directives("Dockerfile"), re.MULTILINE)
    assert line
    words = json.loads(line[1])
    assert words[0] == "python"
    ast.parse(words[-1])
    return subprocess.run(
        [sys.executable, *words[1:]],
        env={"BALCAO_PORT": str(port), "http_proxy": "http://127.0.0.1:9"},
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
    ).returncode


def test_serves_with_only_its_data_folder(tmp_path: Path) -> None:
    with contained(tmp_path) as server:
        status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
        if server.user:
            assert re.search(rf"^Uid:\s+{UID}\s+{UID}\s", status, re.MULTILINE)
            assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
        assert healthcheck(server.port) == 0
        assert httpx2.get(f"{server.base}/readyz").status_code == 200
        key = keys_in(server.out)["pre-pago"]
        answer = httpx2.get(server.base + COMPANY, headers={"x-api-key": key})
        assert answer.json()["success"] is True
        assert server.terminate() == 0
        assert "Traceback" not in server.err
        assert "Read-only" not in server.err
        for path in server.data.rglob("*"):  # with any umask
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        assert (server.data / "secret.key").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"data", "out", "err"}
    if not server.read_only:
        pytest.skip("it served, but mounts cannot be made here: nothing was read-only")


def test_the_healthcheck_fails_without_a_service() -> None:
    assert healthcheck(free_port()) == 1
