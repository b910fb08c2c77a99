"""Verify a backup, or restore one into a stopped installation, on either engine."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from balcao.backup.archive import DESK, MARKER, SECRET, Manifest, extract, open_backup
from balcao.backup.making import NewBackup, make
from balcao.core.errors import PepperDiffers
from balcao.core.questions import Mode
from balcao.home import Home, is_whole, make_durable, split_secrets
from balcao.settings import Settings
from balcao.storage import blob_mark
from balcao.storage.backup_files import stamp
from balcao.storage.places import (
    examine_desk,
    give_up_deliveries,
    place_of,
    skip_event_numbers,
)
from balcao.storage.transfer.errors import BackupDamaged, BackupRefused
from balcao.storage.transfer.sums import differences
from balcao.storage.transfer.tables import newest_schema

_MODES: Sequence[Mode] = ("live", "test")
_STAGED = "restored-"  # folders in the data folder that hold a backup while it is verified


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """Result of verifying a backup. It is good when there is no complaint."""

    manifest: Manifest
    complaints: Sequence[str]
    books_seen: bool  # False: the ledger was not checked, because of the complaints


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored backup, and the new location of the data it replaced."""

    verdict: VerifyResult
    aside: Path | None
    saved: NewBackup | None  # backup of a replaced database


def verify(path: Path) -> VerifyResult:
    """Unpack a backup into a temporary folder, compare everything, and leave nothing.

    Raises `BackupRefused`, `BackupDamaged`, `OSError`.
    """
    with tempfile.TemporaryDirectory(prefix="balcao-verify-") as scratch:
        return _extract_and_check(path, Path(scratch), None)


def restore(
    path: Path, settings: Settings, now_ms: Callable[[], int], *, replace: bool = False
) -> Restored:
    """Restore a backup into the data folder, or the database, of the settings.

    Everything is verified before anything is moved. What was there is moved aside (a database:
    saved in a backup of its own), and only with `replace`. Raises `HomeInUse`, `BackupRefused`,
    `BackupDamaged`, `StorageFailed`, `OSError`.
    """
    home = Home(settings.home)
    home.create()
    with home.lock():
        place = place_of(settings)
        where = f"em {home.path}" if place.desk_file else "no banco de dados de BALCAO_DATABASE"
        occupied = place.is_occupied()
        if occupied and not replace:
            raise BackupRefused(
                f"Já há dados {where}. Para substituir pelos do backup, repita com --replace. Os"
                " dados atuais são guardados à parte antes."
            )
        for left in home.path.glob(f"{_STAGED}*"):  # of a killed restore: contains the secret
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=home.path, prefix=_STAGED) as name:
            staged, receipts = Path(name), settings.receipts_folder
            verdict = _extract_and_check(path, staged, staged / "receipts" if receipts else None)
            if verdict.complaints:
                raise BackupDamaged(
                    "O backup não confere e nada foi alterado: " + "; ".join(verdict.complaints)
                )
            give_up_deliveries(staged / DESK)
            skip_event_numbers(staged / DESK)
            saved = None
            is_file = place.desk_file is not None
            if not is_file:
                if occupied:
                    saved = make(settings, now_ms, occasion="before-restore")
                place.load_desk(staged / DESK)
            # Until the last file is in place nothing may start on the incomplete data.
            home.restoring.touch(mode=0o600)
            make_durable(home.path)
            aside = _move_aside(home, receipts, now_ms(), desk=is_file)
            _put_in_place(home, receipts, staged, desk=is_file)
            home.restoring.unlink()
            make_durable(home.path)
        return Restored(verdict, aside, saved)


def _extract_and_check(path: Path, folder: Path, receipts: Path | None) -> VerifyResult:
    with open_backup(path) as (manifest, tar):
        _check_known(manifest)
        extracted = extract(manifest, tar, folder, receipts)
    complaints = extracted.complaints
    for name in (DESK, SECRET):
        if name not in manifest.members:
            complaints.append(f"{name} falta")
    secret = folder / SECRET
    if secret.is_file() and not is_whole(secret.stat().st_size):
        complaints.append("secret.key está incompleto")
    if complaints:  # the following checks would only repeat them
        return VerifyResult(manifest, complaints, books_seen=False)
    seen = examine_desk(folder / DESK)
    books = seen.sums
    if books is None:
        return VerifyResult(manifest, seen.complaints, books_seen=False)
    complaints += differences(manifest.sums, books.sums)
    try:
        books.check_secrets(split_secrets(secret.read_bytes()))
    except PepperDiffers:
        complaints.append("as chaves do banco de dados não foram criadas com este secret.key")
    if books.schema != manifest.schema:
        complaints.append(f"o esquema é o {books.schema}, e não o {manifest.schema}")
    if books.digests != extracted.listed:
        complaints.append("a lista de comprovantes não é a do livro-razão")
    missing = len(books.digests.keys() - extracted.receipts.keys()) - manifest.receipts_missing
    if manifest.receipts_included and missing:
        complaints.append(f"faltam os bytes de {missing} comprovante(s)")
    return VerifyResult(manifest, [*complaints, *seen.complaints], books_seen=True)


def _check_known(manifest: Manifest) -> None:
    newest = newest_schema()
    if manifest.schema > newest:
        raise BackupRefused(
            f"O backup tem a versão {manifest.schema} do esquema, e este programa conhece até a"
            f" {newest}. Use o Balcão {manifest.program} ou mais novo."
        )


def _move_aside(home: Home, receipts: Path | None, at_ms: int, *, desk: bool) -> Path | None:
    """Move all old data aside, the cache included: it refers to their receipts."""
    name = f"before-restore-{stamp(at_ms)}"
    number = 1
    while (aside := home.path / name).exists():
        number += 1
        name = f"before-restore-{stamp(at_ms)}-{number}"
    moving = [home.secret, home.path / MARKER]
    if desk:
        files = [home.desk, *(home.cache(mode) for mode in _MODES)]
        # The desk and its logs first, so that there is never a desk without its secret.
        logs = ("", "-wal", "-shm")
        moving = [Path(f"{file}{end}") for file in files for end in logs] + moving
    there = [path for path in moving if path.exists()]
    kept = [] if receipts is None or not receipts.is_dir() else _receipt_entries(receipts)
    if not there and not kept:
        return None
    aside.mkdir(mode=0o700)
    for path in there:
        path.rename(aside / path.name)
    if kept and receipts is not None:
        # Within their own folder, which may be on another disk; the service ignores subfolders.
        inside = receipts == home.receipts
        target = aside / "receipts" if inside else receipts / name
        target.mkdir(mode=0o700)
        for path in kept:
            if inside or not path.name.startswith("before-restore-"):
                path.rename(target / path.name)
    make_durable(aside)
    make_durable(home.path)
    return aside


def _receipt_entries(folder: Path) -> list[Path]:
    """Return the store's entries except its mark, which must stay to detect restores (ADR 0074)."""
    return [path for path in folder.iterdir() if path.name not in (blob_mark.NAME, blob_mark.LOCK)]


def _put_in_place(home: Home, receipts: Path | None, staged: Path, *, desk: bool) -> None:
    """Move restored files to their places; the desk last, so that a folder with one is complete."""
    if receipts is not None:
        receipts.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in sorted((staged / "receipts").glob("*/*")):
            folder = receipts / file.parent.name
            folder.mkdir(mode=0o700, exist_ok=True)
            shutil.move(file, folder / file.name)  # perhaps to another disk
            make_durable(folder / file.name)
        for folder in receipts.iterdir():
            if folder.is_dir():
                make_durable(folder)
        make_durable(receipts)
    names = [(SECRET, home.secret), (MARKER, home.path / MARKER)]
    if desk:
        names.append((DESK, home.desk))
    for name, path in names:
        file = staged / name
        if file.exists():
            make_durable(file)
            file.rename(path)
            make_durable(home.path)
