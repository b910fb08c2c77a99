"""Rows of what every request asks, as both engines' `queries.sql` select them."""

from typing import Any

from balcao.core.access import Caller
from balcao.core.idempotency import Attempt, Recorded


def caller_of(row: Any) -> Caller:
    """Who calls, from the row of `caller`."""
    account, key, plan, mode, certificates, optin, *rest = row
    return Caller(account, key, plan, mode, bool(certificates), bool(optin), *rest)


def attempt_of(row: Any) -> Attempt:
    """What is recorded under an idempotency key, from the row of `earlier`."""
    fingerprint, state, request_id, status, body, fresh_ms, bound_ms, expires_ms = row
    recorded = Recorded(request_id, status, body, fresh_ms) if state == "finished" else None
    return Attempt(fingerprint, state, recorded, bound_ms, expires_ms)
