"""Purchases of portfolios: the buyer, the charged lookup, stops and their end (contract 20.4)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from balcao.core.access import Caller
from balcao.core.budgets import excess, owners_of
from balcao.core.calendar import next_month_ms
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    CeilingOfClient,
    CeilingReached,
    InsufficientCredits,
)
from balcao.core.ledger import RequestTags
from balcao.core.outcomes import Reply
from balcao.core.purchases import StopReason
from balcao.core.questions import Question, Subject
from balcao.core.renewals import Renews
from balcao.core.request_tags import tag_problem
from balcao.lookup.admit import check_access, require_client
from balcao.lookup.context import Parts, PortfolioTime
from balcao.lookup.execution import look_up
from balcao.operations.parameters import Parameters
from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.purchases import OldestDue, StoppedWallet

RESUME_SECONDS = 20.0

# Returns the question that has been due for longest; None: no lookup of the account is due.
DueQuestion: TypeAlias = Callable[[int, Caller, int], Awaitable[Question | None]]


class Stopped(Exception):
    """Nothing more is bought for the portfolio for now."""

    def __init__(self, reason: StopReason, resumes_ms: int | None = None) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason
        self.resumes_ms = resumes_ms


@dataclass(slots=True)
class Purchasing:
    """Buys lookups for portfolios, and resumes those that stopped."""

    parts: Parts
    new_id: Callable[[], str]
    oldest_due: list[DueQuestion] = field(default_factory=list)  # of each kind of purchases
    waiting: OldestDue = field(default_factory=lambda: OldestDue(None, None))  # by `resume`

    def periodic(self) -> Periodic:
        """Return the periodic work that resumes portfolios."""
        return Periodic("purchases", self.resume, RESUME_SECONDS)

    async def buyer(self, account_id: int, key_id: int | None, user_id: int | None) -> Caller:
        """Return the caller of a portfolio's purchases. Raises `Stopped`."""
        caller = None
        if key_id is not None or user_id is not None:
            now_ms = self.parts.now_ms()
            caller = await self.parts.desk.caller_for(account_id, key_id, user_id, now_ms)
        if caller is None:
            raise Stopped("chave")
        return caller

    def question(
        self,
        subject: Subject,
        document: Cnpj | Cpf,
        parameters: Mapping[str, str],
        caller: Caller,
        client: str | None,
    ) -> Question:
        """Return the question about a document. Raises `CallerError` if it may not be asked."""
        operation, values = self.parts.operations[subject], dict(parameters)
        check_access(operation, caller)
        require_client(caller, client)
        if not operation.document:
            values["cnpj" if isinstance(document, Cnpj) else "cpf"] = document.text
        question = operation.parse(document.text, Parameters.of(values))
        operation.check_question(question, caller)
        return question

    def now_ms(self, clock: PortfolioTime | None) -> int:
        """Return the present instant of a portfolio; None: it has the real time."""
        return self.parts.now_ms() if clock is None else clock.at_ms

    async def ask(
        self,
        question: Question,
        caller: Caller,
        idempotency_key: str,
        tags: RequestTags,
        clock: PortfolioTime | None = None,
    ) -> Reply:
        """Buy the answer to a question once. `clock`: of a test portfolio.

        Raises `Stopped`, `Overloaded`, `StillRunning`, and other errors of the caller, which
        concern this lookup or its client alone.
        """
        try:
            return await look_up(
                question,
                caller,
                self.new_id(),
                idempotency_key,
                self.parts,
                tags=tags,
                clock=clock,
            )
        except InsufficientCredits as short:
            raise Stopped("saldo") from short
        except CeilingOfClient:
            raise
        except CeilingReached as reached:
            # The months of a ceiling are real.
            resumes_ms = next_month_ms(self.parts.now_ms()) if clock is None else None
            raise Stopped("teto", resumes_ms) from reached

    async def stop(
        self, account_id: int, stopped: Stopped, clock: PortfolioTime | None = None
    ) -> None:
        """Stop a portfolio's purchases. Raises `StorageFailed`."""
        now_ms = self.now_ms(clock)
        await self.parts.desk.purchases.stop(account_id, stopped.reason, now_ms, stopped.resumes_ms)

    async def resume(self) -> None:
        """Resume the portfolios whose reason to stop is gone. Raises `StorageFailed`."""
        now_ms = self.parts.now_ms()
        for stopped in await self.parts.desk.purchases.stopped():
            await self._resume(stopped, now_ms)
        self.waiting = await self.parts.desk.purchases.oldest_due(now_ms)

    async def resume_one(self, account_id: int, clock: PortfolioTime) -> None:
        """Resume a test portfolio whose reason to stop is gone. Raises `StorageFailed`."""
        for stopped in await self.parts.desk.purchases.stopped(account_id):
            await self._resume(stopped, clock.at_ms)

    async def _resume(self, stopped: StoppedWallet, now_ms: int) -> None:
        if await self._may_resume(stopped, now_ms):
            await self.parts.desk.purchases.resume(stopped, now_ms)

    async def _may_resume(self, stopped: StoppedWallet, now_ms: int) -> bool:
        if stopped.reason == "fonte":
            return stopped.resumes_ms is None or now_ms >= stopped.resumes_ms
        account_id, key_id = stopped.account_id, stopped.buyer_key_id
        try:
            caller = await self.buyer(account_id, key_id, stopped.buyer_user_id)
        except Stopped:
            return False
        if stopped.reason == "chave":
            return True
        for oldest_due in self.oldest_due:
            question = await oldest_due(account_id, caller, now_ms)
            if question is not None and not await self._has_room(caller, question):
                return False
        return True

    async def _has_room(self, caller: Caller, question: Question) -> bool:
        """Return whether balance and budgets cover a lookup."""
        operation, account_id = self.parts.operations[question.subject], caller.account_id
        price = operation.greatest_price(question)
        owners = owners_of(caller.key_id, None, None, account_id)
        available, budgets = await self.parts.desk.spendable(
            account_id, owners, operation.path, self.parts.now_ms()
        )
        if available is not None and available < price:
            return False
        return all(excess(each.budget, each.use, each.period, price) is None for each in budgets)


def tags_of(client: str | None, reference: str | None, renews: Renews | None = None) -> RequestTags:
    """Return the marks of an item's purchase."""
    if reference is not None and tag_problem(reference) is not None:
        reference = None
    return RequestTags(client, reference, of_wallet=True, renews=renews)
