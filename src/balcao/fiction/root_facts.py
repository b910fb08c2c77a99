"""The facts of a root, shared by its company, partners and establishments."""

import msgspec

from balcao.fiction.calendar import LAST
from balcao.fiction.decks import ACTIVITY_CARDS, FOUNDING_CARDS, NATURE_CARDS, STATUS_CARDS
from balcao.fiction.dice import draws
from balcao.fiction.natures import Nature
from balcao.fiction.places import MUNICIPALITY_DECK, Municipality
from balcao.fiction.sandbox import HEAD_OFFICE_ORDERS

# Of 65 536 companies, those whose head office moved to another establishment number; their
# 0001 is a branch. Seen in about 1 of 1 000 real ones (`rfb-open-data.md`, section 4.2).
_MOVED = 66


class RootFacts(msgspec.Struct, frozen=True, gc=False):
    """The basic facts of a root. `founded` is a day number (`calendar.py`)."""

    draws: tuple[int, ...]
    nature: Nature
    activity: str
    place: Municipality
    founded: int
    status: str  # of the head office
    ended: int  # day number of the head office's status, if it is not active
    head_office_order: str


def root_facts(root: str) -> RootFacts:
    """Return the facts of a root (8 characters)."""
    d = draws(root)
    nature = NATURE_CARDS[d[5]]
    founded = FOUNDING_CARDS[d[0] & 4095] + d[1] % 365
    if founded > LAST:
        # The newest year is incomplete: later days are moved into its first half.
        founded -= 180
    return RootFacts(
        d,
        nature,
        nature.activity or ACTIVITY_CARDS[d[4] & 4095],
        MUNICIPALITY_DECK[d[3]],
        founded,
        STATUS_CARDS[d[2]],
        founded + (d[21] * (LAST - founded) >> 16),
        HEAD_OFFICE_ORDERS.get(root) or ("0001" if d[20] >= _MOVED else f"000{2 + d[20] % 8}"),
    )
