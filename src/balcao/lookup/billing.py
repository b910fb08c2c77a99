"""Billing of a lookup at the desk: holds and charges credits, records answers under their keys.

`docs/life-of-a-lookup.md` describes how each step is recovered when the process dies.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence

import msgspec

from balcao.core import idempotency
from balcao.core.budgets import OverBudget, OwnerKind, iso_instant
from balcao.core.calendar import HOUR_MS
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cpf
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    CeilingOfBatch,
    CeilingOfClient,
    CeilingOfKey,
    CeilingOfRequest,
    CeilingOfWallet,
    CeilingReached,
    CommitUncertain,
    InsufficientCredits,
    ResultExpired,
    StillRunning,
    StorageFailed,
)
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import (
    Bind,
    Change,
    Charge,
    Finish,
    Hold,
    InsufficientFunds,
    KeepReceipt,
    KeyBound,
    Origin,
    Refusal,
    RowGone,
    Settle,
    Trace,
    Unbind,
)
from balcao.core.outcomes import Conclusion, Outcome, Reply, reply_of
from balcao.core.tariff import ERROR
from balcao.lookup import traces
from balcao.lookup.context import LookupContext
from balcao.lookup.observing import observations_of
from balcao.operations import envelope
from balcao.storage.engine import Attempt
from balcao.storage.group_commit import Callback


class Billing:
    """Bills one request: either `charge`, or `hold` and then `settle` or `release`."""

    __slots__ = ("_context", "_desk", "_parts")

    def __init__(self, context: LookupContext) -> None:
        self._context = context
        self._parts = context.parts
        self._desk = context.parts.desk

    async def replay(self) -> Reply | None:
        """Return the answer recorded under the request's key, if there is one.

        Raises the error of a key that permits neither replay nor execution (contract 6.2, 6.3).
        """
        key_digest = self._context.key_digest
        if key_digest is None:
            return None
        return self.replay_of(await self._desk.find_attempt(*self._attempt(key_digest)))

    def find_attempt_nowait(self, key_digest: str, on_found: Callback[Attempt]) -> None:
        """Look up what is recorded under the request's key; for `replay_of`, without awaiting."""
        self._desk.find_attempt_nowait(*self._attempt(key_digest), on_found)

    def _attempt(self, key_digest: str) -> tuple[int, str, int]:
        """Return the account, its key, and an instant before which keys have surely expired.

        Otherwise a repetition would be charged.
        """
        context, safe_past_ms = self._context, self._parts.safe_past_ms
        past_ms = context.at_ms if safe_past_ms is None else safe_past_ms()
        return context.caller.account_id, key_digest, past_ms

    def replay_of(self, attempt: Attempt) -> Reply | None:
        """Return the answer recorded in what was found under the request's key; see `replay`."""
        if attempt is None:
            return None
        context = self._context
        fingerprint = context.operation.fingerprint(context.question)
        deadline_ms = self._parts.deadline_ms
        recorded = idempotency.admit(attempt, fingerprint, context.at_ms, deadline_ms)
        if recorded is None:
            return None
        if not context.operation.still_valid(recorded.body, context.at_ms):
            raise ResultExpired
        return Reply(
            recorded.request_id,
            recorded.status,
            recorded.body,
            credits=0,
            origin=None if recorded.fresh_ms is None else "cache",
            asked_ms=recorded.fresh_ms,
            code=None if recorded.status == 200 else envelope.error_code(recorded.body),
            retry_after_seconds=attempt.replay_wait_seconds(context.at_ms),
            replayed=True,
        )

    async def charge(self, conclusion: Conclusion, outcomes: Sequence[Outcome]) -> Reply:
        """Post the price in one step and record the answer under its key.

        `outcomes`: of which it was concluded, for the account's watched subjects.

        Raises `CeilingOfRequest`, `InsufficientCredits`, `CeilingReached`, `StillRunning`.
        """
        reply, changes = self.prepare_charge(conclusion, outcomes, self._parts.now_ms())
        if changes and (declined := await self._desk.commit(changes)) is not None:
            return await self.resolve_refusal(declined)
        return reply

    def prepare_charge(
        self, conclusion: Conclusion, outcomes: Sequence[Outcome], now_ms: int
    ) -> tuple[Reply, Sequence[Change]]:
        """Return the reply, and the changes to commit before it is sent (none if it is free).

        `now_ms`: when it was concluded, of these outcomes. Raises `CeilingOfRequest`.
        """
        context = self._context
        if context.credits_max is not None:
            self._check_credits_max(conclusion.credits)
        reply = reply_of(context.request_id, conclusion)
        observed: Sequence[Change] = ()
        if context.is_observed:
            observed = observations_of(context, conclusion, outcomes, now_ms)
        if context.key_digest is None and conclusion.credits:  # the most frequent case
            charge = traces.traced_charge(context, conclusion, now_ms)
            named = self._named_receipt(conclusion)
            if not named and context.hooks is None:
                return reply, (charge, *observed)
            return reply, (charge, *named, *self._row_change(reply), *observed)
        changes: list[Change] = []
        if conclusion.credits:
            assert conclusion.origin is not None
            price = conclusion.credits, conclusion.rule, conclusion.origin
            posted = Charge(*self._identity(), *price, context.at_ms, *self._marks())
            if context.tags.of_wallet:
                posted = msgspec.structs.replace(posted, of_wallet=True)
            changes.append(posted)
        changes += self._named_receipt(conclusion)
        changes += self._finish(reply)
        changes += self._row_change(reply)
        keyed = context.key_digest is not None
        trace = traces.conclusion_trace(context, conclusion, now_ms, with_summary=keyed)
        if not changes and not observed:  # the reply need not wait for the trace
            self._note(trace)
            return reply, ()
        return reply, [*changes, trace, *observed]

    async def hold(self) -> Reply | None:
        """Hold the operation's greatest price and bind the key, in one commit (contract 5.1).

        Returns a reply if the same request was finished meanwhile. Raises `CeilingOfRequest`,
        `InsufficientCredits`, `CeilingReached`, `StillRunning`.
        """
        context = self._context
        greatest_price = context.operation.greatest_price(context.question)
        self._check_credits_max(greatest_price)
        hold = Hold(
            *self._identity(),
            greatest_price,
            context.at_ms,
            *self._marks(),
            of_wallet=context.tags.of_wallet,
        )
        try:
            declined = await self._desk.commit([hold, *self._bind(greatest_price)])
        except CommitUncertain:  # no other process releases the holds of a living one
            self._release_later(self._unbind())
            raise
        return None if declined is None else await self.resolve_refusal(declined)

    async def settle(self, conclusion: Conclusion, outcomes: Sequence[Outcome] = ()) -> Reply:
        """Charge the price, release the rest of the hold, and record the answer under its key.

        `outcomes`: of which it was concluded, for the account's watched subjects.
        """
        reply = reply_of(self._context.request_id, conclusion)
        settled = self._settled(conclusion.credits, conclusion.rule, conclusion.origin)
        changes: list[Change] = [settled, *self._named_receipt(conclusion), *self._finish(reply)]
        changes += self._row_change(reply)
        now_ms = self._parts.now_ms()
        changes.append(
            traces.conclusion_trace(self._context, conclusion, now_ms, with_summary=True)
        )
        if self._context.is_observed:
            changes += observations_of(self._context, conclusion, outcomes, now_ms)
        await self._end(changes, self._finish_with_failure)
        return reply

    async def release(self) -> None:
        """Release the hold and unbind the key, of a request that is refused after its hold."""
        await self._end([self._settled(), *self._unbind()], self._unbind)

    def refusal(self, error: Exception) -> Conclusion:
        """Return the reply to an error, in the operation's own form."""
        document, operation = self._context.question.document, self._context.operation
        return envelope.refusal(error, document.text, operation.error_fields)

    def note_refused(self, error: CallerError) -> None:
        """Write the trace of a refused, uncharged request in the background."""
        self._note(traces.refusal_trace(self._context, error))

    def _check_credits_max(self, credits: int) -> None:
        """Raise `CeilingOfRequest` if the caller's maximum is lower (contract 10.2)."""
        credits_max = self._context.credits_max
        if credits_max is not None and credits > credits_max:
            raise CeilingOfRequest(credits, credits_max)

    async def resolve_refusal(self, declined: Refusal) -> Reply:
        """Return the replay if a concurrent request bound the key; else raise the refusal."""
        if isinstance(declined, KeyBound):
            if (replayed := await self.replay()) is not None:
                return replayed
            raise StillRunning(idempotency.COMMIT_SECONDS)
        raise error_for(declined)

    async def _end(
        self, changes: Sequence[Change], otherwise: Callable[[], Sequence[Change]]
    ) -> None:
        """Commit the settlement of a hold. `otherwise`: the key's changes if that fails."""
        try:
            declined = await self._desk.commit(changes)
        except CommitUncertain:  # a retry with this key must be possible if nothing was charged
            self._release_later(self._unbind())
            raise
        except StorageFailed:
            self._release_later(otherwise())
            raise
        if declined is not None:
            # The hold was released elsewhere, or the key expired and was bound by another request.
            # An answer that was not charged or not recorded is not sent, and costs nothing.
            self._release_later(())
            raise StorageFailed(f"not settled: {type(declined).__name__}")

    def _release_later(self, key_changes: Sequence[Change]) -> None:
        _run_in_background(self._release_hold(key_changes), self._parts.releasing)

    async def _release_hold(self, key_changes: Sequence[Change]) -> None:
        """Void the hold, if there is one, as soon as the storage can write again."""
        while True:
            await asyncio.sleep(self._parts.release_retry_seconds)
            try:
                declined = await self._desk.commit([self._settled(), *key_changes])
            except StorageFailed:
                continue
            if not isinstance(declined, KeyBound | RowGone):
                return
            key_changes = ()  # another request bound the key meanwhile

    def _note(self, trace: Trace) -> None:
        _run_in_background(self._commit_trace(trace), self._parts.writing_traces)

    async def _commit_trace(self, trace: Trace) -> None:
        with contextlib.suppress(StorageFailed):  # a trace may be lost: it moves no credits
            await self._desk.commit([trace])

    # Single changes. Those of the key are empty without an Idempotency-Key.

    def _identity(self) -> tuple[int, int | None, str, str]:
        context, caller = self._context, self._context.caller
        return caller.account_id, caller.key_id, context.request_id, context.operation.path

    def _marks(self) -> tuple[str | None, str | None, str | None]:
        tags = self._context.tags
        return tags.client, tags.reference, tags.batch_id

    def _settled(self, credits: int = 0, rule: str = ERROR, origin: Origin | None = None) -> Change:
        """Return the change that settles the hold: a charge, or a release if it is free."""
        account_id, request_id = self._context.caller.account_id, self._context.request_id
        return Settle(account_id, request_id, credits, rule, origin, self._parts.now_ms())

    def _named_receipt(self, conclusion: Conclusion) -> Sequence[Change]:
        """Return the record of the answer's receipt, to be committed with its charge."""
        receipt, context = conclusion.receipt, self._context
        if receipt is None or self._desk.has_recorded(receipt.receipt_id):
            return ()
        person, pepper = context.question.document, self._parts.receipt_numbers.pepper
        return (
            KeepReceipt(
                receipt.receipt_id,
                receipt.account_id,
                context.operation.path,
                receipt.digest,
                receipt.media_type,
                receipt.size_bytes,
                context.at_ms,
                document_hash(pepper, person.text) if isinstance(person, Cpf) else None,
                receipt.cnpj,
            ),
        )

    def _row_change(self, reply: Reply) -> Sequence[Change]:
        """Return the batch row's change for an answer, if the lookup has hooks."""
        hooks = self._context.hooks
        return () if hooks is None else (hooks.on_answer(reply, self._parts.now_ms()),)

    def _bind(self, held: int) -> Sequence[Change]:
        """Return the change that marks the request as running: of its batch row or its key."""
        context, account_id = self._context, self._context.caller.account_id
        if context.hooks is not None:
            return (context.hooks.on_hold(context.request_id, held, context.at_ms),)
        if context.key_digest is None:
            return ()
        request_id, (fingerprint, at_ms, expires_ms) = context.request_id, self._binding()
        return (Bind(account_id, context.key_digest, fingerprint, request_id, at_ms, expires_ms),)

    def _unbind(self) -> Sequence[Change]:
        context, account_id = self._context, self._context.caller.account_id
        now_ms = self._parts.now_ms()
        if context.hooks is not None:
            return (context.hooks.on_release(context.request_id, now_ms),)
        if context.key_digest is None:
            return ()
        return (Unbind(account_id, context.key_digest, context.request_id, now_ms),)

    def _finish(self, reply: Reply) -> Sequence[Change]:
        context, account_id = self._context, self._context.caller.account_id
        if context.key_digest is None:
            return ()
        fresh_ms = reply.asked_ms if reply.origin == "cache" else context.at_ms
        if reply.origin is None:
            fresh_ms = None
        recorded = RecordedAnswer(reply.request_id, reply.status, reply.body, fresh_ms)
        fingerprint, at_ms, expires_ms = self._binding()
        return (Finish(account_id, context.key_digest, fingerprint, recorded, at_ms, expires_ms),)

    def _binding(self) -> tuple[str, int, int]:
        """Return the request's fingerprint, and the begin and end of the key's validity."""
        context = self._context
        person = context.caller.user_id is not None
        hours = self._parts.result_hours if person else self._parts.idempotency_hours
        expires_ms = context.at_ms + hours * HOUR_MS
        return context.operation.fingerprint(context.question), context.at_ms, expires_ms

    def _finish_with_failure(self) -> Sequence[Change]:
        """Return the changes that let the key replay a 503, or reopen the batch row."""
        if self._context.hooks is not None:
            return self._unbind()
        failure = self.refusal(StorageFailed())
        return self._finish(reply_of(self._context.request_id, failure))


def error_for(declined: Refusal) -> BalcaoError:
    """Return the error for a refused commit other than a bound key."""
    match declined:
        case InsufficientFunds(needed, available):
            return InsufficientCredits(needed, available)
        case OverBudget(kind, ceiling, used, held, needed, back_ms):
            return _CEILINGS[kind](ceiling, used, held, needed, iso_instant(back_ms))
        case _:
            return StorageFailed(f"not kept: {type(declined).__name__}")


_CEILINGS: Mapping[OwnerKind, type[CeilingReached]] = {
    "chave": CeilingOfKey,
    "lote": CeilingOfBatch,
    "carteira": CeilingOfWallet,
    "cliente": CeilingOfClient,
}


def _run_in_background(
    work: Coroutine[None, None, None], running: set["asyncio.Task[None]"]
) -> None:
    """Start a task and keep it in `running`: the event loop has only weak references to it."""
    task = asyncio.create_task(work)
    running.add(task)
    task.add_done_callback(running.discard)
