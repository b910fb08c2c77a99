"""The context of a lookup: its request, the parts it needs, and where answers come from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import msgspec

from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.data_subject import AnswerAbout, clear_hashes, document_hash
from balcao.core.deprecations import DeprecatedFeature
from balcao.core.documents import Cpf
from balcao.core.ledger import NO_TAGS, Change, RequestTags
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode, Question, Subject
from balcao.core.receipts import ReceiptNumbers
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.received import ReceivedAnswers
from balcao.lookup.recent import RecentAnswers
from balcao.lookup.registry import CompaniesOfMonth, CompanyRegistry
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.sources.router import SourceRouter
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk


@dataclass(frozen=True, slots=True)
class Environment:
    """The sources and cache of one mode: the configured ones for live accounts, the sandbox for
    test ones. Code that uses it does not depend on the mode."""

    cache: Cache
    sources: SourceRouter
    month: CompaniesOfMonth
    recent: RecentAnswers = field(default_factory=RecentAnswers)

    @property
    def registry(self) -> CompanyRegistry:
        """Return the company registry for the service's own, uncharged lookups."""
        return CompanyRegistry(self.cache, self.sources, self.month)


@dataclass(frozen=True, slots=True)
class PortfolioTime:
    """The instant of a test portfolio's clock, for a lookup that the portfolio asks.

    `environment`: the sandbox by that clock, with no cache. Credits and traces keep the real time.
    """

    at_ms: int
    run: int  # of the clock
    environment: Environment


# Returns the instant of a portfolio's clock, by the number of its account; None: the real time.
ClockOf: TypeAlias = Callable[[int], Awaitable[PortfolioTime | None]]


async def real_time(account_id: int) -> PortfolioTime | None:
    """Return None: no portfolio has a clock."""
    return None


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a lookup needs, provided by `compose`."""

    desk: Desk
    environments: Mapping[Mode, Environment]
    now_ms: Callable[[], int]
    idempotency_hours: int  # how long answers to programs are kept under their keys
    deadline_ms: int  # of all sources together; then an execution settles
    admission: AdmissionControl
    operations: Mapping[Subject, Operation] = field(default_factory=lambda: OPERATIONS)
    receipt_numbers: ReceiptNumbers = field(
        default_factory=lambda: ReceiptNumbers(b"")
    )  # of receipts
    result_hours: int = 180 * 24  # how long answers to people are, who come back to look at them
    batch_certificate_ms: int = 0  # the `deadline_ms` of a batch's certificates
    release_retry_seconds: float = 5.0  # for holds that a full disk kept from being settled
    # Instants before it are past even if the clock is wrong; None: as `now_ms`.
    safe_past_ms: Callable[[], int] | None = None
    running: set["asyncio.Task[Reply]"] = field(default_factory=set)
    releasing: set["asyncio.Task[None]"] = field(default_factory=set)
    writing_traces: set["asyncio.Task[None]"] = field(default_factory=set)
    # Clear memories of questions and answers outside operations.
    forget_callbacks: list[Callable[[], None]] = field(default_factory=list)
    # Called for requests that use a deprecated feature.
    count_deprecated: Callable[[Caller, DeprecatedFeature], None] = lambda caller, feature: None
    received: ReceivedAnswers = field(default_factory=ReceivedAnswers)  # about people

    def forget(self) -> None:
        """Clear all memories of questions and answers, because a person was erased."""
        for operation in self.operations.values():
            operation.clear_memos()
        for forget in self.forget_callbacks:
            forget()
        self.received.forget()
        clear_hashes()


class CommitHooks(Protocol):
    """Changes that a batch row adds to the commits of its lookup; refused together with them."""

    def on_hold(self, request_id: str, credits: int, at_ms: int) -> Change:
        """Return the row's change when credits are held, before any source is called."""
        ...

    def on_answer(self, reply: Reply, at_ms: int) -> Change:
        """Return the row's change when the lookup is answered and charged."""
        ...

    def on_release(self, request_id: str, at_ms: int) -> Change:
        """Return the change of the row to add when the lookup failed and its hold is released."""
        ...


class LookupContext(msgspec.Struct, frozen=True, gc=False):
    """One request, and everything that is needed to answer it."""

    parts: Parts
    environment: Environment  # of the caller's mode
    operation: Operation
    question: Question
    caller: Caller
    request_id: str
    key_digest: str | None  # of the Idempotency-Key, if one was sent
    at_ms: int
    credits_max: int | None = None  # the most it may cost
    hooks: CommitHooks | None = None
    tags: RequestTags = NO_TAGS  # the caller's own words for it
    clock: PortfolioTime | None = None  # of the test portfolio that asks; None: the real time

    @property
    def now_ms(self) -> int:
        """The present instant for what is answered: of validities and of watched subjects."""
        return self.parts.now_ms() if self.clock is None else self.clock.at_ms

    @property
    def is_observed(self) -> bool:
        """Whether the answer may be about a watched subject.

        A cached caller does not have the account's first item yet; a purchase of the portfolio is
        about one.
        """
        return self.caller.watches or self.tags.of_wallet or self.clock is not None

    @property
    def answer_about(self) -> AnswerAbout | None:
        """The key of an answer about a natural person (ADR 0080); None: it is about a company."""
        question = self.question
        document, inquiry = question.document, question.inquiries[0]
        if not isinstance(document, Cpf):
            return None
        return AnswerAbout(
            self.caller.account_id,
            self.operation.path,
            question.uf or inquiry.uf or "",
            document_hash(self.parts.receipt_numbers.pepper, document.text),
            inquiry.birth is not None,
        )

    async def is_secret(self) -> bool:
        """Return whether the account may not learn yet what is cached (ADR 0080)."""
        answer = self.answer_about
        if answer is None:
            return False
        return not await self.parts.received.has(answer, self.parts.desk)

    def at_home(self, uf: str) -> "LookupContext":
        """Return a copy whose question has the company's own UF (contract 2.3)."""
        return msgspec.structs.replace(self, question=self.question.with_home_uf(uf))


def context_of(  # noqa: PLR0917  # a request, and where it is answered
    question: Question,
    caller: Caller,
    request_id: str,
    idempotency_key: str | None,
    parts: Parts,
    now_ms: int,
    *,
    credits_max: int | None = None,
    hooks: CommitHooks | None = None,
    tags: RequestTags = NO_TAGS,
    clock: PortfolioTime | None = None,
) -> LookupContext:
    """Return the context of a request that begins now."""
    return LookupContext(
        parts,
        parts.environments[caller.mode] if clock is None else clock.environment,
        parts.operations[question.subject],
        question,
        caller,
        request_id,
        None if idempotency_key is None else idempotency.digest(idempotency_key),
        now_ms,
        credits_max,
        hooks,
        tags,
        clock,
    )
