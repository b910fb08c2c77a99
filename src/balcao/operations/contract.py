"""What an operation is to everybody: the lookup, the API's document, the application, the sources.

Each is one class in a folder of its own; `operations/__init__.py` lists them. What most of them do
alike stands here as a default.
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
    MarkWithCpf,
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
)
from balcao.core.freshness import Ask, Kept, Serve, decide
from balcao.core.gist import Gist
from balcao.core.ledger import Origin
from balcao.core.notices import Notice, Tone
from balcao.core.outcomes import Conclusion, Delivered, Nothing, Outcome
from balcao.core.problems import Problem
from balcao.core.questions import Inquiry, Part, Question, Record, Subject
from balcao.core.receipts import Numbering
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
from balcao.operations.sheets import InSheets
from balcao.operations.views import Body, FormWords, RecordedResult, ResultView

# What every operation may answer besides its results.
PROBLEMS_OF_ALL: tuple[type[BalcaoError], ...] = (
    InvalidParameter,
    RepeatedParameter,
    ClientRequired,
    MarkWithCpf,
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

# What tells the sources of an operation apart, where they are listed.
SourceFact: TypeAlias = Literal[
    "ufs", "parts", "people", "reissues", "receipts", "alphanumeric", "full_partners"
]

# A document that is not in the path is a parameter that is not required: there may be another.
_DOCUMENTS = ("cnpj", "cpf")
CPF_DIGITS = 11

_NO_PARTS: frozenset[Part] = frozenset()
_encode = msgspec.json.Encoder().encode

EXAMPLE_MS = 1_786_158_000_000  # 2026-08-08 in Brasília

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Example:
    """A result for the OpenAPI document; `conclude` makes its status and body."""

    name: str
    summary: str
    question: Question
    outcomes: Sequence[Outcome]


class Circumstances(msgspec.Struct, frozen=True, gc=False):
    """What an answer depends on besides what was asked and what came of it."""

    now_ms: int
    account_id: int
    numbering: Numbering  # numbers and addresses of receipts
    company: Company | None = None  # of a CNPJ, as far as it is at hand, where it is wanted


def today_in_brasilia() -> datetime.date:
    """The civil date there, by the system's clock."""
    return datetime.datetime.now(BRASILIA).date()


class Operation(ABC):
    """One operation of the API. `ufs` are those that may be asked and that BR stands for."""

    subject: Subject  # what it is called inside, for ever: keys of the cache, settings, metrics
    endpoint: int  # its place in the specification
    path: str  # the segment under /consultas/v2/
    document = "cnpj"  # name of the path parameter: cnpj or cpf; empty: none is in the path
    title: str
    description: str

    # Its prices: codes, and their words.
    rules: Rules

    absence: type[BalcaoError]  # how callers are told that there is no such thing

    # Its sources.
    record: type[Record]  # what they hand over, and what is kept
    sources_title: str  # what they know, for operators
    sources: Sequence[str]  # the setting `<subject>_sources`: who may be asked, in usual order
    sources_setting: str  # its sentence
    usual_ufs: Sequence[str] = ()  # the setting `<subject>_ufs`, where there is one
    ufs_setting = ""  # its sentence
    source_facts: Sequence[SourceFact] = ()
    answer_bytes_max = 1_000_000  # of a source's answer (contract 9.5)
    by_uf = False  # whether sources are asked, and may be down, UF by UF
    of_company = False  # whether all establishments of a company share the answer
    issues = False  # asking may begin to issue something: nobody else is asked after a failure

    # The application.
    form: FormWords
    failures: Mapping[str, Notice] = {}  # by internal code, where everybody's words do not fit
    negative_result = ""  # a 404 that is a result, in a few words
    verdicts: Mapping[Verdict, tuple[str, Tone]] = {}  # of certificates: words and tone
    # Of other results, by the code that is remembered; `{}` is what stands behind its colon.
    gists: Mapping[str, tuple[str, Tone]] = {}
    in_sheets = InSheets()  # what of an answer stands in a table of many

    # The OpenAPI document.
    answer: type[msgspec.Struct]  # the body of a result
    problems: Sequence[type[BalcaoError]]  # all that it may answer besides results

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
        """Its parameters, in the order of the document."""

    @abstractmethod
    def parse(self, document: str, sent: Parameters) -> Question:
        """Check and normalise a request. Raises `InvalidInput` of some kind, before any query.

        A document in the path is only read: of requests that differ in nothing else, so do the
        questions (the fast path parses the rest once).
        """

    @abstractmethod
    def fingerprint(self, question: Question) -> str:
        """What makes two requests the same one, defaults filled in (contract 6)."""

    def enter(self, caller: Caller) -> None:
        """Raises what refuses an account before its request is read (contract 2.10)."""
        return None

    def permit(self, question: Question, caller: Caller) -> None:
        """Raises what the account may not ask (403)."""
        return None

    def parts(self, inquiry: Inquiry) -> frozenset[Part]:
        """What an answer should tell, and what not every source knows."""
        return _NO_PARTS

    def plan(self, question: Question, inquiry: Inquiry, kept: Kept, now_ms: int) -> Serve | Ask:
        """May this entry be served? By its age, as most operations have it (contract 4.2)."""
        return decide(
            kept,
            question.strategy,
            question.max_age_days,
            now_ms,
            error_fallback=question.error_fallback,
        )

    def answered_since(
        self, question: Question, kept: Kept, since_ms: int, now_ms: int
    ) -> Question | None:
        """The question to the cache, if it holds what a source, asked since then, would answer.

        For a batch, whose rows share the answer about their company; None: the source is asked.
        """
        return None

    def encode(self, inquiry: Inquiry, record: Record) -> bytes:
        """The record as JSON, as it is kept and sent."""
        assert isinstance(record, self.record)
        return _encode(record)

    def keeps(self, body: bytes, asked_ms: int, kept: Kept | None) -> bool:
        """Whether a complete answer takes the place of what is kept."""
        return True

    def still_valid(self, body: bytes, now_ms: int) -> bool:
        """Whether a recorded result may be sent again (its idempotency key was used before)."""
        return True

    def doubtful(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the company registry must confirm that there is such a company (contract 3)."""
        return False

    def wants_company(self, question: Question, outcomes: Sequence[Outcome]) -> bool:
        """Whether something that the company registry may know is missing for the answer."""
        return False

    def greatest_price(self, question: Question) -> int:
        """Credits, at the most."""
        return 1

    def conclude(
        self, question: Question, outcomes: Sequence[Outcome], circumstances: Circumstances
    ) -> Conclusion:
        """The answer's status, body and price; here, of a question with one inquiry."""
        (outcome,) = outcomes
        if isinstance(outcome, Delivered):
            return self.deliver(question, outcome, circumstances)
        told = self.absence() if isinstance(outcome, Nothing) else self.as_told(outcome.error)
        return envelope.refusal(told, question.document.text, self.error_fields)

    def deliver(
        self, question: Question, outcome: Delivered, circumstances: Circumstances
    ) -> Conclusion:
        """The conclusion from the only record."""
        raise NotImplementedError

    def as_told(self, error: SourceError) -> BalcaoError:
        """How callers are told that its source let us down."""
        return error

    def forget(self) -> None:  # noqa: B027  # most remember nothing
        """Remember nothing that was made of answers: somebody was erased (LGPD)."""

    def gist(self, body: bytes) -> Gist | None:
        """What is remembered of a result, which is JSON; None: it cannot be read, or nothing is."""
        return None

    def error_fields(self, problem: Problem, document: str) -> bytes:
        """The body of a refusal; `document` as it stood in the request."""
        return envelope.error_fields(problem)

    @abstractmethod
    def examples(self) -> Sequence[Example]:
        """Results for the OpenAPI document."""

    def example_record(self, kind: type[AnyRecord]) -> AnyRecord:
        """A record as the sandbox's sources hand it over, from `examples/SUBJECT.json`."""
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
        """A result that is this record, the only one of its question."""
        body = self.encode(question.inquiries[0], record)
        return Example(name, summary, question, (Delivered(body, origin, source, EXAMPLE_MS),))

    @abstractmethod
    def view(self, recorded: RecordedResult) -> ResultView:
        """A result as the application shows it."""

    def brief(self, body: Body) -> str:
        """What is worth a line beside the verdict where results stand below each other."""
        return ""

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of its form."""
        return frozenset(each.field for each in self.parameters if each.field)


def curl_line(operation: Operation, key: str, base: str) -> str:
    """One request of an operation, ready to be pasted into a shell."""
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
    """Where the API answers a question about a company."""
    query = {"uf": uf} if uf is not None and "uf" in operation.names else {}
    return f"{base}/consultas/v2/{lookup_of(operation, cnpj, query)}"


def lookup_of(operation: Operation, document: str, query: Mapping[str, str]) -> str:
    """Path and query of a question about a company or a person, from the operation on.

    A document that is not in the path is a parameter, of two that there are: by its length.
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
