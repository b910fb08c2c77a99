"""The common fields of answers (specification, "Common envelope"; contract 1.1)."""

from collections.abc import Callable
from typing import Annotated, TypeAlias

import msgspec

from balcao.core.described import doc
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

# Fields with the same meaning in all answers. The value of a constant boolean is in its
# description: most client generators cannot read a `const` on a boolean.
RequestId: TypeAlias = Annotated[str, doc("Identificador único da operação.", format="uuid")]
AlwaysTrue: TypeAlias = Annotated[bool, doc("Sempre `true` nesta resposta.")]
AlwaysFalse: TypeAlias = Annotated[bool, doc("Sempre `false` nesta resposta.")]
NoError: TypeAlias = Annotated[None, doc("Sempre nulo nesta resposta: não há erro.")]

WITHOUT_ID = b'{"request_id":"",'  # beginning of an answer's JSON without its request_id

# An operation's function for the body of an error: from the problem, and the document as sent.
ErrorFields: TypeAlias = Callable[[Problem, str], bytes]

# Errors whose detail is for the operator, without personal data.
OPERATORS_DETAILS = (SourceError, CertificateFailed, StorageFailed)

_encode = msgspec.json.Encoder().encode


def error_fields(problem: Problem, extra: bytes = b"") -> bytes:
    """Return an error's body from `success` to the closing brace; `extra` ends with a comma."""
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


class _ErrorMessage(msgspec.Struct):
    code: str | None = None  # a result has none (1.2)


class _Answer(msgspec.Struct):
    error_message: _ErrorMessage | None = None


_decode = msgspec.json.Decoder(_Answer).decode


def error_code(body: bytes) -> str | None:
    """Return the code of a recorded answer; None: it is a result."""
    error = _decode(body).error_message
    return None if error is None else error.code


def plain_error_fields(problem: Problem, document: str) -> bytes:
    """Return the body of an error of addresses other than lookups."""
    return error_fields(problem)


def document_field(name: str, document: str) -> bytes:
    """Return `"cnpj":"…",` or `"cpf":"…",` if the text is a valid one, else nothing (1.1)."""
    kind: type[Cnpj | Cpf] = Cnpj if name == "cnpj" else Cpf
    try:
        return b'"' + name.encode() + b'":' + _encode(kind.parse(document).text) + b","
    except (InvalidCnpj, InvalidCpf):
        return b""


def refusal(
    error: Exception, document: str = "", fields_of: ErrorFields = plain_error_fields
) -> Conclusion:
    """Return the conclusion for an error, in an operation's own form; it costs nothing.

    `document`: as sent, if known; it may be any text.
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
