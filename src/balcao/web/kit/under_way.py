"""Lookups that go on beside the pages that began them, and what refused those that came to nothing.

What a lookup came to is in the books, for any node. A refusal is not, and it leaves the form's key
free: so the process that refused remembers it for the page that asks next.
"""

import asyncio
from typing import Any, TypeAlias

import structlog

from balcao.core.errors import BalcaoError
from balcao.core.problems import Problem, problem_of

log = structlog.get_logger()

REFUSALS_MAX = 500

_Which: TypeAlias = tuple[int, str]


class UnderWay:
    """The running lookups of this process, by account and number of the form or button."""

    def __init__(self) -> None:
        self._running: dict[_Which, asyncio.Task[Any]] = {}
        # The oldest first; without the errors, in whose frames stands what was asked.
        self._refusals: dict[_Which, Problem] = {}

    def add(self, account_id: int, number: str, lookup: "asyncio.Task[Any]") -> None:
        """From here on until it is over. Of two with one number the first counts."""
        which = account_id, number
        self._refusals.pop(which, None)
        held = self._running.setdefault(which, lookup)
        lookup.add_done_callback(lambda done: self._over(which, done, first=held is lookup))

    def is_running(self, account_id: int, number: str) -> bool:
        """Whether it is still being answered here."""
        return (account_id, number) in self._running

    def refusal(self, account_id: int, number: str) -> Problem | None:
        """Return the refusal of a lookup, if it was refused a while ago."""
        return self._refusals.get((account_id, number))

    @staticmethod
    def leave(lookup: "asyncio.Task[Any]") -> None:
        """Log a bug in a lookup that no page awaits any more."""
        lookup.add_done_callback(_say_what_broke)

    def _over(self, which: _Which, lookup: "asyncio.Task[Any]", *, first: bool) -> None:
        if not first:
            return
        del self._running[which]
        if not lookup.cancelled() and isinstance(error := lookup.exception(), BalcaoError):
            self._refusals[which] = problem_of(error)
            while len(self._refusals) > REFUSALS_MAX:
                del self._refusals[next(iter(self._refusals))]


def _say_what_broke(lookup: "asyncio.Task[Any]") -> None:
    error = None if lookup.cancelled() else lookup.exception()
    if error is not None and not isinstance(error, BalcaoError):
        log.error("page.bug", page="app:consultar", exc_info=error)
