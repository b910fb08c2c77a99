"""Decide whether a month is plausible, by its counts (`rfb-open-data.md`, section 10).

Pure functions: counts in, sentences out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from balcao.core.writing import counted, whole
from balcao.opendata.layout import TABLES
from balcao.opendata.tally import ColumnTally

SHRINK_MAX = 0.005
GROWTH_MAX = 0.05

REJECTS_SHARE_MAX = 0.00001
REJECTS_ALWAYS_ALLOWED = 10  # so that one bad line does not stop a small month

# Months with at least this many establishments must look like Brazil; smaller ones are extracts.
SIZEABLE_ROWS = 10_000
FULL_ROWS = 50_000_000

# Roots without a company row exist, about one in a million (parts are extracted at different
# minutes). A part that was not imported or a join that fails shows in one of twenty rows.
_WITHOUT_COMPANY_SHARE_MAX = 0.0001
_WITHOUT_COMPANY_ALWAYS_ALLOWED = 5
_WITHOUT_TEXT_SHARE_MAX = 0.01


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Results of looking up a sample of CNPJs in the finished snapshot."""

    looked_up: int = 0
    missing: tuple[str, ...] = ()
    without_company: int = 0
    without_city: int = 0
    without_activity: int = 0

    def __add__(self, other: "ProbeResult") -> "ProbeResult":
        return ProbeResult(
            self.looked_up + other.looked_up,
            self.missing + other.missing,
            self.without_company + other.without_company,
            self.without_city + other.without_city,
            self.without_activity + other.without_activity,
        )


@dataclass(slots=True)
class Verification:
    """Problems, which forbid publication, and warnings, which do not."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def rejects_allowed(records: int) -> int:
    """Return the greatest plausible number of unreadable records in a table of this size."""
    return max(REJECTS_ALWAYS_ALLOWED, int(records * REJECTS_SHARE_MAX))


def compare(rows: Mapping[str, int], before: Mapping[str, int]) -> list[str]:
    """Return a sentence for each table that shrank or grew more than is plausible in a month."""
    problems = []
    for table, had in before.items():
        has = rows.get(table, 0)
        if has < had * (1 - SHRINK_MAX) or has > had * (1 + GROWTH_MAX):
            problems.append(f"{table} tem {whole(has)} linhas, o mês anterior tinha {whole(had)}")
    return problems


def judge_sample(probed: ProbeResult, establishments: int) -> Verification:
    """Verify that sampled rows are found, with their companies and texts."""
    verdict = Verification()
    sizeable = establishments >= SIZEABLE_ROWS
    if probed.missing:
        verdict.problems.append(
            f"{len(probed.missing)} de {probed.looked_up} CNPJs guardados não são encontrados, "
            f"por exemplo {probed.missing[0]}"
        )
    allowed = int(probed.looked_up * _WITHOUT_COMPANY_SHARE_MAX)
    if probed.without_company > (
        max(allowed, 1) if sizeable else max(allowed, _WITHOUT_COMPANY_ALWAYS_ALLOWED)
    ):
        verdict.problems.append(
            f"{probed.without_company} de {probed.looked_up} CNPJs vêm sem a sua empresa"
        )
    for count, what in (
        (probed.without_city, "o município"),
        (probed.without_activity, "a descrição da atividade principal"),
    ):
        if count > probed.looked_up * _WITHOUT_TEXT_SHARE_MAX:
            sentence = f"{count} de {probed.looked_up} CNPJs vêm sem {what}"
            (verdict.problems if sizeable else verdict.warnings).append(sentence)
    return verdict


def unknown_values(table: str, tally: ColumnTally) -> dict[str, int]:
    """Return the rows by `column=value` of values that are not in the closed lists."""
    layout = TABLES[table]
    return {
        f"{table}.{layout.columns[column]}={value}": rows
        for column, counts in tally.values.items()
        for value, rows in sorted(counts.items())
        if value not in layout.closed[column]
    }


def bad_dates(table: str, tally: ColumnTally) -> dict[str, int]:
    """Return the rows by column with invalid dates, which are answered as null."""
    columns = TABLES[table].columns
    return {f"{table}.{columns[column]}": rows for column, rows in tally.bad_dates.items()}


def sentences(counts: Mapping[str, int], what: str) -> Iterable[str]:
    """Return one warning per count."""
    return (
        f"{name}: {what} em {counted(rows, 'linha', 'linhas')}" for name, rows in counts.items()
    )


def evenly_spaced(keys: Sequence[str], count: int) -> list[str]:
    """Return at most `count` keys, evenly spaced over all."""
    step = max(len(keys) / count, 1.0)
    return [keys[int(at * step)] for at in range(min(count, len(keys)))]
