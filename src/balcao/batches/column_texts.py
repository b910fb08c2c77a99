"""The documentation of the columns of results, in Markdown, made from the columns themselves."""

from collections.abc import Iterable, Iterator, Sequence

from balcao.batches.names import FACT_LABELS
from balcao.batches.result_columns import (
    PREFIX,
    ResultColumn,
    columns_of,
    comparison_columns,
    row_columns,
)
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation

_HEAD = ("Em CSV", "Na planilha", "Conteúdo")


def columns_text() -> str:
    """Return a table of the columns of every result, and one for each operation."""
    return "\n\n".join(_parts())


def _parts() -> Iterator[str]:
    yield "### Em todo resultado"
    yield _table(row_columns())
    for operation in OPERATIONS.values():
        yield f"### {operation.form.title}"
        yield _table(own_columns(operation))
    yield "### Conferência com a sua lista"
    compared = ", ".join(f"`{fact}`" for fact in FACT_LABELS)
    yield (
        "Duas colunas para cada coluna sua que existe também na resposta:"
        f" `{PREFIX}confere_…` e `{PREFIX}oficial_…`, com um destes nomes no fim: {compared}."
    )
    yield _table(comparison_columns(["razao_social"]))


def own_columns(operation: Operation) -> Sequence[ResultColumn]:
    """Return the columns that only results of this operation have, without comparisons."""
    return columns_of(operation, acts=operation.issues)[len(row_columns()) :]


def _table(columns: Iterable[ResultColumn]) -> str:
    rows = [_HEAD, ("--",) * 3, *((f"`{each.name}`", each.title, each.text) for each in columns)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
