"""What is found is told to people: numbers, instants, and the commands that help."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from balcao.core.calendar import from_ms


def whole(number: int) -> str:
    """A number with Brazilian thousands separators."""
    return f"{number:,}".replace(",", ".")


def decimal(number: float) -> str:
    """A number with one decimal place, as written in Brazil."""
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


def when(at_ms: int | None) -> str:
    """An instant on a Brasília wall clock, for people."""
    return "—" if at_ms is None else from_ms(at_ms).strftime("%d/%m/%Y %H:%M:%S")


def program(home: Path | None = None) -> str:
    """How this program is called from here, to be copied into examples.

    Without `home`: on the data folder that this process was told of.
    """
    name = "balcao"
    if shutil.which(name) is None:
        called = Path(sys.argv[0])
        name = f"{sys.executable} -m balcao"
        if called.name == "balcao" and os.access(called, os.X_OK):
            name = os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)
    return on_home(name, home)


def on_home(command: str, home: Path | None = None) -> str:
    """A command for people to copy, on the data folder that is meant; see `program`."""
    if home is None:
        home = Path(os.environ.get("BALCAO_HOME", ".balcao"))
    return command if home == Path(".balcao") else f"BALCAO_HOME={shlex.quote(str(home))} {command}"


def age(milliseconds: int) -> str:
    """How long ago, for people: in days, hours or minutes, whatever is large enough."""
    minutes = max(0, milliseconds // 60_000)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} dias"


def apart_text(ahead_seconds: float) -> str:
    """How far a clock of ours is from another, for people."""
    where = "adiantado" if ahead_seconds > 0 else "atrasado"
    return f"{where} {decimal(abs(ahead_seconds))} s"
