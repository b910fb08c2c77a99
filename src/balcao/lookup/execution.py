"""Execution of one lookup, from question to reply. Read this file first.

Decisions are made in `core` and `operations`, I/O in `sources` and `storage`.
`docs/life-of-a-lookup.md` describes what happens when a process dies between two steps.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import structlog

from balcao.core.access import Caller
from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.errors import CallerError, NothingInCache, SourceError, SourceRefused, UfRequired
from balcao.core.freshness import CACHE_FIRST, Ask, CacheEntry, Serve
from balcao.core.ledger import NO_TAGS, RequestTags
from balcao.core.outcomes import Conclusion, Delivered, Failed, Outcome, ProvenAbsence, Reply
from balcao.core.questions import Inquiry, Question, Record, Strategy
from balcao.core.registration import Registrations
from balcao.lookup.available_now import (
    are_short,
    conclusion_of,
    from_cache,
    keys_of,
    outcome_available_now,
    plan_of,
)
from balcao.lookup.billing import Billing
from balcao.lookup.context import CommitHooks, LookupContext, Parts, PortfolioTime, context_of
from balcao.sources.contract import Absent
from balcao.sources.router import InFlight

log = structlog.get_logger()

# Longer answers are concluded in a thread: 27 UFs may have 1,000 registrations each, to be
# decoded, sorted and encoded again.
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
    hooks: CommitHooks | None = None,
    tags: RequestTags = NO_TAGS,
    clock: PortfolioTime | None = None,
) -> Reply:
    """Answer one question and charge for it once, at most `credits_max`.

    `hooks`: a batch row, whose changes are part of every commit; it needs no idempotency key.
    `clock`: of the test portfolio that asks, by which the sandbox answers.

    Raises `CallerError` if the request is refused before it has any effect (409, 400 for a reused
    key, 402), and `StorageFailed` when the desk cannot write. A source's failure is a reply like
    any other, recorded under the idempotency key (contract 6.2).
    """
    asked = context_of(
        question,
        caller,
        request_id,
        idempotency_key,
        parts,
        parts.now_ms(),
        credits_max=credits_max,
        hooks=hooks,
        tags=tags,
        clock=clock,
    )
    context = asked
    billing = Billing(context)
    try:
        # 1  Was this request answered before?
        if (replayed := await billing.replay()) is not None:
            return replayed

        available: Sequence[Outcome | None] = [None] * len(question.inquiries)
        # The first answer about a person is charged in two steps even if it is cached: the cache is
        # read once the greatest price is held, so that no refusal reveals it (ADR 0080).
        if not await context.is_secret():
            # 2  What is available in the cache and our own copies?  3  May it be served?
            context, available = await available_outcomes(context)
            if context is not asked:
                billing = Billing(context)

            # 4  Everything is available: the charge and the answer are one commit.
            known = [outcome for outcome in available if outcome is not None]
            if len(known) == len(available):
                return await billing.charge(await conclude(context, known), known)
            if question.strategy is Strategy.SO_CACHE:
                raise NothingInCache

        # Steps 5 to 7 are completed even if the caller disconnects (contract 5.5).
        task = asyncio.create_task(_ask_and_settle(context, available))
        parts.running.add(task)
        task.add_done_callback(partial(_done, parts))
        return await asyncio.shield(task)
    except CallerError as refused:
        Billing(asked).note_refused(refused)
        raise


async def _ask_and_settle(context: LookupContext, available: Sequence[Outcome | None]) -> Reply:
    """Run steps 5 to 7. Raises `Overloaded` if too many lookups wait for sources."""
    billing, deadline_ms = Billing(context), _deadline_ms(context)
    background = context.hooks is not None or context.tags.of_wallet
    with context.parts.admission.slot(context.caller, low_priority=background):
        # The deadline of all source requests from here on, the registry's included.
        until = asyncio.get_running_loop().time() + deadline_ms / 1000
        # Inquiries in flight for other callers are shared.
        joining = list(map(context.environment.sources.in_flight, context.question.inquiries))
        # 5  Hold the credits and bind the key before any source is asked.
        if (replayed := await billing.hold()) is not None:
            return replayed
        outcomes: Sequence[Outcome] = ()
        try:
            home: str | Absent | None = None
            if context.question.home_unknown:
                home = await resolve_home_uf(context, until)
            if isinstance(home, Absent):
                outcomes = [ProvenAbsence(home.source)]
            else:
                context = context if home is None else context.at_home(home)
                outcomes = await ask_for_the_rest(context, available, joining, until)
            # 6  Make the answer and its price.
            outcomes = await _drop_unknown_company(context, outcomes, until)
            await _keep(context, outcomes)
            conclusion = await conclude(context, outcomes)
        # Refusals cost nothing and do not bind the key.
        except (UfRequired, NothingInCache):
            await billing.release()
            raise
        except Exception as bug:
            log.exception("lookup.bug", operation=context.operation.path)
            conclusion, outcomes = billing.refusal(bug), ()
        # 7  Settle and record in one commit.
        return await Billing(context).settle(conclusion, outcomes)


def _deadline_ms(context: LookupContext) -> int:
    """Return the time limit for all sources together, longer in batches (contract 9.16)."""
    parts = context.parts
    if context.hooks is not None and context.operation.issues:
        return max(parts.deadline_ms, parts.batch_certificate_ms)
    return parts.deadline_ms


def _done(parts: Parts, task: "asyncio.Task[Reply]") -> None:
    parts.running.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not report it once the caller is gone


# 2 and 3: what is available


async def available_outcomes(
    context: LookupContext,
) -> tuple[LookupContext, Sequence[Outcome | None]]:
    """Return per inquiry the outcome that needs no source, if any.

    The returned context has the company's own UF, if it was unknown and is available.
    """
    if context.question.home_unknown:
        context = await _with_available_home(context)
    return context, await _available_outcomes(context)


async def _with_available_home(context: LookupContext) -> LookupContext:
    """Return the context with the company's own UF, if that is available."""
    document, registry = context.question.document, context.environment.registry
    assert isinstance(document, Cnpj)
    home = await registry.available_home_uf(document, context.operation.ufs)
    return context if home is None else context.at_home(home)


async def _available_outcomes(context: LookupContext) -> Sequence[Outcome | None]:
    """Return per inquiry the outcome that needs no source, or None."""
    if context.question.home_unknown:
        return [None]
    kept: Mapping[str, CacheEntry] = {}
    if context.question.strategy in CACHE_FIRST:
        kept = await context.environment.cache.read(keys_of(context))
    return [outcome_available_now(context, inquiry, kept) for inquiry in context.question.inquiries]


# 5: asking


async def resolve_home_uf(context: LookupContext, until: float) -> str | Absent:
    """Ask the registry, uncharged, for the UF that the caller left out (contract 2.3)."""
    document, registry = context.question.document, context.environment.registry
    assert isinstance(document, Cnpj)
    home = await registry.find_home_uf(document, context.operation.ufs, until)
    if home is None:
        raise UfRequired
    return home


async def ask_for_the_rest(
    context: LookupContext,
    available: Sequence[Outcome | None],
    joining: Sequence[InFlight | None],
    until: float,
) -> Sequence[Outcome]:
    """Ask concurrently for all that is not available. Raises `NothingInCache`."""
    if context.question.strategy in CACHE_FIRST:
        # Read again: other lookups may have filled the cache during the hold.
        available = await _available_outcomes(context)
        if context.question.strategy is Strategy.SO_CACHE and None in available:
            raise NothingInCache
    asking = [
        _ask(context, inquiry, flight, until) if outcome is None else _ready(outcome)
        for inquiry, flight, outcome in zip(
            context.question.inquiries, joining, available, strict=True
        )
    ]
    # Most lookups have one inquiry, which needs no task.
    return [await asking[0]] if len(asking) == 1 else await asyncio.gather(*asking)


async def _ready(outcome: Outcome) -> Outcome:
    return outcome


async def _ask(
    context: LookupContext, inquiry: Inquiry, joining: InFlight | None, until: float
) -> Outcome:
    """Ask the sources about one inquiry; fall back on the cache where that is allowed."""
    environment = context.environment
    try:
        answer = await environment.sources.ask(inquiry, joining, deadline=until)
    except SourceRefused as error:  # not a source's failure, so no cached answer replaces it
        return Failed(error)
    except SourceError as error:
        # The time is read again: a certificate may have expired meanwhile.
        kept = await environment.cache.read([inquiry.cache_key])
        match plan_of(context, inquiry, kept.get(inquiry.cache_key), context.now_ms):
            case Serve(usable) | Ask(usable) if usable is not None:
                return from_cache(usable)
            case _:
                return Failed(error)
    if isinstance(answer, Absent):
        return ProvenAbsence(answer.source)
    encode = partial(context.operation.encode, inquiry, answer.record)
    body = await asyncio.to_thread(encode) if _is_long(answer.record) else encode()
    asked_ms = to_ms(answer.as_of)
    return Delivered(
        body, "online", answer.source, asked_ms, to_keep=not answer.local, complete=answer.complete
    )


def _is_long(record: Record) -> bool:
    """Return whether encoding it would block the event loop for too long (ADR 0023)."""
    match record:
        case Company(socios=parts) | Registrations(inscricoes=parts):
            return len(parts) > ENCODED_IN_PLACE_PARTS_MAX
        case _:
            return False


# 6: the answer


async def _drop_unknown_company(
    context: LookupContext, outcomes: Sequence[Outcome], until: float
) -> Sequence[Outcome]:
    """Replace empty answers about a company that does not exist by its absence (contract 3)."""
    document = context.question.document
    asked = any(isinstance(outcome, Delivered) and outcome.to_keep for outcome in outcomes)
    if asked and context.operation.needs_confirmation(outcomes) and isinstance(document, Cnpj):
        denial = await context.environment.registry.find_denial(document, until)
        if denial is not None:
            return [ProvenAbsence(denial.source)] * len(outcomes)
    return outcomes


async def _keep(context: LookupContext, outcomes: Sequence[Outcome]) -> None:
    """Cache new answers of sources; they contain nothing about the caller.

    An incomplete answer does not replace a complete one: one short outage would make the cache
    poorer for all callers (ADR 0011).
    """
    cache, should_cache = context.environment.cache, context.operation.should_cache
    new_answers = {
        inquiry.cache_key: outcome
        for inquiry, outcome in zip(context.question.inquiries, outcomes, strict=True)
        if isinstance(outcome, Delivered) and outcome.to_keep
    }
    if not new_answers:
        return
    kept = await cache.read([*new_answers])
    fresh = [
        (cache_key, CacheEntry(new.body, new.asked_ms, new.source))
        for cache_key, new in new_answers.items()
        if (new.complete or cache_key not in kept)
        and should_cache(new.body, new.asked_ms, kept.get(cache_key))
    ]
    if fresh:
        cache.keep(fresh)


async def conclude(context: LookupContext, outcomes: Sequence[Outcome]) -> Conclusion:
    """Return the answer and its price; computed in a thread if the bodies are long."""
    document, company = context.question.document, None
    in_place = are_short(outcomes, CONCLUDED_IN_PLACE_BYTES_MAX)
    needs = partial(context.operation.needs_company, context.question, outcomes)
    needed = needs() if in_place else await asyncio.to_thread(needs)
    if needed and isinstance(document, Cnpj):
        company = await context.environment.registry.available_company(document)
    work = partial(conclusion_of, context, outcomes, company, context.now_ms)
    return work() if in_place else await asyncio.to_thread(work)
