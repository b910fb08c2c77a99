"""Recovery codes of the second factor, on any engine. Only keyed digests are stored."""

from collections.abc import Callable, Sequence
from typing import Any

from balcao.core.people import Signature
from balcao.core.writing import counted
from balcao.storage.connection import SqlConnection
from balcao.storage.desk import users
from balcao.storage.desk.account_admin import signed_transaction
from balcao.storage.desk.mail import NewMail, queue
from balcao.storage.engine import Engine

_LEFT = "SELECT count(*) FROM recovery_code WHERE user_id = ? AND used_ms IS NULL"
_USE = (
    "UPDATE recovery_code SET used_ms = ? WHERE user_id = ? AND code_digest = ?"
    " AND used_ms IS NULL RETURNING 1"
)


def replace_codes(connection: SqlConnection, user_id: int, digests: Sequence[bytes]) -> None:
    """Replace a user's codes within a transaction."""
    connection.execute("DELETE FROM recovery_code WHERE user_id = ?", (user_id,))
    for digest in digests:
        connection.execute(
            "INSERT INTO recovery_code (user_id, code_digest) VALUES (?, ?)", (user_id, digest)
        )


class RecoveryCodes:
    """The recovery codes of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def left(self, user_id: int) -> int:
        """Return how many codes have not been used."""

        def work(connection: SqlConnection) -> int:
            return _left(connection, user_id)

        return await self._run_in_writer(work)

    async def renew(
        self, user_id: int, digests: Sequence[bytes], signed: Signature, now_ms: int
    ) -> None:
        """Replace all codes. Raises `LookupError`, also without a second factor; `FormDone`."""

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                user = users.existing(connection, user_id)
                if not user.has_totp:
                    raise LookupError(user_id)
                replace_codes(connection, user_id, digests)
                detail = f"{counted(len(digests), 'código gerado', 'códigos gerados')}"
                users.log(connection, signed, "user.recovery", now_ms, user=user, detail=detail)

        await self._run_in_writer(work)

    async def use(
        self,
        user_id: int,
        digest: bytes,
        now_ms: int,
        compose: Callable[[int], NewMail] | None = None,
    ) -> bool:
        """Use a code, once; `compose` returns the notice for its owner, by the codes left.

        False: it is wrong or was used before.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                if not connection.execute(_USE, (now_ms, user_id, digest)).fetchall():
                    return False
                left, user = _left(connection, user_id), users.existing(connection, user_id)
                signed = Signature("web", user_id)
                detail = f"código usado; {counted(left, 'resta', 'restam')}"
                users.log(connection, signed, "user.recovery", now_ms, user=user, detail=detail)
                if compose is not None:
                    queue(connection, [compose(left)])
                return True

        return await self._run_in_writer(work)


def _left(connection: SqlConnection, user_id: int) -> int:
    row: Any = connection.execute(_LEFT, (user_id,)).fetchone()
    return int(row[0])
