"""A PostgreSQL for tests, one per test process: in a temporary folder, on a Unix socket only.

It runs without durability (`fsync=off`) for speed, and ends with this process.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

MISSING = "no PostgreSQL here: install it with tools/system-packages postgresql"

_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "deadlock_timeout": "200ms",
}


def program(name: str) -> str | None:
    """Return the path of a PostgreSQL program, which Debian does not put on the PATH."""
    if found := shutil.which(name):
        return str(Path(found).resolve())
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((str(folder / name) for folder in folders if (folder / name).is_file()), None)


def pytest_root() -> Path | None:
    """Return the folder of this run's files, in memory if there is space; None: the usual one."""
    root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    return Path(root) if root else None


class Server:
    """One running server, and the databases in it."""

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        folder: Path | None = None,
        within: Sequence[str] = (),
        standby_of: str = "",
    ) -> None:
        """`within`: a command that runs another one elsewhere, such as in a network namespace.

        `standby_of`: the address of a primary that this server copies and follows.
        """
        initdb, self._postgres = program("initdb"), program("postgres")
        if initdb is None or self._postgres is None:
            pytest.skip(MISSING)
        folder = folder or pytest_root()
        self._folder = Path(tempfile.mkdtemp(prefix="balcao-pg-", dir=folder))
        self._as: Sequence[str] = within
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self._folder, "postgres", "postgres")
            self._as = (
                *within,
                "setpriv",
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
            )
        self._data = self._folder / "data"
        self.log = self._folder / "log"
        command = [initdb, "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        command += ["--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        if standby_of:
            # Next to the server's program: the wrapper on Debian's PATH needs a cluster.
            copies = str(Path(self._postgres).with_name("pg_basebackup"))
            command = [copies, "-D", str(self._data), "-d", standby_of, "-X", "stream"]
            command += ["-c", "fast", "-R", "--no-sync"]
        subprocess.run([*self._as, *command], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self._settings = {**_SETTINGS, **(settings or {})}
        self._databases = count(1)
        self.start()
        self._admin = psycopg.connect(self.address("postgres"), autocommit=True)
        atexit.register(self.remove)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        assert self._postgres is not None
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self._as,
                    self._postgres,
                    "-D",
                    str(self._data),
                    "-k",
                    str(self._folder),
                    *options,
                ],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self._data

    @property
    def folder(self) -> Path:
        """The folder of its socket, which is the host in its addresses."""
        return self._folder

    @contextmanager
    def waiting_for_a_standby(self) -> Iterator[None]:
        """Make commits wait for a standby that does not exist."""
        self.set("synchronous_standby_names", "*")
        try:
            yield
        finally:
            self.set("synchronous_standby_names", "")

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server, and wait until it applies to new connections."""
        self.admin(f"ALTER SYSTEM SET {name} = '{value}'")
        self.admin("SELECT pg_reload_conf()")
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with psycopg.connect(self.address("postgres")) as fresh:
                if fresh.execute(f"SHOW {name}".encode()).fetchone() == (value,):
                    return
            time.sleep(0.02)
        raise AssertionError(f"{name} was not taken over")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT is an orderly fast stop, SIGQUIT like a crash."""
        self._admin.close()
        self.process.send_signal(how)
        self.process.wait(30)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the server: connections stay open, and nothing is answered."""
        everybody = self.freeze()
        try:
            yield
        finally:
            self.thaw(everybody)

    def freeze(self) -> list[int]:
        """Freeze every process of the server; return their ids, the postmaster's first."""
        postmaster = self.process.pid
        os.kill(postmaster, signal.SIGSTOP)  # first, so that no process starts meanwhile
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text("ascii")
        everybody = [postmaster, *map(int, children.split())]
        for process in everybody[1:]:
            os.kill(process, signal.SIGSTOP)
        return everybody

    def thaw(self, everybody: Sequence[int]) -> None:
        """Continue frozen processes."""
        for process in everybody:
            os.kill(process, signal.SIGCONT)

    def kill(self) -> None:
        """Kill every process of the server at once, as a power cut does."""
        self._admin.close()
        for process in reversed(self.freeze()):
            os.kill(process, signal.SIGKILL)
        self.process.wait(30)

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self._admin.close()
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def address(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def new_database(self, template: str = "template0") -> str:
        """Return the address of a new database copied from another."""
        name = f"balcao_{next(self._databases)}"
        self.admin(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.address(name)

    def drop_database(self, address: str) -> None:
        name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        self.admin(f"DROP DATABASE {name} WITH (FORCE)")

    def admin(self, sql: str, *values: Any) -> list[Any]:
        if self._admin.closed:
            self._admin = psycopg.connect(self.address("postgres"), autocommit=True)
        cursor = self._admin.execute(sql.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


@cache
def server() -> Server:
    """Return the server of this test process."""
    return Server()


@cache
def _template() -> str:
    """Create a template database with the schema, which is faster to copy than to migrate."""
    from balcao.storage.postgresql.desk import PostgresDesk

    address = server().new_database()
    PostgresDesk(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DELETE FROM node")
    return str(psycopg.conninfo.conninfo_to_dict(address)["dbname"])


def new_address() -> str:
    """Create an empty database with our schema."""
    if program("initdb") is None or program("postgres") is None:
        pytest.skip(MISSING)
    return server().new_database(_template())
