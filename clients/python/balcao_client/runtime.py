"""Sending, retries and parsing, shared by both clients.

All decisions are in `exchange`, which does no I/O and is tested by `cases.json`.
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

TIMEOUT_SECONDS = 60.0  # longer than the service's sources take, so that paid answers arrive
ATTEMPTS = 4
WAIT_SECONDS_MAX = 60.0
_RETRIED = {409, 429, 503}
_UNCERTAIN = "COBRANCA_INCERTA"


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A successful answer; a certificate refused on its merits is one, too."""

    body: T
    status: int
    request_id: str | None
    credits: int | None
    """Charged credits."""
    replayed: bool
    """Whether it is an earlier answer of the same Idempotency-Key, repeated at no cost."""
    headers: Mapping[str, str]
    """Header values by name, in lower case."""


class BalcaoError(Exception):
    """The request failed. Decide by `code`: messages are for people and may change."""

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
        """Code of the service; `SEM_RESPOSTA` without a response, `HTTP_…` for a foreign one."""
        self.message = message
        self.status = status
        """0 without a response."""
        self.request_id = request_id
        self.credits = credits
        """Charged credits: 0 for errors of the service, None if unknown."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, if the service sent them."""
        self.body = body or {}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a generated method. None is left out of query and headers."""

    method: str
    path: str
    """With a `{}` for each of `documents`."""
    documents: tuple[str, ...] = ()
    """Texts: a CNPJ may have letters and leading zeros."""
    query: Mapping[str, str | int | float | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    idempotent: bool = False
    """Whether the operation accepts an Idempotency-Key."""
    idempotency_key: str | None = None
    content: bytes | None = None
    content_type: str = "application/json"
    response_type: str = "json"
    """`json` or `bytes`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send."""

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Response:
    """A received response; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class NoResponse:
    """A missing or incomplete response."""

    reason: str


def exchange(
    call: Call, key: str, new_key: Callable[[], str]
) -> Generator[Request | float, Response | NoResponse | None, Answer[Any]]:
    """Retry a call until there is an answer or retries are useless.

    Yields a request, is sent its response, or yields seconds to wait. Raises BalcaoError.
    """
    given_key = call.idempotency_key
    current_key = given_key or new_key()
    repeatable = call.idempotent or call.method == "GET"
    # An attempt that may have been executed and charged; from then on the key is not changed.
    uncertain: BalcaoError | None = None
    for attempt in range(1, ATTEMPTS + 1):
        response = yield _request(call, key, current_key if call.idempotent else None)
        wait = float(2 ** (attempt - 1))
        if isinstance(response, NoResponse):
            # It may have been executed: repeat only with a key, or if it changes nothing.
            failure = uncertain = BalcaoError("SEM_RESPOSTA", response.reason)
            if not repeatable:
                raise failure
        else:
            assert response is not None
            body = _read(response)
            if 200 <= response.status < 300 and call.response_type == "bytes":
                return _answer(response, response.content)
            if body is not None and body["error"] is False:
                return _answer(response, body)
            failure = _error(response, body)
            if response.status not in _RETRIED or (
                response.status == 409 and failure.retry_after is None
            ):
                raise failure
            if failure.retry_after is not None:
                wait = float(failure.retry_after)
            if response.status == 503:
                # Of a proxy, or with an uncertain outcome: it may have been executed.
                if body is None or failure.code == _UNCERTAIN:
                    if not repeatable:
                        raise failure
                    uncertain = failure
                elif uncertain is None or response.headers.get("idempotent-replayed") == "true":
                    # It ended at no cost, and this key would return the same answer again.
                    uncertain = None
                    if given_key is not None:
                        raise failure
                    current_key = new_key()
        if attempt == ATTEMPTS or wait > WAIT_SECONDS_MAX:
            # A 503 concerns only its own attempt; an earlier one may still have been charged.
            raise uncertain if uncertain is not None and failure.status == 503 else failure
        yield wait
    raise AssertionError("the last attempt ends it")


def _request(call: Call, key: str, idempotency_key: str | None) -> Request:
    documents = (quote(document, safe="") for document in call.documents)
    query = {name: _text(value) for name, value in call.query.items() if value is not None}
    target = call.path.format(*documents) + (f"?{urlencode(query)}" if query else "")
    headers = {name: value for name, value in call.headers.items() if value is not None}
    headers["x-api-key"] = key
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    if call.content is not None:
        headers["Content-Type"] = call.content_type
    return Request(call.method, target, headers, call.content)


def _text(value: str | int | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # Large amounts without an exponent.
    return format(Decimal(str(value)), "f") if isinstance(value, float) else str(value)


def _read(response: Response) -> Mapping[str, Any] | None:
    """Return the envelope, None if it is not the service's."""
    try:
        body = json.loads(response.content)
    except ValueError:
        return None
    ours = isinstance(body, dict) and isinstance(body.get("error"), bool)
    return body if ours else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else None


def _answer(response: Response, body: object) -> Answer[Any]:
    return Answer(
        body,
        response.status,
        response.headers.get("x-request-id"),
        _number(response.headers.get("x-creditos-cobrados")),
        response.headers.get("idempotent-replayed") == "true",
        response.headers,
    )


def _error(response: Response, body: Mapping[str, Any] | None) -> BalcaoError:
    detail = (body or {}).get("error_message") or {}
    return BalcaoError(
        detail.get("code", f"HTTP_{response.status}"),
        detail.get("message", "a resposta não é do serviço"),
        status=response.status,
        request_id=response.headers.get("x-request-id"),
        credits=_number(response.headers.get("x-creditos-cobrados")),
        retry_after=_number(response.headers.get("retry-after")),
        body=body,
    )


def as_json(body: object) -> bytes | None:
    """Encode a body, None if there is none."""
    return None if body is None else json.dumps(body, ensure_ascii=False).encode()


def _new_key() -> str:
    return str(uuid.uuid4())


def _response_of(reply: httpx2.Response) -> Response:
    return Response(reply.status_code, dict(reply.headers), reply.content)


class SyncClient:
    """Base of `Balcao`."""

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
        """Close the connections."""
        self._http.close()

    def _ask(self, call: Call) -> Answer[Any]:
        steps = exchange(call, self._key, _new_key)
        response: Response | NoResponse | None = None
        while True:
            try:
                step = steps.send(response)
            except StopIteration as end:
                answer: Answer[Any] = end.value
                return answer
            if isinstance(step, Request):
                response = self._send(step)
            else:
                self._sleep(step)
                response = None

    def _send(self, request: Request) -> Response | NoResponse:
        url = self._address + request.target
        try:
            return _response_of(
                self._http.request(
                    request.method, url, headers=dict(request.headers), content=request.content
                )
            )
        except httpx2.TransportError as e:
            return NoResponse(f"{type(e).__name__} {e}".strip())


class AsyncClient:
    """Base of `BalcaoAsync`."""

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
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, call: Call) -> Answer[Any]:
        steps = exchange(call, self._key, _new_key)
        response: Response | NoResponse | None = None
        while True:
            try:
                step = steps.send(response)
            except StopIteration as end:
                answer: Answer[Any] = end.value
                return answer
            if isinstance(step, Request):
                response = await self._send(step)
            else:
                await self._sleep(step)
                response = None

    async def _send(self, request: Request) -> Response | NoResponse:
        url = self._address + request.target
        try:
            return _response_of(
                await self._http.request(
                    request.method, url, headers=dict(request.headers), content=request.content
                )
            )
        except httpx2.TransportError as e:
            return NoResponse(f"{type(e).__name__} {e}".strip())
