"""The only place that sends requests out: to the providers, and for the receipts they keep.

Adapters say what to send and what the replies mean; everything else about calling somebody
else's service is here, once: time limits, size limits, the circuit breaker, the one retry,
measurements, and turning whatever goes wrong into `SourceUnavailable` (nothing reached it) or
`SourceFailed` (something did). No detail of an error names a document: addresses and replies
hold personal data, so they are never repeated.
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
from balcao.core.errors import OriginRefused, SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Subject
from balcao.operations import OPERATIONS
from balcao.sources.contract import Exchange, HttpReply, HttpRequest
from balcao.sources.direct import DirectTransport

# Against a conversation that never ends; the time limit is what stops the others. The longest one
# polls SERPRO every 2 s at last, for which clients in the wild allow 120 s.
ROUNDS_MAX = 64

# A host that does not take our connection within this time is down for our purposes; a third of
# the whole limit, where that is less, leaves room for the second attempt.
CONNECT_SECONDS_MAX = 3.0

# An idle connection that the other side closes while we write on it is a failed call which may
# not be repeated; servers keep theirs for a minute and more, so ours go first.
KEEPALIVE_SECONDS = 15.0
CONNECTIONS_MAX = 100

HEADERS = {
    # Compressed bodies are not asked for: an answer is a few kilobytes. What comes compressed all
    # the same is read (`_whole`).
    "accept-encoding": "identity",
    "accept": "application/json",
    "connection": "keep-alive",
    # BrasilAPI turns clients away that do not look like one people use.
    "user-agent": f"Mozilla/5.0 (compatible; Balcao/{__version__})",
}

NOTHING_WAS_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)

# What is longer than this, or has more objects, lists or elements, is not read on the event loop:
# making a record of ten thousand partners takes a quarter of a second.
READ_IN_PLACE_BYTES_MAX = 64_000
READ_IN_PLACE_PARTS_MAX = 500

# One thread: they would only take turns at holding the interpreter, and the event loop would
# have to wait for each of them. Who waits for it does so within the limit of his conversation.
_reader = ThreadPoolExecutor(1, thread_name_prefix="source-reader")

# A body may come byte by byte, and what has arrived already is handed out without a pause.
CHUNKS_AT_ONCE = 32
CHUNKS_MAX = 20_000  # each costs its own work, however short it is

# Unasked, too. At most one of them: nobody needs to send us what was compressed twice.
CODINGS = frozenset({"", "identity", "gzip", "deflate"})

_PORTS = {"https": 443, "http": 80}

T = TypeVar("T")

SourceOutcome: TypeAlias = Literal["found", "absent", "unavailable", "failed"]

Send: TypeAlias = Callable[[HttpRequest], Awaitable[HttpReply]]

# What stands between a conversation and the network: it may add a token, and send again.
Layer: TypeAlias = Callable[[HttpRequest, Send], Awaitable[HttpReply]]

# What every single attempt goes through, where somebody watches: which one it is, from 1.
Around: TypeAlias = Callable[[HttpRequest, int, Send], Awaitable[HttpReply]]


class SourceCall(msgspec.Struct, frozen=True, gc=False):
    """One conversation, for the measurements and the log."""

    source: str
    outcome: SourceOutcome
    seconds: float
    subject: str = "company"
    uf: str = ""  # of registrations; BR: all in one call
    detail: str = ""  # of what went wrong; no personal data, like every detail of a `SourceError`
    asked: bool = True  # False: it never came to that, which says nothing about the source
    cost_micros: int = 0  # what the provider charges for it, in millionths of a real
    others_seconds: Sequence[float] = ()  # of more that differ in nothing else, told together

    @property
    def each_seconds(self) -> Sequence[float]:
        """Of all of them, one at least."""
        return (self.seconds, *self.others_seconds)


@dataclass(frozen=True, slots=True)
class _Concluded(Generic[T]):
    """The end of a conversation; `unusable` says why its record is good for nothing."""

    record: T | None
    unusable: SourceFailed | None = None


CostOf: TypeAlias = Callable[[HttpReply], int]


@dataclass(slots=True)
class _Bill:
    """The cost of the replies of one conversation, in millionths of a real."""

    cost_of: CostOf | None
    micros: int = 0

    def add(self, reply: HttpReply) -> None:
        """Count a reply, whatever comes of it."""
        if self.cost_of is not None:
            self.micros += self.cost_of(reply)


class Upstream:
    """One provider's service for one subject (and UF), with connections and a circuit of its own.

    A provider that hangs must not use up the others' connections.
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
        around: Around | None = None,
        origins: Collection[str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`origins`, such as `https://storage.example.com`: nowhere else is anything sent to.

        That is for addresses which are a stranger's word; unencrypted ones are gone to where they
        are listed as `http://`. Raises `ValueError` for what is no origin. `transport` stands in
        for the network.
        """
        self.name = name
        self.subject = subject
        self.uf = uf
        self._base_url = base_url.rstrip("/")
        self._origins = None if origins is None else frozenset(map(_listed, origins))
        self._transport = transport or _transport(tls)
        self._timeout_seconds = timeout_seconds
        self._answer_bytes_max = min(answer_bytes_max, OPERATIONS[subject].answer_bytes_max)
        self._breaker_settings = breaker_settings
        self._clock = clock
        self._observe = observe
        self._around = around
        self._circuit = Circuit()

    @property
    def circuit_state(self) -> breaker.State:
        """For the measurements."""
        return breaker.state(self._circuit, self._clock())

    async def close(self) -> None:
        """Close its connections."""
        await self._transport.aclose()

    async def hold(
        self,
        conversation: Exchange[T],
        until: float = inf,
        *,
        through: Layer | None = None,
        check: Callable[[T], T] | None = None,
        cost_of: CostOf | None = None,
    ) -> T | None:
        """Hold a conversation to its end. Raises `SourceError` of some kind, nothing else.

        It lasts at most `timeout_seconds`, and not beyond `until`, by the event loop's clock.
        `check` returns the record as it may be used, or raises `SourceFailed` where it cannot be:
        a failed call, but no reason to leave the source alone, since it is up and the next record
        may be as good as ever. Both may run in another thread, the steps of a conversation one
        after the other.
        """
        started = self._clock()
        admission = breaker.admit(self._circuit, self._breaker_settings, started)
        if isinstance(admission, Refused):
            conversation.close()
            detail = f"{self.name}: circuito aberto"
            self._note("unavailable", started, detail, asked=False)
            raise SourceUnavailable(detail, admission.retry_in_seconds)
        self._circuit = admission.circuit
        bill = _Bill(cost_of)
        try:
            concluded = await self._converse(conversation, until, through, check, bill)
        except httpx2.PoolTimeout:
            # All our connections are busy: we ask too much, which says nothing about the source.
            detail = f"{self.name}: conexões esgotadas"
            self._note("unavailable", started, detail, asked=False)
            raise SourceUnavailable(detail, 1) from None
        except OriginRefused:
            # An answer about the data that were sent, in which the source was well: callers who
            # mistype birth dates must not close it to everybody else.
            self._circuit = breaker.succeeded(self._circuit)
            self._note("absent", started, bill=bill)
            raise
        except SourceError as error:
            now = self._clock()
            self._circuit = breaker.failed(self._circuit, self._breaker_settings, now)
            outcome: SourceOutcome = "failed"
            if isinstance(error, SourceUnavailable):
                outcome = "unavailable"
                # Whoever comes sooner than the next probe is refused again.
                wait_seconds = breaker.wait_seconds(self._circuit, now)
                error.retry_in_seconds = max(error.retry_in_seconds, wait_seconds)
            self._note(outcome, started, error.detail, bill=bill)
            raise
        except asyncio.CancelledError:
            # Whoever asked stopped waiting. That says nothing about the source.
            self._note("failed", started, f"{self.name}: quem perguntou desistiu", asked=False)
            raise
        self._circuit = breaker.succeeded(self._circuit)
        if concluded.unusable is not None:
            self._note("failed", started, concluded.unusable.detail, bill=bill)
            raise concluded.unusable
        self._note("absent" if concluded.record is None else "found", started, bill=bill)
        return concluded.record

    def _note(
        self,
        outcome: SourceOutcome,
        started: float,
        detail: str = "",
        *,
        asked: bool = True,
        bill: _Bill | None = None,
    ) -> None:
        seconds = self._clock() - started
        micros = 0 if bill is None else bill.micros
        self._observe(
            SourceCall(self.name, outcome, seconds, self.subject, self.uf, detail, asked, micros)
        )

    async def _converse(
        self,
        conversation: Exchange[T],
        until: float,
        through: Layer | None,
        check: Callable[[T], T] | None,
        bill: _Bill,
    ) -> _Concluded[T]:
        """The rounds, within the time limit; every way of going wrong is a `SourceError`."""
        clock = asyncio.get_running_loop().time
        now = clock()
        ends_at = min(until, now + self._timeout_seconds)
        connect_seconds = max(0.001, min(CONNECT_SECONDS_MAX, (ends_at - now) / 3))

        async def send(request: HttpRequest) -> HttpReply:
            return await self._send(request, connect_seconds)

        try:
            async with asyncio.timeout_at(ends_at):
                turn = _turn(conversation, None, check)
                for _ in range(ROUNDS_MAX):
                    if isinstance(turn, _Concluded):
                        return turn
                    if turn.after_seconds:
                        await asyncio.sleep(turn.after_seconds)
                    asking = turn.within(int(ends_at - clock()))
                    try:
                        reply = await (through(asking, send) if through else send(asking))
                    except SourceError as error:
                        turn = _turn(conversation, error, check)
                    else:
                        turn = await _read(reply, partial(_turn, conversation, reply, check, bill))
            if isinstance(turn, _Concluded):
                return turn
            raise SourceFailed(f"{self.name}: sem resposta após {ROUNDS_MAX} rodadas")
        except (SourceError, httpx2.PoolTimeout):
            raise
        except TimeoutError:
            raise _out_of_time(self.name, conversation) from None
        except Exception as error:
            # The adapter stumbled over what it was sent. Where is worth knowing; the text of
            # the error is not repeated, since it may quote the reply.
            raise SourceFailed(
                f"{self.name}: resposta não compreendida ({_whereabouts(error)})"
            ) from None
        finally:
            with suppress(ValueError):  # it is still being read, by a thread that nobody stops
                conversation.close()

    async def _send(self, request: HttpRequest, connect_seconds: float) -> HttpReply:
        """Send once; a read once more when it is certain that nothing was sent."""
        attempts_max = 2 if request.method == "GET" else 1
        once = partial(self._send_once, connect_seconds=connect_seconds)
        attempt = 0
        while True:
            attempt += 1
            try:
                if self._around is not None:
                    return await self._around(request, attempt, once)
                return await once(request)
            except (SourceError, httpx2.PoolTimeout):
                raise
            except NOTHING_WAS_SENT as error:
                if _untrusted(error):
                    raise SourceUnavailable(
                        f"{self.name}: VERIFIQUE A CONFIGURAÇÃO DESTA FONTE: o certificado do"
                        " servidor não confere com as raízes conhecidas"
                    ) from None
                if attempt == attempts_max:
                    raise SourceUnavailable(f"{self.name}: sem conexão ({_kind(error)})") from None
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                detail = f"{self.name}: endereço inválido ({_kind(error)})"
                raise SourceUnavailable(detail) from None
            except Exception as error:
                detail = f"{self.name}: conversa interrompida ({_kind(error)})"
                raise SourceFailed(detail) from None

    async def _send_once(self, request: HttpRequest, connect_seconds: float) -> HttpReply:
        sending = httpx2.Request(
            request.method,
            self._address(request.path),
            params=dict(request.query) or None,
            headers=HEADERS | dict(request.headers),
            content=request.body,
            # Only for connecting: the limit of the whole conversation cares for the rest, also
            # where a transport within the process knows no limits at all.
            extensions={
                "timeout": httpx2.Timeout(
                    None, connect=connect_seconds, pool=connect_seconds
                ).as_dict()
            },
        )
        # Below whatever follows redirects, keeps cookies or remembers who was logged in: what one
        # caller's conversation was given must not travel with another's.
        reply = await self._transport.handle_async_request(sending)
        try:
            content = await _whole(self.name, reply, self._answer_bytes_max)
            return HttpReply(reply.status_code, dict(reply.headers), content)
        finally:
            await reply.aclose()

    def _address(self, path: str) -> httpx2.URL:
        """Where it is sent to, parsed by who uses it. Raises `SourceFailed` for other origins."""
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
    """By way of the proxies that the environment names, as httpx2's own client reads it."""

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
        """Send it as it is."""
        return await self._client.send(request, stream=True, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


def _transport(tls: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    """Straight to the source, unless the environment names a proxy of any kind."""
    if not {"http", "https", "all"}.isdisjoint(getproxies()):
        return _ProxiedTransport(tls)
    return DirectTransport(
        tls, connections_max=CONNECTIONS_MAX, keepalive_seconds=KEEPALIVE_SECONDS
    )


def _listed(origin: str) -> tuple[str, str, int]:
    """Scheme, host and port of an origin as the operator wrote it."""
    address = httpx2.URL(origin)
    if address.userinfo or address.raw_path not in (b"", b"/") or address.fragment:
        raise ValueError("an origin is a scheme, a host and at most a port")
    return _origin(address)


def _origin(address: httpx2.URL) -> tuple[str, str, int]:
    if address.scheme not in _PORTS or not address.host:
        raise ValueError("neither http nor https")
    return address.scheme, address.raw_host.decode(), address.port or _PORTS[address.scheme]


async def _whole(who: str, reply: httpx2.Response, bytes_max: int) -> bytes:
    """All of it, inflated. Raises `SourceFailed`, which begins with `who`, when it is too long.

    The client inflates in pieces of 1 MiB at the most, so that a bomb is found out by its first
    ones. Codings that it does not know would come as they are: they are told here.
    """
    if reply.headers.get("content-encoding", "identity").strip().lower() not in CODINGS:
        raise SourceFailed(f"{who}: resposta em codificação desconhecida")
    announced = reply.headers.get("content-length", "")
    # By its digits first: a number of thousands of them is refused by Python itself.
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > bytes_max):
        raise SourceFailed(f"{who}: resposta grande demais")
    body = bytearray()
    chunks = 0
    async for chunk in reply.aiter_bytes():
        body += chunk
        if len(body) > bytes_max:
            raise SourceFailed(f"{who}: resposta grande demais")
        chunks += 1
        if chunks > CHUNKS_MAX:
            raise SourceFailed(f"{who}: resposta em pedaços demais")
        if chunks % CHUNKS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return bytes(body)


def _turn(
    conversation: Exchange[T],
    said: HttpReply | SourceError | None,
    check: Callable[[T], T] | None,
    bill: _Bill | None = None,
) -> HttpRequest | _Concluded[T]:
    """One step of a conversation, and at its end the check of what it found.

    A request that failed is told to the conversation, too: it may go on. Who does not care for
    that fails with it.
    """
    if bill is not None and isinstance(said, HttpReply):
        bill.add(said)
    try:
        match said:
            case None:
                return next(conversation)
            case SourceError():
                return conversation.throw(said)
            case _:
                return conversation.send(said)
    except StopIteration as end:
        record: T | None = end.value
    if record is None or check is None:
        return _Concluded(record)
    try:
        return _Concluded(check(record))
    except SourceFailed as error:
        return _Concluded(None, error)


async def _read(reply: HttpReply, turn: Callable[[], T]) -> T:
    """Take the step that reads a reply: in place where that is quick, else in a thread."""
    if _is_quick(reply.body):
        return turn()
    return await asyncio.get_running_loop().run_in_executor(_reader, turn)


def _is_quick(content: bytes) -> bool:
    return (
        len(content) <= READ_IN_PLACE_BYTES_MAX
        and content.count(b"{") + content.count(b"[") + content.count(b"<")
        <= READ_IN_PLACE_PARTS_MAX
    )


def _out_of_time(name: str, conversation: Exchange[T]) -> SourceError:
    """The failure, as the conversation sees it; there is no time to go on."""
    late = SourceFailed(f"{name}: tempo esgotado")
    try:
        conversation.throw(late)
    except SourceError as error:
        return error
    except Exception:  # it returned, or stumbled
        return late
    return late


def _untrusted(error: BaseException | None) -> bool:
    """Whether it comes of a server certificate that nobody we know has signed."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _kind(error: BaseException) -> str:
    return type(error).__name__


def _whereabouts(error: Exception) -> str:
    """Kind of the error and the line of ours it came from."""
    place: TracebackType | None = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return _kind(error)
    return f"{_kind(error)}, {PurePath(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
