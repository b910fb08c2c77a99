"""`balcao ledger`: do the books agree?"""

import typer

from balcao.cli.office import opened
from balcao.cli.output import AsJson, print_json, record, whole

app = typer.Typer(no_args_is_help=True, help="Confere o livro de créditos.")


@app.callback()
def ledger() -> None:
    """Confere o livro de créditos."""  # keeps `check` a command of its own


@app.command()
def check(as_json: AsJson = False) -> None:
    """Soma tudo de novo: saldos, retenções e orçamentos contra os lançamentos.

    Funciona com o servidor no ar. Sai com código 1 quando algo não confere.

    Exemplo:

      $ balcao ledger check
    """
    with opened() as office:
        found = office.desk.check()
    if as_json:
        books = record(found, "accounts entries open_operations budgets complaints remarks")
        print_json({"ok": not found.complaints, **books})
    elif not found.complaints:
        typer.echo(
            f"O livro confere: {whole(found.accounts)} contas, {whole(found.entries)}"
            f" lançamentos, {whole(found.open_operations)} operações abertas,"
            f" {whole(found.budgets)} orçamentos."
        )
        for remark in found.remarks:
            typer.echo(f"  {remark}")
    else:
        typer.echo("O livro não confere:", err=True)
        for complaint in found.complaints:
            typer.echo(f"  {complaint}", err=True)
    if found.complaints:
        raise typer.Exit(1)
