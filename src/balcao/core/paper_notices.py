"""Notices of certificates that expire: which is due, on a day (contract 20.6)."""

from collections.abc import Collection
from datetime import date
from typing import Final

from balcao.core.papers import Paper, days_left

EXPIRED: Final = 0  # as a notice: the last day has passed

# A certificate that is still not renewed is reported again this near to its end.
FAILING_DAYS: Final = 3


def notice_due(paper: Paper, days: Collection[int], today: date) -> int | None:
    """Return the notice that a certificate is due; None: none.

    `days`: the notices in days before the end. Of several that are due the smallest counts, and the
    others are not written any more, nor is any that was missed before the end.
    """
    if not may_expire(paper):
        return None
    assert paper.last_day is not None
    left = days_left(paper.last_day, today)
    due: int | None
    if left < 0:
        due = EXPIRED
    else:
        due = min([each for each in days if each >= left], default=None) if left else None
    if due is None or (paper.told is not None and paper.told <= due):
        return None
    return due


def may_expire(paper: Paper) -> bool:
    """Return whether a certificate proves something until a day."""
    if paper.last_day is None:
        return False
    return paper.kind == "outra" or paper.verdict in {"CND", "CPEND"}


def failing_near_end(paper: Paper, today: date) -> bool:
    """Return whether a certificate is near its end, and its renewals fail."""
    if paper.failures == 0 or not may_expire(paper):
        return False
    assert paper.last_day is not None
    return 0 <= days_left(paper.last_day, today) <= FAILING_DAYS
