"""Deprecated features of the API, and their use (contract 18)."""

from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from balcao.core.writing import day as day_in_words

# Where the policy and the deprecated features are explained, relative to the service.
PAGE = "/docs/guias/versoes"
# The least time between a deprecation and its sunset.
MONTHS_MIN = 24

SHOWN_DAYS = 30  # of use, in lists
KEPT_DAYS = 90


class DeprecatedFeature(msgspec.Struct, frozen=True):
    """A feature that still works, and will be removed. Days are civil days in UTC."""

    code: str  # never changes
    title: str
    since: date
    sunset: date  # it works at least until the day before
    replacement: str  # the change to make, as a sentence

    @property
    def last_day(self) -> date:
        """The day until which it works, at least."""
        return self.sunset - timedelta(days=1)

    @property
    def notice(self) -> str:
        """The dates and the replacement, in Portuguese."""
        return (
            f"Obsoleto desde {day_in_words(self.since)} e aceito pelo menos até"
            f" {day_in_words(self.last_day)}. {self.replacement}"
        )


CACHE_HEADER = DeprecatedFeature(
    "cabecalho-cache",
    "Cabeçalho cache",
    date(2026, 1, 1),
    date(2029, 1, 1),
    "Envie o parâmetro cache no endereço: ?cache=7.",
)

FEATURES: Mapping[str, DeprecatedFeature] = {each.code: each for each in (CACHE_HEADER,)}


class DeprecatedUse(msgspec.Struct, frozen=True, order=True):
    """Requests of one key, in one civil day, that used a deprecated feature."""

    account_id: int
    feature: str
    key_id: int
    day: str  # YYYY-MM-DD in Brasília
    requests: int


def shown_since(today: date) -> str:
    """Return the first of the days that lists count, as `YYYY-MM-DD`."""
    return (today - timedelta(days=SHOWN_DAYS - 1)).isoformat()


def title_of(code: str) -> str:
    """Return the title of a feature, also of one that was removed."""
    feature = FEATURES.get(code)
    return code if feature is None else feature.title
