"""`/app/extrato/2026-10`: a month that is over, on one sheet of paper, for ever the same."""

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
from balcao.storage.desk.totals import Moment
from balcao.storage.spreadsheet import Sheet
from balcao.storage.totals import Dimension, Fingerprint, PeriodBooks, Total
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import XLSX
from balcao.web.kit.words import vocabulary
from balcao.web.pages.statement.asked import month_name
from balcao.web.pages.statement.given import given_in

_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
# What fits on a sheet of A4; what is beyond is one line, and in the spreadsheet.
OPERATIONS_SHOWN, CLIENTS_SHOWN, RULES_SHOWN, GIVEN_SHOWN = 9, 9, 14, 6


@dataclass(frozen=True, slots=True)
class SheetSum:
    """One line of a table: what of, and how much."""

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
    """The sheet. A month that is not over is at the statement."""
    told = await _month_of(context, account, base)
    if isinstance(told, Response):
        return told
    given = given_in(context, account, told.books.top_ups)
    return context.page(
        "operador/demonstrativo.html" if context.person.is_operator else "demonstrativo.html",
        account=account,
        base=base,
        month=told.month,
        name=month_name(told.month),
        period=told.period,
        proof=told.proof,
        books=told.books,
        operations=_first(told.operations, OPERATIONS_SHOWN, "operações"),
        clients=_first(told.clients, CLIENTS_SHOWN, "clientes"),
        rules=_first(told.rules, RULES_SHOWN, "regras"),
        given=given[:GIVEN_SHOWN],
        given_more=len(given) - GIVEN_SHOWN,
        fingerprint=told.fingerprint,
        statement=filters.address(
            base, {"de": told.period.first.isoformat(), "ate": told.period.last.isoformat()}
        ),
        xlsx=f"{base}/{told.month}/planilha.xlsx",
    )


async def as_workbook(context: PageContext, account: Account, base: str) -> Response:
    """The month as a spreadsheet, with every line."""
    told = await _month_of(context, account, base)
    if isinstance(told, Response):
        return told
    given = given_in(context, account, told.books.top_ups)
    write = partial(_write, told, given)
    return await context.export(write, XLSX, f"demonstrativo-{told.month}", account)


async def _month_of(context: PageContext, account: Account, base: str) -> _ClosedMonth | Response:
    period = _month_in(context)
    if period.last >= filters.today_of(context):
        return context.redirect(base, de=period.first.isoformat(), ate=period.last.isoformat())
    return await _read(context, account, period)


def _month_in(context: PageContext) -> Period:
    """The month that the address names."""
    match = _MONTH.fullmatch(context.request.path_params["month"])
    if match and 1970 < int(match[1]) < 9999 and 1 <= int(match[2]) <= 12:
        return month_of(datetime.date(int(match[1]), int(match[2]), 1))
    raise context.missing("Mês não encontrado", "Um mês se escreve como 2026-10.")


async def _read(context: PageContext, account: Account, period: Period) -> _ClosedMonth:
    totals, number, month = context.desk.totals, account.account_id, f"{period.first:%Y-%m}"

    def read() -> tuple[PeriodBooks, list[Sequence[Total]]]:
        with totals.moment() as moment:
            books = moment.books(number, period.first, period.last)
            return books, [_by(moment, number, period, by) for by in _TABLES]

    books, (operations, clients, rules) = await asyncio.to_thread(read)
    fingerprint = await asyncio.to_thread(totals.sealed, number, month)
    # An entry that came late, by a clock that was wrong, makes it another month.
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
    moment: Moment, account_id: int, period: Period, by: Sequence[Dimension]
) -> Sequence[Total]:
    found = moment.read(account_id, period.first, period.last, by)
    return sorted(found, key=lambda total: -total.credits)


def _sum(label: str, total: Total) -> SheetSum:
    return SheetSum(label, total.requests, total.credits)


def _first(sums: Sequence[SheetSum], shown: int, what: str) -> Sequence[SheetSum]:
    """The first of them, and the others in one line."""
    if len(sums) <= shown + 1:
        return sums
    rest = sums[shown:]
    one = SheetSum(
        f"outras {len(rest)} {what}" if what != "clientes" else f"outros {len(rest)} clientes",
        sum(each.requests for each in rest),
        sum(each.credits for each in rest),
    )
    return [*sums[:shown], one]


def _write(told: _ClosedMonth, given: Sequence[tuple[LedgerEntry, str]], file: IO[bytes]) -> None:
    proof, owed = told.proof, told.account.plan == "pos_pago"
    sign, named = (-1, "Valor devido") if owed else (1, "Saldo")
    summary = Sheet(
        "Demonstrativo",
        (44, 70),
        [
            ("Conta", told.account.name),
            ("Mês", month_name(told.month)),
            (f"{named} no início, em créditos", sign * proof.opening_credits),
            ("Créditos acrescentados", proof.added_credits),
            ("Consumo", proof.charged_credits),
            (f"{named} no fim, em créditos", sign * proof.closing_credits),
            ("Consultas cobradas", told.books.requests),
            ("Lançamentos", told.fingerprint.entries),
            ("SHA-256 dos lançamentos", told.fingerprint.digest),
        ],
    )
    columns = ("Consultas", "Créditos")
    total = ("Total", told.books.requests, told.books.charged)
    sheets = [
        Sheet(
            name,
            (70 if name == "Regras" else 30, 12, 12),
            [(each.label, each.requests, each.credits) for each in sums],
            (what, *columns),
            total,
        )
        for name, what, sums in (
            ("Operações", "Operação", told.operations),
            ("Clientes", "Cliente", told.clients),
            ("Regras", "Regra de preço", told.rules),
        )
    ]
    orders = Sheet(
        "Acrescentados",
        (20, 40, 24, 12),
        [(from_ms(each.at_ms), each.reason or "", who, each.credits) for each, who in given],
        ("Quando", "Motivo", "Quem", "Créditos"),
        ("Total", None, None, proof.added_credits),
    )
    spreadsheet.write_xlsx(file, [summary, *sheets, orders])
