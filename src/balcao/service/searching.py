"""Searches in threads of their own: none keeps the event loop, and each has its own files."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from balcao.core.questions import Mode
from balcao.core.search import Filters, HitCount, PartnerFilters
from balcao.core.search_answers import CompaniesPage, PartnersPage
from balcao.errors import SearchUnavailable
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search import answering
from balcao.opendata.search.answering import CurrentIndex
from balcao.opendata.search.index import SearchIndex

log = structlog.get_logger()

T = TypeVar("T")

_THREADS = 2  # lookups want the other processors


class Searching:
    """Answers searches over the months in use. Raises `SearchUnavailable` where there is no index.

    A search comes to an end by itself, within its budget (`core.search.PageEffort`).
    """

    def __init__(self, stores: Mapping[Mode, Path]) -> None:
        self._stores = stores
        self._threads = ThreadPoolExecutor(_THREADS, "search")
        self._here = threading.local()
        self._opened: list[CurrentIndex] = []

    async def companies(
        self, mode: Mode, filters: Filters, cursor: str | None, limit: int
    ) -> CompaniesPage:
        """See `answering.companies`."""
        return await self._run(
            mode,
            lambda index: answering.companies(index, filters, cursor, limit, time.monotonic),
        )

    async def count(self, mode: Mode, filters: Filters) -> HitCount:
        """See `answering.counted`."""
        return await self._run(
            mode, lambda index: answering.counted(index, filters, time.monotonic)
        )

    async def partners(self, mode: Mode, filters: PartnerFilters, limit: int) -> PartnersPage:
        """See `answering.partners`."""
        return await self._run(
            mode, lambda index: answering.partners(index, filters, limit, time.monotonic)
        )

    def close(self) -> None:
        """Wait for those under way, and release the files."""
        self._threads.shutdown()
        for current in self._opened:
            current.close()

    async def _run(self, mode: Mode, search: Callable[[SearchIndex], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(self._searched, mode, search))

    def _searched(self, mode: Mode, search: Callable[[SearchIndex], T]) -> T:
        index = self._current(mode).index
        if index is None:
            raise SearchUnavailable
        try:
            return search(index)
        except OpenDataError as error:
            log.warning("search.damaged", mode=mode, detail=str(error))
            raise SearchUnavailable from error

    def _current(self, mode: Mode) -> CurrentIndex:
        found: dict[Mode, CurrentIndex] = self._here.__dict__.setdefault("by_mode", {})
        if mode not in found:
            found[mode] = CurrentIndex(self._stores[mode], time.monotonic)
            self._opened.append(found[mode])
        return found[mode]
