"""The files of `deploy/` and helpers to read them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def text(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def parsed(name: str) -> Any:
    return yaml.safe_load(text(name))


def directives(name: str) -> str:
    """Return a file's text without comments that begin with `#`."""
    return "\n".join(line for line in text(name).splitlines() if not line.lstrip().startswith("#"))


def assignments(name: str, *, commented: bool = True) -> dict[str, str]:
    """Return NAME=value of an environment file, including commented examples."""
    mark = "#?" if commented else ""
    return dict(re.findall(rf"^{mark}([A-Z][A-Z0-9_]*)=(.*)$", text(name), re.MULTILINE))


def unit() -> Iterator[tuple[str, str, str]]:
    """Yield section, name and value of each line of the systemd unit."""
    section = ""
    for line in directives("systemd/balcao.service").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            name, equals, value = line.partition("=")
            assert equals, line
            yield section, name, value
