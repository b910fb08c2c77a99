"""An account's statement: a period, its consumption, and whether the ledger agrees.

The source of the API (`/conta/v1/consumo`), the web application and `balcao usage`. Days are civil
days in Brasília, credits are whole. Amounts come from the ledger's daily totals (ADR 0050), never
from a separate count.
"""

import calendar
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from balcao.core.access import Account
from balcao.core.calendar import day_starts_ms
from balcao.core.ledger import Origin
from balcao.storage.contract import ConsumptionRow, LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.totals import TotalsSnapshot
from balcao.storage.totals import (
    Dimension,
    PeriodBooks,
    Total,
    TotalsFilter,
)

DAYS_DEFAULT = 30
DAYS_MAX = 366

# Columns of a statement's line in CSV and JSON.
COLUMNS = (
    "dia", "operacao", "chave", "origem", "consultas", "creditos", "cliente", "referencia",
)  # fmt: skip
Line: TypeAlias = tuple[str, str, str | None, Origin, int, int, str | None, str | None]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_day(text: str) -> datetime.date:
    """Parse a civil day `YYYY-MM-DD`. Raises `ValueError`, also outside of the supported years."""
    if _DAY.fullmatch(text):
        day = datetime.date.fromisoformat(text)
        if 1970 < day.year < 9999:
            return day
    raise ValueError("not a supported day")


@dataclass(frozen=True, slots=True)
class Period:
    """A period of civil days in Brasília, both ends included."""

    first: datetime.date
    last: datetime.date

    @classmethod
    def of(
        cls, first: datetime.date | None, last: datetime.date | None, today: datetime.date
    ) -> "Period":
        """Return the requested period; without a first day, the 30 days up to the last one."""
        last = last or today
        return cls(first or last - datetime.timedelta(DAYS_DEFAULT - 1), last)

    @property
    def problem(self) -> Literal["order", "length"] | None:
        """Why there can be no statement: it ends before it begins, or it is too long."""
        if self.first > self.last:
            return "order"
        return "length" if (self.last - self.first).days >= DAYS_MAX else None

    @property
    def from_ms(self) -> int:
        return day_starts_ms(self.first)

    @property
    def to_ms(self) -> int:
        """The first instant after it."""
        return day_starts_ms(self.last + datetime.timedelta(days=1))

    @property
    def month(self) -> str | None:
        """The month (`YYYY-MM`) if the period starts on its first day and ends in it, or None."""
        same = (self.first.year, self.first.month) == (self.last.year, self.last.month)
        return f"{self.first:%Y-%m}" if self.first.day == 1 and same else None

    @property
    def before(self) -> "Period":
        """The period for comparison (contract 15.2).

        For a month the same number of days of the month before; otherwise an equally long period
        right before it.
        """
        eve = self.first - datetime.timedelta(days=1)
        if self.month is None:
            return Period(eve - (self.last - self.first), eve)
        whole = self.last == month_of(self.first).last
        last = eve if whole else eve.replace(day=min(self.last.day, eve.day))
        return Period(eve.replace(day=1), last)

    @property
    def days(self) -> Sequence[datetime.date]:
        """Every day of it."""
        count = (self.last - self.first).days + 1
        return [self.first + datetime.timedelta(days) for days in range(count)]


def month_of(day: datetime.date) -> Period:
    """Return the calendar month of a day."""
    last = calendar.monthrange(day.year, day.month)[1]
    return Period(day.replace(day=1), day.replace(day=last))


@dataclass(frozen=True, slots=True)
class ChargeFilter:
    """A filter of charges. None: all. Empty: charges without that attribute."""

    operation: str | None = None
    key: int | Literal["web"] | None = None  # web: from the web application, without a key
    origin: Origin | None = None
    client: str | None = None
    user: int | None = None  # 0: no user, through a key
    uf: str | None = None

    def of(self, rows: Sequence[ConsumptionRow]) -> Sequence[ConsumptionRow]:
        """Return the rows that match, in their order. User and UF are ignored: rows have none."""
        key_id = None if self.key == "web" else self.key
        return [
            row
            for row in rows
            if self.operation in (None, row.operation)
            and (self.key is None or row.key_id == key_id)
            and self.origin in (None, row.origin)
            and self.client in (None, row.client or "")
        ]

    @property
    def wanted(self) -> TotalsFilter:
        """The filter of totals."""
        key = 0 if self.key == "web" else self.key
        return TotalsFilter(self.operation, key, self.user, self.uf, self.client, self.origin)

    @property
    def is_all(self) -> bool:
        return self == ChargeFilter()

    @property
    def needs_details(self) -> bool:
        """Whether it needs data that are kept for some months only (contract 15.3)."""
        return self.user is not None or self.uf is not None


@dataclass(frozen=True, slots=True)
class Proof:
    """The check that a period adds up (contract 15.4).

    Charges come from the daily totals and newer entries, top-ups from the ledger's entries; the
    balance is updated by each entry as it is written. All in credits; a post-paid account's debt is
    negative.
    """

    opening_credits: int  # everything that moved before the period
    added_credits: int  # by operators, in the period; below zero: taken back
    charged_credits: int  # in the period, as a positive number
    later_credits: int  # everything that moved after it
    balance_credits: int  # of the account, now

    @classmethod
    def of(cls, books: PeriodBooks) -> "Proof":
        """Compute the proof from an account's books around a period."""
        return cls(
            books.added_before - books.charged_before,
            sum(entry.credits for entry in books.top_ups),
            books.charged,
            books.added_after - books.charged_after,
            books.balance_credits,
        )

    @property
    def closing_credits(self) -> int:
        return self.opening_credits + self.added_credits - self.charged_credits

    @property
    def agrees(self) -> bool:
        """Whether all movements sum up to the balance."""
        return self.closing_credits + self.later_credits == self.balance_credits


@dataclass(frozen=True, slots=True)
class Grouped:
    """Charges of one group, and its credits in the period before."""

    total: Total
    credits_before: int


@dataclass(frozen=True, slots=True)
class Statement:
    """Filtered consumption in a period; all as of one moment."""

    account: Account
    period: Period
    chosen: ChargeFilter
    books: PeriodBooks  # of all charges, unfiltered
    days: Sequence[Total]  # by day and origin
    days_before: Sequence[Total]  # of the period before
    groups: Sequence[Grouped]  # by the requested dimensions; most credits first

    @property
    def proof(self) -> Proof:
        return Proof.of(self.books)

    @property
    def requests(self) -> int:
        return sum(total.requests for total in self.days)

    @property
    def credits(self) -> int:
        return sum(total.credits for total in self.days)

    @property
    def requests_before(self) -> int:
        return sum(total.requests for total in self.days_before)

    @property
    def credits_before(self) -> int:
        return sum(total.credits for total in self.days_before)

    @property
    def top_ups(self) -> Sequence[LedgerEntry]:
        """Credits added and removed by operators in the period, oldest first."""
        return self.books.top_ups


def read_statement(
    desk: Desk,
    account: Account,
    period: Period,
    chosen: ChargeFilter | None = None,
    by: Sequence[Dimension] = (),
) -> Statement:
    """Read an account's statement, grouped by these dimensions. Callable from any thread."""
    number, chosen, before = account.account_id, chosen or ChargeFilter(), period.before
    wanted = chosen.wanted
    with desk.totals.snapshot() as moment:
        books = moment.books(number, period.first, period.last)
        days, days_before = (
            moment.read(number, each.first, each.last, ("day", "origin"), wanted)
            for each in (period, before)
        )
        groups = moment.read(number, period.first, period.last, by, wanted) if by else ()
        # A day has no counterpart in the period before.
        comparable = () if not by or "day" in by else by
        earlier = (
            moment.read(number, before.first, before.last, comparable, wanted) if comparable else ()
        )
    spent = {_group_key(total, comparable): total.credits for total in earlier}
    grouped = [Grouped(total, spent.pop(_group_key(total, comparable), 0)) for total in groups]
    grouped.sort(key=lambda each: -each.total.credits)
    return Statement(account, period, chosen, books, days, days_before, grouped)


def _group_key(total: Total, by: Sequence[Dimension]) -> Sequence[object]:
    return tuple(getattr(total, name) for name in by)


def rows_of(
    moment: TotalsSnapshot, account_id: int, period: Period, chosen: ChargeFilter
) -> Iterator[ConsumptionRow]:
    """Yield the statement's lines, ordered by day, operation, key, origin and client.

    They are read a day at a time.
    """
    by: Sequence[Dimension] = ("operation", "key", "origin", "client")
    for day in period.days:
        text = day.isoformat()
        for total in moment.read(account_id, day, day, by, chosen.wanted):
            assert total.operation is not None
            assert total.origin is not None
            yield ConsumptionRow(
                text, total.operation, total.key or None, total.origin,
                total.requests, total.credits, total.client or None,
            )  # fmt: skip


def line_of(row: ConsumptionRow, names: Mapping[int | None, str]) -> Line:
    """Return a row as `COLUMNS`; `names` has the names of keys, by number."""
    key = names.get(row.key_id)
    counted = (row.requests, row.credits)
    return (row.day, row.operation, key, row.origin, *counted, row.client, row.reference)
