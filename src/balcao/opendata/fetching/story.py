"""Fetch a month, from the search for a new one to its publication. Read this file first.

Killed at any moment, the same call resumes; nothing published changes before the importer's last
step. Decisions are in `month_selection`, `retry` and `schedule`, without I/O (ADR 0047).
"""

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from balcao.core.calendar import civil_day, from_ms
from balcao.opendata.errors import (
    BadInput,
    FetchFailed,
    MonthChanged,
    NoRoom,
    OpenDataError,
    ShareFailed,
    ShareGone,
    TooManyRejects,
    VerificationFailed,
)
from balcao.opendata.fetching.download import Download, size_of
from balcao.opendata.fetching.month_selection import (
    RECHECK_MS,
    UNCHANGED_MS,
    ZIP_NAMES,
    MonthListing,
    extraction_stamp,
    first_entry_name,
    first_seen,
    incomplete_reason,
    may_be_published,
    mixed_extractions_reason,
    required_bytes,
    select_month,
)
from balcao.opendata.fetching.share import Folder, folder_of_month, list_published
from balcao.opendata.fetching.share_client import ShareClient, Sleep
from balcao.opendata.fetching.state import FetchState, StateFile
from balcao.opendata.importer import build
from balcao.opendata.progress import Listeners, ProgressListener, downloading
from balcao.opendata.progress_file import reason_of
from balcao.opendata.snapshot import current_edition

ZIPS = "fetched"  # in the store: a folder for each month, as on the share

# A share whose token changes during the download is searched again, a few times.
_MOVES_MAX = 5
_MOVED_SECONDS = 60.0

_SETTLING = "confere de novo os tamanhos em alguns minutos"


@dataclass(frozen=True, slots=True)
class FetchContext:
    """Arguments of a run. `month`: fetch this one in any case; `into`: the zips stay there."""

    store: Path
    addresses: Sequence[str]
    open_client: Callable[[], httpx2.AsyncClient]
    now_ms: Callable[[], int]
    sleep: Sleep = asyncio.sleep
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    month: str | None = None
    into: Path | None = None
    keep_zips: bool = False
    workers: int = 2
    # Whether to retry files that the import refused: not in the automatic run of every night.
    retry_refused: bool = True

    def zips(self, month: str) -> Path:
        return (self.into or self.store / ZIPS) / month


def fetch(context: FetchContext, progress: ProgressListener | None = None) -> FetchState:
    """Search for a month; if there is a complete one: download, import and publish it.

    A missing or incomplete month is not an error: the state has the reason, and when to look again.
    Raises `FetchRunning`, other `OpenDataError`s and `OSError`; then the published month stays.
    """
    with StateFile(context.store, context.now_ms) as state_file:
        run = _Run(context, state_file, Listeners(progress))
        try:
            if asyncio.run(run.download_month()):
                run.import_and_publish()
        except Exception as error:
            again = run.resume_at_ms if isinstance(error, FetchFailed) else None
            at = None if again is None else from_ms(again)
            state_file.update(
                "falhou", reason_of(error, context.store), month=run.month, again_at=at
            )
            raise
        return state_file.state


@dataclass(slots=True)
class _Run:
    """One search for a month, and its download. If it ends early, the state has the reason."""

    context: FetchContext
    state_file: StateFile
    listeners: Listeners
    month: str | None = None  # the one to fetch, once it is known

    @property
    def resume_at_ms(self) -> int | None:
        """When to resume an interrupted download; None: none was in progress."""
        under_way = self.state_file.state.standing == "baixando"
        return self.context.now_ms() + RECHECK_MS if under_way else None

    async def download_month(self) -> bool:
        """Download and check all zips of a month. False: there is nothing to import yet."""
        if self.context.month is None and not may_be_published(self._today(), self._in_use()):
            return self._set_idle()
        async with self.context.open_client() as http_client:
            client, reason = ShareClient(http_client, self.context.sleep), ""
            for _ in range(_MOVES_MAX):
                try:
                    return await self._download_month_from(client)
                except ShareGone as error:
                    reason = str(error)
                    await self.context.sleep(_MOVED_SECONDS)
                except MonthChanged as error:
                    return self._set_incomplete(str(error))
        raise ShareFailed(f"o compartilhamento mudou de lugar: {reason}")

    async def _download_month_from(self, client: ShareClient) -> bool:
        source = await self._select_source(client)
        if source is None or self.month is None:
            return self._set_idle()
        listing = await self._settled_listing(client, source, self.month)
        if listing is None:
            return False
        if self.state_file.state.refused == _digest(listing) and not self.context.retry_refused:
            raise FetchFailed(f"a importação recusou os arquivos de {self.month}, e não mudaram")
        stamp = await self._extraction(client, source, listing)
        if stamp is None:
            return False
        if self.context.month is None and stamp == _stamp(self._in_use()):  # from a folder, by hand
            return self._set_idle(fetched=self.month)
        await self._download(client, source, listing, stamp)
        return True

    async def _select_source(self, client: ShareClient) -> Folder | None:
        """Select the month to fetch, and return the first share that has it."""
        places = await list_published(client, self.context.addresses)
        there = sorted({month for place in places for month in place.months})
        self.month = self.context.month or select_month(
            there, today=self._today(), in_use=self._in_use(), fetched=self.state_file.state.fetched
        )
        if self.month is None:
            return None
        source = folder_of_month(places, self.month)
        if source is None:
            newest = f"; o mais novo é {there[-1]}" if there else ""
            raise FetchFailed(f"o mês {self.month} não está publicado{newest}")
        return source

    async def _settled_listing(
        self, client: ShareClient, source: Folder, month: str
    ) -> MonthListing | None:
        """Return the month's listing, once it is complete and long enough unchanged; else None."""
        now = await self._list(client, source, month)
        first = first_seen(now, self.state_file.state.seen)
        if reason := incomplete_reason(now.sizes):
            self._set_incomplete(reason, seen=first)
            return None
        settles_ms = first.at_ms + UNCHANGED_MS
        if settles_ms > now.at_ms:
            self._set_incomplete(_SETTLING, seen=first, until_ms=settles_ms)
            await self.context.sleep((settles_ms - now.at_ms) / 1000)
            again = await self._list(client, source, month)
            if again.sizes != now.sizes:
                self._set_incomplete(
                    incomplete_reason(again.sizes) or "os arquivos ainda mudam", seen=again
                )
                return None
        return first

    async def _list(self, client: ShareClient, source: Folder, month: str) -> MonthListing:
        return MonthListing(month, self.context.now_ms(), dict(await source.sizes(client, month)))

    async def _extraction(
        self, client: ShareClient, source: Folder, listing: MonthListing
    ) -> str | None:
        """Return the extraction of all zips, by their inner names; None: they differ."""
        names = sorted(ZIP_NAMES & listing.sizes.keys())
        heads = await _gather([source.head(client, listing.month, name) for name in names])
        inner = {name: first_entry_name(head) for name, head in zip(names, heads, strict=True)}
        stamps = {
            name: None if entry is None else extraction_stamp(entry)
            for name, entry in inner.items()
        }
        if reason := mixed_extractions_reason(stamps):
            self._set_incomplete(reason, seen=listing)
            return None
        return stamps[names[0]]

    async def _download(
        self, client: ShareClient, source: Folder, listing: MonthListing, stamp: str
    ) -> None:
        """Download and check all zips. A damaged one is downloaded again, once."""
        into = self.context.zips(listing.month)
        into.mkdir(parents=True, exist_ok=True)
        self._delete_old_zips()
        download = Download(client, source, listing, into, self._count)
        _check_space(self.context, download)
        total = listing.bytes
        self.state_file.update(
            "baixando", month=listing.month, seen=listing, bytes_done=0, bytes_total=total
        )
        self.listeners.begin(downloading(listing.month), total)
        await download.run()
        for name in await asyncio.to_thread(download.find_damage, stamp):
            download.discard(name)
        await download.run()
        if damages := await asyncio.to_thread(download.find_damage, stamp):
            for name in damages:
                download.discard(name)
            if needed := [text for name, text in damages.items() if name in ZIP_NAMES]:
                raise BadInput("baixado duas vezes, " + "; ".join(needed))

    def _count(self, file: str, more: int) -> None:
        self.state_file.count(more)
        self.listeners.advance(file, more, 0)

    def import_and_publish(self) -> None:
        """Import and publish the downloaded month, and delete its zips if configured so."""
        context, state_file = self.context, self.state_file
        assert self.month is not None
        state_file.update("importando")
        folder = context.zips(self.month)
        try:
            build(
                [folder],
                context.store,
                today=self._today(),
                progress=self.listeners,
                workers=context.workers,
            )
        except (VerificationFailed, TooManyRejects, BadInput):
            seen = state_file.state.seen
            state_file.update("importando", refused=None if seen is None else _digest(seen))
            raise
        state_file.update("trocado", fetched=self.month, refused=None)
        if context.into is None and not context.keep_zips:
            shutil.rmtree(folder, ignore_errors=True)

    def _set_incomplete(self, reason: str, *, until_ms: int | None = None, **more: Any) -> bool:
        """Record what is missing and when to look again, by default in an hour. Returns False."""
        again = from_ms(until_ms or self.context.now_ms() + RECHECK_MS)
        self.state_file.update("incompleto", reason, month=self.month, again_at=again, **more)
        return False

    def _set_idle(self, **more: Any) -> bool:
        """Record that there is no month to fetch. Returns False."""
        self.month = None
        self._delete_old_zips()
        self.state_file.update("esperando_mes", month=None, **more)
        return False

    def _delete_old_zips(self) -> None:
        """Delete other months from our own download folder."""
        ours = self.context.store / ZIPS
        if not self.context.keep_zips and ours.is_dir():
            for folder in ours.iterdir():
                if folder.name != self.month:
                    shutil.rmtree(folder, ignore_errors=True)

    def _today(self) -> date:
        return civil_day(self.context.now_ms())

    def _in_use(self) -> date | None:
        try:
            return current_edition(self.context.store).extraction_date
        except OpenDataError:
            return None


async def _gather(coroutines: Sequence[Coroutine[Any, Any, bytes]]) -> Sequence[bytes]:
    """Run all of them and return their results. The first failure cancels the others."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_space(context: FetchContext, download: Download) -> None:
    """Check the disk space, existing files included. Raises `NoRoom`."""
    zips, into = download.listing.bytes, download.folder
    needed, on_disk = required_bytes(zips), download.bytes_on_disk()
    if into.stat().st_dev != context.store.stat().st_dev:
        _require_space(into, zips, context.free_bytes(into) + on_disk)
        needed, on_disk = needed - zips, 0
    months = sum(size_of(path) for path in context.store.glob("*.snapshot"))
    _require_space(context.store, needed, context.free_bytes(context.store) + on_disk + months)


def _require_space(folder: Path, needed: int, free: int) -> None:
    if free < needed:
        raise NoRoom(
            f"{folder} precisa de cerca de {needed >> 20} MiB para o mês novo e o anterior."
            f" Livres: {free >> 20} MiB"
        )


def _digest(listing: MonthListing) -> str:
    text = msgspec.json.encode([listing.month, sorted(listing.sizes.items())])
    return hashlib.sha256(text).hexdigest()[:16]


def _stamp(day: date | None) -> str | None:
    """Format a day as inner names do."""
    return None if day is None else f"{day.year % 10}{day:%m%d}"
