"""Finishing the months in use, in a process of its own that gives way to everybody else.

What is derived of a month is made one after the other: first its search index, for until then
nobody can search, and then its answers, without which lookups only take longer.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.opendata.answers import are_finished
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.index import is_searchable
from balcao.service.apart import run_apart
from balcao.service.jobs.periodic import Periodic

log = structlog.get_logger()

FIRST_SECONDS = 120.0
# A month that was switched in is noticed soon; where the disk is too small, it is so for long.
LOOK_SECONDS, TRIED_AGAIN_SECONDS_MAX = 60.0, 600.0

# The months that are served, and what the command is told of them besides.
_MODES: Sequence[tuple[Mode, Sequence[str]]] = (("live", ()), ("test", ("--sandbox",)))


@dataclass(frozen=True, slots=True)
class Finishing:
    """Has `balcao opendata search`, and `answers`, done for every month in use that needs it."""

    home: Home
    wanted: Sequence[str] = ("search", "answers")  # names of the commands, in their order

    def work(self) -> Periodic:
        """For the runner."""
        return Periodic("answers", self._look, TRIED_AGAIN_SECONDS_MAX, FIRST_SECONDS, _told)

    async def _look(self) -> float:
        unfinished = [
            (command, mode, options)
            for command in self.wanted
            for mode, options in _MODES
            if await asyncio.to_thread(_is_unfinished, command, self.home.opendata(mode))
        ]
        done = [await _finish(*each) for each in unfinished]
        if not all(done):
            raise OpenDataError("not finished")
        return LOOK_SECONDS


def finishing(home: Home, *, answers: bool, search: bool) -> Finishing | None:
    """By the settings; None: nothing is wanted."""
    wanted = [name for name, said in (("search", search), ("answers", answers)) if said]
    return Finishing(home, wanted) if wanted else None


_IS_DONE: Mapping[str, Callable[[Path], bool]] = {
    "answers": are_finished,
    "search": is_searchable,
}


def _is_unfinished(command: str, store: Path) -> bool:
    try:
        return not _IS_DONE[command](store)
    except OpenDataError:
        return False  # there is no month


def _told(error: Exception) -> bool:
    return isinstance(error, OpenDataError)  # the log has it, mode by mode


async def _finish(command: str, mode: Mode, options: Sequence[str]) -> bool:
    code, detail = await run_apart("opendata", command, *options)
    if code != 0:
        log.warning(f"{command}.not_finished", mode=mode, detail=detail)
    return code == 0
