"""`balcao mail`: send a test message, and list the queue."""

from typing import Annotated

import typer

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, record, show

app = typer.Typer(no_args_is_help=True)

_KINDS = {
    "invitation": "convite",
    "password_reset": "nova senha",
    "recovery_code": "código de recuperação usado",
    "low_balance": "saldo baixo",
    "digest": "resumo da carteira",
    "urgent": "aviso da carteira",
}


@app.command()
def test(
    address: Annotated[str, typer.Argument(metavar="EMAIL", help="Quem recebe a mensagem.")],
) -> None:
    """Envia uma mensagem de teste, agora e sem passar pela fila.

    Exemplo:

      $ balcao mail test voce@exemplo.com.br
    """
    import asyncio
    import secrets

    from balcao.accounts.mail.rendering import mime_message
    from balcao.accounts.mail.sending import connected
    from balcao.core.mail import trial
    from balcao.core.people import is_email
    from balcao.examination.mail import explain_mail
    from balcao.service.clock import system_now_ms

    if not is_email(address):
        refuse("não é um endereço de e-mail.", "EMAIL")
    server = read_settings().mail_server
    if server is None:
        raise CommandFailed(
            "Nenhum servidor de e-mail. Defina BALCAO_SMTP_HOST e BALCAO_SMTP_FROM."
        )
    message = mime_message(secrets.token_hex(16), server.sender, address, trial(), system_now_ms())

    async def send() -> None:
        async with connected(server) as client:
            await client.send_message(message)

    try:
        asyncio.run(send())
    except Exception as error:
        problem = explain_mail(error, server)
        if problem is None:
            raise
        raise CommandFailed(f"A mensagem não foi enviada: {problem}.") from None
    typer.echo(f"{server.host} aceitou a mensagem. Confira a caixa de entrada.")


@app.command("list")
def list_mail(as_json: AsJson = False) -> None:
    """Mostra quantas mensagens estão na fila ou foram recusadas pelo servidor.

    Mensagens enviadas saem da fila. As vencidas são descartadas.

    Exemplo:

      $ balcao mail list
    """
    with open_installation() as local:
        found = wait_for(local.desk.mail.counts())
    table = TextTable(
        found,
        {
            "Mensagem": lambda one: _KINDS.get(one.kind, one.kind),
            "Estado": lambda one: "na fila" if one.refusal is None else f"recusada: {one.refusal}",
            "Quantas": "count",
            "Tentativas": "attempts",
            "Desde": "oldest_ms",
        },
        empty="Nenhuma mensagem na fila.",
    )
    show(as_json, [record(one, "kind refusal count attempts oldest_ms") for one in found], table)
