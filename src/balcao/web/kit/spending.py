"""What was charged, day by day or week by week, for the charts."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from balcao.storage.totals import Total
from balcao.web.kit.drawing import Bar


def bars_of(totals: Iterable[Total], first: date, days: int, each: int = 1) -> Sequence[Bar]:
    """So many days from `first` on, those without a charge included; `each` of them to a bar."""
    begins = [(first + timedelta(passed - passed % each)).isoformat() for passed in range(days)]
    bar_of = {(first + timedelta(passed)).isoformat(): day for passed, day in enumerate(begins)}
    sums = {day: [0, 0] for day in begins}
    for total in totals:
        if total.day in bar_of:
            sums[bar_of[total.day]][total.origin == "online"] += total.credits
    return [Bar(day, cache, online) for day, (cache, online) in sums.items()]
