"""From a request to the question in it, in the fixed order of checks (decisions 2.10)."""

import msgspec

from balcao.core.access import Caller
from balcao.core.errors import (
    ClientRequired,
    InvalidIdempotencyKey,
    OperationNotAllowed,
    RepeatedParameter,
)
from balcao.core.idempotency import is_valid_key
from balcao.core.ledger import Marks
from balcao.core.questions import Question
from balcao.http.read import Request
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, MARK_HEADERS, Parameters, read_marks

_HEADERS = frozenset({b"cache", b"idempotency-key", b"x-creditos-maximos"}) | MARK_HEADERS


class LookupRequest(msgspec.Struct, frozen=True):
    """What a lookup's request says."""

    question: Question
    idempotency_key: str | None
    credits_max: int | None  # what it may cost
    marks: Marks


def read_lookup(
    operation: Operation,
    document: str,
    request: Request,
    caller: Caller,
    *,
    quoted: bool = False,
    face: str | None = None,
) -> LookupRequest:
    """The question about a document, as it stands in the path. Raises `CallerError`.

    `quoted`: its price alone is wanted. `face`: at whose address it is asked.
    """
    enter(operation, caller, face)
    for name in request.repeated:
        if name in _HEADERS:
            raise RepeatedParameter(f"O cabeçalho {name.decode()} foi enviado mais de uma vez.")
    parameters = Parameters(request.query, request.headers, operation.names)
    question = operation.parse(document, parameters)
    credits_max = CREDITS_MAX.read(parameters)
    marks = read_marks(request.headers)
    if not quoted:
        say_whom_for(caller, marks)
    key = parameters.header(b"idempotency-key")
    if key is not None and not is_valid_key(key):
        raise InvalidIdempotencyKey
    operation.permit(question, caller)
    return LookupRequest(question, key, credits_max, marks)


def enter(operation: Operation, caller: Caller, face: str | None = None) -> None:
    """Raises what refuses account or key before the request is read (decisions 2.10, 11.3)."""
    if caller.door is not None and not caller.door.serves(operation.path, face):
        raise OperationNotAllowed
    operation.enter(caller)


def say_whom_for(caller: Caller, marks: Marks) -> None:
    """Raises `ClientRequired` where the key wants to be told (decisions 11.3)."""
    if caller.door is not None and caller.door.client_required and marks.client is None:
        raise ClientRequired
