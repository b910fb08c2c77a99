"""The file of a backup: a tar whose first member, the manifest, describes all others.

The manifest is written last, into space reserved at the beginning: its content is only known at the
end, and listing backups must not require reading them whole.
"""

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from balcao.core.questions import Mode
from balcao.storage.contract import EngineName
from balcao.storage.transfer.copying import Stopped, check_stopped
from balcao.storage.transfer.errors import BackupDamaged, BackupRefused
from balcao.storage.transfer.sums import Sums

T = TypeVar("T")

# 1 and 2 were used before the first release.
FORMAT = 3
MANIFEST, DESK, SECRET, MARKER, LISTING = (
    "manifest.json",
    "desk",
    "secret.key",
    "first-start.json",
    "receipts.txt",
)
# Only these are extracted: an untrusted archive may name any path.
_NAMES = frozenset({DESK, SECRET, MARKER, LISTING})
_RECEIPT = re.compile(r"receipts/([0-9a-f]{64})")
_MANIFEST_BYTES = 8192
_CHUNK = 1 << 20
_YEAR_10000_MS = 253_402_300_800_000
_SYNC_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the archive. Receipts are not listed: their names are their digests."""

    bytes: int
    sha256: str


@dataclass(slots=True)
class Manifest:
    """Metadata of a backup. `created_ms` is the instant of the ledger."""

    created_ms: Annotated[int, Field(ge=0, lt=_YEAR_10000_MS)]
    program: Annotated[str, Field(pattern=r"^[\w.+-]{1,64}$")]
    engine: EngineName
    schema: int
    sums: Sums
    # The months in use, which are not in the archive.
    months: Mapping[Mode, Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]] = field(
        default_factory=dict
    )
    receipts_included: bool = True  # else they are in a bucket, and only listed
    receipts_missing: int = 0  # referenced by the desk, but without their bytes
    members: dict[str, Member] = field(default_factory=dict)
    format: int = FORMAT


@cache  # building it takes longer than importing all of this
def _reader() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


class ArchiveWriter:
    """Adds members to a file and hashes them."""

    def __init__(self, file: IO[bytes], stopped: Stopped) -> None:
        self._file, self._stopped = file, stopped
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._tar.addfile(_info(MANIFEST, _MANIFEST_BYTES, 0), _Blank())
        self.members: dict[str, Member] = {}
        self._unsynced = 0

    def add(self, name: str, content: IO[bytes], size: int, at_ms: int) -> None:
        """Add one member. Raises `BackupStopped`, `OSError`."""
        hashing = _Hashing(content, self._on_chunk)
        self._tar.addfile(_info(name, size, at_ms), hashing)
        if _RECEIPT.fullmatch(name) is None:
            self.members[name] = Member(size, hashing.sha256.hexdigest())

    def _on_chunk(self, size: int) -> None:
        """Check for a stop, and sync in small steps: syncing a whole desk would delay commits."""
        check_stopped(self._stopped)
        self._unsynced += size
        if self._unsynced >= _SYNC_BYTES:
            self._unsynced = 0
            self._file.flush()
            os.fdatasync(self._file.fileno())

    def finish(self, manifest: Manifest) -> None:
        """Close the archive and write the manifest into its place. The caller syncs the file."""
        manifest.members = self.members
        text = json.dumps(asdict(manifest), indent=1).encode().ljust(_MANIFEST_BYTES)
        assert len(text) == _MANIFEST_BYTES, "the manifest outgrew its room"
        self._tar.close()
        self._file.seek(tarfile.BLOCKSIZE)
        self._file.write(text)


def _info(name: str, size: int, at_ms: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, at_ms // 1000
    return info


class _Blank(io.RawIOBase):
    def read(self, size: int = -1, /) -> bytes:
        return b" " * max(size, 0)


class _Hashing:
    """A readable file that hashes what is read."""

    def __init__(self, content: IO[bytes], on_chunk: Callable[[int], None]) -> None:
        self._content, self._on_chunk = content, on_chunk
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._content.read(size)
        self._on_chunk(len(chunk))
        self.sha256.update(chunk)
        return chunk


# Reading.


@contextmanager
def open_backup(path: Path) -> Iterator[tuple[Manifest, tarfile.TarFile]]:
    """Open a backup, at its first member after the manifest.

    Raises `BackupDamaged`, `BackupRefused`, `OSError`.
    """
    try:
        with _headers(lambda: tarfile.open(path, "r:")) as tar:
            yield _manifest(tar, path), tar
    except (tarfile.TarError, EOFError) as error:
        raise BackupDamaged(
            f"O arquivo {path} está danificado ou não é um backup do Balcão."
        ) from error


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a backup. Raises like `open_backup`."""
    with open_backup(path) as (manifest, _):
        return manifest


def _manifest(tar: tarfile.TarFile, path: Path) -> Manifest:
    first = _headers(tar.next)
    file = tar.extractfile(first) if first is not None and first.name == MANIFEST else None
    try:
        if file is None:
            raise ValueError
        text = file.read(_MANIFEST_BYTES)
        number = int(json.loads(text)["format"])
        if number == FORMAT:
            return _reader().validate_json(text, strict=True)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise BackupDamaged(f"O arquivo {path} não tem o manifesto de um backup.") from None
    if number < FORMAT:
        raise BackupRefused(
            "O backup é de uma versão de desenvolvimento do Balcão, anterior à primeira"
            " publicada, e não pode ser restaurado por esta versão."
        )
    raise BackupRefused(
        f"O backup está no formato {number}, e este programa só conhece o {FORMAT}. Use a versão"
        " do Balcão que fez o backup ou uma mais nova."
    )


def _headers(read: Callable[[], T]) -> T:
    """Call a function that reads headers, and convert further errors that tarfile raises then."""
    try:
        return read()
    except (ValueError, OverflowError, MemoryError) as error:
        raise tarfile.ReadError(type(error).__name__) from error


@dataclass(slots=True)
class ExtractedArchive:
    """The content of an archive."""

    complaints: list[str] = field(default_factory=list)
    receipts: dict[str, int] = field(default_factory=dict)  # by digest: bytes
    listed: dict[str, int] = field(default_factory=dict)


def extract(
    manifest: Manifest, tar: tarfile.TarFile, folder: Path, receipts: Path | None
) -> ExtractedArchive:
    """Extract everything into a folder and compare it with the manifest.

    Receipts go into `receipts`, in the store's layout; with None they are only checked. Each
    damaged, missing or additional file is a complaint.
    """
    extracted = ExtractedArchive()
    seen: set[str] = set()
    while (info := _headers(tar.next)) is not None:
        # A sparse file may claim any length and fill the disk.
        content = tar.extractfile(info) if info.isreg() and not info.issparse() else None
        receipt = _RECEIPT.fullmatch(info.name)
        known = receipt is not None or info.name in manifest.members.keys() & _NAMES
        if content is None or not known or info.name in seen:
            extracted.complaints.append("há um arquivo que não está no manifesto")
            continue
        seen.add(info.name)
        if receipt is not None:
            extracted.receipts[receipt[1]] = info.size
            target = None if receipts is None else receipts / receipt[1][:2] / receipt[1]
            hashed = _copy(content, target, hashlib.blake2b(digest_size=32))
            if hashed != receipt[1]:
                extracted.complaints.append(f"o comprovante {receipt[1]} não é o original")
            continue
        hashed = _copy(content, folder / info.name, hashlib.sha256())
        if Member(info.size, hashed) != manifest.members[info.name]:
            extracted.complaints.append(f"{info.name} não é o original")
    for name in manifest.members.keys() - seen:
        extracted.complaints.append(f"{name} falta")
    if LISTING in seen:
        extracted.listed = _parse_listing((folder / LISTING).read_text("ascii", "replace"))
    return extracted


def _copy(content: IO[bytes], target: Path | None, hashing: Any) -> str:
    if target is not None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("xb") as file:
            target.chmod(0o600)
            while chunk := content.read(_CHUNK):
                hashing.update(chunk)
                file.write(chunk)
    else:
        while chunk := content.read(_CHUNK):
            hashing.update(chunk)
    return str(hashing.hexdigest())


def listing(receipts: Mapping[str, int]) -> bytes:
    """Format digests and sizes, one per line."""
    return "".join(f"{digest} {size}\n" for digest, size in receipts.items()).encode()


def _parse_listing(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
