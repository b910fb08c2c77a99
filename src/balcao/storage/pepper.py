"""A mark of the pepper that hashed a database's keys: a fixed text hashed with the same pepper.

With another `secret.key` every key would be refused as unknown, without an apparent reason.
"""

import hashlib
from typing import Any

from balcao.core.errors import PepperDiffers

_MARKED_TEXT = b"whose keys are these"
_MARK = "SELECT mark FROM pepper"


def check_pepper(connection: Any, pepper: bytes, *, parameter: str) -> None:
    """Refuse a database whose keys were hashed with another pepper; store the mark if it has none.

    `connection` is the engine's own, `parameter` the placeholder of its statements. Raises
    `PepperDiffers`.
    """
    if connection.execute(_MARK).fetchone() is None:
        # Processes may start at the same time: one of them inserts the mark.
        sql = f"INSERT INTO pepper VALUES (1, {parameter}) ON CONFLICT DO NOTHING"  # noqa: S608
        connection.execute(sql, (mark_of(pepper),))
    if not may_be_pepper(connection, pepper):
        raise PepperDiffers


def may_be_pepper(connection: Any, pepper: bytes) -> bool:
    """Return False if a database with our schema has the mark of another pepper. Read-only."""
    row = connection.execute(_MARK).fetchone()
    return row is None or bytes(row[0]) == mark_of(pepper)


def mark_of(pepper: bytes) -> bytes:
    """Return the mark to store. It reveals nothing about the pepper."""
    return hashlib.blake2b(_MARKED_TEXT, key=pepper, digest_size=32).digest()
