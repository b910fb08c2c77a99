"""What every operation is to the story in `lookup/story.py`: data and pure functions."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import msgspec

from balcao.core.access import Caller
from balcao.core.company import Company
from balcao.core.freshness import Ask, Kept, Serve, decide
from balcao.core.outcomes import Conclusion, Outcome
from balcao.core.questions import Inquiry, Question, Subject
from balcao.core.receipts import Numbering
from balcao.core.tariff import Rules
from balcao.errors import (
    BalcaoError,
    IdempotencyKeyReused,
    InsufficientCredits,
    InvalidIdempotencyKey,
    InvalidParameter,
    KeyRefused,
    Overloaded,
    RateLimited,
    RepeatedParameter,
    RequestTooLarge,
    ResultErased,
    ResultUnavailable,
    SourceFailed,
    SourceUnavailable,
    StillRunning,
    StorageFailed,
)
from balcao.operations.envelope import ErrorFields
from balcao.operations.parameters import Parameters
from balcao.sources.contract import Record

# What every operation may answer besides its results.
PROBLEMS_OF_ALL: tuple[type[BalcaoError], ...] = (
    InvalidParameter,
    RepeatedParameter,
    InvalidIdempotencyKey,
    IdempotencyKeyReused,
    KeyRefused,
    InsufficientCredits,
    StillRunning,
    ResultUnavailable,
    ResultErased,
    RequestTooLarge,
    RateLimited,
    SourceFailed,
    SourceUnavailable,
    StorageFailed,
    Overloaded,
)

# A document that is not in the path is a parameter that is not required: there may be another.
_DOCUMENTS = ("cnpj", "cpf")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the contract, for the OpenAPI document and for reading."""

    name: str
    place: str  # path, query, header
    description: str
    schema: Mapping[str, object]
    required: bool = False
    example: object = None
    deprecated: bool = False


def cnpj_in_path(example: str) -> Parameter:
    """The document of an operation about a company."""
    return Parameter(
        "cnpj",
        "path",
        "CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não). Letras"
        " são aceitas nas doze primeiras posições.",
        {"type": "string", "format": "cnpj", "minLength": 14, "maxLength": 64},
        required=True,
        example=example,
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A result for the OpenAPI document; `conclude` makes its status and body."""

    name: str
    summary: str
    question: Question
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What an answer depends on besides what was asked and what came of it."""

    now_ms: int
    account_id: int
    numbering: Numbering  # numbers and addresses of receipts
    company: Company | None = None  # of a CNPJ, as far as it is at hand, for those who wanted it


def everybody_may(question: Question, caller: Caller) -> None:
    """Of operations that every account may use, with all their parameters."""


def everybody_enters(caller: Caller) -> None:
    """Of operations that every account may use."""


def by_age(question: Question, inquiry: Inquiry, kept: Kept, now_ms: int) -> Serve | Ask:
    """May this entry be served? By its age, as most operations have it (decisions 4.2)."""
    return decide(
        kept,
        question.strategy,
        question.max_age_days,
        now_ms,
        error_fallback=question.error_fallback,
    )


def always_keeps(body: bytes, asked_ms: int, kept: Kept | None) -> bool:
    """Whether a complete answer takes the place of what is kept."""
    return True


def always_valid(body: bytes, now_ms: int) -> bool:
    """Whether a recorded result may be sent again (its idempotency key was used before)."""
    return True


def never_doubtful(outcomes: Sequence[Outcome]) -> bool:
    """Whether the company registry must confirm that there is such a company (decisions 3)."""
    return False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    subject: Subject
    path: str  # the segment under /consultas/v2/
    document: str  # name of the path parameter: cnpj or cpf; empty: none is in the path
    title: str
    description: str
    parameters: Sequence[Parameter]
    names: Sequence[str]  # query parameters of the contract
    parse: Callable[[str, Parameters], Question]
    fingerprint: Callable[[Question], str]
    permit: Callable[[Question, Caller], None]  # raises what the account may not do (403)
    greatest_price: Callable[[Question], int]
    rules: Rules  # that make its prices: codes, and their words
    encode: Callable[[Inquiry, Record], bytes]  # the record as it is kept and sent
    conclude: Callable[[Question, Sequence[Outcome], Circumstances], Conclusion]
    error_fields: ErrorFields
    # For the OpenAPI document:
    problems: Sequence[type[BalcaoError]]  # all that it may answer besides results
    answer: type[msgspec.Struct]  # the body of a result
    examples: Sequence[Example]
    ufs: Sequence[str] = ()  # those that may be asked, and that BR stands for
    # Where an operation has more to say than most:
    enter: Callable[[Caller], None] = everybody_enters  # raises what refuses before 400 (2.10)
    wants_company: bool = False
    plan: Callable[[Question, Inquiry, Kept, int], Serve | Ask] = by_age
    keeps: Callable[[bytes, int, Kept | None], bool] = always_keeps
    still_valid: Callable[[bytes, int], bool] = always_valid
    doubtful: Callable[[Sequence[Outcome]], bool] = never_doubtful


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


def _is_shown(parameter: Parameter) -> bool:
    return parameter.required or parameter.name in _DOCUMENTS
