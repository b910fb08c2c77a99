"""Titles of types of events."""

from balcao.core.event_titles import TITLES, TONES
from balcao.core.event_types import EVENT_TYPES
from balcao.core.event_words import URGENT_KINDS


def test_every_type_has_one_title() -> None:
    assert TITLES.keys() == EVENT_TYPES.keys()
    assert len({*TITLES.values()}) == len(TITLES)
    assert TONES.keys() | URGENT_KINDS <= TITLES.keys()
