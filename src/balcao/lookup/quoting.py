"""What a lookup would cost, said before it is made: nobody is asked, nothing is charged.

The same steps as a lookup's first ones (`story.py`): as long as nothing changes in between, the
charge is within what is said here, and just that where it is exact (contract 10.1).
"""

from collections.abc import Sequence
from math import inf

from balcao.core.access import Caller
from balcao.core.errors import NothingInCache, SourceFailed, UfRequired
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome, Quote, Way
from balcao.core.problems import problem_of
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.lookup.at_hand import all_at_hand
from balcao.lookup.context import LookupContext, Parts, context_of
from balcao.lookup.story import ask_for_the_rest, at_hand_of, concluded, resolve_home_uf
from balcao.operations import envelope

# What may have become of an inquiry that nobody can answer yet, where it costs least.
_COSTING_NOTHING: Sequence[Outcome] = (Failed(SourceFailed()), Nothing(""))


async def quote(question: Question, caller: Caller, parts: Parts) -> Quote:
    """What this question would cost this caller now.

    Whether anybody asked about a natural person is nobody else's business: who has no answer
    about the same one already is told all that it may cost, whatever is kept.
    """
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    greatest = context.operation.greatest_price(question)
    if await context.is_secret():
        return Quote(0, greatest, "mixed", secret=True)
    if (ready := all_at_hand(context)) is not None:  # nearly always, in a batch
        return _as_concluded(ready.concluded(context), _way_of(ready.outcomes))
    context, at_hand = await at_hand_of(context)
    known = [outcome for outcome in at_hand if outcome is not None]
    if len(known) == len(at_hand):
        return _as_concluded(await concluded(context, known), _way_of(known))
    if question.strategy is Strategy.SO_CACHE:
        return _as_concluded(envelope.refusal(NothingInCache()), "cache")
    least = await _least(context, at_hand) if known else 0
    return Quote(least, greatest, "mixed" if known else "source")


async def code_unserved(
    question: Question, caller: Caller, parts: Parts, told: Quote
) -> str | None:
    """The code of a lookup that is not at hand, where no source serves what it lacks.

    None: somebody will be asked, or a result comes of it all the same; or it is not told, since
    `told`, its price, is secret.
    """
    if told.at_hand or told.secret:
        return None
    sources = parts.environments[caller.mode].sources
    if not question.home_unknown and not any(map(sources.asks_nobody, question.inquiries)):
        return None  # nearly always, and nothing is read again
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    context, at_hand = await at_hand_of(context)
    if context.question.home_unknown:
        if not sources.asks_nobody(Inquiry("company", question.document)):
            return None
        try:
            home = await resolve_home_uf(context, inf)
        except UfRequired as refused:
            return problem_of(refused).code
        if isinstance(home, str):
            return None
        return (await concluded(context, [Nothing(home.source)])).code
    inquiries = context.question.inquiries
    lacking = [one for one, known in zip(inquiries, at_hand, strict=True) if known is None]
    if not all(map(sources.asks_nobody, lacking)):
        return None
    outcomes = await ask_for_the_rest(context, at_hand, [None] * len(inquiries), inf)
    return (await concluded(context, outcomes)).code


async def is_at_hand(question: Question, caller: Caller, parts: Parts) -> bool:
    """Return whether nobody would have to be asked, as far as this caller may learn that."""
    context = context_of(question, caller, "", None, parts, parts.now_ms())
    if await context.is_secret():
        return False
    if all_at_hand(context) is not None:
        return True
    return all(outcome is not None for outcome in (await at_hand_of(context))[1])


async def _least(context: LookupContext, at_hand: Sequence[Outcome | None]) -> int:
    """What is at hand is charged also where nothing comes of the rest, if it is anything."""
    if context.operation.doubtful([each for each in at_hand if each is not None]):
        return 0  # the registry may say that there is no such company
    ends = [
        await concluded(context, [each or otherwise for each in at_hand])
        for otherwise in _COSTING_NOTHING
    ]
    return min(end.credits for end in ends)


def _as_concluded(conclusion: Conclusion, way: Way) -> Quote:
    """All of it is at hand, and costs just that."""
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


def _way_of(outcomes: Sequence[Outcome]) -> Way:
    ways = {_WAYS[isinstance(each, Delivered) and each.origin == "cache"] for each in outcomes}
    return ways.pop() if len(ways) == 1 else "mixed"


_WAYS: dict[bool, Way] = {True: "cache", False: "own"}
