"""Helpers for tests of adapters: inquiries, replies, conversations, and fake sources."""

import asyncio
import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from math import inf
from typing import Any, TypeVar

import httpx2

from balcao.core.breaker import BreakerSettings
from balcao.core.company import Company
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceError
from balcao.core.questions import Inquiry, Part, Record, Subject
from balcao.core.registration import Registration, Registrations
from balcao.core.suframa import ZoneRecord
from balcao.sources.contract import Absent, Answer, Found, HttpReply, HttpRequest
from balcao.sources.upstream import SourceCall, Upstream
from tests.records import CPF, NAME

CNPJ = "11222333000181"
LETTERS = "12ABC34501DE35"
NOW = datetime(2026, 8, 5, 13, 15, 30, tzinfo=UTC)

R = TypeVar("R", Company, Registrations, ZoneRecord)
T = TypeVar("T")


def an_inquiry(cnpj: str = CNPJ, *, full_partners: bool = False) -> Inquiry:
    return Inquiry("company", Cnpj.parse(cnpj), full_partners=full_partners)


def a_uf(
    uf: str = "SC", document: str = CNPJ, *, subject: Subject | None = None, addresses: bool = False
) -> Inquiry:
    """Return an inquiry about a document's registrations in one UF."""
    if len(document) == len(CPF):
        of: Cnpj | Cpf = Cpf.parse(document)
        return Inquiry(subject or "rural_producer", of, uf, addresses=addresses)
    of = Cnpj.parse(document)
    return Inquiry(subject or "state_registration", of, uf, addresses=addresses)


def a_zone_inquiry(cnpj: str = CNPJ) -> Inquiry:
    return Inquiry("suframa", Cnpj.parse(cnpj))


def a_company(cnpj: str = CNPJ, **fields: Any) -> Company:
    known = {"nome_empresarial": NAME, "situacao_cadastral": "ATIVA"}
    return Company(cnpj=cnpj, **(known | fields))


def registrations(uf: str = "SC", *numbers: str, document: str = CNPJ) -> Registrations:
    """Return active registrations of a fictitious company in one UF."""
    return Registrations(
        document,
        uf,
        nome=NAME,
        inscricoes=tuple(Registration(number, uf, ativa=True) for number in numbers),
    )


def record_of(answer: Answer, kind: type[R]) -> R:
    """Return the record that was found."""
    assert isinstance(answer, Found)
    assert isinstance(answer.record, kind)
    return answer.record


def a_reply(status: int, body: Any = b"", **headers: str) -> HttpReply:
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpReply(status, named, raw)


def run_conversation(
    conversation: Generator[HttpRequest, HttpReply, T], *replies: HttpReply
) -> tuple[list[HttpRequest], T]:
    """Run a conversation with saved replies, and return its requests and its result."""
    requests = [next(conversation)]
    for reply in replies:
        try:
            requests.append(conversation.send(reply))
        except StopIteration as end:
            return requests, end.value
    raise AssertionError("the conversation needs more replies than were saved")


class Measured(list[SourceCall]):
    """A list of measurements, with their outcomes."""

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self]


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def an_upstream(
    transport: httpx2.AsyncBaseTransport | Callable[[httpx2.Request], Any],
    *,
    timeout_seconds: float = 5.0,
    answer_bytes_max: int = 100_000,
    breaker_settings: BreakerSettings | None = None,
    clock: Callable[[], float] | None = None,
    observe: Callable[[SourceCall], None] = lambda call: None,
    base_url: str = "http://upstream.test/prefix/",
    name: str = "acme",
    origins: frozenset[str] | None = None,
) -> Upstream:
    if not isinstance(transport, httpx2.AsyncBaseTransport):
        transport = httpx2.MockTransport(transport)
    return Upstream(
        name,
        base_url,
        timeout_seconds=timeout_seconds,
        answer_bytes_max=answer_bytes_max,
        breaker_settings=breaker_settings,
        clock=clock or Clock(),
        observe=observe,
        origins=origins,
        transport=transport,
    )


class FakeOnline:
    """A fake online source with configurable answers, errors and delays."""

    def __init__(
        self,
        name: str = "acme",
        *,
        record: Record | None = None,
        absent: bool | None = None,
        error: SourceError | None = None,
        bug: Exception | None = None,
        delay_seconds: float = 0.0,
        gate: asyncio.Event | None = None,
        serves: bool = True,
        parts: frozenset[Part] = frozenset(),
    ) -> None:
        self.name = name
        self.parts = parts
        self.asked = 0
        self.was_asked = asyncio.Event()
        self.finished = 0
        self._record = record
        self._absent = absent
        self._error = error
        self._bug = bug
        self._delay_seconds = delay_seconds
        self._gate = gate
        self._serves = serves

    def serves(self, inquiry: Inquiry) -> bool:
        return self._serves

    async def ask(self, inquiry: Inquiry, deadline: float = inf) -> Answer:
        self.asked += 1
        self.was_asked.set()
        await asyncio.sleep(self._delay_seconds)
        if self._gate is not None:
            await self._gate.wait()
        self.finished += 1
        if self._bug is not None:
            raise self._bug
        if self._error is not None:
            raise self._error
        if self._absent is not None:
            return Absent(self.name, conclusive=self._absent)
        return Found(self._record or a_company(inquiry.document.text), self.name, NOW)


class FakeLocal:
    """A fake local source that has the `known` documents."""

    def __init__(
        self,
        name: str = "snapshot",
        *,
        known: tuple[str, ...] = (),
        able: bool = True,
        broken: bool = False,
    ) -> None:
        self.name = name
        self.parts: frozenset[Part] = frozenset()
        self.edition = 1
        self._known = known
        self._able = able
        self._broken = broken

    def find(self, inquiry: Inquiry) -> Answer | None:
        if self._broken:
            raise OSError("disk I/O error")
        if not self._able:
            return None
        if inquiry.document.text in self._known:
            return Found(a_company(inquiry.document.text), self.name, NOW)
        return Absent(self.name, conclusive=False)

    def finished(self, inquiry: Inquiry) -> None:
        return None
