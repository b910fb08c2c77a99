"""Columns of a result: the client's, those of every row, the answer's, the comparison's.

A column of every row is one entry of `ROW_FIELDS`; an operation's columns are defined in its own
folder (`sheet_columns`, `operations/sheets.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from balcao.batches.columns import ColumnMap, ValidRow
from balcao.batches.comparing import Comparison, compare
from balcao.batches.pauses import messages
from balcao.batches.tables.contract import Cells, TableRow
from balcao.core import writing
from balcao.core.batches import RowState
from balcao.core.described import doc
from balcao.core.extensions import Extension
from balcao.operations.certificates.lookup import by_act
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredRow

PREFIX = "balcao_"

_ACT_COLUMNS = ("prorrogada_por_ato_ate", "ato")

_Body: TypeAlias = Mapping[str, Any]
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ResultRow(NamedTuple):
    """A row of a batch with its decrypted cells and answer.

    `answer` is the envelope as delivered, JSON; a repeated row has the answer of the row that it
    repeats. `message` is the Portuguese reason why the row is invalid.
    """

    row: StoredRow
    cells: Cells = ()
    answer: bytes | None = None
    message: str | None = None


class RowField(msgspec.Struct, frozen=True):
    """A value of every row, present in each format for which it has a name."""

    of: Callable[[ResultRow], str | int | None]
    column: str | None = None  # its header in CSV and XLSX, after `PREFIX`
    member: str | None = None  # its name in JSONL, and in the API if it has an `api_type`
    api_type: Any = None  # with its description (`doc`); None: not in the API's rows


ROW_FIELDS: tuple[RowField, ...] = (
    RowField(
        lambda each: each.row.line,
        "linha",
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
        "estado",
        Annotated[RowState, doc("Estado da linha.")],
    ),
    RowField(
        lambda each: each.row.code,
        "codigo",
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
        lambda each: each.message or messages().get(each.row.code or ""), "mensagem", "mensagem"
    ),
    RowField(
        lambda each: each.row.credits,
        "creditos",
        "creditos",
        Annotated[int, doc("Créditos cobrados ou, em andamento, reservados.")],
    ),
    RowField(
        lambda each: each.row.request_id,
        "requisicao",
        "request_id",
        Annotated[
            str | None,
            doc("Número da consulta, para `/conta/v1/operacoes/{request_id}`.", format="uuid"),
        ],
    ),
    RowField(
        lambda each: each.row.repeated_of,
        "repetida_de",
        "repetida_de",
        Annotated[int | None, doc("A primeira linha igual. Nulo se não é repetida.")],
    ),
    # With punctuation: spreadsheets would convert bare digits to a number.
    RowField(lambda each: each.row.document and writing.document(each.row.document), "documento"),
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
        self._facts = operation.sheet_columns.facts
        self.names: Sequence[str] = (
            *self._header,
            *(f"{PREFIX}{field.column}" for field in self._fields),
            *(PREFIX + fact.name for fact in self._facts),
            *(PREFIX + name for name in _ACT_COLUMNS if self._acts),
            *chain.from_iterable(
                (f"{PREFIX}confere_{fact}", f"{PREFIX}oficial_{fact}")
                for fact in columns.compared_facts
            ),
        )

    @property
    def own_count(self) -> int:
        """Return the number of the client's columns."""
        return len(self._header)

    def cells(self, row: ResultRow) -> Sequence[str]:
        """Return a row as texts, one for each name; the client's unchanged."""
        body = _decode(row.answer) if row.answer else None
        found = list(self._own_cells(row.cells))
        for field in self._fields:
            value = field.of(row)
            found.append("" if value is None else str(value))
        if body is None:
            found += [""] * len(self._facts)
        else:
            found += [fact.of(body) or "" for fact in self._facts]
        if self._acts:
            found += self._extension(row, body)
        for each in self._compare(row.cells, body):
            found += (each.result, each.official)
        return found

    def compared(self, row: ResultRow) -> Sequence[Comparison]:
        """Compare the row's cells with its answer, in column order."""
        return self._compare(row.cells, _decode(row.answer) if row.answer else None)

    def _extension(self, row: ResultRow, body: _Body | None) -> Sequence[str]:
        """Return the extended day and the act. The UF comes from the question: answers lack it."""
        if body is None:
            return ("", "")
        read = self._columns.read(TableRow(row.row.line, row.cells))
        uf = read.question.uf if isinstance(read, ValidRow) else None
        later = by_act(self._acts, self._operation.subject, uf, body)
        return ("", "") if later is None else (writing.day(later.until), later.act)

    def _compare(self, cells: Cells, body: _Body | None) -> Sequence[Comparison]:
        return compare(self._operation, self._columns.comparisons(cells), body)

    def _own_cells(self, cells: Cells) -> Sequence[str]:
        """Return one cell per header column; cells beyond the header are joined in the last one."""
        width = len(self._header)
        if len(cells) > width > 0:
            over = [cell for cell in cells[width - 1 :] if cell]
            return (*cells[: width - 1], "; ".join(over))
        return (*cells, *[""] * (width - len(cells)))
