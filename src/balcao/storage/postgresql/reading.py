"""What requests ask on their way in, all that wait in one round trip."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from balcao.core.access import Caller
from balcao.storage.desk.reading import EARLIER_COLUMNS, attempt_of
from balcao.storage.postgresql.connections import Line
from balcao.storage.postgresql.rows import arrays, blobs, unnest


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A question, and what it is about: a key's hash, or an idempotency key and the time."""

    kind: Literal["caller", "earlier"]
    about: Any


_CALLERS = (
    "SELECT k.hash, a.account_id, k.key_id, a.plan, a.mode, a.certificates, a.partner_optin,"
    " k.expires_ms, k.per_minute, k.per_day"
    f" FROM {unnest(('bytea',))} AS wanted (hash) JOIN api_key AS k USING (hash)"
    " JOIN account AS a USING (account_id) WHERE k.revoked_ms IS NULL AND a.suspended_ms IS NULL"
)
_KEYS = ("bigint", "text", "bigint")
_EARLIER = (
    f"SELECT account_id, key_digest, now_ms, {EARLIER_COLUMNS}"
    f" FROM {unnest(_KEYS)} AS wanted (account_id, key_digest, now_ms)"
    " JOIN idempotency USING (account_id, key_digest) WHERE expires_ms > now_ms"
)


def answer(line: Line, questions: Sequence[Asked]) -> Sequence[Any]:
    """What each asked for, or None. Raises `StorageFailed`."""
    hashes = {asked.about for asked in questions if asked.kind == "caller"}
    keys = {asked.about for asked in questions if asked.kind == "earlier"}
    found: dict[Any, Any] = {}
    if hashes:
        for row in line.execute(_CALLERS, (blobs(hashes),)):
            found[row[0]] = _caller(row[1:])
    if keys:
        for row in line.execute(_EARLIER, arrays(_KEYS, [*keys])):
            found[row[:3]] = attempt_of(row[3:])
    return [found.get(asked.about) for asked in questions]


def _caller(row: Any) -> Caller:
    account, key, plan, mode, certificates, optin, *rest = row
    return Caller(account, key, plan, mode, bool(certificates), bool(optin), *rest)
