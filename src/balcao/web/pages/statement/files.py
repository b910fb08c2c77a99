"""The statement's lines as files, without the page's limit."""

import asyncio
import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from starlette.responses import Response

from balcao.accounts.statement import COLUMNS, Statement, line_of, read_statement, rows_of
from balcao.core.access import Account
from balcao.core.calendar import from_ms
from balcao.core.csv_table import write_csv
from balcao.core.ledger import ORIGIN_WORDS
from balcao.storage import spreadsheet
from balcao.storage.contract import ConsumptionRow
from balcao.storage.spreadsheet import Sheet, Value
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.exports import CSV, XLSX, FileKind, paced
from balcao.web.kit.words import vocabulary
from balcao.web.pages.statement.pages import LINES_MAX
from balcao.web.pages.statement.query import REFERENCE, StatementQuery, read_query


@dataclass(frozen=True, slots=True)
class _Found:
    """The content of a file."""

    asked: StatementQuery
    statement: Statement
    rows: Sequence[ConsumptionRow]
    read_at: datetime.datetime


async def as_table(context: PageContext, account: Account, base: str) -> Response:
    """Download the lines as CSV, as the API gives them."""
    return await _exported(context, account, base, CSV, _write_table)


async def as_workbook(context: PageContext, account: Account, base: str) -> Response:
    """Download the lines and their sums as a spreadsheet."""
    return await _exported(context, account, base, XLSX, _write_workbook)


async def _exported(
    context: PageContext,
    account: Account,
    base: str,
    kind: FileKind,
    write: Callable[[_Found, IO[bytes]], None],
) -> Response:
    asked = read_query(context, account, base)
    if asked.complaint:
        return context.redirect(filters.address(base, dict(context.request.query_params)))
    found = await asyncio.to_thread(_find, context, asked)
    name = f"extrato-{asked.period.first}-{asked.period.last}"
    return await context.export(partial(write, found), kind, name, account)


def _find(context: PageContext, asked: StatementQuery) -> _Found:
    desk, period = context.desk, asked.period
    statement = read_statement(desk, asked.account, period, asked.chosen)
    rows: Sequence[ConsumptionRow] | None = None
    if asked.group == REFERENCE:
        of_period = (asked.account.account_id, period.from_ms, period.to_ms)
        rows = desk.consumption_by_reference(*of_period, LINES_MAX)
        rows = None if rows is None else asked.chosen.of(rows)
    if rows is None:
        with desk.totals.snapshot() as moment:
            rows = [*rows_of(moment, asked.account.account_id, period, asked.chosen)]
    return _Found(asked, statement, rows, from_ms(context.now_ms()))


def _write_table(found: _Found, file: IO[bytes]) -> None:
    lines = (line_of(row, found.asked.names.keys) for row in found.rows)
    write_csv(file, COLUMNS, paced(lines))


def _write_workbook(found: _Found, file: IO[bytes]) -> None:
    spreadsheet.write_xlsx(file, [_summary(found), _lines(found)])


def _summary(found: _Found) -> Sheet:
    statement, asked = found.statement, found.asked
    proof, owed = statement.proof, asked.account.plan == "pos_pago"
    sign, named = (-1, "Valor devido") if owed else (1, "Saldo")
    by_operation = Counter[str]()
    for row in found.rows:
        by_operation[vocabulary.short(row.operation)] += row.credits
    return Sheet(
        "Resumo",
        (44, 34),
        [
            ("Conta", asked.account.name),
            ("Primeiro dia", statement.period.first),
            ("Último dia", statement.period.last),
            ("Gerado em (Brasília)", found.read_at),
            *filters_in_words(asked),
            ("Consultas cobradas", sum(row.requests for row in found.rows)),
            ("Créditos consumidos", by_operation.total()),
            *((f"  {name}", credits) for name, credits in by_operation.most_common()),
            (f"{named} no início do período, em créditos", sign * proof.opening_credits),
            ("Créditos acrescentados no período", proof.added_credits),
            ("Consumo do período, sem filtros", proof.charged_credits),
            (f"{named} no fim do período, em créditos", sign * proof.closing_credits),
            ("Confere com o livro-razão", "sim" if proof.agrees else "não"),
        ],
    )


def filters_in_words(asked: StatementQuery) -> Sequence[tuple[str, str]]:
    """Return the chosen filters in words."""
    chosen, names = asked.chosen, asked.names
    key = "todas"
    if chosen.key is not None:
        key = names.keys.get(None if chosen.key == "web" else chosen.key, "outra")
    person = "todas"
    if chosen.user is not None:
        person = names.users.get(
            chosen.user, f"usuário {chosen.user}" if chosen.user else "nenhuma"
        )
    return [
        ("Operação", vocabulary.short(chosen.operation) if chosen.operation else "todas"),
        ("Chave", key),
        ("Origem", ORIGIN_WORDS[chosen.origin] if chosen.origin else "todas"),
        ("Cliente", "todos" if chosen.client is None else chosen.client or vocabulary.NO_CLIENT),
        ("Pessoa", person),
        ("UF", "todas" if chosen.uf is None else chosen.uf or vocabulary.NO_UF),
    ]


def _lines(found: _Found) -> Sheet:
    total = (
        sum(row.requests for row in found.rows),
        sum(row.credits for row in found.rows),
    )
    return Sheet(
        "Consumo",
        (12, 24, 28, 10, 12, 12, 24, 24),
        (
            (datetime.date.fromisoformat(row.day), *_cells(row, found.asked))
            for row in paced(found.rows)
        ),
        (
            *("Dia", "Operação", "Chave", "Origem", "Consultas", "Créditos"),
            *("Cliente", "Referência"),
        ),
        ("Total", None, None, None, *total),
    )


def _cells(row: ConsumptionRow, asked: StatementQuery) -> Sequence[Value]:
    """Return a line's cells after its day, in words."""
    operation, origin = vocabulary.short(row.operation), ORIGIN_WORDS[row.origin]
    counted = (row.requests, row.credits)
    key = asked.names.keys.get(row.key_id)
    return (operation, key, origin, *counted, row.client, row.reference)
