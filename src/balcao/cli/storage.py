"""`balcao storage`: move all data between SQLite and PostgreSQL."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.output import (
    AsJson,
    Block,
    Note,
    TextTable,
    console,
    decimal,
    program,
    record,
    show,
    whole,
)  # fmt: skip
from balcao.core.writing import counted
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.backup.moving.copying import MoveProgress, TableMove
    from balcao.backup.moving.move import Report
    from balcao.settings import Settings

app = typer.Typer(no_args_is_help=True)

_CHECKSUM_SHOWN = 16


@app.command()
def move(
    to: Annotated[
        str,
        typer.Option(
            help="Para onde: postgresql://usuário@host/banco, ou sqlite (a pasta de dados).",
            metavar="DESTINO",
        ),
    ],
    final: Annotated[
        bool,
        typer.Option("--final", help="Com o serviço parado: move o restante e ativa o destino."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copia todos os dados para outro banco e confere as somas.

    O serviço pode estar em funcionamento. Repita quantas vezes quiser: só os dados novos são
    copiados. No fim, pare o serviço e repita com --final. Os arquivos dos comprovantes ficam
    onde estão.

    A senha pode estar no endereço, em PGPASSWORD ou em ~/.pgpass.

    Exemplo:

      $ balcao storage move --to postgresql://balcao@banco.exemplo/balcao
    """
    from balcao.backup.moving.move import move as move_everything

    settings = read_settings()
    began = time.monotonic()
    with _progress() as progress:
        report = move_everything(
            settings, to, final=final, now_ms=system_now_ms(), progress=progress
        )
    seconds = time.monotonic() - began
    show(as_json, _record(report, seconds), *_blocks(report, settings, seconds))
    if report.complaints:
        raise typer.Exit(1)


@app.command()
def reopen() -> None:
    """Volta a usar os dados de antes da mudança, como eram naquele momento.

    O que foi feito no destino depois da mudança não é trazido. Pare antes o serviço que usa o
    destino.

    Exemplo:

      $ balcao storage reopen
    """
    from balcao.backup.moving.marks import reopen as reopen_here
    from balcao.backup.moving.move import open_source

    settings = read_settings()
    with closing(open_source(settings)) as end:
        elsewhere = reopen_here(end, system_now_ms())
        typer.echo(f"Reaberto: {end.place}.")
    typer.echo(
        f"Os dados em {elsewhere} continuam lá. As mudanças feitas lá depois não estão aqui. Não"
        " use os dois.",
        err=True,
    )


def _blocks(report: "Report", settings: "Settings", seconds: float) -> Sequence[Block]:
    table = TextTable(
        report.tables,
        {
            "Dados": lambda one: one.table.label,
            "Linhas": lambda one: 0 if one.target_sum is None else one.target_sum.rows,
            "Novas": "inserted",
            "Mudadas": "updated",
            "Removidas": "deleted",
            "Soma de conferência": _checksum,
            "Confere": lambda one: one.source_sum == one.target_sum,
        },
        numbers=("Linhas", "Novas", "Mudadas", "Removidas"),
    )
    if report.complaints:
        details = [Note(f"  {complaint}") for complaint in report.complaints]
        return [table, Note("A mudança não confere. A origem continua em uso:"), *details]
    books = report.target_books
    text = (
        f"De {report.source} para {report.target} em {decimal(seconds)} s: tudo confere,"
        f" {counted(books.accounts, 'conta', 'contas')} e"
        f" {counted(books.entries, 'lançamento', 'lançamentos')}, somados de novo nos dois lados."
    )
    given_back = []
    if report.holds_given_back:
        count = whole(report.holds_given_back)
        given_back = [f"Reservas liberadas, de consultas interrompidas: {count}."]
    return [table, text, *given_back, _next_step(report, settings)]


def _checksum(one: "TableMove") -> str:
    return "" if one.target_sum is None else one.target_sum.checksum[:_CHECKSUM_SHOWN]


def _next_step(report: "Report", settings: "Settings") -> str:
    if not report.final:
        return (
            "A origem continua em uso. Para terminar, pare o serviço e repita o comando com"
            " --final."
        )
    if report.target.startswith("postgresql:"):
        setting = "defina BALCAO_DATABASE com o endereço do PostgreSQL"
        nodes = f" Outros nós precisam de uma cópia de {settings.home / 'secret.key'}."
    else:
        setting, nodes = "remova BALCAO_DATABASE", ""
    receipts = ""
    if not settings.receipts:
        receipts = " Os arquivos dos comprovantes continuam na pasta de dados."
    return (
        f"O destino está pronto: {setting} e inicie o serviço.{nodes}{receipts} A origem não pode"
        f" mais ser usada. Para desfazer, antes de mudar a configuração: {program()} storage"
        " reopen."
    )


def _record(report: "Report", seconds: float) -> dict[str, object]:
    return {
        **record(report, "source target final"),
        "ok": not report.complaints,
        **record(report, "complaints holds_given_back"),
        "seconds": round(seconds, 3),
        "tables": [
            {
                "name": one.table.label,
                "rows": 0 if one.target_sum is None else one.target_sum.rows,
                **record(one, "inserted updated deleted"),
                "checksum_source": None if one.source_sum is None else one.source_sum.checksum,
                "checksum_target": None if one.target_sum is None else one.target_sum.checksum,
            }
            for one in report.tables
        ],
    }


@contextmanager
def _progress() -> "Iterator[MoveProgress]":
    """Show progress bars on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from balcao.backup.moving.copying import MoveProgress

    out = console(stderr=True)
    if not out.is_terminal:
        yield MoveProgress()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, TimeRemainingColumn(), console=out, transient=True) as bars:

        class Drawn(MoveProgress):
            """Progress with one bar per step."""

            task = bars.add_task("", total=None)

            def begin(self, step: str, rows_total: int) -> None:
                bars.reset(self.task, description=step, total=rows_total)

            def advance(self, rows: int) -> None:
                bars.advance(self.task, rows)

        yield Drawn()
