"""What commands print: JSON for machines, tables for people."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.core.calendar import from_ms

if TYPE_CHECKING:
    from rich.console import Console

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Responde em JSON.")]

# Wide enough that nothing is cut when a program or a file reads.
WIDTH_WITHOUT_TERMINAL = 200


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def console(*, stderr: bool = False) -> "Console":
    """Where people read. Square brackets in what is printed are only brackets."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[str] = (),
    total: Sequence[str] | None = None,
) -> None:
    """A table; the columns named in `numbers` are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_footer=total is not None, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(
            name,
            footer=total[number] if total is not None else "",
            justify="right" if name in numbers else "left",
        )
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"{name + ':':<{width + 1}}  {value}")


def whole(number: int) -> str:
    """A number with Brazilian thousands separators."""
    return f"{number:,}".replace(",", ".")


def decimal(number: float) -> str:
    """A number with one decimal place, as written in Brazil."""
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


def when(at_ms: int | None) -> str:
    """An instant on a Brasília wall clock, for people."""
    return "—" if at_ms is None else from_ms(at_ms).strftime("%d/%m/%Y %H:%M:%S")


def iso(at_ms: int | None) -> str | None:
    """An instant with its Brasília offset, for machines."""
    return None if at_ms is None else from_ms(at_ms).isoformat(timespec="milliseconds")


def yes_or_no(value: bool) -> str:
    """A flag, for people."""
    return "sim" if value else "não"


def program(home: Path | None = None) -> str:
    """How this program is called from here, to be copied into examples.

    Without `home`: on the data folder that this process was told of.
    """
    if home is None:
        home = Path(os.environ.get("BALCAO_HOME", ".balcao"))
    name = "balcao"
    if shutil.which(name) is None:
        called = Path(sys.argv[0])
        name = f"{sys.executable} -m balcao"
        if called.name == "balcao" and os.access(called, os.X_OK):
            name = os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)
    return name if home == Path(".balcao") else f"BALCAO_HOME={shlex.quote(str(home))} {name}"


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
