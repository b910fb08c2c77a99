"""The folder of backups: file names, listing, the lock of a running backup, removal of old ones."""

import datetime
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias

from balcao.home import make_durable
from balcao.storage.transfer.errors import BackupRunning

Occasion: TypeAlias = Literal["balcao", "before-migration", "before-restore"]

_NAME = re.compile(r"(balcao|before-migration|before-restore)-(\d{8}-\d{6})\.tar")
_INSTANT = "%Y%m%d-%H%M%S"
_PARTIAL = "partial-"
_SECOND_MS = 1000


@dataclass(frozen=True, slots=True)
class KeptBackup:
    """A backup file. `at_ms` is when it was made, to the second."""

    path: Path
    occasion: str
    at_ms: int


def stamp(at_ms: int) -> str:
    """Return an instant as in file names, in UTC."""
    return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).strftime(_INSTANT)


def kept_in(folder: Path) -> Sequence[KeptBackup]:
    """Return the backups in a folder, newest first; none if the folder does not exist."""
    found: list[KeptBackup] = []
    if folder.is_dir():
        for path in folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match is None:
                continue
            try:
                at = datetime.datetime.strptime(match[2], _INSTANT).replace(tzinfo=datetime.UTC)
            except ValueError:  # digits, but not an instant
                continue
            found.append(KeptBackup(path, match[1], round(at.timestamp() * 1000)))
    return sorted(found, key=lambda kept: (kept.at_ms, kept.path.name), reverse=True)


def newest_ms(folder: Path) -> int | None:
    """Return when the newest regular backup was made. Those before a migration do not count."""
    return next((kept.at_ms for kept in kept_in(folder) if kept.occasion == "balcao"), None)


def is_on_another_disk(folder: Path, home: Path) -> bool:
    """Return whether backups are on another disk than the data. Raises `OSError`."""
    return folder.is_dir() and folder.stat().st_dev != home.stat().st_dev


def remove_old(folder: Path, keep: int) -> int:
    """Delete regular backups beyond the newest `keep`, and return the count.

    Other backups are left to the operator.
    """
    regular = [kept for kept in kept_in(folder) if kept.occasion == "balcao"]
    for kept in regular[keep:]:
        kept.path.unlink(missing_ok=True)
    return len(regular[keep:])


def partial_bytes(folder: Path) -> int:
    """Return how much of a running backup is written; 0 if there is none on this machine."""
    sizes = []
    for path in folder.glob(f"{_PARTIAL}*"):
        with suppress(OSError):  # it has just been completed
            sizes.append(path.stat().st_size)
    return max(sizes, default=0)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder for one backup, and delete partial files of one that died.

    Raises `BackupRunning`, `OSError`.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "backup.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRunning(
                f"Outro backup está sendo feito em {folder}. Espere terminar."
            ) from None
        for left in folder.glob(f"{_PARTIAL}*"):
            left.unlink(missing_ok=True)
        yield


@contextmanager
def new_file(folder: Path, occasion: Occasion, at_ms: int) -> Iterator[tuple[IO[bytes], Path]]:
    """Give a private file to write, and the path it gets once it is complete and durable.

    On an error the file is removed.
    """
    while (path := folder / f"{occasion}-{stamp(at_ms)}.tar").exists():
        at_ms += _SECOND_MS
    with scratch(folder) as (file, staged):
        yield file, path
        file.flush()
        os.fsync(file.fileno())
        staged.replace(path)
        make_durable(folder)


@contextmanager
def scratch(folder: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Give a private temporary file, removed afterwards unless it was renamed."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=_PARTIAL, delete=False) as file:
        path = Path(file.name)
        try:
            yield file, path
        finally:
            path.unlink(missing_ok=True)
