"""Webhooks: signatures, bodies, the schedule of attempts and the states of an endpoint.

Standard Webhooks 1.0.0, version `v1` (contract 19.4).
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from balcao.core.calendar import HOUR_MS
from balcao.core.events import StoredEvent
from balcao.core.freshness import DAY_MS

WebhookState: TypeAlias = Literal["ativo", "falhando", "desligado"]
OffReason: TypeAlias = Literal["usuario", "http_410", "sem_sucesso"]
DeliveryState: TypeAlias = Literal["esperando", "entregue", "falhou", "desistiu"]
DELIVERY_STATES: Sequence[DeliveryState] = ("esperando", "entregue", "falhou", "desistiu")

WEBHOOKS_MAX: Final = 10  # of an account
DESCRIPTION_CHARACTERS_MAX: Final = 200
FILTERS_MAX: Final = 100  # types, or clients
OPEN_MAX: Final = 4  # deliveries to one endpoint at a time
DELIVERIES_KEPT_DAYS: Final = 30

CONNECT_SECONDS: Final = 5.0
TOTAL_SECONDS: Final = 15.0
RESPONSE_BYTES_MAX: Final = 1_000
RESPONSE_CHARACTERS_MAX: Final = 200
BODY_BYTES_MAX: Final = 20_000

ROTATION_HOURS: Final = 24
ROTATION_HOURS_MAX: Final = 168

FAILING, OFF, EXHAUSTED = "webhook.falhando", "webhook.desligado", "webhook.esgotado"

_SECRET_PREFIX = "whsec_"  # noqa: S105 - not a secret
SECRET_BYTES: Final = 32
TAIL_CHARACTERS: Final = 4

# After each failed attempt, in seconds; then the delivery is given up.
RETRY_SECONDS: Sequence[int] = (
    *(5, 300, 1_800, 7_200, 18_000),
    *(36_000, 50_400, 72_000, 86_400),
)
_JITTER = 0.1
RETRY_AFTER_SECONDS_MAX: Final = 86_400
FAILING_AFTER_MS: Final = 12 * HOUR_MS
OFF_AFTER_MS: Final = 5 * DAY_MS
_COUNTED_MS_MAX: Final = round(RETRY_SECONDS[-1] * 1_000 * (1 + _JITTER) + TOTAL_SECONDS * 1_000)
_SLOWER = frozenset({429, 502, 503, 504})


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one attempt. `status` is None without a response; `text`: its beginning."""

    at_ms: int
    duration_ms: int
    status: int | None
    text: str | None
    retry_after_seconds: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def secret_text(random: bytes) -> str:
    """Return a new secret as its receiver stores it."""
    return _SECRET_PREFIX + base64.b64encode(random).decode()


def signature(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature for each secret."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{_hmac(secret, signed)}" for secret in secrets)


def _hmac(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def headers_of(
    secrets: Sequence[str], message_id: str, now_ms: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers of one attempt that depend on its message and its instant."""
    timestamp = now_ms // 1_000
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secrets, message_id, timestamp, body),
    }


def body_of_event(kind: str, at: str, data: Mapping[str, Any]) -> bytes:
    """Return the body of a delivery.

    Data that is too large is cut to its first members, with `cortado`.
    """
    body = _body(kind, at, data)
    if len(body) <= BODY_BYTES_MAX:
        return body
    first: dict[str, Any] = {}
    for name, value in data.items():
        cut = _body(kind, at, {**first, name: value, "cortado": True})
        if len(cut) > BODY_BYTES_MAX:
            break
        first[name] = value
    return _body(kind, at, {**first, "cortado": True})


def _body(kind: str, at: str, data: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "timestamp": at, "data": data})


def is_wanted(
    event: StoredEvent, webhook_id: str, kinds: Collection[str] | None, clients: list[str] | None
) -> bool:
    """Return whether an event of its account is sent to this endpoint.

    An endpoint is never sent what is about itself.
    """
    if event.silent or event.webhook_id is not None:
        return False
    if kinds is not None and not any(kind_matches(event.kind, kind) for kind in kinds):
        return False
    if clients is not None and event.client not in clients:
        return False
    if event.kind.startswith("webhook."):
        return bool(json.loads(event.body).get("webhook") != webhook_id)
    return True


def kind_matches(kind: str, pattern: str) -> bool:
    """Return whether a type is this one, or of this group (`certidao.*`)."""
    return kind.startswith(pattern[:-1]) if pattern.endswith(".*") else kind == pattern


def retry_ms(failures: int, attempt: Attempt, random: float) -> int | None:
    """Return the instant of the next attempt after so many failures; None: there is none.

    `random` is from 0 to 1. `Retry-After` applies if it is later.
    """
    if failures > len(RETRY_SECONDS):
        return None
    wait = RETRY_SECONDS[failures - 1] * (1 - _JITTER + 2 * _JITTER * random)
    asked = min(attempt.retry_after_seconds or 0, RETRY_AFTER_SECONDS_MAX)
    return attempt.at_ms + attempt.duration_ms + round(1_000 * max(wait, asked))


def retry_after_seconds(value: str, now_ms: int) -> int | None:
    """Read `Retry-After`, seconds or a date. None: it is neither."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:9]), RETRY_AFTER_SECONDS_MAX)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now_ms / 1_000
    return max(0, min(round(seconds), RETRY_AFTER_SECONDS_MAX))


def open_after(open_now: int, attempt: Attempt) -> int:
    """Return how many deliveries may be open at a time after this attempt.

    A receiver that is overloaded or does not respond gets half as many.
    """
    if attempt.succeeded:
        return min(OPEN_MAX, open_now + 1)
    if attempt.status is None or attempt.status in _SLOWER:
        return max(1, open_now // 2)
    return open_now


def failed_for_ms(before_ms: int, last_failed_ms: int | None, at_ms: int) -> int:
    """Return for how long an endpoint has failed, after one more failure.

    `before_ms`: up to the last failure, at `last_failed_ms`. Time without attempts counts only as
    long as the longest wait between two: a clock that jumps, a service that was off, or weeks
    without an event switch no endpoint off.
    """
    if last_failed_ms is None:
        return 0
    return before_ms + min(max(0, at_ms - last_failed_ms), _COUNTED_MS_MAX)


def state_after_failure(
    failed_for_ms: int, status: int | None
) -> tuple[WebhookState, OffReason | None]:
    """Return the state of an endpoint, switched on, after a failure."""
    if status == 410:
        return "desligado", "http_410"
    if failed_for_ms >= OFF_AFTER_MS:
        return "desligado", "sem_sucesso"
    return ("falhando" if failed_for_ms >= FAILING_AFTER_MS else "ativo"), None


def shown_response(content: bytes) -> str:
    """Return the beginning of a response as it is stored for people."""
    text = content.decode("utf-8", "replace")
    plain = "".join(each if each.isprintable() else " " for each in text)
    return plain.strip()[:RESPONSE_CHARACTERS_MAX]
