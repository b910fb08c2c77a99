"""The fields that every answer shares (specification, "Common envelope"; contract 1.1)."""

from collections.abc import Callable
from typing import Annotated, TypeAlias

import msgspec

from balcao.core.described import said
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    CertificateFailed,
    InvalidCnpj,
    InvalidCpf,
    SourceError,
    StorageFailed,
)
from balcao.core.outcomes import Conclusion
from balcao.core.problems import Problem, problem_of
from balcao.core.tariff import ERROR

# Fields of answers that mean the same everywhere. Which of the two a boolean always is stands in
# its description: a `const` on a boolean is more than most generators of clients can read.
RequestId: TypeAlias = Annotated[str, said("Identificador único da operação.", format="uuid")]
AlwaysTrue: TypeAlias = Annotated[bool, said("Sempre `true` nesta resposta.")]
AlwaysFalse: TypeAlias = Annotated[bool, said("Sempre `false` nesta resposta.")]
NoError: TypeAlias = Annotated[None, said("Sempre nulo nesta resposta: não há erro.")]

WITHOUT_ID = b'{"request_id":"",'  # how the JSON of an answer begins that has no number yet

# An operation's form of an error: the problem, and the document as it stood in the request.
ErrorFields: TypeAlias = Callable[[Problem, str], bytes]

# Errors whose detail is for the operator and holds no personal data.
OPERATORS_DETAILS = (SourceError, CertificateFailed, StorageFailed)

_encode = msgspec.json.Encoder().encode


def error_fields(problem: Problem, extra: bytes = b"") -> bytes:
    """The body of an error, from `success` to the closing brace; `extra` ends with a comma."""
    error = {"message": problem.message, "code": problem.code}
    further = b"".join(
        b',"' + name.encode() + b'":' + _encode(value) for name, value in problem.fields.items()
    )
    return (
        b'"success":false,"error":true,'
        + extra
        + b'"error_message":'
        + _encode(error)
        + b',"message":'
        + _encode(problem.message)
        + further
        + b"}"
    )


class _ToldError(msgspec.Struct):
    code: str | None = None  # there is none where nothing went wrong (1.2)


class _Told(msgspec.Struct):
    error_message: _ToldError | None = None


_told = msgspec.json.Decoder(_Told).decode


def code_told(body: bytes) -> str | None:
    """The code of an answer that was recorded; None: it is a result."""
    said = _told(body).error_message
    return None if said is None else said.code


def plain_error_fields(problem: Problem, document: str) -> bytes:
    """Of addresses that are no lookups."""
    return error_fields(problem)


def document_field(name: str, document: str) -> bytes:
    """`"cnpj":"…",` or `"cpf":"…",` where the text is one, else nothing (contract 1.1)."""
    kind: type[Cnpj | Cpf] = Cnpj if name == "cnpj" else Cpf
    try:
        return b'"' + name.encode() + b'":' + _encode(kind.parse(document).text) + b","
    except (InvalidCnpj, InvalidCpf):
        return b""


def refusal(
    error: Exception, document: str = "", fields_of: ErrorFields = plain_error_fields
) -> Conclusion:
    """What a caller is told when there is no answer, in an operation's own form; costs nothing.

    `document` is what was asked about, as far as it is known; it may be any text.
    """
    problem = problem_of(error)
    return Conclusion(
        status=problem.status,
        fields=fields_of(problem, document),
        credits=0,
        rule=ERROR,
        code=problem.code,
        retry_after_seconds=problem.retry_after_seconds,
        detail=error.detail if isinstance(error, OPERATORS_DETAILS) else None,
    )
