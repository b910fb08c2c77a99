"""Backups now and then, beside the requests: in a thread, and never in their way."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import apsw
import structlog

from balcao.backup.making import make
from balcao.core.calendar import HOUR_MS
from balcao.core.errors import BalcaoError
from balcao.settings import Settings
from balcao.storage.backup_files import newest_ms, remove_old
from balcao.storage.contract import Maker
from balcao.storage.places import place_of
from balcao.storage.transfer.errors import BackupError, BackupStopped

log = structlog.get_logger()

# Not in the hurry of a start; and whoever looks often sees those that were made by hand.
FIRST_SECONDS = 60.0
POLL_SECONDS_MAX = 3600


@dataclass(slots=True)
class Schedule:
    """One backup every so many hours. `tell` learns when the newest was made, in ms."""

    settings: Settings
    now_ms: Callable[[], int]
    tell: Callable[[int], None]
    _end: threading.Event = field(default_factory=threading.Event)
    _maker: Maker | None = None
    _turning: bool = False

    @property
    def wanted(self) -> bool:
        """Whether there are to be any."""
        return self.settings.backup_every_hours > 0

    async def look(self) -> float:
        """`turn`, in a thread. After it has ended for good, call `stop`."""
        await self._tell_newest()
        wait = await asyncio.to_thread(self.turn)
        await self._tell_newest()
        return wait

    async def _tell_newest(self) -> None:
        newest = await asyncio.to_thread(newest_ms, self.settings.backups)
        if newest is not None:
            self.tell(newest)

    def stop(self) -> None:
        """A backup under way ends soon, and leaves nothing."""
        self._end.set()
        if not self._turning:
            self._let_go()

    def turn(self) -> float:
        """Make one if it is due. In how many seconds to look again.

        Raises `BackupError`, `BalcaoError`, `apsw.Error`, `OSError`: see `on_failure`.
        """
        self._turning = True
        try:
            due_ms = self._due_in_ms()
            if due_ms > 0:
                return min(max(1.0, due_ms / 1000), POLL_SECONDS_MAX)
            if not self._is_ours():
                return POLL_SECONDS_MAX
            made = make(self.settings, self.now_ms, stopped=self._end.is_set)
            removed = remove_old(self.settings.backups, self.settings.backup_keep)
            log.info("backup.made", file=made.path.name, bytes=made.bytes, removed=removed)
            if made.manifest.receipts_missing:
                log.warning("backup.receipts_missing", count=made.manifest.receipts_missing)
            return min(self._every_ms() / 1000, POLL_SECONDS_MAX)
        except BackupStopped:
            return POLL_SECONDS_MAX
        finally:
            self._turning = False
            if self._end.is_set():
                self._let_go()

    def on_failure(self, error: Exception) -> bool:
        """Tell of what kept one from being made; False: a bug. The disk may have room later."""
        known = isinstance(error, BackupError | BalcaoError | apsw.Error | OSError)
        if known:  # SQLite's and the system's words name no row
            log.error("backup.failed", error=type(error).__name__, detail=str(error))
        return known

    def _let_go(self) -> None:
        if self._maker is not None:
            self._maker.close()

    def _every_ms(self) -> int:
        return self.settings.backup_every_hours * HOUR_MS

    def _due_in_ms(self) -> int:
        newest = newest_ms(self.settings.backups)
        now = self.now_ms()
        # One from the future is of a clock that was wrong: it proves nothing.
        return 0 if newest is None or newest > now + HOUR_MS else newest + self._every_ms() - now

    def _is_ours(self) -> bool:
        """Whether this process makes them: on SQLite it is alone, of nodes one does."""
        if self._maker is None:
            self._maker = place_of(self.settings).backup_maker()
        return self._maker.is_ours()
