"""Finding a file's header among its first rows: titles, two lines of names, or none at all."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from balcao.batches.names import DOCUMENTS, is_known, loosely_document, names_document, role_of
from balcao.batches.tables.contract import Cells, TableRow, column_letter
from balcao.core.document_reader import read
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS

ROWS_LOOKED_AT = 20

_SIGNS = re.compile(r"[\s.,/+'\-]")
_DIGITS_OF_DATA = 6  # no name of a column is a number of so many digits


class Heading(NamedTuple):
    """The header, and the number of rows before the first of data.

    `line`: where the (last line of the) header stands, None: the file has none.
    """

    names: Cells
    line: int | None
    rows_before_data: int


def find_heading(first: Sequence[TableRow]) -> Heading:
    """Return the header among a file's first rows that are not blank.

    The first row that names the column of documents is it; the next one, too, if it does the same
    or goes on with names. Without such a row it is the one before the first that has data, unless
    that is a title: narrower than the data, and without a known name.
    """
    before = next((at for at, row in enumerate(first) if _digits(row.cells, 11)), None)
    named = next((at for at, row in enumerate(first[:before]) if _names_documents(row.cells)), None)
    data = next((at for at, row in enumerate(first) if _digits(row.cells)), None)
    if named is None:
        width = 0 if data is None else _width(first[data].cells)
        rows = enumerate(first[:data])
        loosely = (at for at, row in rows if _loosely(row.cells) and not _titles(row.cells, width))
        named = next(loosely, None)
    if named is not None:
        return _below(first, named)
    data = next((at for at, row in enumerate(first[:data]) if _has_document(row.cells)), data)
    if data is None and first:
        return _below(first, 0)
    if data and not _titles(first[data - 1].cells, _width(first[data].cells)):
        return _below(first, data - 1)
    width = max((len(row.cells) for row in first[data:]), default=0)
    return Heading(tuple(map(unnamed, range(width))), None, data or 0)


def unnamed(index: int) -> str:
    """Return the name of a column that has none in the file."""
    return f"Coluna {column_letter(index)}"


def _below(first: Sequence[TableRow], at: int) -> Heading:
    names: Cells = first[at].cells
    if at + 1 < len(first):
        following = first[at + 1].cells
        if _names_documents(following):
            at, names = at + 1, following
        elif at + 2 < len(first) and _goes_on(names, following):  # the only row is data
            at, names = at + 1, _joined(names, following)
    return Heading(_filled(names), first[at].line, at + 1)


def _goes_on(names: Cells, following: Cells) -> bool:
    """Return whether a row has names only, some of them known, and none for the documents."""
    if _digits(following) or not any(is_known(cell) for cell in following):
        return False
    documents = (at for at, name in enumerate(names) if role_of(name) in DOCUMENTS)
    return all(at >= len(following) or not following[at].strip() for at in documents)


def _joined(above: Cells, below: Cells) -> Cells:
    width = max(len(above), len(below))
    pairs = zip(_padded(above, width), _padded(below, width), strict=True)
    return tuple(b.strip() if is_known(b) else f"{a} {b}".strip() for a, b in pairs)


def _width(cells: Cells) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((at + 1 for at, cell in enumerate(cells) if cell.strip()), default=0)


def _titles(cells: Cells, width: int) -> bool:
    """Return whether a row above data of this width is a title rather than names of columns."""
    return _width(cells) < width and not any(map(is_known, cells))


def _padded(cells: Cells, width: int) -> Cells:
    return cells + ("",) * (width - len(cells))


def _filled(names: Cells) -> Cells:
    """Return the names without the nameless columns that spreadsheets leave at the end."""
    return tuple(names[at].strip() or unnamed(at) for at in range(_width(names)))


def _names_documents(cells: Cells) -> bool:
    return any(names_document(cell) for cell in cells)


def _loosely(cells: Cells) -> bool:
    return any(loosely_document(cell) for cell in cells) and not _has_document(cells)


def _has_document(cells: Cells) -> bool:
    """Return whether a cell has a document, alone or among words: names of columns have none."""
    return any(_readable(cell) for cell in cells)


def _readable(cell: str) -> bool:
    return (
        len(cell) >= CPF_CHARACTERS
        and read(cell, digits_least=CNPJ_CHARACTERS).document is not None
    )


def _digits(cells: Cells, least: int = _DIGITS_OF_DATA) -> bool:
    """Return whether a cell is, but for some letters, a number of at least so many digits."""
    for cell in cells:
        bare = _SIGNS.sub("", cell)
        digits = sum(map(str.isdigit, bare))
        if digits >= least and digits * 2 >= len(bare):
            return True
    return False
