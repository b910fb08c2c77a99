"""A company search as the list of companies of a request to the portfolio: `?busca=`.

Contract 20.2.
"""

from collections.abc import Sequence

from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.calendar import civil_day
from balcao.core.search import LIMIT_MAX, NAMES, read_filters
from balcao.core.wallet import SYNCED_AT_ONCE, ItemRequest
from balcao.core.writing import whole
from balcao.http.read import Request
from balcao.http.searches import COMPANIES, OPERATIONS, Searches, allowed
from balcao.http.texts import TEXT
from balcao.lookup.wallet import ItemLine
from balcao.operations.parameters import Parameter, Parameters, split

SEARCH = Parameter(
    "busca",
    "Os parâmetros de uma busca de empresas, codificados"
    f" (`uf%3DSP%26cnae%3D6201501`), com até {whole(SYNCED_AT_ONCE)} resultados: eles são a lista."
    " Sem `limite` e `cursor`. Não custa nada.",
    TEXT,
)
SEARCH_PROBLEMS = (
    errors.FilterRequired,
    errors.PeopleNotEnabled,
    errors.CursorOfAnotherMonth,
    errors.SearchUnavailable,
    errors.Overloaded,
)

_FILTERS = frozenset(NAMES) - {"limite", "cursor"}


def search_named(request: Request) -> str | None:
    """Return the encoded query of a request."""
    return Parameters(request.query, request.headers, (SEARCH.name,)).text(SEARCH.name)


async def lines_of_search(
    searches: Searches, caller: Caller, query: str, stated: ItemRequest
) -> Sequence[ItemLine]:
    """Return a line for each company found; `stated` holds for all.

    Raises the errors of a search, `InvalidParameter` for what is no filter or finds too many.
    """
    restrictions = caller.restrictions
    if restrictions is not None and not restrictions.allows_operation(OPERATIONS[COMPANIES]):
        raise errors.OperationNotAllowed
    text = query.encode()
    for name, _ in split(text):
        # A misspelt filter would select more.
        if name not in _FILTERS:
            raise errors.InvalidParameter(f"busca: {name[:40]} não é um filtro da busca.")
    sent = Parameters(text, {}, [*_FILTERS])
    today = civil_day(searches.now_ms()).isoformat()
    filters = allowed(read_filters(sent.text, today), caller)
    found: list[str] = []
    cursor: str | None = None
    with searches.slots.slot(caller):
        while True:
            page = await searches.searcher.companies(caller.mode, filters, cursor, LIMIT_MAX)
            found += [each.cnpj for each in page.itens]
            cursor = page.cursor
            if len(found) > SYNCED_AT_ONCE:
                raise errors.InvalidParameter(
                    f"busca: tem mais de {whole(SYNCED_AT_ONCE)} resultados; informe mais filtros."
                )
            if cursor is None:
                return [ItemLine(cnpj, stated) for cnpj in found]
