"""Fast path: answers plain lookups whose answer is available now, without a task or a future.

It answers exactly as `Front` would, or declines before any effect (ADR 0039). Both call the same
functions: `remembered` keys, `parse`, `replay_of`, `all_available_now`, `prepare_charge`,
`on_the_wire`. Every other request, and every doubtful one, is left to `Front`. `fast_request.py`
continues with the requests that are accepted here.
"""

import asyncio
import re
import time
from typing import TYPE_CHECKING

import msgspec

from balcao.core.access import Caller
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import BalcaoError
from balcao.core.idempotency import KEY_CHARACTERS_MAX, KEY_CHARACTERS_MIN
from balcao.core.ledger import NO_TAGS, RequestTags
from balcao.core.memo import Doorkeeper, Memo
from balcao.core.outcomes import Reply
from balcao.core.questions import Question, Strategy
from balcao.http.fast_request import FastRequest
from balcao.http.front import Front, event_of
from balcao.http.read import read
from balcao.http.routes import PREFIX
from balcao.http.wire.head import FIELDS_MAX, Head
from balcao.lookup.admit import check_access, require_client
from balcao.lookup.available_now import FinishedUse
from balcao.lookup.context import LookupContext, context_of
from balcao.observability.metrics import RequestCount
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, TAG_HEADERS, Parameters, read_tags

if TYPE_CHECKING:
    from balcao.http.wire.connection import Connection

# The start of every request that it may answer.
LOOKUPS = b"GET " + PREFIX.encode()
# Lines with escapes are left to `Front`.
_LINE = re.compile(
    b"GET (" + PREFIX.encode() + rb"[A-Za-z0-9./-]{1,200})"
    rb"(?:\?([A-Za-z0-9._=&-]{0,200}))? HTTP/1\.1"
)
_HEAD_BYTES_MAX = 2_048
# The line of a valid Idempotency-Key. It is cut out, since the rest of a client's heads is equal.
_KEY_LINE = re.compile(
    rb"\r\n(?i:idempotency-key):[ \t]*([!-~]{%d,%d})[ \t]*(?=\r\n)"
    % (KEY_CHARACTERS_MIN, KEY_CHARACTERS_MAX)
)
# A request with one of these headers is left to `Front`.
_NOT_PLAIN = frozenset(
    {
        b"cache",
        b"content-length",
        b"expect",
        b"transfer-encoding",
        b"upgrade",
        b"x-creditos-maximos",
    }
)
_ALONE = frozenset({b"idempotency-key", b"x-api-key"}) | TAG_HEADERS

# Heads are about 500 bytes and hold a key, lines about 100 and a CNPJ. Both are forgotten when
# they were not sent for one to two minutes.
_HEADS_MAX = 4_096
_LINES_MAX = 16_384
_PATTERNS_MAX = 256
_REMEMBERED_MS = 60_000


class KnownHead(msgspec.Struct, frozen=True, gc=False):
    """The header fields of a head but its Idempotency-Key, parsed."""

    key: bytes  # as sent
    gzip: bool
    keep_alive: bool
    tags: RequestTags = NO_TAGS


class ParsedLine(msgspec.Struct, frozen=True, gc=False):
    """The lookup that a request line asks for."""

    operation: Operation
    rest: str  # the document as it is in the path
    question: Question

    def about(self, document: str) -> "ParsedLine":
        """Return the same lookup of another document. Raises `InvalidCnpj`, `InvalidCpf`."""
        kind: type[Cnpj | Cpf] = Cnpj if self.operation.document == "cnpj" else Cpf
        other = kind.parse(document)
        return ParsedLine(self.operation, document, self.question.about(other))


# Lengths of documents without punctuation. Most lines differ in the document alone.
_BARE_CHARACTERS = (14, 11)
_VERSION_CHARACTERS = len(" HTTP/1.1")

# Replaces a CPF in a pattern: the lowest valid number.
_NO_PERSON = "00000000191"

# Clients also send this to operations that ignore it. It is not personal data.
_NOT_PERSONAL = frozenset(f"cache_strategy={each}".encode() for each in Strategy)


class LookupFastPath:
    """Answers plain lookups whose answer is available now; a `wire.server.FastPath`.

    Everything runs on the event loop's thread.
    """

    def __init__(self, front: Front) -> None:
        self.front = front
        # By the lines below the request line, without that of an Idempotency-Key.
        self.heads: Memo[bytes, KnownHead] = Memo(_HEADS_MAX)
        self._lines: Memo[bytes, ParsedLine] = Memo(_LINES_MAX)
        self._doorkeeper = Doorkeeper(_LINES_MAX)
        # By the parts of a line before and after a document without punctuation.
        self._patterns: Memo[tuple[bytes, bytes], ParsedLine] = Memo(_PATTERNS_MAX)
        self._turned_ms = front.parts.now_ms()
        self._answered: list[tuple[str, Caller, Reply, float]] = []
        self.finished_use = FinishedUse()  # flushed with the answers of the same event-loop turn
        front.parts.forget_callbacks.append(self._forget_questions)

    # The head

    def _learn(self, lines: bytes, head: Head, *, keyed: bool) -> KnownHead | None:
        """Return and remember a head's fields; None: leave the request to `Front`.

        `keyed`: the line of its Idempotency-Key was cut out of `lines`.
        """
        if len(lines) > _HEAD_BYTES_MAX or head.version != "1.1":
            return None
        if len(head.headers) >= FIELDS_MAX:  # with another line it would be refused
            return None
        named = dict(head.headers)
        key = named.get(b"x-api-key")
        if key is None or not _NOT_PLAIN.isdisjoint(named):
            return None
        if (b"idempotency-key" in named) != keyed:  # an invalid one
            return None
        scope = {"method": "", "path": "", "query_string": b"", "headers": head.headers}
        request = read(scope, _HEAD_BYTES_MAX)
        if not _ALONE.isdisjoint(request.repeated):
            return None
        try:
            tags = read_tags(named)
        except BalcaoError:
            return None
        known = KnownHead(key, request.accepts_gzip, head.keep_alive, tags)
        if tags is not NO_TAGS:  # they may differ each time, and would displace other heads
            return known
        self.heads.put(lines, known)
        return known

    # The request

    def try_answer(self, connection: "Connection", raw: bytes) -> bool:
        started = time.perf_counter()
        if not raw.startswith(LOOKUPS):
            return False
        line, _, lines = raw.partition(b"\r\n")
        head, idempotency_key = self.heads.get(lines), None
        if head is None:
            if (match := _KEY_LINE.search(raw)) is not None:
                idempotency_key = match[1].decode()
                line, _, lines = (raw[: match.start()] + raw[match.end() :]).partition(b"\r\n")
                head = self.heads.get(lines)
            if head is None:
                head = self._learn(lines, connection.parse_head(raw), keyed=match is not None)
        if head is None:
            return False
        asked = self._lines.get(line) or self._parse_line(line)
        if asked is None:
            return False
        front = self.front
        now_ms = front.parts.now_ms()
        caller = front.authenticator.remembered(head.key, now_ms)
        if caller is None:
            return False
        try:
            context = self.context(asked, head, caller, now_ms, idempotency_key)
        except Exception:  # a refusal or a bug: `Front` reports it
            return False
        if context is None:
            return False
        request = FastRequest(self, connection, raw, head, asked, started, context)
        request.begin()
        request.waits = True
        return not request.declined

    def _forget_questions(self) -> None:
        self._lines.clear()
        self._patterns.clear()

    def expire(self) -> None:
        now_ms = self.front.parts.now_ms()
        if abs(now_ms - self._turned_ms) > _REMEMBERED_MS:
            self._turned_ms = now_ms
            self.heads.rotate()
            self._lines.rotate()
            self._patterns.rotate()

    def _parse_line(self, line: bytes) -> ParsedLine | None:
        """Parse a request line, by a known pattern where there is one."""
        # The last slash before that of the version: no line that is accepted has one in its query.
        at = line.rfind(b"/", 0, -_VERSION_CHARACTERS) + 1
        end = line.find(b"?", at)
        if end < 0:
            end = len(line) - _VERSION_CHARACTERS
        pattern = line[:at], line[end:]
        asked = None
        if end - at in _BARE_CHARACTERS:
            asked = self._patterns.get(pattern)
        if asked is None:
            return self._parse_new_line(line, pattern)
        try:
            asked = asked.about(line[at:end].decode("latin-1"))
        except BalcaoError:
            return None
        self._remember(line, asked)
        return asked

    def _remember(self, line: bytes, asked: ParsedLine) -> None:
        if self._doorkeeper.seen_before(line):
            self._lines.put(line, asked)

    def _parse_new_line(self, line: bytes, pattern: tuple[bytes, bytes]) -> ParsedLine | None:
        """Parse a line without a known pattern, and remember what may be remembered of it."""
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
        asked = ParsedLine(operation, rest, question)
        sent = (match[2] or b"").split(b"&")
        unusual = [each for each in sent if each and each not in _NOT_PERSONAL]
        # Parameters that are not read may be personal data: such lines are not remembered.
        if all(each.partition(b"=")[0].decode() in operation.names for each in unusual):
            self._remember(line, asked)
            if operation.document and rest == question.document.text:
                # A pattern is kept for as long as it is used, so without the CPF.
                person = isinstance(question.document, Cpf)
                self._patterns.put(pattern, asked.about(_NO_PERSON) if person else asked)
        return asked

    def context(
        self,
        asked: ParsedLine,
        head: KnownHead,
        caller: Caller,
        now_ms: int,
        idempotency_key: str | None,
    ) -> LookupContext | None:
        """Return the lookup's context; None: the key is restricted to networks.

        Raises what refuses the lookup.
        """
        front, operation, question, tags = self.front, asked.operation, asked.question, head.tags
        if caller.restrictions is not None:
            if caller.restrictions.networks:
                return None
            require_client(caller, tags.client)
        check_access(operation, caller)
        operation.check_question(question, caller)
        number = front.new_id(now_ms)
        return context_of(question, caller, number, idempotency_key, front.parts, now_ms, tags=tags)

    # The answers

    def note(self, caller: Caller, name: str, reply: Reply, seconds: float) -> None:
        """Measure and log an answer, together with those of the same event-loop turn."""
        if not self._answered:
            asyncio.get_running_loop().call_soon(self._flush_notes)
        self._answered.append((name, caller, reply, seconds))

    def _flush_notes(self) -> None:
        noted, self._answered = self._answered, []
        counts: list[RequestCount] = [
            (name, reply.status, reply.origin or "nenhuma", seconds, reply.credits)
            for name, _, reply, seconds in noted
        ]
        self.front.metrics.requests(counts)
        self.front.request_log.note_all([event_of(*each) for each in noted])
        self.finished_use.flush()
