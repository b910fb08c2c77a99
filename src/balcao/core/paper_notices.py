"""Notices of certificates that expire: which is due, on a day (contract 20.6)."""

from collections.abc import Collection
from datetime import date
from typing import Final

from balcao.core.budgets import iso_instant
from balcao.core.paper_updates import NOT_RENEWED, PaperEvent
from balcao.core.papers import Paper, days_left

EXPIRING: Final = "certidao.a_vencer"
EXPIRED_KIND: Final = "certidao.vencida"

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


def notice_event(paper: Paper, notice: int, today: date, *, renews_itself: bool) -> PaperEvent:
    """Return the event of a notice that is due."""
    assert paper.last_day is not None
    about = f"/{paper.paper_id}/{paper.last_day}"
    if notice == EXPIRED:
        data = {"valida_ate": paper.last_day, "ato": paper.act, "request_id": None}
        return PaperEvent(EXPIRED_KIND, about, data)
    return PaperEvent(
        EXPIRING,
        f"{about}/{notice}",
        {
            "valida_ate": paper.last_day,
            "dias": days_left(paper.last_day, today),
            "aviso": notice,
            "renova_sozinha": renews_itself,
        },
    )


def failure_event(before: Paper, after: Paper, today: date) -> PaperEvent | None:
    """Return the event of a failed attempt; None: there was one for an earlier attempt.

    The first of a validity, and the first one near its end, have one each. A second event of one
    cause is not written.
    """
    left = None if after.last_day is None else days_left(after.last_day, today)
    if left is not None and 0 <= left <= FAILING_DAYS:
        return failing_event(after)
    return None if before.failures else _failing(after, "1")


def failing_event(paper: Paper) -> PaperEvent:
    """Return the event of a certificate that is near its end, and whose renewals fail."""
    return _failing(paper, f"{FAILING_DAYS}")


def _failing(paper: Paper, which: str) -> PaperEvent:
    data = {
        "valida_ate": paper.last_day,
        "motivo": paper.reason,
        "tentativas": paper.attempts,
        "proxima_em": iso_instant(paper.next_ms or None),
    }
    return PaperEvent(NOT_RENEWED, f"/{paper.paper_id}/{paper.last_day or '-'}/{which}", data)


def failing_near_end(paper: Paper, today: date) -> bool:
    """Return whether a certificate is near its end, and its renewals fail."""
    if paper.failures == 0 or not may_expire(paper):
        return False
    assert paper.last_day is not None
    return 0 <= days_left(paper.last_day, today) <= FAILING_DAYS
