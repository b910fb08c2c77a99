"""The room for files in this process: uploads, rows that are read, results (ADR 0078).

What is allowed is decided in `core.file_limits`; here it is measured, and refused.
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
    OpenBatchesCrowded,
    RequestTooLarge,
    UnreadFilesCrowded,
)
from balcao.core.file_limits import (
    FileLimits,
    FilesKept,
    SharedLimits,
    UploadLimit,
    given_back,
    is_disk_short,
    limit_of_bytes,
    limit_of_count,
)
from balcao.storage.desk.batch_files import RoomTaken
from balcao.storage.desk.desk import Desk

# What was refused, by limit; bytes that are kept, and may be; bytes that are free, and have to be.
FilesMeasured: TypeAlias = tuple[Iterable[tuple[str, int]], tuple[int, int], tuple[int, int]]

log = structlog.get_logger()

NO_SPACE = "sem_espaco"
_NO_SPACE_TEXT = (
    "O serviço ficou sem espaço em disco antes de ler este arquivo. Nada foi cobrado; envie-o de"
    " novo mais tarde."
)
_ACCOUNT_FULL = "espaco_da_conta"
_ACCOUNT_FULL_TEXT = (
    "As linhas deste arquivo não cabem no espaço que o plano da conta tem para lotes. Apague os"
    " dados de lotes que já terminaram, ou divida o arquivo."
)


@dataclass(slots=True)
class _UnderWay:
    """Uploads of one account that are under way."""

    files: int = 0
    size_bytes: int = 0
    ending: asyncio.Lock = field(default_factory=asyncio.Lock)  # one of them is measured and kept


@dataclass(slots=True)
class FileRoom:
    """Admission of files to a process. `disk_free_bytes`: None if that is not known."""

    desk: Desk
    plans: Mapping[Plan, FileLimits]
    shared: SharedLimits
    disk_free_bytes: Callable[[], int | None]
    now_ms: Callable[[], int]
    kept_bytes: int = 0  # of all accounts, as of the last `look`
    free_bytes: int = 0  # for files: of the disk, and within the database's file
    refused: Counter[str] = field(default_factory=Counter)  # by limit
    coming: dict[int, _UnderWay] = field(default_factory=dict)  # by account

    def limits_of(self, account_id: int) -> FileLimits:
        """Return the limits of an account, by its plan."""
        return self.plans[self.desk.account(account_id).plan]

    def bounds_of(self, account_id: int) -> TableBounds:
        """Return how much one file of an account may be."""
        limits = self.limits_of(account_id)
        return msgspec.structs.replace(
            BOUNDS,
            file_bytes=min(limits.file_bytes, BOUNDS.file_bytes),
            cells=limits.cells,
            characters=min(4 * limits.file_bytes, BOUNDS.characters),
        )

    # Uploads.

    @asynccontextmanager
    async def upload(
        self, account_id: int, announced_bytes: int, create_key: str | None
    ) -> AsyncGenerator["Coming", None]:
        """Admit a file before any of it is read.

        `announced_bytes`: 0 if its size is not known. One that repeats a request that made a batch
        is not counted as one more. Raises `RequestTooLarge`, `UnreadFilesCrowded`,
        `OpenBatchesCrowded`, `FileSpaceUsed`, `NoFileSpace`.
        """
        files = self.desk.batch_files
        taken = await asyncio.to_thread(files.taken, account_id)
        repeated = await asyncio.to_thread(files.is_made, account_id, create_key)
        upload = Coming(self, account_id, taken, create_key)
        if not repeated and (over := limit_of_count(upload.limits, upload.kept())) is not None:
            raise self.refusal(over, upload)
        upload.check(announced_bytes)
        coming = self.coming.setdefault(account_id, _UnderWay())
        coming.files += 1
        try:
            yield upload
        finally:  # at once after a batch was made: what is measured next counts it once
            coming.files -= 1
            coming.size_bytes -= upload.size_bytes
            if not coming.files:
                self.coming.pop(account_id, None)

    def kept(self, account_id: int, taken: RoomTaken) -> FilesKept:
        """Return what there is now, with the uploads that came since it was `taken`."""
        coming = self.coming.get(account_id, _UnderWay())
        all_coming = sum(each.size_bytes for each in self.coming.values())
        free = self.disk_free_bytes()
        if free is not None:
            free += max(0, taken.reusable_bytes - all_coming)
        return FilesKept(
            taken.own_bytes + coming.size_bytes,
            taken.own_open + coming.files,
            taken.own_unread + coming.files,
            taken.all_bytes + all_coming,
            free,
        )

    def refusal(self, over: UploadLimit, upload: "Coming") -> BalcaoError:
        """Count a refusal, and return its error."""
        self.refused[over] += 1
        match over:
            case "unread":
                return UnreadFilesCrowded()
            case "open":
                return OpenBatchesCrowded()
            case "kept":
                return FileSpaceUsed(upload.kept().own_bytes, upload.limits.kept_bytes)
            case "all" | "disk":
                return NoFileSpace()

    # Rows of a file that is being read.

    async def rows(self, account_id: int) -> "RowRoom":
        """Return what counts the rows of a file of this account."""
        taken = await asyncio.to_thread(self.desk.batch_files.taken, account_id)
        return RowRoom(self, account_id, taken)

    # A full disk.

    def check_disk(self, needed_bytes: int = 0) -> None:
        """Raise `NoFileSpace` if a temporary file, of so many more bytes, has no room."""
        free = self.disk_free_bytes()
        if free is not None and free - needed_bytes < self.shared.disk_free_bytes:
            self.refused["disk"] += 1
            raise NoFileSpace

    async def look(self) -> None:
        """Measure, and refuse files that nobody has begun to read if the disk is short of room.

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
        for batch_id in given_back(await asyncio.to_thread(files.unread), missing):
            if await batches.begin(batch_id):
                await batches.refuse(batch_id, NO_SPACE, _NO_SPACE_TEXT, self.now_ms())
                self.refused["given_back"] += 1
                log.warning("batches.given_back", batch=batch_id)

    def measured(self) -> FilesMeasured:
        """Return what `/metrics` says."""
        free = (self.free_bytes, self.shared.disk_free_bytes)
        return self.refused.items(), (self.kept_bytes, self.shared.kept_bytes), free


class Coming:
    """A file on its way in. `add` is called before each piece is kept."""

    def __init__(
        self, room: FileRoom, account_id: int, taken: RoomTaken, create_key: str | None
    ) -> None:
        self.limits = room.limits_of(account_id)
        self.size_bytes = 0
        self._room = room
        self._account_id = account_id
        self._taken = taken
        self._create_key = create_key

    def kept(self) -> FilesKept:
        """Return what there is now, this file included."""
        return self._room.kept(self._account_id, self._taken)

    def add(self, more_bytes: int) -> None:
        """Count bytes that have come. Raises as `FileRoom.upload`."""
        self.check(more_bytes)
        self.size_bytes += more_bytes
        self._room.coming[self._account_id].size_bytes += more_bytes

    @asynccontextmanager
    async def ending(self) -> AsyncGenerator[None]:
        """Measure again once the file is whole, before its batch is made within this block.

        Other files of the account may have become batches while this one came, here or in another
        process. One that repeats a request whose batch there is by now adds nothing. Raises as
        `FileRoom.upload`.
        """
        files = self._room.desk.batch_files
        async with self._room.coming[self._account_id].ending:
            if not await asyncio.to_thread(files.is_made, self._account_id, self._create_key):
                self._taken = await asyncio.to_thread(files.taken, self._account_id)
                self.check(0)
            yield

    def check(self, more_bytes: int) -> None:
        """Raise as `FileRoom.upload` if so many bytes more may not come."""
        if self.size_bytes + more_bytes > self.limits.file_bytes:
            raise RequestTooLarge(body_bytes_max=self.limits.file_bytes)
        over = limit_of_bytes(self.limits, self._room.shared, self.kept(), more_bytes)
        if over is not None:
            raise self._room.refusal(over, self)


class RowRoom:
    """The rows of a file that is being read. `add` is called before some of them are stored."""

    def __init__(self, room: FileRoom, account_id: int, taken: RoomTaken) -> None:
        self._room = room
        self._limits = room.limits_of(account_id)
        self._taken = taken
        self._added = 0

    def add(self, rows_bytes: int) -> None:
        """Count rows. Raises `FileUnreadable` where they do not fit."""
        room, taken = self._room, self._taken
        self._added += rows_bytes
        free = room.disk_free_bytes()
        if free is not None:
            free += max(0, taken.reusable_bytes - self._added)
        short = is_disk_short(room.shared, free)
        if short or taken.all_bytes + self._added > room.shared.kept_bytes:
            room.refused["disk" if short else "all"] += 1
            raise FileUnreadable(NO_SPACE, _NO_SPACE_TEXT)
        if taken.own_bytes + self._added > self._limits.kept_bytes:
            room.refused["kept"] += 1
            raise FileUnreadable(_ACCOUNT_FULL, _ACCOUNT_FULL_TEXT)
