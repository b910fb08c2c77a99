"""`balcao simulator`: the simulated providers alone, for load tests and live accounts' trials."""

import asyncio
import contextlib
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.output import program
from balcao.cli.serve import check_port, leave

if TYPE_CHECKING:
    from balcao.simulator.certificates import Certificates

app = typer.Typer(no_args_is_help=True, help="Simula as fontes, sozinhas em um servidor.")

HOST = "127.0.0.1"
CONNECTIONS_MAX = 4096  # 64 lookups of all UFs at once open 1728


@app.callback()
def simulator() -> None:
    """Simula as fontes, sozinhas em um servidor."""  # keeps `serve` a command of its own


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Porta.", metavar="PORTA")] = 8100,
    tls_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Porta das SEFAZ com certificado de cliente (TLS mútuo); padrão: nenhuma.",
            metavar="PORTA",
        ),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(
            help="Pasta dos certificados fictícios, criados se faltarem; padrão: simulator,"
            " na pasta de dados.",
            metavar="PASTA",
        ),
    ] = None,
    delay_ms: Annotated[
        int,
        typer.Option(
            min=0, max=600_000, help="Tempo de cada resposta, em milissegundos.", metavar="N"
        ),
    ] = 0,
    never_seconds: Annotated[
        int,
        typer.Option(
            min=1,
            max=86_400,
            help="Quantos segundos dura a espera de quem nunca responde.",
            metavar="N",
        ),
    ] = 3600,
) -> None:
    """Serve as fontes simuladas, que respondem como as verdadeiras, só com dados fictícios.

    Contas de teste já são respondidas por elas, sem este servidor. Ele serve para ensaiar
    contas de produção, e para ensaios de carga.

    Com --tls-port, as SEFAZ também atendem em TLS, e então exigem um certificado A1. Na pasta
    de --certificates há um bom, um vencido, um sem CNPJ e um de empresa não habilitada.

    Exemplo:

      $ balcao simulator serve --port 8100 --tls-port 8143 --delay-ms 200
    """
    if port == tls_port:
        raise CommandFailed("--port e --tls-port devem ser portas diferentes.")
    if certificates is not None and tls_port is None:
        raise CommandFailed("--certificates só serve junto com --tls-port.")
    check_port(HOST, port)
    made = None
    if tls_port is not None:
        check_port(HOST, tls_port)
        made = _certificates(certificates)
    from balcao.simulator.app import create_server_app

    application = create_server_app(delay_seconds=delay_ms / 1000, never_seconds=never_seconds)
    typer.echo(settings_lines(port, tls_port, made))
    sys.stdout.flush()
    asyncio.run(_serve(application, port, tls_port, made))
    leave()


def _certificates(folder: Path | None) -> "Certificates":
    from datetime import UTC, datetime

    from balcao.simulator.certificates import certificates_in

    if folder is None:
        folder = read_settings().home / "simulator"
    return certificates_in(folder, datetime.now(UTC))


def settings_lines(
    port: int, tls_port: int | None = None, certificates: "Certificates | None" = None
) -> str:
    """What makes live accounts ask the simulator."""
    base = f"http://{HOST}:{port}"
    values = [
        ("MINHA_RECEITA__URL", f"{base}/minha-receita"),
        ("CNPJA__URL", f"{base}/cnpja"),
        ("CNPJA__KEY", "sandbox"),
        ("CNPJA__ACCEPTS_ALPHANUMERIC", "true"),
        ("SERPRO__URL", f"{base}/serpro"),
        ("SERPRO__CONSUMER_KEY", "sandbox"),
        ("SERPRO__CONSUMER_SECRET", "sandbox"),
        ("SERPRO__FULL_PARTNERS", "true"),
        ("INFOSIMPLES__URL", f"{base}/infosimples"),
        ("INFOSIMPLES__TOKEN", "sandbox"),
        ("INFOSIMPLES__RECEIPT_ORIGINS", f'["{base}"]'),
        *_of_treasuries(base, tls_port, certificates),
    ]
    exports = [f"  export BALCAO_{name}={shlex.quote(value)}" for name, value in values]
    return "\n".join(
        [
            f"Fontes simuladas em {base}. Para que contas de produção as consultem:",
            "",
            *exports,
            f"  {program()} serve",
            "",
            *_about(certificates),
            "Ctrl+C encerra.",
        ]
    )


def _of_treasuries(
    base: str, tls_port: int | None, certificates: "Certificates | None"
) -> list[tuple[str, str]]:
    if tls_port is None or certificates is None:
        return [("SEFAZ__URL", f"{base}/sefaz")]
    from balcao.simulator.certificates import PASSWORD

    return [
        ("SEFAZ__URL", f"https://{HOST}:{tls_port}/sefaz"),
        ("SEFAZ__CERTIFICATE", str(certificates.client.absolute())),
        ("SEFAZ__PASSWORD", PASSWORD),
        ("SEFAZ__CA_FILE", str(certificates.authority.absolute())),
    ]


def _about(certificates: "Certificates | None") -> list[str]:
    """The clients that a treasury refuses."""
    if certificates is None:
        return []
    return [
        "Na mesma pasta e com a mesma senha, certificados que as SEFAZ recusam:",
        "",
        f"  {certificates.refused_client.name}: a empresa não é habilitada (cStat 257)",
        f"  {certificates.expired_client.name}: está vencido (cStat 281)",
        f"  {certificates.client_without_cnpj.name}: não tem CNPJ (cStat 282)",
        "",
    ]


async def _serve(
    application: Any, port: int, tls_port: int | None, certificates: "Certificates | None"
) -> None:
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server.embed import Server

    server = Server(
        application,
        address=HOST,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        backlog=CONNECTIONS_MAX,
        backpressure=CONNECTIONS_MAX,
        log_level=LogLevels.error,  # it warns that it is embedded, which we know
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    async with contextlib.AsyncExitStack() as beside:
        if tls_port is not None and certificates is not None:
            from balcao.simulator.tls import listening, server_context

            context = server_context(certificates)
            await beside.enter_async_context(
                listening(application, host=HOST, port=tls_port, context=context)
            )
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve()
