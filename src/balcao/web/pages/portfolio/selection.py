"""The selection of certificates in an address or a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from balcao.core.paper_filters import EXPIRIES, WITHOUT, DayRange, day_ranges
from balcao.core.paper_words import KINDS
from balcao.core.papers import PaperState
from balcao.storage.desk.wallet.paper_list import PaperFilter, Standing, standing_of
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.paper_views import CERTIFICATES

POSITIVE: Final = "positivas"
WITHOUT_ONE: Final = "sem"
_STATES: Final[Mapping[str, tuple[PaperState, ...]]] = {
    POSITIVE: ("positiva",),
    WITHOUT_ONE: WITHOUT,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selection in an address: its fields, and what they mean."""

    fields: Mapping[str, str]
    filter: PaperFilter
    standing: Standing

    def at(self, **other: str) -> str:
        """Return the address of this selection with other fields."""
        return filters.address(CERTIFICATES, {**self.fields, **other})


def chosen_of(context: PageContext, fields: Mapping[str, str]) -> Chosen:
    """Return the selection of an address or form; unknown values count as missing."""
    settings = context.desk.wallets.settings(context.account.account_id)
    standing = standing_of(settings, context.now_ms())
    seen = fields.get("ver", "")
    expiry = next((each for each in EXPIRIES if each == seen), None)
    kind = next((each for each in KINDS if each == fields.get("tipo")), None)
    day = _day(fields.get("dia", ""))
    days: DayRange | None = None
    if expiry is not None:
        days = day_ranges(standing.today)[expiry]
    elif day:
        days = DayRange(day, day)
    client, tag = filters.tag(fields, "cliente"), filters.tag(fields, "etiqueta")
    states = _STATES.get(seen, ())
    return Chosen(
        {
            "ver": seen if expiry is not None or states else "",
            "dia": "" if expiry is not None else day,
            "cliente": client or "",
            "etiqueta": tag or "",
            "tipo": kind or "",
            "vista": "mes" if fields.get("vista") == "mes" else "",
            "mes": fields.get("mes", "") if fields.get("vista") == "mes" else "",
        },
        PaperFilter(client, tag, kind, states, days),
        standing,
    )


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""
