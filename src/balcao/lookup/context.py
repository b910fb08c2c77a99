"""What a lookup is made of: where answers come from, the parts it needs, and its context."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from balcao.core import idempotency
from balcao.core.access import Caller
from balcao.core.data_subject import AnswerAbout, document_hash, forget_hashes
from balcao.core.documents import Cpf
from balcao.core.ledger import NO_MARKS, Change, Marks
from balcao.core.outcomes import Reply
from balcao.core.questions import Mode, Question, Subject
from balcao.core.receipts import Numbering
from balcao.lookup.admission import AdmissionControl
from balcao.lookup.received import ReceivedAnswers
from balcao.lookup.recent import Recent
from balcao.lookup.registry import CompanyRegistry
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.sources.asking import Sources
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk


@dataclass(frozen=True, slots=True)
class Environment:
    """Where answers come from: the configured sources for live accounts, the sandbox for test
    ones, each with cache entries of its own. Nothing below knows which of the two it is in."""

    cache: Cache
    sources: Sources
    recent: Recent = field(default_factory=Recent)

    @property
    def registry(self) -> CompanyRegistry:
        """What the company registry says, for our own use."""
        return CompanyRegistry(self.cache, self.sources)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a lookup needs, handed in by `compose`."""

    desk: Desk
    environments: Mapping[Mode, Environment]
    now_ms: Callable[[], int]
    idempotency_hours: int  # for which answers to programs are kept under their keys
    deadline_ms: int  # all sources together; then an execution settles
    admission: AdmissionControl
    operations: Mapping[Subject, Operation] = field(default_factory=lambda: OPERATIONS)
    numbering: Numbering = field(default_factory=lambda: Numbering(b""))  # of receipts
    result_hours: int = 180 * 24  # for which those to people are, who come back to look at them
    batch_certificate_ms: int = 0  # the same as `deadline_ms`, of a batch's certificates
    give_back_every_seconds: float = 5.0  # holds that a full disk kept from being settled
    # Before it, what has run out has run out even if the clock is wrong; None: as `now_ms`.
    surely_past_ms: Callable[[], int] | None = None
    running: set["asyncio.Task[Reply]"] = field(default_factory=set)
    giving_back: set["asyncio.Task[None]"] = field(default_factory=set)
    noting: set["asyncio.Task[None]"] = field(default_factory=set)
    # How they forget who, besides operations, remembers what was asked or answered.
    remembering: list[Callable[[], None]] = field(default_factory=list)
    received: ReceivedAnswers = field(default_factory=ReceivedAnswers)  # about people

    def forget(self) -> None:
        """Remember nothing that was made of questions or answers: somebody was erased."""
        for operation in self.operations.values():
            operation.forget()
        for forget in self.remembering:
            forget()
        self.received.forget()
        forget_hashes()


class Errand(Protocol):
    """On whose behalf a lookup is made, if that has books of its own: a row of a batch.

    What is said here goes into the commits of the lookup itself, and is refused with them.
    """

    def begun(self, request_id: str, credits: int, at_ms: int) -> Change:
        """Credits are held for it, and sources are about to be asked."""
        ...

    def ended(self, reply: Reply, at_ms: int) -> Change:
        """It is answered, at the price of the reply."""
        ...

    def given_back(self, request_id: str, at_ms: int) -> Change:
        """Nothing came of it, and nothing was charged."""
        ...


class LookupContext(msgspec.Struct, frozen=True, gc=False):
    """One request, and everything that is needed to answer it."""

    parts: Parts
    environment: Environment  # that of the caller's account
    operation: Operation
    question: Question
    caller: Caller
    request_id: str
    key_digest: str | None  # of the Idempotency-Key, if one was sent
    at_ms: int
    credits_max: int | None = None  # more than this it must not cost
    errand: Errand | None = None
    marks: Marks = NO_MARKS  # the caller's own words for it

    @property
    def answer_about(self) -> AnswerAbout | None:
        """The answer that is asked for; None: it is about no natural person."""
        question = self.question
        document, inquiry = question.document, question.inquiries[0]
        if not isinstance(document, Cpf):
            return None
        return AnswerAbout(
            self.caller.account_id,
            self.operation.path,
            question.uf or inquiry.uf or "",
            document_hash(self.parts.numbering.pepper, document.text),
            inquiry.birth is not None,
        )

    async def is_secret(self) -> bool:
        """Return whether this account may not learn yet what is kept (ADR 0080)."""
        answer = self.answer_about
        if answer is None:
            return False
        return not await self.parts.received.has(answer, self.parts.desk)

    def at_home(self, uf: str) -> "LookupContext":
        """The same, now that the company's own UF is known (contract 2.3)."""
        return msgspec.structs.replace(self, question=self.question.at_home(uf))


def context_of(  # noqa: PLR0917  # a request, and where it is answered
    question: Question,
    caller: Caller,
    request_id: str,
    idempotency_key: str | None,
    parts: Parts,
    now_ms: int,
    *,
    credits_max: int | None = None,
    errand: Errand | None = None,
    marks: Marks = NO_MARKS,
) -> LookupContext:
    """Of a request that begins now."""
    return LookupContext(
        parts,
        parts.environments[caller.mode],
        parts.operations[question.subject],
        question,
        caller,
        request_id,
        None if idempotency_key is None else idempotency.digest(idempotency_key),
        now_ms,
        credits_max,
        errand,
        marks,
    )
