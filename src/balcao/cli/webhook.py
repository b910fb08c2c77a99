"""`balcao webhook`: the addresses that an account's events are sent to."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from balcao.cli.arguments import one_of
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import AccountName, Installation, open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, iso, program, record, show, when
from balcao.core.people import AT_THE_TERMINAL

if TYPE_CHECKING:
    from balcao.accounts.webhooks.desk import WebhookDesk
    from balcao.storage.webhooks import Delivery, Webhook

app = typer.Typer(no_args_is_help=True)

_STATES = ("esperando", "entregue", "falhou", "desistiu")

Number = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id do webhook (webhook list).")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="TIPO", help="Só este tipo de evento ou grupo (certidao.*); pode repetir."
    ),
]
Clients = Annotated[
    list[str] | None,
    typer.Option("--client", metavar="CLIENTE", help="Só itens deste cliente; pode repetir."),
]
Description = Annotated[str | None, typer.Option(metavar="TEXTO", help="Descrição.")]


@app.command()
def create(
    account: AccountName,
    url: Annotated[str, typer.Argument(metavar="ENDEREÇO", help="Endereço, com https://.")],
    *,
    types: Kinds = None,
    clients: Clients = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Cria um webhook. O segredo das assinaturas aparece só agora.

    Recebe os eventos a partir deste momento. O nome do servidor é verificado: todos os seus
    endereços precisam ser públicos, ou estar em webhook_private_cidrs.

    Exemplo:

      $ balcao webhook create acme https://erp.exemplo.com.br/balcao
      $ balcao webhook create acme https://erp.exemplo.com.br/balcao --type 'certidao.*'
    """
    with open_installation() as local, _explained():
        account_id = local.account(account).account_id
        shown = wait_for(
            _desk(local).create(
                account_id,
                url,
                AT_THE_TERMINAL,
                kinds=types or None,
                clients=clients or None,
                description=description,
            )
        )
    made = {**as_record(shown.webhook), "secret": shown.secret}
    text = (
        f"Webhook {shown.webhook.webhook_id} criado.\nSegredo, mostrado só agora: {shown.secret}\n"
        f"Teste: {program()} webhook test {account} {shown.webhook.webhook_id}"
    )
    show(as_json, made, text)


@app.command("list")
def list_webhooks(account: AccountName, as_json: AsJson = False) -> None:
    """Lista os webhooks de uma conta, com o estado e as entregas em espera.

    Exemplo:

      $ balcao webhook list acme
    """
    with open_installation() as local:
        found = wait_for(_desk(local).all(local.account(account).account_id))
    table = TextTable(
        found,
        {
            "Id": lambda each: each.webhook_id,
            "Endereço": lambda each: each.url,
            "Estado": _state,
            "Tipos": lambda each: ", ".join(each.kinds or ["todos"]),
            "Última entrega": lambda each: _when(each.success_ms),
            "Em espera": lambda each: each.waiting,
        },
        numbers=("Em espera",),
        foldable=("Endereço", "Tipos"),
        unbroken=("Id",),
    )
    show(as_json, [as_record(each) for each in found], table)


@app.command()
def change(
    account: AccountName,
    webhook: Number,
    *,
    url: Annotated[str | None, typer.Option(metavar="ENDEREÇO", help="Outro endereço.")] = None,
    types: Kinds = None,
    all_types: Annotated[
        bool, typer.Option("--all-types", help="Passa a receber todos os tipos.")
    ] = False,
    clients: Clients = None,
    all_clients: Annotated[
        bool, typer.Option("--all-clients", help="Passa a receber os eventos de todos.")
    ] = False,
    description: Description = None,
    on: Annotated[
        bool | None, typer.Option("--on/--off", help="Ativa ou desativa os envios.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Altera, ativa ou desativa um webhook. Desativado, nada é enviado e nada se perde.

    Ativado de novo, recebe os eventos seguintes; webhook resend envia os anteriores.

    Exemplo:

      $ balcao webhook change acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9 --off
    """
    given: dict[str, Any] = {
        "url": url,
        "kinds": types or None,
        "clients": clients or None,
        "description": description,
        "on": on,
    }
    changes = {field: value for field, value in given.items() if value is not None}
    changes |= {"kinds": None} if all_types else {}
    changes |= {"clients": None} if all_clients else {}
    if not changes:
        refuse(
            "informe o que mudar: --url, --type, --client, --description, --on ou --off.", "--on"
        )
    with open_installation() as local, _explained():
        account_id = local.account(account).account_id
        after = wait_for(_desk(local).change(account_id, webhook, AT_THE_TERMINAL, **changes))
    show(as_json, as_record(after), f"Webhook {webhook} alterado: {_state(after)}.")


@app.command()
def delete(account: AccountName, webhook: Number, as_json: AsJson = False) -> None:
    """Remove um webhook e suas entregas para sempre.

    Exemplo:

      $ balcao webhook delete acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9
    """
    with open_installation() as local, _explained():
        account_id = local.account(account).account_id
        last = wait_for(_desk(local).remove(account_id, webhook, AT_THE_TERMINAL))
    show(as_json, as_record(last), f"Webhook {webhook} removido.")


@app.command("test")
def send_test(account: AccountName, webhook: Number, as_json: AsJson = False) -> None:
    """Envia um evento balcao.ping a um webhook, mesmo desativado. O serviço precisa estar no ar.

    Exemplo:

      $ balcao webhook test acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9
    """
    with open_installation() as local, _explained():
        account_id = local.account(account).account_id
        event = wait_for(_desk(local).ping(account_id, webhook))
    text = f"Teste {event} na fila. Resultado: {program()} webhook deliveries {account} {webhook}"
    show(as_json, {"event": event}, text)


@app.command()
def deliveries(
    account: AccountName,
    webhook: Number,
    *,
    state: Annotated[
        str | None,
        typer.Option(parser=one_of(_STATES), metavar="ESTADO", help=", ".join(_STATES) + "."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Quantas.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Lista as entregas dos últimos 30 dias, da mais recente à mais antiga.

    Exemplo:

      $ balcao webhook deliveries acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9 --state desistiu
    """
    from balcao.core.events import event_id

    with open_installation() as local, _explained():
        desk = _desk(local)
        found_webhook = wait_for(desk.one(local.account(account).account_id, webhook))
        kept: Any = state
        found = wait_for(desk.deliveries(found_webhook, state=kept, limit=limit))
    table = TextTable(
        found,
        {
            "Id": lambda each: each.delivery_id,
            "Evento": lambda each: event_id(each.event_id),
            "Tipo": lambda each: each.kind or "–",
            "Estado": lambda each: each.state,
            "Tentativas": lambda each: each.attempts,
            "Em": lambda each: _when(each.at_ms),
            "Status": lambda each: each.status or "–",
            "Próxima": lambda each: _when(each.next_ms),
            "Resposta": lambda each: each.response or "",
        },
        numbers=("Tentativas",),
        foldable=("Resposta",),
        unbroken=("Id", "Evento"),
    )
    show(as_json, [_delivery_record(each) for each in found], table)


@app.command()
def resend(
    account: AccountName,
    webhook: Number,
    *,
    delivery: Annotated[
        int | None, typer.Option(metavar="ENTREGA", help="Só esta entrega (webhook deliveries).")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=30, metavar="N", help="As dos últimos N dias.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Também as que já foram entregues.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reenvia entregas, da mais antiga à mais recente, com os mesmos identificadores.

    Sem --all, só o que não foi entregue, inclusive enquanto o webhook esteve desativado.

    Exemplo:

      $ balcao webhook resend acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9 --days 3
      $ balcao webhook resend acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9 --delivery 81
    """
    from balcao.core.freshness import DAY_MS

    if (delivery is None) == (days is None):
        refuse("informe --delivery ou --days.", "--days")
    with open_installation() as local, _explained():
        desk = _desk(local)
        found = wait_for(desk.one(local.account(account).account_id, webhook))
        if delivery is not None:
            count = wait_for(desk.resend_one(found, delivery))
        else:
            since = local.now_ms() - (days or 0) * DAY_MS
            count = wait_for(desk.resend(found, since, None, failed_only=not everything))
    show(as_json, {"resending": count}, f"Entregas a reenviar: {count}.")


@app.command()
def rotate(
    account: AccountName,
    webhook: Number,
    *,
    hours: Annotated[
        int,
        typer.Option(
            min=0, max=168, metavar="N", help="Por quantas horas o segredo anterior também assina."
        ),
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """Troca o segredo de um webhook. O novo aparece só agora.

    Exemplo:

      $ balcao webhook rotate acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9 --hours 48
    """
    with open_installation() as local, _explained():
        account_id = local.account(account).account_id
        shown = wait_for(_desk(local).rotate(account_id, webhook, hours, AT_THE_TERMINAL))
    made = {**as_record(shown.webhook), "secret": shown.secret}
    show(as_json, made, f"Segredo novo, mostrado só agora: {shown.secret}")


@contextmanager
def _explained() -> Iterator[None]:
    """Convert errors about webhooks to `CommandFailed`."""
    from balcao.core.errors import CallerError

    try:
        yield
    except CallerError as error:
        raise CommandFailed(error.message) from None


def _desk(local: Installation) -> "WebhookDesk":
    import uuid_utils

    from balcao.accounts.seal import Seal
    from balcao.accounts.secrets import secrets_of
    from balcao.accounts.webhooks.desk import WebhookDesk

    return WebhookDesk(
        local.desk,
        Seal(secrets_of(local.home, local.desk)),
        local.settings.webhook_private_cidrs,
        local.now_ms,
        lambda: str(uuid_utils.uuid7()),
    )


_REASONS = {
    "usuario": "por um usuário",
    "http_410": "o endereço respondeu 410",
    "sem_sucesso": "5 dias sem entrega",
}


def _state(webhook: "Webhook") -> str:
    reason = webhook.reason
    return webhook.state if reason is None else f"{webhook.state} ({_REASONS[reason]})"


def _when(at_ms: int | None) -> str:
    return "–" if at_ms is None else when(at_ms)


def as_record(webhook: "Webhook") -> Mapping[str, object]:
    """Return an endpoint's record for `--json`, without its secrets."""
    return {
        **record(webhook, "webhook_id url kinds clients description state reason secret_tail"),
        "created_at": iso(webhook.created_ms),
        "success_at": iso(webhook.success_ms),
        "next_at": iso(webhook.next_ms),
        "waiting": webhook.waiting,
    }


def _delivery_record(delivery: "Delivery") -> Mapping[str, object]:
    from balcao.core.events import event_id

    return {
        **record(delivery, "delivery_id kind state attempts status duration_ms response"),
        "event": event_id(delivery.event_id),
        "at": iso(delivery.at_ms),
        "next_at": iso(delivery.next_ms),
    }
