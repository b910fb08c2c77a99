"""`balcao job`: list unfinished jobs, and retry failed ones."""

import typer

from balcao.cli.installation import open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, record, show, whole

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_jobs(as_json: AsJson = False) -> None:
    """Mostra quantas tarefas de cada tipo estão na fila, em andamento ou com falha.

    Exemplo:

      $ balcao job list
    """
    from balcao.examination.database import JOB_STATES

    with open_installation() as local:
        found = wait_for(local.desk.jobs.counts())
    table = TextTable(
        found,
        {
            "Tipo": "kind",
            "Estado": lambda one: JOB_STATES[one.state],
            "Quantas": "count",
            "Desde": "oldest_due_ms",
            "Erro": lambda one: one.error or None,
        },
    )
    show(as_json, [record(one, "kind state count error") for one in found], table)


@app.command()
def retry() -> None:
    """Recomeça as tarefas com falha. O serviço precisa estar em funcionamento.

    Exemplo:

      $ balcao job retry
    """
    with open_installation() as local:
        count = wait_for(local.desk.jobs.retry(local.now_ms()))
    typer.echo(f"Recomeçadas: {whole(count)}.")
