"""Whose keys a database holds: what their pepper makes of a fixed text tells it from any other.

With another `secret.key` every key would be refused as unknown, and nobody would know why.
"""

import hashlib
from typing import Any

from balcao.core.errors import PepperDiffers

_MARKED = b"whose keys are these"
_MARK = "SELECT mark FROM pepper"


def check_pepper(connection: Any, pepper: bytes, *, parameter: str) -> None:
    """Refuse a database whose keys were hashed with another pepper; one without a mark takes this.

    `connection` is the engine's own, `parameter` how a value stands in its statements. Raises
    `PepperDiffers`.
    """
    if connection.execute(_MARK).fetchone() is None:
        # Of processes that start together, one is the first.
        sql = f"INSERT INTO pepper VALUES (1, {parameter}) ON CONFLICT DO NOTHING"  # noqa: S608
        connection.execute(sql, (mark_of(pepper),))
    if not may_be_pepper(connection, pepper):
        raise PepperDiffers


def may_be_pepper(connection: Any, pepper: bytes) -> bool:
    """Whether a database with our schema has no mark of another pepper. Changes nothing."""
    row = connection.execute(_MARK).fetchone()
    return row is None or bytes(row[0]) == mark_of(pepper)


def mark_of(pepper: bytes) -> bytes:
    """What is stored. It tells nothing of the pepper."""
    return hashlib.blake2b(_MARKED, key=pepper, digest_size=32).digest()
