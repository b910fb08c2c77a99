"""Output of commands: one JSON document for programs, or sentences and tables for people.

A command collects a record and passes it to `show`, with the blocks for people.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import itemgetter
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from balcao.core.calendar import from_ms, to_ms
from balcao.examination.wording import age, decimal, on_home, program, when, whole

if TYPE_CHECKING:
    from rich.console import Console

# Formatting of numbers, instants and commands, shared with findings.
__all__ = (
    "WIDTH_WITHOUT_TERMINAL",
    "AsJson",
    "Block",
    "Note",
    "Pairs",
    "Paragraph",
    "TextTable",
    "age",
    "cell",
    "console",
    "decimal",
    "fit",
    "iso",
    "on_home",
    "print_step",
    "print_table",
    "print_text",
    "program",
    "record",
    "show",
    "when",
    "whole",
    "yes_or_no",
)

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Responde em JSON.")]

# To a program or a file, each row is one line of any length.
WIDTH_WITHOUT_TERMINAL = 100_000

# Widths of a table's margins, and of the space between two columns.
_FRAME = 2
_GAP = 2
# The width down to which long words of foldable columns are broken; no title has a longer word.
_FOLDED = 12

_PIECES = re.compile(r"[^\s/.@:_-]*[\s/.@:_-]|[^\s/.@:_-]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for stderr, so that scripts read only the result."""

    text: str

    def print(self) -> None:
        """Print the sentence."""
        typer.echo(self.text, err=True)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text wrapped to the terminal's width."""

    text: str

    def print(self) -> None:
        """Print the text."""
        print_text(self.text)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Names and values, one pair per line; pairs with the value None are omitted."""

    pairs: Sequence[tuple[str, object]]
    err: bool = False  # on stderr

    def print(self) -> None:
        """Print the pairs."""
        shown = [(name, cell(value)) for name, value in self.pairs if value is not None]
        width = max(len(name) for name, _ in shown)
        for name, value in shown:
            print_text(f"{name + ':':<{width + 1}}  {value}", indent=width + 3, err=self.err)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table with one row per record.

    `columns`: a field's name or a function of the record, by title. `cell` formats the values;
    fields `x_ms` are instants, fields `x_id` numbers without separators. The other attributes are
    parameters of `print_table`.
    """

    rows: Sequence[Any]
    columns: Mapping[str, str | Callable[[Any], object]]
    numbers: Sequence[str] = ()
    foldable: Sequence[str] = ()
    unbroken: Sequence[str] = ()
    total: Sequence[str] | None = None
    empty: str = ""

    @classmethod
    def of(
        cls,
        titles: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        numbers: Sequence[str] = (),
        foldable: Sequence[str] = (),
        empty: str = "",
    ) -> "TextTable":
        """Return a table of rows with values in the order of the titles."""
        columns = {title: itemgetter(number) for number, title in enumerate(titles)}
        return cls(rows, columns, numbers=numbers, foldable=foldable, empty=empty)

    def print(self) -> None:
        """Print the table."""
        print_table(
            tuple(self.columns),
            [[_value(row, column) for column in self.columns.values()] for row in self.rows],
            numbers=self.numbers,
            total=self.total,
            empty=self.empty,
            foldable=self.foldable,
            unbroken=self.unbroken,
        )


Block: TypeAlias = str | Note | Paragraph | Pairs | TextTable


def show(as_json: bool, data: object, *blocks: Block) -> None:
    """Print a result: `data` as one JSON document, or the blocks in order."""
    if as_json:
        print(json.dumps(data, ensure_ascii=False, indent=2, default=_for_json))
        return
    for part in blocks:
        if isinstance(part, str):
            typer.echo(part)
        else:
            part.print()


def _for_json(value: object) -> object:
    """Convert types that JSON lacks: paths to text, days and instants to ISO 8601."""
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
    """Return these fields of an object in order; `x_ms` becomes the instant `x_at`."""
    fields: dict[str, object] = {}
    for name in names.split():
        value = getattr(thing, name)
        if name.endswith("_ms"):
            fields[f"{name.removesuffix('_ms')}_at"] = iso(value)
        else:
            fields[name] = value
    return fields


def cell(value: object) -> str:
    """Format a value for people."""
    match value:
        case None:
            return "—"
        case bool():
            return yes_or_no(value)
        case int():
            return whole(value)
        case date():
            return f"{value:%d/%m/%Y}"
    return str(value)


def _value(row: object, column: str | Callable[[Any], object]) -> str:
    if not isinstance(column, str):
        return cell(column(row))
    value = getattr(row, column)
    if column.endswith("_ms"):
        return when(value)
    return str(value) if column.endswith("_id") else cell(value)


def console(*, stderr: bool = False) -> "Console":
    """Return a console that prints square brackets literally."""
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
    """Print a table; columns in `numbers` are aligned to the right.

    `empty`: printed instead of a table without rows. `foldable`: columns, such as names and
    addresses, with breaks after `/`, `.`, `@`, `:`, `_` or `-`, and anywhere in a word that the
    terminal has no room for. `unbroken`: columns that are not wrapped.
    Other words are not broken. On a terminal too narrow for them, each row is printed as a list of
    names and values.
    """
    if empty and not rows:
        print(empty)
        return
    from rich import box
    from rich.table import Table

    out = console()
    texts = [*rows, *([] if total is None else [total])]
    cells = list(zip(columns, *texts, strict=True))
    natural = [max(map(len, column)) for column in cells]
    least = [
        most
        if name in unbroken
        else max(len(word) for text in column for word in _words(text, name in foldable))
        for name, column, most in zip(columns, cells, natural, strict=True)
    ]
    folded_least = [
        min(few, _FOLDED) if name in foldable else few
        for name, few in zip(columns, least, strict=True)
    ]
    room = out.width - _FRAME - _GAP * (len(columns) - 1)
    widths = fit(natural, least, room) or fit(natural, folded_least, room)
    if widths is None:
        for row in texts:
            Pairs([pair for pair in zip(columns, row, strict=True) if pair[1]]).print()
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
    """Return the unbreakable pieces of a text."""
    return (_PIECES.findall(text) if foldable else text.split()) or [""]


def folded(text: str, width: int) -> str:
    """Break a text into lines of at most this width, after spaces and punctuation if possible."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if len(lines[-1]) + len(piece) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return "\n".join(lines)


def fit(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """Return widths of columns that fit `room`, None if their longest words do not fit.

    The space left after `least` (the longest word of each column) goes first to the columns that
    need least of it, so that a long column does not wrap the short ones.
    """
    spare = room - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    by_need = sorted(range(len(widths)), key=lambda at: natural[at] - least[at])
    for done, at in enumerate(by_need):
        more = min(natural[at] - least[at], spare // (len(by_need) - done))
        widths[at] += more
        spare -= more
    return widths


def print_step(step: str) -> None:
    """Print the current step on stderr."""
    typer.echo(f"{step}...", err=True)


def print_text(text: str, *, indent: int = 0, err: bool = False) -> None:
    """Print one paragraph, wrapped to the terminal; further lines are indented."""
    stream = sys.stderr if err else sys.stdout
    columns = get_terminal_size().columns if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    if len(text) > columns > 2 * indent:
        # The indented part, a name and spaces, is not wrapped.
        lines = wrap(
            text[indent:], columns - indent, break_long_words=False, break_on_hyphens=False
        )
        text = text[:indent] + f"\n{' ' * indent}".join(lines)
    print(text, file=stream)


def iso(at_ms: int | None) -> str | None:
    """Return an instant in ISO 8601 with its Brasília offset."""
    return None if at_ms is None else from_ms(at_ms).isoformat(timespec="milliseconds")


def yes_or_no(value: bool) -> str:
    """Return a flag as a word."""
    return "sim" if value else "não"
