"""Pieces that the tests of federal certificates share."""

import re
from typing import Any

from tests.records import CPF
from tests.service import Reply

KEY = "pedido-0001"
PERSON = f"cpf={CPF}&data_nascimento=19800101"

# Fields of every result, and their types; `None` where the table has "or null".
FIELDS: dict[str, tuple[type, ...]] = {
    "request_id": (str,),
    "success": (bool,),
    "error": (bool,),
    "error_message": (dict,),
    "certificate_type": (str, type(None)),
    "certificate": (str,),
    "certificate_code": (str, type(None)),
    "corporate_name": (str,),
    "status": (str,),
    "issued_at": (str, type(None)),
    "validity": (str, type(None)),
    "extended_validity": (str, type(None)),
    "effective_validity": (str, type(None)),
    "valid_until": (str, type(None)),
    "source_queried_at": (str,),
    "served_at": (str,),
    "source": (str,),
    "issued_successfully": (bool,),
    "rfb_debts": (bool, type(None)),
    "pgfn_debts": (bool, type(None)),
    "receipt_type": (str,),
    "receipt_verification_code": (str,),
    "print": (str, type(None)),
    "provider_code": (int,),
    "provider_billable": (bool,),
    "provider_elapsed_time_in_milliseconds": (int,),
    "billing": (dict,),
}
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}-0[23]:00", re.ASCII)


def assert_result(answer: Reply, status: int, origin: str) -> Any:
    """Check the form of a result, whatever its content, and return its body.

    Specification, "Body rules"; contract 1."""
    body = answer.json
    credits = 1 if origin == "cache" else 2
    assert answer.status == status, body
    assert (body["success"], body["error"], body["error_message"]) == (status == 200, False, {})
    assert body["request_id"] == answer.headers["x-request-id"]
    for name, types in FIELDS.items():
        assert name in body, name
        assert type(body[name]) in types, (name, body[name])
    for name in ("issued_at", "validity", "extended_validity", "effective_validity", "valid_until"):
        assert body[name] is None or DATE.fullmatch(body[name]), name
    assert INSTANT.fullmatch(body["source_queried_at"])
    assert INSTANT.fullmatch(body["served_at"])
    assert (body["source"], body["billing"]) == (origin, {"credits": credits, "source": origin})
    assert answer.credits == credits
    assert answer.headers["cache-control"] == "no-store"
    assert {"ratelimit", "ratelimit-policy"} <= set(answer.headers)
    parts = [part.strip() for part in answer.headers["cache-status"].split(";")]
    assert ("hit" in parts) == (origin == "cache")
    assert any(part.startswith("fwd=") for part in parts) == (origin == "online")
    if status == 404:
        assert isinstance(body["message"], str)
        assert body["message"]
        assert not re.search("saldo|cr[ée]dito|limite", body["message"], re.IGNORECASE)
    return body
