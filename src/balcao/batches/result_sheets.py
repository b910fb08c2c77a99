"""Spreadsheets of results, for people: words, days and numbers, and a summary first."""

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from balcao.batches.comparing import CheckResult
from balcao.batches.names import FACT_LABELS
from balcao.batches.result_columns import PREFIX, ResultColumns, ResultRow, RowValues
from balcao.batches.tables.contract import RESULT_SHEET, SUMMARY_SHEET
from balcao.batches.words import COMPARISONS, STATES
from balcao.core.calendar import civil_day
from balcao.core.next_expiries import NextExpiries
from balcao.operations.sheets import CellValue
from balcao.storage.spreadsheet import Sheet, Value, write_xlsx

_OWN_WIDTH = 24


@dataclass(frozen=True, slots=True)
class SheetContext:
    """The batch that a spreadsheet is about. `base`: the service's address, for receipts."""

    title: str = ""
    operation: str = ""
    now_ms: int = 0
    base: str = ""


NO_CONTEXT = SheetContext()


def write_workbook(
    file: IO[bytes],
    columns: ResultColumns,
    rows: Iterable[ResultRow],
    about: SheetContext,
    *,
    folder: Path | None = None,
    check_room: Callable[[int], None] = lambda needed_bytes: None,
) -> None:
    """Write the sheets `Resumo` and `Resultado`. Blocking; see `write_xlsx`.

    The holder's name is in one column, next to the document, not repeated among the facts.
    """
    own = len(columns.own_header)
    shown = [at for at, each in enumerate(columns.ours, own) if each.name != columns.name_column]
    ours = [columns.ours[at - own] for at in shown]
    in_words = _words_of(columns, about.base)
    tally = _Tally(columns, about)

    def cells() -> Iterator[Sequence[Value]]:
        for row in rows:
            found = columns.values(row)
            tally.add(found)
            values = found.cells
            yield [
                *values[:own],
                *(in_words[at](values[at]) if at in in_words else values[at] for at in shown),
            ]

    sheet = Sheet(
        RESULT_SHEET,
        [*[_OWN_WIDTH] * own, *(each.width for each in ours)],
        cells(),
        [*columns.own_header, *(each.title for each in ours)],
        text_columns=own,
    )
    summary = Sheet(SUMMARY_SHEET, (44, 40, 20), tally.rows())
    write_xlsx(file, [sheet], summary=summary, folder=folder, check_room=check_room)


def _words_of(columns: ResultColumns, base: str) -> Mapping[int, Callable[[CellValue], CellValue]]:
    """Return for some columns, by position, the function that makes their values readable."""
    words: dict[int, Callable[[CellValue], CellValue]] = {}
    for at, each in enumerate(columns.ours, len(columns.own_header)):
        if each.name == f"{PREFIX}estado":
            words[at] = lambda value: STATES.get(value, value)  # type: ignore[call-overload]
        elif each.name.startswith(f"{PREFIX}confere_"):
            words[at] = lambda value: COMPARISONS.get(value, value)  # type: ignore[call-overload]
        elif each.kind == "receipt":
            words[at] = lambda value: value and _page_of_receipt(base, str(value))
    return words


def _page_of_receipt(base: str, address: str) -> str:
    return f"{base}/app/comprovantes/{address.rpartition('/')[2]}"


@dataclass
class _Tally:
    """Sums of the rows that were written."""

    columns: ResultColumns
    about: SheetContext
    outcomes: Counter[str] = field(default_factory=Counter)
    credits: int = 0
    comparisons: Counter[tuple[str, CheckResult]] = field(default_factory=Counter)
    _validity: int | None = None

    def __post_init__(self) -> None:
        self.expiries = NextExpiries(civil_day(self.about.now_ms))
        names = [each.name for each in self.columns.ours]
        if f"{PREFIX}valida_ate" in names:
            self._validity = len(self.columns.own_header) + names.index(f"{PREFIX}valida_ate")

    def add(self, row: RowValues) -> None:
        """Count a row."""
        stored = row.of.row
        answered = stored.state == "concluida" and stored.code is None
        self.outcomes[(row.outcome if answered else None) or STATES[stored.state]] += 1
        self.credits += stored.credits
        for each in row.compared if stored.state == "concluida" else ():
            self.comparisons[each.fact, each.result] += 1
        until = None if self._validity is None else row.cells[self._validity]
        if answered and isinstance(until, datetime.date):
            self.expiries.add(until, stored.line, stored.document or "", row.of.name)

    def rows(self) -> Iterator[Sequence[Value]]:
        """Yield the rows of the summary, once all rows were counted."""
        yield ("Lote", self.about.title)
        yield ("Consulta", self.about.operation)
        yield ("Gerado em", self.expiries.today)
        yield ("Linhas", self.outcomes.total())
        yield ("Créditos", self.credits)
        yield ()
        yield ("Resultados",)
        yield from ((f"  {text}", count) for text, count in self.outcomes.most_common())
        if expiries := list(self.expiries.rows()):
            yield ()
            yield ("Próximos vencimentos",)
            yield from expiries
        if self.comparisons:
            yield ()
            yield ("Diferenças em relação à sua lista",)
            for (fact, result), count in sorted(self.comparisons.items()):
                yield (f"  {FACT_LABELS[fact]}: {COMPARISONS[result].lower()}", count)
