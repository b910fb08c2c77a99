"""`balcao usage`: what an account consumed."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.dates import civil_date
from balcao.cli.failures import refuse
from balcao.cli.office import AccountName, Office, opened
from balcao.cli.output import AsJson, iso, print_json, print_table, whole
from balcao.core.calendar import civil_day
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.accounts.statement import Period
    from balcao.core.access import Account
    from balcao.storage.contract import LedgerEntry
    from balcao.storage.totals import Dimension, PeriodBooks, Total

# What `--by` takes, and how its column is called.
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
            parser=civil_date,
            metavar="DATA",
            help="Primeiro dia, em Brasília (AAAA-MM-DD); padrão: o primeiro do mês.",
        ),
    ] = None,
    until: Annotated[
        date | None,
        typer.Option(
            "--to",
            parser=civil_date,
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
            help="Soma o período por chave, UF ou cliente, em vez de dia a dia.",
        ),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Cada lançamento de consumo, em CSV.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mostra o consumo de uma conta por dia, operação, origem e cliente, com o total.

    Os dias são os do calendário de Brasília. O total é o dos lançamentos do livro.

    Exemplo:

      $ balcao usage acme --from 2026-10-01 --to 2026-10-31
      $ balcao usage acme --by client
      $ balcao usage acme --csv > consumo.csv
    """
    from balcao.accounts.statement import Period

    today = civil_day(system_now_ms())
    last = until or today
    first = since or last.replace(day=1)
    if first > last:
        refuse("é depois de --to.", "--from")
    if as_csv and as_json:
        refuse("não pode ir junto com --json.", "--csv")
    if as_csv and by:
        refuse("não pode ir junto com --csv: cada lançamento tem a sua linha.", "--by")
    with opened() as office:
        found = office.account(account)
        period = Period(first, last)
        if as_csv:
            entries = office.desk.entries(found.account_id, period.from_ms, period.to_ms)
            _print_csv(office, found, entries)
            return
        wanted: Sequence[Dimension] = ("day", "operation", "origin", "client")
        if by:
            wanted = (by,)  # type: ignore[assignment]  # `_group` let it pass
        with office.desk.totals.moment() as moment:
            books = moment.books(found.account_id, period.first, period.last)
            totals = moment.read(found.account_id, period.first, period.last, wanted)
        names = {key.key_id: key.name for key in office.desk.keys(found.account_id)}
    if as_json:
        _print_json(found, period, books, [_as_json(total, by, names) for total in totals], by)
    elif by:
        _print_groups(found, period, totals, by, names)
    else:
        _print_people(found, period, books, totals)


def _print_csv(office: Office, account: "Account", entries: "Iterable[LedgerEntry]") -> None:
    from balcao.core.csv_table import write_rows
    from balcao.operations import tariff

    names = {key.key_id: key.name for key in office.desk.keys(account.account_id)}
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


def _as_json(total: "Total", by: str | None, names: Mapping[int, str]) -> Mapping[str, object]:
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


def _print_json(
    account: "Account",
    period: "Period",
    books: "PeriodBooks",
    rows: Sequence[Mapping[str, object]],
    by: str | None,
) -> None:
    print_json(
        {
            "account_id": account.account_id,
            "account": account.name,
            "from": period.first,
            "to": period.last,
            **({"by": by} if by else {}),
            "rows": rows,
            "total": {"queries": books.requests, "credits": books.charged},
            "added_credits": sum(entry.credits for entry in books.top_ups),
            "balance_credits": books.balance_credits,
        }
    )


def _title(account: "Account", period: "Period") -> str:
    return f"Consumo da conta {account.name}, de {period.first:%d/%m/%Y} a {period.last:%d/%m/%Y}"


def _print_groups(
    account: "Account",
    period: "Period",
    totals: Sequence["Total"],
    by: str,
    names: Mapping[int, str],
) -> None:
    typer.echo(_title(account, period))

    def told(total: "Total") -> str:
        if by == "key":
            return names.get(total.key or 0, "aplicação web")
        return total.uf or "sem UF" if by == "uf" else total.client or "sem cliente"

    print_table(
        (_GROUPS[by], "Consultas", "Créditos"),
        [
            (told(total), whole(total.requests), whole(total.credits))
            for total in sorted(totals, key=lambda total: -total.credits)
        ],
        numbers=("Consultas", "Créditos"),
        total=(
            "Total",
            whole(sum(total.requests for total in totals)),
            whole(sum(total.credits for total in totals)),
        ),
        empty="Nada foi consumido neste período.",
    )


def _print_people(
    account: "Account", period: "Period", books: "PeriodBooks", totals: Sequence["Total"]
) -> None:
    typer.echo(_title(account, period))
    marked = any(total.client for total in totals)  # who marks nothing needs no column
    print_table(
        ("Dia", "Operação", "Origem", *("Cliente",) * marked, "Consultas", "Créditos"),
        [
            (
                f"{date.fromisoformat(str(total.day)):%d/%m/%Y}",
                str(total.operation),
                str(total.origin),
                *(total.client or "—",) * marked,
                whole(total.requests),
                whole(total.credits),
            )
            for total in totals
        ],
        numbers=("Consultas", "Créditos"),
        total=("Total", "", "", *("",) * marked, whole(books.requests), whole(books.charged)),
        foldable=("Operação", "Cliente"),
        empty="Nada foi consumido neste período.",
    )
    typer.echo(
        f"Créditos acrescentados no período: {whole(sum(e.credits for e in books.top_ups))}."
        f" Saldo atual: {whole(books.balance_credits)}."
    )
