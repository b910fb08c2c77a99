"""Detection of a file's header, which may follow titles, have two lines or be absent."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from balcao.batches.names import DOCUMENTS, guess_role, is_document_name, is_known_name, role_of
from balcao.batches.tables.contract import Cells, TableRow
from balcao.core.column_letters import column_letter
from balcao.core.document_reader import read
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS

ROWS_LOOKED_AT = 20

_SIGNS = re.compile(r"[\s.,/+'\-]")
_DIGITS_OF_DATA = 6  # column names have no numbers with this many digits


class Heading(NamedTuple):
    """The header, and the number of rows before the first data row.

    `line` is the (last) line of the header, None if the file has none.
    """

    names: Cells
    line: int | None
    rows_before_data: int


def find_heading(first: Sequence[TableRow]) -> Heading:
    """Return the header among the first rows of a file that are not blank.

    It is the first row that names a column of documents, with the next row if that names one too
    or continues the names. Otherwise it is the row before the first data row, unless that is a
    title: narrower than the data and without a known name.
    """
    before = next((at for at, row in enumerate(first) if _has_number(row.cells, 11)), None)
    named = next((at for at, row in enumerate(first[:before]) if _names_documents(row.cells)), None)
    data = next((at for at, row in enumerate(first) if _has_number(row.cells)), None)
    if named is None:
        width = 0 if data is None else _width(first[data].cells)
        rows = enumerate(first[:data])
        guessed = (at for at, row in rows if _may_be_header(row.cells, width))
        named = next(guessed, None)
    if named is not None:
        return _below(first, named)
    data = next((at for at, row in enumerate(first[:data]) if _has_document(row.cells)), data)
    if data is None and first:
        return _below(first, 0)
    if data and not _is_title(first[data - 1].cells, _width(first[data].cells)):
        return _below(first, data - 1)
    width = max((len(row.cells) for row in first[data:]), default=0)
    return Heading(tuple(map(default_name, range(width))), None, data or 0)


def default_name(index: int) -> str:
    """Return the name for a column that has none in the file."""
    return f"Coluna {column_letter(index)}"


def _below(first: Sequence[TableRow], at: int) -> Heading:
    names: Cells = first[at].cells
    if at + 1 < len(first):
        following = first[at + 1].cells
        if _names_documents(following):
            at, names = at + 1, following
        elif at + 2 < len(first) and _continues(names, following):  # the only row is data
            at, names = at + 1, _joined(names, following)
    return Heading(_filled(names), first[at].line, at + 1)


def _continues(names: Cells, following: Cells) -> bool:
    """Return whether a row continues the names: some known, no data, none for documents."""
    if _has_number(following) or not any(is_known_name(cell) for cell in following):
        return False
    documents = (at for at, name in enumerate(names) if role_of(name) in DOCUMENTS)
    return all(at >= len(following) or not following[at].strip() for at in documents)


def _joined(above: Cells, below: Cells) -> Cells:
    width = max(len(above), len(below))
    pairs = zip(_padded(above, width), _padded(below, width), strict=True)
    return tuple(b.strip() if is_known_name(b) else f"{a} {b}".strip() for a, b in pairs)


def _width(cells: Cells) -> int:
    """Return the number of cells up to the last non-empty one."""
    return max((at + 1 for at, cell in enumerate(cells) if cell.strip()), default=0)


def _is_title(cells: Cells, width: int) -> bool:
    """Return whether a row above data of this width is a title, not column names."""
    return _width(cells) < width and not any(map(is_known_name, cells))


def _padded(cells: Cells, width: int) -> Cells:
    return cells + ("",) * (width - len(cells))


def _filled(names: Cells) -> Cells:
    """Return the names without trailing empty ones, and inner empty ones filled."""
    return tuple(names[at].strip() or default_name(at) for at in range(_width(names)))


def _names_documents(cells: Cells) -> bool:
    return any(is_document_name(cell) for cell in cells)


def _may_be_header(cells: Cells, width: int) -> bool:
    has_role = any(guess_role(cell) for cell in cells)
    return has_role and not _has_document(cells) and not _is_title(cells, width)


def _has_document(cells: Cells) -> bool:
    """Return whether a cell has a document, alone or among words."""
    return any(_readable(cell) for cell in cells)


def _readable(cell: str) -> bool:
    return (
        len(cell) >= CPF_CHARACTERS
        and read(cell, digits_least=CNPJ_CHARACTERS).document is not None
    )


def _has_number(cells: Cells, least: int = _DIGITS_OF_DATA) -> bool:
    """Return whether a cell has at least `least` digits that make up at least half of it."""
    for cell in cells:
        bare = _SIGNS.sub("", cell)
        digits = sum(map(str.isdigit, bare))
        if digits >= least and digits * 2 >= len(bare):
            return True
    return False
