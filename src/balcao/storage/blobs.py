"""Storage of receipts' bytes in a folder, or any store of `obstore` (`s3://bucket/path`).

Implements `storage.contract.Blobs`. The name of bytes is the digest of their content, below a
folder named after its first two characters; every read verifies it.
"""

import asyncio
import datetime
import logging
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, from_url

from balcao.core.errors import StorageFailed
from balcao.core.receipts import RECEIPT_BYTES_MAX, digest_of, new_digest
from balcao.core.store_mark import MarkVersion, StoreMark
from balcao.home import make_durable
from balcao.storage import blob_mark

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

log = logging.getLogger(__name__)

# The caller of a lookup waits for this, in addition to the sources' deadline at worst.
REQUEST_SECONDS = 5
RETRIES_MAX = 2

# Size of one range request when streaming.
PIECE_BYTES = 131_072

# S3's code of an error, in the response that obstore's error repeats with names and addresses.
_S3_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET = "NoSuchBucket"

_PROBE = b"balcao doctor"


class StoredBlobs:
    """Bytes in one store. `folder` is set for a store on this machine's own disk."""

    def __init__(self, store: "ObjectStore", folder: Path | None) -> None:
        self._store = store
        self._folder = folder

    async def put(self, digest: str, content: bytes) -> None:
        with _storage_errors():
            if self._folder is not None:
                await asyncio.to_thread(_put_in_folder, self._folder, digest, content)
            else:
                # In one request, so that it is stored completely or not at all.
                await obstore.put_async(self._store, _path(digest), content, use_multipart=False)

    async def get(self, digest: str) -> bytes | None:
        with _storage_errors():
            try:
                found = await obstore.get_async(self._store, _path(digest))
                whole = found.meta["size"] <= RECEIPT_BYTES_MAX
                content = bytes(await found.bytes_async()) if whole else b""
            except FileNotFoundError as error:
                _raise_if_no_bucket(error)
                return None
        if await asyncio.to_thread(digest_of, content) == digest:
            return content
        _log_damage(digest)
        return None

    async def pieces(self, digest: str, size_bytes: int) -> AsyncIterator[bytes]:
        """Request each piece by itself.

        A single stream would have to be read within `REQUEST_SECONDS`, however slow our client.
        """
        seen = new_digest()
        with _storage_errors():
            try:
                found = await obstore.head_async(self._store, _path(digest))
            except FileNotFoundError as error:
                _raise_if_no_bucket(error)
                return
        if found["size"] != size_bytes:
            _log_damage(digest)
            return
        for start in range(0, size_bytes, PIECE_BYTES):
            end = min(start + PIECE_BYTES, size_bytes)
            with _storage_errors():
                piece = bytes(
                    await obstore.get_range_async(self._store, _path(digest), start=start, end=end)
                )
            seen.update(piece)
            if end == size_bytes and seen.hexdigest() != digest:
                _log_damage(digest)
                raise StorageFailed("damaged")
            yield piece

    async def delete(self, name: str) -> None:
        with _storage_errors():
            try:
                await obstore.delete_async(self._store, _path(name))
            except FileNotFoundError as error:
                _raise_if_no_bucket(error)

    async def names(self, before_ms: int) -> AsyncIterator[Sequence[str]]:
        before = datetime.datetime.fromtimestamp(before_ms / 1000, datetime.UTC)
        with _storage_errors():
            async for page in obstore.list(self._store):
                old = [meta["path"] for meta in page if meta["last_modified"] < before]
                names = [path.rpartition("/")[2] for path in old]
                yield [name for path, name in zip(old, names, strict=True) if path == _path(name)]

    async def read_mark(self) -> tuple[StoreMark | None, MarkVersion | None]:
        with _storage_errors():
            return await blob_mark.read(self._store)

    async def write_mark(self, mark: StoreMark, version: MarkVersion | None) -> bool:
        with _storage_errors():
            return await blob_mark.write(self._store, self._folder, mark, version)

    async def mark_age_seconds(self) -> float | None:
        with _storage_errors():
            return await blob_mark.age_seconds(self._store)

    async def probe(self) -> None:
        """Write, read, list and remove a few bytes under a name that no receipt can have.

        Leaves nothing behind and logs nothing. Raises `StorageFailed`.
        """
        with _storage_errors(logged=False):
            if self._folder is not None:
                await asyncio.to_thread(_probe_folder, self._folder)
                return
            name = f"doctor-{os.urandom(8).hex()}"
            await obstore.put_async(self._store, name, _PROBE, use_multipart=False)
            try:
                found = await obstore.get_async(self._store, name)
                if bytes(await found.bytes_async()) != _PROBE:
                    raise ValueError("other bytes than were written")
                async for _ in obstore.list(self._store):
                    break  # permission for one page is permission for all
            finally:
                await obstore.delete_async(self._store, name)


def open_blobs(where: Path | str) -> StoredBlobs:
    """Open the store at a folder's path, which is created if missing, or at an address.

    Addresses are those of `obstore`, with the credentials of the environment. Raises
    `StorageFailed`.
    """
    with _storage_errors():
        if isinstance(where, Path) or "://" not in where:
            return _in_folder(Path(where))
        if where.startswith("file://"):
            return _in_folder(Path(unquote(urlsplit(where).path)))
        if where.startswith("memory:"):
            return StoredBlobs(from_url(where), None)
        client: ClientConfig = {
            "timeout": datetime.timedelta(seconds=REQUEST_SECONDS),
            "allow_http": True,  # for an operator's own store in a private network
        }
        retry: RetryConfig = {
            "max_retries": RETRIES_MAX,
            "retry_timeout": datetime.timedelta(seconds=REQUEST_SECONDS),
        }
        return StoredBlobs(from_url(where, client_options=client, retry_config=retry), None)


def _in_folder(folder: Path) -> StoredBlobs:
    folder = folder.absolute()
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_durable(folder.parent)
    return StoredBlobs(LocalStore(folder), folder)


def _put_in_folder(root: Path, digest: str, content: bytes) -> None:
    """Write a temporary file, make it durable, and then rename it.

    `obstore` does not sync files of a folder, so that after a power cut a record could name bytes
    that are missing or incomplete, and a receipt that was stored again could lose its bytes.
    """
    folder = root / digest[:2]
    folder.mkdir(mode=0o700, exist_ok=True)
    with NamedTemporaryFile(dir=folder, prefix=f"{digest}.", delete=False) as file:
        staged = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            staged.replace(folder / digest)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
    make_durable(folder)
    make_durable(root)  # the folder may be new


def _probe_folder(folder: Path) -> None:
    """Probe outside the digests' folders: one owned by another user would block the service."""
    with NamedTemporaryFile(dir=folder, prefix="doctor-") as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())
        if Path(file.name).read_bytes() != _PROBE:
            raise ValueError("other bytes than were written")


def _log_damage(digest: str) -> None:
    log.error("receipt damaged: the bytes of %s are not those that were stored", digest)


def _path(name: str) -> str:
    return f"{name[:2]}/{name}"


def _raise_if_no_bucket(error: FileNotFoundError) -> None:
    """Raise the error if the bucket is missing, which is a mistake in the settings."""
    if _NO_BUCKET in str(error):
        raise error


@contextmanager
def _storage_errors(*, logged: bool = True) -> Iterator[None]:
    """Raise errors of the store as `StorageFailed`.

    Its detail is the error's class and S3's code, for the operator: `AccessDenied`,
    `SignatureDoesNotMatch`, `NoSuchBucket`.
    """
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        code = _S3_CODE.search(str(error))
        detail = type(error).__name__ + (f" ({code[1]})" if code else "")
        if logged:
            log.error("receipts unreachable: %s", detail)
        raise StorageFailed(detail) from error
