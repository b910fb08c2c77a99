"""The lane: a plain lookup whose answer is at hand goes past the front, without task nor future.

It answers exactly as the front would, or declines before it has done anything (decision 0039).
What it shares with the front it calls: `remembered` keys, `parse`, `all_at_hand`, `charging`,
`on_the_wire`. What is any other kind of request, or in doubt, is the front's.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import BalcaoError, CallerError
from balcao.core.ledger import NO_MARKS, Change, Marks, Refusal
from balcao.core.memo import Doorkeeper, Memo
from balcao.core.outcomes import Reply, reply_of
from balcao.core.questions import Question, Strategy
from balcao.core.rate_limit import Verdict
from balcao.http.front import Front, event_of
from balcao.http.lookup_request import enter, say_whom_for
from balcao.http.read import read
from balcao.http.routes import PREFIX
from balcao.http.wire.exchange import CLOSE, start_of
from balcao.http.wire.head import Head
from balcao.http.write import on_the_wire
from balcao.lookup.at_hand import AtHand, Used, all_at_hand
from balcao.lookup.booking import Booking, told_of
from balcao.lookup.context import LookupContext, context_of
from balcao.observability.metrics import RequestCount
from balcao.operations import envelope
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, MARK_HEADERS, Parameters, read_marks

if TYPE_CHECKING:
    from balcao.http.wire.connection import Connection

log = structlog.get_logger()

# As what may be for a lane begins.
LOOKUPS = b"GET " + PREFIX.encode()
# Nothing escaped: what needs to be undone is the front's.
_LINE = re.compile(
    b"GET (" + PREFIX.encode() + rb"[A-Za-z0-9./-]{1,200})"
    rb"(?:\?([A-Za-z0-9._=&-]{0,200}))? HTTP/1\.1"
)
_HEAD_BYTES_MAX = 2_048
# Who sends one of these wants more than an answer that is at hand.
_NOT_PLAIN = frozenset(
    {
        b"cache",
        b"content-length",
        b"expect",
        b"idempotency-key",
        b"transfer-encoding",
        b"upgrade",
        b"x-creditos-maximos",
    }
)
_ALONE = frozenset({b"x-api-key"}) | MARK_HEADERS

# Heads are about 500 bytes and hold a key, lines about 100 and a CNPJ. Both are forgotten when
# nobody has sent them for one to two minutes.
_HEADS_MAX = 4_096
_LINES_MAX = 16_384
_PATTERNS_MAX = 256
_REMEMBERED_MS = 60_000


class KnownHead(msgspec.Struct, frozen=True, gc=False):
    """What a head says below its first line, once it was read as a whole."""

    key: bytes  # as it was sent
    gzip: bool
    keep_alive: bool
    marks: Marks = NO_MARKS


class LaneQuestion(msgspec.Struct, frozen=True, gc=False):
    """What a first line asks for."""

    operation: Operation
    rest: str  # the document as it stands in the path
    question: Question

    def about(self, document: str) -> "LaneQuestion":
        """The same of another company or person. Raises `InvalidCnpj`, `InvalidCpf`."""
        kind: type[Cnpj | Cpf] = Cnpj if self.operation.document == "cnpj" else Cpf
        other = kind.parse(document)
        return LaneQuestion(self.operation, document, self.question.about(other))


# Documents without punctuation, which is all that most lines differ in.
_BARE_CHARACTERS = (14, 11)
_VERSION_CHARACTERS = len(" HTTP/1.1")

# Stands in a pattern where a person's number stood: the least that is one.
_NO_PERSON = "00000000191"

# What clients send to every operation, whether it has strategies or not: this is nobody's secret.
_OF_NOBODY = frozenset(f"cache_strategy={each}".encode() for each in Strategy)


_OK = start_of(200, "1.1")


class Lane:
    """Answers plain lookups whose answer is available now. On the event loop's thread."""

    def __init__(self, front: Front) -> None:
        self.front = front
        # By the lines below the first.
        self.heads: Memo[bytes, KnownHead] = Memo(_HEADS_MAX)
        self._lines: Memo[bytes, LaneQuestion] = Memo(_LINES_MAX)
        self._doorkeeper = Doorkeeper(_LINES_MAX)
        # By what stands before and after a bare CNPJ in the path.
        self._patterns: Memo[tuple[bytes, bytes], LaneQuestion] = Memo(_PATTERNS_MAX)
        self._turned_ms = front.parts.now_ms()
        self._noted: list[tuple[str, Caller, Reply, float]] = []
        self.used = Used()  # counted with the answers of the same turn
        front.parts.remembering.append(self._forget_questions)

    # The head

    def learn(self, lines: bytes, head: Head) -> KnownHead | None:
        """What these lines say, of a head that was read as a whole; None: it is the front's."""
        if len(lines) > _HEAD_BYTES_MAX or head.version != "1.1":
            return None
        named = dict(head.headers)
        key = named.get(b"x-api-key")
        if key is None or not _NOT_PLAIN.isdisjoint(named):
            return None
        scope = {"method": "", "path": "", "query_string": b"", "headers": head.headers}
        request = read(scope, _HEAD_BYTES_MAX)
        if not _ALONE.isdisjoint(request.repeated):
            return None
        try:
            marks = read_marks(named)
        except BalcaoError:
            return None
        known = KnownHead(key, request.wants_gzip, head.keep_alive, marks)
        if marks is not NO_MARKS:  # each may have its own: they would drive others' heads out
            return known
        self.heads.put(lines, known)
        return known

    # The request

    def take(self, connection: "Connection", raw: bytes, line: bytes, head: KnownHead) -> bool:
        """Start answering a request; return False if it was declined, with nothing done.

        `line`: the first of `raw`.
        """
        started = time.perf_counter()
        asked = self._lines.fresh.get(line) or self._asked(line)
        if asked is None:
            return False
        front = self.front
        now_ms = front.parts.now_ms()
        caller = front.authenticator.remembered(head.key, now_ms)
        if caller is None:
            return False
        try:
            context = self.context(asked, head, caller, now_ms)
            if context is None:
                return False
            answer = context.answer_about
            if answer is not None and not front.parts.received.remembers(answer):
                return False  # about a person: the front finds out what may be read
            at_hand = all_at_hand(context)
            if at_hand is None:
                return False
            visit = LaneVisit(self, connection, raw, head, asked, started, context, at_hand)
            price = visit.price()
        except Exception:  # a refusal or a bug: the front says so, since nothing was done
            return False
        front.authenticator.pay_soon(caller, now_ms, price, visit.paid)
        visit.waits = True
        return not visit.declined

    def _forget_questions(self) -> None:
        self._lines.clear()
        self._patterns.clear()

    def forget(self) -> None:
        """Now and then, what nobody sends any more: to be called once a second."""
        now_ms = self.front.parts.now_ms()
        if abs(now_ms - self._turned_ms) > _REMEMBERED_MS:
            self._turned_ms = now_ms
            self.heads.turn()
            self._lines.turn()
            self._patterns.turn()

    def _asked(self, line: bytes) -> LaneQuestion | None:
        asked = self._lines.get(line)
        if asked is not None:
            return asked
        # The last slash before that of the version, which nothing else that we take has behind it.
        at = line.rfind(b"/", 0, -_VERSION_CHARACTERS) + 1
        end = line.find(b"?", at)
        if end < 0:
            end = len(line) - _VERSION_CHARACTERS
        pattern = line[:at], line[end:]
        asked = None
        if end - at in _BARE_CHARACTERS:
            asked = self._patterns.fresh.get(pattern) or self._patterns.get(pattern)
        if asked is None:
            return self._read(line, pattern)
        try:
            asked = asked.about(line[at:end].decode("latin-1"))
        except BalcaoError:
            return None
        self._remember(line, asked)
        return asked

    def _remember(self, line: bytes, asked: LaneQuestion) -> None:
        if self._doorkeeper.knows(line):
            self._lines.put(line, asked)

    def _read(self, line: bytes, pattern: tuple[bytes, bytes]) -> LaneQuestion | None:
        """All of a line of which nothing is known."""
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        route, rest = self.front.routes.find(match[1].decode())
        if route is None or route.operation is None:
            return None
        operation = route.operation
        try:
            parameters = Parameters(match[2] or b"", {}, operation.names)
            question = operation.parse(rest, parameters)
            if CREDITS_MAX.read(parameters) is not None:
                return None
        except BalcaoError:
            return None
        asked = LaneQuestion(operation, rest, question)
        sent = (match[2] or b"").split(b"&")
        strange = [each for each in sent if each and each not in _OF_NOBODY]
        # What nobody reads may be of anybody, and is not remembered.
        if all(each.partition(b"=")[0].decode() in operation.names for each in strange):
            self._remember(line, asked)
            if operation.document and rest == question.document.text:
                # It lives for as long as anybody asks so: of a person nothing stays in it.
                person = isinstance(question.document, Cpf)
                self._patterns.put(pattern, asked.about(_NO_PERSON) if person else asked)
        return asked

    def context(
        self, asked: LaneQuestion, head: KnownHead, caller: Caller, now_ms: int
    ) -> LookupContext | None:
        """Of who may ask this; None: from where it comes is the front's to judge.

        Raises what refuses it, and the front says so.
        """
        front, operation, question, marks = self.front, asked.operation, asked.question, head.marks
        if caller.door is None:  # what `enter` does without one
            operation.enter(caller)
        elif caller.door.networks:
            return None
        else:
            say_whom_for(caller, marks)
            enter(operation, caller)
        operation.permit(question, caller)
        number = front.new_id(now_ms)
        return context_of(question, caller, number, None, front.parts, now_ms, marks=marks)

    # The answers

    def note(self, caller: Caller, name: str, reply: Reply, seconds: float) -> None:
        """Measure and log an answer, together with those of the same turn of the loop."""
        if not self._noted:
            asyncio.get_running_loop().call_soon(self._note_all)
        self._noted.append((name, caller, reply, seconds))

    def _note_all(self) -> None:
        noted, self._noted = self._noted, []
        counts: list[RequestCount] = [
            (name, reply.status, reply.origin or "nenhuma", seconds, reply.credits)
            for name, _, reply, seconds in noted
        ]
        self.front.metrics.requests(counts)
        self.front.request_log.note_all([event_of(*each) for each in noted])
        self.used.count()


class LaneVisit(msgspec.Struct, gc=False, eq=False):
    """One request in the lane: what was asked, and its answer."""

    lane: Lane
    connection: "Connection"
    raw: bytes
    head: KnownHead
    asked: LaneQuestion
    started: float
    context: LookupContext
    at_hand: AtHand
    verdicts: Sequence[Verdict] = ()
    reply: Reply | None = None
    declined: bool = False
    waits: bool = False  # the connection, for the answer

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # a key is in it

    def price(self) -> Sequence[Change]:
        """What is to be durable before the answer, as soon as no limit refuses; not what is free.

        Nor of what the company is wanted for: to look for it is for who goes on.
        """
        context, at_hand = self.context, self.at_hand
        if at_hand.company is not None:
            return ()
        conclusion = at_hand.concluded(context)
        if not conclusion.credits:
            return ()
        self.reply, changes = Booking(context).charging(conclusion, context.at_ms)
        return changes

    def paid(self, verdicts: Sequence[Verdict] | None, outcome: Refusal | Exception | None) -> None:
        """See `ToldPaid`. Perhaps it is only known now what there is to pay."""
        if verdicts is None:
            self._decline()
            return
        self.verdicts = verdicts
        if self.reply is not None or outcome is not None:
            self._booked(outcome)
            return
        context = self.context
        try:
            conclusion = self.at_hand.concluded(context)
            self.reply, changes = Booking(context).charging(conclusion, context.at_ms)
            if changes:
                context.parts.desk.tell(changes, self._booked)
                return
        except Exception as error:
            self.reply = self._refusal(error)
        asyncio.get_running_loop().call_soon(self._booked, None)

    def _decline(self) -> None:
        """Nothing was done: the front answers."""
        self.declined = True
        if self.waits:
            self.connection.give_back(self.raw)

    def _booked(self, outcome: Refusal | Exception | None) -> None:
        """The charge is on disk, or refused, or could not be written."""
        try:
            reply = self.reply
            if outcome is not None or reply is None:
                reply = self._refusal(outcome)
            context, connection, head = self.context, self.connection, self.head
            if self.at_hand.read:
                self.lane.used.use(context, self.at_hand.read)
            keep_alive = head.keep_alive and not connection.ending
            more = connection.door.date if keep_alive else CLOSE + connection.door.date
            start = _OK if reply.status == 200 else start_of(reply.status, "1.1")
            # Nothing of it is what the caller sent, but for marks, which were checked.
            text = on_the_wire(
                start,
                reply,
                self.verdicts,
                context.at_ms,
                more,
                marks=head.marks,
                gzipped=head.gzip,
            )
            connection.finish(text, keep_alive=keep_alive)
            seconds = time.perf_counter() - self.started
            self.lane.note(context.caller, self.asked.operation.path, reply, seconds)
        except Exception:  # a bug, which is logged by who told us; nobody else would end this
            self.connection.cut("")
            raise

    def _refusal(self, outcome: Refusal | Exception | None) -> Reply:
        """As the front says it of a lookup that was refused after its limits were counted."""
        asked, context = self.asked, self.context
        error = told_of(outcome) if isinstance(outcome, Refusal) else outcome
        assert error is not None
        if isinstance(error, CallerError):
            Booking(context).note_refused(error)
        elif not isinstance(error, BalcaoError):
            log.error("request.bug", request_id=context.request_id, exc_info=error)
        said = envelope.refusal(error, asked.rest, asked.operation.error_fields)
        return reply_of(context.request_id, said)
