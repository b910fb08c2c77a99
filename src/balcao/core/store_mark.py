"""Detection of a desk that is older than its receipt store, by a shared mark (ADR 0074).

Desk and store hold the same mark, a random name that changes every minute: the desk commits a new
one first, then writes it to the store. So the desk has the store's mark, unless it was restored to
an older state, or the store belongs to another installation.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.calendar import HOUR_MS

# `new`: neither has a mark yet. `unmarked`: the store lost its mark, or is another one.
Standing: TypeAlias = Literal["new", "current", "behind", "foreign", "unmarked"]

# Numbers that people read and file must not be reused after a restore. Table and column.
NUMBERED: Mapping[str, str] = {
    "account": "account_id",
    "api_key": "key_id",
    "person": "user_id",
    "seat": "seat_id",
    "certificate_extension": "extension_id",
    "event": "event_id",
}

# The store's numbers may be a minute old when a desk is lost; fewer than this are issued in one.
NUMBERS_SKIPPED = 1_000

# How long the desk keeps a replaced mark; and how many, in case a clock was ahead.
KEPT_MS = HOUR_MS
KEPT_MAX = 1_000


class StoreMark(msgspec.Struct, frozen=True):
    """The mark in the store, which identifies the desk that uses it."""

    installation: str
    mark: str
    at_ms: int
    numbers: dict[str, int]  # the greatest one issued, by table


class MarkVersion(msgspec.Struct, frozen=True):
    """A version of the store's mark, for a conditional write; stores use one of the two."""

    e_tag: str | None
    version: str | None


class DeskMark(msgspec.Struct, frozen=True):
    """A mark committed by the desk."""

    mark: str
    installation: str
    at_ms: int


def compare_marks(in_store: StoreMark | None, in_desk: Sequence[DeskMark]) -> Standing:
    """Compare the store's mark with the desk's.

    Read the store first: marks that the desk adds meanwhile do no harm.
    """
    if in_store is None:
        return "unmarked" if in_desk else "new"
    if any(each.mark == in_store.mark for each in in_desk):
        return "current"
    same = any(each.installation == in_store.installation for each in in_desk)
    return "behind" if same else "foreign"


def outdated_marks(in_desk: Sequence[DeskMark], in_store: StoreMark) -> Sequence[DeskMark]:
    """Return the marks that the desk may delete. `in_desk`: the oldest first.

    Marks of the last hour are kept: another node may have read one from the store just before.
    """
    at = next(at for at, each in enumerate(in_desk) if each.mark == in_store.mark)
    young, least = in_desk[at].at_ms - KEPT_MS, at - KEPT_MAX
    return [each for i, each in enumerate(in_desk[:at]) if each.at_ms <= young or i < least]


def may_delete(standing: Standing) -> bool:
    """Return whether bytes in the store without a record in the desk may be deleted."""
    return standing in ("new", "current")


def least_numbers(in_store: StoreMark | None, issued: Mapping[str, int]) -> Mapping[str, int]:
    """Return, per table, the first number to issue after a restore.

    `issued`: the last ones in the desk.
    """
    lost = {} if in_store is None else in_store.numbers
    return {
        table: max(lost.get(table, 0), issued.get(table, 0)) + NUMBERS_SKIPPED + 1
        for table in NUMBERED
    }
