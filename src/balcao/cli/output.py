"""What commands print: JSON for machines, tables for people."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.core.calendar import from_ms, to_ms
from balcao.examination.wording import age, decimal, on_home, program, when, whole

if TYPE_CHECKING:
    from rich.console import Console

# Commands tell numbers, instants and other commands as findings do.
__all__ = (
    "WIDTH_WITHOUT_TERMINAL",
    "AsJson",
    "age",
    "console",
    "decimal",
    "fit",
    "iso",
    "on_home",
    "print_json",
    "print_pairs",
    "print_table",
    "print_text",
    "program",
    "record",
    "told_step",
    "when",
    "whole",
    "yes_or_no",
)

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Responde em JSON.")]

# Where a program or a file reads, each row is one line, however long.
WIDTH_WITHOUT_TERMINAL = 100_000

# Of a table: the margins of a line, and what stands between two columns.
_FRAME = 2
_GAP = 2

_PIECES = re.compile(r"[^\s/.@:_-]*[\s/.@:_-]|[^\s/.@:_-]+")


def print_json(value: object) -> None:
    """One JSON document on stdout. Paths are text; so are days and instants, as in ISO 8601."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_for_machines))


def _for_machines(value: object) -> object:
    match value:
        case datetime():
            return iso(to_ms(value))
        case date():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON yet: give it one here")


def record(thing: object, names: str) -> dict[str, object]:
    """These fields of a record, in this order, for `print_json`: `x_ms` is the instant `x_at`."""
    told: dict[str, object] = {}
    for name in names.split():
        value = getattr(thing, name)
        if name.endswith("_ms"):
            told[f"{name.removesuffix('_ms')}_at"] = iso(value)
        else:
            told[name] = value
    return told


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
    empty: str = "",
    foldable: Sequence[str] = (),
    unbroken: Sequence[str] = (),
) -> None:
    """A table; the columns named in `numbers` are aligned to the right.

    `empty`: what is said instead of a table without rows. `foldable`: columns of addresses and
    the like, whose words may go on in the next line behind a sign (`/`, `.`, `@`, `:`, `_`, `-`).
    `unbroken`: columns whose texts stay in one line.

    No other word is cut. Where the terminal is too narrow for that, each row is a list of names and
    values instead.
    """
    if empty and not rows:
        print(empty)
        return
    from rich import box
    from rich.table import Table

    out = console()
    texts = [columns, *rows, *([] if total is None else [total])]
    cells = list(zip(*texts, strict=True))
    room = out.width - _FRAME - _GAP * (len(columns) - 1)
    widths = fit(
        [max(map(len, column)) for column in cells],
        [
            max(map(len, column))
            if name in unbroken
            else max(len(word) for text in column for word in _words(text, name in foldable))
            for name, column in zip(columns, cells, strict=True)
        ],
        room,
    )
    if widths is None:
        for row in [*rows, *([] if total is None else [total])]:
            print_pairs([pair for pair in zip(columns, row, strict=True) if pair[1]])
            print()
        return
    table = Table(
        box=box.SIMPLE_HEAD, show_footer=total is not None, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for number, name in enumerate(columns):
        table.add_column(
            name,
            footer=total[number] if total is not None else "",
            justify="right" if name in numbers else "left",
            width=widths[number],
        )
    for row in rows:
        table.add_row(
            *(
                folded(text, width) if name in foldable else text
                for name, text, width in zip(columns, row, widths, strict=True)
            )
        )
    with out.capture() as drawn:
        out.print(table)
    for line in drawn.get().splitlines():
        print(line.rstrip())


def _words(text: str, foldable: bool) -> Sequence[str]:
    """What stays in one line."""
    return (_PIECES.findall(text) if foldable else text.split()) or [""]


def folded(text: str, width: int) -> str:
    """The same in lines of this width at the most, broken at spaces and behind signs."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def fit(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """The widths of columns in `room` characters; None when their longest words do not fit.

    What is left after `least` (the longest word of each) goes first to whoever wants least more,
    so that short columns are not broken for the sake of a long one.
    """
    spare = room - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    wanting = sorted(range(len(widths)), key=lambda at: natural[at] - least[at])
    for done, at in enumerate(wanting):
        more = min(natural[at] - least[at], spare // (len(wanting) - done))
        widths[at] += more
        spare -= more
    return widths


def told_step(step: str) -> None:
    """What is being done now, for whoever waits; not on stdout."""
    typer.echo(f"{step}...", err=True)


def print_pairs(pairs: Sequence[tuple[str, str]], *, err: bool = False) -> None:
    """Names and values, one pair a line; `err`: not on stdout."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print_text(f"{name + ':':<{width + 1}}  {value}", indent=width + 3, err=err)


def print_text(text: str, *, indent: int = 0, err: bool = False) -> None:
    """One paragraph in as many lines as the terminal needs, further ones so far to the right."""
    stream = sys.stderr if err else sys.stdout
    columns = get_terminal_size().columns if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    if len(text) > columns > 2 * indent:
        # What stands before the value is kept as it is, spaces and all.
        lines = wrap(
            text[indent:], columns - indent, break_long_words=False, break_on_hyphens=False
        )
        text = text[:indent] + f"\n{' ' * indent}".join(lines)
    print(text, file=stream)


def iso(at_ms: int | None) -> str | None:
    """An instant with its Brasília offset, for machines."""
    return None if at_ms is None else from_ms(at_ms).isoformat(timespec="milliseconds")


def yes_or_no(value: bool) -> str:
    """A flag, for people."""
    return "sim" if value else "não"
