"""The HTTP client for providers and hosted receipts; no other module sends requests.

Adapters decide what to send and what replies mean. This module adds limits of time and size, the
circuit breaker, the one retry and measurements, and turns failures into `SourceUnavailable` (no
request arrived) or `SourceFailed` (it may have). Error details never contain addresses or parts of
replies, since these hold personal data.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import inf
from pathlib import PurePath
from types import TracebackType
from typing import Generic, Literal, TypeAlias, TypeVar
from urllib.request import getproxies

import httpx2
import msgspec

from balcao import __version__
from balcao.core import breaker
from balcao.core.breaker import BreakerSettings, Circuit, Refused
from balcao.core.errors import SourceError, SourceFailed, SourceRefused, SourceUnavailable
from balcao.core.questions import Subject
from balcao.operations import OPERATIONS
from balcao.sources.contract import Exchange, HttpReply, HttpRequest
from balcao.sources.direct import DirectTransport

# Bound on a conversation that never ends; usually the time limit applies first. The longest one
# polls SERPRO every 2 s, for which other clients allow 120 s.
ROUNDS_MAX = 64

# A host that does not accept a connection within this time counts as down. A third of the whole
# limit, if that is less, leaves time for the second attempt.
CONNECT_SECONDS_MAX = 3.0

# A connection that the server closes while we write is a failed call that may not be repeated.
# Servers keep idle connections for a minute and more, so we close ours first.
KEEPALIVE_SECONDS = 15.0
CONNECTIONS_MAX = 100

HEADERS = {
    # An answer is a few kilobytes, so no compression is requested; compressed bodies are read all
    # the same (`_read_body`).
    "accept-encoding": "identity",
    "accept": "application/json",
    "connection": "keep-alive",
    # BrasilAPI rejects clients that do not look like a browser.
    "user-agent": f"Mozilla/5.0 (compatible; Balcao/{__version__})",
}

NOTHING_WAS_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)

# Replies above these limits are read in a thread, not on the event loop: a record of ten thousand
# partners takes a quarter of a second.
READ_IN_PLACE_BYTES_MAX = 64_000
READ_IN_PLACE_PARTS_MAX = 500

# One thread: more would only compete for the interpreter lock, and delay the event loop. Waiting
# for it counts towards the conversation's time limit.
_reader = ThreadPoolExecutor(1, thread_name_prefix="source-reader")

# A body may arrive byte by byte; chunks that arrived already would be read without yielding.
CHUNKS_AT_ONCE = 32
CHUNKS_MAX = 20_000  # each has its cost, however short it is

# Accepted although not requested; at most one per body.
CODINGS = frozenset({"", "identity", "gzip", "deflate"})

_PORTS = {"https": 443, "http": 80}

T = TypeVar("T")

SourceOutcome: TypeAlias = Literal["found", "absent", "unavailable", "failed"]

Send: TypeAlias = Callable[[HttpRequest], Awaitable[HttpReply]]

# A layer between a conversation and the network: it may add a token, and send again.
Layer: TypeAlias = Callable[[HttpRequest, Send], Awaitable[HttpReply]]

# A wrapper of each attempt, for tracing, with the attempt's number, from 1.
AttemptWrapper: TypeAlias = Callable[[HttpRequest, int, Send], Awaitable[HttpReply]]


class SourceCall(msgspec.Struct, frozen=True, gc=False):
    """The measurements of one conversation, for metrics and log."""

    source: str
    outcome: SourceOutcome
    seconds: float
    subject: str = "company"
    uf: str = ""  # of registrations; BR: all in one call
    detail: str = ""  # of the failure; no personal data, like every detail of a `SourceError`
    counts: bool = True  # False: not due to the source (open circuit, busy pool, cancelled call)
    cost_micros: int = 0  # the provider's price, in millionths of a real
    further_seconds: Sequence[float] = ()  # durations of more calls, equal in everything else

    @property
    def durations(self) -> Sequence[float]:
        """The durations of all calls, at least one."""
        return (self.seconds, *self.further_seconds)


@dataclass(frozen=True, slots=True)
class _Conclusion(Generic[T]):
    """The result of a conversation; `unusable` is the error if its record was rejected."""

    record: T | None
    unusable: SourceFailed | None = None


CostOf: TypeAlias = Callable[[HttpReply], int]


@dataclass(slots=True)
class _CostTotal:
    """The cost of the replies of one conversation, in millionths of a real."""

    cost_of: CostOf | None
    micros: int = 0

    def add(self, reply: HttpReply) -> None:
        """Add the cost of a reply, also of one that cannot be used."""
        if self.cost_of is not None:
            self.micros += self.cost_of(reply)


class Upstream:
    """A client of one provider's service for one subject (and UF), with its own circuit.

    It has its own connections, so that a provider that hangs cannot use up those of others.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        timeout_seconds: float,
        answer_bytes_max: int,
        breaker_settings: BreakerSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        observe: Callable[[SourceCall], None] = lambda call: None,
        subject: Subject = "company",
        uf: str = "",
        wrap_attempt: AttemptWrapper | None = None,
        origins: Collection[str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`origins`, such as `https://storage.example.com`: send to no others.

        They restrict untrusted addresses; unencrypted ones must be listed as `http://`. Raises
        `ValueError` for an invalid origin. `transport` replaces the network.
        """
        self.name = name
        self.subject = subject
        self.uf = uf
        self._base_url = base_url.rstrip("/")
        self._origins = None if origins is None else frozenset(map(_parse_origin, origins))
        self._transport = transport or _transport(tls)
        self._timeout_seconds = timeout_seconds
        self._answer_bytes_max = min(answer_bytes_max, OPERATIONS[subject].answer_bytes_max)
        self._breaker_settings = breaker_settings
        self._clock = clock
        self._observe = observe
        self._wrap_attempt = wrap_attempt
        self._circuit = Circuit()

    @property
    def circuit_state(self) -> breaker.State:
        """State of the circuit breaker, for metrics."""
        return breaker.state(self._circuit, self._clock())

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def run(
        self,
        conversation: Exchange[T],
        deadline: float = inf,
        *,
        layer: Layer | None = None,
        check: Callable[[T], T] | None = None,
        cost_of: CostOf | None = None,
    ) -> T | None:
        """Run a conversation and return its result. Raises only `SourceError`.

        It lasts at most `timeout_seconds`, and not beyond `deadline`, by the event loop's clock.
        `check` returns the usable record or raises `SourceFailed`, which fails the call but does
        not count against the circuit: the source is up, and other records may be fine. `check` and
        the steps of the conversation may run in another thread, one at a time.
        """
        started = self._clock()
        admission = breaker.admit(self._circuit, self._breaker_settings, started)
        if isinstance(admission, Refused):
            conversation.close()
            detail = f"{self.name}: circuito aberto"
            self._report("unavailable", started, detail, counts=False)
            raise SourceUnavailable(detail, admission.retry_in_seconds)
        self._circuit = admission.circuit
        cost = _CostTotal(cost_of)
        try:
            conclusion = await self._converse(conversation, deadline, layer, check, cost)
        except httpx2.PoolTimeout:
            # all our connections are busy, which does not count against the source
            detail = f"{self.name}: conexões esgotadas"
            self._report("unavailable", started, detail, counts=False)
            raise SourceUnavailable(detail, 1) from None
        except SourceRefused:
            # the source works and rejects the caller's data: mistyped birth dates must not open
            # the circuit
            self._circuit = breaker.succeeded(self._circuit)
            self._report("absent", started, cost=cost)
            raise
        except SourceError as error:
            now = self._clock()
            self._circuit = breaker.failed(self._circuit, self._breaker_settings, now)
            outcome: SourceOutcome = "failed"
            if isinstance(error, SourceUnavailable):
                outcome = "unavailable"
                # until the circuit's next probe, retries would be refused
                wait_seconds = breaker.wait_seconds(self._circuit, now)
                error.retry_in_seconds = max(error.retry_in_seconds, wait_seconds)
            self._report(outcome, started, error.detail, cost=cost)
            raise
        except asyncio.CancelledError:
            # the caller gave up, which does not count against the source
            self._report("failed", started, f"{self.name}: quem perguntou desistiu", counts=False)
            raise
        self._circuit = breaker.succeeded(self._circuit)
        if conclusion.unusable is not None:
            self._report("failed", started, conclusion.unusable.detail, cost=cost)
            raise conclusion.unusable
        self._report("absent" if conclusion.record is None else "found", started, cost=cost)
        return conclusion.record

    def _report(
        self,
        outcome: SourceOutcome,
        started: float,
        detail: str = "",
        *,
        counts: bool = True,
        cost: _CostTotal | None = None,
    ) -> None:
        seconds = self._clock() - started
        micros = 0 if cost is None else cost.micros
        self._observe(
            SourceCall(self.name, outcome, seconds, self.subject, self.uf, detail, counts, micros)
        )

    async def _converse(
        self,
        conversation: Exchange[T],
        deadline: float,
        layer: Layer | None,
        check: Callable[[T], T] | None,
        cost: _CostTotal,
    ) -> _Conclusion[T]:
        """Run the rounds within the time limit; every failure becomes a `SourceError`."""
        clock = asyncio.get_running_loop().time
        now = clock()
        ends_at = min(deadline, now + self._timeout_seconds)
        connect_seconds = max(0.001, min(CONNECT_SECONDS_MAX, (ends_at - now) / 3))

        async def send(request: HttpRequest) -> HttpReply:
            return await self._send(request, connect_seconds)

        try:
            async with asyncio.timeout_at(ends_at):
                step = _step(conversation, None, check)
                for _ in range(ROUNDS_MAX):
                    if isinstance(step, _Conclusion):
                        return step
                    if step.after_seconds:
                        await asyncio.sleep(step.after_seconds)
                    request = step.within(int(ends_at - clock()))
                    try:
                        reply = await (layer(request, send) if layer else send(request))
                    except SourceError as error:
                        step = _step(conversation, error, check)
                    else:
                        step = await _run_step(
                            reply, partial(_step, conversation, reply, check, cost)
                        )
            if isinstance(step, _Conclusion):
                return step
            raise SourceFailed(f"{self.name}: sem resposta após {ROUNDS_MAX} rodadas")
        except (SourceError, httpx2.PoolTimeout):
            raise
        except TimeoutError:
            raise _timeout_error(self.name, conversation) from None
        except Exception as error:
            # a bug of the adapter: report its place, and not its message, which may quote the reply
            raise SourceFailed(
                f"{self.name}: resposta não compreendida ({_location(error)})"
            ) from None
        finally:
            with suppress(ValueError):  # still running, in the reader thread
                conversation.close()

    async def _send(self, request: HttpRequest, connect_seconds: float) -> HttpReply:
        """Send the request; retry a GET once if certainly nothing was sent."""
        attempts_max = 2 if request.method == "GET" else 1
        once = partial(self._send_once, connect_seconds=connect_seconds)
        attempt = 0
        while True:
            attempt += 1
            try:
                if self._wrap_attempt is not None:
                    return await self._wrap_attempt(request, attempt, once)
                return await once(request)
            except (SourceError, httpx2.PoolTimeout):
                raise
            except NOTHING_WAS_SENT as error:
                if _is_untrusted(error):
                    raise SourceUnavailable(
                        f"{self.name}: VERIFIQUE A CONFIGURAÇÃO DESTA FONTE: o certificado do"
                        " servidor não confere com as raízes conhecidas"
                    ) from None
                if attempt == attempts_max:
                    raise SourceUnavailable(
                        f"{self.name}: sem conexão ({_type_name(error)})"
                    ) from None
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                detail = f"{self.name}: endereço inválido ({_type_name(error)})"
                raise SourceUnavailable(detail) from None
            except Exception as error:
                detail = f"{self.name}: conversa interrompida ({_type_name(error)})"
                raise SourceFailed(detail) from None

    async def _send_once(self, request: HttpRequest, connect_seconds: float) -> HttpReply:
        sending = httpx2.Request(
            request.method,
            self._address(request.path),
            params=dict(request.query) or None,
            headers=HEADERS | dict(request.headers),
            content=request.body,
            # only for connecting: the conversation's own time limit covers the rest, also with
            # in-process transports, which have no timeouts
            extensions={
                "timeout": httpx2.Timeout(
                    None, connect=connect_seconds, pool=connect_seconds
                ).as_dict()
            },
        )
        # the bare transport, without redirects, cookies or authentication: nothing of one
        # conversation may reach another
        reply = await self._transport.handle_async_request(sending)
        try:
            content = await _read_body(self.name, reply, self._answer_bytes_max)
            return HttpReply(reply.status_code, dict(reply.headers), content)
        finally:
            await reply.aclose()

    def _address(self, path: str) -> httpx2.URL:
        """Return the address of a path. Raises `SourceFailed` for an origin that is not listed."""
        if self._origins is None:
            return httpx2.URL(self._base_url + path)
        try:
            address = httpx2.URL(self._base_url + path)
            origin = _origin(address)
        except Exception:
            raise SourceFailed(f"{self.name}: endereço inválido") from None
        if address.userinfo or origin not in self._origins:
            raise SourceFailed(f"{self.name}: endereço fora dos permitidos")
        return address


class _ProxiedTransport(httpx2.AsyncBaseTransport):
    """A transport through the proxies of the environment, as httpx2's client reads them."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._client = httpx2.AsyncClient(
            verify=True if tls is None else tls,
            limits=httpx2.Limits(
                max_connections=CONNECTIONS_MAX,
                max_keepalive_connections=CONNECTIONS_MAX,
                keepalive_expiry=KEEPALIVE_SECONDS,
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._client.send(request, stream=True, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        await self._client.aclose()


def _transport(tls: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    """Return a direct transport, unless the environment names a proxy."""
    if not {"http", "https", "all"}.isdisjoint(getproxies()):
        return _ProxiedTransport(tls)
    return DirectTransport(
        tls, connections_max=CONNECTIONS_MAX, keepalive_seconds=KEEPALIVE_SECONDS
    )


def _parse_origin(origin: str) -> tuple[str, str, int]:
    """Parse an origin of the settings into scheme, host and port."""
    address = httpx2.URL(origin)
    if address.userinfo or address.raw_path not in (b"", b"/") or address.fragment:
        raise ValueError("an origin is a scheme, a host and at most a port")
    return _origin(address)


def _origin(address: httpx2.URL) -> tuple[str, str, int]:
    if address.scheme not in _PORTS or not address.host:
        raise ValueError("neither http nor https")
    return address.scheme, address.raw_host.decode(), address.port or _PORTS[address.scheme]


async def _read_body(name: str, reply: httpx2.Response, bytes_max: int) -> bytes:
    """Read and decompress the body. Raises `SourceFailed`, which begins with `name`, if too long.

    The client decompresses in chunks of at most 1 MiB, so the first ones reveal a bomb. It would
    pass unknown codings on undecoded, so these are rejected here.
    """
    if reply.headers.get("content-encoding", "identity").strip().lower() not in CODINGS:
        raise SourceFailed(f"{name}: resposta em codificação desconhecida")
    announced = reply.headers.get("content-length", "")
    # digits first: Python refuses to convert thousands of them
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > bytes_max):
        raise SourceFailed(f"{name}: resposta grande demais")
    body = bytearray()
    chunks = 0
    async for chunk in reply.aiter_bytes():
        body += chunk
        if len(body) > bytes_max:
            raise SourceFailed(f"{name}: resposta grande demais")
        chunks += 1
        if chunks > CHUNKS_MAX:
            raise SourceFailed(f"{name}: resposta em pedaços demais")
        if chunks % CHUNKS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return bytes(body)


def _step(
    conversation: Exchange[T],
    event: HttpReply | SourceError | None,
    check: Callable[[T], T] | None,
    cost: _CostTotal | None = None,
) -> HttpRequest | _Conclusion[T]:
    """Advance a conversation by one event, and check its record at the end.

    The error of a failed request is thrown into the conversation, which may handle it.
    """
    if cost is not None and isinstance(event, HttpReply):
        cost.add(event)
    try:
        match event:
            case None:
                return next(conversation)
            case SourceError():
                return conversation.throw(event)
            case _:
                return conversation.send(event)
    except StopIteration as end:
        record: T | None = end.value
    if record is None or check is None:
        return _Conclusion(record)
    try:
        return _Conclusion(check(record))
    except SourceFailed as error:
        return _Conclusion(None, error)


async def _run_step(reply: HttpReply, step: Callable[[], T]) -> T:
    """Run the step that reads a reply: in place if that is quick, else in a thread."""
    if _is_quick(reply.body):
        return step()
    return await asyncio.get_running_loop().run_in_executor(_reader, step)


def _is_quick(content: bytes) -> bool:
    return (
        len(content) <= READ_IN_PLACE_BYTES_MAX
        and content.count(b"{") + content.count(b"[") + content.count(b"<")
        <= READ_IN_PLACE_PARTS_MAX
    )


def _timeout_error(name: str, conversation: Exchange[T]) -> SourceError:
    """Throw the timeout into the conversation and return its error; no further request is sent."""
    late = SourceFailed(f"{name}: tempo esgotado")
    try:
        conversation.throw(late)
    except SourceError as error:
        return error
    except Exception:  # it returned, or has a bug
        return late
    return late


def _is_untrusted(error: BaseException | None) -> bool:
    """Return whether the cause is a server certificate that could not be verified."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _type_name(error: BaseException) -> str:
    return type(error).__name__


def _location(error: Exception) -> str:
    """Return type, file and line of an error."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return _type_name(error)
    return (
        f"{_type_name(error)}, {PurePath(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
    )
