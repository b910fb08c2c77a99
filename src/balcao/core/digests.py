"""Notices of a portfolio to people: when a message is due, and its events (contract 20.9). Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from balcao.core.calendar import civil_day, from_ms
from balcao.core.event_words import is_grave
from balcao.core.wallet import Notices

# At once only between these hours of Brasília, unless `imediatos` is `sempre`.
DAY_BEGINS, DAY_ENDS = 7, 22
# Between two messages at once to a person: a month's comparison causes many within seconds.
URGENT_EVERY_MS: Final = 15 * 60_000

MailedKind: TypeAlias = Literal["digest", "urgent"]

# In the feed and on their own pages.
_NOT_MAILED = ("lote.", "base.", "balcao.", "carteira.relogio")


class MailPosition(msgspec.Struct, frozen=True, gc=False):
    """How far a person was sent an account's events. `digest_day`: of the last digest."""

    mailed: int  # in digests, up to this number
    urgent: int  # considered for a message at once, up to this number
    digest_day: str  # YYYY-MM-DD in Brasília
    urgent_ms: int | None = None  # of the last message at once


class MailableEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with the facts of its item. `name` and `document` are None of a person."""

    number: int
    kind: str
    at_ms: int
    data: Mapping[str, Any]
    item_id: str | None = None
    document: str | None = None
    name: str | None = None
    reference: str | None = None

    @property
    def is_grave(self) -> bool:
        """Whether people are notified at once."""
        return is_grave(self.kind, self.data)


class DueMail(NamedTuple):
    """A message to send, if `events` are any, and the position after it."""

    kind: MailedKind
    events: Sequence[MailableEvent]
    position: MailPosition


def is_read(notices: Notices) -> bool:
    """Return whether any message is ever sent."""
    return notices.resumo_as is not None or notices.imediatos != "nao"


def first_position(notices: Notices, last: int, now_ms: int) -> MailPosition:
    """Return the position of a new reader: earlier events are not sent.

    `last`: the number of the account's last event. The first digest is at the next hour of digests.
    """
    today = civil_day(now_ms)
    day = today if _digest_hour_passed(notices, now_ms) else today - timedelta(days=1)
    return MailPosition(last, last, day.isoformat())


def is_due(position: MailPosition, notices: Notices, last: int, now_ms: int) -> bool:
    """Return whether there may be something to send, or to mark as considered."""
    return _digest_due(position, notices, now_ms) or _urgent_due(position, notices, last, now_ms)


def due_mail(
    position: MailPosition,
    notices: Notices,
    last: int,
    events: Sequence[MailableEvent],
    now_ms: int,
) -> DueMail | None:
    """Return the message that is due; None: neither kind is.

    `events`: those after `position.mailed`, up to `last`. A digest has everything that was not sent
    at once. After a downtime it is one message, also of what would have been sent at once.
    """
    found = [each for each in events if not each.kind.startswith(_NOT_MAILED)]
    if _digest_due(position, notices, now_ms):
        new = [each for each in found if not (each.is_grave and each.number <= position.urgent)]
        today = civil_day(now_ms).isoformat()
        return DueMail("digest", new, MailPosition(last, last, today, position.urgent_ms))
    if not _urgent_due(position, notices, last, now_ms):
        return None
    considered = max(position.mailed, position.urgent)
    new = [each for each in found if each.is_grave and each.number > considered]
    after = MailPosition(
        # Without digests nothing else moves it, and a later setting must not send all of it.
        last if notices.resumo_as is None else position.mailed,
        last,
        position.digest_day,
        now_ms if new else position.urgent_ms,
    )
    return DueMail("urgent", new, after)


def _digest_hour_passed(notices: Notices, now_ms: int) -> bool:
    return notices.resumo_as is None or f"{from_ms(now_ms):%H:%M}" >= notices.resumo_as


def _digest_due(position: MailPosition, notices: Notices, now_ms: int) -> bool:
    return (
        notices.resumo_as is not None
        and position.digest_day < civil_day(now_ms).isoformat()
        and _digest_hour_passed(notices, now_ms)
    )


def _urgent_due(position: MailPosition, notices: Notices, last: int, now_ms: int) -> bool:
    if last <= max(position.mailed, position.urgent) or notices.imediatos == "nao":
        return False
    if notices.imediatos == "de_dia" and not DAY_BEGINS <= from_ms(now_ms).hour < DAY_ENDS:
        return False
    return position.urgent_ms is None or now_ms - position.urgent_ms >= URGENT_EVERY_MS
