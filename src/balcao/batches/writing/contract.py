"""What the writers are given: the rows of a batch, in order, with what came of each."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from balcao.batches.columns import AskedRow, ColumnMap
from balcao.batches.comparing import Compared, compare
from balcao.batches.tables.contract import Cells, TableRow
from balcao.core import writing
from balcao.core.extensions import Extension
from balcao.operations.certificates.lookup import by_act
from balcao.operations.contract import Operation

# As the API and the files call them (`linhas?estado=`).
RowState: TypeAlias = Literal[
    "invalida",
    "repetida",
    "pendente",
    "em_andamento",
    "concluida",
    "falha",
    "recusada",
    "cancelada",
]

PREFIX = "balcao_"
_OF_EVERY_ROW = (
    "linha",
    "estado",
    "codigo",
    "mensagem",
    "creditos",
    "requisicao",
    "repetida_de",
    "documento",
)

_OF_ACTS = ("prorrogada_por_ato_ate", "ato")

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RowFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a row besides its own cells and the answer."""

    line: int
    state: RowState
    ref: str | None = None
    client: str | None = None
    document: str | None = None  # a CNPJ, or a masked CPF
    request_id: str | None = None
    credits: int = 0
    code: str | None = None
    message: str | None = None  # in Portuguese
    repeated_of: int | None = None  # the line of the first equal row


class ResultRow(NamedTuple):
    """A row to be written. `answer` is the whole envelope as it was delivered, JSON.

    A repeated row may be given the answer of the row that it repeats.
    """

    cells: Cells
    facts: RowFacts
    answer: bytes | None


class ResultColumns:
    """The columns of a result: the client's own first, then ours, then the comparison.

    Where the operator knows of `acts` that extend such certificates, ours have two more (decisions
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
        self._facts = operation.in_sheets.facts
        compared = columns.compared_facts
        self.names: Sequence[str] = (
            *self._header,
            *(PREFIX + name for name in _OF_EVERY_ROW),
            *(PREFIX + fact.name for fact in self._facts),
            *(PREFIX + name for name in _OF_ACTS if self._acts),
            *chain.from_iterable(
                (f"{PREFIX}confere_{fact}", f"{PREFIX}oficial_{fact}") for fact in compared
            ),
        )

    @property
    def own(self) -> int:
        """How many of the columns are the client's."""
        return len(self._header)

    def cells(self, row: ResultRow) -> Sequence[str]:
        """The row as texts, as many as names; the client's as they were."""
        body = _decode(row.answer) if row.answer else None
        found: list[str] = [*self._own(row.cells), *_of_every_row(row.facts)]
        if body is None:
            found += [""] * len(self._facts)
        else:
            found += [fact.of(body) or "" for fact in self._facts]
        if self._acts:
            found += self._by_act(row, body)
        for each in self._compare(row.cells, body):
            found += (each.result, each.official)
        return found

    def _by_act(self, row: ResultRow, body: Mapping[str, Any] | None) -> Sequence[str]:
        """The later day and the act. A state's answer does not say its UF; what was asked does."""
        if body is None:
            return ("", "")
        read = self._columns.read(TableRow(row.facts.line, row.cells))
        uf = read.question.uf if isinstance(read, AskedRow) else None
        later = by_act(self._acts, self._operation.subject, uf, body)
        return ("", "") if later is None else (writing.day(later.until), later.act)

    def compared(self, row: ResultRow) -> Sequence[Compared]:
        """What the file says beside what the answer says, in the order of the columns."""
        return self._compare(row.cells, _decode(row.answer) if row.answer else None)

    def _compare(self, cells: Cells, body: Mapping[str, Any] | None) -> Sequence[Compared]:
        return compare(self._operation, self._columns.comparisons(cells), body)

    def _own(self, cells: Cells) -> Sequence[str]:
        """As many as the header has; what is beyond it stands in the last one, and is not lost."""
        width = len(self._header)
        if len(cells) > width > 0:
            over = [cell for cell in cells[width - 1 :] if cell]
            return (*cells[: width - 1], "; ".join(over))
        return (*cells, *[""] * (width - len(cells)))


def _of_every_row(facts: RowFacts) -> Sequence[str]:
    document = facts.document
    if document and "*" in document:
        document = writing.cpf(document)
    elif document:
        document = writing.cnpj(document)  # with its signs no spreadsheet takes it for a number
    return (
        str(facts.line),
        facts.state,
        facts.code or "",
        facts.message or "",
        str(facts.credits),
        facts.request_id or "",
        "" if facts.repeated_of is None else str(facts.repeated_of),
        document or "",
    )
