"""The checks of a lookup between the limits and idempotency, in their order (contract 2.10)."""

from collections.abc import Callable

from balcao.core.access import Caller
from balcao.core.errors import ClientRequired, OperationNotAllowed
from balcao.core.questions import Question
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameters


def admit_question(
    operation: Operation,
    caller: Caller,
    document: str,
    parameters: Parameters,
    *,
    compat_api: str | None = None,
    check_input: Callable[[], None] | None = None,
) -> Question:
    """Parse a caller's question and check that account and key may ask it. Raises `CallerError`.

    `compat_api`: the name of the compatible API whose path was used. `check_input`: the checks of
    input beyond document and parameters.
    """
    check_access(operation, caller, compat_api)
    question = operation.parse(document, parameters)
    if check_input is not None:
        check_input()
    operation.check_question(question, caller)
    return question


def check_access(operation: Operation, caller: Caller, compat_api: str | None = None) -> None:
    """Check that account and key may use an operation, before its input is read.

    Raises `OperationNotAllowed` (contract 11.3), `CertificatesNotEnabled`.
    """
    if caller.restrictions is not None and not caller.restrictions.allows_operation(
        operation.path, compat_api
    ):
        raise OperationNotAllowed
    operation.check_account(caller)


def require_client(caller: Caller, client: str | None) -> None:
    """Check that a lookup names a client if the key must (contract 11.3).

    Raises `ClientRequired`.
    """
    if caller.restrictions is not None and caller.restrictions.client_required and client is None:
        raise ClientRequired
