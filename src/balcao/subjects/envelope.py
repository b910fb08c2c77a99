"""The fields that every answer shares (specification, "Common envelope"; decisions 1.1)."""

from collections.abc import Callable

import msgspec

from balcao.core.outcomes import Conclusion
from balcao.core.problems import Problem, problem_of

_encode = msgspec.json.Encoder().encode


def error_fields(problem: Problem, extra: bytes = b"") -> bytes:
    """The body of an error, from `success` to the closing brace; `extra` ends with a comma."""
    error = {"message": problem.message, "code": problem.code}
    further = b"".join(
        b',"' + name.encode() + b'":' + str(number).encode()
        for name, number in problem.fields.items()
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


def refusal(error: Exception, fields_of: Callable[[Problem], bytes] = error_fields) -> Conclusion:
    """What a caller is told when there is no answer, in an operation's own form; costs nothing."""
    problem = problem_of(error)
    return Conclusion(
        status=problem.status,
        fields=fields_of(problem),
        credits=0,
        rule="erro",
        code=problem.code,
        retry_after_seconds=problem.retry_after_seconds,
    )
