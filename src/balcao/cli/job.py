"""`balcao job`: what commits left to be done, and beginning anew what was given up."""

import typer

from balcao.cli.office import opened, wait_for
from balcao.cli.output import AsJson, print_json, print_table, record, when, whole
from balcao.examination.database import JOB_STATES

app = typer.Typer(
    no_args_is_help=True,
    help="Mostra as tarefas que ficaram por fazer, e recomeça as que não deram certo.",
)


@app.command("list")
def list_jobs(as_json: AsJson = False) -> None:
    """Mostra quantas tarefas de cada tipo estão à espera, em andamento ou sem êxito.

    Exemplo:

      $ balcao job list
    """
    with opened() as office:
        found = wait_for(office.desk.jobs.standing())
    if as_json:
        print_json([record(one, "kind state count error") for one in found])
        return
    rows = [
        (
            one.kind,
            JOB_STATES[one.state],
            whole(one.count),
            when(one.oldest_due_ms),
            one.error or "—",
        )
        for one in found
    ]
    print_table(("Tipo", "Estado", "Quantas", "Desde", "Erro"), rows)


@app.command()
def retry() -> None:
    """Recomeça as tarefas sem êxito; quem as faz é o serviço, se está no ar.

    Exemplo:

      $ balcao job retry
    """
    with opened() as office:
        count = wait_for(office.desk.jobs.retry(office.now_ms()))
    typer.echo(f"Recomeçadas: {whole(count)}.")
