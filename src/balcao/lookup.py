"""One lookup, from question to reply. Read this file first.

It decides nothing by itself: `core` and `subjects` decide, `sources` and `storage` do. What
happens when a process dies between two steps is told in `docs/life-of-a-lookup.md`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec
import structlog

from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.calendar import HOUR_MS, to_ms
from balcao.core.freshness import CACHE_FIRST, Ask, Kept, Serve, decide
from balcao.core.idempotency import Recorded
from balcao.core.ledger import Bind, Change, Charge, Finish, Hold, KeyBound, Refusal, Settle, Short
from balcao.core.outcomes import Conclusion, Delivered, Failed, Nothing, Outcome, Reply, reply_of
from balcao.core.questions import Inquiry, Mode, Question
from balcao.errors import InsufficientCredits, SourceError, StillRunning, StorageFailed
from balcao.gate import Gate
from balcao.recent import Recent
from balcao.sources.asking import Sources, UnderWay
from balcao.sources.contract import Absent, Found
from balcao.storage.contract import Cache, Desk
from balcao.subjects import OPERATIONS, envelope
from balcao.subjects.contract import Operation

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class World:
    """Where answers come from: the configured sources for live accounts, the sandbox for test
    ones, each with cache entries of its own. Nothing below knows which of the two it is in."""

    cache: Cache
    sources: Sources
    recent: Recent = field(default_factory=Recent)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a lookup needs, handed in by `compose`."""

    desk: Desk
    worlds: Mapping[Mode, World]
    now_ms: Callable[[], int]
    idempotency_hours: int
    deadline_ms: int  # all sources together; then an execution settles
    gate: Gate
    give_back_every_seconds: float = 5.0  # holds that a full disk kept from being settled
    running: set["asyncio.Task[Reply]"] = field(default_factory=set)
    giving_back: set["asyncio.Task[None]"] = field(default_factory=set)


class Errand(msgspec.Struct, frozen=True):
    """One request on its way through the house."""

    question: Question
    operation: Operation
    caller: Caller
    request_id: str
    key_digest: str | None  # of the Idempotency-Key, if one was sent
    at_ms: int


async def look_up(
    question: Question, caller: Caller, request_id: str, key: str | None, parts: Parts
) -> Reply:
    """Answer one question and charge for it, once.

    Raises `CallerError` for what refuses the request before anything was done (409, 400 for a
    reused key, 402) and `StorageFailed` when the desk cannot write. A source's failure is a
    reply like any other, recorded under the idempotency key (decisions 6.2).
    """
    now = parts.now_ms()
    operation = OPERATIONS[question.subject]
    key_digest = None if key is None else idempotency.digest(key)
    errand = Errand(question, operation, caller, request_id, key_digest, now)

    # 1  Was this very request answered before?
    if (recorded := _earlier(errand, parts)) is not None:
        return _replay(recorded)

    # 2  What do we keep, in the cache and in our own copies?  3  May it be served?
    world = parts.worlds[caller.mode]
    at_hand = [_at_hand(errand, inquiry, world) for inquiry in question.inquiries]

    # 4  Everything is at hand: the charge and the answer are one commit.
    known = [outcome for outcome in at_hand if outcome is not None]
    if len(known) == len(at_hand):
        return await _answer_at_once(errand, operation.conclude(question, known), parts)

    # 5 to 7 go on to their end even when the caller hangs up (decisions 5.5).
    task = asyncio.create_task(_ask_and_settle(errand, at_hand, world, parts))
    parts.running.add(task)
    task.add_done_callback(partial(_done, parts))
    return await asyncio.shield(task)


def _done(parts: Parts, task: "asyncio.Task[Reply]") -> None:
    parts.running.discard(task)
    if not task.cancelled():
        task.exception()  # seen, also when nobody waits for it any more


async def _answer_at_once(errand: Errand, conclusion: Conclusion, parts: Parts) -> Reply:
    """Post the price in one step and record the answer under its key."""
    reply = reply_of(errand.request_id, conclusion)
    changes: list[Change] = []
    if conclusion.credits:
        assert conclusion.origin is not None
        changes.append(
            Charge(
                errand.caller.account_id,
                errand.caller.key_id,
                errand.request_id,
                errand.operation.path,
                conclusion.credits,
                conclusion.rule,
                conclusion.origin,
                errand.at_ms,
            )
        )
    changes.extend(_finish(errand, reply, parts))
    if changes and (refusal := await parts.desk.commit(changes)) is not None:
        return _refused(errand, refusal, parts)
    return reply


async def _ask_and_settle(
    errand: Errand,
    at_hand: Sequence[Outcome | None],
    world: World,
    parts: Parts,
) -> Reply:
    """Steps 5 to 7, if there is a place among those who wait for sources."""
    with parts.gate.place(errand.caller):
        return await _hold_ask_settle(errand, at_hand, world, parts)


async def _hold_ask_settle(
    errand: Errand,
    at_hand: Sequence[Outcome | None],
    world: World,
    parts: Parts,
) -> Reply:
    """Hold the greatest price, ask, then post the real one or give everything back."""
    # 5  Nobody is asked before the credits are set aside and the key is taken. What is being
    #    asked for somebody else at this moment is asked for us too.
    joining = [world.sources.under_way(inquiry) for inquiry in errand.question.inquiries]
    price = errand.operation.greatest_price(errand.question)
    refusal = await parts.desk.commit([_hold(errand, price), *_bind(errand, parts)])
    if refusal is not None:
        return _refused(errand, refusal, parts)

    try:
        outcomes = await asyncio.gather(
            *(
                _ask(errand, inquiry, flight, world) if outcome is None else _ready(outcome)
                for inquiry, flight, outcome in zip(
                    errand.question.inquiries, joining, at_hand, strict=True
                )
            )
        )
        # 6  What is said, and what it costs.
        conclusion = errand.operation.conclude(errand.question, outcomes)
    except Exception as bug:
        log.exception("lookup.bug", operation=errand.operation.path)
        conclusion = envelope.refusal(bug, errand.operation.error_fields)

    # 7  Settle and record in one commit.
    reply = reply_of(errand.request_id, conclusion)
    settle = Settle(
        errand.caller.account_id,
        errand.request_id,
        conclusion.credits,
        conclusion.rule,
        conclusion.origin,
        parts.now_ms(),
    )
    try:
        refusal = await parts.desk.commit([settle, *_finish(errand, reply, parts)])
    except StorageFailed as error:
        giving_back = asyncio.create_task(_give_back(errand, error, parts))
        parts.giving_back.add(giving_back)
        giving_back.add_done_callback(parts.giving_back.discard)
        raise
    if refusal is not None:  # the hold was given back behind our back: do not hand out for free
        raise StorageFailed("hold gone")
    return reply


async def _give_back(errand: Errand, error: StorageFailed, parts: Parts) -> None:
    """Void the hold as soon as the storage can write again; the caller was told 503."""
    reply = reply_of(errand.request_id, envelope.refusal(error, errand.operation.error_fields))
    while True:
        await asyncio.sleep(parts.give_back_every_seconds)
        void = Settle(errand.caller.account_id, errand.request_id, 0, "erro", None, parts.now_ms())
        try:
            await parts.desk.commit([void, *_finish(errand, reply, parts)])
        except StorageFailed:
            continue
        return


async def _ask(errand: Errand, inquiry: Inquiry, joining: UnderWay | None, world: World) -> Outcome:
    """Ask the sources about one inquiry; keep what they say; fall back where that is allowed."""
    try:
        answer = await world.sources.ask(inquiry, joining)
    except SourceError as error:
        match _plan(errand, inquiry, world):
            case Serve(kept) | Ask(kept) if kept is not None:
                return _from_cache(kept)
            case _:
                return Failed(error)
    if isinstance(answer, Absent):
        return Nothing(answer.source)
    body = errand.operation.encode(inquiry, answer.record)
    asked_ms = to_ms(answer.as_of)
    if not answer.local:
        world.cache.keep([(inquiry.key, Kept(body, asked_ms, answer.source))])
    return Delivered(body, "online", answer.source, asked_ms)


def _at_hand(errand: Errand, inquiry: Inquiry, world: World) -> Outcome | None:
    """What can be said without asking anybody, or None."""
    if errand.question.strategy in CACHE_FIRST:
        plan = _plan(errand, inquiry, world)
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


def _plan(errand: Errand, inquiry: Inquiry, world: World) -> Serve | Ask:
    question = errand.question
    return decide(
        world.cache.read(inquiry.key),
        question.strategy,
        question.max_age_days,
        errand.at_ms,
        error_fallback=question.error_fallback,
    )


def _from_cache(kept: Kept) -> Delivered:
    return Delivered(kept.body, "cache", kept.source, kept.asked_ms)


async def _ready(outcome: Outcome) -> Outcome:
    return outcome


def _hold(errand: Errand, credits: int) -> Hold:
    return Hold(
        errand.caller.account_id,
        errand.caller.key_id,
        errand.request_id,
        errand.operation.path,
        credits,
        errand.at_ms,
    )


# Idempotency: the key is taken with the hold and the answer recorded with the charge.


def _earlier(errand: Errand, parts: Parts) -> Recorded | None:
    if errand.key_digest is None:
        return None
    attempt = parts.desk.earlier(errand.caller.account_id, errand.key_digest, errand.at_ms)
    fingerprint = errand.operation.fingerprint(errand.question)
    return idempotency.admit(attempt, fingerprint, errand.at_ms, parts.deadline_ms)


def _replay(recorded: Recorded) -> Reply:
    return Reply(
        recorded.request_id,
        recorded.status,
        recorded.body,
        credits=0,
        origin=None if recorded.fresh_ms is None else "cache",
        asked_ms=recorded.fresh_ms,
        replayed=True,
    )


def _bind(errand: Errand, parts: Parts) -> Sequence[Bind]:
    if errand.key_digest is None:
        return ()
    fingerprint = errand.operation.fingerprint(errand.question)
    return (
        Bind(
            errand.caller.account_id,
            errand.key_digest,
            fingerprint,
            errand.request_id,
            errand.at_ms,
            errand.at_ms + parts.idempotency_hours * HOUR_MS,
        ),
    )


def _finish(errand: Errand, reply: Reply, parts: Parts) -> Sequence[Finish]:
    if errand.key_digest is None:
        return ()
    fingerprint = errand.operation.fingerprint(errand.question)
    fresh_ms = reply.asked_ms if reply.origin == "cache" else errand.at_ms
    if reply.origin is None:
        fresh_ms = None
    return (
        Finish(
            errand.caller.account_id,
            errand.key_digest,
            fingerprint,
            Recorded(reply.request_id, reply.status, reply.body, fresh_ms),
            errand.at_ms,
            errand.at_ms + parts.idempotency_hours * HOUR_MS,
        ),
    )


def _refused(errand: Errand, refusal: Refusal, parts: Parts) -> Reply:
    """The commit was refused: too few credits, or somebody took the key a moment ago."""
    match refusal:
        case Short(needed, available):
            raise InsufficientCredits(needed, available)
        case KeyBound():
            if (recorded := _earlier(errand, parts)) is not None:
                return _replay(recorded)
            raise StillRunning(idempotency.COMMIT_SECONDS)
        case _:
            raise StorageFailed("hold gone")
