"""Records made of rows of both engines' `queries.sql`: callers, attempts, restrictions of keys."""

from typing import Any

import msgspec

from balcao.core.access import OPEN, Caller, KeyDoor
from balcao.core.idempotency import Attempt, Recorded


def caller_of(row: Any) -> Caller:
    """Return the caller of a row of `caller`."""
    account, key, plan, mode, certificates, optin, expires_ms, per_minute, per_day, *door = row
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
        door=door_of(*door),
    )


def door_of(
    networks: Any, operations: Any, client_required: Any, administers: Any
) -> KeyDoor | None:
    """Return a key's restrictions from its columns, in the order of `door_row`."""
    if networks is None and operations is None and not client_required and not administers:
        return None
    return KeyDoor(
        () if networks is None else texts_of(networks),
        None if operations is None else texts_of(operations),
        bool(client_required),
        bool(administers),
    )


def door_row(door: KeyDoor | None) -> tuple[str | None, str | None, int, int]:
    """Return the stored form: `networks, operations, client_required, administers`."""
    door = door or OPEN
    return (
        _json(door.networks).decode() if door.networks else None,
        None if door.operations is None else _json(door.operations).decode(),
        int(door.client_required),
        int(door.administers),
    )


texts_of = msgspec.json.Decoder(tuple[str, ...]).decode
_json = msgspec.json.Encoder().encode


def attempt_of(row: Any) -> Attempt:
    """Return the attempt under an idempotency key from a row of `earlier`."""
    fingerprint, state, request_id, status, body, fresh_ms, bound_ms, expires_ms = row
    recorded = Recorded(request_id, status, body, fresh_ms) if state == "finished" else None
    return Attempt(fingerprint, state, recorded, bound_ms, expires_ms)
