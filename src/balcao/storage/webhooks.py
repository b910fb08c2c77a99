"""Webhooks and deliveries as stored, and their rows (contract 19.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from balcao.core.webhooks import DeliveryState, OffReason, WebhookState


class Resend(msgspec.Struct, frozen=True, gc=False):
    """A repetition under way: deliveries of an endpoint in the order of their numbers."""

    after: int  # repeated up to this delivery
    until: int
    failed_only: bool
    from_ms: int  # planned at these instants
    to_ms: int

    @property
    def is_queued(self) -> bool:
        """Whether all its deliveries wait for their attempts, or were made."""
        return self.after >= self.until


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """An endpoint of an account. Its secrets are sealed."""

    webhook_id: str
    account_id: int
    url: str
    kinds: Sequence[str] | None
    clients: Sequence[str] | None
    description: str | None
    state: WebhookState
    reason: OffReason | None
    secret: bytes
    secret_tail: str
    old_secret: bytes | None
    old_until_ms: int | None
    created_ms: int
    planned_event: int
    failing_ms: int | None
    failed_ms: int | None
    failed_for_ms: int  # up to `failed_ms`
    success_ms: int | None
    last_status: int | None
    resend: Resend | None
    waiting: int = 0  # deliveries that are due, or will be
    next_ms: int | None = None  # of these, the next attempt

    @property
    def is_on(self) -> bool:
        return self.state != "desligado"


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """An endpoint to create."""

    webhook_id: str
    account_id: int
    url: str
    kinds: Sequence[str] | None
    clients: Sequence[str] | None
    description: str | None
    secret: bytes
    secret_tail: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event sent, or to be sent, to an endpoint. The results are of the last attempt."""

    delivery_id: int
    event_id: int
    kind: str | None  # None: the event is gone
    state: DeliveryState
    attempts: int
    created_ms: int
    next_ms: int | None
    at_ms: int | None
    status: int | None
    duration_ms: int | None
    response: str | None


@dataclass(frozen=True, slots=True, repr=False)
class DueDelivery:
    """A delivery whose attempt is due, with its event."""

    delivery_id: int
    event_id: int
    failures: int
    kind: str
    at_ms: int  # of the event
    body: str  # of the event


_OWN = Webhook.__dataclass_fields__.keys() - {"waiting", "next_ms"}
WEBHOOK_COLUMNS = [name for name in Webhook.__dataclass_fields__ if name in _OWN]


def webhook_of(row: Sequence[Any]) -> Webhook:
    """Return the endpoint of a row of `WEBHOOK_COLUMNS`, and of its waiting deliveries."""
    values = dict(zip(Webhook.__dataclass_fields__, row, strict=False))
    for name in ("kinds", "clients"):
        values[name] = None if values[name] is None else msgspec.json.decode(values[name])
    if values["resend"] is not None:
        values["resend"] = msgspec.json.decode(values["resend"], type=Resend)
    values["secret"] = bytes(values["secret"])
    if values["old_secret"] is not None:
        values["old_secret"] = bytes(values["old_secret"])
    return Webhook(**values)


def json_list(values: Sequence[str] | None) -> str | None:
    """Return a list as it is stored."""
    return None if values is None else msgspec.json.encode([*values]).decode()
