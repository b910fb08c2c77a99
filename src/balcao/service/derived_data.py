"""Builder of data derived from the months in use, in a low-priority process.

First a month's search index, without which there are no searches; then its precomputed answers,
without which lookups only take longer.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.opendata.answers import has_answers
from balcao.opendata.errors import OpenDataError
from balcao.opendata.search.index import has_index
from balcao.service.command_process import run_command
from balcao.service.jobs.periodic import Periodic

log = structlog.get_logger()

FIRST_SECONDS = 120.0
# A new month is noticed soon; a disk that is too small stays so for longer.
POLL_SECONDS, RETRY_SECONDS_MAX = 60.0, 600.0

# The months in use, and the command's options for each.
_MODES: Sequence[tuple[Mode, Sequence[str]]] = (("live", ()), ("test", ("--sandbox",)))


@dataclass(frozen=True, slots=True)
class DerivedDataBuilder:
    """Runs `balcao opendata search`, and `answers`, for every month in use that needs it."""

    home: Home
    commands: Sequence[str] = ("search", "answers")  # in their order

    def periodic(self) -> Periodic:
        return Periodic("answers", self._poll, RETRY_SECONDS_MAX, FIRST_SECONDS, _is_expected)

    async def _poll(self) -> float:
        unfinished = [
            (command, mode, options)
            for command in self.commands
            for mode, options in _MODES
            if await asyncio.to_thread(_is_unfinished, command, self.home.opendata(mode))
        ]
        done = [await _finish(*each) for each in unfinished]
        if not all(done):
            raise OpenDataError("not finished")
        return POLL_SECONDS


def derived_data_builder(home: Home, *, answers: bool, search: bool) -> DerivedDataBuilder | None:
    """Return the builder by the settings; None: both are switched off."""
    commands = [name for name, is_on in (("search", search), ("answers", answers)) if is_on]
    return DerivedDataBuilder(home, commands) if commands else None


_IS_DONE: Mapping[str, Callable[[Path], bool]] = {
    "answers": has_answers,
    "search": has_index,
}


def _is_unfinished(command: str, store: Path) -> bool:
    try:
        return not _IS_DONE[command](store)
    except OpenDataError:
        return False  # there is no month


def _is_expected(error: Exception) -> bool:
    return isinstance(error, OpenDataError)  # already logged by mode


async def _finish(command: str, mode: Mode, options: Sequence[str]) -> bool:
    code, detail = await run_command("opendata", command, *options)
    if code != 0:
        log.warning(f"{command}.not_finished", mode=mode, detail=detail)
    return code == 0
