"""Pool of search processes, so that searches do not block the interpreter for lookups."""

import asyncio
import subprocess
import threading
from collections.abc import Mapping, Sequence
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
from balcao.service.search_worker import SearchRequest

log = structlog.get_logger()

T = TypeVar("T")

_PROCESSES = 2  # the other processors are for lookups
_PATIENCE_SECONDS = 5.0  # for the end of a process whose pipe is closed


class SearchPool:
    """Answers searches over the months in use. Raises `SearchUnavailable` where there is no index.

    Searches end by themselves, within their budget (`core.search.PageEffort`). Processes are
    started when needed, and again if they died.
    """

    def __init__(self, stores: Mapping[Mode, Path]) -> None:
        self._stores = stores
        # Each thread waits for its own process.
        self._threads = ThreadPoolExecutor(_PROCESSES, "search")
        self._of_thread = threading.local()
        self._workers: list[_Worker] = []

    async def companies(
        self, mode: Mode, filters: Filters, cursor: str | None, limit: int
    ) -> CompaniesPage:
        return await self._run(mode, ("companies", filters, cursor, limit), CompaniesPage)

    async def count(self, mode: Mode, filters: Filters) -> HitCount:
        return await self._run(mode, ("count", filters), HitCount)

    async def counts(self, mode: Mode, several: Sequence[Filters]) -> Sequence[HitCount]:
        return await self._run(mode, ("counts", several), list)

    async def partners(self, mode: Mode, filters: PartnerFilters, limit: int) -> PartnersPage:
        return await self._run(mode, ("partners", filters, limit), PartnersPage)

    def close(self) -> None:
        """Wait for running searches, and end the processes."""
        self._threads.shutdown()
        for worker in self._workers:
            worker.end()

    async def _run(self, mode: Mode, request: SearchRequest, kind: type[T]) -> T:
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, partial(self._ask, mode, request))
        if isinstance(answer, OpenDataError):
            log.warning("search.damaged", mode=mode, detail=str(answer))
            raise SearchUnavailable from answer
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, kind)
        return answer

    # In a thread.

    def _ask(self, mode: Mode, request: SearchRequest) -> object:
        try:
            return self._worker().ask(self._stores[mode], request)
        except (EOFError, OSError):  # killed, for example for lack of memory
            log.error("search.process_ended")
        try:
            return self._worker().ask(self._stores[mode], request)
        except (EOFError, OSError):
            return SearchUnavailable()

    def _worker(self) -> "_Worker":
        worker: _Worker | None = getattr(self._of_thread, "worker", None)
        if worker is not None and worker.ended:
            self._workers.remove(worker)
            worker = None
        if worker is None:
            worker = self._of_thread.worker = _Worker()
            self._workers.append(worker)
        return worker


class _Worker:
    """One search process (`service.search_worker`), and our end of its pipe."""

    def __init__(self) -> None:
        self.process, ours = processes.begin("balcao.service.search_worker")
        self._pipe = Connection(ours.detach())
        self.ended = False

    def ask(self, store: Path, request: SearchRequest) -> object:
        """Return the process's answer. Raises `EOFError` or `OSError` if it died."""
        try:
            self._pipe.send((store, request))
            answer: object = self._pipe.recv()
        except (EOFError, OSError):
            self.end()
            raise
        return answer

    def end(self) -> None:
        """Close the pipe, which ends the process; kill it if it does not end."""
        self.ended = True
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_PATIENCE_SECONDS)
        self.process.kill()
        self.process.wait()
