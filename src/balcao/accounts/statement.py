"""An account's statement: a period, what was consumed in it, and whether the ledger agrees.

The API (`/conta/v1/consumo`), the web application and `balcao usage` tell the same from here. Days
are civil days in Brasília, credits are whole, and money is the ledger's: nothing is counted
anywhere else.
"""

import asyncio
import csv
import datetime
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Literal, TypeAlias

from balcao.core.access import Account
from balcao.core.calendar import day_starts_ms
from balcao.core.ledger import Origin
from balcao.storage.contract import ConsumptionRow
from balcao.storage.desk.desk import Desk

DAYS_DEFAULT = 30
DAYS_MAX = 366

# What a line of a statement says, as CSV and JSON name it.
COLUMNS = (
    "dia", "operacao", "chave", "origem", "consultas", "creditos", "cliente", "referencia",
)  # fmt: skip
Line: TypeAlias = tuple[str, str, str | None, Origin, int, int, str | None, str | None]
Cell: TypeAlias = str | int | None

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_BEGINNING_MS, _END_MS = 0, 1 << 62

# An account that is used while it is read is read again.
_READINGS = 3


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
    def days(self) -> Sequence[str]:
        """Every day of it, as `YYYY-MM-DD`."""
        count = (self.last - self.first).days + 1
        return [(self.first + datetime.timedelta(days)).isoformat() for days in range(count)]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which lines are wanted; None: all of them."""

    operation: str | None = None
    key: int | Literal["web"] | None = None  # web: asked in the web application, through no key
    origin: Origin | None = None
    client: str | None = None

    def of(self, rows: Sequence[ConsumptionRow]) -> Sequence[ConsumptionRow]:
        """Those of the rows that are wanted, in their order."""
        key_id = None if self.key == "web" else self.key
        return [
            row
            for row in rows
            if self.operation in (None, row.operation)
            and (self.key is None or row.key_id == key_id)
            and self.origin in (None, row.origin)
            and self.client in (None, row.client)
        ]

    @property
    def is_all(self) -> bool:
        """Nothing is left out."""
        return self == Choice()


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a period adds up. All of it from the ledger's entries and visits, but for the
    balance, which the desk keeps beside them, and the lines' sum. Credits; of a post-paid account
    below zero: what it owes."""

    opening_credits: int  # everything that moved before the period
    added_credits: int  # by operators, in the period; below zero: taken back
    charged_credits: int  # in the period, as a positive number
    later_credits: int  # everything that moved after it
    balance_credits: int  # of the account, now
    listed_credits: int  # what the statement's lines add up to, without any filter

    @property
    def closing_credits(self) -> int:
        """At the end of the period."""
        return self.opening_credits + self.added_credits - self.charged_credits

    @property
    def agrees(self) -> bool:
        """The lines are the ledger's charges, and the ledger's entries are the balance."""
        same_charges = self.listed_credits == self.charged_credits
        return same_charges and self.closing_credits + self.later_credits == self.balance_credits


@dataclass(frozen=True, slots=True)
class Statement:
    """What was consumed in a period. `settled` is False when the account was in use at every
    reading, so that a proof that does not agree proves nothing."""

    account: Account
    period: Period
    rows: Sequence[ConsumptionRow]
    proof: Proof
    settled: bool

    @property
    def requests(self) -> int:
        """How many were charged."""
        return sum(row.requests for row in self.rows)

    @property
    def rows_of_all_keys(self) -> Sequence[ConsumptionRow]:
        """By day, operation, origin and client alone, in that order."""
        sums: dict[tuple[str, str, Origin, str], list[int]] = {}
        for row in self.rows:
            what = (row.day, row.operation, row.origin, row.client or "")
            both = sums.setdefault(what, [0, 0])
            both[0] += row.requests
            both[1] += row.credits
        return [
            ConsumptionRow(day, operation, None, origin, requests, credits, client or None)
            for (day, operation, origin, client), (requests, credits) in sorted(sums.items())
        ]


async def read(desk: Desk, account_id: int, period: Period) -> Statement:
    """Read an account's period, with its proof. A second for a million entries, in a thread."""
    readings = 0
    while True:
        before = desk.account(account_id)
        statement = await asyncio.to_thread(read_now, desk, before, period)
        readings += 1
        if statement.proof.agrees:
            return statement
        if desk.account(account_id).balance_credits == before.balance_credits:
            return statement
        if readings == _READINGS:
            return replace(statement, settled=False)


def read_now(desk: Desk, account: Account, period: Period) -> Statement:
    """The same in this thread, as far as the account is known; of one that is in use, once."""
    people, number = desk.people, account.account_id
    rows = desk.consumption(number, period.from_ms, period.to_ms)
    earlier = people.moved_credits(number, _BEGINNING_MS, period.from_ms)
    moved = people.moved_credits(number, period.from_ms, period.to_ms)
    later = people.moved_credits(number, period.to_ms, _END_MS)
    added = moved.get("top_up", 0)
    proof = Proof(
        opening_credits=sum(earlier.values()),
        added_credits=added,
        charged_credits=added - sum(moved.values()),
        later_credits=sum(later.values()),
        balance_credits=account.balance_credits,
        listed_credits=sum(row.credits for row in rows),
    )
    return Statement(account, period, rows, proof, settled=True)


def line_of(row: ConsumptionRow, names: Mapping[int | None, str]) -> Line:
    """A row as `COLUMNS` name it; `names` are those of keys, by number."""
    key = names.get(row.key_id)
    counted = (row.requests, row.credits)
    return (row.day, row.operation, key, row.origin, *counted, row.client, row.reference)


def as_csv(columns: Sequence[str], lines: Iterable[Sequence[Cell]]) -> bytes:
    """See `write_csv`."""
    content = io.BytesIO()
    write_csv(content, columns, lines)
    return content.getvalue()


def write_csv(file: IO[bytes], columns: Sequence[str], lines: Iterable[Sequence[Cell]]) -> None:
    """With semicolons and a byte order mark, as spreadsheets in Brazil open it."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_harmless(value) for value in line] for line in lines)
    text.detach()


def _harmless(value: Cell) -> Cell:
    """A key's name that begins like a formula must not become one."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value
