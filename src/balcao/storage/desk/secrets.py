"""Replacements of the installation's secret, on any engine (ADR 0106)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from balcao.storage.connection import SqlConnection
from balcao.storage.engine import Engine

_NEWEST = (
    "SELECT secret_id, activated_ms, finished_ms FROM secret_rotation"
    " ORDER BY activated_ms DESC LIMIT 2"
)
_ACTIVATE = "INSERT INTO secret_rotation (secret_id, activated_ms) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class SecretRotation:
    """A replacement of the secret. `previous_id`: of the replaced one; None: the first."""

    secret_id: str
    previous_id: str | None
    activated_ms: int
    finished_ms: int | None  # None: the replaced secret is still accepted


class SecretRotations:
    """The replacements, of which at most one is unfinished. Methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def newest(self) -> SecretRotation | None:
        """Return the last replacement; None: the first secret is in use."""
        return _newest(self._engine.connection)

    async def activate(self, secret_id: str, now_ms: int) -> bool:
        """Put a secret into use. False: a node lacks it, or another rotation is unfinished."""

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                newest = _newest(connection)
                if newest is not None and newest.finished_ms is None:
                    return False
                if self._engine.nodes_without_secret(connection, secret_id):
                    return False
                at_ms = now_ms if newest is None else max(now_ms, newest.activated_ms + 1)
                connection.execute(_ACTIVATE, (secret_id, at_ms))
                return True

        return await self._engine.run_in_writer(work)


def _newest(connection: SqlConnection) -> SecretRotation | None:
    rows: Sequence[Any] = connection.execute(_NEWEST, ()).fetchall()
    if not rows:
        return None
    (secret_id, activated_ms, finished_ms), *earlier = rows
    previous = earlier[0][0] if earlier else None
    return SecretRotation(secret_id, previous, activated_ms, finished_ms)
