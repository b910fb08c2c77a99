"""Whether a desk is as new as the store of its receipts (ADR 0074).

Desk and store hold the same mark, a random name that changes every minute: the desk commits a new
one first, then the store gets it. So a desk always knows the mark in its store, unless the desk was
restored to an older point, or the store is another installation's.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.calendar import HOUR_MS

# `new`: neither has a mark yet. `unmarked`: the store lost its mark, or is another one.
Standing: TypeAlias = Literal["new", "current", "behind", "foreign", "unmarked"]

# Numbers that people read and file: none is issued twice, however old the desk that was restored.
# Table and column.
NUMBERED: Mapping[str, str] = {
    "account": "account_id",
    "api_key": "key_id",
    "person": "user_id",
    "seat": "seat_id",
    "certificate_extension": "extension_id",
    "event": "event_id",
}

# The store's numbers may be a minute old when a desk is lost: more than are issued in one.
NUMBERS_SKIPPED = 1_000

# How long a desk knows a mark after its store got the next one; and how many of them, should a
# clock have been ahead.
KEPT_MS = HOUR_MS
KEPT_MAX = 1_000


class StoreMark(msgspec.Struct, frozen=True):
    """The mark in the store: the desk that uses it."""

    installation: str
    mark: str
    at_ms: int
    numbers: dict[str, int]  # the greatest one issued, by table


class MarkVersion(msgspec.Struct, frozen=True):
    """A version of the store's mark, for a conditional write. Which one counts is the store's."""

    e_tag: str | None
    version: str | None


class DeskMark(msgspec.Struct, frozen=True):
    """A mark that the desk has committed."""

    mark: str
    installation: str
    at_ms: int


def standing_of(in_store: StoreMark | None, in_desk: Sequence[DeskMark]) -> Standing:
    """Compare the store's mark with the desk's; read the store first, so later marks do no harm."""
    if in_store is None:
        return "unmarked" if in_desk else "new"
    if any(each.mark == in_store.mark for each in in_desk):
        return "current"
    same = any(each.installation == in_store.installation for each in in_desk)
    return "behind" if same else "foreign"


def outlived(in_desk: Sequence[DeskMark], in_store: StoreMark) -> Sequence[DeskMark]:
    """Return the marks that the desk need not know any more. `in_desk`: the oldest first.

    Other nodes may have read one of the last hour from the store and compare it only now.
    """
    at = next(at for at, each in enumerate(in_desk) if each.mark == in_store.mark)
    young, least = in_desk[at].at_ms - KEPT_MS, at - KEPT_MAX
    return [each for i, each in enumerate(in_desk[:at]) if each.at_ms <= young or i < least]


def may_delete(standing: Standing) -> bool:
    """Whether bytes that the desk does not name are nobody's."""
    return standing in ("new", "current")


def least_numbers(in_store: StoreMark | None, issued: Mapping[str, int]) -> Mapping[str, int]:
    """The first number of each kind to be issued after a restore. `issued`: the desk's greatest."""
    lost = {} if in_store is None else in_store.numbers
    return {
        table: max(lost.get(table, 0), issued.get(table, 0)) + NUMBERS_SKIPPED + 1
        for table in NUMBERED
    }
