"""Opening a file whose rows are to be asked about: what it is, its header, its rows."""

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

# What people send by mistake, by how it begins, and what to do instead.
_OTHERS = (
    (
        b"\xd0\xcf\x11\xe0",
        "planilha_antiga",
        "O arquivo é uma planilha antiga (.xls) ou com senha. Salve-a como .xlsx, sem senha, ou"
        " como CSV.",
    ),
    (b"%PDF", "arquivo_pdf", "O arquivo é um PDF. Envie a planilha de onde ele veio."),
    (b"\x1f\x8b", "arquivo_compactado", "O arquivo está compactado. Envie o que há dentro dele."),
    (
        b"<",
        "arquivo_html",
        "O arquivo é HTML ou XML. Abra-o na planilha e salve como .xlsx ou CSV.",
    ),
)
_ZIP = b"PK\x03\x04"


def open_table(path: Path, media_type: str = "text/csv", *, bounds: TableBounds = BOUNDS) -> Table:
    """Open the table in a file; `with open_table(…) as table`.

    Blocking: reads the first rows, all of a text file once (its coding), and begins the process
    that reads a spreadsheet. Memory stays flat, however long the file.
    Raises `FileUnreadable`, whose detail tells people which line or column and what to do.
    """
    table_format = _format_of(path, media_type, bounds)
    if table_format in ("json", "jsonl"):
        return _objects(path, table_format, bounds)
    if table_format == "xlsx":
        description, rows = "planilha, primeira aba", workbook_rows(path, bounds)
    else:
        coding, coding_name = texts.coding_of(path)
        layout = texts.layout_of(path, coding, bounds)
        rows = texts.records(path, coding, layout, bounds)
        separator = texts.SEPARATORS.get(layout.separator, layout.separator)
        description = f"CSV, separado por {separator}, {coding_name}"
    rows = _with_texts(rows)
    first = list(islice(rows, ROWS_LOOKED_AT))
    bounds = _with_characters(bounds, path)
    return _table(table_format, find_heading(first), first, rows, description, bounds)


def _with_texts(rows: RowSource) -> RowSource:
    """Yield the rows with a text in place of each formula that is nothing but one (`="00012"`).

    Closing this iterator closes the file's reader.
    """
    with closing(rows):
        for row in rows:
            if any("=" in cell for cell in row.cells):
                yield TableRow(row.line, tuple(map(text_of_formula, row.cells)))
            else:
                yield row


def _format_of(path: Path, media_type: str, bounds: TableBounds) -> TableFormat:
    """Return the format by the file's first bytes; a text's by the request.

    Raises `FileUnreadable`.
    """
    size = path.stat().st_size
    if size > bounds.file_bytes:
        raise FileUnreadable(
            "arquivo_grande_demais",
            f"O arquivo tem mais de {whole(bounds.file_bytes // 1_000_000)} MB. Divida-o e envie"
            " cada parte como um lote.",
        )
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_ZIP):
        return "xlsx"
    for begins, code, detail in _OTHERS:
        if head.lstrip().startswith(begins):
            raise FileUnreadable(code, detail)
    said = MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower(), "csv")
    return "csv" if said == "xlsx" else said


def _objects(path: Path, table_format: TableFormat, bounds: TableBounds) -> Table:
    names = objects.column_names(path, table_format, bounds)
    rows = _with_texts(objects.object_rows(path, table_format, names, bounds))
    first = list(islice(rows, ROWS_LOOKED_AT))
    bounds = _with_characters(bounds, path)
    description = "JSON, uma lista" if table_format == "json" else "JSON, um objeto por linha"
    return _table(table_format, Heading(names, None, 0), first, rows, description, bounds)


def _with_characters(bounds: TableBounds, path: Path) -> TableBounds:
    return msgspec.structs.replace(bounds, characters=bounds.characters_of(path.stat().st_size))


def _table(  # noqa: PLR0917  # what was found out about a file
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
