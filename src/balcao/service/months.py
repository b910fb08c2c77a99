"""Finishing the months in use, in a process of its own that gives way to everybody else."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.jobs.periodic import Periodic
from balcao.opendata.answers import are_finished
from balcao.opendata.errors import OpenDataError

log = structlog.get_logger()

# A month is seldom switched in; and where the disk is too small, it is so for long.
FIRST_SECONDS = 120.0
EVERY_SECONDS = 600.0

# The months that are served, and what the command is told of them besides.
_MODES: Sequence[tuple[Mode, Sequence[str]]] = (("live", ()), ("test", ("--sandbox",)))


@dataclass(frozen=True, slots=True)
class Finishing:
    """Has `balcao opendata answers` done for every month in use that has no answers yet."""

    home: Home

    def work(self) -> Periodic:
        """For the runner."""
        return Periodic("answers", self._look, EVERY_SECONDS, FIRST_SECONDS, _told)

    async def _look(self) -> None:
        unfinished = [
            (mode, options)
            for mode, options in _MODES
            if await asyncio.to_thread(_is_unfinished, self.home.opendata(mode))
        ]
        done = [await _finish(mode, options) for mode, options in unfinished]
        if not all(done):
            raise OpenDataError("not finished")


def _is_unfinished(store: Path) -> bool:
    try:
        return not are_finished(store)
    except OpenDataError:
        return False  # there is no month


def _told(error: Exception) -> bool:
    return isinstance(error, OpenDataError)  # the log has it, mode by mode


async def _finish(mode: Mode, options: Sequence[str]) -> bool:
    # Nothing of the folder it is started in is imported.
    line = [sys.executable, "-P", "-m", "balcao", "opendata", "answers", *options]
    process = await asyncio.create_subprocess_exec(
        *line, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:  # the service ends; the next one goes on where this was
            process.terminate()
            await process.wait()
    if process.returncode != 0:
        detail = said.decode("utf-8", "replace").strip().splitlines()[-1:]
        log.warning("answers.not_finished", mode=mode, detail="".join(detail))
    return process.returncode == 0
