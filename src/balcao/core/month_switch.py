"""Changes of the month in use, once for the installation (contract 20.3).

Every node has its own months. A change is recorded by the first node that makes it.
"""

from datetime import date

import msgspec

from balcao.core.questions import Mode
from balcao.core.writing import counted, whole


class MonthInUse(msgspec.Struct, frozen=True):
    """A month of the registry: the day of its data, and its count of establishments."""

    day: date
    establishments: int = 0

    @property
    def month(self) -> str:
        """`competencia`: YYYY-MM."""
        return f"{self.day:%Y-%m}"


class MonthSwitch(msgspec.Struct, frozen=True):
    """A recorded change of the month in use. Months are YYYY-MM, the day YYYY-MM-DD."""

    switch_id: int
    from_month: str
    to_month: str
    base_date: str
    at_ms: int
    ended_ms: int | None = None
    mode: Mode = "live"  # of the accounts whose lookups use the month
    files_ms: int | None = None  # when a node last reported to have both months

    @property
    def is_return(self) -> bool:
        """Whether an earlier month came into use again."""
        return self.to_month < self.from_month


def month_left(seen: str | None, now: str, last: str | None) -> str | None:
    """Return the month that the installation leaves with a node's change; None: no change of it.

    `seen`: the month that the node used when it looked last; None: it never looked. `last`: the
    month that the last recorded change put into use; None: none is recorded.
    """
    if now in {seen, last}:
        return None
    if seen is None:
        return last if last is not None and last < now else None
    if now > seen:
        return last or seen if last is None or last < now else None
    # A return is recorded by the first node that makes it.
    return seen if last in {None, seen} else None


class ComparisonFigures(msgspec.Struct, frozen=True):
    """The comparison after a change of the month: counts of items in all portfolios so far."""

    switch: MonthSwitch
    compared: int
    changed: int
    unverified: int

    def seconds(self, now_ms: int) -> float:
        """Return how long it took, or has taken so far."""
        ended_ms = now_ms if self.switch.ended_ms is None else self.switch.ended_ms
        return max(0, ended_ms - self.switch.at_ms) / 1000

    @property
    def text(self) -> str:
        """The counts, for operators."""
        return (
            f"{counted(self.compared, 'item comparado', 'itens comparados')},"
            f" {whole(self.changed)} com mudança,"
            f" {counted(self.unverified, 'não verificado', 'não verificados')}"
        )
