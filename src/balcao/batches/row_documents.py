"""The subjects of a batch's rows, for requests that take a batch as a list (contract 20.2)."""

from collections.abc import Sequence

import msgspec

from balcao.batches.batch_context import BatchContext, row_tag
from balcao.batches.columns import ValidRow
from balcao.batches.tables.contract import TableRow
from balcao.batches.validating import columns_of
from balcao.operations.contract import Operation
from balcao.storage.batches import StoredBatch


class RowDocument(msgspec.Struct, frozen=True, gc=False):
    """The subject of a row with its marks. Its `repr` shows no document."""

    line: int
    document: str  # empty: the row has none that can be read
    birth: str | None = None
    ref: str | None = None
    client: str | None = None

    def __repr__(self) -> str:
        return f"RowDocument({self.line})"


def row_documents(
    context: BatchContext, batch: StoredBatch, operation: Operation
) -> Sequence[RowDocument]:
    """Return the subjects of all rows, in the order of the file. In a thread."""
    columns, seal = columns_of(context, batch, operation), context.seal(batch)
    found = []
    for row in context.parts.desk.batches.results(batch.batch_id):
        if row.cells is None:
            found.append(RowDocument(row.line, ""))
            continue
        parsed = columns.read(TableRow(row.line, seal.open_cells(row.line, row.cells)))
        document, birth = parsed.document, None
        if isinstance(parsed, ValidRow):
            birth = parsed.question.inquiries[0].birth
        text = "" if document is None else document.text
        found.append(RowDocument(row.line, text, birth, row_tag(row.ref), row_tag(row.client)))
    return found
