"""`balcao usage`: the consumption of an account."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.arguments import parse_day
from balcao.cli.failures import refuse
from balcao.cli.installation import AccountName, Installation, open_installation
from balcao.cli.output import AsJson, TextTable, iso, show, whole
from balcao.core.calendar import civil_day
from balcao.core.ledger import ORIGIN_WORDS, Origin
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.core.access import Account
    from balcao.storage.contract import LedgerEntry
    from balcao.storage.totals import Dimension, PeriodBooks, Total

# Column titles by value of `--by`.
_GROUPS = {"key": "Chave", "uf": "UF", "client": "Cliente"}

_COLUMNS = (
    "time",
    "request_id",
    "operation",
    "rule",
    "rule_code",
    "origin",
    "key_id",
    "key",
    "credits",
    "client",
    "reference",
)


def _group(text: str) -> str:
    if text not in _GROUPS:
        raise typer.BadParameter("é key, uf ou client.")
    return text


def usage(  # noqa: PLR0917  # a command's own words
    account: AccountName,
    since: Annotated[
        date | None,
        typer.Option(
            "--from",
            parser=parse_day,
            metavar="DATA",
            help="Primeiro dia, em Brasília (AAAA-MM-DD); padrão: o primeiro do mês.",
        ),
    ] = None,
    until: Annotated[
        date | None,
        typer.Option(
            "--to",
            parser=parse_day,
            metavar="DATA",
            help="Último dia, incluído (AAAA-MM-DD); padrão: hoje.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            parser=_group,
            metavar="key|uf|client",
            help="Soma o período por chave, UF ou cliente.",
        ),
    ] = None,
    by_day: Annotated[
        bool,
        typer.Option("--days", help="Uma linha por dia, operação, origem e cliente."),
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Cada lançamento de consumo, em CSV.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mostra o consumo de uma conta por operação e origem, com o total.

    Os dias são os do horário de Brasília. O total vem dos lançamentos do livro-razão. Com --json,
    as linhas são sempre as de --days.

    Exemplo:

      $ balcao usage acme --from 2026-10-01 --to 2026-10-31
      $ balcao usage acme --by client
      $ balcao usage acme --days
      $ balcao usage acme --csv > consumo.csv
    """
    from balcao.accounts.statement import Period

    today = civil_day(system_now_ms())
    last = until or today
    first = since or last.replace(day=1)
    if first > last:
        refuse("é depois de --to.", "--from")
    if as_csv and as_json:
        refuse("não pode ser usado com --json.", "--csv")
    if as_csv and by:
        refuse("não pode ser usado com --csv: cada lançamento tem uma linha.", "--by")
    if by_day and (by or as_csv):
        refuse("não pode ser usado com --by nem com --csv.", "--days")
    with open_installation() as local:
        found = local.account(account)
        period = Period(first, last)
        if as_csv:
            entries = local.desk.entries(found.account_id, period.from_ms, period.to_ms)
            _print_csv(local, found, entries)
            return
        dimensions: Sequence[Dimension] = ("day", "operation", "origin", "client")
        if by:
            dimensions = (by,)  # type: ignore[assignment]  # checked by `_group`
        with local.desk.totals.snapshot() as moment:
            books = moment.books(found.account_id, period.first, period.last)
            totals = moment.read(found.account_id, period.first, period.last, dimensions)
        keys = local.desk.keys(found.account_id)
    added = sum(entry.credits for entry in books.top_ups)
    names = {key.key_id: key.name for key in keys}
    data = {
        "account_id": found.account_id,
        "account": found.name,
        "from": period.first,
        "to": period.last,
        **({"by": by} if by else {}),
        "rows": [_record(total, by, names) for total in totals],
        "total": {"queries": books.requests, "credits": books.charged},
        "added_credits": added,
        "balance_credits": books.balance_credits,
    }
    title = f"Consumo da conta {found.name}, de {first:%d/%m/%Y} a {last:%d/%m/%Y}"
    if by:
        show(as_json, data, title, _table_by(by, totals, names))
        return
    text = (
        f"Créditos acrescentados no período: {whole(added)}."
        f" Saldo atual: {whole(books.balance_credits)}."
    )
    show(as_json, data, title, _table(books, totals, by_day=by_day), text)


def _print_csv(local: Installation, account: "Account", entries: "Iterable[LedgerEntry]") -> None:
    from balcao.core.csv_table import write_rows
    from balcao.operations import tariff

    names = {key.key_id: key.name for key in local.desk.keys(account.account_id)}
    rows = (
        (
            iso(entry.at_ms),
            entry.request_id,
            entry.operation,
            tariff.sentence(entry.rule),
            entry.rule,
            entry.origin,
            entry.key_id,
            names.get(entry.key_id or 0, ""),
            -entry.credits,
            entry.client,
            entry.reference,
        )
        for entry in entries
        if entry.kind != "top_up"
    )
    write_rows(sys.stdout, chain((_COLUMNS,), rows))


def _record(total: "Total", by: str | None, names: Mapping[int, str]) -> Mapping[str, object]:
    counted = {"queries": total.requests, "credits": total.credits}
    match by:
        case "key":
            return {"key_id": total.key or None, "key": names.get(total.key or 0)} | counted
        case "uf":
            return {"uf": total.uf or None} | counted
        case "client":
            return {"client": total.client or None} | counted
        case _:
            what = {"day": total.day, "operation": total.operation, "origin": total.origin}
            return what | counted | {"client": total.client or None}


def _table_by(by: str, totals: "Sequence[Total]", names: Mapping[int, str]) -> TextTable:
    name_of: Mapping[str, Callable[[Total], str]] = {
        "key": lambda total: names.get(total.key or 0, "aplicação web"),
        "uf": lambda total: total.uf or "sem UF",
        "client": lambda total: total.client or "sem cliente",
    }
    return TextTable(
        sorted(totals, key=lambda total: -total.credits),
        {_GROUPS[by]: name_of[by], "Consultas": "requests", "Créditos": "credits"},
        numbers=("Consultas", "Créditos"),
        total=(
            "Total",
            whole(sum(total.requests for total in totals)),
            whole(sum(total.credits for total in totals)),
        ),
        empty="Nada foi consumido neste período.",
    )


def _table(books: "PeriodBooks", totals: "Sequence[Total]", *, by_day: bool) -> TextTable:
    from balcao.operations.names import SHORT

    # No column for clients if the account has none.
    marked = by_day and any(total.client for total in totals)
    day = {"Dia": lambda total: date.fromisoformat(str(total.day))}
    client = {"Cliente": lambda total: total.client or None}
    empty_cells = ("",) * (1 + by_day + marked)
    return TextTable(
        totals if by_day else _without_days(totals),
        {
            **(day if by_day else {}),
            "Operação": lambda total: SHORT.get(str(total.operation), total.operation),
            "Origem": lambda total: ORIGIN_WORDS[total.origin],
            **(client if marked else {}),
            "Consultas": "requests",
            "Créditos": "credits",
        },
        numbers=("Consultas", "Créditos"),
        total=("Total", *empty_cells, whole(books.requests), whole(books.charged)),
        foldable=("Operação", "Cliente"),
        empty="Nada foi consumido neste período.",
    )


def _without_days(totals: "Sequence[Total]") -> "Sequence[Total]":
    """Sum totals by operation and origin, the greatest first."""
    from balcao.storage.totals import Total

    sums: dict[tuple[str | None, Origin | None], Total] = {}
    for total in totals:
        group = (total.operation, total.origin)
        so_far = sums.get(group, Total(0, 0))
        sums[group] = Total(
            so_far.requests + total.requests,
            so_far.credits + total.credits,
            operation=total.operation,
            origin=total.origin,
        )
    return sorted(sums.values(), key=lambda total: -total.credits)
