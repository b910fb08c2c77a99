"""Rows of one table, column-wise, to be indexed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from balcao.opendata.errors import OpenDataError
from balcao.opendata.keys import Bytes, Numbers, Positions, characters, numbers_of
from balcao.opendata.layout import LINE_FEED, TableLayout
from balcao.opendata.rows import tidy
from balcao.opendata.scan import Flags

_FIRST_PRINTABLE = 0x20
_ZERO, _NINE = ord("0"), ord("9")
_WIDEST = 32  # padding, so that `characters` can read beyond the last row
_ROOT, _ORDER = 8, 4


@dataclass(frozen=True)
class Columns:
    """Positions of the fields of stored rows, each row followed by a line feed."""

    view: Bytes  # padded after the last row
    # Rows x (columns + 1): positions of the separators around each column.
    marks: Positions
    table: TableLayout

    @classmethod
    def of(cls, text: bytes, table: TableLayout) -> Self:
        """Parse rows. Raises `OpenDataError` where these are not rows of the table."""
        view = np.frombuffer(text + bytes(_WIDEST), np.uint8)
        # Fields hold no other controls.
        ends = np.flatnonzero(view[: len(text)] < _FIRST_PRINTABLE)
        if len(ends) % table.width:
            raise OpenDataError(f"as linhas de {table.name} estão danificadas")
        marks = np.full((len(ends) // table.width, table.width + 1), -1)
        marks[:, 1:] = ends.reshape(-1, table.width)
        marks[1:, 0] = marks[:-1, -1]
        return cls(view, marks, table)

    def after_nothing(self) -> Self:
        """Return the columns with a row of empty fields prepended, to stand for missing rows."""
        nothing = np.arange(-1, self.marks.shape[1] - 1)[np.newaxis]
        return replace(self, marks=np.concatenate((nothing, self.marks)))

    def __len__(self) -> int:
        return len(self.marks)

    @cached_property
    def roots(self) -> Numbers:
        """The base-36 numbers of the rows' roots."""
        return numbers_of(self._root)

    @cached_property
    def keys(self) -> Numbers:
        """The base-36 numbers of establishments' roots and orders."""
        return numbers_of(self._root, self.characters("cnpj_ordem", _ORDER))

    @property
    def _root(self) -> Bytes:
        return characters(self.view, self.marks[:, 0] + 2, _ROOT)  # after the tag

    def places_of(self, roots: Numbers) -> Positions:
        """Return the row number of each root; -1 where there is none."""
        if not len(self):
            return np.full(len(roots), -1)
        order = np.argsort(self.roots, kind="stable")
        sorted_roots = self.roots[order]
        at = np.minimum(np.searchsorted(sorted_roots, roots), len(sorted_roots) - 1)
        return np.where(sorted_roots[at] == roots, order[at], -1)

    def lengths(self, column: str) -> Positions:
        """Return the length in bytes of each row's column."""
        at = self.table.columns.index(column)
        return np.asarray(self.marks[:, at + 1] - self.marks[:, at] - 1)

    def characters(self, column: str, count: int) -> Bytes:
        """Return `count` bytes from the beginning of each row's column."""
        return characters(self.view, self.marks[:, self.table.columns.index(column)] + 1, count)

    def lines(self, column: str) -> bytes:
        """Return each row's text of the column, as stored, followed by a line feed."""
        at = self.table.columns.index(column)
        begins, lengths = self.marks[:, at] + 1, np.diff(self.marks[:, at : at + 2]).ravel()
        ends = np.cumsum(lengths)
        taken = np.arange(lengths.sum())
        taken += np.repeat(begins - ends + lengths, lengths)
        text = self.view[taken]
        text[ends - 1] = LINE_FEED  # replaces the separator after the column
        return text.tobytes()

    def value(self, column: str, at: int) -> str:
        """Return one row's text of the column."""
        number = self.table.columns.index(column)
        return (
            self.view[self.marks[at, number] + 1 : self.marks[at, number + 1]]
            .tobytes()
            .decode("latin-1")
        )

    def row(self, at: int) -> str:
        return tidy(self.view[self.marks[at, 0] + 1 : self.marks[at, -1]].tobytes())


def are_digits(matrix: Bytes) -> Flags:
    """Return for each row of characters whether all are digits."""
    return np.asarray(((matrix >= _ZERO) & (matrix <= _NINE)).all(axis=1))
