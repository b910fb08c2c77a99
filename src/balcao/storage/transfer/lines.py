"""Rows as lines in the text format of PostgreSQL's COPY, for both engines.

Two rows are equal if their lines are, so lines are compared and summed.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import IO, Any, TypeAlias, TypeVar

from balcao.storage.transfer.tables import MovedTable

Key: TypeAlias = tuple[Any, ...]
T = TypeVar("T")

_NULL = "\\N"
_SPECIAL = re.compile(r"[\\\n\r\t\x08\x0b\x0c]")
_ESCAPES = {
    "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x08": "\\b", "\x0b": "\\v",
    "\x0c": "\\f",
}  # fmt: skip
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {escape[1]: character for character, escape in _ESCAPES.items()}

_IN_MEMORY_BYTES = 8_000_000
_REPORTED_EVERY = 10_000

_SUM_BYTES = 16
_SUM_MASK = (1 << 8 * _SUM_BYTES) - 1


def line_of(row: Iterable[Any]) -> bytes:
    """Return a row of SQLite as a line."""
    return ("\t".join([_text(value) for value in row]) + "\n").encode()


def _text(value: Any) -> str:
    if value is None:
        return _NULL
    if type(value) is str:
        return value if _SPECIAL.search(value) is None else _SPECIAL.sub(_escape, value)
    if type(value) is bytes:
        return "\\\\x" + value.hex()
    return str(value)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES[match[0]]


def reader(table: MovedTable) -> Callable[[bytes], Sequence[Any]]:
    """Return a function that converts a line of this table to values for SQLite.

    Numbers stay text: SQLite converts them by column type, in a third of the time.
    """
    kinds = [_READ[column.kind] for column in table.columns]

    def read(line: bytes) -> Sequence[Any]:
        values = line[:-1].decode().split("\t")
        if b"\\" not in line:
            return values
        if line.count(b"\\") == line.count(b"\\N"):  # nothing else is escaped
            return [None if value == _NULL else value for value in values]
        return [
            value if "\\" not in value else None if value == _NULL else kind(value)
            for kind, value in zip(kinds, values, strict=True)
        ]

    return read


def _meant(text: str) -> str:
    return _ESCAPED.sub(lambda match: _MEANT.get(match[1], match[1]), text)


_READ: dict[str, Callable[[str], Any]] = {
    "INTEGER": str,
    "REAL": str,
    "TEXT": _meant,
    "BLOB": lambda text: bytes.fromhex(text[3:]),
}


def key_reader(table: MovedTable) -> Callable[[bytes], Key]:
    """Return a function that extracts a line's key; keys sort as in both engines."""
    kinds = [_KEYS[column.kind] for column in table.key]
    count = len(kinds)

    def key(line: bytes) -> Key:
        parts = line[:-1].split(b"\t", count)
        return tuple([kind(part) for kind, part in zip(kinds, parts, strict=False)])

    return key


_KEYS: dict[str, Callable[[bytes], Any]] = {
    "INTEGER": int,
    # Compared by their bytes; hexadecimal digits sort as the bytes that they encode.
    "TEXT": lambda text: _meant(text.decode()).encode() if b"\\" in text else text,
    "BLOB": lambda text: text,
}


class Sum:
    """The number of lines and the sum of their hashes, independent of their order."""

    def __init__(self, rows: int = 0, total: int = 0) -> None:
        self.rows = rows
        self.total = total

    def add(self, line: bytes) -> None:
        """Add a line."""
        self.rows += 1
        self.total += int.from_bytes(blake2b(line, digest_size=_SUM_BYTES).digest(), "big")

    def through(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines unchanged, adding each to the checksum."""
        for line in lines:
            self.add(line)
            yield line

    @property
    def checksum(self) -> str:
        """The sum in hexadecimal."""
        return f"{self.total & _SUM_MASK:0{2 * _SUM_BYTES}x}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sum) and self.rows == other.rows and self.checksum == other.checksum
        )

    __hash__ = None  # type: ignore[assignment]


def counted(lines: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    """Pass lines through, and call `advance` periodically with the number of new ones."""
    waiting = 0
    for line in lines:
        yield line
        waiting += 1
        if waiting == _REPORTED_EVERY:
            advance(waiting)
            waiting = 0
    advance(waiting)


def blocks(lines: Iterable[bytes], size: int = 1 << 17) -> Iterator[bytes]:
    """Join lines into blocks of about `size` bytes."""
    waiting: list[bytes] = []
    length = 0
    for line in lines:
        waiting.append(line)
        length += len(line)
        if length >= size:
            yield b"".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield b"".join(waiting)


def chunks(rows: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    """Yield rows in lists of `size`."""
    waiting: list[T] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


class LineBuffer:
    """A buffer of lines, in memory or, if there are many, in an anonymous temporary file."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115
        self.count = 0

    def put(self, line: bytes) -> None:
        """Append a line."""
        self._file.write(line)
        self.count += 1

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(self._file)

    def close(self) -> None:
        """Discard the lines."""
        self._file.close()
