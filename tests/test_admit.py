"""The order of a lookup's checks (contract 2.10)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from balcao.core.access import Caller, KeyRestrictions
from balcao.core.errors import (
    CertificatesNotEnabled,
    ClientRequired,
    InvalidCnpj,
    InvalidIdempotencyKey,
    OperationNotAllowed,
    OptInNotEnabled,
)
from balcao.lookup.admit import admit_question, require_client
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameters
from tests.records import CNPJ

COMPANY, CERTIFICATE = OPERATIONS["company"], OPERATIONS["state_certificate"]
OF_COMPANIES = KeyRestrictions(operations=(COMPANY.path,))


def caller(*, partner_optin: bool = False, restrictions: KeyRestrictions | None = None) -> Caller:
    return Caller(
        1, 1, "gratuito", "test", False, partner_optin, None, None, None, restrictions=restrictions
    )


def refuse() -> None:
    raise InvalidIdempotencyKey


@pytest.mark.parametrize(
    ("operation", "who", "document", "optin", "more", "error"),
    [
        (CERTIFICATE, {"restrictions": OF_COMPANIES}, "x", "2", refuse, OperationNotAllowed),
        (CERTIFICATE, {}, "x", "2", refuse, CertificatesNotEnabled),
        (COMPANY, {"restrictions": OF_COMPANIES}, "x", "1", refuse, InvalidCnpj),
        (COMPANY, {}, CNPJ, "1", refuse, InvalidIdempotencyKey),
        (COMPANY, {}, CNPJ, "1", None, OptInNotEnabled),
        (COMPANY, {"partner_optin": True}, CNPJ, "1", None, None),
    ],
)
def test_the_first_broken_rule_is_reported(
    *,
    operation: Operation,
    who: Mapping[str, Any],
    document: str,
    optin: str,
    more: Callable[[], None] | None,
    error: type[Exception] | None,
) -> None:
    parameters = Parameters.of({"optin": optin})
    if error is None:
        asked = admit_question(operation, caller(**who), document, parameters, check_input=more)
        assert asked.document.text == document
        return
    with pytest.raises(error):
        admit_question(operation, caller(**who), document, parameters, check_input=more)


def test_a_key_may_require_a_client() -> None:
    strict = caller(restrictions=KeyRestrictions(client_required=True))
    require_client(caller(), None)
    require_client(strict, "loja-7")
    with pytest.raises(ClientRequired):
        require_client(strict, None)
