"""Rows of one table that wait to be indexed, column-wise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from balcao.opendata.errors import OpenDataError
from balcao.opendata.keys import Bytes, Numbers, Positions, characters, keys_of, spread_all
from balcao.opendata.layout import LINE_FEED, TableGroup, TableLayout
from balcao.opendata.rows import tidy
from balcao.opendata.scan import Flags

_FIRST_PRINTABLE = 0x20
_ZERO, _NINE = ord("0"), ord("9")
_WIDEST = 16  # of what is asked for at once
_ROOT, _ORDER = 8, 4


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Stored rows of one table, in the order of their keys, wherever they lie in a text."""

    view: Bytes  # with room after the last row
    separators: Positions  # all of the text, line feeds too
    begins: Positions  # of each row, where the byte before it is
    lasts: Positions  # of each row, which separator is its line feed
    keys: Numbers  # base-36 numbers, of the first 12 characters or of the root
    table: TableLayout

    def columns(self, first: int, end: int) -> "Columns":
        """The fields of some of them."""
        rows = slice(first, end)
        fields = self.lasts[rows, np.newaxis] + np.arange(1 - self.table.width, 1)
        marks = np.concatenate(
            (self.begins[rows, np.newaxis], self.separators[fields]), axis=1, dtype=np.int64
        )
        return Columns(self.view, marks, self.table)


def sorted_rows(text: bytes, group: TableGroup) -> Sequence[SortedRows]:
    """The rows of each of a group's tables; each row is followed by a line feed.

    Raises `OpenDataError` where there are others.
    """
    view = np.frombuffer(text + bytes(_WIDEST), np.uint8)
    separators = np.flatnonzero(view[: len(text)] < _FIRST_PRINTABLE)  # fields hold no controls
    lasts = np.flatnonzero(view[separators] == LINE_FEED)
    begins = np.concatenate((np.full(1, -1), separators[lasts]))
    tags, widths = view[begins[:-1] + 1], np.diff(lasts, prepend=-1)
    known, found = 0, []
    for table in group.tables:
        mine = np.flatnonzero((tags == ord(table.tag)) & (widths == table.width))
        key = [characters(view, begins[mine] + 2, _ROOT)]  # behind the tag
        if group.key_characters > _ROOT:
            key.append(characters(view, begins[mine] + 2 + _ROOT + 1, _ORDER))
        keys = keys_of(spread_all(*key))
        order = np.argsort(keys, kind="stable")
        mine = mine[order]
        found.append(SortedRows(view, separators, begins[mine], lasts[mine], keys[order], table))
        known += len(mine)
    if known < len(lasts) or begins[-1] + 1 < len(text):
        raise OpenDataError(f"as linhas de {group.title} estão danificadas")
    return found


@dataclass(frozen=True)
class Columns:
    """Some stored rows: where each field of each is."""

    view: Bytes  # with room after the last row
    # Rows x columns and one more: the byte before each column, which is the one after another.
    marks: Positions
    table: TableLayout

    def after_nothing(self) -> Self:
        """The same after a row whose fields are all empty, which has no key."""
        nothing = np.arange(-1, self.marks.shape[1] - 1)[np.newaxis]
        return replace(self, marks=np.concatenate((nothing, self.marks)))

    def __len__(self) -> int:
        return len(self.marks)

    @cached_property
    def roots(self) -> Numbers:
        """The base-36 numbers of their roots."""
        return keys_of(spread_all(self._root))

    @cached_property
    def keys(self) -> Numbers:
        """Of establishments the same with the order behind."""
        return keys_of(spread_all(self._root, self.characters("cnpj_ordem", _ORDER)))

    @property
    def _root(self) -> Bytes:
        return characters(self.view, self.marks[:, 0] + 2, _ROOT)  # behind the tag

    def places_of(self, roots: Numbers) -> Positions:
        """Of each root, which row is its own; -1 where there is none."""
        if not len(self):
            return np.full(len(roots), -1)
        order = np.argsort(self.roots, kind="stable")
        mine = self.roots[order]
        at = np.minimum(np.searchsorted(mine, roots), len(mine) - 1)
        return np.where(mine[at] == roots, order[at], -1)

    def lengths(self, column: str) -> Positions:
        """Of each row, how many bytes the column has."""
        at = self.table.columns.index(column)
        return np.asarray(self.marks[:, at + 1] - self.marks[:, at] - 1)

    def characters(self, column: str, count: int) -> Bytes:
        """Of each row so many bytes from where the column begins, whatever its length."""
        return characters(self.view, self.marks[:, self.table.columns.index(column)] + 1, count)

    def lines(self, column: str) -> bytes:
        """Of each row the column's text, as it is stored, and a line feed."""
        at = self.table.columns.index(column)
        begins, lengths = self.marks[:, at] + 1, np.diff(self.marks[:, at : at + 2]).ravel()
        ends = np.cumsum(lengths)
        taken = np.arange(lengths.sum())
        taken += np.repeat(begins - ends + lengths, lengths)
        text = self.view[taken]
        text[ends - 1] = LINE_FEED  # in the place of what stands behind the column
        return text.tobytes()

    def value(self, column: str, at: int) -> str:
        """Of one row the same, without a line feed."""
        number = self.table.columns.index(column)
        return (
            self.view[self.marks[at, number] + 1 : self.marks[at, number + 1]]
            .tobytes()
            .decode("latin-1")
        )

    def row(self, at: int) -> str:
        """One row, tidy."""
        return tidy(self.view[self.marks[at, 0] + 1 : self.marks[at, -1]].tobytes())


def are_digits(matrix: Bytes) -> Flags:
    """Of each row of characters, whether all are digits."""
    return np.asarray(((matrix >= _ZERO) & (matrix <= _NINE)).all(axis=1))
