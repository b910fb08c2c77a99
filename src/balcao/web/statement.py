"""`/app/extrato`: what an account consumed in a period, with its proof, on screen and as a file."""

import asyncio
import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from starlette.responses import Response

from balcao.accounts.statement import COLUMNS, Choice, Period, Statement, line_of, read, write_csv
from balcao.core.access import names_of_keys
from balcao.core.calendar import from_ms
from balcao.storage.contract import ConsumptionRow
from balcao.web import asking, drawing, spreadsheet, vocabulary
from balcao.web.drawing import Share
from balcao.web.exports import CSV, XLSX, FileKind, leaving_room
from balcao.web.spending import bars_of
from balcao.web.spreadsheet import Sheet, Value
from balcao.web.visit import Visit

PATH = "/app/extrato"

# A page stays small; the files have all lines.
LINES_SHOWN = 60
LINES_MAX = 100_000  # by reference
_GROUP, _REFERENCE = "agrupar", "referencia"
_TOO_MANY = f"Por referência seriam mais de {LINES_MAX} linhas: escolha um período mais curto."
# Beyond that a bar is a week.
DAYS_DRAWN = 92


@dataclass(frozen=True, slots=True)
class _Read:
    """A statement and the lines of it that were asked for."""

    statement: Statement
    chosen: Choice
    rows: Sequence[ConsumptionRow]
    names: Mapping[int | None, str]
    by_reference: bool
    ignored: str | None  # what was said of filters that are none
    read_at: datetime.datetime

    @property
    def credits(self) -> int:
        return sum(row.credits for row in self.rows)

    @property
    def requests(self) -> int:
        return sum(row.requests for row in self.rows)

    @property
    def by_operation(self) -> Sequence[tuple[str, int]]:
        """Each one's credits, the dearest first."""
        sums = Counter[str]()
        for row in self.rows:
            sums[vocabulary.short(row.operation)] += row.credits
        return sums.most_common()


async def _read(visit: Visit, period: Period) -> _Read:
    desk, number = visit.tools.desk, visit.account.account_id
    names, fields = names_of_keys(desk.keys(number)), visit.request.query_params
    chosen = asking.choice(fields, names)
    statement = await read(desk, number, period)
    rows: Sequence[ConsumptionRow] | None = statement.rows
    said = asking.ignored(fields, chosen)
    by_reference = fields.get(_GROUP) == _REFERENCE
    if by_reference:
        rows = await asyncio.to_thread(
            desk.consumption_by_reference, number, period.from_ms, period.to_ms, LINES_MAX
        )
    if rows is None:
        rows, by_reference, said = statement.rows, False, _TOO_MANY
    at = from_ms(visit.tools.now_ms())
    return _Read(statement, chosen, chosen.of(rows), names, by_reference, said, at)


def _asked(visit: Visit) -> asking.Asked:
    return asking.period(visit.request.query_params, asking.today_of(visit))


async def show(visit: Visit) -> Response:
    """The page: filters, sums, drawings, lines and the proof."""
    asked = _asked(visit)
    found = await _read(visit, asked.period)
    group = {_GROUP: _REFERENCE if found.by_reference else ""}
    fields = asking.fields_of(asked.period, found.chosen) | group
    marked = found.chosen.client is not None or any(row.client for row in found.statement.rows)
    by_origin = Counter[str]()
    for row in found.rows:
        by_origin[row.origin] += row.credits
    shares = [Share(name, credits) for name, credits in found.by_operation]
    newest_first = sorted(found.rows, key=lambda row: row.day, reverse=True)
    return visit.page(
        "extrato.html",
        422 if asked.complaint else 200,
        alert=asked.complaint,
        notes=[note for note in (asked.note, found.ignored) if note],
        account=found.statement.account,
        period=asked.period,
        fields=fields,
        filtered=not found.chosen.is_all,
        operations=asking.OPERATIONS,
        keys=asking.keys(found.names),
        origins=asking.ORIGINS,
        months=[
            (text, asking.address(PATH, asking.fields_of(month, found.chosen) | group))
            for text, month in asking.months(asking.today_of(visit))
        ],
        marked=marked,
        by_reference=found.by_reference,
        everything=asking.address(PATH, asking.fields_of(asked.period, Choice())),
        csv=asking.address(f"{PATH}.csv", fields),
        xlsx=asking.address(f"{PATH}.xlsx", fields),
        credits=found.credits,
        requests=found.requests,
        from_cache=by_origin["cache"],
        from_source=by_origin["online"],
        chart=_by_day(found.rows, asked.period),
        by_week=_is_long(asked.period),
        shares=drawing.shares(shares) if shares else None,
        lines=[(row.day, *_told(row, found.names)) for row in newest_first[:LINES_SHOWN]],
        more=max(0, len(found.rows) - LINES_SHOWN),
        proof=found.statement.proof,
        settled=found.statement.settled,
    )


def _told(row: ConsumptionRow, names: Mapping[int | None, str]) -> Sequence[Value]:
    """A line after its day, in words."""
    operation, origin = vocabulary.short(row.operation), vocabulary.ORIGINS[row.origin]
    counted = (row.requests, row.credits)
    return (operation, names.get(row.key_id), origin, *counted, row.client, row.reference)


def _is_long(period: Period) -> bool:
    return len(period.days) > DAYS_DRAWN


def _by_day(rows: Sequence[ConsumptionRow], period: Period) -> str:
    step, title = (7, "Créditos por semana") if _is_long(period) else (1, "Créditos por dia")
    return drawing.bars_by_day(bars_of(rows, period.first, len(period.days), step), title)


async def as_table(visit: Visit) -> Response:
    """The lines as CSV, as the API gives them."""
    return await _exported(visit, CSV, _write_table)


async def as_workbook(visit: Visit) -> Response:
    """The lines and their sums as a spreadsheet."""
    return await _exported(visit, XLSX, _write_workbook)


async def _exported(
    visit: Visit, kind: FileKind, write: Callable[[_Read, IO[bytes]], None]
) -> Response:
    asked = _asked(visit)
    if asked.complaint:
        return visit.redirect(asking.address(PATH, dict(visit.request.query_params)))
    found = await _read(visit, asked.period)
    name = f"extrato-{asked.period.first}-{asked.period.last}"
    return await visit.export(partial(write, found), kind, name)


def _write_table(found: _Read, file: IO[bytes]) -> None:
    lines = (line_of(row, found.names) for row in found.rows)
    write_csv(file, COLUMNS, leaving_room(lines))


def _write_workbook(found: _Read, file: IO[bytes]) -> None:
    spreadsheet.write_xlsx(file, [_summary(found), _lines(found)])


def _summary(found: _Read) -> Sheet:
    statement, chosen = found.statement, found.chosen
    account, proof = statement.account, statement.proof
    owed = account.plan == "pos_pago"
    sign = -1 if owed else 1
    named = "Valor devido" if owed else "Saldo"
    key = "todas"
    if chosen.key is not None:
        key = found.names.get(None if chosen.key == "web" else chosen.key, "outra")
    return Sheet(
        "Resumo",
        (44, 34),
        [
            ("Conta", account.name),
            ("Primeiro dia", statement.period.first),
            ("Último dia", statement.period.last),
            ("Gerado em (Brasília)", found.read_at),
            ("Operação", vocabulary.short(chosen.operation) if chosen.operation else "todas"),
            ("Chave", key),
            ("Origem", vocabulary.ORIGINS[chosen.origin] if chosen.origin else "todas"),
            ("Cliente", chosen.client or "todos"),
            ("Consultas cobradas", found.requests),
            ("Créditos consumidos", found.credits),
            *((f"  {name}", credits) for name, credits in found.by_operation),
            (f"{named} no início do período, em créditos", sign * proof.opening_credits),
            ("Créditos acrescentados no período", proof.added_credits),
            ("Consumo do período, sem filtros", proof.charged_credits),
            (f"{named} no fim do período, em créditos", sign * proof.closing_credits),
            ("Confere com o livro-razão", _verdict(statement)),
        ],
    )


def _verdict(statement: Statement) -> str:
    if statement.proof.agrees:
        return "sim"
    return "não" if statement.settled else "conta em uso durante a leitura; gere de novo"


def _lines(found: _Read) -> Sheet:
    return Sheet(
        "Consumo",
        (12, 24, 28, 10, 12, 12, 24, 24),
        (
            (datetime.date.fromisoformat(row.day), *_told(row, found.names))
            for row in leaving_room(found.rows)
        ),
        (
            *("Dia", "Operação", "Chave", "Origem", "Consultas", "Créditos"),
            *("Cliente", "Referência"),
        ),
        ("Total", None, None, None, found.requests, found.credits),
    )
