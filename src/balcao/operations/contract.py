"""The interface of an operation for lookups, API document, web application and sources.

Each operation is one class in its own folder; `operations/__init__.py` lists them. The base class
has the behaviour that most of them share.
"""

import datetime
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from balcao.core.access import Caller
from balcao.core.calendar import BRASILIA
from balcao.core.certificates import Verdict
from balcao.core.company import Company
from balcao.core.errors import (
    AddressNotAllowed,
    BalcaoError,
    CeilingOfClient,
    CeilingOfKey,
    CeilingOfRequest,
    ClientRequired,
    CommitUncertain,
    IdempotencyKeyReused,
    InsufficientCredits,
    InvalidIdempotencyKey,
    InvalidParameter,
    KeyRefused,
    OperationNotAllowed,
    Overloaded,
    RateLimited,
    RepeatedParameter,
    RequestTooLarge,
    ResultErased,
    ResultUnavailable,
    SourceError,
    SourceFailed,
    SourceUnavailable,
    StillRunning,
    StorageFailed,
    TagWithCpf,
)
from balcao.core.freshness import Ask, CacheEntry, Serve, decide
from balcao.core.ledger import Origin
from balcao.core.notices import Notice, Tone
from balcao.core.outcomes import Conclusion, Delivered, Outcome, ProvenAbsence
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Part, Question, Record, Subject
from balcao.core.receipts import ReceiptNumbers
from balcao.core.result_summary import ResultSummary
from balcao.core.tariff import Rules
from balcao.operations import envelope
from balcao.operations.parameters import (
    CLIENT,
    CREDITS_MAX,
    CREDITS_MAX_HEADER,
    REFERENCE,
    Parameter,
    Parameters,
)
from balcao.operations.sheets import SheetColumns
from balcao.operations.views import Body, FormWords, RecordedResult, ResultView

# Errors that every operation may return.
PROBLEMS_OF_ALL: tuple[type[BalcaoError], ...] = (
    InvalidParameter,
    RepeatedParameter,
    ClientRequired,
    TagWithCpf,
    AddressNotAllowed,
    OperationNotAllowed,
    InvalidIdempotencyKey,
    IdempotencyKeyReused,
    KeyRefused,
    InsufficientCredits,
    CeilingOfRequest,
    CeilingOfKey,
    CeilingOfClient,
    StillRunning,
    ResultUnavailable,
    ResultErased,
    RequestTooLarge,
    RateLimited,
    SourceFailed,
    SourceUnavailable,
    StorageFailed,
    CommitUncertain,
    Overloaded,
)

# Facts about an operation's sources that are listed.
SourceFact: TypeAlias = Literal[
    "ufs", "parts", "people", "reissues", "receipts", "alphanumeric", "full_partners"
]

# A document that is not in the path is an optional parameter, as it may be either of these.
_DOCUMENTS = ("cnpj", "cpf")
CPF_DIGITS = 11

_NO_PARTS: frozenset[Part] = frozenset()
_encode = msgspec.json.Encoder(decimal_format="number").encode

EXAMPLE_MS = 1_786_158_000_000  # 2026-08-08 in Brasília

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Example:
    """A result for the OpenAPI document; `conclude` computes its status and body."""

    name: str
    summary: str
    question: Question
    outcomes: Sequence[Outcome]


class AnswerContext(msgspec.Struct, frozen=True, gc=False):
    """The context of an answer, apart from the question and its outcomes."""

    now_ms: int
    account_id: int
    receipt_numbers: ReceiptNumbers  # numbers and addresses of receipts
    company: Company | None = None  # if available and needed


def today_in_brasilia() -> datetime.date:
    """Return the civil date in Brasília, by the system's clock."""
    return datetime.datetime.now(BRASILIA).date()


class Operation(ABC):
    """An operation of the API. `ufs`: the UFs that may be requested, and that BR includes."""

    subject: Subject  # its permanent internal name, in cache keys, settings and metrics
    path: str  # the segment under /consultas/v2/
    document = "cnpj"  # name of the path parameter: cnpj, cpf or empty (no document in the path)
    title: str
    description: str

    # Its prices: codes and their texts.
    rules: Rules

    absence: type[BalcaoError]  # the error if the subject does not exist

    # Its sources.
    record: type[Record]  # the type of their answers and of cache entries
    sources_title: str  # a name for their data, for operators
    sources: Sequence[str]  # default of the setting `<subject>_sources`: all, in usual order
    sources_setting: str  # description of that setting
    usual_ufs: Sequence[str] = ()  # default of the setting `<subject>_ufs`, if there is one
    ufs_setting = ""  # description of that setting
    source_facts: Sequence[SourceFact] = ()
    answer_bytes_max = 1_000_000  # of a source's answer (contract 9.5)
    by_uf = False  # whether sources are asked, and may be down, by UF
    of_company = False  # whether all establishments of a company share the answer
    issues = False  # a call may issue something: no other source is asked after a failure

    # The web application.
    form: FormWords
    failures: Mapping[str, Notice] = {}  # by internal code, in place of the general ones
    negative_result = ""  # a short text for a 404 that is a result
    verdicts: Mapping[Verdict, tuple[str, Tone]] = {}  # of certificates: text and tone
    # Of other results, by the code of `ResultSummary`; `{}` is the value after its colon.
    result_labels: Mapping[str, tuple[str, Tone]] = {}
    sheet_columns = SheetColumns()

    # The OpenAPI document.
    answer: type[msgspec.Struct]  # the body of a result
    problems: Sequence[type[BalcaoError]]  # all errors that it may return

    def __init__(
        self,
        ufs: Sequence[str] = (),
        today: Callable[[], datetime.date] = today_in_brasilia,
    ) -> None:
        self.ufs = ufs or self.usual_ufs
        self.today = today
        of_all = (CREDITS_MAX, CREDITS_MAX_HEADER, CLIENT, REFERENCE)
        self.parameters = (*self.declare(), *of_all)
        self.names = tuple(each.name for each in self.parameters if each.place == "query")

    @abstractmethod
    def declare(self) -> Sequence[Parameter]:
        """Return the operation's parameters, in the order of the document."""

    @abstractmethod
    def parse(self, document: str, sent: Parameters) -> Question:
        """Validate and normalise a request. Raises a subclass of `InvalidInput`.

        A document in the path affects only the document of the question, so that the fast path can
        parse the other parameters once.
        """

    @abstractmethod
    def fingerprint(self, question: Question) -> str:
        """Return the digest that is equal for two requests if they are the same (contract 6)."""

    def check_account(self, caller: Caller) -> None:
        """Raise the error if the account may not use the operation at all (contract 2.10)."""
        return None

    def check_question(self, question: Question, caller: Caller) -> None:
        """Raise the error if the account may not ask this question (403)."""
        return None

    def parts(self, inquiry: Inquiry) -> frozenset[Part]:
        """Return the parts that the answer should have, and that not every source has."""
        return _NO_PARTS

    def cache_decision(
        self, question: Question, inquiry: Inquiry, kept: CacheEntry, now_ms: int
    ) -> Serve | Ask:
        """Decide whether to serve a cache entry; by default by its age (contract 4.2)."""
        return decide(
            kept,
            question.strategy,
            question.max_age_days,
            now_ms,
            error_fallback=question.error_fallback,
        )

    def answered_since(
        self, question: Question, kept: CacheEntry, since_ms: int, now_ms: int
    ) -> Question | None:
        """Return the question changed so that an entry asked after `since_ms` answers it, or None.

        For batches: rows about the same company share one answer of the source.
        """
        return None

    def encode(self, inquiry: Inquiry, record: Record) -> bytes:
        """Return the record as JSON, as it is cached and sent."""
        assert isinstance(record, self.record)
        return _encode(record)

    def should_cache(self, body: bytes, asked_ms: int, kept: CacheEntry | None) -> bool:
        """Return whether a complete answer replaces the cache entry `kept`."""
        return True

    def still_valid(self, body: bytes, now_ms: int) -> bool:
        """Return whether a recorded result may be sent again for its idempotency key."""
        return True

    def needs_confirmation(self, outcomes: Sequence[Outcome]) -> bool:
        """Return whether the registry must confirm that the company exists (contract 3)."""
        return False

    def needs_company(self, question: Question, outcomes: Sequence[Outcome]) -> bool:
        """Return whether the answer needs data of the company registry."""
        return False

    def greatest_price(self, question: Question) -> int:
        """Return the highest possible price, in credits."""
        return 1

    def conclude(
        self, question: Question, outcomes: Sequence[Outcome], answer_context: AnswerContext
    ) -> Conclusion:
        """Return the answer's status, body and price; by default for a single inquiry."""
        (outcome,) = outcomes
        if isinstance(outcome, Delivered):
            return self.deliver(question, outcome, answer_context)
        if isinstance(outcome, ProvenAbsence):
            error = self.absence()
        else:
            error = self.error_for_caller(outcome.error)
        return envelope.refusal(error, question.document.text, self.error_fields)

    def deliver(
        self, question: Question, outcome: Delivered, answer_context: AnswerContext
    ) -> Conclusion:
        """Return the conclusion for the only record."""
        raise NotImplementedError

    def error_for_caller(self, error: SourceError) -> BalcaoError:
        """Return the error that callers get for a source's error."""
        return error

    def clear_memos(self) -> None:  # noqa: B027  # most have none
        """Clear memos of answers after a person was erased (LGPD)."""

    def result_summary(self, body: bytes) -> ResultSummary | None:
        """Return the summary of a result's JSON for its trace; None: there is none."""
        return None

    def error_fields(self, problem: Problem, document: str) -> bytes:
        """Return the body of a refusal. `document`: as sent."""
        return envelope.error_fields(problem)

    @abstractmethod
    def examples(self) -> Sequence[Example]:
        """Return results for the OpenAPI document."""

    def example_record(self, kind: type[AnyRecord]) -> AnyRecord:
        """Return a record of the sandbox, from `examples/SUBJECT.json`."""
        file = resources.files("balcao.operations").joinpath("examples", f"{self.subject}.json")
        return msgspec.json.decode(file.read_bytes(), type=kind)

    def example(
        self,
        name: str,
        summary: str,
        question: Question,
        record: Record,
        source: str = "cnpja",
        *,
        origin: Origin = "online",
    ) -> Example:
        """Return an example whose result is this record."""
        body = self.encode(question.inquiries[0], record)
        return Example(name, summary, question, (Delivered(body, origin, source, EXAMPLE_MS),))

    @abstractmethod
    def view(self, recorded: RecordedResult) -> ResultView:
        """Return a result as shown in the web application."""

    def brief(self, body: Body) -> str:
        """Return a short text to show with the verdict in a list of results."""
        return ""

    def row_fact(self, body: Body) -> str:
        """Return a short text to show with the verdict in a row of a batch."""
        return ""

    @cached_property
    def fields(self) -> frozenset[str]:
        """The names of the fields of its form."""
        return frozenset(each.field for each in self.parameters if each.field)


def curl_line(operation: Operation, key: str, base: str) -> str:
    """Return a `curl` command for an example request of an operation."""
    path = operation.path
    query: dict[str, str] = {}
    for parameter in operation.parameters:
        example = parameter.example
        if parameter.place == "path":
            path += f"/{quote(str(example), safe='')}"
        elif parameter.place == "query" and example is not None and _is_shown(parameter):
            query[parameter.name] = str(example)
    url = f"{base}/consultas/v2/{path}" + (f"?{urlencode(query)}" if query else "")
    return f"curl -sS -H {shlex.quote(f'x-api-key: {key}')} {shlex.quote(url)}"


def address_of(operation: Operation, cnpj: str, uf: str | None, base: str) -> str:
    """Return the API's address of a lookup about a company."""
    query = {"uf": uf} if uf is not None and "uf" in operation.names else {}
    return f"{base}/consultas/v2/{lookup_of(operation, cnpj, query)}"


def lookup_of(operation: Operation, document: str, query: Mapping[str, str]) -> str:
    """Return path and query of a lookup, beginning with the operation.

    A document that is not in the path is the parameter `cnpj` or `cpf`, by its length.
    """
    path = operation.path
    if operation.document:
        path += f"/{quote(document, safe='')}"
    else:
        kind = "cpf" if sum(map(str.isalnum, document)) == CPF_DIGITS else "cnpj"
        query = {kind: document, **query}
    return f"{path}?{urlencode(query)}" if query else path


def _is_shown(parameter: Parameter) -> bool:
    return parameter.required or parameter.name in _DOCUMENTS
