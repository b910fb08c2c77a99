"""Columns of a result: the client's, those of every row, the answer's, the comparison's.

A column of every row is one entry of `ROW_FIELDS`; an operation's columns are defined in its own
folder (`sheet_columns`, `operations/sheets.py`).
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from balcao.batches.columns import ColumnMap, ValidRow
from balcao.batches.comparing import Comparison, compare
from balcao.batches.names import FACT_LABELS
from balcao.batches.pauses import messages
from balcao.batches.tables.contract import Cells, TableRow
from balcao.core import writing
from balcao.core.batches import RowState
from balcao.core.described import doc
from balcao.core.extensions import Extension
from balcao.operations.certificates.lookup import by_act
from balcao.operations.contract import Operation
from balcao.operations.sheets import CellKind, CellValue, day_of
from balcao.storage.batches import StoredRow

PREFIX = "balcao_"

_Body: TypeAlias = Mapping[str, Any]
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ResultRow(NamedTuple):
    """A row of a batch with its decrypted cells and answer.

    `answer` is the envelope as delivered, JSON; a repeated row has the answer of the row that it
    repeats. `message` is the Portuguese reason why the row is invalid. `name` is that of the
    company, as far as it is known without the answer.
    """

    row: StoredRow
    cells: Cells = ()
    answer: bytes | None = None
    message: str | None = None
    name: str | None = None


class RowField(msgspec.Struct, frozen=True):
    """A value of every row, present in each format for which it has a name."""

    of: Callable[[ResultRow], str | int | None]
    column: str | None = None  # its header in CSV, after `PREFIX`
    title: str = ""  # its header in spreadsheets
    text: str = ""  # the description of the column
    width: int = 12  # in spreadsheets
    member: str | None = None  # its name in JSONL, and in the API if it has an `api_type`
    api_type: Any = None  # with its description (`doc`); None: not in the API's rows


ROW_FIELDS: tuple[RowField, ...] = (
    RowField(
        lambda each: each.row.line,
        "linha",
        "Linha",
        "Linha do arquivo. O cabeçalho é a linha 1.",
        8,
        "linha",
        Annotated[int, doc("Linha do arquivo. O cabeçalho é a linha 1.")],
    ),
    RowField(
        lambda each: each.row.ref,
        member="ref",
        api_type=Annotated[str | None, doc("Identificador do cliente, da coluna `ref`.")],
    ),
    RowField(lambda each: each.row.client, member="cliente"),
    RowField(
        lambda each: each.row.document,
        member="documento",
        api_type=Annotated[str | None, doc("CNPJ ou CPF mascarado. Nulo se não foi lido.")],
    ),
    RowField(
        lambda each: each.row.state,
        "estado",
        "Situação da linha",
        "Estado da linha: em CSV e JSONL o código, como `concluida`; na planilha, em palavras.",
        16,
        "estado",
        Annotated[RowState, doc("Estado da linha.")],
    ),
    RowField(
        lambda each: each.row.code,
        "codigo",
        "Código do motivo",
        "Motivo de a linha ser inválida, ou o código do erro.",
        22,
        "codigo",
        Annotated[
            str | None,
            doc(
                "Motivo de ser inválida, como `documento_invalido`, `nao_e_documento` ou"
                " `raiz_de_cnpj`, ou o código do erro. Nulo nos demais casos. Podem surgir"
                " códigos novos."
            ),
        ],
    ),
    RowField(
        lambda each: each.message or messages().get(each.row.code or ""),
        "mensagem",
        "Mensagem",
        "O código em uma frase.",
        60,
        "mensagem",
    ),
    RowField(
        lambda each: each.row.credits,
        "creditos",
        "Créditos",
        "Créditos cobrados ou, em andamento, reservados.",
        10,
        "creditos",
        Annotated[int, doc("Créditos cobrados ou, em andamento, reservados.")],
    ),
    RowField(
        lambda each: each.row.request_id,
        "requisicao",
        "Número da consulta",
        "Número da consulta, como no histórico.",
        38,
        "request_id",
        Annotated[
            str | None,
            doc("Número da consulta, para `/conta/v1/operacoes/{request_id}`.", format="uuid"),
        ],
    ),
    RowField(
        lambda each: each.row.repeated_of,
        "repetida_de",
        "Repete a linha",
        "A primeira linha igual, que esta repete.",
        10,
        "repetida_de",
        Annotated[int | None, doc("A primeira linha igual. Nulo se não é repetida.")],
    ),
    # With punctuation: spreadsheets would convert bare digits to a number.
    RowField(
        lambda each: each.row.document and writing.document(each.row.document),
        "documento",
        "Documento",
        "CNPJ, ou CPF mascarado, com pontuação.",
        20,
    ),
    RowField(
        lambda each: each.name,
        "titular",
        "Titular",
        "Nome do titular: o da resposta ou, sem ele, o da empresa na nossa cópia do mês.",
        40,
    ),
)


def members(row: ResultRow) -> Mapping[str, str | int | None]:
    """Return the fields of a row by their names in JSONL and in the API."""
    return {field.member: field.of(row) for field in ROW_FIELDS if field.member}


def row_type() -> type[msgspec.Struct]:
    """Return the API's row type, made of the `ROW_FIELDS` with an `api_type`."""
    fields = [
        (field.member, field.api_type) for field in ROW_FIELDS if field.member and field.api_type
    ]
    return msgspec.defstruct("RowAnswer", fields, frozen=True)


class ResultColumn(NamedTuple):
    """A column of result files after the client's own."""

    name: str  # in CSV
    title: str  # in spreadsheets
    text: str  # its description
    kind: CellKind = "text"
    width: int = 18  # in spreadsheets, in characters


_ACT_COLUMNS = (
    ResultColumn(
        f"{PREFIX}prorrogada_por_ato_ate",
        "Prorrogada até",
        "Último dia segundo um ato de prorrogação informado pelo operador.",
        "day",
        14,
    ),
    ResultColumn(f"{PREFIX}ato", "Ato de prorrogação", "O ato que prorroga a certidão.", width=30),
)
_COMPARISONS = (
    (
        "confere",
        "Confere: {}",
        "{} do seu arquivo comparado com o oficial: `igual`, `parecido`, `diferente`, `ausente`"
        " (falta no arquivo) ou `nao_verificado`.",
        16,
    ),
    ("oficial", "Oficial: {}", "{} na resposta.", 30),
)


def row_columns() -> Sequence[ResultColumn]:
    """Return the columns of every result, from the `ROW_FIELDS`."""
    return [
        ResultColumn(f"{PREFIX}{each.column}", each.title, each.text, width=each.width)
        for each in ROW_FIELDS
        if each.column
    ]


def columns_of(operation: Operation, *, acts: bool = False) -> Sequence[ResultColumn]:
    """Return our columns for an operation, except those of the comparison.

    `acts`: the operator registered acts that extend such certificates.
    """
    return [
        *row_columns(),
        *(
            ResultColumn(PREFIX + each.name, each.title, each.text, each.kind, each.width)
            for each in operation.sheet_columns.facts
        ),
        *(_ACT_COLUMNS if acts else ()),
    ]


def comparison_columns(facts: Sequence[str]) -> Sequence[ResultColumn]:
    """Return the two columns of each compared fact."""
    return [
        ResultColumn(
            f"{PREFIX}{name}_{fact}", title.format(label), text.format(_capital(label)), width=width
        )
        for fact in facts
        for label in (FACT_LABELS[fact],)
        for name, title, text, width in _COMPARISONS
    ]


class ResultColumns:
    """The columns of a result: the client's own first, then ours, then the comparison.

    Two of ours are only there if the operator registered `acts` that extend such certificates
    (contract 4.12).
    """

    def __init__(
        self,
        operation: Operation,
        header: Sequence[str],
        columns: ColumnMap,
        acts: Sequence[Extension] = (),
    ) -> None:
        self._acts = [act for act in acts if act.subject == operation.subject]
        self._operation, self._columns = operation, columns
        self._header = tuple(header)
        self._fields = [field for field in ROW_FIELDS if field.column]
        self._sheet = operation.sheet_columns
        self.ours: Sequence[ResultColumn] = (
            *columns_of(operation, acts=bool(self._acts)),
            *comparison_columns(columns.compared_facts),
        )
        name = self._sheet.name
        self.name_column = f"{PREFIX}{name}" if name else None  # that `titular` repeats
        self.names: Sequence[str] = (*self._header, *(each.name for each in self.ours))

    @property
    def own_header(self) -> Sequence[str]:
        """Return the names of the client's columns."""
        return self._header

    def cells(self, row: ResultRow) -> Sequence[str]:
        """Return a row as texts, one for each name; the client's unchanged."""
        return list(map(_as_text, self.values(row).cells))

    def values(self, row: ResultRow) -> "RowValues":
        """Return the values of a row, one for each name; the client's unchanged."""
        body = _decode(row.answer) if row.answer else None
        if body is not None and (name := self._sheet.name_in(body)) is not None:
            row = row._replace(name=name)
        found: list[CellValue] = list(self._own_cells(row.cells))
        found += [field.of(row) for field in self._fields]
        if body is None:
            found += [None] * len(self._sheet.facts)
        else:
            found += [fact.of(body) for fact in self._sheet.facts]
        if self._acts:
            found += self._extension(row, body)
        compared = self._compare(row.cells, body)
        for each in compared:
            found += (each.result, each.official)
        return RowValues(row, found, None if body is None else self._sheet.outcome(body), compared)

    def compared(self, row: ResultRow) -> Sequence[Comparison]:
        """Compare the row's cells with its answer, in column order."""
        return self._compare(row.cells, _decode(row.answer) if row.answer else None)

    def _extension(self, row: ResultRow, body: _Body | None) -> Sequence[CellValue]:
        """Return the extended day and the act. The UF comes from the question: answers lack it."""
        if body is None:
            return (None, None)
        read = self._columns.read(TableRow(row.row.line, row.cells))
        uf = read.question.uf if isinstance(read, ValidRow) else None
        later = by_act(self._acts, self._operation.subject, uf, body)
        return (None, None) if later is None else (day_of(later.until), later.act)

    def _compare(self, cells: Cells, body: _Body | None) -> Sequence[Comparison]:
        return compare(self._operation, self._columns.comparisons(cells), body)

    def _own_cells(self, cells: Cells) -> Sequence[str]:
        """Return one cell per header column; cells beyond the header are joined in the last one."""
        width = len(self._header)
        if len(cells) > width > 0:
            over = [cell for cell in cells[width - 1 :] if cell]
            return (*cells[: width - 1], "; ".join(over))
        return (*cells, *[""] * (width - len(cells)))


class RowValues(NamedTuple):
    """A row of a result: its cells, outcome (None: no answer) and comparisons."""

    of: ResultRow
    cells: Sequence[CellValue]
    outcome: str | None
    compared: Sequence[Comparison]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_text(value: CellValue) -> str:
    if value is None:
        return ""
    return writing.day(value) if isinstance(value, datetime.date) else str(value)
