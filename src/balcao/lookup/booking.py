"""The desk's side of a lookup: credits held and posted, answers recorded under their keys.

What dies with the process between two of these steps, and how it is put right, is told in
`docs/life-of-a-lookup.md`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from balcao.core import idempotency
from balcao.core.calendar import HOUR_MS
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cpf
from balcao.core.idempotency import Recorded
from balcao.core.ledger import (
    Bind,
    Change,
    Charge,
    Finish,
    Hold,
    KeepReceipt,
    KeyBound,
    Refusal,
    Settle,
    Short,
    Trace,
    Unbind,
)
from balcao.core.outcomes import Conclusion, Reply, reply_of
from balcao.core.tariff import ERROR
from balcao.errors import InsufficientCredits, ResultExpired, StillRunning, StorageFailed
from balcao.lookup import traces
from balcao.lookup.context import Errand, Parts
from balcao.operations import envelope


def refusal(errand: Errand, error: Exception) -> Conclusion:
    """What the caller is told of an error, in the operation's own form."""
    return envelope.refusal(error, errand.question.document.text, errand.operation.error_fields)


async def earlier(errand: Errand, parts: Parts) -> Reply | None:
    """The answer that this very request was given before. Raises what forbids both (6.2, 6.3)."""
    if errand.key_digest is None:
        return None
    account_id = errand.caller.account_id
    # A key is forgotten when it has surely run out: else the same would be paid twice.
    past_ms = errand.at_ms if parts.surely_past_ms is None else parts.surely_past_ms()
    attempt = await parts.desk.earlier(account_id, errand.key_digest, past_ms)
    fingerprint = errand.operation.fingerprint(errand.question)
    recorded = idempotency.admit(attempt, fingerprint, errand.at_ms, parts.deadline_ms)
    if attempt is None or recorded is None:
        return None
    if not errand.operation.still_valid(recorded.body, errand.at_ms):
        raise ResultExpired
    return Reply(
        recorded.request_id,
        recorded.status,
        recorded.body,
        credits=0,
        origin=None if recorded.fresh_ms is None else "cache",
        asked_ms=recorded.fresh_ms,
        retry_after_seconds=attempt.replay_wait_seconds(errand.at_ms),
        replayed=True,
    )


async def charge(errand: Errand, conclusion: Conclusion, parts: Parts) -> Reply:
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
    changes.extend(_receipt(errand, conclusion, parts))
    changes.extend(_finish(errand, reply, parts))
    trace = traces.of_reply(errand, reply, conclusion, parts)
    if not changes:  # nothing that anybody would have to wait for
        note(trace, parts)
        return reply
    changes.append(trace)
    if (declined := await parts.desk.commit(changes)) is not None:
        return await _declined(errand, declined, parts)
    return reply


def note(trace: Trace, parts: Parts) -> None:
    """Remember a request that has nothing else to commit. Nobody waits for it."""
    noting = asyncio.create_task(_note(trace, parts))
    parts.noting.add(noting)
    noting.add_done_callback(parts.noting.discard)


async def _note(trace: Trace, parts: Parts) -> None:
    with contextlib.suppress(StorageFailed):  # it is no money
        await parts.desk.commit([trace])


async def set_aside(errand: Errand, parts: Parts) -> Reply | None:
    """Hold the greatest price of the path and take the key, in one commit (decisions 5.1).

    Raises `InsufficientCredits`, `StillRunning`. A reply: somebody finished this very request a
    moment ago.
    """
    hold = Hold(
        errand.caller.account_id,
        errand.caller.key_id,
        errand.request_id,
        errand.operation.path,
        errand.operation.greatest_price(errand.question),
        errand.at_ms,
    )
    try:
        declined = await parts.desk.commit([hold, *_bind(errand, parts)])
    except StorageFailed as failed:
        if failed.perhaps_kept:  # we live on, so nobody else would ever give it back
            _give_back_soon(errand, _unbind(errand, parts), parts)
        raise
    return None if declined is None else await _declined(errand, declined, parts)


async def give_up(errand: Errand, parts: Parts) -> None:
    """Give back what is held and let go of the key: the request was refused after all."""
    await _settle(errand, [_void(errand, parts), *_unbind(errand, parts)], _unbind, parts)


async def settle(errand: Errand, conclusion: Conclusion, parts: Parts) -> Reply:
    """Post the price of what is held, free the rest, and record the answer under its key."""
    reply = reply_of(errand.request_id, conclusion)
    posted = Settle(
        errand.caller.account_id,
        errand.request_id,
        conclusion.credits,
        conclusion.rule,
        conclusion.origin,
        parts.now_ms(),
    )
    changes: list[Change] = [posted]
    changes += [*_receipt(errand, conclusion, parts), *_finish(errand, reply, parts)]
    changes.append(traces.of_reply(errand, reply, conclusion, parts))
    await _settle(errand, changes, _record_failure, parts)
    return reply


# What becomes of the key when the storage could not write at the end of an execution.
_KeyAfterwards: TypeAlias = Callable[[Errand, Parts], Sequence[Change]]


def _record_failure(errand: Errand, parts: Parts) -> Sequence[Change]:
    """The caller is told 503, and that is what the key will replay."""
    reply = reply_of(errand.request_id, refusal(errand, StorageFailed()))
    return _finish(errand, reply, parts)


async def _settle(
    errand: Errand, changes: Sequence[Change], afterwards: _KeyAfterwards, parts: Parts
) -> None:
    try:
        declined = await parts.desk.commit(changes)
    except StorageFailed:
        _give_back_soon(errand, afterwards(errand, parts), parts)
        raise
    if declined is not None:
        # The hold was given back behind our back, or the key ran out and somebody took it: what
        # is not charged or not recorded is not handed out, and costs nothing.
        _give_back_soon(errand, (), parts)
        raise StorageFailed(f"not settled: {type(declined).__name__}")


def _give_back_soon(errand: Errand, of_the_key: Sequence[Change], parts: Parts) -> None:
    giving_back = asyncio.create_task(_give_back(errand, of_the_key, parts))
    parts.giving_back.add(giving_back)
    giving_back.add_done_callback(parts.giving_back.discard)


async def _give_back(errand: Errand, of_the_key: Sequence[Change], parts: Parts) -> None:
    """Void the hold as soon as the storage can write again, if it is there."""
    while True:
        await asyncio.sleep(parts.give_back_every_seconds)
        try:
            declined = await parts.desk.commit([_void(errand, parts), *of_the_key])
        except StorageFailed:
            continue
        if not isinstance(declined, KeyBound):
            return
        of_the_key = ()  # somebody took it meanwhile: theirs


def _void(errand: Errand, parts: Parts) -> Settle:
    return Settle(errand.caller.account_id, errand.request_id, 0, ERROR, None, parts.now_ms())


def _receipt(errand: Errand, conclusion: Conclusion, parts: Parts) -> Sequence[KeepReceipt]:
    """The receipt that the answer names: recorded no later than the charge for it."""
    receipt = conclusion.receipt
    if receipt is None:
        return ()
    person, secret = errand.question.document, parts.numbering.secret
    return (
        KeepReceipt(
            receipt.receipt_id,
            receipt.account_id,
            errand.operation.path,
            receipt.digest,
            receipt.media_type,
            receipt.size_bytes,
            errand.at_ms,
            document_hash(secret, person.text) if isinstance(person, Cpf) else None,
        ),
    )


def _unbind(errand: Errand, parts: Parts) -> Sequence[Unbind]:
    if errand.key_digest is None:
        return ()
    account_id = errand.caller.account_id
    return (Unbind(account_id, errand.key_digest, errand.request_id, parts.now_ms()),)


def _bind(errand: Errand, parts: Parts) -> Sequence[Bind]:
    if errand.key_digest is None:
        return ()
    return (
        Bind(
            errand.caller.account_id,
            errand.key_digest,
            errand.operation.fingerprint(errand.question),
            errand.request_id,
            errand.at_ms,
            errand.at_ms + parts.idempotency_hours * HOUR_MS,
        ),
    )


def _finish(errand: Errand, reply: Reply, parts: Parts) -> Sequence[Finish]:
    if errand.key_digest is None:
        return ()
    fresh_ms = reply.asked_ms if reply.origin == "cache" else errand.at_ms
    if reply.origin is None:
        fresh_ms = None
    return (
        Finish(
            errand.caller.account_id,
            errand.key_digest,
            errand.operation.fingerprint(errand.question),
            Recorded(reply.request_id, reply.status, reply.body, fresh_ms),
            errand.at_ms,
            errand.at_ms + parts.idempotency_hours * HOUR_MS,
        ),
    )


async def _declined(errand: Errand, declined: Refusal, parts: Parts) -> Reply:
    """The commit was refused: too few credits, or somebody took the key a moment ago."""
    match declined:
        case Short(needed, available):
            raise InsufficientCredits(needed, available)
        case KeyBound():
            if (replayed := await earlier(errand, parts)) is not None:
                return replayed
            raise StillRunning(idempotency.COMMIT_SECONDS)
        case _:
            raise StorageFailed(f"not kept: {type(declined).__name__}")
