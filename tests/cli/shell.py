"""Commands in tests, run in this process; servers in another one."""

import json
import logging
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import structlog
from typer.main import get_command
from typer.testing import CliRunner

from balcao.cli.app import app
from balcao.core.access import is_well_formed
from balcao.home import Home
from balcao.storage.sqlite.desk import SqliteDesk

# For slow machines; successful tests never wait so long.
PATIENCE_SECONDS = 180


# Building the parsers of all commands takes longer than running most commands.
_command = cache(get_command)


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """`balcao ...` in this process."""

    path: Path

    def __call__(self, line: str, *, code: int = 0) -> CommandResult:
        """Run a command line and assert its exit code."""
        logs, handlers = structlog.get_config(), [*logging.root.handlers]
        try:
            with patch("typer.testing._get_command", _command):
                result = CliRunner().invoke(app, shlex.split(line), prog_name="balcao")
        finally:  # undo the logging that `serve` configures, on a stream that is closed here
            structlog.configure(**logs)
            logging.root.handlers[:] = handlers
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        outcome = CommandResult(result.exit_code, result.stdout, result.stderr)
        assert outcome.code == code, outcome
        return outcome

    @property
    def home(self) -> Home:
        return Home(self.path)

    @contextmanager
    def desk(self) -> Iterator[SqliteDesk]:
        """Open the desk directly."""
        with closing(SqliteDesk(self.home.desk)) as desk:
            yield desk


def begin(home: Home) -> None:
    """Create an empty data folder, as after a first start without sandbox."""
    home.create()
    SqliteDesk(home.desk, pepper=home.pepper()).close()


def free_port() -> int:
    """Return an unused port, below those of outgoing connections."""
    while True:
        port = 15_000 + secrets.randbelow(15_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


class Server:
    """A `balcao …` server in its own process."""

    def __init__(
        self,
        line: Sequence[str],
        folder: Path,
        port: int,
        variables: Mapping[str, str],
        python: str = sys.executable,
    ) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self._variables = variables
        self._out = folder / f"{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [python, "-m", "balcao", *line],
                stdout=out,
                stderr=err,
                cwd=folder,
                env=variables,
            )

    @property
    def out(self) -> str:
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text("utf-8")

    def command(self, line: str) -> str:
        """Run another command on the same data folder, and return its output."""
        return subprocess.run(
            [sys.executable, "-m", "balcao", *shlex.split(line)],
            env=self._variables,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def wait_until_it_answers(self, path: str = "/livez") -> None:
        """Wait until the server responds."""
        with httpx2.Client() as client:
            for _ in self._patiently():
                try:
                    if client.get(f"{self.base}{path}").status_code == 200:
                        return
                except httpx2.TransportError:
                    pass

    def wait_for(self, path: Path) -> None:
        """Wait until the server has created this file or folder."""
        for _ in self._patiently():
            if path.exists():
                return

    def wait_until_it_ends(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def terminate(self) -> int:
        """Send SIGTERM, as a supervisor does, and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait_until_it_ends()

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def _patiently(self) -> Iterator[None]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"it ended by itself: {self.out}{self.err}"
            yield
            time.sleep(0.01)
        raise AssertionError(f"it took too long: {self.out}{self.err}")


@contextmanager
def serving(home: Path, port: int, *, establishments: int = 300) -> Iterator[Server]:
    """Run `balcao serve` and kill it afterwards."""
    variables = {
        "BALCAO_HOME": str(home),
        "BALCAO_PORT": str(port),
        "BALCAO_SANDBOX_ESTABLISHMENTS": str(establishments),
    }
    with killed_afterwards(Server(["serve"], home.parent, port, {**os.environ, **variables})) as it:
        yield it


@contextmanager
def simulating(folder: Path, port: int, options: str = "") -> Iterator[Server]:
    """Run `balcao simulator serve` in this folder, without settings, and wait until it responds."""
    line = ["simulator", "serve", "--port", str(port), *shlex.split(options)]
    bare = {name: value for name, value in os.environ.items() if "BALCAO" not in name}
    with killed_afterwards(Server(line, folder, port, bare)) as it:
        it.wait_until_it_answers("/")
        yield it


@contextmanager
def killed_afterwards(it: Server) -> Iterator[Server]:
    """Kill the server at the end, if it still runs."""
    try:
        yield it
    finally:
        if it.process.poll() is None:
            it.kill()


def keys_in(text: str) -> Mapping[str, str]:
    """Return the keys of the printed table, by account."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and is_well_formed(words[1]):
            found[words[0]] = words[1]
    return found


def curl_lines(text: str) -> Sequence[Sequence[str]]:
    """Return the printed curl commands, split as by a shell."""
    return [shlex.split(line) for line in text.splitlines() if line.lstrip().startswith("curl ")]


def exports(text: str) -> dict[str, str]:
    """Return the variables of the printed `export` lines, parsed as by a shell."""
    words = (shlex.split(line)[1] for line in text.splitlines() if line.startswith("  export "))
    pairs = (word.partition("=") for word in words)
    return {name: value for name, _, value in pairs}
