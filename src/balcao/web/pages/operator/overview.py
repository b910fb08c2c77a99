"""`/app/operador`: the operators' overview."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.calendar import civil_day, civil_month
from balcao.core.ledger import available_credits
from balcao.core.notices import Tone
from balcao.core.writing import counted, day, listed
from balcao.observability.health import standing
from balcao.storage.desk.desk import Desk
from balcao.storage.totals import Total
from balcao.web.kit.cached import Cached
from balcao.web.kit.context import PageContext
from balcao.web.kit.drawing import Bar, bars_by_day, bars_of
from balcao.web.kit.month_age import MonthAge, in_use
from balcao.web.kit.standings import SUBJECTS, WORDS
from balcao.web.kit.tools import Tools
from balcao.web.kit.words.vocabulary import SOURCES
from balcao.web.pages.operator import audit, first_steps

DAYS, WEEK = 30, 7
# Summing takes milliseconds per account. The page shows how many were left out; the sums are
# cached for this long.
ADDING_SECONDS_MAX = 3.0
ADDED_EVERY_MS = 15_000

TROUBLED_MAX, LOW_MAX, ACTIONS_SHOWN = 10, 10, 8


@dataclass(frozen=True, slots=True)
class Spending:
    """The credits that all accounts spent."""

    bars: Sequence[Bar]
    week: Mapping[int, int]  # by account; only those that spent something
    added: int  # accounts
    left_out: int  # because time was up

    @property
    def today(self) -> int:
        return self.bars[-1].cache + self.bars[-1].online

    @property
    def whole(self) -> int:
        """Credits spent in the 30 days."""
        return sum(bar.cache + bar.online for bar in self.bars)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that needs an operator, and the page where it is settled."""

    tone: Tone
    text: str
    action: str
    href: str


@dataclass(frozen=True, slots=True)
class LowAccount:
    """An account that has less than it spends in a week."""

    account: Account
    available: int
    week: int


async def show(context: PageContext) -> Response:
    """Show the overview."""
    tools = context.tools
    now = tools.now_ms()
    accounts = tools.desk.accounts()
    spending = await SPENDING.of(tools)
    lines = tools.health.lines("live", now, tools.circuits())
    calls = sum(line.calls for line in lines)
    troubled = [line for line in lines if standing(line) in ("down", "degraded")]
    month = in_use(tools.store("live"), civil_day(now))
    return context.page(
        "operador/painel.html",
        pending=list(faults(tools, month)),
        steps=await first_steps.open_steps(context),
        accounts=len(accounts),
        suspended=sum(account.suspended_ms is not None for account in accounts),
        spending=spending,
        chart=bars_by_day(spending.bars, wide=True),
        days=DAYS,
        calls=calls,
        failures=calls - sum(line.successes for line in lines),
        troubled=[
            (
                line,
                SOURCES.get(line.source, line.source),
                SUBJECTS.get(line.subject, line.subject),
                WORDS[standing(line)],
            )
            for line in troubled[:TROUBLED_MAX]
        ],
        troubled_more=max(0, len(troubled) - TROUBLED_MAX),
        month=month,
        test_month=in_use(tools.store("test"), civil_day(now)),
        low=_low(accounts, spending.week, now)[:LOW_MAX],
        entries=audit.in_words(tools.desk.people.audit(ACTIONS_SHOWN)),
    )


def faults(tools: Tools, month: MonthAge | None) -> Iterator[Fault]:
    """Yield the failures of the last examination, and a month that a newer one could replace."""
    examined = tools.examinations.last
    failed = [] if examined is None else [one for one in examined.findings if one.status == "fail"]
    if failed:
        names = listed([one.name for one in failed])
        count = counted(len(failed), "verificação falhou", "verificações falharam")
        yield Fault("bad", f"{count}: {names}", "Ver Saúde", "/app/operador/sistema")
    if month is not None and month.behind:
        text = f"Há um mês mais novo dos dados abertos que o de {day(month.extraction)}, em uso"
        yield Fault("warn", text, "Atualizar", "/app/operador/dados-abertos")


def _low(accounts: Sequence[Account], week: Mapping[int, int], now_ms: int) -> Sequence[LowAccount]:
    """Return the accounts that will soon run out of credits, the next one first."""
    month = civil_month(now_ms)
    found = []
    for account in accounts:
        available = available_credits(account, month)
        spent = week.get(account.account_id, 0)
        if available is not None and available < spent and account.suspended_ms is None:
            found.append(LowAccount(account, available, spent))
    return sorted(found, key=lambda low: low.available / low.week)


async def _spending(tools: Tools) -> Spending:
    accounts = tools.desk.accounts()
    return await asyncio.to_thread(_add_up, tools.desk, accounts, tools.now_ms())


def _add_up(desk: Desk, accounts: Sequence[Account], now_ms: int) -> Spending:
    """Sum up account by account, those that spend most first, within a time limit."""
    today = civil_day(now_ms)
    first = today - timedelta(days=DAYS - 1)
    week_begins = (today - timedelta(days=WEEK - 1)).isoformat()
    # An account has no entry after its last month.
    active = [account for account in accounts if account.month >= f"{first:%Y-%m}"]
    active.sort(key=lambda account: -account.month_credits)
    ends = time.monotonic() + ADDING_SECONDS_MAX
    rows: list[Total] = []
    week: dict[int, int] = {}
    added = 0
    for account in active:
        if time.monotonic() > ends:
            break
        own = desk.totals.read(account.account_id, first, today, ("day", "origin"))
        rows += own
        added += 1
        if spent := sum(row.credits for row in own if str(row.day) >= week_begins):
            week[account.account_id] = spent
    return Spending(bars_of(rows, first, DAYS), week, added, len(active) - added)


SPENDING: Cached[Spending] = Cached(_spending, ADDED_EVERY_MS)
