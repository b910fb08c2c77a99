"""`balcao usage`: what an account consumed."""

import csv
import sys
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.dates import civil_date
from balcao.cli.failures import refuse
from balcao.cli.office import AccountName, Office, opened
from balcao.cli.output import AsJson, iso, print_json, print_table, whole
from balcao.core.calendar import civil_day
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.accounts.statement import Statement
    from balcao.core.access import Account
    from balcao.storage.contract import LedgerEntry

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


def usage(
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
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Cada lançamento de consumo, em CSV.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mostra o consumo de uma conta por dia, operação, origem e cliente, com o total.

    Os dias são os do calendário de Brasília. O total é o dos lançamentos do livro.

    Exemplo:

      $ balcao usage acme --from 2026-10-01 --to 2026-10-31
      $ balcao usage acme --csv > consumo.csv
    """
    from balcao.accounts.statement import Period, read_now

    today = civil_day(system_now_ms())
    last = until or today
    first = since or last.replace(day=1)
    if first > last:
        refuse("é depois de --to.", "--from")
    if as_csv and as_json:
        refuse("não pode ir junto com --json.", "--csv")
    with opened() as office:
        found = office.account(account)
        period = Period(first, last)
        if as_csv:
            entries = office.desk.entries(found.account_id, period.from_ms, period.to_ms)
            _print_csv(office, found, entries)
            return
        statement = read_now(office.desk, found, period)
    if as_json:
        _print_json(statement)
    else:
        _print_people(statement)


def _print_csv(office: Office, account: "Account", entries: "Iterable[LedgerEntry]") -> None:
    from balcao.operations import tariff

    names = {key.key_id: key.name for key in office.desk.keys(account.account_id)}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for entry in entries:
        if entry.kind != "top_up":
            writer.writerow(
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
            )


def _print_json(statement: "Statement") -> None:
    account, period, rows = statement.account, statement.period, statement.rows_of_all_keys
    print_json(
        {
            "account_id": account.account_id,
            "account": account.name,
            "from": period.first,
            "to": period.last,
            "rows": [
                {
                    "day": row.day,
                    "operation": row.operation,
                    "origin": row.origin,
                    "queries": row.requests,
                    "credits": row.credits,
                    "client": row.client,
                }
                for row in rows
            ],
            "total": {"queries": statement.requests, "credits": statement.proof.listed_credits},
            "added_credits": statement.proof.added_credits,
            "balance_credits": account.balance_credits,
        }
    )


def _print_people(statement: "Statement") -> None:
    account, period, proof = statement.account, statement.period, statement.proof
    typer.echo(
        f"Consumo da conta {account.name}, de {period.first:%d/%m/%Y} a {period.last:%d/%m/%Y}"
    )
    rows = statement.rows_of_all_keys
    marked = any(row.client for row in rows)  # who marks nothing needs no column
    print_table(
        ("Dia", "Operação", "Origem", *("Cliente",) * marked, "Consultas", "Créditos"),
        [
            (
                f"{date.fromisoformat(row.day):%d/%m/%Y}",
                row.operation,
                row.origin,
                *(row.client or "—",) * marked,
                whole(row.requests),
                whole(row.credits),
            )
            for row in rows
        ],
        numbers=("Consultas", "Créditos"),
        total=(
            "Total",
            "",
            "",
            *("",) * marked,
            whole(statement.requests),
            whole(proof.listed_credits),
        ),
        empty="Nada foi consumido neste período.",
    )
    typer.echo(
        f"Créditos acrescentados no período: {whole(proof.added_credits)}."
        f" Saldo atual: {whole(account.balance_credits)}."
    )
