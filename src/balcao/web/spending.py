"""What was charged, day by day, for the charts."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from balcao.storage.contract import ConsumptionRow
from balcao.web.drawing import Bar


def bars_of(rows: Iterable[ConsumptionRow], first: date, days: int) -> Sequence[Bar]:
    """One bar for each of so many days from `first` on, those without a charge included."""
    sums = {(first + timedelta(days=passed)).isoformat(): [0, 0] for passed in range(days)}
    for row in rows:
        if row.day in sums:
            sums[row.day][row.origin == "online"] += row.credits
    return [Bar(day, cache, online) for day, (cache, online) in sums.items()]
