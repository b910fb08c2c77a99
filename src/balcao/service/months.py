"""Finishing the months in use, in a process of its own that gives way to everybody else.

What is derived of a month, its answers and its search index, is made one after the other.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.jobs.periodic import Periodic
from balcao.opendata.answers import are_finished
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.index import is_searchable
from balcao.service.apart import run_apart

log = structlog.get_logger()

# A month is seldom switched in; and where the disk is too small, it is so for long.
FIRST_SECONDS = 120.0
EVERY_SECONDS = 600.0

# The months that are served, and what the command is told of them besides.
_MODES: Sequence[tuple[Mode, Sequence[str]]] = (("live", ()), ("test", ("--sandbox",)))


@dataclass(frozen=True, slots=True)
class Finishing:
    """Has `balcao opendata answers`, and `search`, done for every month in use that needs it."""

    home: Home
    wanted: Sequence[str] = ("answers", "search")  # names of the commands, in their order

    def work(self) -> Periodic:
        """For the runner."""
        return Periodic("answers", self._look, EVERY_SECONDS, FIRST_SECONDS, _told)

    async def _look(self) -> None:
        unfinished = [
            (command, mode, options)
            for command in self.wanted
            for mode, options in _MODES
            if await asyncio.to_thread(_is_unfinished, command, self.home.opendata(mode))
        ]
        done = [await _finish(*each) for each in unfinished]
        if not all(done):
            raise OpenDataError("not finished")


def finishing(home: Home, *, answers: bool, search: bool) -> Finishing | None:
    """By the settings; None: nothing is wanted."""
    wanted = [name for name, said in (("answers", answers), ("search", search)) if said]
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
