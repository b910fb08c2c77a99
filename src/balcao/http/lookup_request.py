"""Reads a lookup's request, with the checks in their order (contract 2.10)."""

import msgspec

from balcao.core.access import Caller
from balcao.core.errors import InvalidIdempotencyKey, RepeatedParameter
from balcao.core.idempotency import is_valid_key
from balcao.core.ledger import NO_TAGS, RequestTags
from balcao.core.questions import Question
from balcao.http.read import Request
from balcao.lookup.admit import admit_question, check_access, require_client
from balcao.operations.contract import Operation
from balcao.operations.parameters import CREDITS_MAX, TAG_HEADERS, Parameters, read_tags

_HEADERS = frozenset({b"cache", b"idempotency-key", b"x-creditos-maximos"}) | TAG_HEADERS


class LookupRequest(msgspec.Struct, frozen=True):
    """A lookup's request, parsed."""

    question: Question
    idempotency_key: str | None
    credits_max: int | None  # the most that it may cost
    tags: RequestTags


def read_lookup(
    operation: Operation,
    document: str,
    request: Request,
    caller: Caller,
    *,
    quoted: bool = False,
    compat_api: str | None = None,
) -> LookupRequest:
    """Parse the request of a lookup. Raises `CallerError`.

    `document`: as it is in the path. `quoted`: only the price is asked. `compat_api`: the name of
    the compatible API whose path was used.
    """
    check_access(operation, caller, compat_api)  # before any input, including headers
    for name in request.repeated:
        if name in _HEADERS:
            raise RepeatedParameter(f"O cabeçalho {name.decode()} foi enviado mais de uma vez.")
    parameters = Parameters(request.query, request.headers, operation.names)
    key, credits_max, tags = parameters.header(b"idempotency-key"), None, NO_TAGS

    def check_input() -> None:
        nonlocal credits_max, tags
        credits_max = CREDITS_MAX.read(parameters)
        tags = read_tags(request.headers)
        if not quoted:
            require_client(caller, tags.client)
        if key is not None and not is_valid_key(key):
            raise InvalidIdempotencyKey

    question = admit_question(
        operation, caller, document, parameters, compat_api=compat_api, check_input=check_input
    )
    return LookupRequest(question, key, credits_max, tags)
