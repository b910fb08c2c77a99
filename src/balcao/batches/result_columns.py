"""Columns of a batch's result: the client's own, those of every row, the answer's, the comparison.

A column that every row has is one entry of `ROW_FIELDS`; an operation's columns are chosen in its
own folder (`in_sheets`, `operations/sheets.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from balcao.batches.columns import AskedRow, ColumnMap
from balcao.batches.comparing import Compared, compare
from balcao.batches.pauses import messages
from balcao.batches.tables.contract import Cells, TableRow
from balcao.core import writing
from balcao.core.batches import RowState
from balcao.core.described import said
from balcao.core.extensions import Extension
from balcao.operations.certificates.lookup import by_act
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredRow

PREFIX = "balcao_"

_OF_ACTS = ("prorrogada_por_ato_ate", "ato")

_Body: TypeAlias = Mapping[str, Any]
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ResultRow(NamedTuple):
    """A row of a batch, with what is sealed in `row` opened.

    `answer` is the envelope as it was delivered, JSON; a repeated row may have the answer of the
    row that it repeats. `message` explains, in Portuguese, why the row is invalid.
    """

    row: StoredRow
    cells: Cells = ()
    answer: bytes | None = None
    message: str | None = None


class RowField(msgspec.Struct, frozen=True):
    """A value of every row, in each of the forms for which it has a name."""

    of: Callable[[ResultRow], str | int | None]
    column: str | None = None  # its header in CSV and XLSX, after `PREFIX`
    member: str | None = None  # its name in JSONL, and in the API if it has an `api_type`
    api_type: Any = None  # with its meaning (`said`); None: it is not in the API's rows


ROW_FIELDS: tuple[RowField, ...] = (
    RowField(
        lambda each: each.row.line,
        "linha",
        "linha",
        Annotated[int, said("Linha do arquivo; a do cabeçalho é a 1.")],
    ),
    RowField(
        lambda each: each.row.ref,
        member="ref",
        api_type=Annotated[str | None, said("Identificador do cliente, da coluna `ref`.")],
    ),
    RowField(lambda each: each.row.client, member="cliente"),
    RowField(
        lambda each: each.row.document,
        member="documento",
        api_type=Annotated[str | None, said("CNPJ, ou CPF mascarado; nulo, se não foi lido.")],
    ),
    RowField(
        lambda each: each.row.state,
        "estado",
        "estado",
        Annotated[RowState, said("O que foi feito da linha.")],
    ),
    RowField(
        lambda each: each.row.code,
        "codigo",
        "codigo",
        Annotated[
            str | None,
            said(
                "Por que é inválida, como `documento_invalido`, `nao_e_documento` ou"
                " `raiz_de_cnpj`; ou o erro; senão nulo. Podem surgir códigos novos."
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
        Annotated[int, said("Cobrados, ou reservados enquanto em andamento.")],
    ),
    RowField(
        lambda each: each.row.request_id,
        "requisicao",
        "request_id",
        Annotated[
            str | None,
            said(
                "Número da consulta, que `/conta/v1/operacoes/{request_id}` conhece.", format="uuid"
            ),
        ],
    ),
    RowField(
        lambda each: each.row.repeated_of,
        "repetida_de",
        "repetida_de",
        Annotated[int | None, said("A primeira linha igual; senão nulo.")],
    ),
    # With its signs: no spreadsheet takes it for a number.
    RowField(lambda each: each.row.document and writing.document(each.row.document), "documento"),
)


def members(row: ResultRow) -> Mapping[str, str | int | None]:
    """Return the fields of a row as JSONL and the API name them."""
    return {field.member: field.of(row) for field in ROW_FIELDS if field.member}


def row_type() -> type[msgspec.Struct]:
    """Return a type with those of `ROW_FIELDS` that are in the API's rows."""
    fields = [
        (field.member, field.api_type) for field in ROW_FIELDS if field.member and field.api_type
    ]
    return msgspec.defstruct("RowAnswer", fields, frozen=True)


class ResultColumns:
    """The columns of a result: the client's own first, then ours, then the comparison.

    Where the operator knows of `acts` that extend such certificates, ours have two more (contract
    4.12).
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
        self._facts = operation.in_sheets.facts
        self.names: Sequence[str] = (
            *self._header,
            *(f"{PREFIX}{field.column}" for field in self._fields),
            *(PREFIX + fact.name for fact in self._facts),
            *(PREFIX + name for name in _OF_ACTS if self._acts),
            *chain.from_iterable(
                (f"{PREFIX}confere_{fact}", f"{PREFIX}oficial_{fact}")
                for fact in columns.compared_facts
            ),
        )

    @property
    def own(self) -> int:
        """Return how many of the columns are the client's."""
        return len(self._header)

    def cells(self, row: ResultRow) -> Sequence[str]:
        """Return a row as texts, one for each name; the client's as they were."""
        body = _decode(row.answer) if row.answer else None
        found = list(self._own(row.cells))
        for field in self._fields:
            value = field.of(row)
            found.append("" if value is None else str(value))
        if body is None:
            found += [""] * len(self._facts)
        else:
            found += [fact.of(body) or "" for fact in self._facts]
        if self._acts:
            found += self._by_act(row, body)
        for each in self._compare(row.cells, body):
            found += (each.result, each.official)
        return found

    def compared(self, row: ResultRow) -> Sequence[Compared]:
        """Compare the file with the answer, in the order of the columns."""
        return self._compare(row.cells, _decode(row.answer) if row.answer else None)

    def _by_act(self, row: ResultRow, body: _Body | None) -> Sequence[str]:
        """Return the later day and the act. A state's answer lacks its UF; the question has it."""
        if body is None:
            return ("", "")
        read = self._columns.read(TableRow(row.row.line, row.cells))
        uf = read.question.uf if isinstance(read, AskedRow) else None
        later = by_act(self._acts, self._operation.subject, uf, body)
        return ("", "") if later is None else (writing.day(later.until), later.act)

    def _compare(self, cells: Cells, body: _Body | None) -> Sequence[Compared]:
        return compare(self._operation, self._columns.comparisons(cells), body)

    def _own(self, cells: Cells) -> Sequence[str]:
        """Return as many cells as the header has; those beyond it are joined in the last one."""
        width = len(self._header)
        if len(cells) > width > 0:
            over = [cell for cell in cells[width - 1 :] if cell]
            return (*cells[: width - 1], "; ".join(over))
        return (*cells, *[""] * (width - len(cells)))
