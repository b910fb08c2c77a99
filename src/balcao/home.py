"""The data folder: paths of its files, its secret, and the lock of the serving process."""

import contextlib
import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from balcao.core.errors import HomeDamaged, HomeInUse, RestoreInterrupted
from balcao.core.questions import Mode

SECRET_BYTES = 32


def new_secret() -> bytes:
    """Draw a secret."""
    return secrets.token_bytes(SECRET_BYTES)


def is_whole(size: int) -> bool:
    """Return whether a file of this size is a list of secrets."""
    return size > 0 and size % SECRET_BYTES == 0


def split_secrets(content: bytes) -> Sequence[bytes]:
    """Return the secrets of a file's content, which `is_whole`."""
    return [content[at : at + SECRET_BYTES] for at in range(0, len(content), SECRET_BYTES)]


def write_secrets(path: Path, secrets_: Sequence[bytes]) -> None:
    """Write a list of secrets, private to its user; a crash leaves the old file or the new one."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix="secret.")
    try:
        _keep_owner(number, path)
        with os.fdopen(number, "wb") as file:
            file.write(b"".join(secrets_))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    make_durable(path.parent)


def _keep_owner(descriptor: int, path: Path) -> None:
    """Give a new file to the owner of the one it replaces: root may run a command of the service.

    Raises `OSError`.
    """
    with contextlib.suppress(FileNotFoundError):
        owner = path.stat().st_uid
        if owner != os.fstat(descriptor).st_uid:
            os.fchown(descriptor, owner, -1)


def make_durable(path: Path) -> None:
    """Sync a file's content, or the names in a folder, so that they survive a power cut."""
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
        """Return the file of cached answers of a mode."""
        return self.path / ("cache.db" if mode == "live" else "cache-sandbox.db")

    def opendata(self, mode: Mode) -> Path:
        """Return the folder of imported months of a mode."""
        return self.path / "opendata" / ("live" if mode == "live" else "sandbox")

    @property
    def receipts(self) -> Path:
        """Receipts' bytes, unless a store elsewhere is configured. Created when it is opened."""
        return self.path / "receipts"

    @property
    def exports(self) -> Path:
        """Temporary files of exports and statements while they are written."""
        return self.path / "exports"

    @property
    def batches(self) -> Path:
        """Temporary files of batches while they are read or written."""
        return self.path / "batches"

    @property
    def serving(self) -> Path:
        """The address where a running service listens; options of `serve` may override settings."""
        return self.path / "serving.txt"

    @property
    def timelines(self) -> Path:
        """The newest timeline of each PostgreSQL cluster that was used with this folder."""
        return self.path / "postgresql-timelines.json"

    def create(self) -> None:
        """Create the folder, private to its user, unless it exists."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def secret(self) -> Path:
        """The file of the installation's secrets, oldest first (ADR 0106)."""
        return self.path / "secret.key"

    @property
    def restoring(self) -> Path:
        """The marker file of a restore that is replacing the data, or was interrupted."""
        return self.path / "restore-in-progress"

    def check_restored(self) -> None:
        """Raise `RestoreInterrupted` if a restore stopped while it was replacing the data."""
        if self.restoring.exists():
            raise RestoreInterrupted(str(self.path))

    def pepper(self) -> bytes:
        """Return the installation's first secret, which never changes; see `secrets`."""
        return self.secrets()[0]

    def secrets(self) -> Sequence[bytes]:
        """Return all secrets, oldest first; the first one is created on first use.

        Without them no stored key can be recognised. Raises `HomeDamaged` if the file is
        incomplete, or missing although there is a database, and `RestoreInterrupted`.
        """
        self.check_restored()
        if not self.secret.exists():
            if self.desk.exists():
                raise HomeDamaged(str(self.secret))
            self._make_pepper()
        return self.read_secrets()

    def read_secrets(self) -> Sequence[bytes]:
        """Return all secrets, oldest first, of a file that exists.

        Raises `HomeDamaged` and `OSError`.
        """
        content = self.secret.read_bytes()
        if not is_whole(len(content)):
            raise HomeDamaged(str(self.secret))
        return split_secrets(content)

    def replace_secrets(self, secrets_: Sequence[bytes]) -> None:
        """Write other secrets in place of those in the file. Raises `OSError`."""
        write_secrets(self.secret, secrets_)

    @contextlib.contextmanager
    def lock_secrets(self) -> Iterator[None]:
        """Wait until no other process replaces the secrets, and keep others from it."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _make_pepper(self) -> None:
        # Written under a temporary name and then linked: neither a crash nor a second process
        # that starts at the same time can leave half a secret or create a second one.
        with tempfile.NamedTemporaryFile(dir=self.path, prefix="secret.") as file:
            file.write(new_secret())
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(file.name, self.secret)

    def lock(self) -> IO[bytes]:
        """Lock the folder for one server until the returned file is closed.

        Raises `HomeInUse`. The lock ends with its process, however that ends, so that at the next
        start every open operation is known to be abandoned.
        """
        file = (self.path / "server.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise HomeInUse(str(self.path)) from None
        return file
