"""An account's statement: a period, what was consumed in it, and whether the ledger agrees.

The API (`/conta/v1/consumo`), the web application and `balcao usage` tell the same from here. Days
are civil days in Brasília, credits are whole, and money is the ledger's: totals are kept beside it
so that they are the same (ADR 0050), and nothing is counted anywhere else.
"""

import calendar
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from balcao.core.access import Account
from balcao.core.calendar import day_starts_ms
from balcao.core.ledger import Origin
from balcao.storage.contract import ConsumptionRow, LedgerEntry
from balcao.storage.desk.desk import Desk
from balcao.storage.totals import (
    Dimension,
    PeriodBooks,
    Total,
    TotalsWanted,
    consumption_row,
)

DAYS_DEFAULT = 30
DAYS_MAX = 366

# What a line of a statement says, as CSV and JSON name it.
COLUMNS = (
    "dia", "operacao", "chave", "origem", "consultas", "creditos", "cliente", "referencia",
)  # fmt: skip
Line: TypeAlias = tuple[str, str, str | None, Origin, int, int, str | None, str | None]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_day(text: str) -> datetime.date:
    """A civil day from `YYYY-MM-DD`. Raises `ValueError`; centuries without a zone too."""
    if _DAY.fullmatch(text):
        day = datetime.date.fromisoformat(text)
        if 1970 < day.year < 9999:
            return day
    raise ValueError("no day of ours")


@dataclass(frozen=True, slots=True)
class Period:
    """Civil days in Brasília, both included."""

    first: datetime.date
    last: datetime.date

    @classmethod
    def of(
        cls, first: datetime.date | None, last: datetime.date | None, today: datetime.date
    ) -> "Period":
        """What was asked for; without a first day, the 30 days up to the last one."""
        last = last or today
        return cls(first or last - datetime.timedelta(DAYS_DEFAULT - 1), last)

    @property
    def problem(self) -> Literal["order", "length"] | None:
        """Why it cannot be told: it ends before it begins, or it is too long."""
        if self.first > self.last:
            return "order"
        return "length" if (self.last - self.first).days >= DAYS_MAX else None

    @property
    def from_ms(self) -> int:
        """Its first instant."""
        return day_starts_ms(self.first)

    @property
    def to_ms(self) -> int:
        """The first instant after it."""
        return day_starts_ms(self.last + datetime.timedelta(days=1))

    @property
    def month(self) -> str | None:
        """Which month it is (`YYYY-MM`), or the beginning of; None: it is no month."""
        same = (self.first.year, self.first.month) == (self.last.year, self.last.month)
        return f"{self.first:%Y-%m}" if self.first.day == 1 and same else None

    @property
    def before(self) -> "Period":
        """What it is compared with: of a month, as many days of the one before; else as many
        days as it has, right before it (contract 15.2).
        """
        eve = self.first - datetime.timedelta(days=1)
        if self.month is None:
            return Period(eve - (self.last - self.first), eve)
        whole = self.last == month_of(self.first).last
        last = eve if whole else eve.replace(day=min(self.last.day, eve.day))
        return Period(eve.replace(day=1), last)

    @property
    def days(self) -> Sequence[str]:
        """Every day of it, as `YYYY-MM-DD`."""
        count = (self.last - self.first).days + 1
        return [(self.first + datetime.timedelta(days)).isoformat() for days in range(count)]


def month_of(day: datetime.date) -> Period:
    """The whole calendar month that this day is in."""
    last = calendar.monthrange(day.year, day.month)[1]
    return Period(day.replace(day=1), day.replace(day=last))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which charges are wanted; None: all of them. Empty: those that have none."""

    operation: str | None = None
    key: int | Literal["web"] | None = None  # web: asked in the web application, through no key
    origin: Origin | None = None
    client: str | None = None
    user: int | None = None  # 0: nobody, asked through a key
    uf: str | None = None

    def of(self, rows: Sequence[ConsumptionRow]) -> Sequence[ConsumptionRow]:
        """Those of the rows that are wanted, in their order; rows know no user and no UF."""
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
    def wanted(self) -> TotalsWanted:
        """The same, as totals are asked."""
        key = 0 if self.key == "web" else self.key
        return TotalsWanted(self.operation, key, self.user, self.uf, self.client, self.origin)

    @property
    def is_all(self) -> bool:
        """Nothing is left out."""
        return self == Choice()

    @property
    def needs_details(self) -> bool:
        """Whether it asks for what is kept for some months only (contract 15.3)."""
        return self.user is not None or self.uf is not None


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a period adds up (contract 15.4). Charges are the daily totals' and what is younger
    than those, top-ups are the ledger's entries; the balance is moved by each entry as it is
    written. Credits; of a post-paid account below zero: what it owes.
    """

    opening_credits: int  # everything that moved before the period
    added_credits: int  # by operators, in the period; below zero: taken back
    charged_credits: int  # in the period, as a positive number
    later_credits: int  # everything that moved after it
    balance_credits: int  # of the account, now

    @classmethod
    def of(cls, books: PeriodBooks) -> "Proof":
        """Of the books around a period."""
        return cls(
            books.added_before - books.charged_before,
            sum(entry.credits for entry in books.top_ups),
            books.charged,
            books.added_after - books.charged_after,
            books.balance_credits,
        )

    @property
    def closing_credits(self) -> int:
        """At the end of the period."""
        return self.opening_credits + self.added_credits - self.charged_credits

    @property
    def agrees(self) -> bool:
        """All that ever moved is the balance."""
        return self.closing_credits + self.later_credits == self.balance_credits


@dataclass(frozen=True, slots=True)
class Grouped:
    """What was charged of one kind, and in the period before."""

    total: Total
    credits_before: int


@dataclass(frozen=True, slots=True)
class Statement:
    """What was consumed in a period, of what was chosen; all as of one moment."""

    account: Account
    period: Period
    chosen: Choice
    books: PeriodBooks  # of all, whatever was chosen
    days: Sequence[Total]  # by day and origin
    days_before: Sequence[Total]  # the same of the period before
    groups: Sequence[Grouped]  # by what was asked; those of most credits first

    @property
    def proof(self) -> Proof:
        """Whether it adds up."""
        return Proof.of(self.books)

    @property
    def requests(self) -> int:
        """How many were charged."""
        return sum(total.requests for total in self.days)

    @property
    def credits(self) -> int:
        """How many they cost."""
        return sum(total.credits for total in self.days)

    @property
    def requests_before(self) -> int:
        """How many were charged in the period before."""
        return sum(total.requests for total in self.days_before)

    @property
    def credits_before(self) -> int:
        """How many those cost."""
        return sum(total.credits for total in self.days_before)

    @property
    def top_ups(self) -> Sequence[LedgerEntry]:
        """What operators gave and took in the period, oldest first."""
        return self.books.top_ups


def read_now(
    desk: Desk,
    account: Account,
    period: Period,
    chosen: Choice | None = None,
    by: Sequence[Dimension] = (),
) -> Statement:
    """An account's period, grouped by these dimensions. In whatever thread."""
    number, chosen, before = account.account_id, chosen or Choice(), period.before
    wanted = chosen.wanted
    with desk.totals.moment() as moment:
        books = moment.books(number, period.first, period.last)
        days, days_before = (
            moment.read(number, each.first, each.last, ("day", "origin"), wanted)
            for each in (period, before)
        )
        groups = moment.read(number, period.first, period.last, by, wanted) if by else ()
        # Of a day there is no same one before.
        comparable = () if not by or "day" in by else by
        earlier = (
            moment.read(number, before.first, before.last, comparable, wanted) if comparable else ()
        )
    spent = {_what(total, comparable): total.credits for total in earlier}
    grouped = [Grouped(total, spent.pop(_what(total, comparable), 0)) for total in groups]
    grouped.sort(key=lambda each: -each.total.credits)
    return Statement(account, period, chosen, books, days, days_before, grouped)


def _what(total: Total, by: Sequence[Dimension]) -> Sequence[object]:
    return tuple(getattr(total, name) for name in by)


def rows_of(
    desk: Desk, account_id: int, period: Period, chosen: Choice
) -> Sequence[ConsumptionRow]:
    """The statement's lines: by day, operation, key, origin and client, so ordered."""
    by: Sequence[Dimension] = ("day", "operation", "key", "origin", "client")
    found = desk.totals.read(account_id, period.first, period.last, by, chosen.wanted)
    return [consumption_row(total) for total in found]


def line_of(row: ConsumptionRow, names: Mapping[int | None, str]) -> Line:
    """A row as `COLUMNS` name it; `names` are those of keys, by number."""
    key = names.get(row.key_id)
    counted = (row.requests, row.credits)
    return (row.day, row.operation, key, row.origin, *counted, row.client, row.reference)
