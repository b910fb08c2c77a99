"""A month's zips, from the share to a folder: resumed at any byte, and tested.

What is not whole is `NAME.zip.MONTH.part`. The month belongs into its name: names repeat every
month, and to go on with another month's part would be silent corruption.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx2

from balcao.opendata.archive import discover, read_chunks
from balcao.opendata.errors import BadInput, FetchFailed, MonthChanged, ShareGone
from balcao.opendata.fetching.gate import MonthListing, inner_name, stamp_of
from balcao.opendata.fetching.line import ShareLine, in_words
from balcao.opendata.fetching.pace import Patience, Turn, Write, what_now
from balcao.opendata.fetching.share import HEAD_BYTES, Folder


@dataclass(frozen=True, slots=True)
class Download:
    """The zips of a listed month, on their way into a folder."""

    line: ShareLine
    source: Folder
    listed: MonthListing
    into: Path
    count: Callable[[str, int], None]  # so many more bytes of a file; fewer, if it begins anew
    _tell: dict[str, int] = field(default_factory=dict)  # what was counted, by file

    def whole(self, name: str) -> Path:
        """Where a zip lies when all of it is here."""
        return self.into / name

    def part(self, name: str) -> Path:
        """Where it grows."""
        return self.into / f"{name}.{self.listed.month}.part"

    def here(self) -> int:
        """Bytes that need not be asked for."""
        return sum(
            min(size_of(self.whole(name)) or size_of(self.part(name)), size)
            for name, size in self.listed.sizes.items()
        )

    async def all(self) -> None:
        """Whatever is not here yet. Raises `FetchFailed`; what came until then stays."""
        largest_first = sorted(self.listed.sizes, key=self.listed.sizes.__getitem__, reverse=True)
        try:
            async with asyncio.TaskGroup() as group:
                for name in largest_first:
                    group.create_task(self.one(name))
        except BaseExceptionGroup as several:
            raise _first(several) from several

    async def one(self, name: str) -> None:
        """One zip, in as many attempts as it takes, as long as each brings something."""
        whole, part, total = self.whole(name), self.part(name), self.listed.sizes[name]
        if size_of(whole) == total:
            self._told(name, total)
            return
        whole.unlink(missing_ok=True)
        patience, complaint = Patience(), ""
        while size_of(part) != total:
            if patience.is_over:
                raise FetchFailed(f"{name} não avança: {complaint}")
            await self.line.wait(patience)
            before = size_of(part)
            complaint = await self._attempt(name, part, total)
            patience = patience.after(progress=size_of(part) > before)
        part.replace(whole)

    def damages(self, stamp: str) -> Mapping[str, str]:
        """What is wrong with zips that are here, by name; `stamp` is the month's extraction.

        Inflates all of them, a minute for a month: not for the event loop's thread.
        """
        found = {name: _damage(self.whole(name), stamp) for name in sorted(self.listed.sizes)}
        return {name: said for name, said in found.items() if said is not None}

    def forget(self, name: str) -> None:
        """It has to come anew."""
        self.whole(name).unlink(missing_ok=True)
        self.part(name).unlink(missing_ok=True)
        self._told(name, 0)

    async def _attempt(self, name: str, part: Path, total: int) -> str:
        """As much as comes. What kept the rest from coming, if anything did."""
        have = size_of(part)
        if have > total:
            self.forget(name)
            have = 0
        self._told(name, have)
        headers = self.source.headers | ({"range": f"bytes={have}-"} if have else {})
        url = self.source.file(self.listed.month, name)
        try:
            async with self.line.request("GET", url, headers) as response:
                told = response.headers
                if told.get("content-encoding", "identity") != "identity":
                    return "veio comprimido"
                length = told.get("content-length", "")
                turn = what_now(
                    have,
                    total,
                    response.status_code,
                    told.get("content-range"),
                    int(length) if length.isascii() and length.isdigit() else None,
                )
                if isinstance(turn, Write):
                    return await self._write(response, name, part, turn.at)
        except httpx2.TransportError as error:
            return in_words(error)
        complaint = f"o servidor respondeu {response.status_code}"
        match turn:
            case Turn.GONE:
                raise ShareGone(complaint)
            case Turn.CHANGED:
                self.forget(name)
                raise MonthChanged(f"{name} mudou enquanto era baixado")
            case Turn.DISCARD:
                self.forget(name)
        return complaint

    async def _write(self, response: httpx2.Response, name: str, part: Path, at: int) -> str:
        total = self.listed.sizes[name]
        with _opened(part, at) as file:
            self._told(name, at)
            async for chunk in response.aiter_raw():
                at += len(chunk)
                if at > total:  # it is not the one that was listed
                    break
                if file.write(chunk) != len(chunk):  # the disk took what it had room for
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self._told(name, at)
        if at > total:
            self.forget(name)
            raise MonthChanged(f"{name} cresceu enquanto era baixado")
        return "" if at == total else "terminou antes do fim"

    def _told(self, name: str, have: int) -> None:
        before = self._tell.get(name, 0)
        if have != before:
            self._tell[name] = have
            self.count(name, have - before)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _opened(part: Path, at: int) -> IO[bytes]:
    """The part, cut off there, to be written on. Unbuffered: what came is there if we die."""
    file = part.open("ab", buffering=0)
    file.truncate(at)
    return file


def _first(several: BaseExceptionGroup) -> BaseException:
    """Of those that failed together, whose failure says most."""
    flat = list(several.exceptions)
    ours = [error for error in flat if isinstance(error, ShareGone | MonthChanged)]
    stops = [error for error in flat if not isinstance(error, Exception)]
    return (stops or ours or flat)[0]


def _damage(path: Path, stamp: str) -> str | None:
    try:
        found = discover([path])
        (part,) = (*found.parts, *found.domains)
        with path.open("rb") as file:
            first = inner_name(file.read(HEAD_BYTES))
        if stamp_of(part.entry) != stamp or first != part.entry:
            return f"{path.name} é de outra extração ({first}, {part.entry})"
        for _ in read_chunks(part):
            pass
    except (BadInput, ValueError) as error:
        return str(error) if isinstance(error, BadInput) else f"{path.name} não é do CNPJ"
    return None
