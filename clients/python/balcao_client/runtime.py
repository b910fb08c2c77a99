"""How requests are sent, repeated and read, the same for both clients.

Everything that is decided is in `conversation`, which does no I/O: `cases.json` says what it must do.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from urllib.parse import quote, urlencode

import httpx2

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0  # more than the service's sources get, so that what was paid for arrives
ATTEMPTS = 4
WAIT_SECONDS_MAX = 60.0
_REPEATED = {409, 429, 503}
_UNCERTAIN = "COBRANCA_INCERTA"


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer that is no error. A certificate that was refused on its merits is one, too."""

    body: T
    status: int
    request_id: str | None
    credits: int | None
    """What it cost."""
    replayed: bool
    """Whether it is an earlier answer under the same Idempotency-Key, told again at no cost."""
    headers: Mapping[str, str]
    """By their names in lower case."""


class BalcaoError(Exception):
    """The question was not answered. Decide by `code`: messages are for people, and change."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: str | None = None,
        credits: int | None = None,
        retry_after: int | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        """The service's; `SEM_RESPOSTA` without an answer, `HTTP_…` if it was somebody else's."""
        self.message = message
        self.status = status
        """0 without an answer."""
        self.request_id = request_id
        self.credits = credits
        """What it cost: 0 of an error of the service; None where nobody said."""
        self.retry_after = retry_after
        """Seconds after which the service would be asked in vain no more, if it said so."""
        self.body = body or {}


@dataclass(frozen=True, slots=True)
class Call:
    """One question, as the generated methods put it. None is left out of query and headers."""

    method: str
    path: str
    """With `{}` in the places of `documents`."""
    documents: tuple[str, ...] = ()
    """Kept to the letter: a CNPJ may have letters, and zeros at its start."""
    query: Mapping[str, str | int | float | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    once: bool = False
    """Whether the operation takes an Idempotency-Key."""
    idempotency_key: str | None = None
    content: bytes | None = None
    content_type: str = "application/json"
    reads: str = "json"
    """Or `bytes`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it goes out."""

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Came:
    """An answer as it came in; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer, or not the whole of it."""

    why: str


def conversation(
    call: Call, key: str, new_key: Callable[[], str]
) -> Generator[Sent | float, Came | Lost | None, Answer[Any]]:
    """Ask until there is an answer, or nothing is to be expected of asking again.

    Yields a request, and wants to be sent what came of it; or seconds to wait. Raises BalcaoError.
    """
    own = call.idempotency_key
    once = own or new_key()
    harmless = call.once or call.method == "GET"
    # The last attempt that may have been carried out and charged: the key is kept to the end.
    doubt: BalcaoError | None = None
    for attempt in range(1, ATTEMPTS + 1):
        came = yield _request(call, key, once if call.once else None)
        wait = float(2 ** (attempt - 1))
        if isinstance(came, Lost):
            # It may have been done: only what is known by its key, or changes nothing, is repeated.
            failure = doubt = BalcaoError("SEM_RESPOSTA", came.why)
            if not harmless:
                raise failure
        else:
            assert came is not None
            body = _read(came)
            if 200 <= came.status < 300 and call.reads == "bytes":
                return _answer(came, came.content)
            if body is not None and body["error"] is False:
                return _answer(came, body)
            failure = _error(came, body)
            if came.status not in _REPEATED or (came.status == 409 and failure.retry_after is None):
                raise failure
            if failure.retry_after is not None:
                wait = float(failure.retry_after)
            if came.status == 503:
                # A proxy's, or an uncertain one of the service: it may have been done.
                if body is None or failure.code == _UNCERTAIN:
                    if not harmless:
                        raise failure
                    doubt = failure
                elif doubt is None or came.headers.get("idempotent-replayed") == "true":
                    # It ended there, at no cost, and would be told again under this key.
                    doubt = None
                    if own is not None:
                        raise failure
                    once = new_key()
        if attempt == ATTEMPTS or wait > WAIT_SECONDS_MAX:
            # A 503 is about its own attempt alone, and leaves an earlier one open.
            raise doubt if doubt is not None and failure.status == 503 else failure
        yield wait
    raise AssertionError("the last attempt ends it")


def _request(call: Call, key: str, once: str | None) -> Sent:
    documents = (quote(document, safe="") for document in call.documents)
    query = {name: _text(value) for name, value in call.query.items() if value is not None}
    target = call.path.format(*documents) + (f"?{urlencode(query)}" if query else "")
    headers = {name: value for name, value in call.headers.items() if value is not None}
    headers["x-api-key"] = key
    if once is not None:
        headers["Idempotency-Key"] = once
    if call.content is not None:
        headers["Content-Type"] = call.content_type
    return Sent(call.method, target, headers, call.content)


def _text(value: str | int | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # Without an exponent, however large an amount is.
    return format(Decimal(str(value)), "f") if isinstance(value, float) else str(value)


def _read(came: Came) -> Mapping[str, Any] | None:
    """The envelope; None where it is not the service's."""
    try:
        body = json.loads(came.content)
    except ValueError:
        return None
    ours = isinstance(body, dict) and isinstance(body.get("error"), bool)
    return body if ours else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else None


def _answer(came: Came, body: object) -> Answer[Any]:
    return Answer(
        body,
        came.status,
        came.headers.get("x-request-id"),
        _number(came.headers.get("x-creditos-cobrados")),
        came.headers.get("idempotent-replayed") == "true",
        came.headers,
    )


def _error(came: Came, body: Mapping[str, Any] | None) -> BalcaoError:
    detail = (body or {}).get("error_message") or {}
    return BalcaoError(
        detail.get("code", f"HTTP_{came.status}"),
        detail.get("message", "a resposta não é do serviço"),
        status=came.status,
        request_id=came.headers.get("x-request-id"),
        credits=_number(came.headers.get("x-creditos-cobrados")),
        retry_after=_number(came.headers.get("retry-after")),
        body=body,
    )


def as_json(body: object) -> bytes | None:
    """A body to send; None stays none."""
    return None if body is None else json.dumps(body, ensure_ascii=False).encode()


def _new_key() -> str:
    return str(uuid.uuid4())


def _came(reply: httpx2.Response) -> Came:
    return Came(reply.status_code, dict(reply.headers), reply.content)


class Waiting:
    """What `Balcao` is made of."""

    def __init__(
        self,
        address: str,
        key: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._address, self._key, self._sleep = address.rstrip("/"), key, sleep
        self._http = httpx2.Client(timeout=timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _ask(self, call: Call) -> Answer[Any]:
        story = conversation(call, self._key, _new_key)
        came: Came | Lost | None = None
        while True:
            try:
                step = story.send(came)
            except StopIteration as end:
                answer: Answer[Any] = end.value
                return answer
            if isinstance(step, Sent):
                came = self._send(step)
            else:
                self._sleep(step)
                came = None

    def _send(self, sent: Sent) -> Came | Lost:
        url = self._address + sent.target
        try:
            return _came(
                self._http.request(
                    sent.method, url, headers=dict(sent.headers), content=sent.content
                )
            )
        except httpx2.TransportError as e:
            return Lost(f"{type(e).__name__} {e}".strip())


class Awaited:
    """What `BalcaoAsync` is made of."""

    def __init__(
        self,
        address: str,
        key: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._address, self._key, self._sleep = address.rstrip("/"), key, sleep
        self._http = httpx2.AsyncClient(timeout=timeout_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _ask(self, call: Call) -> Answer[Any]:
        story = conversation(call, self._key, _new_key)
        came: Came | Lost | None = None
        while True:
            try:
                step = story.send(came)
            except StopIteration as end:
                answer: Answer[Any] = end.value
                return answer
            if isinstance(step, Sent):
                came = await self._send(step)
            else:
                await self._sleep(step)
                came = None

    async def _send(self, sent: Sent) -> Came | Lost:
        url = self._address + sent.target
        try:
            return _came(
                await self._http.request(
                    sent.method, url, headers=dict(sent.headers), content=sent.content
                )
            )
        except httpx2.TransportError as e:
            return Lost(f"{type(e).__name__} {e}".strip())
