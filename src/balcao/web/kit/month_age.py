"""The open data month in use, and its age by the publisher's calendar."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from balcao.core.notices import Tone
from balcao.core.writing import MONTHS
from balcao.opendata.errors import OpenDataError
from balcao.opendata.fetching.schedule import ALARM_DAYS
from balcao.opendata.snapshot import current_edition

# The Receita Federal publishes each month between these days (`balcao opendata build --help`).
PUBLISHED_FROM, PUBLISHED_BY = 9, 17


@dataclass(frozen=True, slots=True)
class MonthAge:
    """The month in use on a given day."""

    extraction: date
    today: date

    @property
    def days(self) -> int:
        return (self.today - self.extraction).days

    @property
    def is_alarming(self) -> bool:
        """Whether it is older than it can be where new months are fetched regularly."""
        return self.days > ALARM_DAYS

    @property
    def behind(self) -> int:
        """How many newer months have certainly been published."""
        published = _number(self.today) - (self.today.day <= PUBLISHED_BY)
        return max(0, published - _number(self.extraction))

    @property
    def name(self) -> str:
        """For example `outubro de 2026`."""
        return f"{MONTHS[self.extraction.month - 1]} de {self.extraction.year}"

    @property
    def tone(self) -> Tone:
        """The tone of the notice, as for a standing."""
        return ("good", "warn", "bad")[min(self.behind, 2)]

    @property
    def verdict(self) -> str:
        """The age in one sentence."""
        if self.behind > 1:
            return f"Já foram publicados {self.behind} meses mais novos."
        if self.behind == 1:
            return "Um mês mais novo já foi publicado."
        coming = _number(self.today) > _number(self.extraction)
        if coming and self.today.day >= PUBLISHED_FROM:
            return (
                f"O mês de {MONTHS[self.today.month - 1]} deve sair em breve: a Receita Federal"
                f" publica entre os dias {PUBLISHED_FROM} e {PUBLISHED_BY}."
            )
        return "É o mês mais recente publicado."


def in_use(store: Path, today: date) -> MonthAge | None:
    """Return the published month of a store, or None. Reads one small file."""
    try:
        return MonthAge(current_edition(store).extraction_date, today)
    except OpenDataError:
        return None


def _number(day: date) -> int:
    return day.year * 12 + day.month
