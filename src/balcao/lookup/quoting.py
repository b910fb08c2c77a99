"""Quotes: the price of a lookup before it is made. Asks no source and charges nothing.

Follows the first steps of a lookup (`execution.py`): as long as nothing changes in between, the
charge is within the quote, and equals it where the quote is exact (contract 10.1).
"""

from collections.abc import Sequence
from math import inf

from balcao.core.access import Caller
from balcao.core.errors import NothingInCache, SourceFailed, UfRequired
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome, ProvenAbsence, Quote, Way
from balcao.core.problems import problem_of
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.lookup.available_now import all_available_now
from balcao.lookup.context import LookupContext, Parts, context_of
from balcao.lookup.execution import ask_for_the_rest, available_outcomes, conclude, resolve_home_uf
from balcao.operations import envelope

# Possible outcomes of an unanswered inquiry that cost least.
_CHEAPEST_OUTCOMES: Sequence[Outcome] = (Failed(SourceFailed()), ProvenAbsence(""))


async def quote(question: Question, caller: Caller, parts: Parts) -> Quote:
    """Return what this question would cost this caller now.

    Callers without an earlier answer about a natural person get the greatest price even if an
    answer is cached, so that no quote reveals what others asked.
    """
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    greatest = context.operation.greatest_price(question)
    if await context.is_secret():
        return Quote(0, greatest, "mixed", secret=True)
    if (ready := all_available_now(context)) is not None:  # nearly always, in a batch
        return _exact_quote(ready.conclude(context), _quoted_origin(ready.outcomes))
    context, available = await available_outcomes(context)
    known = [outcome for outcome in available if outcome is not None]
    if len(known) == len(available):
        return _exact_quote(await conclude(context, known), _quoted_origin(known))
    if question.strategy is Strategy.SO_CACHE:
        return _exact_quote(envelope.refusal(NothingInCache()), "cache")
    least = await _least_price(context, available) if known else 0
    return Quote(least, greatest, "mixed" if known else "source")


async def unserved_code(
    question: Question, caller: Caller, parts: Parts, quoted: Quote
) -> str | None:
    """Return the error code that the quoted lookup gets because no configured source serves it.

    None: a source serves it, a result is available without one, or the quote must not reveal it.
    """
    if quoted.at_hand or quoted.secret:
        return None
    sources = parts.environments[caller.mode].sources
    if not question.home_unknown and not any(map(sources.is_local, question.inquiries)):
        return None  # the most frequent case, without reading again
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    context, available = await available_outcomes(context)
    if context.question.home_unknown:
        if not sources.is_local(Inquiry("company", question.document)):
            return None
        try:
            home = await resolve_home_uf(context, inf)
        except UfRequired as refused:
            return problem_of(refused).code
        if isinstance(home, str):
            return None
        return (await conclude(context, [ProvenAbsence(home.source)])).code
    inquiries = context.question.inquiries
    missing = [one for one, known in zip(inquiries, available, strict=True) if known is None]
    if not all(map(sources.is_local, missing)):
        return None
    outcomes = await ask_for_the_rest(context, available, [None] * len(inquiries), inf)
    return (await conclude(context, outcomes)).code


async def is_available_now(question: Question, caller: Caller, parts: Parts) -> bool:
    """Return whether no source would have to be asked, as far as this caller may learn that."""
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    if await context.is_secret():
        return False
    if all_available_now(context) is not None:
        return True
    return all(outcome is not None for outcome in (await available_outcomes(context))[1])


async def _least_price(context: LookupContext, available: Sequence[Outcome | None]) -> int:
    """Return the price if all inquiries that are not available turn out to cost least."""
    if context.operation.needs_confirmation([each for each in available if each is not None]):
        return 0  # the registry may have no such company
    ends = [
        await conclude(context, [each or otherwise for each in available])
        for otherwise in _CHEAPEST_OUTCOMES
    ]
    return min(end.credits for end in ends)


def _exact_quote(conclusion: Conclusion, way: Way) -> Quote:
    """Return the quote of a lookup whose outcomes are all available."""
    certificate = conclusion.certificate
    return Quote(
        conclusion.credits,
        conclusion.credits,
        way,
        at_hand=True,
        rule=conclusion.rule,
        code=conclusion.code,
        asked_ms=conclusion.asked_ms,
        validity=certificate.validity if certificate else None,
    )


def _quoted_origin(outcomes: Sequence[Outcome]) -> Way:
    ways = {_WAYS[isinstance(each, Delivered) and each.origin == "cache"] for each in outcomes}
    return ways.pop() if len(ways) == 1 else "mixed"


_WAYS: dict[bool, Way] = {True: "cache", False: "own"}
