"""From a request to the question in it, in the fixed order of checks (decisions 2.10)."""

import msgspec

from balcao.core.access import Caller
from balcao.core.idempotency import is_valid_key
from balcao.core.questions import Question
from balcao.errors import InvalidIdempotencyKey, RepeatedParameter
from balcao.http.read import Request
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, Parameters

_HEADERS = frozenset({b"cache", b"idempotency-key", b"x-creditos-maximos"})


class LookupRequest(msgspec.Struct, frozen=True):
    """What a lookup's request says."""

    question: Question
    idempotency_key: str | None
    credits_max: int | None  # what it may cost


def read_lookup(
    operation: Operation, document: str, request: Request, caller: Caller
) -> LookupRequest:
    """The question about a document, as it stands in the path. Raises `CallerError`."""
    operation.enter(caller)
    for name in request.repeated:
        if name in _HEADERS:
            raise RepeatedParameter(f"O cabeçalho {name.decode()} foi enviado mais de uma vez.")
    parameters = Parameters(request.query, request.headers, operation.names)
    question = operation.parse(document, parameters)
    credits_max = CREDITS_MAX.read(parameters)
    key = parameters.header(b"idempotency-key")
    if key is not None and not is_valid_key(key):
        raise InvalidIdempotencyKey
    operation.permit(question, caller)
    return LookupRequest(question, key, credits_max)
