"""Readers of JSONL and JSON lists: each object is a row, its member names are columns."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from balcao.batches.tables.contract import (
    RowSource,
    TableBounds,
    TableFormat,
    TableRow,
    too_many_rows,
)
from balcao.core.errors import FileUnreadable

PLAIN_ITEM = "documento"  # column of items that are plain strings: `["90010001000100", …]`

_Object: TypeAlias = Mapping[str, object]
_CHUNK_CHARACTERS = 1 << 16
_BLANK = " \t\r\n"


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)  # NaN, Infinity


# Numbers stay as written: 3.3683E+13 is a document that a spreadsheet has cut.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)


def column_names(path: Path, table_format: TableFormat, bounds: TableBounds) -> tuple[str, ...]:
    """Return the member names of all objects, by first occurrence. Reads the whole file."""
    names: dict[str, None] = {}
    for count, (line, found) in enumerate(_objects(path, table_format, bounds), 1):
        if count > bounds.rows:
            raise too_many_rows(bounds)
        names.update(dict.fromkeys(found))
        if len(names) > bounds.columns:
            raise FileUnreadable(
                "colunas_demais",
                f"Até o item {line} já há mais de {bounds.columns} nomes de campos diferentes."
                " Deixe só os que o lote usa.",
                line,
            )
    return tuple(map(_encodable, names))


def object_rows(
    path: Path, table_format: TableFormat, names: tuple[str, ...], bounds: TableBounds
) -> RowSource:
    """Yield the rows with a cell for each name. Raises `FileUnreadable`."""
    for line, found in _objects(path, table_format, bounds):
        cells = tuple(_text(found.get(name)) for name in names)
        if any(map(str.strip, cells)):
            yield TableRow(line, cells)


def _objects(
    path: Path, table_format: TableFormat, bounds: TableBounds
) -> Iterator[tuple[int, _Object]]:
    items = _lines(path, bounds) if table_format == "jsonl" else _list(path, bounds)
    try:
        for line, item in items:
            if isinstance(item, dict):
                yield line, item
            elif isinstance(item, str):  # numbers are strings, too
                yield line, {PLAIN_ITEM: item}
            else:
                raise _unreadable("deve ser um objeto, como {…}, ou um documento", line)
    except UnicodeDecodeError:
        raise FileUnreadable(
            "texto_ilegivel", "O arquivo não é texto em UTF-8, como o JSON pede."
        ) from None


def _lines(path: Path, bounds: TableBounds) -> Iterator[tuple[int, Any]]:
    number = 0
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        while line := file.readline(bounds.row_characters + 1):
            number += 1
            if len(line) > bounds.row_characters:
                raise _unreadable("é longo demais", number)
            line = line.strip(_BLANK)
            if line:
                item, end = _decoded(line, 0, number)
                if end != len(line):
                    raise _unreadable("não é um só valor JSON", number)
                yield number, item


def _list(path: Path, bounds: TableBounds) -> Iterator[tuple[int, Any]]:
    """Yield the items of a list, with only a part of the file in memory."""
    number = 0
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(_CHUNK_CHARACTERS).lstrip(_BLANK)
        if not text.startswith("["):
            raise FileUnreadable(
                "json_sem_lista",
                "O JSON deve ser uma lista, como [{…}, {…}]. Para um objeto por linha, envie como"
                " application/x-ndjson.",
            )
        at, ended = 1, False
        while True:
            at = _skip_blanks(text, at)
            if not ended and len(text) - at <= bounds.row_characters:
                more = file.read(bounds.row_characters + _CHUNK_CHARACTERS)
                ended = not more
                text, at = text[at:] + more, 0
                continue
            if text.startswith("]", at) and not number:
                at += 1
                break
            number += 1
            item, end = _decoded(text, at, number)
            if end - at > bounds.row_characters:
                raise _unreadable("é longo demais", number)
            yield number, item
            at = _skip_blanks(text, end)
            if text.startswith("]", at):
                at += 1
                break
            if not text.startswith(",", at):
                raise _unreadable("não é seguido por vírgula nem pelo fim da lista", number)
            at += 1
        if text[at:].strip(_BLANK) or file.read(1).strip(_BLANK):
            raise _unreadable("é seguido por algo depois do fim da lista", number)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _decoded(text: str, at: int, number: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise _unreadable("não é JSON", number) from None


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return _encodable(value)
        case bool():
            return "true" if value else "false"
        case _:
            return _encodable(json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Return a text with unpaired surrogates, which UTF-8 cannot encode, replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _unreadable(what: str, number: int) -> FileUnreadable:
    return FileUnreadable(
        "json_ilegivel",
        f"O item {number} {what}. Corrija-o e envie o arquivo de novo.",
        number,
    )
