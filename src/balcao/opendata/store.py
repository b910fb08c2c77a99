"""The folder of published months, and of the one being built.

2026-08-08.snapshot       a month; its date is the extraction date
2026-08-08.2.snapshot     the same month, built again: `rollback` can return to the first build
2026-08-08.rejects.jsonl  its unreadable records
2026-08-08.answers        its finished answers (`answers.py`)
2026-08-08.search         its search index (`search/`)
current                   the name of the published one; replaced by rename
progress.json             progress or end of the last build (`progress_file.py`)
work/                     files from which an unfinished build resumes
answers/, answers.lock    like work/ and lock, for answers
search/, search.lock      like work/ and lock, for the search index
lock                      held while building
regime_tributario/        files of tax regimes that the operator keeps (`tax_regimes.py`), optional
fetched/                  zips that are being downloaded, a folder for each month (`fetching/`)
fetch.json, fetch.lock    progress of the download, and the lock held meanwhile
"""

import fcntl
import os
import shutil
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

import msgspec

from balcao.opendata.archive import Part, tax_regime_file
from balcao.opendata.errors import BuildRunning, NoRoom, OpenDataError
from balcao.opendata.files import make_durable
from balcao.opendata.plan import ImportPlan
from balcao.opendata.repair import Reject
from balcao.opendata.snapshot import (
    CURRENT,
    Edition,
    Snapshot,
    SnapshotInfo,
    current_edition,
    current_path,
    edition_of,
)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_LOCK = "lock"
_TAX_REGIMES = "regime_tributario"
# Longer than `is_building` holds the lock, too short to be noticed.
_PROBE_SECONDS = 0.02


class WorkFolder:
    """A folder of unfinished work in a store, and the lock that is held during the work.

    Its content survives `kill -9` but not a power cut: it was never synced to the disk.
    """

    def __init__(self, store: Path, name: str, lock: str, keep: Collection[str]) -> None:
        """`keep`: names of the files to resume from; others are deleted."""
        self._store = store
        self._lock_file = store / lock
        self._lock = -1
        self._keep = {*keep, "boot"}
        self.path = store / name

    def __enter__(self) -> Self:
        """Take the lock and delete files of other plans. Raises `BuildRunning`."""
        self._store.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _acquire(self._lock)
        except OSError:
            os.close(self._lock)
            raise BuildRunning(f"outra importação está em andamento em {self._store}") from None
        self.path.mkdir(exist_ok=True)
        self._delete_others()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)  # which releases it

    def require_space(self, needed_bytes: int) -> None:
        """Raise `NoRoom` unless the disk has so much space, the folder's files included."""
        used = sum(file.stat().st_size for file in self.path.iterdir())
        free = shutil.disk_usage(self._store).free + used
        if free < needed_bytes:
            raise NoRoom(
                f"{self._store} precisa de cerca de {needed_bytes >> 20} MiB livres. Livres"
                f" agora: {free >> 20} MiB"
            )

    def remove(self) -> None:
        """Delete the folder: there is nothing left to resume."""
        shutil.rmtree(self.path)

    def _delete_others(self) -> None:
        boot = self.path / "boot"
        this_boot = _BOOT_ID.read_text("ascii") if _BOOT_ID.exists() else ""
        # Files written before a power cut may have holes.
        known = boot.exists() and boot.read_text("ascii") == this_boot
        for file in self.path.iterdir():
            if not known or file.name not in self._keep:
                file.unlink()
        boot.write_text(this_boot, "ascii")


class Work(WorkFolder):
    """The folder of one build and the paths of its plan's files."""

    def __init__(self, store: Path, plan: ImportPlan) -> None:
        self._plan = plan
        building = f"{plan.key}.building"
        spills = {self._spill_name(part) for part in plan.inputs.rows}
        bounds = f"{plan.reading_key}.bounds"
        keep = {building, f"{building}-journal", bounds, *spills}
        super().__init__(store, "work", _LOCK, keep)
        self.bounds = self.path / bounds  # first roots of the ranges
        self.building = self.path / building  # the snapshot
        self.rejects = self.path / "rejects.jsonl"  # the unreadable records

    def spill(self, part: Part) -> Path:
        """Return the path of a zip's spill file."""
        return self.path / self._spill_name(part)

    def _spill_name(self, part: Part) -> str:
        return f"{part.identity}-{self._plan.reading_key}.spill"


def _acquire(lock: int) -> None:
    """Take the lock for a build. Raises `OSError` if another build holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # perhaps by `is_building`, for a moment
        time.sleep(_PROBE_SECONDS)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_building(store: Path) -> bool:
    """Return whether a build, of any process, is running in the store at this moment."""
    try:
        lock = os.open(store / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # unknown: do not declare a build dead that may be running
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)  # which releases it
    return False


def write_rejects(path: Path, rejects: Iterable[Reject]) -> None:
    """Write one JSON object per line. They may name people: only the file's owner can read it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.writelines(msgspec.json.encode(reject) + b"\n" for reject in rejects)


def kept_files(store: Path) -> Sequence[Path]:
    """Return the files of tax regimes in the store, which belong to every month that is imported.

    The publisher has withdrawn its own, so an operator keeps the last ones here.
    """
    folder = store / _TAX_REGIMES
    found = sorted(folder.iterdir()) if folder.is_dir() else ()
    return [path for path in found if path.is_file() and tax_regime_file(path.name) is not None]


def published(store: Path) -> Snapshot | None:
    """Open the published month; None when nothing was imported."""
    return Snapshot.open(current_path(store)) if (store / CURRENT).exists() else None


def publish(store: Path, work: Work, extraction: date) -> Path:
    """Publish the finished month durably, and keep the one that was published before it.

    An existing build of the same month is not overwritten, so that `rollback` can return to it.
    """
    name = _next_build(store, extraction).file_name
    before = _published_name(store)
    make_durable(work.building)
    work.rejects.replace(rejects_path(store / name))
    work.building.replace(store / name)
    _point_to(store, name)
    _delete_older(store, name, before)
    return store / name


def _next_build(store: Path, extraction: date) -> Edition:
    same = [edition for edition in _editions(store) if edition.extraction_date == extraction]
    return Edition(extraction, max((edition.build for edition in same), default=0) + 1)


def _published_name(store: Path) -> str | None:
    try:
        return current_path(store).name
    except OpenDataError:
        return None


def rollback(store: Path) -> SnapshotInfo:
    """Publish what came before the current month, or build, again.

    Raises `OpenDataError` if it is gone.
    """
    now = current_edition(store)
    earlier = _before(store, now)
    if earlier is None:
        raise OpenDataError(
            f"nenhum mês anterior a {now.extraction_date:%d/%m/%Y} está guardado em {store}"
        )
    with closing(Snapshot.open(store / earlier.file_name)) as snapshot:  # fails if damaged
        info = snapshot.info()
    _point_to(store, earlier.file_name)
    return info


def _before(store: Path, current: Edition) -> Edition | None:
    """Return the edition that `rollback` would publish."""
    return max((edition for edition in _editions(store) if edition < current), default=None)


@dataclass(frozen=True, slots=True)
class Month:
    """A month in the store, published or not."""

    edition: Edition
    bytes_on_disk: int
    built_on: date | None  # None: it cannot be read, damaged or of an older format
    rows: Mapping[str, int]  # by table; empty where it cannot be read
    current: bool  # the published one
    rollback_target: bool  # `rollback` would publish this one

    @property
    def extraction_date(self) -> date:
        return self.edition.extraction_date

    @property
    def name(self) -> str:
        """The name for people: the day, and the build if it is not the first."""
        again = "" if self.edition.build == 1 else f" ({self.edition.build}ª importação)"
        return f"{self.extraction_date:%d/%m/%Y}{again}"


def months(store: Path) -> Sequence[Month]:
    """Return the months in the store, newest first; none when nothing was imported.

    Opens each of them, some milliseconds: not for the event loop's thread. Includes months that
    cannot be read, so that operators see them.
    """
    try:
        current = current_edition(store)
    except OpenDataError:
        current = None
    target = None if current is None else _before(store, current)
    found = []
    for edition in reversed(_editions(store)):
        path = store / edition.file_name
        try:
            size = path.stat().st_size
        except OSError:
            continue  # a build has removed it just now
        built_on, rows = _summary(path)
        readable = built_on is not None
        found.append(
            Month(
                edition=edition,
                bytes_on_disk=size,
                built_on=built_on,
                rows=rows,
                current=edition == current,
                rollback_target=readable and edition == target,
            )
        )
    return found


def _summary(path: Path) -> tuple[date | None, Mapping[str, int]]:
    try:
        with closing(Snapshot.open(path)) as snapshot:
            info = snapshot.info()
    except OpenDataError:
        return None, {}
    return info.built_on, info.rows


def _editions(store: Path) -> list[Edition]:
    """Return the months in the store, oldest first, and builds of a month in their order."""
    found = (edition_of(path.name) for path in store.glob("*.snapshot"))
    return sorted(edition for edition in found if edition is not None)


def rejects_path(snapshot: Path) -> Path:
    """Return the path of a month's unreadable records."""
    return snapshot.with_suffix(".rejects.jsonl")


def _point_to(store: Path, name: str) -> None:
    temporary = store / f"{CURRENT}.new"
    temporary.write_text(f"{name}\n", "utf-8")
    make_durable(temporary)
    make_durable(store)  # the snapshot's name, before anything points to it
    temporary.replace(store / CURRENT)
    make_durable(store)


def _delete_older(store: Path, name: str, before: str | None) -> None:
    others = [edition.file_name for edition in _editions(store) if edition.file_name != name]
    keep = before if before in others else others[-1] if others else None
    for other in others:
        if other != keep:
            (store / other).unlink()
            rejects_path(store / other).unlink(missing_ok=True)
            for derived in (".answers", ".search"):
                (store / other).with_suffix(derived).unlink(missing_ok=True)
