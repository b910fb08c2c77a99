"""Observations: answers of own lookups, passed on to the account's watched subjects."""

from collections.abc import Sequence

from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj
from balcao.core.observations import OBSERVED_SUBJECTS, Observation, ObservedAnswer
from balcao.core.outcomes import Delivered, Outcome, ProvenAbsence
from balcao.core.questions import Inquiry
from balcao.lookup.context import LookupContext


def observations_of(
    context: LookupContext, outcomes: Sequence[Outcome], now_ms: int
) -> Sequence[Observation]:
    """Return the observation to commit with an answer; none if there is nothing to observe."""
    question = context.question
    if question.subject not in OBSERVED_SUBJECTS or len(outcomes) != len(question.inquiries):
        return ()
    pairs = zip(question.inquiries, outcomes, strict=True)
    answers = tuple([each for pair in pairs if (each := _answer(*pair, now_ms)) is not None])
    if not answers:
        return ()
    document, caller = question.document, context.caller
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
        ),
    )


def _answer(inquiry: Inquiry, outcome: Outcome, now_ms: int) -> ObservedAnswer | None:
    if isinstance(outcome, Delivered):
        own = outcome.origin == "online" and not outcome.to_keep
        return ObservedAnswer(inquiry.uf, outcome.source, outcome.asked_ms, outcome.body, own)
    # Other absences are no state of an item: months alone tell that a company is gone.
    if isinstance(outcome, ProvenAbsence) and inquiry.subject == "suframa":
        return ObservedAnswer(inquiry.uf, outcome.source, now_ms, None)
    return None
