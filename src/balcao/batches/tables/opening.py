"""Opening of a batch's file: detect its format and header, and read its rows."""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import msgspec

from balcao.batches.tables import objects, texts
from balcao.batches.tables.contract import (
    BOUNDS,
    MEDIA_TYPES,
    RowSource,
    Table,
    TableBounds,
    TableFormat,
    TableRow,
    too_many_rows,
)
from balcao.batches.tables.heading import ROWS_LOOKED_AT, Heading, find_heading
from balcao.batches.tables.workbook import workbook_rows
from balcao.core.document_reader import text_of_formula
from balcao.core.errors import FileUnreadable
from balcao.core.writing import whole

# Other formats that people send by mistake: first bytes, code, remedy.
_OTHER_FORMATS = (
    (
        b"\xd0\xcf\x11\xe0",
        "planilha_antiga",
        "O arquivo é uma planilha antiga (.xls) ou com senha. Salve como .xlsx, sem senha, ou"
        " como CSV.",
    ),
    (b"%PDF", "arquivo_pdf", "O arquivo é um PDF. Envie a planilha original."),
    (
        b"\x1f\x8b",
        "arquivo_compactado",
        "O arquivo está compactado. Descompacte e envie o conteúdo.",
    ),
    (
        b"<",
        "arquivo_html",
        "O arquivo é HTML ou XML. Abra em um programa de planilhas e salve como .xlsx ou CSV.",
    ),
)
_ZIP = b"PK\x03\x04"


def open_table(path: Path, media_type: str = "text/csv", *, bounds: TableBounds = BOUNDS) -> Table:
    """Open the table in a file; a context manager.

    Blocking: reads the first rows and once the whole of a text file, for its encoding; starts the
    process that reads a spreadsheet. Memory use does not depend on the length of the file.
    Raises `FileUnreadable`, with line or column and the remedy, for people.
    """
    table_format = _format_of(path, media_type, bounds)
    if table_format in ("json", "jsonl"):
        return _objects(path, table_format, bounds)
    if table_format == "xlsx":
        description, rows = "planilha, primeira aba", workbook_rows(path, bounds)
    else:
        encoding, encoding_name = texts.encoding_of(path)
        layout = texts.detect_layout(path, encoding, bounds)
        rows = texts.records(path, encoding, layout, bounds)
        separator = texts.SEPARATORS.get(layout.separator, layout.separator)
        description = f"CSV, separado por {separator}, {encoding_name}"
    rows = _with_formula_texts(rows)
    first = list(islice(rows, ROWS_LOOKED_AT))
    bounds = _with_characters(bounds, path)
    return _table(table_format, find_heading(first), first, rows, description, bounds)


def _with_formula_texts(rows: RowSource) -> RowSource:
    """Yield the rows with formulas such as `="00012"` replaced by their texts.

    Closing this iterator closes the file's reader.
    """
    with closing(rows):
        for row in rows:
            if any("=" in cell for cell in row.cells):
                yield TableRow(row.line, tuple(map(text_of_formula, row.cells)))
            else:
                yield row


def _format_of(path: Path, media_type: str, bounds: TableBounds) -> TableFormat:
    """Return the format by the file's first bytes, for text by the request's media type.

    Raises `FileUnreadable`.
    """
    size = path.stat().st_size
    if size > bounds.file_bytes:
        raise FileUnreadable(
            "arquivo_grande_demais",
            f"O arquivo tem mais de {whole(bounds.file_bytes // 1_000_000)} MB. Divida o arquivo"
            " e envie cada parte como um lote.",
        )
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_ZIP):
        return "xlsx"
    for begins, code, detail in _OTHER_FORMATS:
        if head.lstrip().startswith(begins):
            raise FileUnreadable(code, detail)
    requested = MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower(), "csv")
    return "csv" if requested == "xlsx" else requested


def _objects(path: Path, table_format: TableFormat, bounds: TableBounds) -> Table:
    names = objects.column_names(path, table_format, bounds)
    rows = _with_formula_texts(objects.object_rows(path, table_format, names, bounds))
    first = list(islice(rows, ROWS_LOOKED_AT))
    bounds = _with_characters(bounds, path)
    description = "JSON, uma lista" if table_format == "json" else "JSON, um objeto por linha"
    return _table(table_format, Heading(names, None, 0), first, rows, description, bounds)


def _with_characters(bounds: TableBounds, path: Path) -> TableBounds:
    return msgspec.structs.replace(bounds, characters=bounds.characters_of(path.stat().st_size))


def _table(  # noqa: PLR0917
    table_format: TableFormat,
    heading: Heading,
    first: list[TableRow],
    rest: RowSource,
    description: str,
    bounds: TableBounds,
) -> Table:
    sample = first[heading.rows_before_data :]
    if not sample:
        rest.close()
        raise FileUnreadable("sem_linhas", "O arquivo não tem nenhuma linha com dados.")
    return Table(
        format=table_format,
        header=heading.names,
        header_line=heading.line,
        sample=sample,
        rows=_counted(sample, rest, bounds),
        source=rest,
        description=description,
    )


def _counted(
    sample: list[TableRow], rest: Iterator[TableRow], bounds: TableBounds
) -> Iterator[TableRow]:
    cells = characters = 0
    for number, row in enumerate(chain(sample, rest), 1):
        if number > bounds.rows:
            raise too_many_rows(bounds)
        cells += len(row.cells)
        characters += sum(map(len, row.cells))
        if cells > bounds.cells:
            raise FileUnreadable(
                "celulas_demais",
                f"Até a linha {row.line} o arquivo já tem mais de {whole(bounds.cells)} células."
                " Deixe só as colunas que o lote usa, ou divida o arquivo.",
                row.line,
            )
        if characters > bounds.characters:
            raise FileUnreadable(
                "texto_demais",
                f"Até a linha {row.line} o arquivo tem texto demais para o tamanho que tem. Deixe"
                " só as colunas que o lote usa, ou divida o arquivo.",
                row.line,
            )
        yield row
