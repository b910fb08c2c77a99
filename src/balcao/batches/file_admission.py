"""Space for files in this process: uploads, rows that are read, results (ADR 0078).

`core.file_limits` has the limits; this module measures and refuses.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
import structlog

from balcao.batches.tables.contract import BOUNDS, TableBounds
from balcao.core.access import Plan
from balcao.core.errors import (
    BalcaoError,
    FileSpaceUsed,
    FileUnreadable,
    NoFileSpace,
    RequestTooLarge,
    TooManyOpenBatches,
    TooManyUnreadFiles,
)
from balcao.core.file_limits import (
    FileLimits,
    FilesKept,
    SharedLimits,
    UploadLimit,
    exceeded_byte_limit,
    exceeded_count_limit,
    files_to_drop,
    is_disk_short,
)
from balcao.storage.desk.batch_files import StorageUse
from balcao.storage.desk.desk import Desk

# Refusals by limit; bytes stored, and their limit; bytes free, and their minimum.
FileFigures: TypeAlias = tuple[Iterable[tuple[str, int]], tuple[int, int], tuple[int, int]]

log = structlog.get_logger()

NO_SPACE = "sem_espaco"
_NO_SPACE_TEXT = (
    "O serviço ficou sem espaço em disco antes de ler este arquivo. Nada foi cobrado. Envie o"
    " arquivo de novo mais tarde."
)
_ACCOUNT_FULL = "espaco_da_conta"
_ACCOUNT_FULL_TEXT = (
    "As linhas deste arquivo não cabem no espaço que o plano da conta tem para lotes. Apague os"
    " dados de lotes que já terminaram, ou divida o arquivo."
)


@dataclass(slots=True)
class _Uploads:
    """One account's uploads in progress."""

    files: int = 0
    size_bytes: int = 0
    completing: asyncio.Lock = field(
        default_factory=asyncio.Lock
    )  # one at a time is measured and stored


@dataclass(slots=True)
class FileAdmission:
    """Admission of files to a process. `disk_free_bytes` returns None if that is unknown."""

    desk: Desk
    plans: Mapping[Plan, FileLimits]
    shared: SharedLimits
    disk_free_bytes: Callable[[], int | None]
    now_ms: Callable[[], int]
    kept_bytes: int = 0  # of all accounts, as of the last `measure`
    free_bytes: int = 0  # for files: on the disk and within the database's file
    refused: Counter[str] = field(default_factory=Counter)  # by limit
    uploads: dict[int, _Uploads] = field(default_factory=dict)  # by account

    def limits_of(self, account_id: int) -> FileLimits:
        """Return the limits of an account's plan."""
        return self.plans[self.desk.account(account_id).plan]

    def bounds_of(self, account_id: int) -> TableBounds:
        """Return the bounds of one file of an account."""
        limits = self.limits_of(account_id)
        return msgspec.structs.replace(
            BOUNDS,
            file_bytes=min(limits.file_bytes, BOUNDS.file_bytes),
            cells=limits.cells,
            characters=min(4 * limits.file_bytes, BOUNDS.characters),
        )

    # Uploads

    @asynccontextmanager
    async def upload(
        self, account_id: int, announced_bytes: int, create_key: str | None
    ) -> AsyncGenerator["IncomingFile", None]:
        """Admit a file before any of it is read.

        `announced_bytes`: 0 if the size is unknown. A repeated request with an existing batch does
        not count as one more. Raises `RequestTooLarge`, `TooManyUnreadFiles`, `TooManyOpenBatches`,
        `FileSpaceUsed`, `NoFileSpace`.
        """
        files = self.desk.batch_files
        taken = await asyncio.to_thread(files.taken, account_id)
        repeated = await asyncio.to_thread(files.is_made, account_id, create_key)
        upload = IncomingFile(self, account_id, taken, create_key)
        if (
            not repeated
            and (over := exceeded_count_limit(upload.limits, upload.usage())) is not None
        ):
            raise self.refusal(over, upload)
        upload.check(announced_bytes)
        uploads = self.uploads.setdefault(account_id, _Uploads())
        uploads.files += 1
        try:
            yield upload
        finally:  # right after the batch was made, so that the next measurement counts it once
            uploads.files -= 1
            uploads.size_bytes -= upload.size_bytes
            if not uploads.files:
                self.uploads.pop(account_id, None)

    def usage(self, account_id: int, taken: StorageUse) -> FilesKept:
        """Return the current use: the measured use plus the uploads in progress."""
        uploads = self.uploads.get(account_id, _Uploads())
        all_uploads = sum(each.size_bytes for each in self.uploads.values())
        free = self.disk_free_bytes()
        if free is not None:
            free += max(0, taken.reusable_bytes - all_uploads)
        return FilesKept(
            taken.own_bytes + uploads.size_bytes,
            taken.own_open + uploads.files,
            taken.own_unread + uploads.files,
            taken.all_bytes + all_uploads,
            free,
        )

    def refusal(self, over: UploadLimit, upload: "IncomingFile") -> BalcaoError:
        """Count a refusal and return its error."""
        self.refused[over] += 1
        match over:
            case "unread":
                return TooManyUnreadFiles()
            case "open":
                return TooManyOpenBatches()
            case "kept":
                return FileSpaceUsed(upload.usage().own_bytes, upload.limits.kept_bytes)
            case "all" | "disk":
                return NoFileSpace()

    # Rows of a file that is being read

    async def rows(self, account_id: int) -> "RowCounter":
        """Return a counter for the rows of one file of this account."""
        taken = await asyncio.to_thread(self.desk.batch_files.taken, account_id)
        return RowCounter(self, account_id, taken)

    # A full disk

    def check_disk(self, needed_bytes: int = 0) -> None:
        """Raise `NoFileSpace` if the disk has no space for `needed_bytes` of temporary files."""
        free = self.disk_free_bytes()
        if free is not None and free - needed_bytes < self.shared.disk_free_bytes:
            self.refused["disk"] += 1
            raise NoFileSpace

    async def measure(self) -> None:
        """Measure the space in use, and refuse unread files if the disk is short of space.

        Raises `StorageFailed`.
        """
        files, batches = self.desk.batch_files, self.desk.batches
        taken = await asyncio.to_thread(files.taken, 0)
        self.kept_bytes = taken.all_bytes
        free = self.disk_free_bytes()
        if free is None:
            return
        self.free_bytes = free + taken.reusable_bytes
        missing = self.shared.disk_free_bytes // 2 - self.free_bytes
        if missing <= 0:
            return
        for batch_id in files_to_drop(await asyncio.to_thread(files.unread), missing):
            if await batches.begin(batch_id):
                await batches.refuse(batch_id, NO_SPACE, _NO_SPACE_TEXT, self.now_ms())
                self.refused["given_back"] += 1
                log.warning("batches.given_back", batch=batch_id)

    def figures(self) -> FileFigures:
        """Return the figures for `/metrics`."""
        free = (self.free_bytes, self.shared.disk_free_bytes)
        return self.refused.items(), (self.kept_bytes, self.shared.kept_bytes), free


class IncomingFile:
    """An upload in progress. `add` is called before each piece is stored."""

    def __init__(
        self, admission: FileAdmission, account_id: int, taken: StorageUse, create_key: str | None
    ) -> None:
        self.limits = admission.limits_of(account_id)
        self.size_bytes = 0
        self._admission = admission
        self._account_id = account_id
        self._taken = taken
        self._create_key = create_key

    def usage(self) -> FilesKept:
        """Return the current use, including this file."""
        return self._admission.usage(self._account_id, self._taken)

    def add(self, more_bytes: int) -> None:
        """Count received bytes. Raises as `FileAdmission.upload`."""
        self.check(more_bytes)
        self.size_bytes += more_bytes
        self._admission.uploads[self._account_id].size_bytes += more_bytes

    @asynccontextmanager
    async def completing(self) -> AsyncGenerator[None]:
        """Check the limits again when the file is complete; create its batch within this context.

        The account's usage may have grown meanwhile, here or in another process. A repeated
        request with an existing batch adds nothing. Raises as `FileAdmission.upload`.
        """
        files = self._admission.desk.batch_files
        async with self._admission.uploads[self._account_id].completing:
            if not await asyncio.to_thread(files.is_made, self._account_id, self._create_key):
                self._taken = await asyncio.to_thread(files.taken, self._account_id)
                self.check(0)
            yield

    def check(self, more_bytes: int) -> None:
        """Raise as `FileAdmission.upload` if so many more bytes are not allowed."""
        if self.size_bytes + more_bytes > self.limits.file_bytes:
            raise RequestTooLarge(body_bytes_max=self.limits.file_bytes)
        over = exceeded_byte_limit(self.limits, self._admission.shared, self.usage(), more_bytes)
        if over is not None:
            raise self._admission.refusal(over, self)


class RowCounter:
    """Counts the rows of a file that is being read; `add` is called before they are stored."""

    def __init__(self, admission: FileAdmission, account_id: int, taken: StorageUse) -> None:
        self._admission = admission
        self._limits = admission.limits_of(account_id)
        self._taken = taken
        self._added = 0

    def add(self, rows_bytes: int) -> None:
        """Count bytes of rows. Raises `FileUnreadable` if they do not fit."""
        admission, taken = self._admission, self._taken
        self._added += rows_bytes
        free = admission.disk_free_bytes()
        if free is not None:
            free += max(0, taken.reusable_bytes - self._added)
        short = is_disk_short(admission.shared, free)
        if short or taken.all_bytes + self._added > admission.shared.kept_bytes:
            admission.refused["disk" if short else "all"] += 1
            raise FileUnreadable(NO_SPACE, _NO_SPACE_TEXT)
        if taken.own_bytes + self._added > self._limits.kept_bytes:
            admission.refused["kept"] += 1
            raise FileUnreadable(_ACCOUNT_FULL, _ACCOUNT_FULL_TEXT)
