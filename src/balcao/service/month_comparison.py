"""Changes of the month in use: noticed, recorded, and compared for every portfolio.

A node notices its own changes; the first one records them for the installation. A durable job
compares the items, in another process that reads both months.
"""

import asyncio
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import structlog

from balcao.core.month_comparison import Comparison, WatchedSubject
from balcao.core.month_switch import ComparisonFigures, MonthInUse, MonthSwitch
from balcao.home import make_durable
from balcao.opendata.comparing import file_of_month
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import Snapshot, current_edition, current_path
from balcao.service import processes
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.months import COMPARED_AT_ONCE, COMPARISON, Months

log = structlog.get_logger()

POLL_SECONDS = 2.0
MEASURED_SECONDS = 15.0
SEEN = "month-seen"  # a file of the store: the month that this node used when it looked last

# A step of the job ends after this time, which counts as progress.
STEP_SECONDS = 5.0
# The months may be on the disk of another node only, or damaged. After this time the items are not
# verified: a comparison that never ends would block those of later months.
FILES_AWAITED_MS = 600_000
FILES_POLL_SECONDS = 10.0
EARLIER_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 5.0  # for the end of a process whose pipe is closed


@dataclass(slots=True)
class MonthWatch:
    """Notices when this node's month in use changes, also while it was not running."""

    store: Path
    months: Months
    now_ms: Callable[[], int]

    def periodic(self) -> Periodic:
        return Periodic("month_switch", self.poll, POLL_SECONDS)

    async def poll(self) -> None:
        """Record a change of the month, once for all nodes. Raises `StorageFailed`."""
        seen, month = await asyncio.to_thread(self._read)
        if month is None or month == seen:
            return
        now = await asyncio.to_thread(_month_in_use, self.store)
        if now is None or now.month != month:
            return  # it changes again
        switch_id = await self.months.record(seen, now, self.now_ms())
        if switch_id is not None:
            log.info("month.switched", month=month, switch=switch_id)
        await asyncio.to_thread(_write_seen, self.store, month)

    def _read(self) -> tuple[str | None, str | None]:
        try:
            seen = (self.store / SEEN).read_text("ascii").strip()
        except OSError:
            seen = None
        try:
            return seen, f"{current_edition(self.store).extraction_date:%Y-%m}"
        except OpenDataError:
            return seen, None


@dataclass(slots=True)
class ComparisonMeasured:
    """Figures of the last comparison for the metrics, read from the database periodically."""

    months: Months
    now_ms: Callable[[], int]
    _last: ComparisonFigures | None = None

    def __call__(self) -> tuple[ComparisonFigures, float] | None:
        """Return the figures, and the seconds that it took; None: no change is recorded."""
        return None if self._last is None else (self._last, self._last.seconds(self.now_ms()))

    def periodic(self) -> Periodic:
        return Periodic("month_comparison_figures", self.poll, MEASURED_SECONDS)

    async def poll(self) -> None:
        """Read the figures. Raises `StorageFailed`."""
        self._last = await self.months.last_comparison()


def _month_in_use(store: Path) -> MonthInUse | None:
    try:
        with closing(Snapshot.open(current_path(store))) as snapshot:
            rows = snapshot.info().rows
            return MonthInUse(snapshot.extraction_date, rows.get("Estabelecimentos", 0))
    except OpenDataError:
        return None


def _write_seen(store: Path, month: str) -> None:
    temporary = store / f"{SEEN}.new"
    temporary.write_text(f"{month}\n", "ascii")
    temporary.replace(store / SEEN)
    make_durable(store)


class Comparer:
    """Compares subjects between two months, in a process of its own.

    The process is started when needed, and again if it died.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "comparison")
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    async def compare(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        """Return the outcome of each subject. Raises `OpenDataError`; `OSError` or `EOFError` if
        the process died.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._ask, before, after, subjects)

    def end(self) -> None:
        """End the process; the next comparison starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_SECONDS)
            self._process.kill()
            self._process.wait()
        self._pipe = self._process = None

    def close(self) -> None:
        self._thread.shutdown()
        self.end()

    # In the thread.

    def _ask(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        if self._pipe is None:
            self._process, ours = processes.begin("balcao.service.comparison_worker")
            self._pipe = Connection(ours.detach())
        try:
            self._pipe.send((before, after, subjects))
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self.end()
            raise
        if isinstance(answer, OpenDataError):
            raise answer
        assert isinstance(answer, list)
        return answer


@dataclass(slots=True)
class MonthComparison:
    """The job that compares every portfolio after a change of the month."""

    store: Path
    months: Months
    comparer: Comparer
    now_ms: Callable[[], int]
    steady: Callable[[], float] = time.monotonic
    at_once: int = COMPARED_AT_ONCE  # items a commit

    def jobs(self) -> JobKind:
        return JobKind(COMPARISON, self.work, at_once=1, poll_seconds=1.0)

    async def work(self, about: str) -> float | None:
        """Compare portions for some seconds. Return 0 until every portfolio is compared."""
        switch = await self.months.find(int(about))
        if switch is None or switch.ended_ms is not None:
            return None
        if await self.months.waits(switch.switch_id):
            return EARLIER_POLL_SECONDS
        files = await asyncio.to_thread(self._files, switch)
        awaits_files = self.now_ms() - switch.at_ms < FILES_AWAITED_MS
        if files is None and awaits_files:
            return FILES_POLL_SECONDS
        until = self.steady() + STEP_SECONDS
        while self.steady() < until:
            try:
                more = await self.step(switch, files)
            except OpenDataError as error:
                log.warning("month.unreadable", month=switch.to_month, error=type(error).__name__)
                if awaits_files:
                    return FILES_POLL_SECONDS
                more = await self.step(switch, None)
            if not more:
                await self.months.end(switch, self.now_ms())
                log.info("month.compared", month=switch.to_month, switch=switch.switch_id)
                await asyncio.to_thread(self.comparer.end)
                return None
        return 0.0

    async def step(self, switch: MonthSwitch, files: tuple[Path, Path] | None) -> bool:
        """Compare one portion. Return whether there was one."""
        portion = await self.months.portion(switch, self.at_once)
        if portion is None:
            return False
        outcomes: Sequence[Comparison] = [Comparison(verified=False) for _ in portion.subjects]
        if files is not None and portion.subjects:
            outcomes = await self.comparer.compare(*files, portion.subjects)
        await self.months.complete(portion, outcomes, self.now_ms())
        return True

    def _files(self, switch: MonthSwitch) -> tuple[Path, Path] | None:
        before = file_of_month(self.store, switch.from_month)
        after = file_of_month(self.store, switch.to_month)
        return None if before is None or after is None else (before, after)
