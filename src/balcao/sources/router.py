"""Ask the sources of a subject in order. `core.routing` decides what follows from each outcome."""

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
    SourceError,
    SourceFailed,
    SourceRefused,
    SourceUnavailable,
)
from balcao.core.fgts_regularity import FgtsRegularity
from balcao.core.questions import Inquiry, Part, Subject
from balcao.core.registration import Registrations, merged
from balcao.core.routing import Answered, AskNext, Kind, Outcome, Verdict
from balcao.operations import OPERATIONS
from balcao.sources.contract import Absent, Answer, FinishedAnswer, Found, LocalSource, OnlineSource
from balcao.sources.single_flight import SingleFlight
from balcao.sources.upstream import SourceCall, SourceOutcome

log = structlog.get_logger()

Source: TypeAlias = LocalSource | OnlineSource
InFlight: TypeAlias = asyncio.Task[Answer | SourceError]
HeadOfficeOf: TypeAlias = Callable[[Cnpj], Awaitable[Cnpj]]

# A source gets a slightly earlier deadline than ours, so that its own timeout fires first and the
# failure is counted where it happened; ours is for sources that do not keep theirs.
DEADLINE_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The sources of one subject, in the configured order."""

    sources: tuple[Source, ...]
    leading: tuple[LocalSource, ...]  # local ones before the first online one
    only_local: bool


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of asking one source: its outcome for routing, and its answer."""

    outcome: Outcome
    answer: Answer | None
    seconds: float = 0.0


_EDITION = attrgetter("edition")
_NO_SOURCES = SourceOrder((), (), only_local=False)

# Every other kind is an absence.
_MEASURED: Mapping[Kind, SourceOutcome] = {Kind.FOUND: "found", Kind.FAILED: "failed"}


async def first_establishment(cnpj: Cnpj) -> Cnpj:
    """Return the establishment of order 0001, the head office unless it was moved."""
    return cnpj.first_establishment


class SourceRouter:
    """All sources of one mode, by subject: the only way to ask a source."""

    def __init__(
        self,
        order: Mapping[Subject, Sequence[Source]],
        *,
        source_timeout_seconds: float = inf,
        observe: Callable[[SourceCall], None] = lambda call: None,
        clock: Callable[[], float] = time.monotonic,
        head_office_of: HeadOfficeOf = first_establishment,
    ) -> None:
        """`source_timeout_seconds` limits each online source that has a successor.

        `observe` is called for local sources; online ones are measured by their upstreams.
        `head_office_of` finds the establishment to ask about for a whole company.
        """
        self._routes = {subject: _route(sources) for subject, sources in order.items()}
        self._source_timeout_seconds = source_timeout_seconds
        self._observe = observe
        self._clock = clock
        self._head_office_of = head_office_of
        self._flights: SingleFlight[Answer] = SingleFlight()

    def edition(self, subject: Subject) -> Hashable:
        """Return the editions that `local_answer` reads: its answers are valid while these stay."""
        leading = self._routes.get(subject, _NO_SOURCES).leading
        if len(leading) == 1:
            return leading[0].edition
        return tuple(map(_EDITION, leading))

    def local_answer(self, inquiry: Inquiry) -> Answer | None:
        """Return the answer of the local sources first in order; if None, the caller must `ask`.

        An absence is returned only if no other source could contradict it.
        """
        route = self._route(inquiry)
        outcomes: list[Outcome] = []
        for position, source in enumerate(route.leading, start=1):
            attempt = self._attempt_locally(source, inquiry)
            if attempt is None:
                continue
            outcomes.append(attempt.outcome)
            more = position < len(route.sources)
            verdict = routing.decide(outcomes, more=more, only_local=route.only_local)
            if isinstance(verdict, Answered):
                self._measure(attempt)
                return _answer(verdict, attempt)
        return None

    def finished(self, inquiry: Inquiry) -> tuple[FinishedAnswer, float] | None:
        """Return the encoded answer of a local source that is first, and the seconds it took.

        Pass the seconds to `count_finished` if the answer is used.
        """
        leading = self._route(inquiry).leading
        if not leading:
            return None
        started = self._clock()
        finished = leading[0].finished(inquiry)
        return None if finished is None else (finished, self._clock() - started)

    def count_finished(self, subject: Subject, seconds: Sequence[float]) -> None:
        """Count precomputed answers of a subject that were used, at least one, in the metrics."""
        name, (first, *others) = self._routes[subject].leading[0].name, seconds
        self._observe(SourceCall(name, "found", first, subject, further_seconds=others))

    def source_names(self, inquiry: Inquiry) -> Sequence[str]:
        """Return the names of the sources that may be asked, in order."""
        return [source.name for source in self._candidates(inquiry)]

    def is_local(self, inquiry: Inquiry) -> bool:
        """Return whether only local sources serve the inquiry, so that `ask` is free."""
        return all(map(_is_local, self._candidates(inquiry)))

    def _candidates(self, inquiry: Inquiry) -> Sequence[Source]:
        """Return the sources for an inquiry; for a whole company, those for establishment 0001."""
        if inquiry.of_company and isinstance(inquiry.document, Cnpj):
            inquiry = inquiry.about_establishment(inquiry.document.first_establishment)
        return _Pass(self._route(inquiry), inquiry, inf).candidates

    def in_flight(self, inquiry: Inquiry) -> InFlight | None:
        """Return the running task for an equal inquiry, which `ask` can join, or None."""
        return self._flights.in_flight(inquiry.flight_key)

    async def ask(
        self, inquiry: Inquiry, joining: InFlight | None = None, *, deadline: float = inf
    ) -> Answer:
        """Ask the sources in order, or wait for the task `joining`.

        Concurrent callers of an equal inquiry share one task; cancelling a caller does not stop
        it. `deadline` is by the event loop's clock: the first caller's ends the task, a later
        caller's only its own waiting. Raises `SourceUnavailable` or `SourceFailed`.
        """
        if joining is not None:
            return await self._flights.result(joining, deadline)
        return await self._flights.do(
            inquiry.flight_key, lambda: self._ask_with_parts(inquiry, deadline), deadline
        )

    async def close(self) -> None:
        """Cancel the running tasks, at shutdown."""
        await self._flights.close()

    async def _ask_with_parts(self, inquiry: Inquiry, deadline: float) -> Answer:
        """Ask in order, then ask other sources for the parts that the first answer lacks."""
        if inquiry.of_company and isinstance(inquiry.document, Cnpj):
            head_office = await self._head_office_of(inquiry.document)
            inquiry = inquiry.about_establishment(head_office)
        state = _Pass(self._route(inquiry), inquiry, deadline)
        answer = await self._ask_in_order(state, state.candidates)
        if isinstance(answer, Found) and isinstance(answer.record, Registrations):
            if not answer.record.inscricoes and inquiry.addresses:
                # without registrations there is no address to add: the answer is complete
                record = msgspec.structs.replace(answer.record, com_endereco=True)
                return dataclasses.replace(answer, record=record)
            for part in state.missing_parts(answer, answer.record):
                answer = await self._with_part(state, answer, part)
        if isinstance(answer, Found) and isinstance(answer.record, FgtsRegularity):
            return await self._of_head_office(inquiry, answer, answer.record, deadline)
        return answer

    async def _of_head_office(
        self, inquiry: Inquiry, answer: Found, record: FgtsRegularity, deadline: float
    ) -> Answer:
        """Return the head office's answer if Caixa has no record of the branch (contract 4.14)."""
        branch = inquiry.document
        if record.situation != "nao_cadastrado" or not isinstance(branch, Cnpj):
            return answer
        head_office = await self._head_office_of(branch)
        if head_office == branch:
            return answer
        inquiry = inquiry.about_establishment(head_office)
        state = _Pass(self._route(inquiry), inquiry, deadline)
        try:
            other = await self._ask_in_order(state, state.candidates)
        except SourceUnavailable as error:
            # the first call was billed: the lookup must not be repeated by itself
            raise SourceFailed(f"{error.detail}, depois da consulta pela filial") from None
        if not isinstance(other, Found) or not isinstance(other.record, FgtsRegularity):
            return answer
        return answer if other.record.situation == "nao_cadastrado" else other

    async def _with_part(self, state: "_Pass", answer: Found, part: Part) -> Found:
        """Return the registrations with one more part, from another source if one provides it.

        Asked only after the first answer: a company is registered in one or two of 27 UFs, and
        the second source charges, or throttles, each request.
        """
        candidates = state.remaining_with(part)
        try:
            addition = await self._ask_in_order(state, candidates) if candidates else None
        except SourceError as error:
            log.warning("source.incomplete", source=answer.source, part=part, detail=error.detail)
            addition = None
        if not isinstance(addition, Found):
            # complete if no source provides the part
            complete = answer.complete and not state.any_provides(part)
            return dataclasses.replace(answer, complete=complete)
        assert isinstance(addition.record, Registrations)
        assert isinstance(answer.record, Registrations)
        # shown in the request's event and stored with the cache entry
        source = f"{answer.source}+{addition.source}({part})"
        record = merged(answer.record, addition.record)
        return dataclasses.replace(answer, record=record, source=source)

    async def _ask_in_order(self, state: "_Pass", candidates: Sequence[Source]) -> Answer:
        now = asyncio.get_running_loop().time
        only_local = state.route.only_local
        issuing = OPERATIONS[state.inquiry.subject].issues
        outcomes: list[Outcome] = []
        last: _Attempt | None = None
        for position, source in enumerate(candidates, start=1):
            more = position < len(candidates)
            state.asked.add(source.name)
            if _is_local(source):
                in_place = self._attempt_locally(source, state.inquiry)
                if in_place is None:
                    continue
                last = in_place
                self._measure(last)
            else:
                # no source follows a failed issuance, so it may use all the time
                has_successor = more and not issuing
                source_deadline = now() + self._source_timeout_seconds if has_successor else inf
                limit = min(state.deadline, source_deadline)
                last = await _attempt(cast(OnlineSource, source), state.inquiry, limit)
            outcomes.append(last.outcome)
            more = more and now() < state.deadline
            verdict = routing.decide(outcomes, more=more, only_local=only_local, issuing=issuing)
            if not isinstance(verdict, AskNext):
                return _answer(verdict, last)
        # no source was asked, or the last one could not answer such an inquiry
        verdict = routing.decide(outcomes, more=False, only_local=only_local)
        return _answer(verdict, last)

    def _attempt_locally(self, source: LocalSource, inquiry: Inquiry) -> _Attempt | None:
        started, name = self._clock(), source.name
        try:
            answer = source.find(inquiry)
        except Exception as error:  # with a broken file of ours, the other sources are still asked
            detail = f"{name}: {type(error).__name__}"
            failed = Outcome(name, Kind.FAILED, local=True, detail=detail)
            return _Attempt(failed, None, self._clock() - started)
        if answer is None:
            return None
        outcome = Outcome(name, _kind_of(answer), local=True)
        return _Attempt(outcome, answer, self._clock() - started)

    def _measure(self, attempt: _Attempt) -> None:
        source, kind, detail = attempt.outcome.source, attempt.outcome.kind, attempt.outcome.detail
        outcome = _MEASURED.get(kind, "absent")
        self._observe(SourceCall(source, outcome, attempt.seconds, detail=detail))

    def _route(self, inquiry: Inquiry) -> SourceOrder:
        return self._routes.get(inquiry.subject, _NO_SOURCES)


class _Pass:
    """State of one inquiry while the sources of its subject are asked."""

    def __init__(self, route: SourceOrder, inquiry: Inquiry, deadline: float) -> None:
        self.route = route
        self.inquiry = inquiry
        self.deadline = deadline
        self.candidates = [
            source for source in route.sources if _is_local(source) or _serves(source, inquiry)
        ]
        self.asked: set[str] = set()  # names

    def missing_parts(self, answer: Found, record: Registrations) -> Sequence[Part]:
        """Return the requested parts that the source of the answer does not provide."""
        if not record.inscricoes:
            return ()
        known = (source for source in self.candidates if source.name == answer.source)
        wanted = OPERATIONS[self.inquiry.subject].parts(self.inquiry)
        return sorted(wanted.difference(*(source.parts for source in known)))

    def any_provides(self, part: Part) -> bool:
        """Return whether any candidate provides the part."""
        return any(part in source.parts for source in self.candidates)

    def remaining_with(self, part: Part) -> Sequence[Source]:
        """Return the candidates that provide the part and were not asked yet, in order."""
        return [
            each for each in self.candidates if part in each.parts and each.name not in self.asked
        ]


@lru_cache
def _is_local_type(kind: type[Source]) -> bool:
    return hasattr(kind, "find")


def _is_local(source: Source) -> TypeGuard[LocalSource]:
    # `isinstance` with the protocol takes 10 µs, for every source and every UF
    return _is_local_type(type(source))


def _serves(source: Source, inquiry: Inquiry) -> bool:
    return cast(OnlineSource, source).serves(inquiry)


async def _attempt(source: OnlineSource, inquiry: Inquiry, deadline: float) -> _Attempt:
    """Ask one source, until a deadline by the event loop's clock."""

    def failed(kind: Kind, detail: str, wait_seconds: int = 0) -> _Attempt:
        outcome = Outcome(source.name, kind, detail=detail, retry_in_seconds=wait_seconds)
        return _Attempt(outcome, None)

    now = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(deadline):
            answer = await source.ask(inquiry, now + (deadline - now) * DEADLINE_SHARE)
    except SourceUnavailable as error:
        return failed(Kind.UNAVAILABLE, error.detail, error.retry_in_seconds)
    except SourceFailed as error:
        return failed(Kind.FAILED, error.detail)
    except SourceRefused as error:
        another = isinstance(error, NewIssueRefused)
        return failed(Kind.ISSUED_ALREADY if another else Kind.REFUSED, error.detail)
    except TimeoutError:
        return failed(Kind.FAILED, f"{source.name}: tempo esgotado")
    return _Attempt(Outcome(source.name, _kind_of(answer)), answer)


def _answer(verdict: Verdict, attempt: _Attempt | None) -> Answer:
    """Return the answer, or raise the error, that routing concluded after the last attempt."""
    if isinstance(verdict, SourceError):
        raise verdict
    assert isinstance(verdict, Answered), "no source is left"
    if not verdict.found:
        return Absent(verdict.source, conclusive=True)
    assert attempt is not None
    assert attempt.answer is not None
    return attempt.answer


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
