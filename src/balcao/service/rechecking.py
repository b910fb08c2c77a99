"""Scheduled lookups of watched subjects, bought by their portfolios (contract 20.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.budgets import excess, owners_of
from balcao.core.calendar import next_month_ms
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj, first_establishment
from balcao.core.errors import (
    CallerError,
    CeilingOfClient,
    CeilingReached,
    InsufficientCredits,
    Overloaded,
    StillRunning,
)
from balcao.core.ledger import RequestTags
from balcao.core.purchases import StopReason, retry_ms
from balcao.core.questions import Question, Strategy
from balcao.core.rechecks import Lookup, idempotency_key
from balcao.core.request_tags import tag_problem
from balcao.lookup.admit import check_access, require_client
from balcao.lookup.context import Parts
from balcao.lookup.execution import look_up
from balcao.lookup.wallet import SealedPerson
from balcao.operations.parameters import Parameters
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.rechecks import (
    PLANNED_AT_ONCE,
    RECHECK,
    RecheckItem,
    Rechecks,
    StoppedWallet,
)

log = structlog.get_logger()

PLAN_SECONDS = 20.0
MORE_SECONDS = 0.2
AT_ONCE = 4  # items of one process
BUSY_SECONDS = 20.0
SOURCES_CLOSED_MS = 20 * 60_000  # before sources with open circuits are tried again

# Statuses of answers: a result, or a proven absence.
_ANSWERED = frozenset({200, 404})


class _Stopped(Exception):
    """Nothing more is bought for the portfolio for now."""

    def __init__(self, reason: StopReason, resumes_ms: int | None = None) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason
        self.resumes_ms = resumes_ms


@dataclass(slots=True)
class Rechecking:
    """Plans the scheduled lookups of all portfolios, and runs those of an item."""

    parts: Parts
    new_id: Callable[[], str]
    unavailable: Callable[[Caller, Question], bool]  # the circuits of all its sources are open
    open_person: Callable[[bytes], SealedPerson | None]
    count: Callable[[str], None] = lambda outcome: None  # of a lookup
    _stored: Rechecks = field(init=False)

    def __post_init__(self) -> None:
        self._stored = self.parts.desk.rechecks

    def jobs(self) -> JobKind:
        """Return the kind of its jobs."""
        return JobKind(RECHECK, self.run, AT_ONCE, poll_seconds=PLAN_SECONDS)

    def periodic(self) -> Periodic:
        """Return the periodic work that plans, resumes and enqueues."""
        return Periodic("rechecks", self.plan, PLAN_SECONDS)

    async def plan(self) -> float | None:
        """Plan new items, resume portfolios, enqueue due items. Raises `StorageFailed`."""
        now_ms = self.parts.now_ms()
        planned = await self._stored.plan(now_ms)
        for stopped in await self._stored.stopped():
            if await self._may_resume(stopped, now_ms):
                await self._stored.resume(stopped, now_ms)
        due = await self._stored.enqueue_due(now_ms)
        return MORE_SECONDS if PLANNED_AT_ONCE in {planned, due} else None

    async def run(self, item_id: str) -> float | None:
        """Look up what is due of an item. Raises `StorageFailed`."""
        item, now_ms = await self._stored.item(item_id), self.parts.now_ms()
        if item is None or item.recheck_ms is None or not 0 < item.recheck_ms <= now_ms:
            return None
        if not item.may_buy:
            return None
        due = item.due_lookups(now_ms)
        failed = False
        try:
            caller = await self._buyer(item.account_id, item.buyer_key_id, item.buyer_user_id)
            for lookup in due:
                if await self._is_answered(item, caller, lookup):
                    await self._stored.note_asked(item_id, lookup.topics, self.parts.now_ms())
                else:
                    failed = True
        except (Overloaded, StillRunning):
            return BUSY_SECONDS
        except _Stopped as stopped:
            now_ms = self.parts.now_ms()
            await self._stored.stop(item.account_id, stopped.reason, now_ms, stopped.resumes_ms)
            return None
        await self._finish(item, failed=failed)
        return None

    async def _finish(self, item: RecheckItem, *, failed: bool) -> None:
        now_ms = self.parts.now_ms()
        if failed:
            attempts = item.attempts + 1
            await self._stored.finish(item, retry_ms(attempts, now_ms), attempts)
            return
        now = await self._stored.item(item.item_id)
        if now is not None:
            await self._stored.finish(item, now.next_ms(now_ms), 0)

    async def _is_answered(self, item: RecheckItem, caller: Caller, lookup: Lookup) -> bool:
        """Return whether a lookup was answered; False: try again later. Raises `_Stopped`."""
        assert item.recheck_ms is not None
        try:
            question = self._question(item, caller, lookup)
            if question is None:
                return False
            if self.unavailable(caller, question):
                raise _Stopped("fonte", self.parts.now_ms() + SOURCES_CLOSED_MS)
            reply = await look_up(
                question,
                caller,
                self.new_id(),
                idempotency_key(item.item_id, lookup, item.recheck_ms),
                self.parts,
                tags=_tags(item),
            )
        except (Overloaded, StillRunning):
            raise
        except InsufficientCredits as short:
            self.count("parada")
            raise _Stopped("saldo") from short
        except CeilingReached as reached:
            self.count("parada")
            if isinstance(reached, CeilingOfClient):  # of this client's items alone
                return False
            raise _Stopped("teto", next_month_ms(self.parts.now_ms())) from reached
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
        operation = self.parts.operations[lookup.subject]
        document = self._document(item)
        if document is None:
            return None
        query = {} if lookup.uf is None else {"uf": lookup.uf}
        check_access(operation, caller)
        require_client(caller, item.client)
        question = operation.parse(
            document, Parameters(urlencode(query).encode(), {}, operation.names)
        )
        operation.check_question(question, caller)
        # A kept answer brings no news.
        return msgspec.structs.replace(question, strategy=Strategy.SO_ONLINE, max_age_days=0)

    def _document(self, item: RecheckItem) -> str | None:
        if item.sealed is not None:
            person = self.open_person(item.sealed)
            return None if person is None else person.cpf
        if len(item.document) == CNPJ_CHARACTERS:
            return Cnpj(item.document).text
        return first_establishment(item.document)

    async def _buyer(self, account_id: int, key_id: int | None, user_id: int | None) -> Caller:
        """Return the caller of a portfolio's purchases. Raises `_Stopped`."""
        caller = None
        if key_id is not None or user_id is not None:
            now_ms = self.parts.now_ms()
            caller = await self.parts.desk.caller_for(account_id, key_id, user_id, now_ms)
        if caller is None:
            raise _Stopped("chave")
        return caller

    async def _may_resume(self, stopped: StoppedWallet, now_ms: int) -> bool:
        """Return whether the reason of a stop is gone."""
        if stopped.reason == "fonte":
            return stopped.resumes_ms is None or now_ms >= stopped.resumes_ms
        account_id, key_id = stopped.account_id, stopped.buyer_key_id
        try:
            caller = await self._buyer(account_id, key_id, stopped.buyer_user_id)
        except _Stopped:
            return False
        return stopped.reason == "chave" or await self._has_room(account_id, caller, now_ms)

    async def _has_room(self, account_id: int, caller: Caller, now_ms: int) -> bool:
        """Return whether balance and budgets cover the lookup that has been due for longest."""
        item = await self._stored.first_due(account_id, now_ms)
        due = () if item is None else item.due_lookups(now_ms)
        if item is None or not due:
            return True
        operation = self.parts.operations[due[0].subject]
        try:
            question = self._question(item, caller, due[0])
        except CallerError:
            return True  # its job postpones it
        if question is None:
            return True
        price = operation.greatest_price(question)
        owners = owners_of(caller.key_id, None, None, account_id)
        available, budgets = await self.parts.desk.spendable(
            account_id, owners, operation.path, now_ms
        )
        if available is not None and available < price:
            return False
        return all(excess(each.budget, each.use, each.period, price) is None for each in budgets)


def _tags(item: RecheckItem) -> RequestTags:
    reference = item.reference
    if reference is not None and tag_problem(reference) is not None:
        reference = None
    return RequestTags(item.client, reference, of_wallet=True)
