"""One request on the fast path (`fast_path.py`): its charge or replay, and its answer."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import structlog

from balcao.core.errors import BalcaoError, CallerError
from balcao.core.ledger import Change, KeyBound, Refusal
from balcao.core.outcomes import Reply, reply_of
from balcao.core.rate_limit import Verdict
from balcao.http.wire.cycle import CLOSE, status_line
from balcao.http.write import on_the_wire
from balcao.lookup.available_now import AT_ONCE_BYTES_MAX, AvailableOutcomes, all_available_now
from balcao.lookup.billing import Billing, error_for
from balcao.lookup.context import LookupContext
from balcao.operations import envelope
from balcao.storage.engine import Attempt

if TYPE_CHECKING:
    from balcao.http.fast_path import KnownHead, LookupFastPath, ParsedLine
    from balcao.http.wire.connection import Connection

log = structlog.get_logger()

_OK = status_line(200, "1.1")


class FastRequest(msgspec.Struct, gc=False, eq=False):
    """One request on the fast path, and its answer."""

    fast_path: "LookupFastPath"
    connection: "Connection"
    raw: bytes
    head: "KnownHead"
    asked: "ParsedLine"
    started: float
    context: LookupContext
    available: AvailableOutcomes | None = None  # None: not read yet, or it is a replay
    verdicts: Sequence[Verdict] = ()
    reply: Reply | None = None
    declined: bool = False
    waits: bool = False  # `try_answer` has returned, and the connection waits

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # it contains a key

    def begin(self) -> None:
        """Charge an available answer, or send a recorded one again; decline if there is neither."""
        key_digest = self.context.key_digest
        if key_digest is None:
            self._on_attempt(None)
        else:
            Billing(self.context).find_attempt_nowait(key_digest, self._on_attempt)

    def _on_attempt(self, attempt: Attempt | Exception) -> None:
        """Continue with what was found under the request's Idempotency-Key."""
        try:
            changes = None if isinstance(attempt, Exception) else self._prepare(attempt)
        except Exception:  # a refusal or a bug: `Front` reports it, since there was no effect yet
            changes = None
        if changes is None:
            self._decline()
            return
        authenticator, context = self.fast_path.front.authenticator, self.context
        authenticator.pay_soon(context.caller, context.at_ms, changes, self.paid)

    def _prepare(self, attempt: Attempt) -> Sequence[Change] | None:
        """Return the changes to commit while the limits are counted; None: leave it to `Front`.

        There are none if the answer is a replay, free, or also needs the company, which is read
        after the limits.
        """
        context = self.context
        if attempt is not None:
            self.reply = Billing(context).replay_of(attempt)
            return None if self.reply is None or _is_long(self.reply) else ()
        answer = context.answer_about
        if answer is not None and not context.parts.received.remembers(answer):
            return None  # about a person: `Front` checks whether the cache may be read
        self.available = available = all_available_now(context)
        if available is None:
            return None
        if available.company is not None:
            return ()
        conclusion = available.conclude(context)
        if not conclusion.credits:
            return ()
        self.reply, changes = Billing(context).prepare_charge(
            conclusion, available.outcomes, context.at_ms
        )
        return changes

    def paid(self, verdicts: Sequence[Verdict] | None, outcome: Refusal | Exception | None) -> None:
        """Handle the outcome of limits and charge (`OnCharged`); charge now if not done before."""
        if verdicts is None:
            self._decline()
            return
        self.verdicts = verdicts
        available = self.available
        if available is not None and (self.reply is not None or outcome is not None):
            self._on_charged(outcome)
            return
        context = self.context
        try:
            if available is not None:
                conclusion = available.conclude(context)
                self.reply, changes = Billing(context).prepare_charge(
                    conclusion, available.outcomes, context.at_ms
                )
                if changes:
                    context.parts.desk.commit_nowait(changes, self._on_charged)
                    return
        except Exception as error:
            self.reply = self._refusal(error)
        asyncio.get_running_loop().call_soon(self._on_charged, None)

    def _decline(self) -> None:
        self.declined = True
        if self.waits:
            self.connection.fall_back(self.raw)

    def _on_charged(self, outcome: Refusal | Exception | None) -> None:
        """Answer, once the charge is durable, was refused, or could not be written."""
        if isinstance(outcome, KeyBound):
            self._resolve(outcome)
            return
        try:
            reply = self.reply
            if outcome is not None or reply is None:
                reply = self._refusal(outcome)
            context, connection, head = self.context, self.connection, self.head
            if self.available is not None and self.available.finished:
                self.fast_path.finished_use.add(context, self.available.finished)
            keep_alive = head.keep_alive and not connection.ending
            common = connection.server.common_lines
            more = common if keep_alive else CLOSE + common
            start = _OK if reply.status == 200 else status_line(reply.status, "1.1")
            # It contains no input but the tags, which were checked.
            text = on_the_wire(
                start,
                reply,
                self.verdicts,
                context.at_ms,
                more,
                tags=head.tags,
                gzipped=head.gzip,
            )
            connection.finish(text, keep_alive=keep_alive)
            seconds = time.perf_counter() - self.started
            self.fast_path.note(context.caller, self.asked.operation.path, reply, seconds)
        except Exception:  # a bug, which the caller logs; the client would wait forever
            self.connection.abort("")
            raise

    def _resolve(self, bound: KeyBound) -> None:
        """Answer as the request that has bound the key meanwhile; it is rarely needed."""
        running = self.context.parts.running
        task = asyncio.get_running_loop().create_task(Billing(self.context).resolve_refusal(bound))
        running.add(task)
        task.add_done_callback(running.discard)
        task.add_done_callback(self._on_resolved)

    def _on_resolved(self, task: "asyncio.Task[Reply]") -> None:
        if task.cancelled():  # the service ends
            self.connection.abort("")
            return
        error = task.exception()
        if error is None:
            self.reply = task.result()
        self._on_charged(error if isinstance(error, Exception) else None)

    def _refusal(self, outcome: Refusal | Exception | None) -> Reply:
        """Return the reply of `Front` to a lookup that was refused after limits were counted."""
        asked, context = self.asked, self.context
        error = error_for(outcome) if isinstance(outcome, Refusal) else outcome
        assert error is not None
        if isinstance(error, CallerError):
            Billing(context).note_refused(error)
        elif not isinstance(error, BalcaoError):
            log.error("request.bug", request_id=context.request_id, exc_info=error)
        refusal = envelope.refusal(error, asked.rest, asked.operation.error_fields)
        return reply_of(context.request_id, refusal)


def _is_long(reply: Reply) -> bool:
    """Return whether an answer is left to `Front`, which sends it in pieces."""
    return len(reply.body) > AT_ONCE_BYTES_MAX
