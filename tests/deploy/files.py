"""Where the files of `deploy/` are, and how the tests read them."""

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
    """What counts of a file whose comments begin with `#`."""
    return "\n".join(line for line in text(name).splitlines() if not line.lstrip().startswith("#"))


def assignments(name: str, *, commented: bool = True) -> dict[str, str]:
    """NAME=value of an environment file; examples that are commented out count, too."""
    mark = "#?" if commented else ""
    return dict(re.findall(rf"^{mark}([A-Z][A-Z0-9_]*)=(.*)$", text(name), re.MULTILINE))


def unit() -> Iterator[tuple[str, str, str]]:
    """Section, name and value of each line of the systemd unit."""
    section = ""
    for line in directives("systemd/balcao.service").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            name, equals, value = line.partition("=")
            assert equals, line
            yield section, name, value
