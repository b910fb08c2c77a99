"""The published month and its finished answers, whichever they are at the moment."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.month_detail import MonthDetail
from balcao.opendata.answers import Answers, answers_of
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import CURRENT, Snapshot, current_path

_CHECK_SECONDS = 1.0


class CurrentSnapshot:
    """The published month, whichever it is: follows the store, so servers need no restart."""

    def __init__(self, store: Path, clock: Callable[[], float]) -> None:
        """`clock` counts seconds and never goes back."""
        self._store = store
        self._clock = clock
        self._pointer = store / CURRENT
        self._seen: tuple[int, int] | None = None
        self._snapshot: Snapshot | None = None
        self._answers: Answers | None = None
        self._file: tuple[int, int] | None = None  # of the answers
        self._useless: tuple[int, int] | None = None  # one that is not looked at again
        self._check_again_at = float("-inf")
        self._edition = 0

    @property
    def edition(self) -> int:
        """How many times a month was switched in."""
        if self._clock() >= self._check_again_at:  # every company that is asked for comes by
            self._follow()
        return self._edition

    @property
    def extraction_date(self) -> date | None:
        """The day the data is as of; None when nothing was imported."""
        snapshot = self._follow()
        return None if snapshot is None else snapshot.extraction_date

    def find(self, cnpj: Cnpj) -> Company | None:
        """`Snapshot.find` in the published month; None when nothing was imported."""
        snapshot = self._follow()
        return None if snapshot is None else snapshot.find(cnpj)

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        """`Snapshot.is_head_office`; None also when nothing was imported."""
        snapshot = self._follow()
        return None if snapshot is None else snapshot.is_head_office(cnpj)

    def has_company(self, root: str) -> bool:
        """Whether the published month has the company of a root."""
        snapshot = self._follow()
        return snapshot is not None and snapshot.company_rows(root)[0] is not None

    def find_head_office(self, root: str) -> Cnpj | None:
        """`Snapshot.find_head_office`, with files of its own: for a thread."""
        snapshot = Snapshot.open(current_path(self._store))
        try:
            return snapshot.find_head_office(root)
        finally:
            snapshot.close()

    def detail(self, cnpj: Cnpj) -> MonthDetail | None:
        """`Snapshot.detail`; None also where the file is damaged: an answer does without it."""
        snapshot = self._follow()
        try:
            return None if snapshot is None else snapshot.detail(cnpj)
        except OpenDataError:
            return None

    def answer(self, cnpj: Cnpj) -> tuple[date, bytes] | None:
        """The finished answer about a CNPJ, and as of which day.

        None: whoever asks has to put it together.
        """
        snapshot = self._follow()
        if self._answers is None or snapshot is None:
            return None
        try:
            body = self._answers.find(cnpj)
            return None if body is None else (snapshot.extraction_date, body)
        except OpenDataError:  # rows are in a file of their own, which may be well
            self._useless = self._file
            self._forget_answers()
            return None

    def close(self) -> None:
        """Release the files."""
        self._forget_answers()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def _follow(self) -> Snapshot | None:
        now = self._clock()
        if now < self._check_again_at:
            return self._snapshot
        self._check_again_at = now + _CHECK_SECONDS
        try:
            status = self._pointer.stat()
        except OSError:
            return self._snapshot
        # The pointer is replaced, never rewritten, even when the same month is built again.
        seen = (status.st_ino, status.st_mtime_ns)
        if seen != self._seen:
            self._switch(seen)
        if self._snapshot is not None and self._answers is None:
            self._look_for_answers()
        return self._snapshot

    def _switch(self, seen: tuple[int, int]) -> None:
        try:
            fresh = Snapshot.open(current_path(self._store))
        except OpenDataError:
            return  # the old month serves on, and we try again in a second
        self.close()
        self._useless = None
        self._snapshot = fresh
        self._seen = seen
        self._edition += 1

    def _look_for_answers(self) -> None:
        try:
            path = current_path(self._store)
            status = answers_of(path).stat()
            self._file = (status.st_ino, status.st_mtime_ns)
            if self._file != self._useless:
                self._answers = Answers.open(path)
        except OSError:
            return  # not there yet: rows answer
        except OpenDataError as error:
            if error.__cause__ is None:  # of another month; else it may be opened the next time
                self._useless = self._file

    def _forget_answers(self) -> None:
        if self._answers is not None:
            self._answers.close()
            self._answers = None
