"""Asking the sources of a subject in turn. What follows from each outcome: `core.routing`."""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import TypeAlias, TypeGuard, cast

import msgspec
import structlog

from balcao.core import routing
from balcao.core.documents import Cnpj
from balcao.core.errors import (
    NewIssueRefused,
    OriginRefused,
    SourceError,
    SourceFailed,
    SourceUnavailable,
)
from balcao.core.questions import Inquiry, Part, Subject
from balcao.core.registration import Registrations, merged
from balcao.core.routing import Answered, GoOn, Kind, Outcome, Verdict
from balcao.operations import OPERATIONS
from balcao.sources.contract import Absent, Answer, Finished, Found, LocalSource, OnlineSource
from balcao.sources.flight import SingleFlight
from balcao.sources.upstream import SourceCall, SourceOutcome

log = structlog.get_logger()

Source: TypeAlias = LocalSource | OnlineSource
InFlight: TypeAlias = asyncio.Task[Answer | SourceError]
HeadOfficeOf: TypeAlias = Callable[[Cnpj], Awaitable[Cnpj]]

# A source is told a little less than it has, so that its own clock rings first and the failure
# is counted where it happened; ours is for sources that do not keep their time.
TOLD_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The sources of one subject, in the order of asking."""

    sources: tuple[Source, ...]
    leading: tuple[LocalSource, ...]  # local ones before the first online one
    only_local: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one source said, as routing sees it and as it is."""

    outcome: Outcome
    answer: Answer | None
    seconds: float = 0.0


_EDITION = attrgetter("edition")
_NO_SOURCES = SourceOrder((), (), only_local=False)

# What is neither is an absence of some kind.
_MEASURED: Mapping[Kind, SourceOutcome] = {Kind.FOUND: "found", Kind.FAILED: "failed"}


async def first_establishment(cnpj: Cnpj) -> Cnpj:
    """Return the establishment of order 0001, the head office unless it was moved."""
    return cnpj.first_establishment


class Sources:
    """All sources of one mode, by subject. Everybody who asks anything asks here."""

    def __init__(
        self,
        order: Mapping[Subject, Sequence[Source]],
        *,
        source_timeout_seconds: float = inf,
        observe: Callable[[SourceCall], None] = lambda call: None,
        clock: Callable[[], float] = time.monotonic,
        head_office_of: HeadOfficeOf = first_establishment,
    ) -> None:
        """`source_timeout_seconds` is for each of them while others may follow.

        `observe` hears of local sources; online ones are measured where they are called.
        `head_office_of` finds the establishment that sources are asked about for a whole company.
        """
        self._routes = {subject: _route(sources) for subject, sources in order.items()}
        self._source_timeout_seconds = source_timeout_seconds
        self._observe = observe
        self._clock = clock
        self._head_office_of = head_office_of
        self._flights: SingleFlight[Answer] = SingleFlight()

    def edition(self, subject: Subject) -> Hashable:
        """Which editions of our own copies `at_hand` reads; another value, another reading."""
        leading = self._routes.get(subject, _NO_SOURCES).leading
        if len(leading) == 1:
            return leading[0].edition
        return tuple(map(_EDITION, leading))

    def at_hand(self, inquiry: Inquiry) -> Answer | None:
        """What our own copies say in place, where the order puts them first; None: `ask`.

        An absence is returned only where no other source could deny it.
        """
        route = self._route(inquiry)
        outcomes: list[Outcome] = []
        for position, source in enumerate(route.leading, start=1):
            asked = self._asked_in_place(source, inquiry)
            if asked is None:
                continue
            outcomes.append(asked.outcome)
            more = position < len(route.sources)
            verdict = routing.decide(outcomes, more=more, only_local=route.only_local)
            if isinstance(verdict, Answered):
                self._measure(asked)
                return _answer(verdict, asked)
        return None

    def finished(self, inquiry: Inquiry) -> tuple[Finished, float] | None:
        """What our own copy has ready to be sent, if it is the first in the order; as `at_hand`.

        And the seconds it took to read, which `count_finished` is told if it is used.
        """
        leading = self._route(inquiry).leading
        if not leading:
            return None
        started = self._clock()
        finished = leading[0].finished(inquiry)
        return None if finished is None else (finished, self._clock() - started)

    def count_finished(self, subject: Subject, seconds: Sequence[float]) -> None:
        """Finished answers of a subject were used; one at least."""
        name, (first, *others) = self._routes[subject].leading[0].name, seconds
        self._observe(SourceCall(name, "found", first, subject, others_seconds=others))

    def who_is_asked(self, inquiry: Inquiry) -> Sequence[str]:
        """The names of those who may be asked about it, in the order of asking."""
        return [source.name for source in self._able(inquiry)]

    def asks_nobody(self, inquiry: Inquiry) -> bool:
        """Whether nobody but our own copies serves it, so that `ask` costs nobody anything."""
        return all(map(_is_local, self._able(inquiry)))

    def _able(self, inquiry: Inquiry) -> Sequence[Source]:
        """Return the sources for an inquiry; for a whole company, those of order 0001."""
        if inquiry.of_company and isinstance(inquiry.document, Cnpj):
            inquiry = inquiry.about_establishment(inquiry.document.first_establishment)
        return _Asking(self._route(inquiry), inquiry, inf).able

    def in_flight(self, inquiry: Inquiry) -> InFlight | None:
        """The same inquiry, if it is being asked at this moment: `ask` may join it."""
        return self._flights.in_flight(inquiry.flight_key)

    async def ask(
        self, inquiry: Inquiry, joining: InFlight | None = None, *, until: float = inf
    ) -> Answer:
        """Ask in turn, or wait for what is `joining`. Raises `SourceUnavailable`, `SourceFailed`.

        The same inquiry by many callers at once asks once; a caller that is cancelled stops
        waiting and leaves the asking to the others. All sources together are asked `until` then,
        by the event loop's clock, as the caller said who began it; nobody who joins waits longer
        than until their own.
        """
        if joining is not None:
            return await self._flights.result(joining, until)
        return await self._flights.do(
            inquiry.flight_key, lambda: self._ask_all_needed(inquiry, until), until
        )

    async def close(self) -> None:
        """Give up what is in flight, when the process stops."""
        await self._flights.close()

    async def _ask_all_needed(self, inquiry: Inquiry, until: float) -> Answer:
        """Ask in turn; then ask others for what the one that answered does not know."""
        if inquiry.of_company and isinstance(inquiry.document, Cnpj):
            head_office = await self._head_office_of(inquiry.document)
            inquiry = inquiry.about_establishment(head_office)
        asking = _Asking(self._route(inquiry), inquiry, until)
        answer = await self._in_turn(asking, asking.able)
        if isinstance(answer, Found) and isinstance(answer.record, Registrations):
            if not answer.record.inscricoes and inquiry.addresses:
                # Nothing registered, nothing to have an address: asked for, and complete.
                record = msgspec.structs.replace(answer.record, com_endereco=True)
                return dataclasses.replace(answer, record=record)
            for part in asking.lacking(answer, answer.record):
                answer = await self._filled_in(asking, answer, part)
        return answer

    async def _filled_in(self, asking: "_Asking", answer: Found, part: Part) -> Found:
        """The registrations, with one more part of them told by those who know it.

        One after the other and not at once: a company is registered in one UF or two of 27, and
        the second source is paid, or throttled, per question. What it cannot tell stays out.
        """
        able = asking.who_knows(part)
        try:
            filling = await self._in_turn(asking, able) if able else None
        except SourceError as error:
            log.warning("source.incomplete", source=answer.source, part=part, detail=error.detail)
            filling = None
        if not isinstance(filling, Found):
            # Where nobody knows more than this, it is complete.
            complete = answer.complete and not asking.somebody_knows(part)
            return dataclasses.replace(answer, complete=complete)
        assert isinstance(filling.record, Registrations)
        assert isinstance(answer.record, Registrations)
        # Which gave what: the event of the request says it, and the entry that is kept.
        source = f"{answer.source}+{filling.source}({part})"
        record = merged(answer.record, filling.record)
        return dataclasses.replace(answer, record=record, source=source)

    async def _in_turn(self, asking: "_Asking", able: Sequence[Source]) -> Answer:
        now = asyncio.get_running_loop().time
        only_local = asking.route.only_local
        issuing = OPERATIONS[asking.inquiry.subject].issues
        outcomes: list[Outcome] = []
        last: _Asked | None = None
        for position, source in enumerate(able, start=1):
            more = position < len(able)
            asking.asked.add(source.name)
            if _is_local(source):
                in_place = self._asked_in_place(source, asking.inquiry)
                if in_place is None:
                    continue
                last = in_place
                self._measure(last)
            else:
                # Nobody follows on a failed issuance, so it may take all the time there is.
                follows = more and not issuing
                patience = now() + self._source_timeout_seconds if follows else inf
                limit = min(asking.until, patience)
                last = await _asked(cast(OnlineSource, source), asking.inquiry, limit)
            outcomes.append(last.outcome)
            more = more and now() < asking.until
            verdict = routing.decide(outcomes, more=more, only_local=only_local, issuing=issuing)
            if not isinstance(verdict, GoOn):
                return _answer(verdict, last)
        # Nobody was asked, or the last in the order had nothing to say to such an inquiry.
        verdict = routing.decide(outcomes, more=False, only_local=only_local)
        return _answer(verdict, last)

    def _asked_in_place(self, source: LocalSource, inquiry: Inquiry) -> _Asked | None:
        started, name = self._clock(), source.name
        try:
            answer = source.find(inquiry)
        except Exception as error:  # a broken file of ours is no reason not to ask the others
            detail = f"{name}: {type(error).__name__}"
            failed = Outcome(name, Kind.FAILED, local=True, detail=detail)
            return _Asked(failed, None, self._clock() - started)
        if answer is None:
            return None
        outcome = Outcome(name, _kind_of(answer), local=True)
        return _Asked(outcome, answer, self._clock() - started)

    def _measure(self, asked: _Asked) -> None:
        source, kind, detail = asked.outcome.source, asked.outcome.kind, asked.outcome.detail
        outcome = _MEASURED.get(kind, "absent")
        self._observe(SourceCall(source, outcome, asked.seconds, detail=detail))

    def _route(self, inquiry: Inquiry) -> SourceOrder:
        return self._routes.get(inquiry.subject, _NO_SOURCES)


class _Asking:
    """One inquiry on its way through the sources of a subject."""

    def __init__(self, route: SourceOrder, inquiry: Inquiry, until: float) -> None:
        self.route = route
        self.inquiry = inquiry
        self.until = until
        self.able = [
            source for source in route.sources if _is_local(source) or _serves(source, inquiry)
        ]
        self.asked: set[str] = set()

    def lacking(self, answer: Found, record: Registrations) -> Sequence[Part]:
        """What was wanted of registrations and the source that answered does not know."""
        if not record.inscricoes:
            return ()
        known = (source for source in self.able if source.name == answer.source)
        wanted = OPERATIONS[self.inquiry.subject].parts(self.inquiry)
        return sorted(wanted.difference(*(source.parts for source in known)))

    def somebody_knows(self, part: Part) -> bool:
        """Whether any source that may be asked knows it."""
        return any(part in source.parts for source in self.able)

    def who_knows(self, part: Part) -> Sequence[Source]:
        """Those who know it and were not asked yet, in the order of asking."""
        return [each for each in self.able if part in each.parts and each.name not in self.asked]


@lru_cache
def _kind_is_local(kind: type[Source]) -> bool:
    return hasattr(kind, "find")


def _is_local(source: Source) -> TypeGuard[LocalSource]:
    """Asking for the protocol with `isinstance` takes 10 µs, for every source and every UF."""
    return _kind_is_local(type(source))


def _serves(source: Source, inquiry: Inquiry) -> bool:
    return cast(OnlineSource, source).serves(inquiry)


async def _asked(source: OnlineSource, inquiry: Inquiry, until: float) -> _Asked:
    """Ask one source until then, by the event loop's clock."""

    def failed(kind: Kind, detail: str, wait_seconds: int = 0) -> _Asked:
        outcome = Outcome(source.name, kind, detail=detail, retry_in_seconds=wait_seconds)
        return _Asked(outcome, None)

    now = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(until):
            answer = await source.ask(inquiry, now + (until - now) * TOLD_SHARE)
    except SourceUnavailable as error:
        return failed(Kind.UNAVAILABLE, error.detail, error.retry_in_seconds)
    except SourceFailed as error:
        return failed(Kind.FAILED, error.detail)
    except OriginRefused as error:
        another = isinstance(error, NewIssueRefused)
        return failed(Kind.ISSUED_ALREADY if another else Kind.REFUSED, error.detail)
    except TimeoutError:
        return failed(Kind.FAILED, f"{source.name}: tempo esgotado")
    return _Asked(Outcome(source.name, _kind_of(answer)), answer)


def _answer(verdict: Verdict, asked: _Asked | None) -> Answer:
    """Say what was concluded after the last source that was asked."""
    if isinstance(verdict, SourceError):
        raise verdict
    assert isinstance(verdict, Answered), "nobody is left to go on to"
    if not verdict.found:
        return Absent(verdict.source, conclusive=True)
    assert asked is not None
    assert asked.answer is not None
    return asked.answer


def _route(sources: Sequence[Source]) -> SourceOrder:
    leading: list[LocalSource] = []
    for source in sources:
        if not _is_local(source):
            break
        leading.append(source)
    return SourceOrder(tuple(sources), tuple(leading), only_local=len(leading) == len(sources))


def _kind_of(answer: Answer) -> Kind:
    if isinstance(answer, Found):
        return Kind.FOUND
    if not answer.conclusive:
        return Kind.PERHAPS_ABSENT
    return Kind.ABSENT_SO_FAR if answer.so_far else Kind.ABSENT
