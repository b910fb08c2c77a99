"""The published month and its precomputed answers, reopened when another is published."""

from collections.abc import Callable, Collection, Mapping
from datetime import date
from pathlib import Path
from threading import Lock

from balcao.core.company import Company, masked
from balcao.core.documents import Cnpj
from balcao.core.month_detail import MonthDetail
from balcao.opendata.answers import Answers, answers_path
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import CURRENT, Snapshot, current_path

_CHECK_SECONDS = 1.0


class CurrentSnapshot:
    """The published month, reopened when another is published; servers need no restart."""

    def __init__(self, store: Path, clock: Callable[[], float]) -> None:
        """`clock`: a monotonic clock, in seconds."""
        self._store = store
        self._clock = clock
        self._pointer = store / CURRENT
        self._seen: tuple[int, int] | None = None
        self._snapshot: Snapshot | None = None
        self._answers: Answers | None = None
        self._file: tuple[int, int] | None = None  # of the answers
        self._unusable: tuple[int, int] | None = None  # a file of answers that is not opened again
        self._next_check_at = float("-inf")
        self._edition = 0
        self._in_threads: CurrentSnapshot | None = None  # opened when it is first needed
        self._lock = Lock()  # of `_in_threads`

    @property
    def edition(self) -> int:
        """The number of times that a month was opened; it changes with the published month."""
        if self._clock() >= self._next_check_at:  # called for every requested company
            self._refresh()
        return self._edition

    @property
    def extraction_date(self) -> date | None:
        snapshot = self._refresh()
        return None if snapshot is None else snapshot.extraction_date

    def find(self, cnpj: Cnpj) -> Company | None:
        """Call `Snapshot.find` on the published month; None when nothing was imported."""
        snapshot = self._refresh()
        return None if snapshot is None else snapshot.find(cnpj)

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        """Call `Snapshot.is_head_office`; None also when nothing was imported."""
        snapshot = self._refresh()
        return None if snapshot is None else snapshot.is_head_office(cnpj)

    def has_company(self, root: str) -> bool:
        """Return whether the published month has the company of a root."""
        snapshot = self._refresh()
        return snapshot is not None and snapshot.company_rows(root)[0] is not None

    def find_head_office(self, root: str) -> Cnpj | None:
        """Call `Snapshot.find_head_office` on newly opened files: can run in a thread."""
        snapshot = Snapshot.open(current_path(self._store))
        try:
            return snapshot.find_head_office(root)
        finally:
            snapshot.close()

    def detail(self, cnpj: Cnpj) -> MonthDetail | None:
        """Call `Snapshot.detail`; None also where the file is damaged: answers do without it."""
        snapshot = self._refresh()
        try:
            return None if snapshot is None else snapshot.detail(cnpj)
        except OpenDataError:
            return None

    def companies(self, cnpjs: Collection[Cnpj]) -> tuple[date | None, Mapping[Cnpj, Company]]:
        """Return the extraction date and those companies that the month has, CPFs masked.

        For threads: the files are opened apart. Empty if nothing was imported or a file is damaged.
        """
        found: dict[Cnpj, Company] = {}
        with self._lock:
            self._in_threads = self._in_threads or CurrentSnapshot(self._store, self._clock)
            extracted = self._in_threads.extraction_date
            try:
                for cnpj in cnpjs:
                    if (company := self._in_threads.find(cnpj)) is not None:
                        found[cnpj] = masked(company)
            except OpenDataError:
                return None, {}
        return extracted, found

    def answer(self, cnpj: Cnpj) -> tuple[date, bytes] | None:
        """Return the extraction date and the finished answer about a CNPJ.

        None: the caller has to build it.
        """
        snapshot = self._refresh()
        if self._answers is None or snapshot is None:
            return None
        try:
            body = self._answers.find(cnpj)
            return None if body is None else (snapshot.extraction_date, body)
        except OpenDataError:  # rows are in another file, which may be intact
            self._unusable = self._file
            self._close_answers()
            return None

    def close(self) -> None:
        with self._lock:
            if self._in_threads is not None:
                self._in_threads.close()
                self._in_threads = None
        self._close_snapshot()

    def _close_snapshot(self) -> None:
        self._close_answers()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def _refresh(self) -> Snapshot | None:
        now = self._clock()
        if now < self._next_check_at:
            return self._snapshot
        self._next_check_at = now + _CHECK_SECONDS
        try:
            status = self._pointer.stat()
        except OSError:
            return self._snapshot
        # The pointer is replaced, never rewritten, even when the same month is built again.
        seen = (status.st_ino, status.st_mtime_ns)
        if seen != self._seen:
            self._switch(seen)
        if self._snapshot is not None and self._answers is None:
            self._open_answers()
        return self._snapshot

    def _switch(self, seen: tuple[int, int]) -> None:
        try:
            snapshot = Snapshot.open(current_path(self._store))
        except OpenDataError:
            return  # the old month stays in use; tried again in a second
        self._close_snapshot()
        self._unusable = None
        self._snapshot = snapshot
        self._seen = seen
        self._edition += 1

    def _open_answers(self) -> None:
        try:
            path = current_path(self._store)
            status = answers_path(path).stat()
            self._file = (status.st_ino, status.st_mtime_ns)
            if self._file != self._unusable:
                self._answers = Answers.open(path)
        except OSError:
            return  # not built yet: answers are built from rows
        except OpenDataError as error:
            if error.__cause__ is None:  # of another month; other errors may be temporary
                self._unusable = self._file

    def _close_answers(self) -> None:
        if self._answers is not None:
            self._answers.close()
            self._answers = None
