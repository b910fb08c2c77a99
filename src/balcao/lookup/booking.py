"""The desk's side of a lookup: credits held and posted, answers recorded under their keys.

What dies with the process between two of these steps, and how it is put right, is told in
`docs/life-of-a-lookup.md`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence

from balcao.core import idempotency
from balcao.core.budgets import OverBudget, OwnerKind, instant
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
from balcao.core.idempotency import Recorded
from balcao.core.ledger import (
    Bind,
    Change,
    Charge,
    Finish,
    Hold,
    KeepReceipt,
    KeyBound,
    Origin,
    Refusal,
    RowGone,
    Settle,
    Short,
    Trace,
    Unbind,
)
from balcao.core.outcomes import Conclusion, Reply, reply_of
from balcao.core.tariff import ERROR
from balcao.lookup import traces
from balcao.lookup.context import LookupContext
from balcao.operations import envelope


class Booking:
    """One request at the desk: either `charge`, or `hold` and then `settle` or `release`."""

    __slots__ = ("_context", "_desk", "_parts")

    def __init__(self, context: LookupContext) -> None:
        self._context = context
        self._parts = context.parts
        self._desk = context.parts.desk

    async def replay(self) -> Reply | None:
        """The answer this very request was given before. Raises what forbids both (6.2, 6.3)."""
        context = self._context
        if context.key_digest is None:
            return None
        # A key is forgotten when it has surely run out: else the same would be paid twice.
        surely_past_ms = self._parts.surely_past_ms
        past_ms = context.at_ms if surely_past_ms is None else surely_past_ms()
        attempt = await self._desk.earlier(context.caller.account_id, context.key_digest, past_ms)
        fingerprint = context.operation.fingerprint(context.question)
        deadline_ms = self._parts.deadline_ms
        recorded = idempotency.admit(attempt, fingerprint, context.at_ms, deadline_ms)
        if attempt is None or recorded is None:
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
            code=None if recorded.status == 200 else envelope.code_told(recorded.body),
            retry_after_seconds=attempt.replay_wait_seconds(context.at_ms),
            replayed=True,
        )

    async def charge(self, conclusion: Conclusion) -> Reply:
        """Post the price in one step and record the answer under its key.

        Raises `CeilingOfRequest`, `InsufficientCredits`, `CeilingReached`, `StillRunning`.
        """
        reply, changes = self.charging(conclusion, self._parts.now_ms())
        if changes and (declined := await self._desk.commit(changes)) is not None:
            return await self._declined(declined)
        return reply

    def charging(self, conclusion: Conclusion, now_ms: int) -> tuple[Reply, Sequence[Change]]:
        """The reply, and what has to be committed before it is sent; nothing, where it is free.

        `now_ms`: when it was concluded. Raises `CeilingOfRequest`.
        """
        context = self._context
        if context.credits_max is not None:
            self._bear(conclusion.credits)
        reply = reply_of(context.request_id, conclusion)
        if context.key_digest is None and conclusion.credits:  # most often
            charge = traces.traced_charge_of(context, conclusion, now_ms)
            named = self._named_receipt(conclusion)
            if not named and context.errand is None:
                return reply, (charge,)
            return reply, (charge, *named, *self._errand_done(reply))
        changes: list[Change] = []
        if conclusion.credits:
            assert conclusion.origin is not None
            price = conclusion.credits, conclusion.rule, conclusion.origin
            changes.append(Charge(*self._whose(), *price, context.at_ms, *self._marks()))
        changes += self._named_receipt(conclusion)
        changes += self._finish(reply)
        changes += self._errand_done(reply)
        keyed = context.key_digest is not None
        trace = traces.of_conclusion(context, conclusion, now_ms, with_gist=keyed)
        if not changes:  # nothing that anybody would have to wait for
            self._note(trace)
            return reply, ()
        changes.append(trace)
        return reply, changes

    async def hold(self) -> Reply | None:
        """Hold the greatest price of the path and take the key, in one commit (contract 5.1).

        Raises `CeilingOfRequest`, `InsufficientCredits`, `CeilingReached`, `StillRunning`. A reply:
        somebody finished this very request a moment ago.
        """
        context = self._context
        greatest_price = context.operation.greatest_price(context.question)
        self._bear(greatest_price)
        hold = Hold(*self._whose(), greatest_price, context.at_ms, *self._marks())
        try:
            declined = await self._desk.commit([hold, *self._bind(greatest_price)])
        except CommitUncertain:  # this process lives on, so no other would ever give it back
            self._give_back_soon(self._unbind())
            raise
        return None if declined is None else await self._declined(declined)

    async def settle(self, conclusion: Conclusion) -> Reply:
        """Post the price of what is held, free the rest, and record the answer under its key."""
        reply = reply_of(self._context.request_id, conclusion)
        settled = self._settled(conclusion.credits, conclusion.rule, conclusion.origin)
        changes = [settled, *self._named_receipt(conclusion), *self._finish(reply)]
        changes += self._errand_done(reply)
        now_ms = self._parts.now_ms()
        changes.append(traces.of_conclusion(self._context, conclusion, now_ms, with_gist=True))
        await self._end(changes, self._finish_with_failure)
        return reply

    async def release(self) -> None:
        """Give back what is held and let go of the key: the request was refused after all."""
        await self._end([self._settled(), *self._unbind()], self._unbind)

    def refusal(self, error: Exception) -> Conclusion:
        """What the caller is told of an error, in the operation's own form."""
        document, operation = self._context.question.document, self._context.operation
        return envelope.refusal(error, document.text, operation.error_fields)

    def note_refused(self, error: CallerError) -> None:
        """Remember a request that was refused, and charged nothing. Nobody waits for it."""
        self._note(traces.of_refusal(self._context, error))

    def _bear(self, credits: int) -> None:
        """Raises `CeilingOfRequest` where the caller wants to pay less (contract 10.2)."""
        credits_max = self._context.credits_max
        if credits_max is not None and credits > credits_max:
            raise CeilingOfRequest(credits, credits_max)

    async def _declined(self, declined: Refusal) -> Reply:
        """The commit was refused: too few credits, or somebody took the key a moment ago."""
        if isinstance(declined, KeyBound):
            if (replayed := await self.replay()) is not None:
                return replayed
            raise StillRunning(idempotency.COMMIT_SECONDS)
        raise told_of(declined)

    async def _end(
        self, changes: Sequence[Change], otherwise: Callable[[], Sequence[Change]]
    ) -> None:
        """Commit the end of what is held; `otherwise` becomes of the key if that cannot be."""
        try:
            declined = await self._desk.commit(changes)
        except CommitUncertain:  # the caller comes again with this key: it is free, if not charged
            self._give_back_soon(self._unbind())
            raise
        except StorageFailed:
            self._give_back_soon(otherwise())
            raise
        if declined is not None:
            # The hold was given back behind our back, or the key ran out and somebody took it:
            # what is not charged or not recorded is not handed out, and costs nothing.
            self._give_back_soon(())
            raise StorageFailed(f"not settled: {type(declined).__name__}")

    def _give_back_soon(self, of_the_key: Sequence[Change]) -> None:
        _keep_until_done(self._give_back(of_the_key), self._parts.giving_back)

    async def _give_back(self, of_the_key: Sequence[Change]) -> None:
        """Void the hold as soon as the storage can write again, if it is there."""
        while True:
            await asyncio.sleep(self._parts.give_back_every_seconds)
            try:
                declined = await self._desk.commit([self._settled(), *of_the_key])
            except StorageFailed:
                continue
            if not isinstance(declined, KeyBound | RowGone):
                return
            of_the_key = ()  # somebody took it meanwhile: theirs

    def _note(self, trace: Trace) -> None:
        _keep_until_done(self._commit_trace(trace), self._parts.noting)

    async def _commit_trace(self, trace: Trace) -> None:
        with contextlib.suppress(StorageFailed):  # it is no money
            await self._desk.commit([trace])

    # The single changes; those of the key are none where no key was sent.

    def _whose(self) -> tuple[int, int | None, str, str]:
        context, caller = self._context, self._context.caller
        return caller.account_id, caller.key_id, context.request_id, context.operation.path

    def _marks(self) -> tuple[str | None, str | None, str | None]:
        marks = self._context.marks
        return marks.client, marks.reference, marks.batch_id

    def _settled(self, credits: int = 0, rule: str = ERROR, origin: Origin | None = None) -> Change:
        """What is posted of the hold; of no credits it is all given back."""
        account_id, request_id = self._context.caller.account_id, self._context.request_id
        return Settle(account_id, request_id, credits, rule, origin, self._parts.now_ms())

    def _named_receipt(self, conclusion: Conclusion) -> Sequence[Change]:
        """The receipt that the answer names: recorded no later than the charge for it."""
        receipt, context = conclusion.receipt, self._context
        if receipt is None or self._desk.has_recorded(receipt.receipt_id):
            return ()
        person, pepper = context.question.document, self._parts.numbering.pepper
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

    def _errand_done(self, reply: Reply) -> Sequence[Change]:
        """What ends the errand, if it is one."""
        errand = self._context.errand
        return () if errand is None else (errand.ended(reply, self._parts.now_ms()),)

    def _bind(self, held: int) -> Sequence[Change]:
        """The key is taken; or, by an errand, what it is about."""
        context, account_id = self._context, self._context.caller.account_id
        if context.errand is not None:
            return (context.errand.begun(context.request_id, held, context.at_ms),)
        if context.key_digest is None:
            return ()
        request_id, (fingerprint, at_ms, expires_ms) = context.request_id, self._binding()
        return (Bind(account_id, context.key_digest, fingerprint, request_id, at_ms, expires_ms),)

    def _unbind(self) -> Sequence[Change]:
        context, account_id = self._context, self._context.caller.account_id
        now_ms = self._parts.now_ms()
        if context.errand is not None:
            return (context.errand.given_back(context.request_id, now_ms),)
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
        recorded = Recorded(reply.request_id, reply.status, reply.body, fresh_ms)
        fingerprint, at_ms, expires_ms = self._binding()
        return (Finish(account_id, context.key_digest, fingerprint, recorded, at_ms, expires_ms),)

    def _binding(self) -> tuple[str, int, int]:
        """What of, since when and until when the key is bound."""
        context = self._context
        by_hand = context.caller.user_id is not None
        hours = self._parts.result_hours if by_hand else self._parts.idempotency_hours
        expires_ms = context.at_ms + hours * HOUR_MS
        return context.operation.fingerprint(context.question), context.at_ms, expires_ms

    def _finish_with_failure(self) -> Sequence[Change]:
        """The caller is told 503, and that is what the key will replay; an errand is open again."""
        if self._context.errand is not None:
            return self._unbind()
        failure = self.refusal(StorageFailed())
        return self._finish(reply_of(self._context.request_id, failure))


def told_of(declined: Refusal) -> BalcaoError:
    """What the caller is told of a refused commit, no key being bound."""
    match declined:
        case Short(needed, available):
            return InsufficientCredits(needed, available)
        case OverBudget(kind, ceiling, used, held, needed, back_ms):
            return _CEILINGS[kind](ceiling, used, held, needed, instant(back_ms))
        case _:
            return StorageFailed(f"not kept: {type(declined).__name__}")


_CEILINGS: Mapping[OwnerKind, type[CeilingReached]] = {
    "chave": CeilingOfKey,
    "lote": CeilingOfBatch,
    "carteira": CeilingOfWallet,
    "cliente": CeilingOfClient,
}


def _keep_until_done(work: Coroutine[None, None, None], running: set["asyncio.Task[None]"]) -> None:
    """Let it run by itself; the event loop alone would not hold on to it."""
    task = asyncio.create_task(work)
    running.add(task)
    task.add_done_callback(running.discard)
