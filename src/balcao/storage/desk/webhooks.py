"""The endpoints of accounts on any engine: created, changed, tested, switched (contract 19.4).

Every signed change is one commit with its entry in the audit log. What an endpoint is sent is in
`webhook_deliveries`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from balcao.core.errors import TooManyWebhooks, WebhookNotFound
from balcao.core.event_types import PING
from balcao.core.events import NewEvent, event_id
from balcao.core.ledger import Enqueue
from balcao.core.people import Action, Signature
from balcao.core.webhooks import WEBHOOKS_MAX
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import signed_transaction, write_audit
from balcao.storage.desk.events import lock_accounts, write_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.webhook_deliveries import WEBHOOK_JOB, give_up_waiting, plan_all
from balcao.storage.engine import Engine
from balcao.storage.webhooks import (
    WEBHOOK_COLUMNS,
    NewWebhook,
    Webhook,
    json_list,
    webhook_of,
)

_COLUMNS = ", ".join(f"w.{name}" for name in WEBHOOK_COLUMNS)
_WAITING = "FROM webhook_delivery AS d WHERE d.webhook_id = w.webhook_id AND d.next_ms IS NOT NULL"
_READ = (
    f"SELECT {_COLUMNS}, (SELECT count(*) {_WAITING}), (SELECT min(d.next_ms) {_WAITING})"  # noqa: S608 - columns of ours
    " FROM webhook AS w WHERE w.account_id = ?"
)
_COUNT = "SELECT count(*) FROM webhook WHERE account_id = ?"
_LAST_EVENT = "SELECT coalesce(max(event_id), 0) FROM event WHERE account_id = ?"
_CREATE = (
    "INSERT INTO webhook (webhook_id, account_id, url, kinds, clients, description, state, secret,"
    " secret_tail, created_ms, planned_event) VALUES (?, ?, ?, ?, ?, ?, 'ativo', ?, ?, ?, ?)"
)
_CHANGE = "UPDATE webhook SET url = ?, kinds = ?, clients = ?, description = ? WHERE webhook_id = ?"
_SWITCH_ON = (
    "UPDATE webhook SET state = 'ativo', reason = NULL, failing_ms = NULL, failed_ms = NULL,"
    " failed_for_ms = 0 WHERE webhook_id = ?"
)
_SWITCH_OFF = (
    "UPDATE webhook SET state = 'desligado', reason = ?, resend = NULL WHERE webhook_id = ?"
)
_ROTATE = (
    "UPDATE webhook SET old_secret = CASE WHEN ? > 0 THEN secret ELSE NULL END,"
    " old_until_ms = CASE WHEN ? > 0 THEN CAST(? AS BIGINT) ELSE NULL END,"
    " secret = ?, secret_tail = ? WHERE webhook_id = ?"
)
_PING = (
    "INSERT INTO webhook_delivery (webhook_id, event_id, state, attempts, created_ms, next_ms)"
    " VALUES (?, ?, 'esperando', 0, ?, ?)"
)


class Webhooks:
    """The endpoints of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def of_account(self, account_id: int) -> Sequence[Webhook]:
        """Return an account's endpoints, the oldest first."""
        return await self._run_in_writer(lambda connection: _all(connection, account_id))

    async def one(self, account_id: int, webhook_id: str) -> Webhook:
        """Return an endpoint. Raises `WebhookNotFound`, also for another account's."""
        return await self._run_in_writer(
            lambda connection: find_webhook(connection, account_id, webhook_id)
        )

    async def create(
        self,
        new: NewWebhook,
        signed: Signature,
        now_ms: int,
        keep: MakeAnswer[Webhook] = lambda made: None,
    ) -> Webhook:
        """Create an endpoint, which is sent the events from now on, and record the answer.

        Raises `TooManyWebhooks`, `StillRunning`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Webhook:
            with signed_transaction(connection, signed):
                lock_accounts(connection, [new.account_id])
                count: Any = connection.execute(_COUNT, (new.account_id,)).fetchone()
                if count[0] >= WEBHOOKS_MAX:
                    raise TooManyWebhooks
                last: Any = connection.execute(_LAST_EVENT, (new.account_id,)).fetchone()
                values = (
                    new.webhook_id, new.account_id, new.url, json_list(new.kinds),
                    json_list(new.clients), new.description, new.secret, new.secret_tail, now_ms,
                    last[0],
                )  # fmt: skip
                connection.execute(_CREATE, values)
                made = find_webhook(connection, new.account_id, new.webhook_id)
                _note(connection, signed, "webhook.create", made, now_ms)
                record_answer(connection, keep(made))
            return made

        return await self._run_in_writer(work)

    async def change(
        self,
        account_id: int,
        webhook_id: str,
        changes: Callable[[Webhook], "WebhookChange"],
        signed: Signature,
        now_ms: int,
    ) -> Webhook:
        """Change an endpoint, or switch it on or off. Raises `WebhookNotFound`, `FormDone`.

        Off, its waiting deliveries are given up, and later events are stored as not sent; on again,
        it is sent what follows.
        """

        def work(connection: SqlConnection) -> Webhook:
            with signed_transaction(connection, signed):
                lock_accounts(connection, [account_id])
                before = find_webhook(connection, account_id, webhook_id)
                change = changes(before)
                values = (
                    change.url, json_list(change.kinds), json_list(change.clients),
                    change.description, webhook_id,
                )  # fmt: skip
                what: list[str] = []
                old = (before.url, before.kinds, before.clients, before.description)
                if old != (change.url, change.kinds, change.clients, change.description):
                    plan_all(connection, before, now_ms)  # by the filters before
                    connection.execute(_CHANGE, values)
                    what.append("dados alterados")
                if change.on != before.is_on:
                    plan_all(connection, before, now_ms)
                    if change.on:
                        connection.execute(_SWITCH_ON, (webhook_id,))
                    else:
                        give_up_waiting(connection, webhook_id)
                        connection.execute(_SWITCH_OFF, ("usuario", webhook_id))
                    what.append("ativado" if change.on else "desativado")
                after = find_webhook(connection, account_id, webhook_id)
                if what:
                    _note(connection, signed, "webhook.change", after, now_ms, ", ".join(what))
            return after

        return await self._run_in_writer(work)

    async def remove(
        self, account_id: int, webhook_id: str, signed: Signature, now_ms: int
    ) -> Webhook:
        """Delete an endpoint with its deliveries, and return its last state.

        Raises `WebhookNotFound`, `FormDone`.
        """

        def work(connection: SqlConnection) -> Webhook:
            with signed_transaction(connection, signed):
                last = find_webhook(connection, account_id, webhook_id)
                connection.execute(
                    "DELETE FROM webhook_delivery WHERE webhook_id = ?", (webhook_id,)
                )
                connection.execute("DELETE FROM webhook WHERE webhook_id = ?", (webhook_id,))
                _note(connection, signed, "webhook.delete", last, now_ms)
            return last

        return await self._run_in_writer(work)

    async def rotate(
        self,
        account_id: int,
        webhook_id: str,
        secret: tuple[bytes, str],
        signed: Signature,
        *,
        both_ms: int,
        now_ms: int,
        keep: MakeAnswer[Webhook] = lambda made: None,
    ) -> Webhook:
        """Replace the secret by this one, sealed, with its last characters.

        The replaced one signs as well for `both_ms`. Raises `WebhookNotFound`, `StillRunning`,
        `FormDone`.
        """

        def work(connection: SqlConnection) -> Webhook:
            with signed_transaction(connection, signed):
                find_webhook(connection, account_id, webhook_id)
                values = (both_ms, both_ms, now_ms + both_ms, *secret, webhook_id)
                connection.execute(_ROTATE, values)
                after = find_webhook(connection, account_id, webhook_id)
                _note(connection, signed, "webhook.rotate", after, now_ms)
                record_answer(connection, keep(after))
            return after

        return await self._run_in_writer(work)

    async def ping(
        self,
        account_id: int,
        webhook_id: str,
        now_ms: int,
        keep: MakeAnswer[str] = lambda made: None,
    ) -> str:
        """Queue a test for this endpoint, also one that is off. Return the event's identifier.

        Raises `WebhookNotFound`, `StillRunning`.
        """
        event = NewEvent(account_id, PING, now_ms, "{}", webhook_id=webhook_id)

        def work(connection: SqlConnection) -> str:
            with connection.transaction():
                find_webhook(connection, account_id, webhook_id)
                (number,) = write_events(connection, [event])
                assert number is not None, "a ping has no cause that may repeat"
                connection.execute(_PING, (webhook_id, number, now_ms, now_ms))
                enqueue(connection, [Enqueue(WEBHOOK_JOB, webhook_id, now_ms)])
                made = event_id(number)
                record_answer(connection, keep(made))
            return made

        return await self._run_in_writer(work)


class WebhookChange(msgspec.Struct, frozen=True):
    """The fields of an endpoint that people change."""

    url: str
    kinds: Sequence[str] | None
    clients: Sequence[str] | None
    description: str | None
    on: bool


def find_webhook(connection: SqlConnection, account_id: int, webhook_id: str) -> Webhook:
    """Return an endpoint. Raises `WebhookNotFound`."""
    row: Any = connection.execute(
        f"{_READ} AND w.webhook_id = ?", (account_id, webhook_id)
    ).fetchone()
    if row is None:
        raise WebhookNotFound
    return webhook_of(row)


def _all(connection: SqlConnection, account_id: int) -> Sequence[Webhook]:
    rows = connection.execute(f"{_READ} ORDER BY w.webhook_id", (account_id,)).fetchall()
    return [*map(webhook_of, rows)]


def _note(  # noqa: PLR0917
    connection: SqlConnection,
    signed: Signature,
    action: Action,
    webhook: Webhook,
    now_ms: int,
    detail: str = "",
) -> None:
    # Without the address: its path may be a secret of the receiver.
    write_audit(
        connection,
        signed,
        action,
        now_ms,
        account_id=webhook.account_id,
        target=f"webhook {webhook.webhook_id}",
        detail=detail,
    )
