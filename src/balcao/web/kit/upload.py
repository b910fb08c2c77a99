"""A streaming reader for forms with a file (`multipart/form-data`, RFC 7578).

Fields are kept, within a limit; the file, which is the form's last field, is passed on in pieces
and is never in memory as a whole.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from balcao.core.errors import RequestTooLarge, UnsupportedMediaType

MEDIA_TYPE = "multipart/form-data"

_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([0-9A-Za-z\'()+_,./:=?-]{1,70}))')
_NAME = re.compile(r'[;\s]name="([^"\r\n]*)"')
_FILE_NAME = re.compile(r'[;\s]filename="([^"\r\n]*)"')
_HEAD_BYTES_MAX = 4_096
_PARTS_MAX = 100


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The file of a form. Its name is untrusted, and is not stored."""

    name: str
    pieces: AsyncIterator[bytes]

    async def drain(self) -> None:
        """Read the rest: browsers read no response before they have sent everything."""
        async for _ in self.pieces:
            pass


async def read_upload(
    content_type: str, pieces: AsyncIterator[bytes], fields_bytes_max: int
) -> tuple[Mapping[str, str], UploadedFile | None]:
    """Return the fields before the file (the first of each name), and the file if one was chosen.

    Raises `UnsupportedMediaType`, `RequestTooLarge` for longer fields, `ValueError` for malformed
    forms.
    """
    kind, _, parameters = content_type.partition(";")
    boundary = _BOUNDARY.search(parameters)
    if kind.strip().lower() != MEDIA_TYPE or boundary is None:
        raise UnsupportedMediaType
    mark = b"\r\n--" + (boundary[1] or boundary[2]).encode("ascii", "strict")
    reader = _Reader(pieces)
    # The first boundary has no line break before it; text before it is ignored.
    reader.unread(b"\r\n")
    await reader.until(mark, _HEAD_BYTES_MAX)
    fields: dict[str, str] = {}
    left = fields_bytes_max
    for _ in range(_PARTS_MAX):
        if await reader.exactly(2) == b"--":
            return fields, None
        head = (await reader.until(b"\r\n\r\n", _HEAD_BYTES_MAX)).decode("utf-8")
        name, file_name = _NAME.search(head), _FILE_NAME.search(head)
        if name is None:
            raise ValueError("a part without a name")
        if file_name is not None and file_name[1]:
            return fields, UploadedFile(file_name[1], reader.before(mark))
        content = await reader.until(mark, left)
        left -= len(content)
        if file_name is None:
            fields.setdefault(name[1], content.decode("utf-8"))
    raise ValueError("too many parts")


class _Reader:
    """A buffered reader of bytes up to a boundary."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()

    def unread(self, content: bytes) -> None:
        self._held += content

    async def _more(self) -> None:
        async for piece in self._pieces:
            if piece:
                self._held += piece
                return
        raise ValueError("it ends within a part")

    async def exactly(self, count: int) -> bytes:
        """Read this many bytes."""
        while len(self._held) < count:
            await self._more()
        return self._take(count)

    async def until(self, mark: bytes, bytes_max: int) -> bytes:
        """Read up to the mark and drop the mark. Raises `RequestTooLarge`."""
        searched = 0
        while (at := self._held.find(mark, searched)) < 0:
            if len(self._held) > bytes_max + len(mark):
                raise RequestTooLarge(body_bytes_max=bytes_max)
            searched = max(0, len(self._held) - len(mark) + 1)
            await self._more()
        if at > bytes_max:
            raise RequestTooLarge(body_bytes_max=bytes_max)
        found = self._take(at)
        del self._held[: len(mark)]
        return found

    async def before(self, mark: bytes) -> AsyncIterator[bytes]:
        """Yield the bytes before the mark, in pieces."""
        while (at := self._held.find(mark)) < 0:
            ready = len(self._held) - len(mark) + 1
            if ready > 0:
                yield self._take(ready)
            await self._more()
        if at:
            yield self._take(at)
        self._held.clear()
        async for _ in self._pieces:  # the end of the form
            pass

    def _take(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken
