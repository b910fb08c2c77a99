"""The data folder: where each file lives, its secret, and the lock that keeps servers apart."""

import contextlib
import fcntl
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from balcao.core.errors import HomeDamaged, HomeInUse, RestoreInterrupted
from balcao.core.questions import Mode

PEPPER_BYTES = 32


def make_durable(path: Path) -> None:
    """Names that were given in a folder, or a file's content, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Home:
    """`$BALCAO_HOME`. Everything in it is private to the user who runs the service."""

    path: Path

    @property
    def desk(self) -> Path:
        """Accounts, keys, ledger, idempotency."""
        return self.path / "balcao.db"

    def cache(self, mode: Mode) -> Path:
        """Cached answers; those of the sandbox are kept apart."""
        return self.path / ("cache.db" if mode == "live" else "cache-sandbox.db")

    def opendata(self, mode: Mode) -> Path:
        """The store of imported months."""
        return self.path / "opendata" / ("live" if mode == "live" else "sandbox")

    @property
    def receipts(self) -> Path:
        """Receipts' bytes, where they are not in a store elsewhere. Whoever opens it makes it."""
        return self.path / "receipts"

    @property
    def exports(self) -> Path:
        """Files of long lists while they are written; empty where nobody does."""
        return self.path / "exports"

    @property
    def batches(self) -> Path:
        """Files of batches while they are read or written; empty where nobody does."""
        return self.path / "batches"

    @property
    def serving(self) -> Path:
        """The address where a running service listens: `serve` may have been told another one."""
        return self.path / "serving.txt"

    @property
    def timelines(self) -> Path:
        """The newest timeline of each PostgreSQL cluster that was used from here."""
        return self.path / "postgresql-timelines.json"

    def create(self) -> None:
        """Make the folder, readable by nobody else. Fine if it exists."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def secret(self) -> Path:
        """The file of the pepper."""
        return self.path / "secret.key"

    @property
    def restoring(self) -> Path:
        """Mark of a restore that is replacing the data; it stays if the restore is interrupted."""
        return self.path / "restore-in-progress"

    def check_restored(self) -> None:
        """Raise `RestoreInterrupted` if a restore stopped while it was replacing the data."""
        if self.restoring.exists():
            raise RestoreInterrupted(str(self.path))

    def pepper(self) -> bytes:
        """The secret that makes stored key hashes useless elsewhere; made on first use.

        It must survive with the database: without it no key is recognised again. Raises
        `HomeDamaged` when the file is not whole, or gone while the database is there, and
        `RestoreInterrupted` when the data were being replaced.
        """
        self.check_restored()
        if not self.secret.exists():
            if self.desk.exists():
                raise HomeDamaged(str(self.secret))
            self._make_pepper()
        pepper = self.secret.read_bytes()
        if len(pepper) != PEPPER_BYTES:
            raise HomeDamaged(str(self.secret))
        return pepper

    def _make_pepper(self) -> None:
        # Written whole under another name first: neither a crash nor a second process that
        # starts at the same moment may ever see half a secret, or make a second one.
        with tempfile.NamedTemporaryFile(dir=self.path, prefix="secret.") as file:
            file.write(secrets.token_bytes(PEPPER_BYTES))
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(file.name, self.secret)

    def lock(self) -> IO[bytes]:
        """Be the only server on this folder until the returned file is closed.

        Raises `HomeInUse`. The lock goes with the process, however it ends, so that the next
        start knows: whatever is still open belongs to nobody.
        """
        file = (self.path / "server.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise HomeInUse(str(self.path)) from None
        return file
