"""Texts of findings: numbers, instants, and commands to copy."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from balcao.core.calendar import from_ms


def whole(number: int) -> str:
    """Format a number with Brazilian thousands separators."""
    return f"{number:,}".replace(",", ".")


def decimal(number: float) -> str:
    """Format a number with one decimal place and Brazilian separators."""
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


def when(at_ms: int | None) -> str:
    """Format an instant in Brasília's time."""
    return "—" if at_ms is None else from_ms(at_ms).strftime("%d/%m/%Y %H:%M:%S")


def program(home: Path | None = None) -> str:
    """Return the command that runs this program, for examples.

    Without `home`: on the data folder of this process.
    """
    name = "balcao"
    if shutil.which(name) is None:
        called = Path(sys.argv[0])
        name = f"{sys.executable} -m balcao"
        if called.name == "balcao" and os.access(called, os.X_OK):
            name = os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)
    return on_home(name, home)


def on_home(command: str, home: Path | None = None) -> str:
    """Return a command to copy, for the given data folder; see `program`."""
    if home is None:
        home = Path(os.environ.get("BALCAO_HOME", ".balcao"))
    return command if home == Path(".balcao") else f"BALCAO_HOME={shlex.quote(str(home))} {command}"


def age(milliseconds: int) -> str:
    """Format a duration in days, hours or minutes."""
    minutes = max(0, milliseconds // 60_000)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} dias"


def apart_text(ahead_seconds: float) -> str:
    """Describe how far a clock is ahead of or behind another."""
    where = "adiantado" if ahead_seconds > 0 else "atrasado"
    return f"{where} {decimal(abs(ahead_seconds))} s"
