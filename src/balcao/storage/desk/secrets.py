"""Replacements of the installation's secret, on any engine (ADR 0106)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from balcao.core.people import Signature
from balcao.core.secrets import SecretRotation
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.engine import Engine

SealedKind: TypeAlias = Literal["totp", "mail", "wallet", "webhook", "webhook_old"]

_NEWEST = (
    "SELECT secret_id, activated_ms, finished_ms FROM secret_rotation"
    " ORDER BY activated_ms DESC LIMIT 2"
)
_ACTIVATE = "INSERT INTO secret_rotation (secret_id, activated_ms) VALUES (?, ?)"
_FINISH = (
    "UPDATE secret_rotation"
    # The clock may have been set back since the activation.
    " SET finished_ms = CASE WHEN activated_ms > ? THEN activated_ms ELSE ? END"
    " WHERE secret_id = ? AND finished_ms IS NULL RETURNING 1"
)
_REHASH = "UPDATE api_key SET hash = ?, secret_id = ? WHERE hash = ? RETURNING 1"
# Keys that are in force and hashed with another secret.
_KEYS_LEFT = (
    "SELECT k.key_id, k.account_id, a.name, k.name, k.last_used_ms"
    " FROM api_key AS k JOIN account AS a USING (account_id)"
    " WHERE coalesce(k.secret_id, '') <> ? AND k.revoked_ms IS NULL"
    " AND coalesce(k.expires_ms > ?, TRUE) ORDER BY k.key_id"
)
_BATCHES = (
    "SELECT secret_id, count(*) FROM batch WHERE erased_ms IS NULL AND secret_id IS NOT NULL"
    " GROUP BY secret_id"
)
_SEALED: Mapping[SealedKind, str] = {
    "totp": "SELECT user_id, totp_secret FROM person WHERE totp_secret IS NOT NULL",
    "mail": "SELECT mail_id, content FROM mail WHERE content IS NOT NULL",
    "wallet": "SELECT item_id, sealed FROM wallet_item WHERE sealed IS NOT NULL",
    "webhook": "SELECT webhook_id, secret FROM webhook",
    "webhook_old": "SELECT webhook_id, old_secret FROM webhook WHERE old_secret IS NOT NULL",
}
_RESEAL: Mapping[SealedKind, str] = {
    "totp": "UPDATE person SET totp_secret = ? WHERE user_id = ? AND totp_secret = ? RETURNING 1",
    "mail": "UPDATE mail SET content = ? WHERE mail_id = ? AND content = ? RETURNING 1",
    "wallet": "UPDATE wallet_item SET sealed = ? WHERE item_id = ? AND sealed = ? RETURNING 1",
    "webhook": "UPDATE webhook SET secret = ? WHERE webhook_id = ? AND secret = ? RETURNING 1",
    "webhook_old": "UPDATE webhook SET old_secret = ? WHERE webhook_id = ? AND old_secret = ?"
    " RETURNING 1",
}


@dataclass(frozen=True, slots=True)
class KeyLeft:
    """A key in force that has not been used since the secret was replaced."""

    key_id: int
    account_id: int
    account: str
    name: str
    last_used_ms: int | None


@dataclass(frozen=True, slots=True, repr=False)
class SealedValue:
    """A value that is stored sealed, with the number of its row."""

    kind: SealedKind
    number: int | str
    sealed: bytes


class SecretRotations:
    """The replacements, of which at most one is unfinished. Methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def newest(self) -> SecretRotation | None:
        """Return the last replacement; None: the first secret is in use."""
        return newest_rotation(self._engine.connection)

    async def read_newest(self) -> SecretRotation | None:
        """Return the same as `newest`, without blocking the event loop."""
        return await self._engine.run_in_writer(newest_rotation)

    def nodes_without(self, secret_id: str) -> Sequence[int]:
        """Return the numbers of serving nodes that lack a secret."""
        return self._engine.nodes_without_secret(self._engine.connection, secret_id)

    async def log_added(self, secret_id: str, signed: Signature, now_ms: int) -> None:
        """Log that a new secret was added to `secret.key`."""

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                _log(connection, signed, secret_id, now_ms, "incluído; entra em uso em seguida")

        await self._engine.run_in_writer(work)

    async def activate(self, secret_id: str, now_ms: int) -> bool:
        """Put a secret into use. False: a node lacks it, or another rotation is unfinished."""

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                newest = newest_rotation(connection)
                if newest is not None and newest.finished_ms is None:
                    return False
                if self._engine.nodes_without_secret(connection, secret_id):
                    return False
                at_ms = now_ms if newest is None else max(now_ms, newest.activated_ms + 1)
                connection.execute(_ACTIVATE, (secret_id, at_ms))
                return True

        return await self._engine.run_in_writer(work)

    async def rehash_key(self, old: bytes, new: bytes, secret_id: str | None) -> None:
        """Replace a key's hash. Does nothing if another request has done so."""
        await self._engine.run_in_writer(
            lambda connection: connection.execute(_REHASH, (new, secret_id, old)).fetchall()
        )

    def keys_left(self, current_id: str, now_ms: int) -> Sequence[KeyLeft]:
        """Return the keys in force that are not hashed with the current secret."""
        return keys_left(self._engine.connection, current_id, now_ms)

    def batches(self) -> Mapping[str, int]:
        """Return how many batches have data sealed with each secret but the first."""
        return dict(self._engine.connection.execute(_BATCHES, ()).fetchall())

    async def sealed_values(self) -> Sequence[SealedValue]:
        """Return all values that are sealed with the secret in use."""

        def work(connection: SqlConnection) -> Sequence[SealedValue]:
            return [
                SealedValue(kind, number, bytes(sealed))
                for kind, sql in _SEALED.items()
                for number, sealed in connection.execute(sql, ()).fetchall()
            ]

        return await self._engine.run_in_writer(work)

    async def reseal(self, value: SealedValue, sealed: bytes) -> None:
        """Replace a sealed value, unless it has changed."""
        values = (sealed, value.number, value.sealed)
        await self._engine.run_in_writer(
            lambda connection: connection.execute(_RESEAL[value.kind], values).fetchall()
        )

    async def finish(self, current_id: str, signed: Signature, now_ms: int) -> Sequence[KeyLeft]:
        """Accept the replaced secret no longer, and revoke the keys left, which are returned."""

        def work(connection: SqlConnection) -> Sequence[KeyLeft]:
            with signed_transaction(connection, signed):
                if not connection.execute(_FINISH, (now_ms, now_ms, current_id)).fetchall():
                    return ()
                left = keys_left(connection, current_id, now_ms)
                for key in left:
                    sql = "UPDATE api_key SET revoked_ms = ? WHERE key_id = ?"
                    connection.execute(sql, (now_ms, key.key_id))
                    write_audit(
                        connection,
                        Signature(signed.channel, signed.user_id),
                        "key.revoke",
                        now_ms,
                        account_id=key.account_id,
                        target=f"chave {key.name}",
                        detail=f"número {key.key_id}; sem uso desde a troca do segredo",
                    )
                _log(connection, signed, current_id, now_ms, "o anterior não é mais aceito")
                return left

        return await self._engine.run_in_writer(work)


def _log(
    connection: SqlConnection, signed: Signature, secret_id: str, now_ms: int, detail: str
) -> None:
    write_audit(
        connection,
        signed,
        "secret.rotate",
        now_ms,
        account_id=None,
        target=f"segredo {secret_id}",
        detail=detail,
    )


def keys_left(connection: SqlConnection, current_id: str, now_ms: int) -> Sequence[KeyLeft]:
    """Return the keys in force that are not hashed with the current secret."""
    rows: Sequence[Any] = connection.execute(_KEYS_LEFT, (current_id, now_ms)).fetchall()
    return [KeyLeft(*row) for row in rows]


def newest_rotation(connection: SqlConnection) -> SecretRotation | None:
    """Return the last replacement; None: the first secret is in use."""
    rows: Sequence[Any] = connection.execute(_NEWEST, ()).fetchall()
    if not rows:
        return None
    (secret_id, activated_ms, finished_ms), *earlier = rows
    previous = earlier[0][0] if earlier else None
    return SecretRotation(secret_id, previous, activated_ms, finished_ms)
