"""`balcao simulator`: the simulated providers alone, for load tests and live accounts' trials."""

import asyncio
import contextlib
import signal
import sys
from typing import Annotated, Any

import typer

from balcao.cli.output import program
from balcao.cli.serve import check_port, leave

app = typer.Typer(no_args_is_help=True, help="Simula as fontes, sozinhas em um servidor.")

HOST = "127.0.0.1"


@app.callback()
def simulator() -> None:
    """Simula as fontes, sozinhas em um servidor."""  # keeps `serve` a command of its own


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Porta.", metavar="PORTA")] = 8100,
) -> None:
    """Serve as fontes simuladas, que respondem como as verdadeiras, só com dados fictícios.

    Contas de teste já são respondidas por elas, sem este servidor. Ele serve para ensaiar
    contas de produção, e para ensaios de carga.

    Exemplo:

      $ balcao simulator serve --port 8100
    """
    check_port(HOST, port)
    from balcao.simulator.app import create_server_app

    typer.echo(settings_lines(port))
    sys.stdout.flush()
    asyncio.run(_serve(create_server_app(), port))
    leave()


def settings_lines(port: int) -> str:
    """What makes live accounts ask the simulator."""
    base = f"http://{HOST}:{port}"
    return "\n".join(
        [
            f"Fontes simuladas em {base}. Para que contas de produção as consultem:",
            "",
            f"  export BALCAO_MINHA_RECEITA__URL={base}/minha-receita",
            f"  export BALCAO_CNPJA__URL={base}/cnpja",
            "  export BALCAO_CNPJA__KEY=sandbox",
            "  export BALCAO_CNPJA__ACCEPTS_ALPHANUMERIC=true",
            f"  export BALCAO_SERPRO__URL={base}/serpro",
            "  export BALCAO_SERPRO__CONSUMER_KEY=sandbox",
            "  export BALCAO_SERPRO__CONSUMER_SECRET=sandbox",
            "  export BALCAO_SERPRO__FULL_PARTNERS=true",
            f"  {program()} serve",
            "",
            "Ctrl+C encerra.",
        ]
    )


async def _serve(application: Any, port: int) -> None:
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server.embed import Server

    server = Server(
        application,
        address=HOST,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        log_level=LogLevels.error,  # it warns that it is embedded, which we know
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    with contextlib.suppress(asyncio.CancelledError):
        await server.serve()
