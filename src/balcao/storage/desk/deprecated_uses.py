"""Use of deprecated features by key and day, on any engine (ADR 0104).

All processes add to the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from balcao.core.deprecations import DeprecatedUse
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.engine import Engine

PURGED_AT_ONCE = 1_000

_COLUMNS = ", ".join(DeprecatedUse.__struct_fields__)
_ADD = (
    f"INSERT INTO deprecated_use ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608 - ours
    " ON CONFLICT (account_id, feature, key_id, day)"
    " DO UPDATE SET requests = deprecated_use.requests + excluded.requests"
)
# Newest use first. Nobody has to change a program for a revoked key.
_READ = (
    "SELECT u.account_id, a.name, u.feature, u.key_id, k.name, k.prefix, max(u.day),"
    " CAST(sum(CASE WHEN u.day >= ? THEN u.requests ELSE 0 END) AS BIGINT)"
    " FROM deprecated_use AS u JOIN account AS a ON a.account_id = u.account_id"
    " JOIN api_key AS k ON k.key_id = u.key_id AND k.revoked_ms IS NULL {condition}"
    " GROUP BY u.account_id, a.name, u.feature, u.key_id, k.name, k.prefix"
    " ORDER BY max(u.day) DESC, a.name, u.feature, u.key_id LIMIT ?"
)
_PURGE = (
    "DELETE FROM deprecated_use WHERE (account_id, feature, key_id, day) IN"
    " (SELECT account_id, feature, key_id, day FROM deprecated_use WHERE day < ? LIMIT ?)"
    " RETURNING 1"
)


@dataclass(frozen=True, slots=True)
class KeyUse:
    """The use of a deprecated feature by one key."""

    account_id: int
    account: str
    feature: str
    key_id: int
    key: str
    prefix: str
    last_day: str  # YYYY-MM-DD in Brasília
    requests: int  # since the first day that was asked for


class DeprecatedUses:
    """The stored uses of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader: OpenReader = engine.open_reader

    async def add(self, uses: Sequence[DeprecatedUse]) -> None:
        """Add a process's counts, in one commit."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                # In the order of the key, so that nodes writing at the same time cannot deadlock.
                for use in sorted(uses):
                    connection.execute(_ADD, msgspec.structs.astuple(use))

        if uses:
            await self._run_in_writer(work)

    def read(self, account_id: int | None, since_day: str, limit: int) -> Sequence[KeyUse]:
        """Return the uses by one account, or by all (None), latest first. Callable in any thread.

        Requests are counted from `since_day`, a civil day.
        """
        one = account_id is not None
        sql = _READ.format(condition="WHERE u.account_id = ?" if one else "")
        values = (since_day, account_id, limit) if one else (since_day, limit)
        with self._open_reader() as reading:
            rows: Any = reading.execute(sql, values).fetchall()
        return [KeyUse(*row) for row in rows]

    async def purge(self, before_day: str) -> int:
        """Delete some uses before a civil day. Return the count."""

        def work(connection: SqlConnection) -> int:
            return len(connection.execute(_PURGE, (before_day, PURGED_AT_ONCE)).fetchall())

        return await self._run_in_writer(work)
