"""The queue of messages by e-mail, on any engine (ADR 0101).

A message is stored in the commit of its cause together with the job that sends it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from balcao.core.events import NewEvent
from balcao.core.ledger import Enqueue
from balcao.core.people import Signature
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.desk.events import write_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.engine import Engine

LOW_BALANCE = "saldo.baixo"
SEND_MAIL = "mail"  # the kind of its job
PURGED_AT_ONCE = 1_000

_INSERT = "INSERT INTO mail (mail_id, kind, content, queued_ms, expires_ms) VALUES (?, ?, ?, ?, ?)"
_ONE = "SELECT mail_id, kind, content, queued_ms, expires_ms FROM mail WHERE mail_id = ?"
_COUNTS = (
    "SELECT kind, refusal, count(*), min(queued_ms), max(attempts) FROM mail"
    " GROUP BY kind, refusal ORDER BY kind, refusal"
)
_PURGE = (
    "DELETE FROM mail WHERE mail_id IN (SELECT mail_id FROM mail WHERE expires_ms <= ? LIMIT ?)"
    " RETURNING 1"
)
# Post-paid accounts have no balance. A suspended one spends nothing.
_AVAILABLE = (
    "FROM account AS a WHERE a.account_id = account_notice.account_id AND a.plan <> 'pos_pago'"
    " AND a.suspended_ms IS NULL AND a.balance_credits - a.held_credits"
)
_RESET = " ".join(
    (
        "UPDATE account_notice SET noticed_ms = NULL WHERE kind = 'low_balance'",
        *("AND noticed_ms IS NOT NULL AND EXISTS (SELECT 1", _AVAILABLE, ">= threshold)"),
        "RETURNING 1",
    )
)
_LOW = " ".join(
    (
        "UPDATE account_notice SET noticed_ms = ? WHERE kind = 'low_balance'",
        *("AND noticed_ms IS NULL AND EXISTS (SELECT 1", _AVAILABLE, "< threshold)"),
        "RETURNING account_id, threshold",
    )
)
_ACCOUNT = "SELECT name, balance_credits - held_credits FROM account WHERE account_id = ?"
_MANAGERS = (
    "SELECT email FROM person WHERE account_id = ? AND role = 'manager' AND suspended_ms IS NULL"
    " AND password_hash IS NOT NULL ORDER BY user_id"
)
_THRESHOLD = "SELECT threshold FROM account_notice WHERE account_id = ? AND kind = 'low_balance'"


@dataclass(frozen=True, slots=True, repr=False)
class NewMail:
    """A message to be queued. `content` is sealed."""

    mail_id: str
    kind: str
    content: bytes
    queued_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True, repr=False)
class QueuedMail:
    """A message in the queue. `content` is None if the server refused it."""

    mail_id: str
    kind: str
    content: bytes | None
    queued_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class MailCount:
    """How many messages of a kind are waiting (`refusal` None), or were refused with a code."""

    kind: str
    refusal: int | None
    count: int
    oldest_ms: int
    attempts: int  # the most of any


@dataclass(frozen=True, slots=True, repr=False)
class LowBalance:
    """An account whose balance has become low, and the managers to notify."""

    account: str
    available: int
    threshold: int
    emails: Sequence[str]


def queue(connection: SqlConnection, messages: Iterable[NewMail]) -> None:
    """Store messages and their jobs within the transaction of their cause."""
    for one in messages:
        values = (one.mail_id, one.kind, one.content, one.queued_ms, one.expires_ms)
        connection.execute(_INSERT, values)
        enqueue(connection, [Enqueue(SEND_MAIL, one.mail_id, one.queued_ms)])


class MailQueue:
    """The messages of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def add(self, message: NewMail) -> None:
        """Queue a message that has no other cause."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                queue(connection, [message])

        await self._run_in_writer(work)

    async def find(self, mail_id: str) -> QueuedMail | None:
        """Return a message. None: it was sent, or has expired."""
        rows = await self._run(_ONE, mail_id)
        if not rows:
            return None
        number, kind, content, queued_ms, expires_ms = rows[0]
        sealed = None if content is None else bytes(content)
        return QueuedMail(number, kind, sealed, queued_ms, expires_ms)

    async def remove(self, mail_id: str) -> None:
        """Delete a message that was sent, or need not be."""
        await self._run("DELETE FROM mail WHERE mail_id = ? RETURNING 1", mail_id)

    async def count_attempt(self, mail_id: str) -> int:
        """Count a failed attempt. Return how many there were."""
        sql = "UPDATE mail SET attempts = attempts + 1 WHERE mail_id = ? RETURNING attempts"
        rows = await self._run(sql, mail_id)
        return int(rows[0][0]) if rows else 1

    async def refuse(self, mail_id: str, code: int) -> None:
        """Record the server's refusal; the content is deleted."""
        sql = "UPDATE mail SET content = NULL, refusal = ? WHERE mail_id = ? RETURNING 1"
        await self._run(sql, code, mail_id)

    async def counts(self) -> Sequence[MailCount]:
        """Return the number of messages by kind and refusal."""
        return [MailCount(*row) for row in await self._run(_COUNTS)]

    async def purge(self, now_ms: int) -> int:
        """Delete some expired messages. Return the count."""
        return len(await self._run(_PURGE, now_ms, PURGED_AT_ONCE))

    # Notices of a low balance.

    async def threshold(self, account_id: int) -> int | None:
        """Return the balance below which managers are notified. None: they are not."""
        rows = await self._run(_THRESHOLD, account_id)
        return int(rows[0][0]) if rows else None

    async def set_threshold(
        self, account_id: int, threshold: int | None, signed: Signature, now_ms: int
    ) -> None:
        """Change the threshold; a balance that is already below it is notified once.

        Raises `FormDone`, `LookupError`.
        """

        def work(connection: SqlConnection) -> None:
            with signed_transaction(connection, signed):
                row: Any = connection.execute(_ACCOUNT, (account_id,)).fetchone()
                if row is None:
                    raise LookupError(account_id)
                known: Any = connection.execute(_THRESHOLD, (account_id,)).fetchone()
                before = None if known is None else known[0]
                if before == threshold:
                    return
                connection.execute(
                    "DELETE FROM account_notice WHERE account_id = ? AND kind = 'low_balance'",
                    (account_id,),
                )
                if threshold is not None:
                    connection.execute(
                        "INSERT INTO account_notice (account_id, kind, threshold)"
                        " VALUES (?, 'low_balance', ?)",
                        (account_id, threshold),
                    )
                old, new = ("nenhum" if one is None else str(one) for one in (before, threshold))
                write_audit(
                    connection,
                    signed,
                    "account.notice",
                    now_ms,
                    account_id=account_id,
                    target=f"conta {row[0]}",
                    detail=f"aviso de saldo baixo {old} → {new}",
                )

        await self._run_in_writer(work)

    async def notify_low_balances(
        self, compose: Callable[[LowBalance], Iterable[NewMail]], now_ms: int
    ) -> int:
        """Write an event, and queue a notice, for each account that became low, once per crossing.

        Return the count.

        Accounts that are above their threshold again will be notified of the next crossing.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                connection.execute(_RESET).fetchall()
                found: Any = connection.execute(_LOW, (now_ms,)).fetchall()
                events = list[NewEvent]()
                for account_id, threshold in found:
                    row: Any = connection.execute(_ACCOUNT, (account_id,)).fetchone()
                    managers: Any = connection.execute(_MANAGERS, (account_id,)).fetchall()
                    name, available = row
                    emails = [email for (email,) in managers]
                    low = LowBalance(name, available, threshold, emails)
                    queue(connection, compose(low))
                    body = msgspec.json.encode({"saldo": available, "limiar": threshold}).decode()
                    events.append(NewEvent(account_id, LOW_BALANCE, now_ms, body))
                write_events(connection, events)
                return len(found)

        return await self._run_in_writer(work)

    async def _run(self, sql: str, *values: object) -> list[Any]:
        return await self._run_in_writer(
            lambda connection: connection.execute(sql, values).fetchall()
        )
