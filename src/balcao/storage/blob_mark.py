"""The mark in a store of receipts: one small object beside the bytes, written conditionally.

Of two concurrent writers the second one is refused: it reads the mark again and finds an unknown
one (ADR 0074).
"""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    NotModifiedError,
    NotSupportedError,
    PreconditionError,
)

from balcao.core.store_mark import MarkVersion, StoreMark
from balcao.home import make_durable

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

# Cannot be the name of bytes, which are in folders named after their digest.
NAME = "balcao-mark.json"
LOCK = ".balcao-mark.lock"

_REFUSED = (AlreadyExistsError, NotModifiedError, PreconditionError)


async def read(store: "ObjectStore") -> tuple[StoreMark | None, MarkVersion | None]:
    """Return the ownership mark, and its version for a conditional `write`.

    Raises the store's exceptions.
    """
    try:
        found = await obstore.get_async(store, NAME)
        content = bytes(await found.bytes_async())
    except FileNotFoundError:
        return None, None
    # An unreadable mark counts as an unknown one.
    try:
        mark = msgspec.json.decode(content, type=StoreMark)
    except msgspec.MsgspecError:
        mark = StoreMark("?", "?", 0, {})
    return mark, MarkVersion(found.meta["e_tag"], found.meta["version"])


async def write(
    store: "ObjectStore", folder: Path | None, mark: StoreMark, version: MarkVersion | None
) -> bool:
    """Replace the mark if it still has this version, and return whether it did."""
    content = msgspec.json.format(msgspec.json.encode(mark))
    if folder is not None:
        return await asyncio.to_thread(_write_in_folder, folder, content, version)
    try:
        if version is None:
            await obstore.put_async(store, NAME, content, mode="create")
        else:
            # Amazon's and Azure's stores compare the ETag, Google's the version.
            condition: UpdateVersion = {}
            if version.e_tag is not None:
                condition["e_tag"] = version.e_tag
            if version.version is not None:
                condition["version"] = version.version
            await obstore.put_async(store, NAME, content, mode=condition)
    except _REFUSED:
        return False
    except (NotImplementedError, NotSupportedError):
        # A store without conditional writes: a second writer is detected at the next comparison.
        await obstore.put_async(store, NAME, content, use_multipart=False)
    return True


async def age_seconds(store: "ObjectStore") -> float | None:
    """Return the age of the mark by the store's own clock. None: there is no mark."""
    probe = f"doctor-{os.urandom(8).hex()}"
    try:
        written = (await obstore.head_async(store, NAME))["last_modified"]
    except FileNotFoundError:
        return None
    await obstore.put_async(store, probe, b"balcao", use_multipart=False)
    try:
        now = (await obstore.head_async(store, probe))["last_modified"]
    finally:
        await obstore.delete_async(store, probe)
    return (now - written).total_seconds()


def _write_in_folder(folder: Path, content: bytes, version: MarkVersion | None) -> bool:
    """Write under a lock, because `obstore` has no conditional writes to folders."""
    from obstore.store import LocalStore  # noqa: PLC0415

    with _locked(folder):
        store = LocalStore(folder)
        try:
            now = obstore.head(store, NAME)["e_tag"]
        except FileNotFoundError:
            now = None
        if now != (None if version is None else version.e_tag):
            return False
        staged = folder / f"{NAME}.{os.urandom(4).hex()}"
        try:
            with staged.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            staged.replace(folder / NAME)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
        make_durable(folder)
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
