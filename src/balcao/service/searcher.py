"""A process that searches: `python -m balcao.service.searcher NUMBER`, of the pipe's end.

Looking through candidates is work of the interpreter, which whoever serves lookups needs for
itself. So searches are made elsewhere, at a lower priority. It is started by the service
(`service/searching.py`) and ends with the pipe: it hears no signal that a terminal or a supervisor
sends to all processes, and outlives nobody.
"""

import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal, TypeAlias

from balcao.core.errors import BalcaoError, SearchUnavailable
from balcao.core.search import Filters, HitCount, PartnerFilters
from balcao.core.search_answers import CompaniesPage, PartnersPage
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.answering import CurrentIndex, companies, counted, partners
from balcao.opendata.search.index import SearchIndex
from balcao.service import processes

# Lookups come first; a person who searches hardly notices.
NICE = 10

# Where the months are, and what is sought: named, so that it can be sent.
CompaniesSought: TypeAlias = tuple[Literal["companies"], Filters, str | None, int]
CountSought: TypeAlias = tuple[Literal["count"], Filters]
PartnersSought: TypeAlias = tuple[Literal["partners"], PartnerFilters, int]
Sought: TypeAlias = CompaniesSought | CountSought | PartnersSought
Answer: TypeAlias = CompaniesPage | HitCount | PartnersPage


def search(index: SearchIndex, sought: Sought) -> Answer:
    """One page, a count, or partners. Raises what `answering` does."""
    now = time.monotonic
    match sought:
        case ("companies", filters, cursor, limit):
            return companies(index, filters, cursor, limit, now)
        case ("count", filters):
            return counted(index, filters, now)
        case ("partners", wanted, limit):
            return partners(index, wanted, limit, now)


def _answered(current: Callable[[Path], CurrentIndex], store: Path, sought: Sought) -> object:
    try:
        index = current(store).index
        return SearchUnavailable() if index is None else search(index, sought)
    except (OpenDataError, BalcaoError) as error:
        return error
    except Exception as error:
        return RuntimeError(type(error).__name__)  # its words may hold what was sought


def serve(pipe: Connection) -> None:
    """Answer what comes, until nobody is at the other end."""
    opened: dict[Path, CurrentIndex] = {}

    def current(store: Path) -> CurrentIndex:
        if store not in opened:
            opened[store] = CurrentIndex(store, time.monotonic)
        return opened[store]

    try:
        while True:
            store, sought = pipe.recv()
            pipe.send(_answered(current, store, sought))
    except (EOFError, OSError):
        pass
    finally:
        for each in opened.values():
            each.close()


def main() -> None:
    """See the module."""
    number = processes.descriptor()
    os.nice(NICE)
    serve(Connection(number))


if __name__ == "__main__":
    main()
