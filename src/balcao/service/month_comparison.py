"""Changes of the month in use: noticed, recorded, and compared for every portfolio.

A node notices its own changes; the first one records them for the installation. A durable job
compares the items, in another process that reads both months.
"""

import asyncio
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import structlog

from balcao.core.month_comparison import Comparison, WatchedSubject
from balcao.core.month_switch import ComparisonFigures, MonthInUse, MonthSwitch
from balcao.core.questions import Mode
from balcao.home import make_durable
from balcao.opendata.comparing import file_of_month, open_pair
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import Snapshot, current_edition, current_path
from balcao.service import processes
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.months import COMPARED_AT_ONCE, COMPARISON, Months, Portion

log = structlog.get_logger()

POLL_SECONDS = 2.0
MEASURED_SECONDS = 15.0
SEEN = "month-seen"  # a file of the store: the month that this node used when it looked last

# A step of the job ends after this time, which counts as progress.
STEP_SECONDS = 5.0
# The months may be on the disk of another node only, or damaged. If no node reports to have them
# for this time, the items are not verified: a comparison that never ends would block later ones.
FILES_AWAITED_MS = 600_000
FILES_POLL_SECONDS = 10.0
REPORT_SECONDS = 60.0
EARLIER_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 5.0  # for the end of a process whose pipe is closed


@dataclass(slots=True)
class MonthWatch:
    """Notices when this node's month in use changes, also while it was not running."""

    store: Path
    months: Months
    now_ms: Callable[[], int]
    mode: Mode = "live"

    def periodic(self) -> Periodic:
        return Periodic(f"month_switch_{self.mode}", self.poll, POLL_SECONDS)

    async def poll(self) -> None:
        """Record a change of the month, once for all nodes. Raises `StorageFailed`."""
        seen, month = await asyncio.to_thread(self._read)
        if month is None or month == seen:
            return
        now = await asyncio.to_thread(_month_in_use, self.store)
        if now is None or now.month != month:
            return  # it changes again
        switch_id = await self.months.record(seen, now, self.now_ms(), self.mode)
        if switch_id is not None:
            log.info("month.switched", month=month, mode=self.mode, switch=switch_id)
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
        self._closed = False

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
        """End for good, also in the middle of a comparison."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # the thread waits for its answer
        self._thread.shutdown(cancel_futures=True)
        self.end()

    # In the thread.

    def _ask(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        if self._pipe is None:
            self._process, ours = processes.begin("balcao.service.comparison_worker")
            self._pipe = Connection(ours.detach())
        if self._closed:  # perhaps since before the process began
            self.end()
            raise EOFError
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

    stores: Mapping[Mode, Path]
    months: Months
    comparer: Comparer
    now_ms: Callable[[], int]
    steady: Callable[[], float] = time.monotonic
    at_once: int = COMPARED_AT_ONCE  # items a commit
    _unreadable: set[tuple[Path, Path]] = field(default_factory=set)  # on this node

    def jobs(self) -> JobKind:
        return JobKind(COMPARISON, self.work, at_once=1, poll_seconds=1.0)

    def periodic(self) -> Periodic:
        return Periodic("month_files", self.report, REPORT_SECONDS)

    async def report(self) -> None:
        """Record for the other nodes that this one has the months that are compared.

        Raises `StorageFailed`.
        """
        for switch in await self.months.open_switches():
            if await asyncio.to_thread(self._can_open, switch):
                await self.months.note_files(switch.switch_id, self.now_ms())

    async def work(self, about: str) -> float | None:
        """Compare portions for some seconds. Return 0 until every portfolio is compared."""
        switch = await self.months.find(int(about))
        if switch is None or switch.ended_ms is not None:
            return None
        if await self.months.waits(switch.switch_id):
            return EARLIER_POLL_SECONDS
        files = await asyncio.to_thread(self._files, switch)
        reported_ms = max(switch.at_ms, switch.files_ms or 0)  # by any node
        awaits_files = self.now_ms() - reported_ms < FILES_AWAITED_MS
        if files is None and awaits_files:
            return FILES_POLL_SECONDS
        try:
            more = await self._portions(switch, files)
        except OpenDataError as error:
            log.warning("month.unreadable", month=switch.to_month, error=type(error).__name__)
            assert files is not None
            self._unreadable.add(files)
            if awaits_files:
                return FILES_POLL_SECONDS
            more = await self._portions(switch, None)
        if more:
            return 0.0
        await self.months.end(switch, self.now_ms())
        log.info("month.compared", month=switch.to_month, switch=switch.switch_id)
        await asyncio.to_thread(self.comparer.end)
        return None

    async def _portions(self, switch: MonthSwitch, files: tuple[Path, Path] | None) -> bool:
        """Compare portions for some seconds, the next one while one is written.

        Returns whether there may be more.
        """
        until = self.steady() + STEP_SECONDS
        portion = await self.months.portion(switch, self.at_once)
        comparing = self._begin(files, portion)
        try:
            while portion is not None:
                outcomes = await comparing
                following = None
                if self.steady() < until:
                    following = await self.months.portion(switch, self.at_once, portion)
                comparing = self._begin(files, following)
                if not await self.months.complete(portion, outcomes, self.now_ms()):
                    return True
                if following is None:
                    # Those before it are asked for again: an account may have got items meanwhile.
                    return True
                portion = following
        finally:
            comparing.cancel()
            await asyncio.gather(comparing, return_exceptions=True)
        return False

    def _begin(
        self, files: tuple[Path, Path] | None, portion: Portion | None
    ) -> "asyncio.Task[Sequence[Comparison]]":
        async def compare() -> Sequence[Comparison]:
            if portion is None or not portion.subjects:
                return ()
            if files is None:
                return [Comparison(verified=False) for _ in portion.subjects]
            return await self.comparer.compare(*files, portion.subjects)

        return asyncio.create_task(compare())

    def _files(self, switch: MonthSwitch) -> tuple[Path, Path] | None:
        store = self.stores[switch.mode]
        before = file_of_month(store, switch.from_month)
        after = file_of_month(store, switch.to_month)
        return None if before is None or after is None else (before, after)

    def _can_open(self, switch: MonthSwitch) -> bool:
        files = self._files(switch)
        if files is None or files in self._unreadable:
            return False
        try:
            with open_pair(*files):
                return True
        except OpenDataError:
            return False
