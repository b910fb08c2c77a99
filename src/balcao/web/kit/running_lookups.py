"""Lookups that outlive the page that began them, and the refusals of failed ones.

The outcome of a lookup is in the database, for any node. A refusal is not stored, and leaves the
form's key free: the process that refused keeps it for the page that asks next.
"""

import asyncio
from typing import Any, TypeAlias

import structlog

from balcao.core.errors import BalcaoError
from balcao.core.problems import Problem, problem_of
from balcao.core.questions import Question

log = structlog.get_logger()

REFUSALS_MAX = 500

_Key: TypeAlias = tuple[int, str]


class RunningLookups:
    """The running lookups of this process, by account and number of the form or button."""

    def __init__(self) -> None:
        self._running: dict[_Key, asyncio.Task[Any]] = {}
        self._questions: dict[_Key, Question] = {}
        # The oldest first; as problems, since the frames of errors hold personal data.
        self._refusals: dict[_Key, Problem] = {}

    def add(
        self,
        account_id: int,
        number: str,
        lookup: "asyncio.Task[Any]",
        asked: Question | None = None,
    ) -> None:
        """Track a lookup until it ends. The first one of two with the same number counts."""
        key = account_id, number
        self._refusals.pop(key, None)
        held = self._running.setdefault(key, lookup)
        if held is lookup and asked is not None:
            self._questions[key] = asked
        lookup.add_done_callback(lambda done: self._ended(key, done, first=held is lookup))

    def is_running(self, account_id: int, number: str) -> bool:
        """Return whether it is still running in this process."""
        return (account_id, number) in self._running

    def question(self, account_id: int, number: str) -> Question | None:
        """Return the question of a lookup that is running in this process."""
        return self._questions.get((account_id, number))

    def refusal(self, account_id: int, number: str) -> Problem | None:
        """Return the refusal of a lookup, if it was refused recently."""
        return self._refusals.get((account_id, number))

    @staticmethod
    def leave(lookup: "asyncio.Task[Any]") -> None:
        """Let a lookup finish without a page that awaits it; a bug in it is logged."""
        lookup.add_done_callback(_log_bug)

    def _ended(self, key: _Key, lookup: "asyncio.Task[Any]", *, first: bool) -> None:
        if not first:
            return
        del self._running[key]
        self._questions.pop(key, None)
        if not lookup.cancelled() and isinstance(error := lookup.exception(), BalcaoError):
            self._refusals[key] = problem_of(error)
            while len(self._refusals) > REFUSALS_MAX:
                del self._refusals[next(iter(self._refusals))]


def _log_bug(lookup: "asyncio.Task[Any]") -> None:
    error = None if lookup.cancelled() else lookup.exception()
    if error is not None and not isinstance(error, BalcaoError):
        log.error("page.bug", page="app:consultar", exc_info=error)
