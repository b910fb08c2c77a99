"""Scheduled lookups of watched subjects: which are due, and the next instants (contract 20.4)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from balcao.core.calendar import HOUR_MS, civil_day
from balcao.core.observed_items import REGISTRATIONS_TOPICS, REGISTRY_TOPICS, ZONE_TOPIC, Checked
from balcao.core.purchases import purchase_key, slot_ms
from balcao.core.questions import Subject

# Lookups of a day are spread over these hours in Brasília.
FIRST_HOUR, LAST_HOUR = 8, 20


class Lookup(NamedTuple):
    """A lookup that answers some topics of an item."""

    subject: Subject
    uf: str | None
    topics: Sequence[str]

    @property
    def name(self) -> str:
        """Its part of the idempotency key."""
        return self.topics[0]


_SUBJECTS: Final[Mapping[str, Subject]] = {
    topic: subject for subject, topic in REGISTRATIONS_TOPICS.items()
}


def lookups_of(watched: Collection[str], wanted: Collection[str] | None) -> Sequence[Lookup]:
    """Return the lookups that answer what is watched, as far as it is wanted.

    `wanted`: None, what nothing but lookups answers. The registry is asked only if it is named,
    since its months come for free.
    """
    topics = [each for each in watched if wanted is None or each in wanted]
    found: list[Lookup] = []
    for topic in topics:
        name, _, uf = topic.partition(":")
        if name in _SUBJECTS:
            found.append(Lookup(_SUBJECTS[name], uf, (topic,)))
        elif name == ZONE_TOPIC:
            found.append(Lookup("suframa", None, (topic,)))
    registry = [topic for topic in topics if topic in REGISTRY_TOPICS]
    if registry and wanted is not None:
        found.append(Lookup("company", None, registry))
    return found


def due_lookups(
    lookups: Sequence[Lookup], checked: Mapping[str, Checked], every_days: int, now_ms: int
) -> Sequence[Lookup]:
    """Return the lookups whose last answer is so many days old."""
    today = civil_day(now_ms)
    return [each for each in lookups if _due_day(each, checked, every_days) <= today]


def next_ms(
    item_id: str,
    lookups: Sequence[Lookup],
    checked: Mapping[str, Checked],
    every_days: int,
    now_ms: int,
) -> int | None:
    """Return when an item is looked up next, within the hours of a day; None: never.

    The time within the hours is that of the item, so that the items of an account are spread.
    """
    if not lookups:
        return None
    day = max(min(_due_day(each, checked, every_days) for each in lookups), civil_day(now_ms))
    at_ms = _slot_ms(item_id, day)
    return at_ms if at_ms > now_ms else _slot_ms(item_id, day + timedelta(days=1))


def idempotency_key(item_id: str, lookup: Lookup, due_ms: int, clock_run: int | None = None) -> str:
    """Return the key of a scheduled lookup. `clock_run`: of a test portfolio's clock."""
    parts = (item_id, lookup.name, due_ms)
    return purchase_key(*(parts if clock_run is None else (*parts, clock_run)))


def _due_day(lookup: Lookup, checked: Mapping[str, Checked], every_days: int) -> date:
    """Return the civil day from which a lookup is due."""
    known = [checked.get(topic) for topic in lookup.topics]
    last_ms = min([0 if each is None else max(each.data_ms, each.asked_ms) for each in known])
    return civil_day(last_ms) + timedelta(days=every_days) if last_ms else date.min


def _slot_ms(item_id: str, day: date) -> int:
    return slot_ms(item_id, day, FIRST_HOUR * HOUR_MS, LAST_HOUR * HOUR_MS)
