"""The recorded answer of a request that creates something once under an idempotency key."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from balcao.core.errors import StillRunning
from balcao.core.idempotency import COMMIT_SECONDS
from balcao.core.ledger import Finish
from balcao.storage.batch import BINDING_COLUMNS
from balcao.storage.connection import SqlConnection

T = TypeVar("T")

# Makes the answer to record of what was created; None: no key was sent.
MakeAnswer: TypeAlias = Callable[[T], Finish | None]

_KEEP = (
    f"INSERT INTO idempotency ({', '.join(BINDING_COLUMNS)})"  # noqa: S608 - columns of ours
    f" VALUES ({', '.join('?' * len(BINDING_COLUMNS))})"
    " ON CONFLICT (account_id, key_digest) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in BINDING_COLUMNS[2:])
    + " WHERE idempotency.expires_ms <= excluded.bound_ms RETURNING 1"
)


def record_answer(connection: SqlConnection, answer: Finish | None) -> None:
    """Record an answer in the transaction that creates what it describes.

    Raises `StillRunning`, which rolls that back: another request has used the key meanwhile, and
    its answer counts.
    """
    if answer is None:
        return
    recorded = answer.recorded
    row = (
        answer.account_id, answer.key_digest, answer.fingerprint, recorded.request_id, "finished",
        answer.at_ms, answer.expires_ms, recorded.status, recorded.body, recorded.fresh_ms,
    )  # fmt: skip
    if connection.execute(_KEEP, row).fetchone() is None:
        raise StillRunning(COMMIT_SECONDS)
