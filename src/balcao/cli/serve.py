"""`balcao serve`: prepare a new installation if needed, then serve."""

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.installation import save_before_migration
from balcao.cli.output import console, print_step
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from balcao.home import Home
    from balcao.service.first_start import Issued
    from balcao.settings import Settings
    from balcao.storage.desk.desk import Desk


def serve(
    host: Annotated[
        str | None,
        typer.Option(help="Endereço de rede do serviço; padrão: BALCAO_HOST.", metavar="ENDEREÇO"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Porta; padrão: BALCAO_PORT.", metavar="PORTA"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Processos na mesma porta, com PostgreSQL; padrão: BALCAO_WORKERS.",
            metavar="N",
        ),
    ] = None,
) -> None:
    """Inicia o serviço. Na primeira vez, cria a pasta de dados, a sandbox e as contas de teste.

    Exemplo:

      $ balcao serve --port 8001
    """
    from balcao.examination.serving import check_port, check_tls, check_workers
    from balcao.settings.in_force import unknown_variables
    from balcao.storage.places import place_of

    settings = read_settings(host=host, port=port, workers=workers)
    for complaint in unknown_variables(os.environ):
        typer.echo(f"aviso: {complaint}", err=True)
    check_port(settings.host, settings.port)
    check_tls(settings)
    check_workers(settings, place_of(settings))
    if settings.workers > 1:
        for number in range(settings.workers):
            check_port("127.0.0.1", settings.worker_port(number))
    check_providers(settings)
    if settings.otel:
        check_tracing(os.environ)

    from balcao.home import Home
    from balcao.observability.logs import configure
    from balcao.service import compose, first_start, server, supervisor

    configure(settings.log_format, settings.log_level)
    home = Home(settings.home)
    save_before_migration(settings)
    issued = None if first_start.is_done(home) else _first_start(home, settings)
    if settings.workers > 1:
        with closing(place_of(settings).open_desk(pepper=home.pepper())) as desk:
            _announce(settings, desk, issued)
        if not supervisor.serve(settings):
            raise typer.Exit(1)
        exit_now()
    application = compose.open_application(settings)
    try:
        _announce(settings, application.desk, issued)
        server.serve(application)
    finally:
        application.close()
    exit_now()


def _announce(settings: "Settings", desk: "Desk", issued: "Sequence[Issued] | None") -> None:
    """Print the service's addresses, and after a first start the keys and the operator's link."""
    from balcao.accounts.links import first_operator_link
    from balcao.cli import welcome
    from balcao.home import Home
    from balcao.service import first_start

    if not issued:
        nobody = not desk.people.has_operator()
        typer.echo(welcome.start_message(settings, without_operator=nobody))
    else:
        token = first_operator_link(desk, system_now_ms())
        typer.echo(welcome.first_start_message(settings, issued, token))
    sys.stdout.flush()
    if issued is not None:
        first_start.finish(Home(settings.home), system_now_ms())


def _first_start(home: "Home", settings: "Settings") -> "Sequence[Issued]":
    from balcao.service import first_start

    out = console(stderr=True)
    if not out.is_terminal:
        return first_start.prepare(home, settings, now_ms=system_now_ms, report=print_step)
    with out.status("Primeiro início") as status:
        return first_start.prepare(
            home, settings, now_ms=system_now_ms, report=lambda step: status.update(f"{step}…")
        )


def exit_now() -> NoReturn:
    """Exit the process immediately, after everything is closed.

    Threads of libraries may still release Python objects. Under load one of them may find the
    interpreter shutting down and abort the process (seen in 6 of 60 exits).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def check_providers(settings: "Settings") -> None:
    """Check the configured providers before anything is created. Raises `ProviderUnusable`."""
    from balcao.examination.inventory.configured import with_settings

    for _, own in with_settings(settings):
        own.check()


def check_tracing(environment: "Mapping[str, str]") -> None:
    """Check that traces can be sent as configured. Raises `CommandFailed`.

    Messages repeat no value: a collector's address may contain a key.
    """
    try:
        import balcao.observability.tracing  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise CommandFailed(
            "BALCAO_OTEL está ativada, mas o OpenTelemetry não está instalado. Instale com make"
            " install-otel (ou pip install --require-hashes -r requirements-otel.lock) ou"
            " desative BALCAO_OTEL."
        ) from None
    named = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = next((environment[name] for name in named if environment.get(name)), None)
    if protocol not in (None, "http/protobuf"):
        raise CommandFailed(
            "Os traces são enviados por http/protobuf, e OTEL_EXPORTER_OTLP_PROTOCOL pede outro"
            " protocolo. Remova a variável e indique a porta HTTP do coletor (em geral 4318)."
        )
    for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        address = environment.get(name)
        if address and not address.startswith(("http://", "https://")):
            raise CommandFailed(
                f"{name} deve começar com http:// ou https://, como http://127.0.0.1:4318."
            )
