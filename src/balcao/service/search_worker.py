"""A search process: `python -m balcao.service.search_worker DESCRIPTOR`, of its end of the pipe.

Filtering candidates keeps the interpreter busy, so searches run outside the serving process and
at a lower priority. `service/search_pool.py` starts it. It ignores signals and ends when the pipe
is closed, so it does not outlive the service.
"""

import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal, TypeAlias

from balcao.core.errors import BalcaoError, SearchUnavailable
from balcao.core.search import Filters, HitCount, PartnerFilters
from balcao.core.search_answers import CompaniesPage, PartnersPage
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.answering import CurrentIndex, companies, counted, counts, partners
from balcao.opendata.search.index import SearchIndex
from balcao.service import processes

# Lookups have priority; searches hardly take longer.
NICE = 10

# Requests are tuples with a tag, sent pickled.
CompaniesRequest: TypeAlias = tuple[Literal["companies"], Filters, str | None, int]
CountRequest: TypeAlias = tuple[Literal["count"], Filters]
CountsRequest: TypeAlias = tuple[Literal["counts"], Sequence[Filters]]
PartnersRequest: TypeAlias = tuple[Literal["partners"], PartnerFilters, int]
SearchRequest: TypeAlias = CompaniesRequest | CountRequest | CountsRequest | PartnersRequest
Answer: TypeAlias = CompaniesPage | HitCount | Sequence[HitCount] | PartnersPage


def search(index: SearchIndex, request: SearchRequest) -> Answer:
    """Return one page, counts, or partners. Raises the errors of `answering`."""
    now = time.monotonic
    match request:
        case ("companies", filters, cursor, limit):
            return companies(index, filters, cursor, limit, now)
        case ("count", filters):
            return counted(index, filters, now)
        case ("counts", several):
            return counts(index, several, now)
        case ("partners", partner_filters, limit):
            return partners(index, partner_filters, limit, now)


def _answer(current: Callable[[Path], CurrentIndex], store: Path, request: SearchRequest) -> object:
    try:
        index = current(store).index
        return SearchUnavailable() if index is None else search(index, request)
    except (OpenDataError, BalcaoError) as error:
        return error
    except Exception as error:
        return RuntimeError(type(error).__name__)  # its message may contain the query


def serve(pipe: Connection) -> None:
    """Answer requests until the other end is closed."""
    opened: dict[Path, CurrentIndex] = {}

    def current(store: Path) -> CurrentIndex:
        if store not in opened:
            opened[store] = CurrentIndex(store, time.monotonic)
        return opened[store]

    try:
        while True:
            store, request = pipe.recv()
            pipe.send(_answer(current, store, request))
    except (EOFError, OSError):
        pass
    finally:
        for each in opened.values():
            each.close()


def main() -> None:
    """Serve the pipe's end that the command line names."""
    number = processes.descriptor()
    os.nice(NICE)
    serve(Connection(number))


if __name__ == "__main__":
    main()
