"""The container image: built, and run read-only as another user, without a container engine.

`unshare` and `chroot` give the process the image's files, environment, user and command, a root
that cannot be written to, and `/data` and `/tmp`, as `deploy/compose.yaml` does.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from balcao import __version__
from tests.cli.shell import Server, free_port, keys_in, killed_afterwards
from tests.deploy.files import ROOT

pytestmark = pytest.mark.nightly

IMAGE = f"localhost/balcao:{__version__}"
BASE = "localhost/balcao-base"
SIZE_BYTES_MAX = 350_000_000
COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"

_RUN = """
set -e
mount --bind "$ROOT" "$ROOT"
mount -o remount,ro,bind "$ROOT"
mount -t tmpfs tmpfs "$ROOT/tmp"
mount --bind "$DATA" "$ROOT/data"
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
cd "$ROOT"
exec setpriv --no-new-privs chroot --userspec="$USER" "$ROOT" env -i "$@"
"""


def _run(*line: str | Path, **variables: str) -> str:
    done = subprocess.run(
        line,
        cwd=ROOT,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _exists(image: str) -> bool:
    command = ["buildah", "inspect", "--type", "image", image]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def image() -> dict[str, Any]:
    """The configuration of the image, built of this tree on a base of Debian's packages."""
    missing = [name for name in ("buildah", "mmdebstrap", "unshare") if shutil.which(name) is None]
    if missing or os.getuid() != 0:
        pytest.skip(f"building and running an image takes root and {missing or 'nothing else'}")
    if not _exists(BASE) or not _exists(f"{BASE}-run"):
        _run("tools/base-image", BASE)
    certificates = {"CA_CERTIFICATES": "/etc/ssl/certs"} if Path("/etc/ssl/certs").is_dir() else {}
    _run("tools/build-image", __version__, IMAGE, BASE=BASE, RUN_BASE=f"{BASE}-run", **certificates)
    inspected = json.loads(_run("buildah", "inspect", "--type", "image", IMAGE))
    config: dict[str, Any] = inspected["Docker"]["config"]
    return config


@contextmanager
def _root() -> Iterator[Path]:
    container = _run("buildah", "from", IMAGE)
    try:
        yield Path(_run("buildah", "mount", container))
    finally:
        _run("buildah", "umount", container)
        _run("buildah", "rm", container)


class Container(Server):
    """A process in the image's files."""

    def __init__(
        self, root: Path, folder: Path, config: dict[str, Any], command: Sequence[str], port: int
    ) -> None:
        self.base = f"http://127.0.0.1:{port}"
        data = folder / "data"
        data.mkdir(exist_ok=True)
        os.chown(data, 10001, 10001)
        data.chmod(0o700)
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    _RUN,
                    "sh",
                    *config["Env"],
                    f"BALCAO_PORT={port}",
                    *command,
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "ROOT": str(root),
                    "DATA": str(data),
                    "USER": config["User"],
                },
                stdout=out,
                stderr=err,
            )


def test_the_image_is_small_and_labelled(image: dict[str, Any]) -> None:
    assert image["Labels"]["org.opencontainers.image.version"] == __version__
    assert image["User"] == "10001:10001"
    assert image["Healthcheck"]["Test"][0] == "CMD"
    [found] = json.loads(_run("buildah", "images", "--json", IMAGE))
    assert _bytes(found["size"]) < SIZE_BYTES_MAX, found["size"]


def _bytes(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def test_the_image_serves(image: dict[str, Any], tmp_path: Path) -> None:
    port = free_port()
    command = [*image["Entrypoint"], *image["Cmd"]]
    with (
        _root() as root,
        killed_afterwards(Container(root, tmp_path, image, command, port)) as server,
    ):
        server.wait_until_it_answers("/readyz")
        status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
        assert "Uid:\t10001\t10001\t10001\t10001" in status
        assert "CapEff:\t0000000000000000" in status
        key = keys_in(server.out)["pre-pago"]
        answer = httpx2.get(server.base + COMPANY, headers={"x-api-key": key})
        assert answer.json()["success"] is True
        (tmp_path / "check").mkdir()
        check = Container(root, tmp_path / "check", image, image["Healthcheck"]["Test"][1:], port)
        assert check.wait_until_it_ends() == 0, check.err
        assert server.terminate() == 0
        assert "Read-only" not in server.err
        assert "Traceback" not in server.err


def test_every_library_of_the_image_loads(image: dict[str, Any], tmp_path: Path) -> None:
    program = (
        "import importlib, pkgutil, balcao\n"
        "for each in pkgutil.walk_packages(balcao.__path__, 'balcao.'):\n"
        "    if not each.name.endswith('__main__') and '.snippets.' not in each.name:\n"
        "        try:\n"
        "            importlib.import_module(each.name)\n"
        "        except ModuleNotFoundError as missing:  # traces need another lock file\n"
        "            assert missing.name == 'opentelemetry', missing\n"
    )
    with _root() as root:
        command = [image["Entrypoint"][0], "-c", program]
        container = Container(root, tmp_path, image, command, free_port())
        assert container.wait_until_it_ends() == 0, container.err
