"""One lookup, from question to reply. Read this file first.

It decides nothing by itself: `core` and `subjects` decide, `sources` and `storage` do. What
happens when a process dies between two steps is told in `docs/life-of-a-lookup.md`.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial

import msgspec
import structlog

from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.calendar import to_ms
from balcao.core.company import Company
from balcao.core.documents import Cnpj
from balcao.core.freshness import CACHE_FIRST, Ask, Kept, Serve
from balcao.core.outcomes import Conclusion, Delivered, Failed, Forecast, Nothing, Outcome, Reply
from balcao.core.questions import Inquiry, Question, Record, Strategy
from balcao.core.registration import Registrations
from balcao.errors import CallerError, DataRefused, NothingInCache, SourceError, UfRequired
from balcao.lookup import booking, traces
from balcao.lookup.context import Errand, Parts, World
from balcao.operations.contract import Circumstances
from balcao.sources.asking import UnderWay
from balcao.sources.call import must_end_at
from balcao.sources.contract import Absent, Found

log = structlog.get_logger()

# Answers that are longer together are concluded in a thread: 27 UFs may have 1,000 registrations
# each, which are read, put in order and written once more.
CONCLUDED_IN_PLACE_BYTES_MAX = 64_000
ENCODED_IN_PLACE_PARTS_MAX = 500  # partners or registrations


async def look_up(
    question: Question, caller: Caller, request_id: str, key: str | None, parts: Parts
) -> Reply:
    """Answer one question and charge for it, once.

    Raises `CallerError` for what refuses the request before anything was done (409, 400 for a
    reused key, 402) and `StorageFailed` when the desk cannot write. A source's failure is a
    reply like any other, recorded under the idempotency key (decisions 6.2).
    """
    now = parts.now_ms()
    operation = parts.operations[question.subject]
    key_digest = None if key is None else idempotency.digest(key)
    errand = Errand(question, operation, caller, request_id, key_digest, now)
    try:
        return await _answer(errand, parts)
    except CallerError as refused:
        booking.note(traces.of_refusal(errand, refused, parts), parts)
        raise


async def _answer(errand: Errand, parts: Parts) -> Reply:
    # 1  Was this very request answered before?
    if (replayed := await booking.earlier(errand, parts)) is not None:
        return replayed

    # 2  What do we keep, in the cache and in our own copies?  3  May it be served?
    world = parts.worlds[errand.caller.mode]
    if errand.question.home_unknown:
        errand = await _at_home(errand, world)
    at_hand = await _all_at_hand(errand, world)

    # 4  Everything is at hand: the charge and the answer are one commit.
    known = [outcome for outcome in at_hand if outcome is not None]
    if len(known) == len(at_hand):
        conclusion = await _concluded(errand, known, parts)
        return await booking.charge(errand, conclusion, parts)
    if errand.question.strategy is Strategy.SO_CACHE:
        raise NothingInCache

    # 5 to 7 go on to their end even when the caller hangs up (decisions 5.5).
    task = asyncio.create_task(_ask_and_settle(errand, at_hand, world, parts))
    parts.running.add(task)
    task.add_done_callback(partial(_done, parts))
    return await asyncio.shield(task)


async def foresee(question: Question, caller: Caller, parts: Parts) -> Forecast:
    """What this question would cost now, without asking or charging anything."""
    operation = parts.operations[question.subject]
    errand = Errand(question, operation, caller, "", None, parts.now_ms())
    world = parts.worlds[caller.mode]
    if question.home_unknown:
        errand = await _at_home(errand, world)
    at_hand = await _all_at_hand(errand, world)
    known = [outcome for outcome in at_hand if outcome is not None]
    if len(known) < len(at_hand):
        return Forecast(operation.greatest_price(errand.question), at_hand=False)
    conclusion = await _concluded(errand, known, parts)
    return Forecast(conclusion.credits, True, conclusion.origin, conclusion.asked_ms)


def _done(parts: Parts, task: "asyncio.Task[Reply]") -> None:
    parts.running.discard(task)
    if not task.cancelled():
        task.exception()  # seen, also when nobody waits for it any more


async def _ask_and_settle(
    errand: Errand,
    at_hand: Sequence[Outcome | None],
    world: World,
    parts: Parts,
) -> Reply:
    """Steps 5 to 7, if there is a place among those who wait for sources."""
    with parts.admission.place(errand.caller):
        # Everything that is asked from here on, the registry included, is over by then.
        must_end_at.set(asyncio.get_running_loop().time() + parts.deadline_ms / 1000)
        # What is being asked for somebody else at this moment is asked for us too.
        joining = [world.sources.under_way(inquiry) for inquiry in errand.question.inquiries]
        # 5  Nobody is asked before the credits are set aside and the key is taken.
        if (replayed := await booking.set_aside(errand, parts)) is not None:
            return replayed
        if errand.question.home_unknown:
            return await _go_home_first(errand, world, parts)
        return await _ask_then_settle(errand, at_hand, joining, world, parts)


async def _go_home_first(errand: Errand, world: World, parts: Parts) -> Reply:
    """Ask the registry, uncharged, for the UF that the caller left out (decisions 2.3)."""
    assert isinstance(errand.question.document, Cnpj)
    try:
        home = await world.registry.find_home(errand.question.document, errand.operation.ufs)
    except Exception as bug:
        log.exception("lookup.bug", operation=errand.operation.path)
        return await booking.settle(errand, booking.refusal(errand, bug), parts)
    if home is None:  # a refusal after all, and these take neither key nor credit
        await booking.give_up(errand, parts)
        raise UfRequired
    if isinstance(home, Absent):
        nothing = await _concluded(errand, [Nothing(home.source)], parts)
        return await booking.settle(errand, nothing, parts)
    errand = msgspec.structs.replace(errand, question=errand.question.at_home(home))
    return await _ask_then_settle(errand, [None], [None], world, parts)


async def _ask_then_settle(
    errand: Errand,
    at_hand: Sequence[Outcome | None],
    joining: Sequence[UnderWay | None],
    world: World,
    parts: Parts,
) -> Reply:
    """The greatest price is held. Ask, then post the real one or give everything back."""
    try:
        if errand.question.strategy in CACHE_FIRST:
            # What somebody else was told while we held is not bought again.
            at_hand = await _all_at_hand(errand, world)
        inquiries = zip(errand.question.inquiries, joining, at_hand, strict=True)
        outcomes: Sequence[Outcome] = await _all(
            [
                _ask(errand, inquiry, flight, parts) if outcome is None else _ready(outcome)
                for inquiry, flight, outcome in inquiries
            ]
        )
        outcomes = await _without_phantoms(errand, outcomes, world)
        await _keep(errand, outcomes, world)
        # 6  What is said, and what it costs.
        conclusion = await _concluded(errand, outcomes, parts)
    except Exception as bug:
        log.exception("lookup.bug", operation=errand.operation.path)
        conclusion = booking.refusal(errand, bug)
    # 7  Settle and record in one commit.
    return await booking.settle(errand, conclusion, parts)


async def _ask(errand: Errand, inquiry: Inquiry, joining: UnderWay | None, parts: Parts) -> Outcome:
    """Ask the sources about one inquiry; fall back on what is kept where that is allowed."""
    world = parts.worlds[errand.caller.mode]
    try:
        answer = await world.sources.ask(inquiry, joining)
    except DataRefused as error:  # no failure of a source, and nothing can stand in for it
        return Failed(error)
    except SourceError as error:
        # By now it may be tomorrow: a certificate expires while its source is asked.
        kept = await world.cache.read([inquiry.key])
        match _plan(errand, inquiry, kept, parts.now_ms()):
            case Serve(usable) | Ask(usable) if usable is not None:
                return _from_cache(usable)
            case _:
                return Failed(error)
    if isinstance(answer, Absent):
        return Nothing(answer.source)
    encode = partial(errand.operation.encode, inquiry, answer.record)
    body = await asyncio.to_thread(encode) if _is_long(answer.record) else encode()
    asked_ms = to_ms(answer.as_of)
    return Delivered(
        body, "online", answer.source, asked_ms, to_keep=not answer.local, complete=answer.complete
    )


def _is_long(record: Record) -> bool:
    """Whether writing it down would hold up everybody else (decision 0023)."""
    match record:
        case Company():
            return len(record.socios) > ENCODED_IN_PLACE_PARTS_MAX
        case Registrations():
            return len(record.inscricoes) > ENCODED_IN_PLACE_PARTS_MAX
        case _:
            return False


async def _without_phantoms(
    errand: Errand, outcomes: Sequence[Outcome], world: World
) -> Sequence[Outcome]:
    """An empty answer about a company that does not exist is no answer (decisions 3)."""
    document = errand.question.document
    asked = any(isinstance(outcome, Delivered) and outcome.to_keep for outcome in outcomes)
    if asked and errand.operation.doubtful(outcomes) and isinstance(document, Cnpj):
        denial = await world.registry.denies(document)
        if denial is not None:
            return [Nothing(denial.source)] * len(outcomes)
    return outcomes


async def _keep(errand: Errand, outcomes: Sequence[Outcome], world: World) -> None:
    """Keep for others what sources just said: nothing in it tells who asked.

    What lacks a part that another source knows does not take the place of what has it: one short
    outage would make the cache poorer for everybody (decision 0011).
    """
    said = {
        inquiry.key: outcome
        for inquiry, outcome in zip(errand.question.inquiries, outcomes, strict=True)
        if isinstance(outcome, Delivered) and outcome.to_keep
    }
    if not said:
        return
    kept = await world.cache.read([*said])
    fresh = [
        (key, Kept(outcome.body, outcome.asked_ms, outcome.source))
        for key, outcome in said.items()
        if _takes_the_place(errand, outcome, kept.get(key))
    ]
    if fresh:
        world.cache.keep(fresh)


def _takes_the_place(errand: Errand, new: Delivered, kept: Kept | None) -> bool:
    if kept is not None and not new.complete:
        return False
    return errand.operation.keeps(new.body, new.asked_ms, kept)


async def _concluded(errand: Errand, outcomes: Sequence[Outcome], parts: Parts) -> Conclusion:
    document = errand.question.document
    company = None
    if errand.operation.wants_company and isinstance(document, Cnpj):
        registry = parts.worlds[errand.caller.mode].registry
        company = await registry.company_at_hand(document)
    circumstances = Circumstances(
        parts.now_ms(), errand.caller.account_id, parts.numbering, company
    )
    conclude = partial(errand.operation.conclude, errand.question, outcomes, circumstances)
    if sum([len(each.body) for each in outcomes if isinstance(each, Delivered)]) > (
        CONCLUDED_IN_PLACE_BYTES_MAX
    ):
        return await asyncio.to_thread(conclude)
    return conclude()


async def _at_home(errand: Errand, world: World) -> Errand:
    """The errand with the company's own UF, if what is here already tells it."""
    question = errand.question
    assert isinstance(question.document, Cnpj)
    home = await world.registry.home_at_hand(question.document, errand.operation.ufs)
    if home is None:
        return errand
    return msgspec.structs.replace(errand, question=question.at_home(home))


async def _all_at_hand(errand: Errand, world: World) -> Sequence[Outcome | None]:
    if errand.question.home_unknown:
        return [None]
    inquiries = errand.question.inquiries
    kept: Mapping[str, Kept] = {}
    if errand.question.strategy in CACHE_FIRST:
        kept = await world.cache.read([inquiry.key for inquiry in inquiries])
    return [_at_hand(errand, inquiry, kept, world) for inquiry in inquiries]


def _at_hand(
    errand: Errand, inquiry: Inquiry, kept: Mapping[str, Kept], world: World
) -> Outcome | None:
    """What can be said without asking anybody, or None."""
    plan = _plan(errand, inquiry, kept, errand.at_ms)
    if isinstance(plan, Serve):
        return _from_cache(plan.kept)
    edition = world.sources.edition(inquiry.subject)
    if (said := world.recent.get(inquiry.key, edition)) is not None:
        return said
    answer = world.sources.at_hand(inquiry)
    if isinstance(answer, Found):
        body = errand.operation.encode(inquiry, answer.record)
        delivered = Delivered(body, "online", answer.source, to_ms(answer.as_of))
        world.recent.put(inquiry.key, edition, delivered)
        return delivered
    if isinstance(answer, Absent):
        return Nothing(answer.source)
    return None


def _plan(errand: Errand, inquiry: Inquiry, kept: Mapping[str, Kept], now_ms: int) -> Serve | Ask:
    entry = kept.get(inquiry.key)
    if entry is None:
        return Ask(None)
    return errand.operation.plan(errand.question, inquiry, entry, now_ms)


def _from_cache(kept: Kept) -> Delivered:
    return Delivered(kept.body, "cache", kept.source, kept.asked_ms)


async def _all(asking: Sequence[Coroutine[None, None, Outcome]]) -> Sequence[Outcome]:
    """All of them at once; most lookups have one, which needs no task of its own."""
    return [await asking[0]] if len(asking) == 1 else await asyncio.gather(*asking)


async def _ready(outcome: Outcome) -> Outcome:
    return outcome
