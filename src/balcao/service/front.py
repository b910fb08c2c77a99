"""A front's process: `python -m balcao.service.front NUMBER`, of the socket to the house.

Started by the house (`service/fronts.py`), and ended by it: it hears no signal that a terminal or
a supervisor sends to all processes, and does not outlive the socket (decision 0046).
"""

import asyncio
import gc
import os
import socket
import sys

from balcao.http.fronts.front import FrontProcess, HouseAbove
from balcao.observability import logs
from balcao.service import processes
from balcao.service.clock import steady_now_ms
from balcao.service.parts import open_front
from balcao.service.server import GC_THRESHOLDS, connections_max, either, limits_of_front
from balcao.settings import Settings


class ToldTime:
    """The time that the house believes, by the clock that all processes share."""

    def __init__(self) -> None:
        self._offset_ms = 0
        self.once = asyncio.Event()  # it was told

    def hear(self, offset_ms: int) -> None:
        """Be told it, or that it has changed."""
        self._offset_ms = offset_ms
        self.once.set()

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return steady_now_ms() + self._offset_ms


async def run(settings: Settings, end: socket.socket) -> None:
    """Serve until the house says farewell, or is gone."""
    told = ToldTime()
    above = HouseAbove(end, told.hear)
    await either(told.once.wait(), above.is_over.wait())
    parts = open_front(settings, above, told.now_ms)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    front = FrontProcess(parts, above, limits_of_front(settings, connections_max()))
    front.ready()
    await above.is_over.wait()


def main() -> None:
    """See the module."""
    number = processes.descriptor()
    settings = Settings()
    logs.configure(settings.log_format, settings.log_level)
    asyncio.run(run(settings, socket.socket(fileno=number)))
    sys.stderr.flush()
    os._exit(0)  # whatever threads of libraries are at


if __name__ == "__main__":
    main()
