"""What is created once under an idempotency key: its answer is kept in the commit that does it."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from balcao.core.errors import StillRunning
from balcao.core.idempotency import COMMIT_SECONDS
from balcao.core.ledger import Finish
from balcao.storage.batch import BINDING_COLUMNS
from balcao.storage.connection import SqlConnection

T = TypeVar("T")

# Of what was created, the answer to keep; None: no key was sent.
Keep: TypeAlias = Callable[[T], Finish | None]

_KEEP = (
    f"INSERT INTO idempotency ({', '.join(BINDING_COLUMNS)})"  # noqa: S608 - columns of ours
    f" VALUES ({', '.join('?' * len(BINDING_COLUMNS))})"
    " ON CONFLICT (account_id, key_digest) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in BINDING_COLUMNS[2:])
    + " WHERE idempotency.expires_ms <= excluded.bound_ms RETURNING 1"
)


def keep_answer(connection: SqlConnection, answer: Finish | None) -> None:
    """Record an answer in the transaction of its cause.

    Raises `StillRunning`, which ends that: somebody quicker has used the key, and their answer is
    the answer.
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
