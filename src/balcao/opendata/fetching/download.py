"""Download of a month's zips from the share to a folder: resumable at any byte, and verified.

Incomplete zips are named `NAME.zip.MONTH.part`. The month is in the name because names repeat every
month, and resuming another month's part would be silent corruption.
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

from balcao.opendata.archive import discover, inspect_tax_regimes, read_chunks
from balcao.opendata.errors import BadInput, FetchFailed, MonthChanged, ShareGone
from balcao.opendata.fetching.month_selection import (
    TAX_REGIME_ZIPS,
    MonthListing,
    extraction_stamp,
    first_entry_name,
)
from balcao.opendata.fetching.retry import ReplyOutcome, RetryState, WriteFrom, interpret_reply
from balcao.opendata.fetching.share import HEAD_BYTES, Folder
from balcao.opendata.fetching.share_client import ShareClient, describe_error


@dataclass(frozen=True, slots=True)
class Download:
    """The download of a listed month's zips into a folder."""

    client: ShareClient
    source: Folder
    listing: MonthListing
    folder: Path
    # Called with the bytes added to a file; negative if it restarts.
    on_progress: Callable[[str, int], None]
    _counted: dict[str, int] = field(default_factory=dict)  # bytes counted, by file

    def complete_path(self, name: str) -> Path:
        return self.folder / name

    def partial_path(self, name: str) -> Path:
        return self.folder / f"{name}.{self.listing.month}.part"

    def bytes_on_disk(self) -> int:
        """Return the bytes that are already downloaded."""
        return sum(
            min(size_of(self.complete_path(name)) or size_of(self.partial_path(name)), size)
            for name, size in self.listing.sizes.items()
        )

    async def run(self) -> None:
        """Download what is missing. Raises `FetchFailed`; bytes received until then stay."""
        largest_first = sorted(self.listing.sizes, key=self.listing.sizes.__getitem__, reverse=True)
        try:
            async with asyncio.TaskGroup() as group:
                for name in largest_first:
                    optional = name in TAX_REGIME_ZIPS
                    group.create_task(
                        self._download_optional(name) if optional else self.download_one(name)
                    )
        except BaseExceptionGroup as errors:
            raise _most_important(errors) from errors

    async def download_one(self, name: str) -> None:
        """Download one zip, in any number of attempts as long as each makes progress."""
        path, partial = self.complete_path(name), self.partial_path(name)
        total = self.listing.sizes[name]
        if size_of(path) == total:
            self._report(name, total)
            return
        path.unlink(missing_ok=True)
        retries, reason = RetryState(), ""
        while size_of(partial) != total:
            if retries.exhausted:
                raise FetchFailed(f"{name} não avança: {reason}")
            await self.client.wait(retries)
            before = size_of(partial)
            reason = await self._attempt(name, partial, total)
            retries = retries.after(progress=size_of(partial) > before)
        partial.replace(path)

    async def _download_optional(self, name: str) -> None:
        """Download a zip without which the month is complete."""
        with suppress(FetchFailed):
            await self.download_one(name)

    def find_damage(self, stamp: str) -> Mapping[str, str]:
        """Return what is wrong with downloaded zips, by name; `stamp` is the month's extraction.

        Inflates all of them, a minute for a month: not for the event loop's thread.
        """
        found = {
            name: _damage(self.complete_path(name), stamp) for name in sorted(self.listing.sizes)
        }
        return {name: damage for name, damage in found.items() if damage is not None}

    def discard(self, name: str) -> None:
        """Delete a zip, complete or not, so that it is downloaded again."""
        self.complete_path(name).unlink(missing_ok=True)
        self.partial_path(name).unlink(missing_ok=True)
        self._report(name, 0)

    async def _attempt(self, name: str, partial: Path, total: int) -> str:
        """Make one attempt to download the rest of a file.

        Returns the reason, in Portuguese, if it ended early, else an empty text.
        """
        have = size_of(partial)
        if have > total:
            self.discard(name)
            have = 0
        self._report(name, have)
        headers = self.source.headers | ({"range": f"bytes={have}-"} if have else {})
        url = self.source.file(self.listing.month, name)
        try:
            async with self.client.stream("GET", url, headers) as response:
                reply = response.headers
                if reply.get("content-encoding", "identity") != "identity":
                    return "veio comprimido"
                length = reply.get("content-length", "")
                outcome = interpret_reply(
                    have,
                    total,
                    response.status_code,
                    reply.get("content-range"),
                    int(length) if length.isascii() and length.isdigit() else None,
                )
                if isinstance(outcome, WriteFrom):
                    return await self._write(response, name, partial, outcome.at)
        except httpx2.TransportError as error:
            return describe_error(error)
        reason = f"o servidor respondeu {response.status_code}"
        match outcome:
            case ReplyOutcome.GONE:
                raise ShareGone(reason)
            case ReplyOutcome.CHANGED:
                self.discard(name)
                raise MonthChanged(f"{name} mudou enquanto era baixado")
            case ReplyOutcome.DISCARD:
                self.discard(name)
        return reason

    async def _write(self, response: httpx2.Response, name: str, partial: Path, at: int) -> str:
        total = self.listing.sizes[name]
        with _open_part(partial, at) as file:
            self._report(name, at)
            async for chunk in response.aiter_raw():
                at += len(chunk)
                if at > total:  # not the file that was listed
                    break
                if file.write(chunk) != len(chunk):  # the disk is full
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self._report(name, at)
        if at > total:
            self.discard(name)
            raise MonthChanged(f"{name} cresceu enquanto era baixado")
        return "" if at == total else "terminou antes do fim"

    def _report(self, name: str, have: int) -> None:
        before = self._counted.get(name, 0)
        if have != before:
            self._counted[name] = have
            self.on_progress(name, have - before)


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 where there is none."""
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _open_part(partial: Path, at: int) -> IO[bytes]:
    """Open the part, truncated at `at`, for appending. Unbuffered: bytes survive a crash."""
    file = partial.open("ab", buffering=0)
    file.truncate(at)
    return file


def _most_important(errors: BaseExceptionGroup) -> BaseException:
    """Return the most important of several simultaneous failures."""
    failures = list(errors.exceptions)
    ours = [error for error in failures if isinstance(error, ShareGone | MonthChanged)]
    stops = [error for error in failures if not isinstance(error, Exception)]
    return (stops or ours or failures)[0]


def _damage(path: Path, stamp: str) -> str | None:
    if path.name in TAX_REGIME_ZIPS:  # optional, and without the date of an extraction
        return _damage_of_optional(path) if path.exists() else None
    try:
        found = discover([path])
        (part,) = (*found.parts, *found.domains)
        with path.open("rb") as file:
            first = first_entry_name(file.read(HEAD_BYTES))
        if extraction_stamp(part.entry) != stamp or first != part.entry:
            return f"{path.name} é de outra extração ({first}, {part.entry})"
        for _ in read_chunks(part):
            pass
    except (BadInput, ValueError) as error:
        return str(error) if isinstance(error, BadInput) else f"{path.name} não é do CNPJ"
    return None


def _damage_of_optional(path: Path) -> str | None:
    try:
        parts = inspect_tax_regimes(path)
        for part in parts:
            for _ in read_chunks(part):
                pass
    except BadInput as error:
        return str(error)
    return None if parts else f"{path.name} está danificado"
