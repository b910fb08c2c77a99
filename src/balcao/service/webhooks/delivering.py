"""The planner of deliveries and the jobs that send them, one for each endpoint (ADR 0110)."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from balcao.accounts.seal import WEBHOOK_SECRET, Seal
from balcao.core.calendar import from_ms
from balcao.core.errors import StorageFailed
from balcao.core.events import event_id
from balcao.core.webhooks import (
    OPEN_MAX,
    Attempt,
    DeliveryState,
    body_of_event,
    headers_of,
    open_after,
)
from balcao.service.jobs.durable import MORE_SECONDS, JobKind
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.service.webhooks.sending import Sender
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.webhook_deliveries import WEBHOOK_JOB, MadeAttempt, WebhookFigures
from balcao.storage.webhooks import DueDelivery, Webhook

log = structlog.get_logger()

PLAN_SECONDS = 1.0
FIGURES_SECONDS = 15.0
# Endpoints sent to at a time, in each process: those that hang must not keep the others waiting.
AT_ONCE = 128
# A job that dies with its process is started again however often.
ATTEMPTS_MAX = 1_000_000
# Deliveries of one step, after which the job gives way to a shutdown and other nodes.
STEP_DELIVERIES = 1_000


@dataclass(slots=True)
class WebhookDelivery:
    """Sends the events of all accounts to their endpoints."""

    desk: Desk
    seal: Seal
    sender: Sender
    now_ms: Callable[[], int]
    draw: Callable[[], float] = random.random
    figures: WebhookFigures | None = None
    attempts: Counter[str] = field(default_factory=Counter)  # by outcome, since the start
    _waiting: list[tuple[MadeAttempt, "asyncio.Future[DeliveryState | None]"]] = field(
        default_factory=list
    )  # to be recorded
    _recording: asyncio.Lock = field(default_factory=asyncio.Lock)

    def jobs(self) -> JobKind:
        """Return the kind of jobs that send the due deliveries of one endpoint each."""
        return JobKind(
            WEBHOOK_JOB,
            self.deliver,
            at_once=AT_ONCE,
            attempts_max=ATTEMPTS_MAX,
            poll_seconds=PLAN_SECONDS,
        )

    def periodic_tasks(self) -> list[Periodic]:
        """Return the planner and the measurements."""
        failed = warn_on_storage_failure("webhooks.failed")
        return [
            Periodic("webhooks", self.plan, PLAN_SECONDS, on_failure=failed, retry_seconds=1),
            Periodic("webhook_figures", self.measure, FIGURES_SECONDS, on_failure=failed),
        ]

    async def plan(self) -> None:
        """Store the deliveries of new events. Raises `StorageFailed`."""
        await self.desk.webhook_deliveries.plan(self.now_ms())

    async def measure(self) -> None:
        """Update the figures, and start what has no job. Raises `StorageFailed`."""
        await self.desk.webhook_deliveries.start_forgotten(self.now_ms())
        self.figures = await self.desk.webhook_deliveries.figures(self.now_ms())

    def measured(self) -> tuple[Sequence[tuple[str, int]], int, int | None, Mapping[str, int]]:
        """Return endpoints by state, due deliveries, when the oldest was due, and attempts."""
        seen = self.figures
        if seen is None:
            return (), 0, None, self.attempts
        return seen.endpoints, seen.due, seen.oldest_due_ms, self.attempts

    async def deliver(self, webhook_id: str) -> float | None:
        """Send what is due to one endpoint. Return the seconds until its next attempt, if any.

        If this process dies between an attempt and its record, the same is sent again with the same
        id. Raises `StorageFailed`.
        """
        store = self.desk.webhook_deliveries
        running: dict[asyncio.Task[Attempt], int] = {}
        open_max, count = OPEN_MAX, 0
        try:
            while True:
                found = None
                if len(running) < open_max and count < STEP_DELIVERIES:
                    limit = open_max + len(running)
                    found = await store.due(webhook_id, self.now_ms(), limit)
                    if found is None:
                        return None
                    webhook, due = found
                    free = open_max - len(running)
                    sending = set(running.values())
                    fresh = [one for one in due if one.delivery_id not in sending][:free]
                    for delivery in fresh:
                        task = asyncio.create_task(self._attempt(webhook, delivery))
                        running[task] = delivery.delivery_id
                        count += 1
                if not running:
                    break
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del running[task]
                    open_max = open_after(open_max, task.result())
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        next_ms = await store.next_ms(webhook_id)
        if next_ms is None:
            return None
        return max(MORE_SECONDS, (next_ms - self.now_ms()) / 1_000)

    async def _attempt(self, webhook: Webhook, delivery: DueDelivery) -> Attempt:
        """Make an attempt and record it. Raises `StorageFailed`."""
        now_ms = self.now_ms()
        at = from_ms(delivery.at_ms).isoformat(timespec="milliseconds")
        body = body_of_event(delivery.kind, at, json.loads(delivery.body))
        secrets = self._secrets(webhook, now_ms)
        if secrets:
            headers = headers_of(secrets, event_id(delivery.event_id), now_ms, body)
            attempt = await self.sender.send(webhook.url, headers, body)
        else:
            log.error("webhook.unreadable_secret", webhook_id=webhook.webhook_id)
            attempt = Attempt(now_ms, 0, None, "O segredo não pôde ser lido. Gire o segredo.")
        made = MadeAttempt(webhook.webhook_id, webhook.account_id, delivery, attempt, self.draw())
        if await self._record(made) is not None:
            self.attempts["entregue" if attempt.succeeded else "falhou"] += 1
        return attempt

    async def _record(self, made: MadeAttempt) -> DeliveryState | None:
        """Record an attempt together with those that wait meanwhile, in one commit.

        Raises `StorageFailed`.
        """
        done: asyncio.Future[DeliveryState | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((made, done))
        async with self._recording:
            if done.done():
                return done.result()
            some, self._waiting = self._waiting, []
            try:
                states = await self.desk.webhook_deliveries.record([one for one, _ in some])
            except StorageFailed as error:
                for _, each in some:
                    if each is not done and not each.done():
                        each.set_exception(error)
                raise
            except asyncio.CancelledError:  # those that are not cancelled record theirs
                self._waiting += [each for each in some if each[1] is not done]
                raise
            for (_, each), state in zip(some, states, strict=True):
                if not each.done():
                    each.set_result(state)
        return done.result()

    def _secrets(self, webhook: Webhook, now_ms: int) -> list[str]:
        """Return the secrets that sign now, the newest first."""
        sealed = [webhook.secret]
        if webhook.old_secret is not None and now_ms < (webhook.old_until_ms or 0):
            sealed.append(webhook.old_secret)
        opened = [self.seal.open(WEBHOOK_SECRET, each) for each in sealed]
        return [each.decode() for each in opened if each is not None]
