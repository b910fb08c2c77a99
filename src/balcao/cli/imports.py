"""Imports of libraries without the parts of others that they load and we never use.

The parts are those of `rich` for tracebacks (values of variables, perhaps secrets) and Markdown.
They would take half of the time of a command's start.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def import_structlog() -> None:
    """Import structlog as where `rich` is not installed."""
    if "structlog" not in sys.modules:
        with _replaced({"rich": None}):
            import structlog  # noqa: F401


def import_help() -> Any:
    """Return Typer's module for formatting help, in which Markdown and tracebacks do not work."""
    unused = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    modules = {module: ModuleType(module) for module in unused if module not in sys.modules}
    for name, module in modules.items():
        setattr(module, unused[name], object)
    with _replaced(modules):
        from typer import rich_utils
    return rich_utils


@contextmanager
def _replaced(modules: Mapping[str, ModuleType | None]) -> Iterator[None]:
    """Let imports find these modules, None for a missing one, instead of the installed ones."""
    before = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)
