"""Scheduled lookups of watched subjects, bought by their portfolios (contract 20.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj, Cpf, first_establishment
from balcao.core.errors import CallerError, CeilingOfClient, Overloaded, StillRunning
from balcao.core.purchases import retry_ms
from balcao.core.questions import Question, Strategy
from balcao.core.rechecks import Lookup, idempotency_key
from balcao.lookup.context import Parts, PortfolioTime
from balcao.lookup.wallet import SealedPerson
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.service.purchasing import Purchasing, Stopped, tags_of
from balcao.storage.desk.rechecks import PLANNED_AT_ONCE, RECHECK, RecheckItem, Rechecks

log = structlog.get_logger()

PLAN_SECONDS = 20.0
MORE_SECONDS = 0.2
AT_ONCE = 4  # items of one process
BUSY_SECONDS = 20.0
SOURCES_CLOSED_MS = 20 * 60_000  # before sources with open circuits are tried again

# Statuses of answers: a result, or a proven absence.
_ANSWERED = frozenset({200, 404})


@dataclass(slots=True)
class Rechecking:
    """Plans the scheduled lookups of all portfolios, and runs those of an item."""

    purchasing: Purchasing
    unavailable: Callable[[Caller, Question], bool]  # the circuits of all its sources are open
    open_person: Callable[[bytes], SealedPerson | None]
    count: Callable[[str], None] = lambda outcome: None  # of a lookup
    parts: Parts = field(init=False)
    _stored: Rechecks = field(init=False)

    def __post_init__(self) -> None:
        self.parts = self.purchasing.parts
        self._stored = self.parts.desk.rechecks
        self.purchasing.oldest_due.append(self.oldest_due)

    def jobs(self) -> JobKind:
        """Return the kind of its jobs."""
        return JobKind(RECHECK, self.run, AT_ONCE, poll_seconds=PLAN_SECONDS)

    def periodic(self) -> Periodic:
        """Return the periodic work that plans and enqueues."""
        return Periodic("rechecks", self.plan, PLAN_SECONDS)

    async def plan(self) -> float | None:
        """Plan new items, enqueue due items. Raises `StorageFailed`."""
        now_ms = self.parts.now_ms()
        planned = await self._stored.plan(now_ms)
        due = await self._stored.enqueue_due(now_ms)
        return MORE_SECONDS if PLANNED_AT_ONCE in {planned, due} else None

    async def run(self, item_id: str) -> float | None:
        """Look up what is due of an item. Raises `StorageFailed`."""
        return await self.run_at(item_id, None)

    async def run_at(self, item_id: str, clock: PortfolioTime | None) -> float | None:
        """Look up what is due of an item by its portfolio's clock; None: in real time.

        Returns the seconds until it should be called again. Raises `StorageFailed`.
        """
        item, now_ms = await self._stored.item(item_id), self.purchasing.now_ms(clock)
        if item is None or item.recheck_ms is None or not 0 < item.recheck_ms <= now_ms:
            return None
        if not item.may_buy or item.clock_run != (None if clock is None else clock.run):
            return None
        due = item.due_lookups(now_ms)
        failed = False
        try:
            caller = await self.purchasing.buyer(
                item.account_id, item.buyer_key_id, item.buyer_user_id
            )
            for lookup in due:
                if await self._is_answered(item, caller, lookup, clock):
                    now_ms = self.purchasing.now_ms(clock)
                    await self._stored.note_asked(item_id, lookup.topics, now_ms)
                else:
                    failed = True
        except (Overloaded, StillRunning):
            return BUSY_SECONDS
        except Stopped as stopped:
            self.count("parada")
            await self.purchasing.stop(item.account_id, stopped, clock)
            return None
        await self._finish(item, self.purchasing.now_ms(clock), failed=failed)
        return None

    async def _finish(self, item: RecheckItem, now_ms: int, *, failed: bool) -> None:
        if failed:
            attempts = item.attempts + 1
            await self._stored.finish(item, retry_ms(attempts, now_ms), attempts)
            return
        now = await self._stored.item(item.item_id)
        if now is not None:
            await self._stored.finish(item, now.next_ms(now_ms), 0)

    async def _is_answered(
        self, item: RecheckItem, caller: Caller, lookup: Lookup, clock: PortfolioTime | None
    ) -> bool:
        """Return whether a lookup was answered; False: try again later. Raises `Stopped`."""
        assert item.recheck_ms is not None
        try:
            question = self._question(item, caller, lookup)
            if question is None:
                return False
            if clock is None and self.unavailable(caller, question):
                raise Stopped("fonte", self.parts.now_ms() + SOURCES_CLOSED_MS)
            key = idempotency_key(item.item_id, lookup, item.recheck_ms, item.clock_run)
            tags = tags_of(item.client, item.reference)
            reply = await self.purchasing.ask(question, caller, key, tags, clock)
        except (Overloaded, StillRunning):
            raise
        except CeilingOfClient:
            self.count("parada")
            return False
        except CallerError as refused:  # such as an operation that the key may not use
            log.warning("recheck.refused", subject=lookup.subject, error=type(refused).__name__)
            self.count("recusada")
            return False
        answered = reply.status in _ANSWERED
        self.count("respondida" if answered else "falha")
        return answered

    def _question(self, item: RecheckItem, caller: Caller, lookup: Lookup) -> Question | None:
        """Return the question of a lookup; None: the person's data cannot be read.

        Raises `CallerError` if the buyer may not ask it.
        """
        document = self._document(item)
        if document is None:
            return None
        query = {} if lookup.uf is None else {"uf": lookup.uf}
        question = self.purchasing.question(lookup.subject, document, query, caller, item.client)
        # A kept answer brings no news.
        return msgspec.structs.replace(question, strategy=Strategy.SO_ONLINE, max_age_days=0)

    def _document(self, item: RecheckItem) -> Cnpj | Cpf | None:
        if item.sealed is not None:
            person = self.open_person(item.sealed)
            return None if person is None else Cpf(person.cpf)
        if len(item.document) == CNPJ_CHARACTERS:
            return Cnpj(item.document)
        return Cnpj(first_establishment(item.document))

    async def oldest_due(self, account_id: int, caller: Caller, now_ms: int) -> Question | None:
        """Return the question of an account that has been due for longest."""
        item = await self._stored.first_due(account_id, now_ms)
        due = () if item is None else item.due_lookups(now_ms)
        if item is None or not due:
            return None
        try:
            return self._question(item, caller, due[0])
        except CallerError:
            return None  # its job postpones it
