"""The fast path: whole buffers of lines checked and split column-wise.

A line is *clean* when it is exactly one record in the publisher's plain form: N fields, each in
quotes without a quote inside, joined by `;`, a well-formed key in front, no control character. That
is 999,999 lines in a million; `repair` rewrites the others. The check is exact, not a heuristic: a
record with N clean fields has 2N quotes, the first and the last byte among them, and between two
fields are exactly closing quote, `;`, opening quote.

A `;` inside a field needs no special care, since only quotes are searched.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from balcao.opendata.keys import (
    Bytes,
    Numbers,
    Positions,
    are_key_characters,
    characters,
    numbers_of,
)
from balcao.opendata.layout import LINE_FEED, QUOTE, SEMICOLON, SEPARATOR, TableGroup, TableLayout

Flags = npt.NDArray[np.bool_]

# Stands for a quote inside a field of a repaired line, where a real one would be taken for
# the field's end. No field holds it otherwise: C0 controls are stripped before.
QUOTE_INSIDE = 0x1E

_FIRST_PRINTABLE = 0x20
_QUOTES_BACK = bytes.maketrans(bytes([QUOTE_INSIDE]), b'"')


@dataclass(frozen=True, slots=True)
class Fields:
    """Positions of the fields of clean lines. `quotes[i, 2c]` opens column c of line i."""

    buffer: Bytes
    quotes: Positions  # lines x 2N

    @property
    def lines(self) -> int:
        return len(self.quotes)

    @property
    def starts(self) -> Positions:
        """The beginning of each line: its first quote."""
        return np.asarray(self.quotes[:, 0])

    @property
    def ends(self) -> Positions:
        """The line feed of each line: after its last quote."""
        return np.asarray(self.quotes[:, -1] + 1)

    def begin(self, column: int) -> Positions:
        """Return the beginning of the column's text in each line."""
        return np.asarray(self.quotes[:, 2 * column] + 1)

    def length(self, column: int) -> Positions:
        """Return the length in bytes of the column's text in each line."""
        return np.asarray(self.quotes[:, 2 * column + 1] - self.quotes[:, 2 * column] - 1)


def find_fields(buffer: bytes, table: TableLayout) -> Fields | None:
    """Return the fields if every line of the buffer, which ends with a line feed, is clean."""
    view = np.frombuffer(buffer, np.uint8)
    # As many controls as lines, and each line is found to end in a line feed: no others.
    lines = int(np.count_nonzero(view < _FIRST_PRINTABLE))
    return _fields_of(view, lines, table)


def find_repaired_fields(buffer: bytes, table: TableLayout) -> Fields:
    """Return the fields of lines written by `repair`; they may hold `QUOTE_INSIDE`."""
    fields = _fields_of(np.frombuffer(buffer, np.uint8), buffer.count(b"\n"), table)
    assert fields is not None, "repaired lines are clean"
    return fields


def _fields_of(view: Bytes, lines: int, table: TableLayout) -> Fields | None:
    quotes = np.flatnonzero(view == QUOTE)
    if len(quotes) != 2 * table.width * lines or not lines:
        return None
    # From a closing quote to the next opening one it is two bytes, also over a line's end.
    after_closing = quotes[1::2] + 1
    if quotes[0] != 0 or (quotes[2::2] - after_closing[:-1] != 1).any():
        return None
    after = view[after_closing].reshape(lines, table.width)
    if (after[:, :-1] != SEMICOLON).any() or (after[:, -1] != LINE_FEED).any():
        return None
    fields = Fields(view, quotes.reshape(lines, 2 * table.width))
    return fields if _have_good_keys(fields, table).all() else None


def _have_good_keys(fields: Fields, table: TableLayout) -> Flags:
    """Return for each line whether the columns of its key have their width and characters."""
    right = np.ones(fields.lines, np.bool_)
    for column, width in enumerate(table.key_widths):
        right &= fields.length(column) == width
        if len(fields.buffer) >= width:
            begin = np.where(right, fields.begin(column), 0)
            known = are_key_characters(characters(fields.buffer, begin, width))
            if not known.all():  # one check of all is ten times faster than one per line
                right &= known.all(axis=1)
    return right


def clean_lines(buffer: bytes, table: TableLayout) -> Flags:
    """Return for each line of a buffer whether the line by itself is clean."""
    view = np.frombuffer(buffer, np.uint8)
    ends = np.flatnonzero(view == LINE_FEED)
    quotes = np.flatnonzero(view == QUOTE)
    controls = np.flatnonzero((view < _FIRST_PRINTABLE) & (view != LINE_FEED))

    counts = np.diff(np.searchsorted(quotes, ends), prepend=0)
    clean = np.asarray(counts == 2 * table.width)
    clean[np.searchsorted(ends, controls)] = False

    fields = Fields(view, quotes[np.repeat(clean, counts)].reshape(-1, 2 * table.width))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))[clean]
    closing = fields.quotes[:, 1:-1:2]
    clean[clean] = (
        (fields.starts == starts)
        & (fields.ends == ends[clean])
        & (fields.quotes[:, 2::2] - closing == 2).all(axis=1)
        & (view[closing + 1] == SEMICOLON).all(axis=1)
        & _have_good_keys(fields, table)
    )
    return clean


def key_numbers(fields: Fields, group: TableGroup) -> Numbers:
    """Return the numbers of the lines' keys."""
    root = characters(fields.buffer, fields.begin(0), 8)
    if group.key_characters == 8:
        return numbers_of(root)
    return numbers_of(root, characters(fields.buffer, fields.begin(1), 4))


def stored_rows(fields: Fields, table: TableLayout) -> bytes:
    """Convert the lines to stored rows: tag, fields joined by `SEPARATOR`, line feed."""
    body = fields.buffer.copy()
    body[fields.quotes.ravel()[1::2] + 1] = SEPARATOR
    body[fields.ends] = LINE_FEED
    body[fields.starts] = ord(table.tag)  # replaces the first quote
    return body.tobytes().translate(_QUOTES_BACK, b'"')


def stored_lengths(fields: Fields, table: TableLayout) -> Positions:
    """Return the length of each stored row with its line feed."""
    return np.asarray(fields.ends - fields.starts + 1 - (2 * table.width - 1))
