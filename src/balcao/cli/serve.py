"""`balcao serve`: prepare what is missing, then serve."""

import errno
import os
import socket
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from balcao.cli.before_migration import save_before_migration
from balcao.cli.configuration import read_settings, unknown_variables
from balcao.cli.failures import CommandFailed
from balcao.cli.output import console, on_home, program, told_step
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from balcao.home import Home
    from balcao.service.first_start import Issued
    from balcao.settings import Settings


def serve(
    host: Annotated[
        str | None,
        typer.Option(help="Endereço onde ouvir; padrão: BALCAO_HOST.", metavar="ENDEREÇO"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Porta; padrão: BALCAO_PORT.", metavar="PORTA"),
    ] = None,
) -> None:
    """Inicia o serviço. Na primeira vez, cria a pasta de dados, a sandbox e as contas de teste.

    Exemplo:

      $ balcao serve --port 8001
    """
    settings = read_settings(host=host, port=port)
    for complaint in unknown_variables(os.environ):
        typer.echo(f"aviso: {complaint}", err=True)
    check_port(settings.host, settings.port)
    check_tls(settings)
    check_fronts(settings)
    check_providers(settings)
    if settings.otel:
        check_tracing(os.environ)

    from balcao.accounts.links import first_operator_link
    from balcao.cli import welcome
    from balcao.home import Home
    from balcao.observability.logs import configure
    from balcao.service import compose, first_start, server

    configure(settings.log_format, settings.log_level)
    home = Home(settings.home)
    save_before_migration(settings)
    issued = None if first_start.is_done(home) else _first_start(home, settings)
    application = compose.open_application(settings)
    try:
        if not issued:
            nobody = not application.desk.people.has_operator()
            typer.echo(welcome.later_words(settings, without_operator=nobody))
        else:
            token = first_operator_link(application.desk, system_now_ms())
            typer.echo(welcome.first_words(settings, issued, token))
        sys.stdout.flush()
        if issued is not None:
            first_start.finish(home, system_now_ms())
        server.serve(application)
    finally:
        application.close()
    leave()


def _first_start(home: "Home", settings: "Settings") -> "Sequence[Issued]":
    from balcao.service import first_start

    out = console(stderr=True)
    if not out.is_terminal:
        return first_start.prepare(home, settings, now_ms=system_now_ms, say=told_step)
    with out.status("Primeiro início") as status:
        return first_start.prepare(
            home, settings, now_ms=system_now_ms, say=lambda step: status.update(f"{step}…")
        )


def leave() -> NoReturn:
    """End the process at once, when everything is closed.

    Threads of libraries (Granian's, where it serves) may still be letting go of Python objects.
    Under load one of them meets an interpreter that is being taken down and aborts the process
    (seen: 6 ends in 60).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def check_port(host: str, port: int) -> None:
    """Find out now whether we may listen there. Raises `CommandFailed`."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise CommandFailed(
            f"O endereço {host} não existe nesta máquina. Use 127.0.0.1 (só daqui) ou 0.0.0.0"
            " (de toda a rede) em BALCAO_HOST."
        ) from None
    with socket.socket(family, kind, protocol) as probe:
        # Connections that were closed a moment ago are no obstacle; a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            raise CommandFailed(_no_port(error, host, port)) from None


def _no_port(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else port - 1
        return (
            f"A porta {port} já está em uso em {host}. Encerre quem a usa, ou escolha outra:"
            f" {on_home(f'make serve PORT={other}')} (ou {program()} serve --port {other})."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return (
            f"Sem permissão para a porta {port}. Escolha uma acima de 1023:"
            f" {on_home('make serve PORT=8000')}."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"O endereço {host} não é desta máquina. Corrija BALCAO_HOST."
    return f"Não é possível ouvir em {host}, porta {port}: {error.strerror}."


def check_tls(settings: "Settings") -> None:
    """Both files, readable and of one pair, or none. Raises `CommandFailed`."""
    certificate, key = settings.tls_certificate, settings.tls_key
    if settings.http2 and certificate is None:
        raise CommandFailed(
            "BALCAO_HTTP2 precisa de HTTPS: defina BALCAO_TLS_CERTIFICATE e BALCAO_TLS_KEY, ou"
            " desligue-a."
        )
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise CommandFailed(
            "HTTPS precisa dos dois arquivos: BALCAO_TLS_CERTIFICATE e BALCAO_TLS_KEY."
        )
    import ssl

    for path in (certificate, key):
        if not os.access(path, os.R_OK) or not path.is_file():
            raise CommandFailed(f"O arquivo de TLS {path} não existe ou não pode ser lido.")
    try:
        # An empty password: an encrypted key is an error here, and not a question.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise CommandFailed(
            f"Os arquivos de TLS {certificate} e {key} não formam um par em PEM, com a chave sem"
            " senha."
        ) from None


def check_fronts(settings: "Settings") -> None:
    """Several fronts, and nothing that they cannot do (decision 0046). Raises `CommandFailed`."""
    if settings.fronts == 1:
        return
    if not settings.lane:
        raise CommandFailed("BALCAO_FRONTS precisa de BALCAO_LANE: ligue-a, ou use uma frente só.")
    unable = {
        "BALCAO_OTEL": settings.otel,
        "BALCAO_HTTP2": settings.http2,
        "BALCAO_TLS_CERTIFICATE": settings.tls_certificate is not None,
    }
    for name, wanted in unable.items():
        if wanted:
            raise CommandFailed(
                f"BALCAO_FRONTS não funciona com {name}. Use uma frente só; ou desligue {name}, com"
                " o HTTPS em um proxy à frente."
            )


def check_providers(settings: "Settings") -> None:
    """Find out before anything is made. Raises `ProviderUnusable`."""
    from balcao.inventory.configured import named

    for _, own in named(settings):
        own.check()


def check_tracing(environment: "Mapping[str, str]") -> None:
    """Traces are wanted: can they be sent as the variables say? Raises `CommandFailed`.

    No value is repeated: a collector's address may hold a key.
    """
    try:
        import balcao.observability.tracing  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise CommandFailed(
            "BALCAO_OTEL está ligada, mas o OpenTelemetry não está instalado. Instale-o com"
            " make install-otel (ou pip install --require-hashes -r requirements-otel.lock), ou"
            " desligue BALCAO_OTEL."
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
