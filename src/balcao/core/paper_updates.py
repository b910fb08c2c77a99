"""Changes of a portfolio's certificate by an answer of the account's own lookup (contract 20.5)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.extensions import Extension, extended
from balcao.core.item_events import ItemEvent, ItemHead
from balcao.core.observations import Observation, ObservedCertificate
from balcao.core.papers import BOUGHT_BY, NOT_ISSUED, Paper
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.renewals import AFTER_THE_END, next_renewal_ms

RENEWED: Final = "certidao.renovada"
SAME: Final = "certidao.mesma"
POSITIVE: Final = "certidao.positiva"
EXTENDED: Final = "certidao.prorrogada"
NOT_RENEWED: Final = "certidao.nao_renovada"

_GOOD = frozenset({"CND", "CPEND"})


class PaperEvent(NamedTuple):
    """An event about a certificate, before it is made one of each item that has it."""

    kind: str
    about: str  # its part of the cause
    data: Mapping[str, object]
    credits: int | None = None  # charged; shown by one of the items, the others show 0


class PaperUpdate(NamedTuple):
    """A certificate after an answer, and what its items report."""

    paper: Paper
    event: PaperEvent | None


def paper_update(paper: Paper, seen: Observation, acts: Iterable[Extension]) -> PaperUpdate | None:
    """Return a certificate after an answer; None: the answer is not newer.

    A scheduled renewal that was charged counts even if its answer was known.
    """
    answer, known_ms = seen.certificate, paper.answered_ms
    assert answer is not None
    renews = answer.renews is not None and answer.renews.paper_id == paper.paper_id
    if known_ms is not None and answer.asked_ms < known_ms + (not renews):
        return PaperUpdate(bought(paper), None) if renews else None
    verdict = answer.summary.verdict
    if verdict in _GOOD:
        return _issued(paper, seen, answer, acts, renews=renews)
    if verdict == "CPD":
        return _positive(paper, seen, answer, renews=renews)
    return _not_issued(paper, seen, answer, renews=renews)


def with_acts(paper: Paper, acts: Iterable[Extension]) -> Paper:
    """Return a certificate with its last day according to the acts in force."""
    later = None
    if paper.kind in BOUGHT_BY and paper.verdict in _GOOD:
        subject, uf = BOUGHT_BY[paper.kind], paper.uf or None
        later = extended(acts, subject, uf, paper.issued_on, paper.validity)
    until, act = (later.until, later.act) if later is not None else (None, None)
    return msgspec.structs.replace(
        paper, extended_until=until, act=act, last_day=until or paper.validity
    )


def extension_event(before: Paper, after: Paper) -> PaperEvent | None:
    """Return the event of an act that gave a certificate a later last day; None: none did."""
    if after.extended_until is None or after.extended_until <= (before.last_day or ""):
        return None
    about = f"/{after.paper_id}/{after.validity}/{after.extended_until}/{after.act}"
    data = {"valida_ate": after.last_day, "ato": after.act, "request_id": None}
    return PaperEvent(EXTENDED, about, data)


def item_events(
    event: PaperEvent,
    paper: Paper,
    heads: Sequence[ItemHead],
    at_ms: int,
    *,
    seen: Observation | None = None,
    is_person: bool = False,
) -> Sequence[tuple[ItemHead, ItemEvent]]:
    """Return an event about a certificate for each item that has it.

    `seen`: the answer that caused it; the item that it was asked for shows the credits.
    """
    answer = None if seen is None else seen.certificate
    charged = _asked_for(heads, seen) if seen is not None and event.credits is not None else None
    label = {
        "id": paper.paper_id,
        "tipo": paper.kind,
        "uf": paper.uf or None,
        "nome": paper.name,
    }
    found = []
    for head in heads:
        data: dict[str, object] = {"papel": label, **event.data}
        if event.credits is not None:
            data["creditos"] = event.credits if head is charged else 0
        found.append(
            (
                head,
                ItemEvent(
                    event.kind,
                    f"{head.item_id}/{event.kind}{event.about}",
                    at_ms,
                    None if answer is None else answer.source,
                    data,
                    is_person=is_person,
                    data_from=None if answer is None else iso_instant(answer.asked_ms),
                ),
            )
        )
    return found


def _asked_for(heads: Sequence[ItemHead], seen: Observation) -> ItemHead | None:
    """Return the item that a lookup was about: of its document and client, if there is one."""
    client = seen.certificate and seen.certificate.client
    return min(
        heads,
        key=lambda head: (
            head.document != seen.cnpj and not head.is_cpf,
            head.client != client,
            head.item_id,
        ),
        default=None,
    )


def _issued(
    paper: Paper,
    seen: Observation,
    answer: ObservedCertificate,
    acts: Iterable[Extension],
    *,
    renews: bool,
) -> PaperUpdate:
    summary = answer.summary
    after = with_acts(
        msgspec.structs.replace(
            _answered(paper, seen, answer),
            verdict=summary.verdict,
            issued_on=None if summary.issued_on is None else summary.issued_on[:10],
            validity=None if summary.validity is None else summary.validity[:10],
            failures=0,
            reason=None,
        ),
        acts,
    )
    if (after.verdict, after.validity) != (paper.verdict, paper.validity):
        after = _anew(after)
    elif renews:
        after = bought(after)
        if after.last_day is None:
            return PaperUpdate(after, None)
        assert answer.renews is not None
        after = msgspec.structs.replace(
            after,
            next_ms=next_renewal_ms(
                after, answer.renews.terms, seen.at_ms, reissues=answer.renews.reissues
            ),
        )
        data = {
            "valida_ate": after.last_day,
            "tentativas": after.attempts,
            "proxima_em": iso_instant(after.next_ms),
        }
        about = f"/{paper.paper_id}/{paper.validity}/{after.attempts}"
        return PaperUpdate(after, PaperEvent(SAME, about, data))
    elif paper.reason in {NOT_ISSUED, AFTER_THE_END}:  # it is renewed again, or still waits
        after = _unplanned(after)
    if not _ends_later(paper, after):
        return PaperUpdate(after, None)
    data = {
        "valida_ate": after.last_day,
        "valida_ate_antes": paper.last_day,
        "recibo": answer.receipt,
        "request_id": seen.request_id,
    }
    return PaperUpdate(
        after, PaperEvent(RENEWED, f"/{seen.request_id}", data, credits=answer.credits)
    )


def _ends_later(before: Paper, after: Paper) -> bool:
    """Return whether a certificate replaces one that ended earlier, or was positive."""
    if after.last_day is None:
        return False
    if before.last_day is None:
        return before.verdict == "CPD"
    return after.last_day > before.last_day


def _positive(
    paper: Paper, seen: Observation, answer: ObservedCertificate, *, renews: bool
) -> PaperUpdate:
    after = msgspec.structs.replace(
        _answered(paper, seen, answer),
        verdict="CPD",
        issued_on=None if answer.summary.issued_on is None else answer.summary.issued_on[:10],
        validity=None,
        extended_until=None,
        act=None,
        last_day=None,
        failures=0,
        reason=None,
    )
    if paper.verdict == "CPD":
        return PaperUpdate(bought(after) if renews else after, None)
    data = {"valida_ate": None, "ato": None, "request_id": seen.request_id}
    return PaperUpdate(_anew(after), PaperEvent(POSITIVE, f"/{seen.request_id}", data))


def _not_issued(
    paper: Paper, seen: Observation, answer: ObservedCertificate, *, renews: bool
) -> PaperUpdate:
    """Return the certificate after an answer that proves nothing: an earlier one stays."""
    if paper.verdict in {"CND", "CPEND", "CPD"}:
        after = msgspec.structs.replace(
            paper, answered_ms=answer.asked_ms, failures=0, reason=NOT_ISSUED
        )
    else:
        after = msgspec.structs.replace(
            _answered(paper, seen, answer),
            verdict=answer.summary.verdict,
            failures=0,
            reason=NOT_ISSUED,
        )
    if not renews:
        return PaperUpdate(_unplanned(after), None)
    after = bought(after)
    data = {
        "valida_ate": after.last_day,
        "motivo": NOT_ISSUED,
        "tentativas": after.attempts,
        "proxima_em": None,
    }
    about = f"/{paper.paper_id}/{paper.validity}/{after.attempts}"
    return PaperUpdate(after, PaperEvent(NOT_RENEWED, about, data))


def _answered(paper: Paper, seen: Observation, answer: ObservedCertificate) -> Paper:
    """Return a certificate with the request and receipt of an answer."""
    return msgspec.structs.replace(
        paper,
        answered_ms=max(answer.asked_ms, paper.answered_ms or 0),
        request_id=seen.request_id,
        receipt_id=answer.summary.receipt_id,
        media_type=answer.summary.media_type,
    )


def _anew(paper: Paper) -> Paper:
    """Return a certificate whose validity has changed: its counts and notices begin again."""
    return msgspec.structs.replace(
        paper, purchases=0, attempts=0, renewing_ms=None, next_ms=UNPLANNED_MS, told=None
    )


def _unplanned(paper: Paper) -> Paper:
    """Return a certificate whose next renewal is to be computed, unless one is under way."""
    if paper.renewing_ms is not None:
        return paper
    return msgspec.structs.replace(paper, next_ms=UNPLANNED_MS)


def bought(paper: Paper) -> Paper:
    """Return a certificate after a charged renewal that did not change its validity."""
    return msgspec.structs.replace(
        paper,
        purchases=paper.purchases + 1,
        attempts=paper.attempts + 1,
        renewing_ms=None,
        next_ms=UNPLANNED_MS,
    )
