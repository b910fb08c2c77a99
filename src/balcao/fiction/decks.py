"""Decks of the facts of companies and establishments (`rfb-open-data.md`, section 11)."""

from datetime import date
from math import gcd

from balcao.fiction import codes, tables
from balcao.fiction.calendar import FIRST_DAY, number_of
from balcao.fiction.dice import DECK, FINE, deck, skewed
from balcao.fiction.natures import WEIGHTED_NATURES

NATURE_CARDS = deck(WEIGHTED_NATURES, FINE)
ACTIVITY_CARDS = deck(codes.ACTIVITY_WEIGHTS)
PROPER_NAME_CARDS = skewed(tables.words("proper_names"))

# The registry's limit of secondary activities is 99; the largest number seen is 97.
SIDE_COUNT_CARDS = deck(
    [(0, 51.0)]
    + [
        (count, 0.49 * share)
        for count, share in (
            (1, 38), (2, 20), (3, 11), (4, 8), (5, 6), (6, 4.3), (7, 3.2), (8, 2.4), (9, 1.8),
            (10, 1.4), (12, 1.3), (15, 1.5), (20, 0.8), (30, 0.25), (50, 0.06), (97, 0.01),
        )
    ],
    FINE,
)  # fmt: skip


def _rings() -> tuple[tuple[str, ...], ...]:
    """Return eight cyclic orders of all activities, each twice in a row, so slices can wrap."""
    activities = [code for code in codes.ACTIVITIES if code != codes.ACTIVITY_NOT_INFORMED]
    count = len(activities)
    # A step without a common divisor reaches every code.
    steps = [step for step in range(1, count) if gcd(step, count) == 1][:8]
    return tuple(tuple(activities[n * step % count] for n in range(2 * count)) for step in steps)


SIDE_RINGS = _rings()
SIDE_RING_LENGTH = len(SIDE_RINGS[0]) // 2


def _founding_years() -> list[tuple[int, float]]:
    """Return the first days of the years from 1966 with their shares; newer years have more."""
    newest = (4.5, 8, 7, 6.4, 6.2, 7, 7, 5.2, 4.2)
    shares = {2026 - n: share for n, share in enumerate(newest)}
    for year in range(2017, FIRST_DAY.year - 1, -1):
        shares[year] = shares[year + 1] * 0.915
    return [(number_of(date(year, 1, 1)), share) for year, share in shares.items()]


FOUNDING_CARDS = deck(_founding_years())

STATUS_CARDS = deck([("08", 46.8), ("02", 39.5), ("04", 13.1), ("03", 0.43), ("01", 0.15)], FINE)
CLOSING_CARDS = deck(
    [("01", 79), ("71", 6), ("67", 5), ("73", 4), ("54", 3), ("75", 1.3), ("02", 0.8), ("37", 0.5),
     ("03", 0.1), ("04", 0.1), ("09", 0.1), (codes.REASON_WITHOUT_DESCRIPTION, 0.06)]
)  # fmt: skip
REASONS_BY_STATUS = {"01": "70", "02": "00", "03": "21", "04": "63"}


def _capitals() -> list[tuple[int, float]]:
    """Return capitals in cents with their shares: round amounts from 100.00 to 900 million."""
    fixed = [(0, 20.0), (1_000_00, 16.0), (5_000_00, 10.0), (10_000_00, 9.0), (2_000_00, 6.0)]
    decades = (4.0, 13.0, 14.0, 6.0, 1.5, 0.4, 0.1)
    steps = (10, 12, 15, 18, 20, 25, 30, 36, 40, 50, 60, 70, 80, 90)
    common = {amount for amount, _ in fixed}
    free = [
        (amount, share / len(steps))
        for decade, share in enumerate(decades, start=2)
        for step in steps
        if (amount := 10**decade * step * 10) not in common
    ]
    return fixed + free


CAPITAL_CARDS = deck(_capitals())

STREET_TYPE_CARDS = deck(tables.shares("street_types"))
STREET_CARDS = skewed(tables.words("streets"))
DISTRICT_CARDS = deck(tables.shares("districts"))
_ABROAD = [(code, 1.0) for code in codes.COUNTRIES if code != "105"]
COUNTRY_CARDS = deck([*_ABROAD, (codes.COUNTRY_WITHOUT_DESCRIPTION, 0.4)])
CITY_ABROAD_CARDS = deck([(city, 1.0) for city in tables.words("cities_abroad")])
SPECIAL_CARDS = deck(tables.shares("special_statuses"))


def _numbers() -> tuple[str, ...]:
    rare = [("S/N", 5.0), ("SN", 4.0), ("S N", 1.0), ("0", 0.5), ("CASA 2", 0.05), ("00026E", 0.05)]
    low = [(str(n), 22 / (n + 30)) for n in range(1, 400)]
    high = [(str(n), 0.15) for n in range(407, 4000, 17)]
    return deck(rare + low + high)


NUMBER_CARDS = _numbers()


def _complements() -> tuple[str, ...]:
    """Return complements of addresses, with numbers filled in; 59 % of the addresses have none."""
    cards = deck(
        [("", 59.0), *((text, 41 * share / 100) for text, share in tables.shares("complements"))],
        FINE,
    )
    return tuple(card.replace("{}", str(n * 7919 % 30 + 1)) for n, card in enumerate(cards))


COMPLEMENT_CARDS = _complements()

# 77 % of the addresses are written in capitals, 22 % are not.
_MAIL_NAMES = [name.replace(" ", "") for name in tables.words("proper_names")]
MAIL_NAME_CARDS = skewed(_MAIL_NAMES)
MAIL_DOMAIN_CARDS = deck(
    [(domain.upper(), 0.77 * share) for domain, share in tables.shares("mail_domains")]
    + [(domain, 0.23 * share) for domain, share in tables.shares("mail_domains")],
    DECK,
)
