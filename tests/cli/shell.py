"""Server commands in tests: in this process, and a served one in another."""

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

# However slow the machine is. Nothing waits this long when all is well.
PATIENCE_SECONDS = 180


# Building the parsers of all commands takes longer than running most commands.
_command = cache(get_command)


@dataclass(frozen=True)
class Said:
    """What a command said."""

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

    def __call__(self, line: str, *, code: int = 0) -> Said:
        """Run a command line and insist on its exit code."""
        logs, handlers = structlog.get_config(), [*logging.root.handlers]
        try:
            with patch("typer.testing._get_command", _command):
                result = CliRunner().invoke(app, shlex.split(line), prog_name="balcao")
        finally:  # `serve` sets up logging for a process of its own, on a stream that ends here
            structlog.configure(**logs)
            logging.root.handlers[:] = handlers
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        said = Said(result.exit_code, result.stdout, result.stderr)
        assert said.code == code, said
        return said

    @property
    def home(self) -> Home:
        return Home(self.path)

    @contextmanager
    def desk(self) -> Iterator[SqliteDesk]:
        """The desk behind the commands' back."""
        with closing(SqliteDesk(self.home.desk)) as desk:
            yield desk


def begin(home: Home) -> None:
    """An empty data folder, as a first start leaves it but for the sandbox."""
    home.create()
    SqliteDesk(home.desk, pepper=home.pepper()).close()


def free_port() -> int:
    """Return a port that nobody uses just now, below those that clients' connections get."""
    while True:
        port = 15_000 + secrets.randbelow(15_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


class Server:
    """`balcao …` that serves something, in a process of its own."""

    def __init__(
        self, line: Sequence[str], folder: Path, port: int, variables: Mapping[str, str]
    ) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self._out = folder / f"{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "balcao", *line],
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

    def wait_until_it_answers(self, path: str = "/livez") -> None:
        """Ready to be asked."""
        with httpx2.Client() as client:
            for _ in self._patiently():
                try:
                    if client.get(f"{self.base}{path}").status_code == 200:
                        return
                except httpx2.TransportError:
                    pass

    def wait_for(self, path: Path) -> None:
        """Until it has made this file or folder."""
        for _ in self._patiently():
            if path.exists():
                return

    def wait_until_it_ends(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def terminate(self) -> int:
        """Ask it to end, as a supervisor does."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait_until_it_ends()

    def kill(self) -> None:
        """End it without a chance to tidy up."""
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
    """`balcao serve`, gone afterwards, whatever happens."""
    variables = {
        "BALCAO_HOME": str(home),
        "BALCAO_PORT": str(port),
        "BALCAO_SANDBOX_ESTABLISHMENTS": str(establishments),
    }
    with _gone_afterwards(Server(["serve"], home.parent, port, {**os.environ, **variables})) as it:
        yield it


@contextmanager
def simulating(folder: Path, port: int, options: str = "") -> Iterator[Server]:
    """`balcao simulator serve` without any settings, once it answers; called in that folder."""
    line = ["simulator", "serve", "--port", str(port), *shlex.split(options)]
    bare = {name: value for name, value in os.environ.items() if "BALCAO" not in name}
    with _gone_afterwards(Server(line, folder, port, bare)) as it:
        it.wait_until_it_answers("/")
        yield it


@contextmanager
def _gone_afterwards(it: Server) -> Iterator[Server]:
    try:
        yield it
    finally:
        if it.process.poll() is None:
            it.kill()


def keys_in(text: str) -> Mapping[str, str]:
    """The keys of the table of accounts, by account."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and is_well_formed(words[1]):
            found[words[0]] = words[1]
    return found


def curl_lines(text: str) -> Sequence[Sequence[str]]:
    """The requests that were shown, as a shell would read them."""
    return [shlex.split(line) for line in text.splitlines() if line.lstrip().startswith("curl ")]


def exports(text: str) -> dict[str, str]:
    """What the printed `export` lines set, read as a shell reads them."""
    words = (shlex.split(line)[1] for line in text.splitlines() if line.startswith("  export "))
    pairs = (word.partition("=") for word in words)
    return {name: value for name, _, value in pairs}
