"""An import's counts, added up from files to tables."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from balcao.opendata.building import GroupReading, Sorting
from balcao.opendata.domains import DomainTable
from balcao.opendata.layout import TABLES
from balcao.opendata.repair import Reject
from balcao.opendata.tally import ColumnTally
from balcao.opendata.verify import bad_dates, unknown_values


@dataclass(slots=True)
class Totals:
    """Records by table, the tables of codes included."""

    rows: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    tallies: dict[str, ColumnTally] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    most_partners: tuple[int, str] = (0, "")

    @property
    def bad_dates(self) -> dict[str, int]:
        """`Table.column` -> rows."""
        return _merged(bad_dates(table, tally) for table, tally in self.tallies.items())

    @property
    def unknown_values(self) -> dict[str, int]:
        """`Table.column=value` -> rows."""
        return _merged(unknown_values(table, tally) for table, tally in self.tallies.items())

    @property
    def sample(self) -> list[str]:
        """CNPJs dealt over all parts."""
        return [cnpj for tally in self.tallies.values() for cnpj in tally.sample]

    @property
    def witnesses(self) -> dict[str, str]:
        """Special cases met while reading: kind -> key."""
        return {
            kind: key for tally in self.tallies.values() for kind, key in tally.witnesses.items()
        }


def add_up(
    halves: Iterable[tuple[GroupReading, Sorting]], domains: Iterable[DomainTable]
) -> Totals:
    """The totals of all groups and tables of codes."""
    totals = Totals()
    for counts in (totals.rejected, totals.duplicates, totals.mended):
        counts.update(dict.fromkeys(TABLES, 0))
    for reading, sorting in halves:
        for report in reading.reports:
            table = report.table
            totals.rows[table] = totals.rows.get(table, 0) + sorting.stored[report.file]
            totals.duplicates[table] += sorting.duplicates[report.file]
            totals.rejected[table] += len(report.rejects)
            totals.mended[table] += report.mended
            totals.rejects.extend(report.rejects)
            totals.tallies.setdefault(table, ColumnTally()).add(report.tally)
        totals.most_partners = max(totals.most_partners, sorting.most_partners)
    for domain in domains:
        totals.rows[domain.name] = len(domain.texts)
        totals.duplicates[domain.name] = domain.duplicates
        totals.rejected[domain.name] = len(domain.rejects)
        totals.rejects.extend(domain.rejects)
    return totals


def _merged(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return {name: rows for some in counts for name, rows in some.items()}
