"""What a table's columns hold, counted while it is read (`rfb-open-data.md`, sections 8, 10.2).

Also the witnesses: a few keys met on the way, looked up again after the import.
"""

from datetime import date, timedelta
from functools import lru_cache

import msgspec
import numpy as np

from balcao.opendata.keys import Numbers, Positions, characters
from balcao.opendata.layout import ESTABELECIMENTOS, SIMPLES, Table
from balcao.opendata.scan import Fields, Flags

EARLIEST = date(1850, 1, 1)
NO_DATE = frozenset(("", "0", "00000000"))

_MANY_ACTIVITIES = 50
_ACTIVITY_BYTES = 8  # seven digits and a comma
_FIRST_LETTER = ord("A")


def latest_date(extraction: date) -> date:
    """Some dates lie in the future rightly, such as the end of an option for Simples."""
    return extraction + timedelta(days=730)


class Tally(msgspec.Struct):
    """Counts of one file or, added up, of one table."""

    values: dict[int, dict[str, int]] = {}  # column with a closed list -> value -> rows
    bad_dates: dict[int, int] = {}  # column -> rows
    sample: list[str] = []  # keys dealt over the file, 14 characters
    witnesses: dict[str, str] = {}  # kind -> key

    def add(self, other: "Tally") -> None:
        """Add the counts of another file."""
        for column, counts in other.values.items():
            mine = self.values.setdefault(column, {})
            for value, rows in counts.items():
                mine[value] = mine.get(value, 0) + rows
        for column, rows in other.bad_dates.items():
            self.bad_dates[column] = self.bad_dates.get(column, 0) + rows
        self.sample.extend(other.sample)
        for kind, key in other.witnesses.items():
            self.witnesses.setdefault(kind, key)


class Counter:
    """Counts one file, buffer by buffer."""

    def __init__(self, table: Table, extraction: date, sample_one_in: int) -> None:
        assert sample_one_in & (sample_one_in - 1) == 0, "a power of two"
        self.tally = Tally()
        self._table = table
        self._sample_mask = np.uint64(sample_one_in - 1)
        self._good_dates = _good_dates(latest_date(extraction))

    def count(self, fields: Fields, numbers: Numbers) -> None:
        """Count the lines of a buffer; `numbers` are their keys' spread numbers."""
        for column in self._table.closed:
            self._count_values(fields, column)
        for column in self._table.dates:
            self._count_bad_dates(fields, column)
        if self._table is ESTABELECIMENTOS:
            # Bits 20 and up: the lowest ones depend on the last characters of the key only.
            chosen = numbers >> np.uint64(20) & self._sample_mask == 0
            self.tally.sample.extend(_key(fields, line) for line in np.flatnonzero(chosen).tolist())
            self._see_establishments(fields)
        elif self._table is SIMPLES:
            self._see("mei", fields, _one_byte(fields, 4) == ord("S"))

    def _count_values(self, fields: Fields, column: int) -> None:
        length = fields.length(column)
        # Up to two bytes as one number; a closed list knows nothing longer.
        codes = characters(fields.buffer, fields.begin(column), 2).view("<u2").ravel()
        codes &= _KEEP[np.minimum(length, 2)]
        codes[length > 2] = _TOO_LONG
        found, rows = np.unique(codes, return_counts=True)
        counts = self.tally.values.setdefault(column, {})
        for code, count in zip(found.tolist(), rows.tolist(), strict=True):
            value = "(longer)" if code == _TOO_LONG else _text(code)
            counts[value] = counts.get(value, 0) + count

    def _count_bad_dates(self, fields: Fields, column: int) -> None:
        length = fields.length(column)
        begin = fields.begin(column)
        long_enough = length == 8
        text = characters(fields.buffer, begin[long_enough], 8).view("<u8").ravel()
        days = _decimal(text)
        known = np.clip(days, _FIRST_DAY, _FIRST_DAY + len(self._good_dates) - 1) - _FIRST_DAY
        good = self._good_dates[known] & (days < _NOT_DECIMAL)
        bad = int(np.count_nonzero(~good & (days != 0)))
        others = np.flatnonzero(~long_enough & (length > 0))
        for line in others.tolist():
            raw = fields.buffer[begin[line] : begin[line] + length[line]].tobytes()
            bad += raw.decode("latin-1").strip() not in NO_DATE
        if bad:
            self.tally.bad_dates[column] = self.tally.bad_dates.get(column, 0) + bad

    def _see_establishments(self, fields: Fields) -> None:
        uf = fields.begin(19)
        abroad = (fields.buffer[uf] == ord("E")) & (fields.buffer[uf + 1] == ord("X"))
        self._see("abroad", fields, abroad)
        many = fields.length(12) >= _MANY_ACTIVITIES * _ACTIVITY_BYTES - 1
        self._see("many activities", fields, many)
        if "alphanumeric" not in self.tally.witnesses:
            key = characters(fields.buffer, fields.begin(0), 15)
            self._see("alphanumeric", fields, np.asarray((key >= _FIRST_LETTER).any(axis=1)))

    def _see(self, kind: str, fields: Fields, are: Flags) -> None:
        if kind not in self.tally.witnesses and are.any():
            self.tally.witnesses[kind] = _key(fields, int(are.argmax()))


_TOO_LONG = 0xFFFF
_KEEP = np.array((0x0000, 0x00FF, 0xFFFF), np.uint16)  # by length
_FIRST_YEAR = EARLIEST.year - 1
_FIRST_DAY = _FIRST_YEAR * 10_000
_NOT_DECIMAL = 100_000_000


def _decimal(text: Numbers) -> Positions:
    """Eight digits, the first in the lowest byte, as a number; `_NOT_DECIMAL` if not digits.

    All eight at once: the well-known trick of adding neighbours, then pairs, then fours.
    """
    u = np.uint64
    high = u(0xF0F0F0F0F0F0F0F0)
    are_digits = (text & high | (text + u(0x0606060606060606) & high) >> u(4)) == u(
        0x3333333333333333
    )
    pairs = text - u(0x3030303030303030)
    pairs = pairs * u(10) + (pairs >> u(8))
    mask = u(0x000000FF000000FF)
    value = (pairs & mask) * u(0x000F424000000064)
    value = value + (pairs >> u(16) & mask) * u(0x0000271000000001) >> u(32)
    return np.where(are_digits, value, u(_NOT_DECIMAL)).astype(np.int64)


@lru_cache(maxsize=1)
def _good_dates(latest: date) -> Flags:
    """For each number YYYYMMDD from `_FIRST_YEAR` on, whether it is a day we accept."""
    # A margin at both ends: whatever lies outside is clipped to it.
    good = np.zeros((latest.year + 2 - _FIRST_YEAR) * 10_000, np.bool_)
    day = EARLIEST
    while day <= latest:
        good[(day.year - _FIRST_YEAR) * 10_000 + day.month * 100 + day.day] = True
        day += timedelta(days=1)
    return good


def _one_byte(fields: Fields, column: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return fields.buffer[fields.begin(column)]


def _text(code: int) -> str:
    return bytes(byte for byte in (code & 0xFF, code >> 8) if byte).decode("latin-1")


def _key(fields: Fields, line: int) -> str:
    """Root and, for establishments, ordem and check digits."""
    row = fields.buffer[fields.starts[line] : fields.starts[line] + 26].tobytes().decode("latin-1")
    parts = row.split('"')
    return parts[1] + parts[3] + parts[5] if len(parts[3]) == 4 else parts[1]
