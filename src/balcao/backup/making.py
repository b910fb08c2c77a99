"""Make a backup, with or without a running server."""

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from balcao import __version__
from balcao.backup.archive import (
    DESK,
    LISTING,
    MARKER,
    SECRET,
    ArchiveWriter,
    Manifest,
    listing,
)
from balcao.core.questions import Mode
from balcao.home import Home, is_whole, split_secrets
from balcao.opendata.store import published
from balcao.settings import Settings
from balcao.storage.backup_files import Occasion, alone_in, new_file, scratch
from balcao.storage.places import place_of
from balcao.storage.transfer.copying import Stopped, never
from balcao.storage.transfer.errors import BackupRefused
from balcao.storage.transfer.sums import DeskSums


@dataclass(frozen=True, slots=True)
class NewBackup:
    """A new backup."""

    path: Path
    bytes: int
    manifest: Manifest


def make(
    settings: Settings,
    now_ms: Callable[[], int],
    *,
    folder: Path | None = None,
    occasion: Occasion = "balcao",
    stopped: Stopped = never,
) -> NewBackup:
    """Make one backup in a folder, by default the configured one. May take long.

    Receipts are copied after the desk: their bytes exist before their records do. Raises
    `BackupError`, `StorageFailed`, `apsw.Error`, `OSError`; then there is no new file. Also refuses
    a storage whose data are elsewhere (`StorageMoved`, `StorageIncomplete`) or without the secret
    of its keys (`HomeDamaged`, `PepperDiffers`), since its backup would in time replace the good
    ones. With `occasion="before-restore"` the secret is not checked.
    """
    home = Home(settings.home)
    folder = folder or settings.backups
    if not home.secret.is_file():
        raise BackupRefused(f"Não há dados para copiar em {home.path}: falta {home.secret.name}.")
    with alone_in(folder):
        at_ms = now_ms()
        with new_file(folder, occasion, at_ms) as (file, path):
            writer = ArchiveWriter(file, stopped)
            secrets_before = home.secret.read_bytes()
            with scratch(folder) as (_, desk_path):
                replaced = occasion == "before-restore"
                manifest, books = _save_desk(settings, desk_path, at_ms, stopped, replaced=replaced)
                with desk_path.open("rb") as content:
                    writer.add(DESK, content, desk_path.stat().st_size, at_ms)
            secrets = _with_those_added(secrets_before, home.secret.read_bytes())
            if not replaced:
                books.check_secrets(split_secrets(secrets))
            _add_bytes(writer, SECRET, secrets, at_ms)
            marker = home.path / MARKER
            if marker.is_file():
                _add_bytes(writer, MARKER, marker.read_bytes(), at_ms)
            digests = books.digests
            _add_receipts(writer, settings.receipts_folder, digests, manifest)
            _add_bytes(writer, LISTING, listing(digests), at_ms)
            writer.finish(manifest)
        return NewBackup(path, path.stat().st_size, manifest)


def _save_desk(
    settings: Settings, target: Path, at_ms: int, stopped: Stopped, *, replaced: bool
) -> tuple[Manifest, DeskSums]:
    home, place = Home(settings.home), place_of(settings)
    pepper = None if replaced else home.pepper()
    books = place.save_desk(target, pepper, stopped)
    months: dict[Mode, str] = {}
    modes: tuple[Mode, ...] = ("live", "test")
    for mode in modes:
        month = published(home.opendata(mode))
        if month is not None:
            months[mode] = month.info().extraction_date.isoformat()
            month.close()
    manifest = Manifest(
        at_ms,
        __version__,
        place.name,
        books.schema,
        books.sums,
        months,
        receipts_included=settings.receipts_folder is not None,
    )
    return manifest, books


def _with_those_added(before: bytes, after: bytes) -> bytes:
    """Return the secrets of `secret.key` before and after the desk was copied, oldest first.

    Meanwhile a rotation may have added one, or removed one that the copied rows still need. A
    damaged file is returned as it is.
    """
    if before == after or not (is_whole(len(before)) and is_whole(len(after))):
        return after
    return b"".join(dict.fromkeys([*split_secrets(before), *split_secrets(after)]))


def _add_bytes(writer: ArchiveWriter, name: str, content: bytes, at_ms: int) -> None:
    writer.add(name, io.BytesIO(content), len(content), at_ms)


def _add_receipts(
    writer: ArchiveWriter, folder: Path | None, digests: Mapping[str, int], manifest: Manifest
) -> None:
    if folder is None:
        return
    for digest in digests:
        try:
            content = (folder / digest[:2] / digest).open("rb")
        except FileNotFoundError:  # purged meanwhile, or lost: `verify` reports how many
            manifest.receipts_missing += 1
            continue
        with content:
            size = os.fstat(content.fileno()).st_size
            writer.add(f"receipts/{digest}", content, size, manifest.created_ms)
