"""The tree of commands."""

from typing import Annotated

import typer

from balcao import __version__
from balcao.cli import (
    account,
    backup,
    batch,
    budget,
    certificate_extension,
    config,
    credit,
    doctor,
    errors,
    job,
    key,
    ledger,
    lookup,
    opendata,
    quote,
    routes,
    search,
    serve,
    sign_in,
    simulator,
    source,
    storage,
    subject,
    usage,
    user,
)
from balcao.cli.portuguese import apply_portuguese

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show values, perhaps secrets
    rich_markup_mode="rich",
)


def _show_version(show: bool) -> None:
    if show:
        typer.echo(f"balcao {__version__}")
        raise typer.Exit


@app.callback()
def balcao(
    version: Annotated[
        bool, typer.Option("--version", help="Mostra a versão e sai.", callback=_show_version)
    ] = False,
) -> None:
    """Balcão: consultas a cadastros brasileiros, pagas em créditos.

    Comece por iniciar o serviço. Ele prepara tudo o que falta.

      $ balcao serve

    Os dados ficam na pasta BALCAO_HOME (padrão: .balcao). Todas as configurações:

      $ balcao config show
    """


app.command("serve")(serve.serve)
app.command("open")(sign_in.sign_in)
app.add_typer(account.app, name="account")
app.add_typer(key.app, name="key")
app.add_typer(budget.app, name="budget")
app.add_typer(user.app, name="user")
app.add_typer(credit.app, name="credit")
app.command("usage")(usage.usage)
app.command("quote")(quote.quote)
app.command("lookup")(lookup.lookup)
app.add_typer(batch.app, name="batch")
app.command("search")(search.search)
app.add_typer(ledger.app, name="ledger")
app.add_typer(job.app, name="job")
app.add_typer(certificate_extension.app, name="certificate-extension")
app.add_typer(subject.app, name="subject")
app.add_typer(backup.app, name="backup")
app.add_typer(storage.app, name="storage")
app.add_typer(opendata.app, name="opendata")
app.add_typer(source.app, name="source")
app.add_typer(simulator.app, name="simulator")
app.add_typer(config.app, name="config")
app.command("routes")(routes.routes)
app.command("errors")(errors.errors)
app.command("doctor")(doctor.doctor)
# Portuguese aliases of commands, for scripts.
app.command("abrir", hidden=True)(sign_in.sign_in)
app.command("consultar", hidden=True)(lookup.lookup)
apply_portuguese(app)
