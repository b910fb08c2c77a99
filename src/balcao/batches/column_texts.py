"""The documentation of the columns of results, in Markdown, made from the columns themselves."""

from collections.abc import Callable, Iterable, Iterator, Sequence

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
_COMPARED = (
    "Duas colunas para cada coluna sua que existe também na resposta: `{0}confere_…` e"
    " `{0}oficial_…`, com um destes nomes no fim: {1}."
)


def columns_text(say: Callable[[str], str] = str) -> str:
    """Return a table of the columns of every result, and one for each operation.

    `say` translates the texts; titles stay as they are in spreadsheets.
    """
    return "\n\n".join(_parts(say))


def _parts(say: Callable[[str], str]) -> Iterator[str]:
    yield f"### {say('Em todo resultado')}"
    yield _table(row_columns(), say)
    for operation in OPERATIONS.values():
        yield f"### {say(operation.form.title)}"
        yield _table(own_columns(operation), say)
    yield f"### {say('Conferência com a sua lista')}"
    compared = ", ".join(f"`{fact}`" for fact in FACT_LABELS)
    yield say(_COMPARED).format(PREFIX, compared)
    yield _table(comparison_columns(["razao_social"]), say)


def own_columns(operation: Operation) -> Sequence[ResultColumn]:
    """Return the columns that only results of this operation have, without comparisons."""
    return columns_of(operation, acts=operation.issues)[len(row_columns()) :]


def _table(columns: Iterable[ResultColumn], say: Callable[[str], str]) -> str:
    cells = ((f"`{each.name}`", each.title, say(each.text)) for each in columns)
    rows = [map(say, _HEAD), ("--",) * 3, *cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
