"""The history as CSV and as a spreadsheet, of any length."""

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import IO

from balcao.accounts.statement import Period
from balcao.batches.tables.contract import HISTORY_SHEET, SUMMARY_SHEET
from balcao.core.calendar import civil_day, day_starts_ms, from_ms
from balcao.core.csv_table import Cell, write_csv
from balcao.core.ledger import Trace
from balcao.core.next_expiries import NextExpiries
from balcao.core.writing import day, document
from balcao.operations import tariff
from balcao.storage import spreadsheet
from balcao.storage.desk.desk import Desk
from balcao.storage.people import TraceFilter
from balcao.storage.spreadsheet import Sheet, Value
from balcao.web.kit.words import vocabulary
from balcao.web.pages.history.requests import RequestRow
from balcao.web.pages.history.validity import holder_of

_READ_AT_ONCE = 200

# Each page of charged requests sorts the ledger's entries of the day: large pages.
_CHARGED_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class HistoryColumn:
    """A column of the files: name in CSV, title in the spreadsheet, and its cell."""

    name: str
    title: str
    width: int  # in characters
    of: Callable[[RequestRow], Value]


COLUMNS: Sequence[HistoryColumn] = (
    HistoryColumn("quando", "Quando", 19, lambda row: from_ms(row.trace.opened_ms)),
    HistoryColumn("request_id", "Número da consulta", 38, lambda row: row.trace.request_id),
    HistoryColumn("operacao", "O que", 22, lambda row: row.trace.operation),
    HistoryColumn("documento", "Documento", 20, lambda row: row.trace.document),
    HistoryColumn("uf", "UF", 5, lambda row: row.trace.uf),
    HistoryColumn("status", "Status", 8, lambda row: row.trace.status),
    HistoryColumn("codigo", "Código", 24, lambda row: row.trace.code),
    HistoryColumn("resultado", "Resultado", 26, lambda row: row.outcome.text),
    HistoryColumn("origem", "Origem", 20, lambda row: row.trace.origin),
    HistoryColumn("fonte", "Fonte", 24, lambda row: row.trace.source),
    HistoryColumn(
        "fonte_consultada_em",
        "Fonte consultada em",
        19,
        lambda row: row.trace.asked_ms and from_ms(row.trace.asked_ms),
    ),
    HistoryColumn("creditos", "Créditos", 10, lambda row: row.trace.credits),
    HistoryColumn("regra", "Regra", 40, lambda row: tariff.sentence(row.trace.rule)),
    HistoryColumn("regra_codigo", "Código da regra", 28, lambda row: row.trace.rule),
    HistoryColumn("quem", "Quem", 24, lambda row: row.who),
    HistoryColumn("cliente", "Cliente", 24, lambda row: row.trace.client),
    HistoryColumn("referencia", "Referência", 24, lambda row: row.trace.reference),
    HistoryColumn("nome", "Empresa", 40, lambda row: row.name),
    HistoryColumn("valida_ate", "Vale até", 12, lambda row: row.validity),
)

# Cells that the spreadsheet has in words.
_IN_WORDS: Mapping[str, Callable[[RequestRow], Value]] = {
    "operacao": lambda row: row.operation,
    "documento": lambda row: document(row.trace.document),
    "origem": lambda row: row.origin,
    "regra": lambda row: vocabulary.price_of(row.trace.rule),
    "fonte": lambda row: row.trace.source and vocabulary.source_names(row.trace.source),
    "valida_ate": lambda row: row.validity and day(row.validity),
}

_CREDITS = [column.name for column in COLUMNS].index("creditos")

# A sheet of Excel has 1,048,576 rows.
SHEET_ROWS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class FileContext:
    """The contents of a file, for its summary. `period`: None for certificates by validity."""

    today: datetime.date
    period: Period | None


def write_table(rows: Iterator[RequestRow], about: FileContext, file: IO[bytes]) -> None:
    """Write CSV, with the names and values that programs use."""
    write_csv(file, [column.name for column in COLUMNS], map(_as_text, rows))


def write_workbook(rows: Iterator[RequestRow], about: FileContext, file: IO[bytes]) -> None:
    """Write a spreadsheet: a summary, then a million rows to a sheet, the total below the last."""
    tally = _Tally(about)
    columns = [_IN_WORDS.get(column.name, column.of) for column in COLUMNS]

    def cells_of(sheet_rows: Iterator[RequestRow]) -> Iterator[Sequence[Value]]:
        for row in sheet_rows:
            tally.add(row)
            total[_CREDITS] = tally.credits  # complete, and written, after the last row
            yield [of(row) for of in columns]

    widths = [column.width for column in COLUMNS]
    titles = [column.title for column in COLUMNS]
    total: list[Value] = ["Total", *[None] * (_CREDITS - 1), 0]

    def sheets() -> Iterator[Sheet]:
        number, first = 1, next(rows, None)
        while first is not None or number == 1:
            sheet_rows = islice(rows, SHEET_ROWS_MAX - 1)
            name = HISTORY_SHEET if number == 1 else f"{HISTORY_SHEET} {number}"
            begun = () if first is None else (first,)
            yield Sheet(name, widths, cells_of(chain(begun, sheet_rows)), titles, total)
            number, first = number + 1, next(rows, None)

    summary = Sheet(SUMMARY_SHEET, (44, 40, 20), tally.rows())
    spreadsheet.write_xlsx(file, sheets(), summary=summary)


@dataclass
class _Tally:
    """Sums of the rows that were written."""

    about: FileContext
    credits: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    # Hashes of the certificates seen: rows come newest first, and older ones were renewed.
    _seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.expiries = NextExpiries(self.about.today)

    def add(self, row: RequestRow) -> None:
        """Count a row."""
        trace = row.trace
        self.credits += trace.credits
        self.operations[row.operation] += 1
        self.outcomes[row.outcome.text] += 1
        if row.validity and trace.of_company:
            certificate = hash((holder_of(trace), trace.operation, trace.uf))
            if certificate not in self._seen:
                self._seen.add(certificate)
                until = datetime.date.fromisoformat(row.validity[:10])
                self.expiries.add(until, len(self._seen), trace.document, row.name)

    def rows(self) -> Iterator[Sequence[Value]]:
        """Yield the rows of the summary, once all rows were counted."""
        period = self.about.period
        yield ("Gerado em", self.about.today)
        if period is not None:
            yield ("De", period.first)
            yield ("Até", period.last)
        yield ("Consultas", self.operations.total())
        yield ("Créditos", self.credits)
        for title, counted in (("Por consulta", self.operations), ("Resultados", self.outcomes)):
            yield ()
            yield (title,)
            yield from ((f"  {text}", count) for text, count in counted.most_common())
        if expiries := list(self.expiries.rows()):
            yield ()
            yield ("Próximos vencimentos",)
            yield from expiries


WRITERS: Mapping[str, Callable[[Iterator[RequestRow], FileContext, IO[bytes]], None]] = {
    "csv": write_table,
    "xlsx": write_workbook,
}


def all_of(desk: Desk, account_id: int, wanted: TraceFilter) -> Iterator[Trace]:
    """Yield an account's requests page by page, in the calling thread.

    Charged requests are read by the day of the charge, as in the statement: each page of them reads
    all that the ledger has of the period.
    """
    for each in _days_of(wanted) if wanted.charged else (wanted,):
        before: str | None = None
        limit = _CHARGED_AT_ONCE if wanted.charged else _READ_AT_ONCE
        while page := desk.people.traces(account_id, each, limit, before):
            yield from page
            before = page[-1].request_id


def _days_of(wanted: TraceFilter) -> Iterator[TraceFilter]:
    """Yield the filter for each civil day, the last one first."""
    to_ms = wanted.to_ms
    while to_ms > wanted.from_ms:
        begins_ms = max(wanted.from_ms, day_starts_ms(civil_day(to_ms - 1)))
        yield replace(wanted, from_ms=begins_ms, to_ms=to_ms)
        to_ms = begins_ms


def _as_text(row: RequestRow) -> Sequence[Cell]:
    return [_cell(column.of(row)) for column in COLUMNS]


def _cell(value: Value) -> Cell:
    """Format instants with their offset, as the API does."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds")
    return value.isoformat() if isinstance(value, datetime.date) else value
