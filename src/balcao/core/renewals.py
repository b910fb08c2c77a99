"""Renewals of certificates: when each is bought again, and by which question (contract 20.6)."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

import msgspec

from balcao.core.business_days import business_day_from, business_day_until, is_business_day
from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms
from balcao.core.errors import NewIssueRefused
from balcao.core.papers import Paper
from balcao.core.purchases import MINUTE_MS, purchase_key, retry_ms, slot_ms
from balcao.core.wallet import Renewal

# Charged renewals of one validity (contract 20.6).
PURCHASES_MAX: Final = 2

# `Paper.reason` where the federal source issues nothing new before the end.
AFTER_THE_END: Final = "so_depois_do_vencimento"

# A source that is known to be down is not asked, and soon looked at again.
POSTPONED_MS: Final = 30 * MINUTE_MS

# A renewal that runs later than this after its instant keeps to the hours of the day again.
_LATE_MS = HOUR_MS

_DAY = timedelta(days=1)


class Renews(msgspec.Struct, frozen=True, gc=False):
    """The certificate that a lookup renews, with all that determines its next renewal."""

    paper_id: str
    terms: Renewal | None
    reissues: bool


class Plan(NamedTuple):
    """The instant of the next renewal, and why it is not earlier; None: none."""

    at_ms: int | None
    reason: str | None


def plan_of(paper: Paper, terms: Renewal | None, now_ms: int, *, reissues: bool) -> Plan:
    """Return when a certificate is bought next, from now on.

    `terms`: None, it is not renewed. `reissues`: the federal sources issue a new certificate while
    one is in force.
    """
    at_ms = next_renewal_ms(paper, terms, now_ms, reissues=reissues)
    reason = None if paper.reason == AFTER_THE_END else paper.reason
    if at_ms is not None and _waits_for_end(paper, reissues=reissues):
        reason = reason or AFTER_THE_END
    return Plan(at_ms, reason)


def next_renewal_ms(
    paper: Paper, terms: Renewal | None, now_ms: int, *, reissues: bool
) -> int | None:
    """Return the instant of `plan_of`."""
    if terms is None or paper.kind == "outra" or paper.is_refused:
        return None
    if paper.verdict is None:
        return now_ms
    if paper.last_day is None or paper.purchases >= PURCHASES_MAX:
        return None
    end = date.fromisoformat(paper.last_day)
    waits = _waits_for_end(paper, reissues=reissues)
    any_day = not terms.dias_uteis
    if paper.purchases:  # a last time, also on a Sunday
        any_day = True
        due = end + _DAY if waits else end
        if paper.answered_ms is not None:
            due = max(due, civil_day(paper.answered_ms) + _DAY)
    elif waits:
        due = end + _DAY
    else:
        due = max(end - timedelta(days=terms.dias_antes), _half_life(paper, end))
    return _instant(paper.paper_id, terms, due, end, now_ms, any_day=any_day)


def confirmed_ms(paper: Paper, terms: Renewal | None, now_ms: int, *, reissues: bool) -> int | None:
    """Return when a certificate is renewed whose planned instant has come: then, if it still is.

    The plan may have changed without the certificate, as terms do. After a stop or a downtime the
    hours of the day count again.
    """
    planned_ms = paper.next_ms
    assert planned_ms is not None, "it is planned"
    if paper.failures and terms is not None and not paper.is_refused:
        return planned_ms  # tried again at any hour
    late = now_ms - planned_ms > _LATE_MS
    at_ms = next_renewal_ms(paper, terms, now_ms if late else planned_ms, reissues=reissues)
    if at_ms is None:
        return None
    return at_ms if at_ms > now_ms else planned_ms


def query_of(paper: Paper, *, reissues: bool) -> Mapping[str, str]:
    """Return the parameters of the lookup that renews a certificate, apart from its subject's."""
    if paper.verdict is None:
        return {}
    if paper.kind != "certidao_federal":
        return {"atualizar_online": "true"}
    if _waits_for_end(paper, reissues=reissues):
        return {}  # the second copy of the next one, or a new one if there is none
    # A second copy would be the certificate in force.
    return {"preferencia_emissao": "nova", "cache_strategy": "SO_ONLINE"}


def renewal_key(item_id: str, paper: Paper, clock_run: int | None = None) -> str:
    """Return the idempotency key of the next attempt. `clock_run`: of a test portfolio's clock."""
    parts = (item_id, paper.paper_id, paper.last_day or "-", paper.attempts + 1)
    return purchase_key(*(parts if clock_run is None else (*parts, clock_run)))


def after_failure(
    paper: Paper,
    reason: str,
    terms: Renewal | None,
    now_ms: int,
    *,
    reissues: bool,
) -> Paper:
    """Return a certificate after a renewal that failed and cost nothing."""
    failures = paper.failures + 1
    failed = msgspec.structs.replace(
        paper, attempts=paper.attempts + 1, failures=failures, reason=reason, renewing_ms=None
    )
    if reason == NewIssueRefused.code:  # no earlier attempt can succeed
        at_ms = next_renewal_ms(failed, terms, now_ms, reissues=reissues)
    else:
        at_ms = retry_ms(failures, now_ms)
    return msgspec.structs.replace(failed, next_ms=at_ms)


def _waits_for_end(paper: Paper, *, reissues: bool) -> bool:
    """Return whether a certificate in force is the only one that its source gives."""
    if paper.kind != "certidao_federal" or paper.verdict is None:
        return False
    return not reissues or paper.reason == NewIssueRefused.code


def _half_life(paper: Paper, end: date) -> date:
    """Return the middle of a certificate's life: else one of 30 days would be bought every day."""
    if paper.issued_on is None:
        return date.min
    issued = date.fromisoformat(paper.issued_on)
    return issued + (end - issued) // 2


def _instant(
    owner: str, terms: Renewal, due: date, end: date, now_ms: int, *, any_day: bool
) -> int:
    """Return the first instant from now on within the hours of an allowed day, `due` or later."""
    begins_ms, ends_ms = map(_ms_of_day, terms.janela.split("-"))
    today = civil_day(now_ms)
    day = max(due, today) if any_day else _business_day(max(due, today), end, today)
    at_ms = slot_ms(owner, day, begins_ms, ends_ms)
    if at_ms > now_ms:
        return at_ms
    if now_ms < day_starts_ms(day) + ends_ms:
        return now_ms
    day += _DAY
    return slot_ms(owner, day if any_day else _business_day(day, end, day), begins_ms, ends_ms)


def _business_day(day: date, end: date, earliest: date) -> date:
    """Return the next business day, or the one before where the end comes first."""
    if is_business_day(day):
        return day
    later = business_day_from(day)
    if later <= end or day > end:
        return later
    return max(business_day_until(day), earliest)


def _ms_of_day(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * HOUR_MS + int(minutes) * MINUTE_MS
