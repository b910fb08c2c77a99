"""`/app/extrato/2026-10`: the unchanging sheet of a month that is over."""

import asyncio
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from starlette.responses import Response

from balcao.accounts.statement import Period, Proof, month_of
from balcao.core.access import Account
from balcao.core.calendar import from_ms
from balcao.core.writing import NOTHING
from balcao.storage import spreadsheet
from balcao.storage.contract import LedgerEntry
from balcao.storage.desk.totals import TotalsSnapshot
from balcao.storage.spreadsheet import Sheet
from balcao.storage.totals import Dimension, Fingerprint, PeriodBooks, Total
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import XLSX
from balcao.web.kit.words import vocabulary
from balcao.web.pages.statement.query import month_name
from balcao.web.pages.statement.top_ups import top_ups_with_authors

_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
# Lines that fit on a sheet of A4; the rest is one line. The spreadsheet has all.
OPERATIONS_SHOWN, CLIENTS_SHOWN, RULES_SHOWN, GIVEN_SHOWN = 9, 9, 14, 6


@dataclass(frozen=True, slots=True)
class SheetSum:
    """One line of a table."""

    label: str
    requests: int
    credits: int


@dataclass(frozen=True, slots=True)
class _ClosedMonth:
    """A month that is over."""

    account: Account
    month: str
    period: Period
    books: PeriodBooks
    operations: Sequence[SheetSum]
    clients: Sequence[SheetSum]
    rules: Sequence[SheetSum]
    fingerprint: Fingerprint

    @property
    def proof(self) -> Proof:
        return Proof.of(self.books)


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the sheet. A month that is not over redirects to the statement."""
    closed = await _month_of(context, account, base)
    if isinstance(closed, Response):
        return closed
    given = top_ups_with_authors(context, account, closed.books.top_ups)
    return context.page(
        "operador/demonstrativo.html" if context.person.is_operator else "demonstrativo.html",
        account=account,
        base=base,
        month=closed.month,
        name=month_name(closed.month),
        period=closed.period,
        proof=closed.proof,
        books=closed.books,
        operations=_first(closed.operations, OPERATIONS_SHOWN, "operações"),
        clients=_first(closed.clients, CLIENTS_SHOWN, "clientes"),
        rules=_first(closed.rules, RULES_SHOWN, "regras"),
        given=given[:GIVEN_SHOWN],
        given_more=len(given) - GIVEN_SHOWN,
        fingerprint=closed.fingerprint,
        statement=filters.address(
            base, {"de": closed.period.first.isoformat(), "ate": closed.period.last.isoformat()}
        ),
        xlsx=f"{base}/{closed.month}/planilha.xlsx",
    )


async def as_workbook(context: PageContext, account: Account, base: str) -> Response:
    """Download the month as a spreadsheet, with every line."""
    closed = await _month_of(context, account, base)
    if isinstance(closed, Response):
        return closed
    given = top_ups_with_authors(context, account, closed.books.top_ups)
    write = partial(_write, closed, given)
    return await context.export(write, XLSX, f"demonstrativo-{closed.month}", account)


async def _month_of(context: PageContext, account: Account, base: str) -> _ClosedMonth | Response:
    period = _month_in(context)
    if period.last >= filters.today_of(context):
        return context.redirect(base, de=period.first.isoformat(), ate=period.last.isoformat())
    return await _read(context, account, period)


def _month_in(context: PageContext) -> Period:
    match = _MONTH.fullmatch(context.request.path_params["month"])
    if match and 1970 < int(match[1]) < 9999 and 1 <= int(match[2]) <= 12:
        return month_of(datetime.date(int(match[1]), int(match[2]), 1))
    raise context.not_found("Mês não encontrado", "Informe o mês como 2026-10.")


async def _read(context: PageContext, account: Account, period: Period) -> _ClosedMonth:
    totals, number, month = context.desk.totals, account.account_id, f"{period.first:%Y-%m}"

    def read() -> tuple[PeriodBooks, list[Sequence[Total]]]:
        with totals.snapshot() as moment:
            books = moment.books(number, period.first, period.last)
            return books, [_by(moment, number, period, by) for by in _TABLES]

    books, (operations, clients, rules) = await asyncio.to_thread(read)
    fingerprint = await asyncio.to_thread(totals.sealed, number, month)
    # An entry that came late, because of a wrong clock, changes the fingerprint.
    if fingerprint is None or fingerprint.entries != books.entries:
        fingerprint = await asyncio.to_thread(totals.fingerprint, number, period.first, period.last)
        await totals.seal(number, month, fingerprint)
    return _ClosedMonth(
        account,
        month,
        period,
        books,
        [_sum(vocabulary.short(each.operation or ""), each) for each in operations],
        [_sum(each.client or vocabulary.NO_CLIENT, each) for each in clients],
        [_sum(vocabulary.price_of(each.rule) or NOTHING, each) for each in rules],
        fingerprint,
    )  # fmt: skip


_TABLES: Sequence[Sequence[Dimension]] = (("operation",), ("client",), ("rule",))


def _by(
    moment: TotalsSnapshot, account_id: int, period: Period, by: Sequence[Dimension]
) -> Sequence[Total]:
    found = moment.read(account_id, period.first, period.last, by)
    return sorted(found, key=lambda total: -total.credits)


def _sum(label: str, total: Total) -> SheetSum:
    return SheetSum(label, total.requests, total.credits)


def _first(sums: Sequence[SheetSum], shown: int, what: str) -> Sequence[SheetSum]:
    """Return the first sums, and the others as one line."""
    if len(sums) <= shown + 1:
        return sums
    rest = sums[shown:]
    one = SheetSum(
        f"outras {len(rest)} {what}" if what != "clientes" else f"outros {len(rest)} clientes",
        sum(each.requests for each in rest),
        sum(each.credits for each in rest),
    )
    return [*sums[:shown], one]


def _write(closed: _ClosedMonth, given: Sequence[tuple[LedgerEntry, str]], file: IO[bytes]) -> None:
    proof, owed = closed.proof, closed.account.plan == "pos_pago"
    sign, named = (-1, "Valor devido") if owed else (1, "Saldo")
    summary = Sheet(
        "Demonstrativo",
        (44, 70),
        [
            ("Conta", closed.account.name),
            ("Mês", month_name(closed.month)),
            (f"{named} no início, em créditos", sign * proof.opening_credits),
            ("Créditos acrescentados", proof.added_credits),
            ("Consumo", proof.charged_credits),
            (f"{named} no fim, em créditos", sign * proof.closing_credits),
            ("Consultas cobradas", closed.books.requests),
            ("Lançamentos", closed.fingerprint.entries),
            ("SHA-256 dos lançamentos", closed.fingerprint.digest),
        ],
    )
    columns = ("Consultas", "Créditos")
    total = ("Total", closed.books.requests, closed.books.charged)
    sheets = [
        Sheet(
            name,
            (70 if name == "Regras" else 30, 12, 12),
            [(each.label, each.requests, each.credits) for each in sums],
            (what, *columns),
            total,
        )
        for name, what, sums in (
            ("Operações", "Operação", closed.operations),
            ("Clientes", "Cliente", closed.clients),
            ("Regras", "Regra de preço", closed.rules),
        )
    ]
    top_ups = Sheet(
        "Acrescentados",
        (20, 40, 24, 12),
        [(from_ms(each.at_ms), each.reason or "", who, each.credits) for each, who in given],
        ("Quando", "Motivo", "Quem", "Créditos"),
        ("Total", None, None, proof.added_credits),
    )
    spreadsheet.write_xlsx(file, [summary, *sheets, top_ups])
