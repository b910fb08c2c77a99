"""Observations: answers of own lookups, passed on to the account's watched subjects."""

from collections.abc import Sequence

from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj
from balcao.core.observations import (
    OBSERVED_SUBJECTS,
    Observation,
    ObservedAnswer,
    ObservedCertificate,
)
from balcao.core.outcomes import Conclusion, Delivered, Outcome, ProvenAbsence
from balcao.core.papers import KINDS_BY_SUBJECT, paper_key
from balcao.core.questions import Inquiry
from balcao.lookup.context import LookupContext


def observations_of(
    context: LookupContext, conclusion: Conclusion, outcomes: Sequence[Outcome], now_ms: int
) -> Sequence[Observation]:
    """Return the observation to commit with an answer; none if there is nothing to observe.

    `outcomes`: of which the answer was concluded.
    """
    question, caller, clock = context.question, context.caller, context.clock
    if clock is not None:
        now_ms = clock.at_ms
    answers: tuple[ObservedAnswer, ...] = ()
    certificate: ObservedCertificate | None = None
    if question.subject in OBSERVED_SUBJECTS and len(outcomes) == len(question.inquiries):
        pairs = zip(question.inquiries, outcomes, strict=True)
        answers = tuple([each for pair in pairs if (each := _answer(*pair, now_ms)) is not None])
    elif question.subject in KINDS_BY_SUBJECT:
        certificate = _certificate(context, conclusion)
    if not answers and certificate is None:
        return ()
    document = question.document
    of_company = isinstance(document, Cnpj)
    return (
        Observation(
            caller.account_id,
            caller.mode,
            context.request_id,
            question.subject,
            document.text if of_company else None,
            None
            if of_company
            else document_hash(context.parts.receipt_numbers.pepper, document.text),
            answers,
            now_ms,
            certificate,
            clock_run=None if clock is None else clock.run,
        ),
    )


def _certificate(context: LookupContext, conclusion: Conclusion) -> ObservedCertificate | None:
    """Return the certificate of an answer; None: it is an error."""
    summary, question = conclusion.certificate, context.question
    if summary is None or conclusion.asked_ms is None or conclusion.source is None:
        return None
    document, tags, numbers = question.document, context.tags, context.parts.receipt_numbers
    company = document.text if isinstance(document, Cnpj) else None
    person = None if company else document_hash(numbers.pepper, document.text)
    kind = KINDS_BY_SUBJECT[question.subject]
    receipt_id = summary.receipt_id
    return ObservedCertificate(
        paper_key(kind, question.inquiries[0].uf or "", company, person),
        conclusion.source,
        conclusion.asked_ms,
        summary,
        None if receipt_id is None else numbers.address_of(context.operation.path, receipt_id),
        conclusion.credits,
        tags.client,
        tags.renews,
    )


def _answer(inquiry: Inquiry, outcome: Outcome, now_ms: int) -> ObservedAnswer | None:
    if isinstance(outcome, Delivered):
        own = outcome.origin == "online" and not outcome.to_keep
        return ObservedAnswer(inquiry.uf, outcome.source, outcome.asked_ms, outcome.body, own)
    # Other absences are no state of an item: months alone tell that a company is gone.
    if isinstance(outcome, ProvenAbsence) and inquiry.subject == "suframa":
        return ObservedAnswer(inquiry.uf, outcome.source, now_ms, None)
    return None
