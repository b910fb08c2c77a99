"""Which month to fetch, whether it is all there, and all of one extraction. Asks nobody.

What the share publishes and how: `rfb-open-data.md`, section 1; why so: ADR 0047.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date

import msgspec

from balcao.opendata.archive import INNER_DATE
from balcao.opendata.layout import DOMAINS, PARTS_PER_TABLE

# Only these are ever downloaded: beside them lie old and huge archives (`rfb-open-data.md`, 2).
NAMES: frozenset[str] = frozenset(
    {
        *(f"{t}{n}.zip" for t, parts in PARTS_PER_TABLE.items() if parts > 1 for n in range(parts)),
        *(f"{t}.zip" for t, parts in PARTS_PER_TABLE.items() if parts == 1),
        *(f"{domain}.zip" for domain in DOMAINS),
    }
)

# Nothing says that a month is complete: that nothing has grown for so long has to do.
UNCHANGED_MS = 10 * 60_000
# What is not complete, or of two extractions, will not be so in a minute.
AGAIN_MS = 60 * 60_000

# The zips, what becomes of them (snapshot, search) and the month before: gigabytes of one month.
_ZIPS, _SNAPSHOT, _SEARCH, _BEFORE = 7.7, 7.5, 3.0, 10.5
_SPARE = 1.2
_BYTES_PER_ZIPPED = _SPARE * (_ZIPS + _SNAPSHOT + _SEARCH + _BEFORE) / _ZIPS

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_NAMED = 3  # of files that are missing

Sizes = Mapping[str, int]  # bytes by name of zip


class MonthListing(msgspec.Struct, frozen=True):
    """What a month's folder held when it was looked at. `at_ms`: since 1970."""

    month: str
    at_ms: int
    sizes: dict[str, int]

    @property
    def bytes(self) -> int:
        """Of all zips."""
        return sum(self.sizes.values())


def is_month(text: str) -> bool:
    """Whether this is a folder's name, `2026-10`."""
    return _MONTH.fullmatch(text) is not None


def wanted_month(
    folders: Iterable[str], *, today: date, in_use: date | None, fetched: str | None
) -> str | None:
    """The newest month, if it is to be fetched; None: wait for the next one.

    `in_use`: the extraction date of the published month. `fetched`: the month that was switched in
    by itself last; if the operator went back from it, it is not fetched again.
    """
    newest = max((f for f in folders if is_month(f) and f <= f"{today:%Y-%m}"), default=None)
    if newest is None or newest == fetched:
        return None
    return None if in_use is not None and newest <= f"{in_use:%Y-%m}" else newest


def may_be_out(today: date, in_use: date | None) -> bool:
    """Whether a month newer than the one in use can have been published: else nobody is asked."""
    return in_use is None or f"{in_use:%Y-%m}" < f"{today:%Y-%m}"


def complaint_of(sizes: Sizes) -> str | None:
    """What a month lacks, in Portuguese; None: all 37 are there, and none is empty."""
    if missing := sorted(NAMES - set(sizes)):
        more = f" e mais {len(missing) - _NAMED}" if len(missing) > _NAMED else ""
        there, falta = len(NAMES) - len(missing), "falta" if len(missing) == 1 else "faltam"
        return f"há {there} dos 37 arquivos; {falta} {_some(missing)}{more}"
    if empty := sorted(name for name in NAMES if sizes[name] <= 0):
        return f"vazio ainda: {_some(empty)}"
    return None


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED])


def first_seen(now: MonthListing, before: MonthListing | None) -> MonthListing:
    """The same listing as of when it was first seen like that. `before`: the last one seen."""
    if before is None or (before.month, before.sizes) != (now.month, now.sizes):
        return now
    # One from the future is of a clock that was wrong: it proves nothing.
    return now if before.at_ms > now.at_ms else before


def stamp_of(entry: str) -> str | None:
    """The extraction in a zip's inner name: `60808`, last digit of the year, month and day."""
    match = INNER_DATE.search(entry)
    return None if match is None else "".join(match.groups())


def inner_name(head: bytes) -> str | None:
    """The first entry's name, by the beginning of a zip; None where there is none to read."""
    if len(head) < 30 or head[:4] != b"PK\x03\x04":
        return None
    length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + length]
    return name.decode("ascii", "replace") if len(name) == length else None


def vintage_complaint(stamps: Mapping[str, str | None]) -> str | None:
    """What keeps zips from being of one extraction; None: they are. `stamps` by name of zip."""
    if unread := sorted(name for name, stamp in stamps.items() if stamp is None):
        return f"sem data no nome interno: {_some(unread)}"
    found: dict[str, str] = {}
    for name, stamp in sorted(stamps.items()):
        found.setdefault(str(stamp), name)
    if len(found) > 1:
        days = ", ".join(f"{name} é D{stamp}" for stamp, name in sorted(found.items()))
        return f"os arquivos são de extrações diferentes: {days}"
    return None


def needed_bytes(zipped: int) -> int:
    """Room for a month of so many bytes of zips: them, what is made of them, and the one before.

    What of all this is on the disk already counts as room.
    """
    return int(zipped * _BYTES_PER_ZIPPED)
