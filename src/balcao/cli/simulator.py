"""`balcao simulator`: serve only the simulated providers, for load tests and trials."""

import asyncio
import contextlib
import json
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.output import program
from balcao.cli.serve import exit_now

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from balcao.providers.contract import MutualTls

app = typer.Typer(no_args_is_help=True)

HOST = "127.0.0.1"
CONNECTIONS_MAX = 4096  # 64 lookups of all UFs at once open 1728


@app.callback()
def simulator() -> None:
    """Simula as fontes, sozinhas em um servidor."""  # so that `serve` stays a subcommand


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
            help="Duração, em segundos, da espera de uma fonte que nunca responde.",
            metavar="N",
        ),
    ] = 3600,
) -> None:
    """Inicia as fontes simuladas, que respondem como as reais, com dados fictícios.

    Contas de teste já usam essas fontes, sem este servidor. Use o comando para testar contas de
    produção e para testes de carga.

    Com --tls-port, as SEFAZ também atendem em TLS e exigem um certificado A1. Na pasta de
    --certificates há um válido, um vencido, um sem CNPJ e um de empresa não habilitada.

    Exemplo:

      $ balcao simulator serve --port 8100 --tls-port 8143 --delay-ms 200
    """
    from balcao.examination.serving import check_port

    if port == tls_port:
        raise CommandFailed("--port e --tls-port devem ser portas diferentes.")
    if certificates is not None and tls_port is None:
        raise CommandFailed("--certificates só serve junto com --tls-port.")
    check_port(HOST, port)
    behind_tls = None
    if tls_port is not None:
        check_port(HOST, tls_port)
        behind_tls = by_certificate(certificates or read_settings().home / "simulator")
    from balcao.providers.simulation.app import create_server_app

    patient = partial(create_server_app, delay_seconds=delay_ms / 1000, never_seconds=never_seconds)
    typer.echo(settings_lines(port, tls_port, behind_tls))
    sys.stdout.flush()
    asyncio.run(_serve(patient, port, tls_port, behind_tls))
    exit_now()


def by_certificate(folder: Path) -> "Mapping[str, MutualTls]":
    """Return the mutual TLS of each provider that uses client certificates."""
    from balcao.providers import PROVIDERS

    now = datetime.now(UTC)
    return {each.name: each.mutual_tls(folder, now) for each in PROVIDERS if each.by_certificate}


def settings_lines(
    port: int, tls_port: int | None = None, behind_tls: "Mapping[str, MutualTls] | None" = None
) -> str:
    """Return the settings that point live accounts to the simulator."""
    from balcao.providers import PROVIDERS

    base = f"http://{HOST}:{port}"
    behind_tls = behind_tls or {}
    exports = []
    for provider in PROVIDERS:
        tls = behind_tls.get(provider.name)
        own = provider.settings_class.simulated(
            base if tls is None else f"https://{HOST}:{tls_port}"
        )
        given = {name: getattr(own, name) for name in own.model_fields_set}
        given |= {} if tls is None else tls.settings
        exports += [
            f"  export {provider.variable(name)}={shlex.quote(_written(given[name]))}"
            for name in sorted(given, key=["url", *provider.settings_class.model_fields].index)
        ]
    return "\n".join(
        [
            f"Fontes simuladas em {base}. Para usar em contas de produção:",
            "",
            *exports,
            f"  {program()} serve",
            "",
            *(line for tls in behind_tls.values() for line in (*tls.notes, "")),
            "Ctrl+C encerra.",
        ]
    )


def _written(value: object) -> str:
    """Return a setting's value as in an environment variable."""
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        return str(value.get_secret_value())
    return str(value) if isinstance(value, str | Path) else json.dumps(value)


async def _serve(
    create: "Callable[..., ASGIApp]",
    port: int,
    tls_port: int | None,
    behind_tls: "Mapping[str, MutualTls] | None",
) -> None:
    from balcao.providers import PROVIDERS
    from balcao.providers.simulation.server import ListenerLimits, listening, server_context

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with contextlib.AsyncExitStack() as listeners:
        many = ListenerLimits(requests=CONNECTIONS_MAX)
        await listeners.enter_async_context(listening(create(), host=HOST, port=port, limits=many))
        if tls_port is not None and behind_tls is not None:
            there = create(providers=[each for each in PROVIDERS if each.name in behind_tls])
            context = server_context(behind_tls.values())
            await listeners.enter_async_context(
                listening(there, host=HOST, port=tls_port, context=context)
            )
        await stopping.wait()
