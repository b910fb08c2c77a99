"""Searches in processes of their own: none of them takes the interpreter from lookups."""

import asyncio
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import structlog

from balcao.core.errors import SearchUnavailable
from balcao.core.questions import Mode
from balcao.core.search import Filters, HitCount, PartnerFilters
from balcao.core.search_answers import CompaniesPage, PartnersPage
from balcao.opendata.errors import OpenDataError
from balcao.service import processes
from balcao.service.searcher import Sought

log = structlog.get_logger()

T = TypeVar("T")

_PROCESSES = 2  # lookups want the other processors
_PATIENCE_SECONDS = 5.0  # for the end of one that has nobody at the other end any more


class Searching:
    """Answers searches over the months in use. Raises `SearchUnavailable` where there is no index.

    A search comes to an end by itself, within its budget (`core.search.PageEffort`). A process is
    started by the first search that finds none, and again if it died.
    """

    def __init__(self, stores: Mapping[Mode, Path]) -> None:
        self._stores = stores
        # Each thread waits for a process of its own.
        self._threads = ThreadPoolExecutor(_PROCESSES, "search")
        self._here = threading.local()
        self._workers: list[_Worker] = []

    async def companies(
        self, mode: Mode, filters: Filters, cursor: str | None, limit: int
    ) -> CompaniesPage:
        """See `answering.companies`."""
        return await self._run(mode, ("companies", filters, cursor, limit), CompaniesPage)

    async def count(self, mode: Mode, filters: Filters) -> HitCount:
        """See `answering.counted`."""
        return await self._run(mode, ("count", filters), HitCount)

    async def partners(self, mode: Mode, filters: PartnerFilters, limit: int) -> PartnersPage:
        """See `answering.partners`."""
        return await self._run(mode, ("partners", filters, limit), PartnersPage)

    def close(self) -> None:
        """Wait for those under way, and end the processes."""
        self._threads.shutdown()
        for worker in self._workers:
            worker.end()

    async def _run(self, mode: Mode, sought: Sought, kind: type[T]) -> T:
        loop = asyncio.get_running_loop()
        said = await loop.run_in_executor(self._threads, partial(self._asked, mode, sought))
        if isinstance(said, OpenDataError):
            log.warning("search.damaged", mode=mode, detail=str(said))
            raise SearchUnavailable from said
        if isinstance(said, Exception):
            raise said
        assert isinstance(said, kind)
        return said

    # In a thread.

    def _asked(self, mode: Mode, sought: Sought) -> object:
        try:
            return self._worker().ask(self._stores[mode], sought)
        except (EOFError, OSError):  # it was killed: as by who lacked memory
            log.error("search.process_ended")
        try:
            return self._worker().ask(self._stores[mode], sought)
        except (EOFError, OSError):
            return SearchUnavailable()

    def _worker(self) -> "_Worker":
        worker: _Worker | None = getattr(self._here, "worker", None)
        if worker is not None and worker.ended:
            self._workers.remove(worker)
            worker = None
        if worker is None:
            worker = self._here.worker = _Worker()
            self._workers.append(worker)
        return worker


class _Worker:
    """One process (`service.searcher`), and our end of its pipe."""

    def __init__(self) -> None:
        self.process, ours = processes.begin("balcao.service.searcher")
        self._pipe = Connection(ours.detach())
        self.ended = False

    def ask(self, store: Path, sought: Sought) -> object:
        """What it says. Raises `EOFError` or `OSError`: it is no more."""
        try:
            self._pipe.send((store, sought))
            said: object = self._pipe.recv()
        except (EOFError, OSError):
            self.end()
            raise
        return said

    def end(self) -> None:
        """Let it end, and see to it that it does."""
        self.ended = True
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_PATIENCE_SECONDS)
        self.process.kill()
        self.process.wait()
