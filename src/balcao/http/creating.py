"""Idempotent creation: the same key and body receive the first answer again.

Every POST that creates something uses it (contract 12.6), on the keys of the lookups. The answer
is recorded in the commit that creates, so that no crash separates the two (ADR 0043).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from balcao.core import idempotency
from balcao.core.calendar import HOUR_MS
from balcao.core.errors import InvalidIdempotencyKey, RepeatedParameter, StillRunning
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Finish
from balcao.http.read import Request
from balcao.http.routes import Answer
from balcao.http.texts import IDEMPOTENCY_KEY_SCHEMA
from balcao.http.write import REPLAYED, Headers
from balcao.lookup.context import Parts
from balcao.operations.parameters import Parameter
from balcao.storage.desk.recorded_answer import MakeAnswer

T = TypeVar("T")

CREATION_KEY, REQUIRED_CREATION_KEY = (
    Parameter(
        "Idempotency-Key",
        "Evita criar duas vezes, durante HORAS. A mesma chave com o mesmo corpo devolve a"
        " primeira resposta. Com outro corpo, 400.",
        IDEMPOTENCY_KEY_SCHEMA,
        place="header",
        required=required,
    )
    for required in (False, True)
)


@dataclass(frozen=True, slots=True)
class Creation:
    """Creation under the `Idempotency-Key` of a request, if it has one."""

    parts: Parts
    keyed: bool = False  # the body may be little more than a CPF: its digest is keyed

    async def once(
        self,
        request: Request,
        make: Callable[[MakeAnswer[T]], Awaitable[T]],
        answer: Callable[[T], Answer],
    ) -> Answer:
        """Create an object, or return the answer recorded when it was created.

        `make` passes its argument to the desk, which calls it within the commit to record the
        answer. Raises the desk's errors, `InvalidIdempotencyKey`, `IdempotencyKeyReused`,
        `StillRunning`.
        """
        key = _key_of(request)
        if key is None:
            return answer(await make(lambda made: None))
        fingerprint = await self._fingerprint(request)
        if (replayed := await self._replay(request, key, fingerprint)) is not None:
            return replayed

        def keep(made: T) -> Finish:
            status, _, body = answer(made)
            assert isinstance(body, bytes), "the answer about a new object is short"
            recorded = RecordedAnswer(request.request_id, status, request.numbered(body))
            at_ms = self.parts.now_ms()
            expires_ms = at_ms + self.parts.idempotency_hours * HOUR_MS
            digest = idempotency.digest(key)
            return Finish(request.account_id, digest, fingerprint, recorded, at_ms, expires_ms)

        try:
            return answer(await make(keep))
        except StillRunning:  # a concurrent request, which has finished by now
            if (replayed := await self._replay(request, key, fingerprint)) is None:
                raise
            return replayed

    async def _replay(self, request: Request, key: str, fingerprint: str) -> Answer | None:
        parts, now_ms = self.parts, self.parts.now_ms()
        past_ms = now_ms if parts.safe_past_ms is None else parts.safe_past_ms()
        digest = idempotency.digest(key)
        earlier = await parts.desk.find_attempt(request.account_id, digest, past_ms)
        recorded = idempotency.admit(earlier, fingerprint, now_ms, parts.deadline_ms)
        if recorded is None:
            return None
        mark = (b"x-request-id", recorded.request_id.encode())
        return recorded.status, [*_HEADERS, REPLAYED, mark], recorded.body

    async def _fingerprint(self, request: Request) -> str:
        """Return a digest of the request as it was sent, to the byte."""
        if len(request.body) <= _SHORT_BYTES:
            return self._digest(request)
        return await asyncio.to_thread(self._digest, request)

    def _digest(self, request: Request) -> str:
        body = request.body.decode("latin-1")
        text = f"{request.method} {request.path}?{request.query!r}\n{body}"
        if self.keyed:
            return idempotency.keyed_digest(self.parts.receipt_numbers.pepper, text)
        return idempotency.digest(text)


_SHORT_BYTES = 65_536  # digested on the event loop

_HEADERS: Headers = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-creditos-cobrados", b"0"),
]


def _key_of(request: Request) -> str | None:
    if b"idempotency-key" in request.repeated:
        raise RepeatedParameter("O cabeçalho idempotency-key foi enviado mais de uma vez.")
    sent = request.headers.get(b"idempotency-key")
    if sent is None:
        return None
    key = sent.decode("latin-1")
    if not idempotency.is_valid_key(key):
        raise InvalidIdempotencyKey
    return key
