"""Several worker processes on one port: ordinary nodes of one PostgreSQL database (ADR 0087).

The supervisor serves nothing itself. It reserves the port, starts the workers, restarts those that
die and drains all of them on stop. Each worker has one end of a socket: the worker writes a byte
once it listens, and drains when the other end is closed, so that no worker outlives its supervisor.
"""

import asyncio
import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import structlog

from balcao.service import processes
from balcao.service.server import CLOSE_SECONDS, SETTLE_SECONDS, on_signals, recorded_address

if TYPE_CHECKING:
    from balcao.settings import Settings

log = structlog.get_logger()

# A worker that ends sooner than this is restarted after a pause.
_QUICK_SECONDS = 5.0
_PAUSE_SECONDS = 1.0
# Beyond the lookups under way, before a worker is killed.
_MARGIN_SECONDS = 5.0


def serve(settings: "Settings") -> bool:
    """Serve by `settings.workers` processes until SIGINT or SIGTERM.

    Returns False if a worker ended before any was ready; it has printed the reason.
    """
    with _reserved(settings.host, settings.port), recorded_address(settings):
        return asyncio.run(Supervisor(settings).run())


@contextlib.contextmanager
def _reserved(host: str, port: int) -> Iterator[None]:
    """Keep the port from other programs, without listening. Raises `OSError`."""
    family, kind, protocol, _, place = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(place)
        yield


class Supervisor:
    """Keeps the workers running. On the event loop."""

    def __init__(self, settings: "Settings") -> None:
        self._count = settings.workers
        # The command line may override the environment.
        self._environment = {
            "BALCAO_HOST": settings.host,
            "BALCAO_PORT": str(settings.port),
            "BALCAO_WORKERS": str(settings.workers),
        }
        # `server.run` closes the connections first, then `Lifecycle.stop` drains the jobs.
        self._patience_seconds = settings.source_deadline_seconds + CLOSE_SECONDS
        self._patience_seconds += settings.longest_lookup_seconds + SETTLE_SECONDS
        self._patience_seconds += _MARGIN_SECONDS
        self._stopping = asyncio.Event()
        self._any_was_ready = False
        self._failed = False

    async def run(self) -> bool:
        """Serve until SIGINT or SIGTERM; return False as `serve` does."""
        on_signals(self._stopping.set)
        await asyncio.gather(*(self._keep(number) for number in range(self._count)))
        return not self._failed

    async def _keep(self, number: int) -> None:
        """Run a worker, and restart it when it ends."""
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                code = await self._run_one(number)
            except OSError as error:  # no process could be started
                code = error.errno or -1
            if self._stopping.is_set():
                return
            log.error("worker.ended", worker=number, code=code)
            if not self._any_was_ready:  # all would fail for the same reason
                self._failed = True
                self._stopping.set()
            elif time.monotonic() - began < _QUICK_SECONDS:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _PAUSE_SECONDS)

    async def _run_one(self, number: int) -> int:
        """Run a worker until it ends, and return its exit code."""
        process, control = processes.begin(
            "balcao.service.worker", str(number), environment=self._environment
        )
        control.setblocking(False)
        ended = asyncio.create_task(self._ended(control))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            control.shutdown(socket.SHUT_WR)
            await asyncio.wait({ended}, timeout=self._patience_seconds)
        for task in (ended, stopping):
            task.cancel()
        control.close()
        return await asyncio.to_thread(_wait, process)

    async def _ended(self, control: socket.socket) -> None:
        """Wait until the worker closes its end of the socket; record whether it was ready."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while await loop.sock_recv(control, 1):
                self._any_was_ready = True


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """Return the exit code of a worker, which is killed if it does not end."""
    try:
        return process.wait(_MARGIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.wait()
