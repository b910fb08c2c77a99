"""Reader of the files of tax regimes: the form of taxation that companies declared, by year.

Four optional zips with CSV of their own form (`rfb-open-data.md`, section 2.1). Their lines are
rewritten in the form of the other tables, so that the importer treats them alike. None of these
files stops an import: one that cannot be read is left out (ADR 0107).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.errors import BadInput
from balcao.opendata.layout import TAX_REGIME_FILES
from balcao.opendata.repair import RAW_BYTES_KEPT_MAX

_LINE_BYTES_MAX = 64 * 1024
_CNPJ_CHARACTERS = 14
_UTF8_MARK = b"\xef\xbb\xbf"

# A CNPJ may be punctuated or not, a field quoted or not.
_LINE = re.compile(
    rb'\s*"?((?:19|20)[0-9]{2})"?'
    rb'[,;]"?([0-9A-Z]{2})\.?([0-9A-Z]{3})\.?([0-9A-Z]{3})/?[0-9A-Z]{4}-?[0-9]{2}"?'
    rb'[,;]"?([0-9A-Z./-]{0,18})"?'
    rb'[,;]"?([^",;\x00-\x1f]{1,80})"?'
    rb'[,;]"?([0-9]{1,9})"?\s*'
)
_HEADER = re.compile(rb'\s*"?ano"?[,;]', re.IGNORECASE)
_PUNCTUATION = b"./-"


@dataclass(slots=True)
class Lines:
    """Whole lines of a file, in the form of other tables.

    `rejects`: the numbers, from 1, of unreadable ones among these `records`, and their bytes.
    """

    clean: bytes
    records: int
    rejects: list[tuple[int, bytes]]
    has_header: bool


def rewritten(lines: Iterable[bytes]) -> Lines:
    """Rewrite lines, without their line feeds. Blank ones and headers are no records."""
    clean: list[bytes] = []
    rejects: list[tuple[int, bytes]] = []
    has_header = False
    for line in lines:
        if not line.strip():
            continue
        if _HEADER.match(line):
            has_header = True
            continue
        record = _record(line)
        if record is None:
            rejects.append((len(clean) + len(rejects) + 1, line[:RAW_BYTES_KEPT_MAX]))
        else:
            clean.append(record)
    return Lines(b"".join(clean), len(clean) + len(rejects), rejects, has_header)


def _record(line: bytes) -> bytes | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    year, *root, partnership, form, count = match.groups()
    partnership = partnership.translate(None, _PUNCTUATION)
    if not partnership.strip(b"0"):
        partnership = b""
    form = b" ".join(_latin1(form).split())
    if len(partnership) not in {0, _CNPJ_CHARACTERS} or not form:
        return None
    return b'"%b";"%b";"%b";"%d";"%b"\n' % (b"".join(root), year, form, int(count), partnership)


def _latin1(text: bytes) -> bytes:
    """Return a text in ISO-8859-1; it may have been saved as UTF-8."""
    try:
        return text if text.isascii() else text.decode("utf-8").encode("latin-1")
    except UnicodeError:
        return text


def read_lines(part: Part) -> Iterator[tuple[Lines, int]]:
    """Yield the content, each with the number of packed bytes read for it.

    Raises `BadInput` for a damaged zip, at the end, and for an endless line.
    """
    rest, mark = b"", _UTF8_MARK
    for chunk, packed_bytes in read_chunks(part):
        *lines, rest = (rest + chunk).removeprefix(mark).split(b"\n")
        mark = b"" if lines else mark
        if len(rest) > _LINE_BYTES_MAX:
            raise BadInput(f"{part.file} tem uma linha de mais de {_LINE_BYTES_MAX} bytes")
        yield rewritten(lines), packed_bytes
    yield rewritten([rest]), 0


def complete_files(parts: Iterable[tuple[Part, str]]) -> tuple[str, ...]:
    """Return which of the four files were imported whole, from parts with why each was left out."""
    found: dict[int, bool] = {}
    for part, reason in parts:
        found[part.number] = found.get(part.number, True) and not reason
    return tuple(file for number, file in enumerate(TAX_REGIME_FILES) if found.get(number))


def notes_on(parts: Sequence[tuple[Part, str]]) -> Sequence[str]:
    """Return warnings about files that were left out or are missing; none if there are none."""
    if not parts:
        return ()
    reasons = [f"{reason}: regime tributário não importado" for _, reason in parts if reason]
    given = {part.number for part, _ in parts}
    missing = [f"{file}.zip" for number, file in enumerate(TAX_REGIME_FILES) if number not in given]
    return [*reasons, f"regime tributário: falta {', '.join(missing)}"] if missing else reasons
