"""Companies of the month in use, as the state of watched subjects before an own lookup."""

from collections.abc import Mapping

from balcao.core.company_record import registry_record
from balcao.core.documents import Cnpj
from balcao.core.month_comparison import base_ms
from balcao.core.observed_items import FindInMonth, MonthRecord
from balcao.core.questions import Mode
from balcao.opendata.current import CurrentSnapshot


def month_records(snapshots: Mapping[Mode, CurrentSnapshot]) -> FindInMonth:
    """Return the function that finds a company in the month in use of its mode."""

    def find(mode: Mode, cnpj: str) -> MonthRecord | None:
        wanted = Cnpj(cnpj)
        day, found = snapshots[mode].companies([wanted])
        if day is None or wanted not in found:
            return None
        return MonthRecord(registry_record(found[wanted]), base_ms(day))

    return find
