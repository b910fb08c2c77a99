"""Fetching a month, from the question whether there is one to the switch. Read this file first.

Killed at any moment, the same call goes on where it was; nothing published changes before the
importer's last step. What is decided stands in `gate`, `pace` and `hours`, without I/O
(ADR 0047).
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
from balcao.opendata.fetching.gate import (
    AGAIN_MS,
    UNCHANGED_MS,
    MonthListing,
    complaint_of,
    first_seen,
    inner_name,
    may_be_out,
    needed_bytes,
    stamp_of,
    vintage_complaint,
    wanted_month,
)
from balcao.opendata.fetching.line import ShareLine, Sleep
from balcao.opendata.fetching.share import Folder, look_at, place_of_month
from balcao.opendata.fetching.state import FetchState, StateFile
from balcao.opendata.importer import build
from balcao.opendata.progress import Listeners, ProgressListener, downloading
from balcao.opendata.progress_file import reason_of
from balcao.opendata.snapshot import current_edition

ZIPS = "fetched"  # in the store: a folder for each month, as on the share

# A token that changes in the middle is looked for anew, a few times.
_MOVES_MAX = 5
_MOVED_SECONDS = 60.0

_TWICE = "confere de novo os tamanhos em alguns minutos"


@dataclass(frozen=True, slots=True)
class FetchSite:
    """What a run is given. `month`: that one, whatever is in use; `into`: the zips stay there."""

    store: Path
    addresses: Sequence[str]
    client: Callable[[], httpx2.AsyncClient]
    now_ms: Callable[[], int]
    sleep: Sleep = asyncio.sleep
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    month: str | None = None
    into: Path | None = None
    keep_zips: bool = False
    workers: int = 2
    # Whether to try again what the import refused: not by itself, every night.
    even_refused: bool = True

    def zips(self, month: str) -> Path:
        """The month's folder."""
        return (self.into or self.store / ZIPS) / month


def fetch(site: FetchSite, progress: ProgressListener | None = None) -> FetchState:
    """Look for a month; if there is one, and all of it: download it, import it, switch.

    What is not there yet is no error: the state says what is waited for, and until when. Raises
    `FetchRunning`, other `OpenDataError`s and `OSError`; then the published month stays.
    """
    with StateFile(site.store, site.now_ms) as told:
        run = _Run(site, told, Listeners(progress))
        try:
            if asyncio.run(run.obtain()):
                run.build_and_switch()
        except Exception as error:
            again = run.goes_on_ms if isinstance(error, FetchFailed) else None
            at = None if again is None else from_ms(again)
            told.say("falhou", reason_of(error, site.store), month=run.month, again_at=at)
            raise
        return told.state


@dataclass(slots=True)
class _Run:
    """One look for a month, and what becomes of it. Where it ends early, the state says why."""

    site: FetchSite
    told: StateFile
    listeners: Listeners
    month: str | None = None  # the one that is to be fetched, once it is known

    @property
    def goes_on_ms(self) -> int | None:
        """When to go on with a download that broke off; None: none was under way."""
        under_way = self.told.state.standing == "baixando"
        return self.site.now_ms() + AGAIN_MS if under_way else None

    async def obtain(self) -> bool:
        """Have all zips of a month here, and well. False: there is nothing to import, yet."""
        if self.site.month is None and not may_be_out(self._today(), self._in_use()):
            return self._nothing()
        async with self.site.client() as client:
            line, why = ShareLine(client, self.site.sleep), ""
            for _ in range(_MOVES_MAX):
                try:
                    return await self._obtain_by(line)
                except ShareGone as error:
                    why = str(error)
                    await self.site.sleep(_MOVED_SECONDS)
                except MonthChanged as error:
                    return self._wait(str(error))
        raise ShareFailed(f"o compartilhamento mudou de lugar: {why}")

    async def _obtain_by(self, line: ShareLine) -> bool:
        source = await self._find(line)
        if source is None or self.month is None:
            return self._nothing()
        listed = await self._settled(line, source, self.month)
        if listed is None:
            return False
        if self.told.state.refused == _digest(listed) and not self.site.even_refused:
            raise FetchFailed(f"a importação recusou os arquivos de {self.month}, e não mudaram")
        stamp = await self._vintage(line, source, listed)
        if stamp is None:
            return False
        if self.site.month is None and stamp == _stamp(self._in_use()):  # from a folder, by hand
            return self._nothing(fetched=self.month)
        await self._download(line, source, listed, stamp)
        return True

    async def _find(self, line: ShareLine) -> Folder | None:
        """Where the month to fetch is: of the shares that have it, the first."""
        places = await look_at(line, self.site.addresses)
        there = sorted({month for place in places for month in place.months})
        self.month = self.site.month or wanted_month(
            there, today=self._today(), in_use=self._in_use(), fetched=self.told.state.fetched
        )
        if self.month is None:
            return None
        source = place_of_month(places, self.month)
        if source is None:
            newest = f"; o mais novo é {there[-1]}" if there else ""
            raise FetchFailed(f"o mês {self.month} não está publicado{newest}")
        return source

    async def _settled(self, line: ShareLine, source: Folder, month: str) -> MonthListing | None:
        """The month's listing, once it is complete and has stayed the same; None: not yet."""
        now = await self._list(line, source, month)
        first = first_seen(now, self.told.state.seen)
        if complaint := complaint_of(now.sizes):
            self._wait(complaint, seen=first)
            return None
        settles_ms = first.at_ms + UNCHANGED_MS
        if settles_ms > now.at_ms:
            self._wait(_TWICE, seen=first, until_ms=settles_ms)
            await self.site.sleep((settles_ms - now.at_ms) / 1000)
            again = await self._list(line, source, month)
            if again.sizes != now.sizes:
                self._wait(complaint_of(again.sizes) or "os arquivos ainda mudam", seen=again)
                return None
        return first

    async def _list(self, line: ShareLine, source: Folder, month: str) -> MonthListing:
        return MonthListing(month, self.site.now_ms(), dict(await source.sizes(line, month)))

    async def _vintage(self, line: ShareLine, source: Folder, listed: MonthListing) -> str | None:
        """The extraction that all zips are of, by their inner names; None: they are not, yet."""
        names = sorted(listed.sizes)
        heads = await _all_of([source.head(line, listed.month, name) for name in names])
        inner = {name: inner_name(head) for name, head in zip(names, heads, strict=True)}
        stamps = {name: None if entry is None else stamp_of(entry) for name, entry in inner.items()}
        if complaint := vintage_complaint(stamps):
            self._wait(complaint, seen=listed)
            return None
        return stamps[names[0]]

    async def _download(
        self, line: ShareLine, source: Folder, listed: MonthListing, stamp: str
    ) -> None:
        """All zips, here and well. A damaged one is downloaded again, once."""
        into = self.site.zips(listed.month)
        into.mkdir(parents=True, exist_ok=True)
        self._tidy()
        download = Download(line, source, listed, into, self._count)
        _check_room(self.site, download)
        total = listed.bytes
        self.told.say("baixando", month=listed.month, seen=listed, bytes_done=0, bytes_total=total)
        self.listeners.begin(downloading(listed.month), total)
        await download.all()
        for name in await asyncio.to_thread(download.damages, stamp):
            download.forget(name)
        await download.all()
        if damages := await asyncio.to_thread(download.damages, stamp):
            for name in damages:
                download.forget(name)
            raise BadInput("baixado duas vezes, " + "; ".join(damages.values()))

    def _count(self, file: str, more: int) -> None:
        self.told.count(more)
        self.listeners.advance(file, more, 0)

    def build_and_switch(self) -> None:
        """As from any folder. Then the zips go, unless they are to stay."""
        site, told = self.site, self.told
        assert self.month is not None
        told.say("importando")
        folder = site.zips(self.month)
        try:
            build(
                [folder],
                site.store,
                today=self._today(),
                progress=self.listeners,
                workers=site.workers,
            )
        except (VerificationFailed, TooManyRejects, BadInput):
            seen = told.state.seen
            told.say("importando", refused=None if seen is None else _digest(seen))
            raise
        told.say("trocado", fetched=self.month, refused=None)
        if site.into is None and not site.keep_zips:
            shutil.rmtree(folder, ignore_errors=True)

    def _wait(self, reason: str, *, until_ms: int | None = None, **more: Any) -> bool:
        """Say what is waited for, and until when: an hour, if nothing else is known. False."""
        again = from_ms(until_ms or self.site.now_ms() + AGAIN_MS)
        self.told.say("incompleto", reason, month=self.month, again_at=again, **more)
        return False

    def _nothing(self, **more: Any) -> bool:
        """Say that there is no month to fetch. False."""
        self.month = None
        self._tidy()
        self.told.say("esperando_mes", month=None, **more)
        return False

    def _tidy(self) -> None:
        """In our own folder alone: of other months than this one nothing is of use any more."""
        ours = self.site.store / ZIPS
        if not self.site.keep_zips and ours.is_dir():
            for folder in ours.iterdir():
                if folder.name != self.month:
                    shutil.rmtree(folder, ignore_errors=True)

    def _today(self) -> date:
        return civil_day(self.site.now_ms())

    def _in_use(self) -> date | None:
        try:
            return current_edition(self.site.store).extraction_date
        except OpenDataError:
            return None


async def _all_of(asked: Sequence[Coroutine[Any, Any, bytes]]) -> Sequence[bytes]:
    """What all of them bring. Whoever fails first ends the others."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_room(site: FetchSite, download: Download) -> None:
    """Before the first byte. What is here of all that already counts as room. Raises `NoRoom`."""
    zips, into = download.listed.bytes, download.into
    needed, here = needed_bytes(zips), download.here()
    if into.stat().st_dev != site.store.stat().st_dev:
        _demand(into, zips, site.free_bytes(into) + here)
        needed, here = needed - zips, 0
    months = sum(size_of(path) for path in site.store.glob("*.snapshot"))
    _demand(site.store, needed, site.free_bytes(site.store) + here + months)


def _demand(folder: Path, needed: int, free: int) -> None:
    if free < needed:
        raise NoRoom(
            f"{folder} precisa de uns {needed >> 20} MiB para o mês novo e o anterior, e tem"
            f" {free >> 20} MiB"
        )


def _digest(listed: MonthListing) -> str:
    text = msgspec.json.encode([listed.month, sorted(listed.sizes.items())])
    return hashlib.sha256(text).hexdigest()[:16]


def _stamp(day: date | None) -> str | None:
    """As inner names write it."""
    return None if day is None else f"{day.year % 10}{day:%m%d}"
