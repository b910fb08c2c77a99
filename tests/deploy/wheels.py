"""Archives of the present tree, and environments with one of them installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.deploy.files import ROOT


def checkout(to: Path, umask: int = 0o022) -> Path:
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


def build(tree: Path) -> dict[str, Path]:
    """Build both archives of a tree; return them by their ending."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", "dist"],
        cwd=tree,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return {path.suffix: path for path in (tree / "dist").iterdir()}


def install(wheel: Path, venv: Path) -> Path:
    """Install a wheel into a new environment with our libraries; return its interpreter."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    python = venv / "bin" / "python"
    arguments: list[str | Path] = ["--quiet", "--python", python, "--no-deps", "--offline", wheel]
    subprocess.run([*uv, "pip", "install", *arguments], check=True)
    # The libraries of this environment, but not its own installation of the project.
    site = next((venv / "lib").iterdir()) / "site-packages"
    for library in Path(sysconfig.get_path("purelib")).iterdir():
        if not library.name.startswith(("balcao", "_balcao", "__editable__")):
            target = site / library.name
            if not target.exists():
                target.symlink_to(library)
    return python
