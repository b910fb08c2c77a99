"""Deliveries to endpoints on any engine: planned, claimed by a job, recorded, repeated.

Planning advances the endpoint's `planned_event` in the commit that stores the deliveries, so that
none is skipped or planned twice, whichever process is killed (ADR 0110).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from balcao.core.calendar import from_ms
from balcao.core.errors import DeliveryNotFound, ResendUnderWay, WebhookIsOff
from balcao.core.event_types import PING
from balcao.core.events import NewEvent, event_id
from balcao.core.ledger import Enqueue
from balcao.core.webhooks import (
    EXHAUSTED,
    FAILING,
    OFF,
    Attempt,
    DeliveryState,
    failed_for_ms,
    is_wanted,
    retry_ms,
    state_after_failure,
)
from balcao.storage.connection import OpenReader, SqlConnection
from balcao.storage.desk.events import events_after, lock_accounts, write_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.engine import Engine
from balcao.storage.webhooks import (
    WEBHOOK_COLUMNS,
    Delivery,
    DueDelivery,
    Resend,
    Webhook,
    webhook_of,
)

WEBHOOK_JOB = "webhook"
PLANNED_AT_ONCE = 500  # events of an endpoint in one commit
ENDPOINTS_AT_ONCE = 20  # in one commit
RESENT_AT_ONCE = 100
PURGED_AT_ONCE = 1_000

_COLUMNS = ", ".join(WEBHOOK_COLUMNS)
_ONE = f"SELECT {_COLUMNS} FROM webhook WHERE webhook_id = ?"  # noqa: S608 - columns of ours
_BEHIND = (
    "SELECT w.webhook_id, w.account_id FROM webhook AS w WHERE EXISTS (SELECT 1 FROM event AS e"
    " WHERE e.account_id = w.account_id AND e.event_id > w.planned_event) LIMIT ?"
)
_WITHOUT_JOB = (
    "SELECT DISTINCT d.webhook_id FROM webhook_delivery AS d WHERE d.next_ms <= ?"
    " AND NOT EXISTS (SELECT 1 FROM job AS j WHERE j.kind = ? AND j.about = d.webhook_id"
    " AND j.state IN ('waiting', 'running')) LIMIT 100"
)
_PLAN = (
    "INSERT INTO webhook_delivery (webhook_id, event_id, state, attempts, created_ms, next_ms)"
    " VALUES (?, ?, ?, 0, ?, ?) ON CONFLICT (webhook_id, event_id) DO NOTHING"
)
_ADVANCE = "UPDATE webhook SET planned_event = ? WHERE webhook_id = ?"
_DUE = (
    "SELECT d.delivery_id, d.event_id, d.failures, e.kind, e.at_ms, e.body"
    " FROM webhook_delivery AS d JOIN event AS e ON e.event_id = d.event_id"
    " WHERE d.webhook_id = ? AND d.next_ms <= ? ORDER BY d.next_ms, d.event_id LIMIT ?"
)
_NEXT = (
    "SELECT CASE WHEN w.resend IS NOT NULL THEN 0 ELSE (SELECT min(d.next_ms)"
    " FROM webhook_delivery AS d WHERE d.webhook_id = w.webhook_id AND d.next_ms IS NOT NULL) END"
    " FROM webhook AS w WHERE w.webhook_id = ?"
)
_GIVE_UP_LOST = (
    "UPDATE webhook_delivery SET state = 'desistiu', next_ms = NULL WHERE webhook_id = ?"
    " AND next_ms IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM event AS e WHERE e.event_id = webhook_delivery.event_id)"
)
_GIVE_UP = (
    "UPDATE webhook_delivery SET state = 'desistiu', next_ms = NULL"
    " WHERE webhook_id = ? AND next_ms IS NOT NULL"
)
_RECORD = (
    "UPDATE webhook_delivery SET state = ?, attempts = attempts + 1, failures = ?, next_ms = ?,"
    " at_ms = ?, status = ?, duration_ms = ?, response = ? WHERE delivery_id = ?"
    " AND (next_ms IS NOT NULL OR state = 'desistiu' AND ? = 1) RETURNING event_id"
)
# It was given up while it was open: the attempt is shown, and changes nothing else.
_RECORD_LATE = (
    "UPDATE webhook_delivery SET attempts = attempts + 1, at_ms = ?, status = ?, duration_ms = ?,"
    " response = ? WHERE delivery_id = ? AND state = 'desistiu'"
)
_STANDING = (
    "UPDATE webhook SET state = ?, reason = ?, failing_ms = ?, failed_ms = ?, failed_for_ms = ?,"
    " success_ms = ?, last_status = ? WHERE webhook_id = ?"
)
_LIST = (
    "SELECT d.delivery_id, d.event_id, e.kind, d.state, d.attempts, d.created_ms, d.next_ms,"
    " d.at_ms, d.status, d.duration_ms, d.response FROM webhook_delivery AS d"
    " LEFT JOIN event AS e ON e.event_id = d.event_id WHERE d.webhook_id = ? AND d.created_ms >= ?"
)
_REPEAT = (
    "UPDATE webhook_delivery SET state = 'esperando', failures = 0, next_ms = ?"
    " WHERE delivery_id = ? RETURNING 1"
)
# What was sent, or should have been. A test is repeated by another test.
_TO_REPEAT = (
    "FROM webhook_delivery AS d JOIN event AS e ON e.event_id = d.event_id AND e.kind <> ?"
    " WHERE d.webhook_id = ? AND d.delivery_id > ? AND d.delivery_id <= ?"
    " AND d.created_ms >= ? AND d.created_ms <= ? AND d.state IN ('desistiu', 'falhou', ?)"
)
_SET_RESEND = "UPDATE webhook SET resend = ? WHERE webhook_id = ?"
_PURGE = (
    "DELETE FROM webhook_delivery WHERE delivery_id IN"
    " (SELECT delivery_id FROM webhook_delivery WHERE created_ms < ? ORDER BY created_ms LIMIT ?)"
    " RETURNING 1"
)
_WAITING = (
    "SELECT count(*), min(next_ms) FROM webhook_delivery WHERE next_ms IS NOT NULL AND next_ms <= ?"
)
_STATES = "SELECT state, count(*) FROM webhook GROUP BY state ORDER BY state"


class MadeAttempt(msgspec.Struct, frozen=True, gc=False):
    """An attempt to be recorded. `random`, from 0 to 1, spreads the next one."""

    webhook_id: str
    account_id: int
    delivery: DueDelivery
    attempt: Attempt
    random: float


class WebhookFigures(msgspec.Struct, frozen=True):
    """Endpoints by state, and the deliveries whose attempt is due."""

    endpoints: Sequence[tuple[str, int]]
    due: int
    oldest_due_ms: int | None


class WebhookDeliveries:
    """The deliveries of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader: OpenReader = engine.open_reader

    # Planning.

    async def plan(self, now_ms: int) -> int:
        """Store deliveries of new events, with the jobs that send them. Return their number."""
        behind: Any = await self._run_in_writer(
            lambda connection: connection.execute(_BEHIND, (1_000,)).fetchall()
        )
        count = 0
        for begin in range(0, len(behind), ENDPOINTS_AT_ONCE):
            some = behind[begin : begin + ENDPOINTS_AT_ONCE]
            count += await self._run_in_writer(partial(_plan_each, some, now_ms))
        return count

    async def start_forgotten(self, now_ms: int) -> int:
        """Enqueue jobs of endpoints with due deliveries and no job. Return their number."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                found: Any = connection.execute(_WITHOUT_JOB, (now_ms, WEBHOOK_JOB)).fetchall()
                enqueue(connection, [Enqueue(WEBHOOK_JOB, name, now_ms) for (name,) in found])
                return len(found)

        return await self._run_in_writer(work)

    # Sending.

    async def due(
        self, webhook_id: str, now_ms: int, limit: int
    ) -> tuple[Webhook, Sequence[DueDelivery]] | None:
        """Return an endpoint with deliveries whose attempt is due. None: it was deleted.

        A repetition under way is continued when nothing else is due.
        """

        def work(connection: SqlConnection) -> tuple[Webhook, Sequence[DueDelivery]] | None:
            with connection.transaction():
                webhook = _read(connection, webhook_id)
                if webhook is None:
                    return None
                rows: Any = connection.execute(_DUE, (webhook_id, now_ms, limit)).fetchall()
                if not rows and webhook.resend is not None and webhook.resend.is_queued:
                    _store_resend(connection, webhook_id, None)  # each of them was attempted
                elif not rows and webhook.resend is not None:
                    _continue_resend(connection, webhook, webhook.resend, now_ms)
                    rows = connection.execute(_DUE, (webhook_id, now_ms, limit)).fetchall()
                return webhook, [DueDelivery(*row) for row in rows]

        return await self._run_in_writer(work)

    async def next_ms(self, webhook_id: str) -> int | None:
        """Return the instant of the endpoint's next attempt. None: nothing waits.

        0 while a repetition is under way: its next deliveries are due at once.
        """

        def work(connection: SqlConnection) -> int | None:
            connection.execute(_GIVE_UP_LOST, (webhook_id,))
            row: Any = connection.execute(_NEXT, (webhook_id,)).fetchone()
            return None if row is None or row[0] is None else int(row[0])

        return await self._run_in_writer(work)

    async def record(self, made: Sequence[MadeAttempt]) -> Sequence[DeliveryState | None]:
        """Record attempts, and what they mean for the endpoints, with the events about that.

        Returns the deliveries' states. None: the endpoint was deleted, or the delivery given up.
        """

        def work(connection: SqlConnection) -> Sequence[DeliveryState | None]:
            states: list[DeliveryState | None] = []
            with connection.transaction():
                lock_accounts(connection, {one.account_id for one in made})
                for one in made:
                    webhook = _read(connection, one.webhook_id)
                    states.append(None if webhook is None else _record(connection, webhook, one))
            return states

        return await self._run_in_writer(work)

    # Listing and repeating.

    async def of_webhook(
        self,
        webhook_id: str,
        since_ms: int,
        *,
        state: DeliveryState | None = None,
        before: int = 0,
        limit: int,
    ) -> Sequence[Delivery]:
        """Return a page of an endpoint's deliveries, newest first, with numbers below `before`."""
        where, values = "", [webhook_id, since_ms]
        if state is not None:
            where, values = f"{where} AND d.state = ?", [*values, state]
        if before:
            where, values = f"{where} AND d.delivery_id < ?", [*values, before]
        sql = f"{_LIST}{where} ORDER BY d.delivery_id DESC LIMIT ?"
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(sql, (*values, limit)).fetchall()
        )
        return [Delivery(*row) for row in rows]

    async def resend_one(
        self,
        webhook: Webhook,
        delivery_id: int,
        now_ms: int,
        since_ms: int,
        keep: MakeAnswer[int] = lambda count: None,
    ) -> int:
        """Repeat one delivery. Raises `DeliveryNotFound`, `WebhookIsOff`, `StillRunning`."""

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                _require_on(connection, webhook.webhook_id)
                found: Any = connection.execute(
                    f"{_LIST} AND d.delivery_id = ?", (webhook.webhook_id, since_ms, delivery_id)
                ).fetchone()
                if found is None or found[2] is None:
                    raise DeliveryNotFound
                connection.execute(_REPEAT, (now_ms, delivery_id)).fetchall()
                enqueue(connection, [Enqueue(WEBHOOK_JOB, webhook.webhook_id, now_ms)])
                record_answer(connection, keep(1))
            return 1

        return await self._run_in_writer(work)

    async def resend(
        self,
        webhook: Webhook,
        from_ms: int,
        to_ms: int,
        now_ms: int,
        *,
        failed_only: bool,
        keep: MakeAnswer[int] = lambda count: None,
    ) -> int:
        """Repeat deliveries planned between two instants, oldest first. Return their number.

        Raises `ResendUnderWay`, `WebhookIsOff`, `StillRunning`.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                lock_accounts(connection, [webhook.account_id])
                now = _require_on(connection, webhook.webhook_id)
                if now.resend is not None:
                    raise ResendUnderWay
                plan_all(connection, now, now_ms)
                row: Any = connection.execute(
                    "SELECT coalesce(max(delivery_id), 0) FROM webhook_delivery"
                    " WHERE webhook_id = ?",
                    (webhook.webhook_id,),
                ).fetchone()
                resend = Resend(0, int(row[0]), failed_only, from_ms, to_ms)
                counted: Any = connection.execute(
                    f"SELECT count(*) {_TO_REPEAT}", _repeated(webhook.webhook_id, resend)
                ).fetchone()
                if counted[0]:
                    _store_resend(connection, webhook.webhook_id, resend)
                    enqueue(connection, [Enqueue(WEBHOOK_JOB, webhook.webhook_id, now_ms)])
                record_answer(connection, keep(counted[0]))
                return int(counted[0])

        return await self._run_in_writer(work)

    async def purge(self, before_ms: int) -> int:
        """Delete some deliveries planned before an instant. Return the count."""

        def work(connection: SqlConnection) -> int:
            return len(connection.execute(_PURGE, (before_ms, PURGED_AT_ONCE)).fetchall())

        return await self._run_in_writer(work)

    async def figures(self, now_ms: int) -> WebhookFigures:
        """Return figures for metrics and `doctor`."""

        return await self._run_in_writer(lambda connection: read_figures(connection, now_ms))


def read_figures(connection: SqlConnection, now_ms: int) -> WebhookFigures:
    """Return the endpoints by state, and the deliveries whose attempt is due."""
    states: Any = connection.execute(_STATES).fetchall()
    row: Any = connection.execute(_WAITING, (now_ms,)).fetchone()
    return WebhookFigures([(state, int(count)) for state, count in states], *row)


def plan_all(connection: SqlConnection, webhook: Webhook, now_ms: int) -> None:
    """Plan everything that an endpoint is behind, within a transaction that locks its account."""
    while plan_some(connection, webhook, now_ms)[1]:
        found = _read(connection, webhook.webhook_id)
        assert found is not None, "its account is locked"
        webhook = found


def plan_some(connection: SqlConnection, webhook: Webhook, now_ms: int) -> tuple[int, bool]:
    """Plan some of the events that an endpoint is behind. Return how many, and if there are more.

    Of an endpoint that is off they are stored as not sent, so that they can be repeated later.
    """
    events = events_after(connection, webhook.account_id, webhook.planned_event, PLANNED_AT_ONCE)
    if not events:
        return 0, False
    clients = None if webhook.clients is None else [*webhook.clients]
    state, next_ms = ("esperando", now_ms) if webhook.is_on else ("desistiu", None)
    count = 0
    for event in events:
        if is_wanted(event, webhook.webhook_id, webhook.kinds, clients):
            row = (webhook.webhook_id, event.number, state, now_ms, next_ms)
            connection.execute(_PLAN, row)
            count += 1
    connection.execute(_ADVANCE, (events[-1].number, webhook.webhook_id))
    if count and webhook.is_on:
        enqueue(connection, [Enqueue(WEBHOOK_JOB, webhook.webhook_id, now_ms)])
    return count, len(events) == PLANNED_AT_ONCE


def give_up_waiting(connection: SqlConnection, webhook_id: str) -> None:
    """Give up the deliveries that wait, within the transaction that switches their endpoint off."""
    connection.execute(_GIVE_UP, (webhook_id,))


def _plan_each(endpoints: Sequence[tuple[str, int]], now_ms: int, connection: SqlConnection) -> int:
    """Plan for these endpoints, each with its account's number, in one commit."""
    count = 0
    with connection.transaction():
        lock_accounts(connection, {account_id for _, account_id in endpoints})
        for webhook_id, _ in endpoints:
            webhook = _read(connection, webhook_id)
            count += 0 if webhook is None else plan_some(connection, webhook, now_ms)[0]
    return count


def _record(connection: SqlConnection, webhook: Webhook, made: MadeAttempt) -> DeliveryState | None:
    delivery, attempt = made.delivery, made.attempt
    is_ping = delivery.kind == PING
    failures = delivery.failures + 1
    again = None
    if not attempt.succeeded and webhook.is_on and not is_ping:
        again = retry_ms(failures, attempt, made.random)
    state: DeliveryState = "falhou" if again is not None else "desistiu"
    if attempt.succeeded:
        state, failures = "entregue", 0
    values: tuple[Any, ...] = (
        state, failures, again, attempt.at_ms, attempt.status, attempt.duration_ms, attempt.text,
        delivery.delivery_id, int(attempt.succeeded),
    )  # fmt: skip
    if not connection.execute(_RECORD, values).fetchall():
        shown = (attempt.at_ms, attempt.status, attempt.duration_ms, attempt.text)
        connection.execute(_RECORD_LATE, (*shown, delivery.delivery_id))
        return None
    if not webhook.is_on:
        return state
    now_ms = attempt.at_ms + attempt.duration_ms
    if attempt.succeeded:
        values = ("ativo", None, None, None, 0, now_ms, attempt.status, webhook.webhook_id)
        connection.execute(_STANDING, values)
        return state
    if is_ping and attempt.status != 410:
        return state
    failing_ms = webhook.failing_ms if webhook.failing_ms is not None else attempt.at_ms
    lasted_ms = failed_for_ms(webhook.failed_for_ms, webhook.failed_ms, now_ms)
    new_state, reason = state_after_failure(lasted_ms, attempt.status)
    values = (
        new_state, reason, failing_ms, now_ms, lasted_ms, webhook.success_ms, attempt.status,
        webhook.webhook_id,
    )  # fmt: skip
    connection.execute(_STANDING, values)
    events = []
    about: dict[str, Any] = {"webhook": webhook.webhook_id}
    if new_state == "desligado":
        give_up_waiting(connection, webhook.webhook_id)
        connection.execute(_SET_RESEND, (None, webhook.webhook_id))
        state = "desistiu"
        body = {**about, "desde": _iso(failing_ms), "motivo": reason}
        events.append(_about(webhook, OFF, now_ms, body))
    elif new_state == "falhando" and webhook.state == "ativo":
        body = {**about, "desde": _iso(failing_ms), "ultimo_status": attempt.status}
        events.append(_about(webhook, FAILING, now_ms, body))
    # Two endpoints that are down would otherwise exhaust each other's notices for ever.
    if (
        state == "desistiu"
        and new_state != "desligado"
        and not delivery.kind.startswith("webhook.")
    ):
        body = {**about, "evento": event_id(delivery.event_id)}
        events.append(_about(webhook, EXHAUSTED, now_ms, body))
    if events:
        write_events(connection, events)
    return state


def _about(webhook: Webhook, kind: str, now_ms: int, body: dict[str, Any]) -> NewEvent:
    return NewEvent(webhook.account_id, kind, now_ms, msgspec.json.encode(body).decode())


def _continue_resend(
    connection: SqlConnection, webhook: Webhook, resend: Resend, now_ms: int
) -> None:
    rows: Any = connection.execute(
        f"SELECT d.delivery_id {_TO_REPEAT} ORDER BY d.delivery_id LIMIT ?",
        (*_repeated(webhook.webhook_id, resend), RESENT_AT_ONCE),
    ).fetchall()
    for (delivery_id,) in rows:
        connection.execute(_REPEAT, (now_ms, delivery_id)).fetchall()
    after = rows[-1][0] if len(rows) == RESENT_AT_ONCE else resend.until
    _store_resend(connection, webhook.webhook_id, msgspec.structs.replace(resend, after=after))


def _store_resend(connection: SqlConnection, webhook_id: str, resend: Resend | None) -> None:
    text = None if resend is None else msgspec.json.encode(resend).decode()
    connection.execute(_SET_RESEND, (text, webhook_id))


def _repeated(webhook_id: str, resend: Resend) -> tuple[Any, ...]:
    """Return the values of `_TO_REPEAT`."""
    also = "desistiu" if resend.failed_only else "entregue"
    period = (resend.from_ms, resend.to_ms)
    return (PING, webhook_id, resend.after, resend.until, *period, also)


def _require_on(connection: SqlConnection, webhook_id: str) -> Webhook:
    found = _read(connection, webhook_id)
    if found is None or not found.is_on:
        raise WebhookIsOff
    return found


def _read(connection: SqlConnection, webhook_id: str) -> Webhook | None:
    row: Any = connection.execute(_ONE, (webhook_id,)).fetchone()
    return None if row is None else webhook_of(row)


def _iso(at_ms: int) -> str:
    return from_ms(at_ms).isoformat(timespec="milliseconds")
