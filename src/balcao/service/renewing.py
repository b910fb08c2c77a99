"""Renewals of certificates, bought by their portfolios (contract 20.6)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.business_days import load_holidays
from balcao.core.calendar import civil_day
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    BirthDateRequired,
    CallerError,
    Overloaded,
    SourceUnavailable,
    StillRunning,
)
from balcao.core.paper_notices import failure_event
from balcao.core.paper_updates import bought
from balcao.core.papers import BOUGHT_BY, PaperKind
from balcao.core.purchases import UNPLANNED_MS
from balcao.core.questions import Mode, Question
from balcao.core.renewals import (
    POSTPONED_MS,
    Renews,
    after_failure,
    confirmed_ms,
    query_of,
    renewal_key,
)
from balcao.lookup.context import Parts, PortfolioTime
from balcao.lookup.reissuing import can_reissue
from balcao.lookup.wallet import SealedPerson
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.service.purchasing import Purchasing, Stopped, tags_of
from balcao.storage.desk.wallet.renewals import PLANNED_AT_ONCE, RENEW, PaperRenewal, Renewals

log = structlog.get_logger()

PLAN_SECONDS = 20.0
MORE_SECONDS = 0.2
AT_ONCE = 4  # certificates of one process
BUSY_SECONDS = 20.0
PROBE_LATE_MS = 2 * POSTPONED_MS  # then another certificate takes its place

# Statuses of answers that are charged: a certificate, or a proof that there is none.
_ANSWERED = frozenset({200, 404})


class _Probe(NamedTuple):
    """The certificate that is tried while its source is down, and when it last was."""

    paper_id: str
    at_ms: int


_SourceKey: TypeAlias = tuple[Mode, PaperKind, str]


@dataclass(slots=True)
class Renewing:
    """Plans the renewals of all portfolios, and buys those of a certificate."""

    purchasing: Purchasing
    unavailable: Callable[[Caller, Question], bool]  # the circuits of all its sources are open
    open_person: Callable[[bytes], SealedPerson | None]
    count: Callable[[str], None] = lambda outcome: None  # of an attempt
    parts: Parts = field(init=False)
    _stored: Renewals = field(init=False)
    _loaded_year: int = 0  # whose holidays are loaded
    _down: dict[_SourceKey, _Probe] = field(default_factory=dict)  # sources known to be down

    def __post_init__(self) -> None:
        self.parts = self.purchasing.parts
        self._stored = self.parts.desk.renewals
        self.purchasing.oldest_due.append(self.oldest_due)

    def jobs(self) -> JobKind:
        """Return the kind of its jobs."""
        return JobKind(RENEW, self.run, AT_ONCE, poll_seconds=PLAN_SECONDS)

    def periodic(self) -> Periodic:
        """Return the periodic work that plans and enqueues."""
        return Periodic("renewals", self.plan, PLAN_SECONDS)

    async def plan(self) -> float | None:
        """Plan certificates without an instant, enqueue due ones. Raises `StorageFailed`."""
        now_ms = self.parts.now_ms()
        if await self._stored.has_unplanned():
            await self.prepare(now_ms)
        planned = await self._stored.plan(now_ms, self.reissues)
        due = await self._stored.enqueue_due(now_ms)
        return MORE_SECONDS if PLANNED_AT_ONCE in {planned, due} else None

    def reissues(self, mode: Mode, is_person: bool) -> bool:
        """Return whether a federal source issues new certificates while one is in force."""
        return can_reissue(self.parts, mode, is_person=is_person)

    async def run(self, paper_id: str) -> float | None:
        """Renew a certificate that is due. Raises `StorageFailed`."""
        return await self.run_at(paper_id, None)

    async def run_at(self, paper_id: str, clock: PortfolioTime | None) -> float | None:
        """Renew a certificate that is due by its portfolio's clock; None: in real time.

        Returns the seconds until it should be called again. Raises `StorageFailed`.
        """
        due, now_ms = await self._stored.one(paper_id), self.purchasing.now_ms(clock)
        if due is None or not due.may_buy:
            return None
        if due.clock_run != (None if clock is None else clock.run):
            return None
        paper = due.paper
        if paper.next_ms is None or not UNPLANNED_MS < paper.next_ms <= now_ms:
            return None
        await self.prepare(now_ms)
        able = self.reissues(due.mode, due.is_person)
        later_ms = confirmed_ms(paper, due.terms, now_ms, reissues=able)
        if later_ms != paper.next_ms:
            await self._stored.postpone(paper, later_ms)
            return None
        try:
            reason = await self._failure(due, now_ms, clock, reissues=able)
        except (Overloaded, StillRunning):
            await self._stored.postpone(paper, paper.next_ms)
            return BUSY_SECONDS
        except Stopped as stopped:
            self.count("parada")
            await self._stored.postpone(paper, paper.next_ms)
            await self.purchasing.stop(due.paper.account_id, stopped, clock)
            return None
        if reason is None:
            return None
        failed = after_failure(paper, reason, due.terms, now_ms, reissues=able)
        if self._down.get(_source_key(due)) == _Probe(paper.paper_id, now_ms):
            failed = msgspec.structs.replace(failed, next_ms=now_ms + POSTPONED_MS)
        event = failure_event(paper, failed, civil_day(now_ms))
        await self._stored.finish(paper, failed, event, now_ms)
        return None

    async def oldest_due(self, account_id: int, caller: Caller, now_ms: int) -> Question | None:
        """Return the question of an account that has been due for longest."""
        due = await self._stored.first_due(account_id, now_ms)
        if due is None:
            return None
        try:
            able = self.reissues(due.mode, due.is_person)
            return self._question(due, caller, reissues=able)
        except CallerError:
            return None  # its job postpones it

    async def prepare(self, now_ms: int) -> None:
        """Load the holidays of a year, so that neither event loop nor writer waits for them."""
        year = civil_day(now_ms).year
        if year != self._loaded_year:
            await asyncio.to_thread(load_holidays, year)
            self._loaded_year = year

    async def _failure(
        self, due: PaperRenewal, now_ms: int, clock: PortfolioTime | None, *, reissues: bool
    ) -> str | None:
        """Buy a certificate. Return the code of the failure; None: there was none, or no attempt.

        Raises `Stopped`, `Overloaded`, `StillRunning`.
        """
        paper = due.paper
        assert due.item_id is not None
        caller = await self.purchasing.buyer(paper.account_id, due.buyer_key_id, due.buyer_user_id)
        try:
            question = self._question(due, caller, reissues=reissues)
            if self._is_down(due, caller, question):
                if paper.failures:
                    await self._stored.postpone(paper, now_ms + POSTPONED_MS)
                    return None
                self.count("falha")
                return SourceUnavailable.code
            if not await self._stored.begin(paper, now_ms):
                return None
            renews = Renews(paper.paper_id, due.terms, reissues)
            reply = await self.purchasing.ask(
                question,
                caller,
                renewal_key(due.item_id, paper, due.clock_run),
                tags_of(due.client, due.reference, renews),
                clock,
            )
        except (Overloaded, StillRunning):
            raise
        except CallerError as refused:  # such as an operation that the key may not use
            log.warning("renewal.refused", kind=paper.kind, error=type(refused).__name__)
            self.count("recusada")
            return refused.code
        if reply.status not in _ANSWERED:
            self.count("falha")
            if self._is_down(due, caller, question):
                self._choose_probe(due, now_ms)
            return reply.code or SourceUnavailable.code
        self.count("respondida")
        # The charge has changed the certificate, unless its answer could not be read.
        charged = msgspec.structs.replace(bought(paper), failures=0, reason=None)
        await self._stored.finish(paper, charged, None, now_ms)
        await self._note_answer(due, now_ms)
        return None

    def _is_down(self, due: PaperRenewal, caller: Caller, question: Question) -> bool:
        """Return whether all sources of a question are known to be down, and remember it."""
        # The first certificate may be in the cache, and a clock's sandbox has no circuits.
        if due.paper.verdict is None or due.clock_run is not None:
            return False
        if not self.unavailable(caller, question):
            return False
        self._down.setdefault(_source_key(due), _Probe(due.paper.paper_id, 0))
        return True

    def _choose_probe(self, due: PaperRenewal, now_ms: int) -> None:
        """Let a certificate be the one that is tried while its source is down, if none is."""
        source, paper_id = _source_key(due), due.paper.paper_id
        probe = self._down[source]
        if probe.paper_id == paper_id or probe.at_ms <= now_ms - PROBE_LATE_MS:
            self._down[source] = _Probe(paper_id, now_ms)

    async def _note_answer(self, due: PaperRenewal, now_ms: int) -> None:
        """Try again what has failed, if a source that was down answers again."""
        source = _source_key(due)
        if due.clock_run is None and self._down.pop(source, None) is not None:
            await self._stored.wake(*source, now_ms)

    def _question(self, due: PaperRenewal, caller: Caller, *, reissues: bool) -> Question:
        """Return the question that renews a certificate. Raises `CallerError`."""
        assert due.document is not None
        paper, query = due.paper, dict(query_of(due.paper, reissues=reissues))
        document: Cnpj | Cpf
        if due.sealed is not None:
            person = self.open_person(due.sealed)
            if person is None:
                raise BirthDateRequired
            document = Cpf(person.cpf)
            if paper.kind == "certidao_federal":
                query["data_nascimento"] = (person.birth or "").replace("-", "")
        else:
            document = Cnpj(due.document)
        if paper.uf:
            query["uf"] = paper.uf
        subject = BOUGHT_BY[paper.kind]
        return self.purchasing.question(subject, document, query, caller, due.client)


def _source_key(due: PaperRenewal) -> _SourceKey:
    return due.mode, due.paper.kind, due.paper.uf
