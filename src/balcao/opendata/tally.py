"""Counts of the tables' columns, made while reading (`rfb-open-data.md`, sections 8, 10.2).

Also the witnesses: a few keys of special cases, looked up after the import.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from balcao.core.search_record import YEAR_MIN
from balcao.opendata.keys import Numbers, Positions, characters, hash_keys
from balcao.opendata.layout import ESTABELECIMENTOS, SIMPLES, TableLayout
from balcao.opendata.scan import Fields, Flags

EARLIEST = date(YEAR_MIN, 1, 1)
NO_DATE = frozenset(("", "0", "00000000"))

# Kinds of witnesses, named for people.
ABROAD = "estabelecimento no exterior"
MANY_ACTIVITIES = "50 atividades secundárias"
ALPHANUMERIC = "CNPJ alfanumérico"
MEI = "MEI"

_MANY = 50
_ACTIVITY_BYTES = 8  # seven digits and a comma

Shorts = npt.NDArray[np.uint16]


def latest_date(extraction: date) -> date:
    """Return the latest accepted date: options for Simples, for example, end in the future."""
    return extraction + timedelta(days=730)


class ColumnTally(msgspec.Struct):
    """Counts of one file or, added up, of one table."""

    values: dict[int, dict[str, int]] = {}  # column with a closed list -> value -> rows
    bad_dates: dict[int, int] = {}  # column -> rows
    sample: list[str] = []  # keys from all over the file, 14 characters
    witnesses: dict[str, str] = {}  # kind -> key

    def add(self, other: "ColumnTally") -> None:
        for column, counts in other.values.items():
            own = self.values.setdefault(column, {})
            for value, rows in counts.items():
                own[value] = own.get(value, 0) + rows
        for column, rows in other.bad_dates.items():
            self.bad_dates[column] = self.bad_dates.get(column, 0) + rows
        self.sample.extend(other.sample)
        for kind, key in other.witnesses.items():
            self.witnesses.setdefault(kind, key)


class Counter:
    """Counts one file, buffer by buffer.

    Values are first collected: counting many rows together costs a fraction.
    """

    def __init__(self, table: TableLayout, extraction: date, sample_one_in: int) -> None:
        assert sample_one_in & (sample_one_in - 1) == 0, "a power of two"
        self._tally = ColumnTally()
        self._table = table
        self._sample_mask = np.uint64(sample_one_in - 1)
        self._latest = latest_date(extraction)
        self._rows = 0
        self._values: dict[int, list[Shorts]] = {column: [] for column in table.closed}
        self._dates: dict[int, list[Numbers]] = {column: [] for column in table.dates}

    def count(self, fields: Fields, numbers: Numbers) -> None:
        """Count the lines of a buffer; `numbers` are their keys."""
        for column, codes in self._values.items():
            codes.append(_short_values(fields, column))
        for column, dates in self._dates.items():
            dates.append(self._long_dates(fields, column))
        self._rows += fields.lines
        if self._rows >= _ROWS_AT_ONCE:
            self._flush()
        if self._table is ESTABELECIMENTOS:
            # Bits 20 and up: the lowest ones depend on the last characters of the key only.
            chosen = np.flatnonzero(hash_keys(numbers) >> np.uint64(20) & self._sample_mask == 0)
            self._tally.sample.extend(_key(fields, line) for line in chosen.tolist())
        for kind, are_cases in _WITNESSES.get(self._table.name, {}).items():
            if kind not in self._tally.witnesses:
                cases = are_cases(fields)
                if cases.any():
                    self._tally.witnesses[kind] = _key(fields, int(cases.argmax()))

    def result(self) -> ColumnTally:
        self._flush()
        return self._tally

    def _flush(self) -> None:
        self._rows = 0
        for column, codes in self._values.items():
            counts = self._tally.values.setdefault(column, {})
            found, rows = np.unique(np.concatenate([*codes, _NO_SHORTS]), return_counts=True)
            for code, count in zip(found.tolist(), rows.tolist(), strict=True):
                value = _LONGER if code == _TOO_LONG else _text(code)
                counts[value] = counts.get(value, 0) + count
            codes.clear()
        for column, dates in self._dates.items():
            text = np.concatenate([*dates, _NO_NUMBERS])
            bad = ~are_days(text, self._latest) & (text != _ZEROS)
            self._add_bad(column, int(np.count_nonzero(bad)))
            dates.clear()

    def _long_dates(self, fields: Fields, column: int) -> Numbers:
        """Return the dates of eight characters; counts the others, which are few, immediately."""
        length, begin = fields.length(column), fields.begin(column)
        long_enough = length == _DATE_BYTES
        if long_enough.all():
            return characters(fields.buffer, begin, _DATE_BYTES).view("<u8").ravel()
        others = np.flatnonzero(~long_enough & (length > 0))
        for line in others.tolist():
            raw = fields.buffer[begin[line] : begin[line] + length[line]].tobytes()
            self._add_bad(column, raw.decode("latin-1").strip() not in NO_DATE)
        return characters(fields.buffer, begin[long_enough], _DATE_BYTES).view("<u8").ravel()

    def _add_bad(self, column: int, rows: int) -> None:
        if rows:
            self._tally.bad_dates[column] = self._tally.bad_dates.get(column, 0) + rows


def _short_values(fields: Fields, column: int) -> Shorts:
    """Return up to two bytes of each value as one number; closed lists have nothing longer."""
    length = fields.length(column)
    codes = characters(fields.buffer, fields.begin(column), 2).view("<u2").ravel()
    codes &= _KEEP[np.minimum(length, 2)]
    codes[length > 2] = _TOO_LONG
    return codes


def _abroad(fields: Fields) -> Flags:
    uf = characters(fields.buffer, fields.begin(19), 2).view("<u2").ravel()
    return np.asarray(uf == int.from_bytes(b"EX", "little"))


def _many_activities(fields: Fields) -> Flags:
    return np.asarray(fields.length(12) >= _MANY * _ACTIVITY_BYTES - 1)


def _alphanumeric(fields: Fields) -> Flags:
    key = characters(fields.buffer, fields.begin(0), 15)  # root, quote, `;`, quote, ordem
    return np.asarray((key >= ord("A")).any(axis=1))


def _mei(fields: Fields) -> Flags:
    return np.asarray(fields.buffer[fields.begin(4)] == ord("S"))


# The special cases of section 10.4 that a single row shows.
_WITNESSES: dict[str, dict[str, Callable[[Fields], Flags]]] = {
    ESTABELECIMENTOS.name: {
        ABROAD: _abroad,
        MANY_ACTIVITIES: _many_activities,
        ALPHANUMERIC: _alphanumeric,
    },
    SIMPLES.name: {MEI: _mei},
}

_DATE_BYTES = 8
_ROWS_AT_ONCE = 100_000
_NO_SHORTS = np.zeros(0, np.uint16)
_NO_NUMBERS = np.zeros(0, np.uint64)
_LONGER = "(longer)"
_TOO_LONG = 0xFFFF
_KEEP = np.array((0x0000, 0x00FF, 0xFFFF), np.uint16)  # by length
_FIRST_YEAR = EARLIEST.year - 1
_FIRST_DAY = _FIRST_YEAR * 10_000
_NOT_DECIMAL = 100_000_000
_ZEROS = np.frombuffer(b"00000000", "<u8")[0]


def are_days(text: Numbers, latest: date) -> Flags:
    """Return which dates are acceptable days; eight characters, the first in the lowest byte."""
    good = _good_dates(latest)
    days = np.clip(_decimal(text), _FIRST_DAY, _FIRST_DAY + len(good) - 1)
    return np.asarray(good[days - _FIRST_DAY])


def _decimal(text: Numbers) -> Positions:
    """Convert eight digits, the first in the lowest byte, to a number; `_NOT_DECIMAL` if invalid.

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
    """Return for each number YYYYMMDD from `_FIRST_YEAR` on whether it is an acceptable day."""
    # A margin at both ends: values outside are clipped to it.
    good = np.zeros((latest.year + 2 - _FIRST_YEAR) * 10_000, np.bool_)
    days = np.arange(np.datetime64(EARLIEST), np.datetime64(latest + timedelta(days=1)))
    months = days.astype("datetime64[M]")
    day = (days - months).astype(np.int64) + 1
    month = months.astype(np.int64)  # since January 1970
    good[(1970 + month // 12 - _FIRST_YEAR) * 10_000 + (month % 12 + 1) * 100 + day] = True
    return good


def _text(code: int) -> str:
    return bytes(byte for byte in (code & 0xFF, code >> 8) if byte).decode("latin-1")


def _key(fields: Fields, line: int) -> str:
    """Return the root and, for establishments, ordem and check digits."""
    row = fields.buffer[fields.starts[line] : fields.starts[line] + 26].tobytes().decode("latin-1")
    parts = row.split('"')
    return parts[1] + parts[3] + parts[5] if len(parts[3]) == 4 else parts[1]
