"""The slow path: the few lines that are not clean, read tolerantly and rewritten.

Kinds of dirt seen in real months: `rfb-open-data.md`, section 3. A record is read from one physical
line or from several; in this order, the first reading with N columns wins:

1. strictly: quotes are doubled inside fields, line feeds belong to the field they are in;
2. with tolerance: only `";"` separates fields, so a single quote inside one is data, and so is
   a backslash;
3. joined once with the next physical line, for records broken without quotes.

Unreadable records are returned unchanged, with their number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from balcao.opendata.layout import TableLayout
from balcao.opendata.scan import QUOTE_INSIDE, clean_lines

# No record is known to span more than two lines; a free text field might hold a few more.
LINES_PER_RECORD_MAX = 32
RAW_BYTES_KEPT_MAX = 4096

_WHITE_CONTROLS = bytes.maketrans(b"\t\x0b\x0c\r", b"    ")
_OTHER_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\x0b\x0c\r")
# Possessive, so that a broken line costs one pass and not all ways of pairing its quotes.
_STRICT_FIELD = re.compile(rb'"((?:[^"]|"")*+)"(?:;|\Z)')
_KEY = re.compile(rb"[0-9A-Z]+")


class Reject(msgspec.Struct, frozen=True):
    """An unreadable record. `raw` is latin-1 text and so preserves the bytes."""

    file: str
    record: int  # counted from 1 in its file
    raw: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """`lines` are clean (see `scan.find_repaired_fields`); `rest` awaits the next chunk."""

    lines: bytes
    rejects: tuple[tuple[int, bytes], ...]  # (number of record in this buffer, raw bytes)
    mended: int  # records that were not clean and could be read
    rest: bytes


def repair(buffer: bytes, table: TableLayout, *, final: bool) -> Repaired:
    """Rewrite every readable record of the buffer, which ends with a line feed, as a clean line.

    Unless `final`, the last lines stay in `rest` when the next chunk might complete them.
    """
    clean = clean_lines(buffer, table).tolist()
    lines = buffer.split(b"\n")
    lines.pop()
    out: list[bytes] = []
    rejects: list[tuple[int, bytes]] = []
    mended = 0
    at = 0
    while at < len(lines):
        if clean[at]:
            out.append(lines[at])
            at += 1
            continue
        limit = min(at + LINES_PER_RECORD_MAX, len(lines))
        end = next((i for i in range(at + 1, limit) if clean[i]), limit)
        if _is_blank(lines[at]):
            at += 1
            continue
        cut_off = not final and end == len(lines) < at + LINES_PER_RECORD_MAX
        read = read_record(lines[at:end], table.key_widths, table.width, cut_off=cut_off)
        if read is None and cut_off:
            break
        if read is None:
            rejects.append((len(out) + len(rejects) + 1, lines[at][:RAW_BYTES_KEPT_MAX]))
            at += 1
            continue
        fields, used = read
        out.append(_canonical(fields))
        mended += 1
        at += used
    rest = b"".join(line + b"\n" for line in lines[at:])
    return Repaired(b"".join(line + b"\n" for line in out), tuple(rejects), mended, rest)


def read_record(
    lines: Sequence[bytes], key_widths: Sequence[int], width: int, *, cut_off: bool = False
) -> tuple[list[bytes], int] | None:
    """Return the fields of the record that begins with the first line, and its number of lines.

    When the lines are `cut_off`, more may follow: only the strict reading can be trusted, since no
    other can decide whether a record is complete.
    """
    cleaned = [line.translate(_WHITE_CONTROLS, _OTHER_CONTROLS) for line in lines]
    for used in range(1, len(cleaned) + 1):
        fields = _strictly(b"\n".join(cleaned[:used]).strip(b" \n"))
        if _is_record(fields, key_widths, width):
            return _on_one_line(fields), used
    for used, glue in () if cut_off else ((1, b""), (2, b"\n"), (2, b"")):
        fields = _tolerantly(glue.join(cleaned[:used]).strip(b" \n"))
        if used <= len(cleaned) and _is_record(fields, key_widths, width):
            return _on_one_line(fields), used
    return None


def _strictly(text: bytes) -> list[bytes]:
    fields: list[bytes] = []
    at = 0
    while match := _STRICT_FIELD.match(text, at):
        fields.append(match[1].replace(b'""', b'"'))
        at = match.end()
    ended_in_semicolon = text.endswith(b";")  # another field should have followed
    return fields if at == len(text) and not ended_in_semicolon else []


def _tolerantly(text: bytes) -> list[bytes]:
    if len(text) < 2 or not (text.startswith(b'"') and text.endswith(b'"')):
        return []
    return [field.replace(b'""', b'"') for field in text[1:-1].split(b'";"')]


def _is_record(fields: list[bytes], key_widths: Sequence[int], width: int) -> bool:
    if len(fields) != width:
        return False
    for column, expected in enumerate(key_widths):
        fields[column] = fields[column].strip()
        if len(fields[column]) != expected or not _KEY.fullmatch(fields[column]):
            return False
    return True


def _on_one_line(fields: list[bytes]) -> list[bytes]:
    return [field.replace(b"\n", b" ") for field in fields]


def _canonical(fields: list[bytes]) -> bytes:
    body = b'";"'.join(field.replace(b'"', bytes([QUOTE_INSIDE])) for field in fields)
    return b'"' + body + b'"'


def _is_blank(line: bytes) -> bool:
    return not line.translate(_WHITE_CONTROLS, _OTHER_CONTROLS).strip()
