"""`balcao usage`: what an account consumed."""

import csv
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.dates import civil_date, day_after_starts_ms
from balcao.cli.office import AccountName, Office, opened
from balcao.cli.output import AsJson, iso, print_json, print_table, whole
from balcao.core.calendar import civil_day, day_starts_ms
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
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
)


@dataclass(slots=True)
class Line:
    """Queries of one day, operation and origin."""

    queries: int = 0
    credits: int = 0


@dataclass(slots=True)
class Statement:
    """What moved in a period, added up."""

    lines: dict[tuple[date, str, str], Line] = field(default_factory=dict)
    total: Line = field(default_factory=Line)
    added_credits: int = 0  # by the operator, in the period

    def take(self, entry: "LedgerEntry") -> None:
        """Count one entry of the ledger."""
        if entry.kind == "top_up":
            self.added_credits += entry.credits
            return
        key = (civil_day(entry.at_ms), entry.operation or "", entry.origin or "")
        for line in (self.lines.setdefault(key, Line()), self.total):
            line.queries += 1
            line.credits -= entry.credits


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
    """Mostra o consumo de uma conta por dia, operação e origem, com o total.

    Os dias são os do calendário de Brasília. O total é o dos lançamentos do livro.

    Exemplo:

      $ balcao usage acme --from 2026-10-01 --to 2026-10-31
      $ balcao usage acme --csv > consumo.csv
    """
    today = civil_day(system_now_ms())
    last = until or today
    first = since or last.replace(day=1)
    if first > last:
        raise typer.BadParameter("é depois de --to.", param_hint="--from")
    if as_csv and as_json:
        raise typer.BadParameter("não pode ir junto com --json.", param_hint="--csv")
    with opened() as office:
        found = office.account(account)
        entries = office.desk.entries(
            found.account_id, day_starts_ms(first), day_after_starts_ms(last)
        )
        if as_csv:
            _print_csv(office, found, entries)
            return
        statement = Statement()
        for entry in entries:
            statement.take(entry)
    if as_json:
        _print_json(found, first, last, statement)
    else:
        _print_people(found, first, last, statement)


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
                )
            )


def _print_json(account: "Account", first: date, last: date, statement: Statement) -> None:
    print_json(
        {
            "account_id": account.account_id,
            "account": account.name,
            "from": first.isoformat(),
            "to": last.isoformat(),
            "rows": [
                {
                    "day": day.isoformat(),
                    "operation": operation,
                    "origin": origin,
                    "queries": line.queries,
                    "credits": line.credits,
                }
                for (day, operation, origin), line in sorted(statement.lines.items())
            ],
            "total": {"queries": statement.total.queries, "credits": statement.total.credits},
            "added_credits": statement.added_credits,
            "balance_credits": account.balance_credits,
        }
    )


def _print_people(account: "Account", first: date, last: date, statement: Statement) -> None:
    typer.echo(f"Consumo da conta {account.name}, de {first:%d/%m/%Y} a {last:%d/%m/%Y}")
    print_table(
        ("Dia", "Operação", "Origem", "Consultas", "Créditos"),
        [
            (f"{day:%d/%m/%Y}", operation, origin, whole(line.queries), whole(line.credits))
            for (day, operation, origin), line in sorted(statement.lines.items())
        ],
        numbers=("Consultas", "Créditos"),
        total=(
            "Total",
            "",
            "",
            whole(statement.total.queries),
            whole(statement.total.credits),
        ),
    )
    typer.echo(
        f"Créditos acrescentados no período: {whole(statement.added_credits)}."
        f" Saldo atual: {whole(account.balance_credits)}."
    )
