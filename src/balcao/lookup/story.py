"""One lookup, from question to reply. Read this file first.

It decides nothing by itself: `core` and `operations` decide, `sources` and `storage` do. What
happens when a process dies between two steps is told in `docs/life-of-a-lookup.md`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import structlog

from balcao.core.access import Caller
from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.errors import CallerError, NothingInCache, OriginRefused, SourceError, UfRequired
from balcao.core.freshness import CACHE_FIRST, Ask, Kept, Serve
from balcao.core.ledger import NO_MARKS, Marks
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome, Reply
from balcao.core.questions import Inquiry, Question, Record, Strategy
from balcao.core.registration import Registrations
from balcao.lookup.at_hand import (
    are_short,
    conclusion_of,
    from_cache,
    keys_of,
    outcome_at_hand,
    plan_of,
)
from balcao.lookup.booking import Booking
from balcao.lookup.context import Errand, LookupContext, Parts, context_of
from balcao.sources.asking import InFlight
from balcao.sources.contract import Absent

log = structlog.get_logger()

# Answers that are longer together are concluded in a thread: 27 UFs may have 1,000 registrations
# each, which are read, put in order and written once more.
CONCLUDED_IN_PLACE_BYTES_MAX = 64_000
ENCODED_IN_PLACE_PARTS_MAX = 500  # partners or registrations


async def look_up(
    question: Question,
    caller: Caller,
    request_id: str,
    idempotency_key: str | None,
    parts: Parts,
    *,
    credits_max: int | None = None,
    errand: Errand | None = None,
    marks: Marks = NO_MARKS,
) -> Reply:
    """Answer one question and charge for it, once; `credits_max` at the most, if it says so.

    An `errand` has its own mark in every commit of this, and so needs no idempotency key.

    Raises `CallerError` for what refuses the request before anything was done (409, 400 for a
    reused key, 402) and `StorageFailed` when the desk cannot write. A source's failure is a
    reply like any other, recorded under the idempotency key (contract 6.2).
    """
    asked = context_of(
        question,
        caller,
        request_id,
        idempotency_key,
        parts,
        parts.now_ms(),
        credits_max=credits_max,
        errand=errand,
        marks=marks,
    )
    context = asked
    booking = Booking(context)
    try:
        # 1  Was this very request answered before?
        if (replayed := await booking.replay()) is not None:
            return replayed

        at_hand: Sequence[Outcome | None] = [None] * len(question.inquiries)
        # The first answer about a person is charged in two steps whatever is kept: the cache is
        # read once the greatest price is held, so that no refusal reveals it (ADR 0080).
        if not await context.is_secret():
            # 2  What is at hand, in the cache and in our own copies?  3  May it be served?
            context, at_hand = await at_hand_of(context)
            if context is not asked:
                booking = Booking(context)

            # 4  Everything is at hand: the charge and the answer are one commit.
            known = [outcome for outcome in at_hand if outcome is not None]
            if len(known) == len(at_hand):
                return await booking.charge(await concluded(context, known))
            if question.strategy is Strategy.SO_CACHE:
                raise NothingInCache

        # 5 to 7 go on to their end even when the caller hangs up (contract 5.5).
        task = asyncio.create_task(_ask_and_settle(context, at_hand))
        parts.running.add(task)
        task.add_done_callback(partial(_done, parts))
        return await asyncio.shield(task)
    except CallerError as refused:
        Booking(asked).note_refused(refused)
        raise


async def _ask_and_settle(context: LookupContext, at_hand: Sequence[Outcome | None]) -> Reply:
    """Steps 5 to 7, if there is a place among those who wait for sources."""
    booking, deadline_ms = Booking(context), _deadline_ms(context)
    with context.parts.admission.place(context.caller, yielding=context.errand is not None):
        # Everything that is asked from here on, the registry included, is over by then.
        until = asyncio.get_running_loop().time() + deadline_ms / 1000
        # What is being asked for somebody else at this moment is asked for us too.
        joining = list(map(context.environment.sources.in_flight, context.question.inquiries))
        # 5  Nobody is asked before the credits are held and the key is taken.
        if (replayed := await booking.hold()) is not None:
            return replayed
        try:
            home: str | Absent | None = None
            if context.question.home_unknown:
                home = await resolve_home_uf(context, until)
            if isinstance(home, Absent):
                outcomes: Sequence[Outcome] = [Nothing(home.source)]
            else:
                context = context if home is None else context.at_home(home)
                outcomes = await ask_for_the_rest(context, at_hand, joining, until)
            # 6  What is said, and what it costs.
            outcomes = await _drop_unknown_company(context, outcomes, until)
            await _keep(context, outcomes)
            conclusion = await concluded(context, outcomes)
        # A refusal after all, and these take neither key nor credit.
        except (UfRequired, NothingInCache):
            await booking.release()
            raise
        except Exception as bug:
            log.exception("lookup.bug", operation=context.operation.path)
            conclusion = booking.refusal(bug)
        # 7  Settle and record in one commit.
        return await Booking(context).settle(conclusion)


def _deadline_ms(context: LookupContext) -> int:
    """How long all sources together have. Nobody waits in front of a batch (contract 9.16)."""
    parts = context.parts
    if context.errand is not None and context.operation.issues:
        return max(parts.deadline_ms, parts.batch_certificate_ms)
    return parts.deadline_ms


def _done(parts: Parts, task: "asyncio.Task[Reply]") -> None:
    parts.running.discard(task)
    if not task.cancelled():
        task.exception()  # seen, also when nobody waits for it any more


# 2 and 3: at hand


async def at_hand_of(context: LookupContext) -> tuple[LookupContext, Sequence[Outcome | None]]:
    """Per inquiry what can be said without asking anybody; and the company's own UF, so told."""
    if context.question.home_unknown:
        context = await _with_home_at_hand(context)
    return context, await _all_at_hand(context)


async def _with_home_at_hand(context: LookupContext) -> LookupContext:
    """The lookup of the company's own UF, if what is here already tells it."""
    document, registry = context.question.document, context.environment.registry
    assert isinstance(document, Cnpj)
    home = await registry.home_at_hand(document, context.operation.ufs)
    return context if home is None else context.at_home(home)


async def _all_at_hand(context: LookupContext) -> Sequence[Outcome | None]:
    """Per inquiry what can be said without asking anybody, or None."""
    if context.question.home_unknown:
        return [None]
    kept: Mapping[str, Kept] = {}
    if context.question.strategy in CACHE_FIRST:
        kept = await context.environment.cache.read(keys_of(context))
    return [outcome_at_hand(context, inquiry, kept) for inquiry in context.question.inquiries]


# 5: asking


async def resolve_home_uf(context: LookupContext, until: float) -> str | Absent:
    """Ask the registry, uncharged, for the UF that the caller left out (contract 2.3)."""
    document, registry = context.question.document, context.environment.registry
    assert isinstance(document, Cnpj)
    home = await registry.find_home(document, context.operation.ufs, until)
    if home is None:
        raise UfRequired
    return home


async def ask_for_the_rest(
    context: LookupContext,
    at_hand: Sequence[Outcome | None],
    joining: Sequence[InFlight | None],
    until: float,
) -> Sequence[Outcome]:
    """All that is not at hand, at once; most lookups have one inquiry, which needs no task.

    Raises `NothingInCache`.
    """
    if context.question.strategy in CACHE_FIRST:
        # What somebody else was told while we held is not bought again.
        at_hand = await _all_at_hand(context)
        if context.question.strategy is Strategy.SO_CACHE and None in at_hand:
            raise NothingInCache
    asking = [
        _ask(context, inquiry, flight, until) if outcome is None else _ready(outcome)
        for inquiry, flight, outcome in zip(
            context.question.inquiries, joining, at_hand, strict=True
        )
    ]
    return [await asking[0]] if len(asking) == 1 else await asyncio.gather(*asking)


async def _ready(outcome: Outcome) -> Outcome:
    return outcome


async def _ask(
    context: LookupContext, inquiry: Inquiry, joining: InFlight | None, until: float
) -> Outcome:
    """Ask the sources about one inquiry; fall back on what is kept where that is allowed."""
    environment = context.environment
    try:
        answer = await environment.sources.ask(inquiry, joining, until=until)
    except OriginRefused as error:  # no failure of a source, and nothing can stand in for it
        return Failed(error)
    except SourceError as error:
        # By now it may be tomorrow: a certificate expires while its source is asked.
        kept = await environment.cache.read([inquiry.cache_key])
        match plan_of(context, inquiry, kept.get(inquiry.cache_key), context.parts.now_ms()):
            case Serve(usable) | Ask(usable) if usable is not None:
                return from_cache(usable)
            case _:
                return Failed(error)
    if isinstance(answer, Absent):
        return Nothing(answer.source)
    encode = partial(context.operation.encode, inquiry, answer.record)
    body = await asyncio.to_thread(encode) if _is_long(answer.record) else encode()
    asked_ms = to_ms(answer.as_of)
    return Delivered(
        body, "online", answer.source, asked_ms, to_keep=not answer.local, complete=answer.complete
    )


def _is_long(record: Record) -> bool:
    """Whether writing it down would hold up everybody else (ADR 0023)."""
    match record:
        case Company(socios=parts) | Registrations(inscricoes=parts):
            return len(parts) > ENCODED_IN_PLACE_PARTS_MAX
        case _:
            return False


# 6: what is said


async def _drop_unknown_company(
    context: LookupContext, outcomes: Sequence[Outcome], until: float
) -> Sequence[Outcome]:
    """An empty answer about a company that does not exist is no answer (contract 3)."""
    document = context.question.document
    asked = any(isinstance(outcome, Delivered) and outcome.to_keep for outcome in outcomes)
    if asked and context.operation.doubtful(outcomes) and isinstance(document, Cnpj):
        denial = await context.environment.registry.denies(document, until)
        if denial is not None:
            return [Nothing(denial.source)] * len(outcomes)
    return outcomes


async def _keep(context: LookupContext, outcomes: Sequence[Outcome]) -> None:
    """Keep for others what sources just said: nothing in it tells who asked.

    What lacks a part that another source knows does not take the place of what has it: one short
    outage would make the cache poorer for everybody (ADR 0011).
    """
    cache, keeps = context.environment.cache, context.operation.keeps
    said = {
        inquiry.cache_key: outcome
        for inquiry, outcome in zip(context.question.inquiries, outcomes, strict=True)
        if isinstance(outcome, Delivered) and outcome.to_keep
    }
    if not said:
        return
    kept = await cache.read([*said])
    fresh = [
        (cache_key, Kept(new.body, new.asked_ms, new.source))
        for cache_key, new in said.items()
        if (new.complete or cache_key not in kept)
        and keeps(new.body, new.asked_ms, kept.get(cache_key))
    ]
    if fresh:
        cache.keep(fresh)


async def concluded(context: LookupContext, outcomes: Sequence[Outcome]) -> Conclusion:
    """The answer and its price, in a thread where it is long."""
    document, company = context.question.document, None
    in_place = are_short(outcomes, CONCLUDED_IN_PLACE_BYTES_MAX)
    wants = partial(context.operation.wants_company, context.question, outcomes)
    wanted = wants() if in_place else await asyncio.to_thread(wants)
    if wanted and isinstance(document, Cnpj):
        company = await context.environment.registry.company_at_hand(document)
    conclude = partial(conclusion_of, context, outcomes, company, context.parts.now_ms())
    return conclude() if in_place else await asyncio.to_thread(conclude)
