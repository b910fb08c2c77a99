"""Select the month to fetch and judge its completeness and its extraction. Pure functions.

What the share publishes and how: `rfb-open-data.md`, section 1; reasons: ADR 0047.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date

import msgspec

from balcao.opendata.archive import INNER_DATE
from balcao.opendata.layout import DOMAINS, PARTS_PER_TABLE, TAX_REGIME_FILES

# Only these are downloaded: there are also old and huge archives (`rfb-open-data.md`, section 2).
ZIP_NAMES: frozenset[str] = frozenset(
    {
        *(f"{t}{n}.zip" for t, parts in PARTS_PER_TABLE.items() if parts > 1 for n in range(parts)),
        *(f"{t}.zip" for t, parts in PARTS_PER_TABLE.items() if parts == 1),
        *(f"{domain}.zip" for domain in DOMAINS),
    }
)

# Taken if they are published, in the month's folder or in one of their own next to the months.
TAX_REGIME_ZIPS = frozenset(f"{file}.zip" for file in TAX_REGIME_FILES)
TAX_REGIME_FOLDER = "regime_tributario"

# No marker shows that a month is complete: it counts as complete when unchanged for so long.
UNCHANGED_MS = 10 * 60_000
# Before looking again at a month that is incomplete or of two extractions.
RECHECK_MS = 60 * 60_000

# Gigabytes of one month: the zips, the snapshot, the search index, and the month before.
_ZIPS, _SNAPSHOT, _SEARCH, _BEFORE = 7.7, 7.5, 3.0, 10.5
_SPARE = 1.2
_BYTES_PER_ZIPPED = _SPARE * (_ZIPS + _SNAPSHOT + _SEARCH + _BEFORE) / _ZIPS

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_NAMED = 3  # missing files named in a message

Sizes = Mapping[str, int]  # bytes by name of zip


class MonthListing(msgspec.Struct, frozen=True):
    """The content of a month's folder at an instant. `at_ms`: since 1970."""

    month: str
    at_ms: int
    sizes: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def is_month(text: str) -> bool:
    """Return whether this is the name of a month's folder, such as `2026-10`."""
    return _MONTH.fullmatch(text) is not None


def select_month(
    folders: Iterable[str], *, today: date, in_use: date | None, fetched: str | None
) -> str | None:
    """Return the newest month, if it is to be fetched; None: wait for the next one.

    `in_use`: the extraction date of the published month. `fetched`: the month that was fetched and
    published last; after a rollback it is not fetched again.
    """
    newest = max((f for f in folders if is_month(f) and f <= f"{today:%Y-%m}"), default=None)
    if newest is None or newest == fetched:
        return None
    return None if in_use is not None and newest <= f"{in_use:%Y-%m}" else newest


def may_be_published(today: date, in_use: date | None) -> bool:
    """Return whether a newer month can have been published; if not, do not ask."""
    return in_use is None or f"{in_use:%Y-%m}" < f"{today:%Y-%m}"


def incomplete_reason(sizes: Sizes) -> str | None:
    """Return what a month lacks, in Portuguese; None: all 37 files exist and have content."""
    if missing := sorted(ZIP_NAMES - set(sizes)):
        more = f" e mais {len(missing) - _NAMED}" if len(missing) > _NAMED else ""
        there, falta = len(ZIP_NAMES) - len(missing), "falta" if len(missing) == 1 else "faltam"
        return f"há {there} dos 37 arquivos; {falta} {_some(missing)}{more}"
    if empty := sorted(name for name in ZIP_NAMES if sizes[name] <= 0):
        return f"vazio ainda: {_some(empty)}"
    return None


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED])


def first_seen(now: MonthListing, before: MonthListing | None) -> MonthListing:
    """Return the listing with the time since which it has not changed."""
    if before is None or (before.month, before.sizes) != (now.month, now.sizes):
        return now
    # A listing from the future comes from a wrong clock and proves nothing.
    return now if before.at_ms > now.at_ms else before


def extraction_stamp(entry: str) -> str | None:
    """Return the extraction date in the name of a zipped file: `60808` is 2026-08-08."""
    match = INNER_DATE.search(entry)
    return None if match is None else "".join(match.groups())


def first_entry_name(head: bytes) -> str | None:
    """Return the first entry's name from the beginning of a zip; None: it cannot be read."""
    if len(head) < 30 or head[:4] != b"PK\x03\x04":
        return None
    length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + length]
    return name.decode("ascii", "replace") if len(name) == length else None


def mixed_extractions_reason(stamps: Mapping[str, str | None]) -> str | None:
    """Return why zips are not of one extraction; None: they are. `stamps` are by name of zip."""
    if unread := sorted(name for name, stamp in stamps.items() if stamp is None):
        return f"sem data no nome interno: {_some(unread)}"
    found: dict[str, str] = {}
    for name, stamp in sorted(stamps.items()):
        found.setdefault(str(stamp), name)
    if len(found) > 1:
        days = ", ".join(f"{name} é D{stamp}" for stamp, name in sorted(found.items()))
        return f"os arquivos são de extrações diferentes: {days}"
    return None


def required_bytes(zipped: int) -> int:
    """Return the disk space needed for a month, by the size of its ZIP files.

    Includes the month before. Files that are already on the disk count as free space.
    """
    return int(zipped * _BYTES_PER_ZIPPED)
