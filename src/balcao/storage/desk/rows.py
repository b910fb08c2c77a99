"""Records made of rows of both engines' `queries.sql`: callers, attempts, restrictions of keys."""

from typing import Any

import msgspec

from balcao.core.access import UNRESTRICTED, Caller, KeyRestrictions
from balcao.core.idempotency import IdempotencyRecord, RecordedAnswer


def caller_of(row: Any) -> Caller:
    """Return the caller of a row of `caller`."""
    (
        account,
        key,
        plan,
        mode,
        certificates,
        optin,
        expires_ms,
        per_minute,
        per_day,
        watched,
        *restrictions,
    ) = row
    return Caller(
        account,
        key,
        plan,
        mode,
        bool(certificates),
        bool(optin),
        expires_ms,
        per_minute,
        per_day,
        restrictions=restrictions_of(*restrictions),
        watches=watched > 0,
    )


def restrictions_of(
    networks: Any, operations: Any, client_required: Any, administers: Any
) -> KeyRestrictions | None:
    """Return a key's restrictions from its columns, in the order of `restrictions_row`."""
    if networks is None and operations is None and not client_required and not administers:
        return None
    return KeyRestrictions(
        () if networks is None else texts_of(networks),
        None if operations is None else texts_of(operations),
        bool(client_required),
        bool(administers),
    )


def restrictions_row(
    restrictions: KeyRestrictions | None,
) -> tuple[str | None, str | None, int, int]:
    """Return the stored form: `networks, operations, client_required, administers`."""
    restrictions = restrictions or UNRESTRICTED
    return (
        _json(restrictions.networks).decode() if restrictions.networks else None,
        None if restrictions.operations is None else _json(restrictions.operations).decode(),
        int(restrictions.client_required),
        int(restrictions.administers),
    )


texts_of = msgspec.json.Decoder(tuple[str, ...]).decode
_json = msgspec.json.Encoder().encode


def attempt_of(row: Any) -> IdempotencyRecord:
    """Return the attempt under an idempotency key from a row of `earlier`."""
    fingerprint, state, request_id, status, body, fresh_ms, bound_ms, expires_ms = row
    recorded = RecordedAnswer(request_id, status, body, fresh_ms) if state == "finished" else None
    return IdempotencyRecord(fingerprint, state, recorded, bound_ms, expires_ms)
