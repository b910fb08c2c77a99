"""`/app/webhooks`: an account's webhooks, their deliveries and actions (contract 19.4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import Field
from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.errors import (
    BalcaoError,
    CallerError,
    FormDone,
    InvalidInput,
    WebhookAddressRefused,
    WebhookNotFound,
)
from balcao.core.events import event_id
from balcao.core.freshness import DAY_MS
from balcao.core.problems import problem_of
from balcao.core.webhook_addresses import URL_CHARACTERS_MAX
from balcao.core.webhooks import (
    DELIVERIES_KEPT_DAYS,
    DELIVERY_STATES,
    DESCRIPTION_CHARACTERS_MAX,
    ROTATION_HOURS,
    ROTATION_HOURS_MAX,
    WEBHOOKS_MAX,
    DeliveryState,
)
from balcao.storage.webhooks import Webhook
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import TypedForm, read
from balcao.web.kit.words.vocabulary import Word

DELIVERIES_SHOWN = 50
_DONE: Mapping[str, str] = {
    "mudado": "Webhook alterado.",
    "ligado": "Webhook ativado. Ele recebe os próximos eventos.",
    "desligado": "Webhook desativado. Nada mais é enviado, e nada se perde.",
    "teste": "Teste enviado. O resultado aparece nas entregas em alguns segundos.",
    "removido": "Webhook removido.",
    "nada": "Não há entregas a reenviar neste período.",
    "reenvio": "Reenvio iniciado, da entrega mais antiga à mais recente.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
STATES: Mapping[str, Word] = {
    "ativo": Word("ativo", "good"),
    "falhando": Word("falhando", "warn"),
    "desligado": Word("desativado", "neutral"),
}
REASONS: Mapping[str | None, str] = {
    "usuario": "por um usuário ou pela API",
    "http_410": "porque o endereço respondeu 410 (não existe mais)",
    "sem_sucesso": "depois de 5 dias sem nenhuma entrega",
}
DELIVERY_WORDS: Mapping[str, Word] = {
    "esperando": Word("na fila", "info"),
    "entregue": Word("entregue", "good"),
    "falhou": Word("falhou, tenta de novo", "warn"),
    "desistiu": Word("não entregue", "bad"),
}
# Periods of a resend, in days.
PERIODS: Mapping[str, str] = {
    "1": "das últimas 24 horas",
    "7": "dos últimos 7 dias",
    "30": "de 30 dias",
}
_ALREADY = (
    "Este webhook já foi criado, e o segredo dele não pode ser mostrado de novo. Se você não o"
    " guardou, gere outro segredo na página do webhook."
)


class WebhookForm(TypedForm):
    """The fields of a webhook that people write."""

    url: str
    kinds: str = Field(alias="tipos")
    clients: str = Field(alias="clientes")
    description: str = Field(alias="descricao")

    def fields(self) -> dict[str, Any]:
        """Return the fields by the names of `WebhookDesk`; empty ones are None."""
        return {
            "url": self.url,
            "kinds": _several(self.kinds),
            "clients": _several(self.clients),
            "description": self.description or None,
        }


_FIELDS = {field.alias or name for name, field in WebhookForm.model_fields.items()}


def _several(text: str) -> Sequence[str] | None:
    return tuple(dict.fromkeys(text.replace(",", " ").split())) or None


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the webhooks, and the form for a new one."""
    return await _listed(context, account, base, message=_DONE.get(context.query("feito")))


async def create(context: PageContext, account: Account, base: str) -> Response:
    """Create a webhook and show its secret, once."""
    typed, form_id = read(WebhookForm, context.form), context.typed("form_id")
    if not isinstance(typed, WebhookForm) or not form_id:
        complaints = {} if isinstance(typed, WebhookForm) else typed
        return await _listed(context, account, base, 422, complaints=complaints)
    try:
        shown = await context.tools.webhooks.create(
            account.account_id, signed=context.signature(form_id), **typed.fields()
        )
    except FormDone:
        return await _listed(context, account, base, 409, alert=_ALREADY)
    except CallerError as wrong:
        return await _listed(context, account, base, 422, **_refusal(wrong))
    return _secret(context, account, base, shown.webhook, shown.secret, 201)


async def show_one(context: PageContext, account: Account, base: str) -> Response:
    """Show a webhook with its deliveries, newest first."""
    return await _one(context, account, base, message=_DONE.get(context.query("feito")))


async def change(context: PageContext, account: Account, base: str) -> Response:
    """Change a webhook, or switch it on or off. Idempotent per form."""
    webhook, tools = await _found(context, account), context.tools
    signed = context.signature(context.typed("form_id") or None)
    switch, done = context.typed("ativo"), "mudado"
    changes: dict[str, Any] = {}
    if switch:
        changes, done = {"on": switch == "1"}, "ligado" if switch == "1" else "desligado"
    else:
        typed = read(WebhookForm, context.form)
        if not isinstance(typed, WebhookForm):
            return await _one(context, account, base, 422, complaints=typed)
        changes = typed.fields()
    try:
        await tools.webhooks.change(account.account_id, webhook.webhook_id, signed, **changes)
    except FormDone:
        done = "ja"
    except InvalidInput as wrong:
        return await _one(context, account, base, 422, **_refusal(wrong))
    return context.redirect(f"{base}/{webhook.webhook_id}", feito=done)


async def send_test(context: PageContext, account: Account, base: str) -> Response:
    """Send a test."""
    webhook = await _found(context, account)
    await context.tools.webhooks.ping(account.account_id, webhook.webhook_id)
    return context.redirect(f"{base}/{webhook.webhook_id}", feito="teste")


async def resend(context: PageContext, account: Account, base: str) -> Response:
    """Repeat one delivery, or those of a period."""
    webhook, desk = await _found(context, account), context.tools.webhooks
    delivery, days = context.typed("entrega"), context.typed("dias")
    try:
        if filters.is_number(delivery):
            count = await desk.resend_one(webhook, int(delivery))
        else:
            since = context.now_ms() - (int(days) if days in PERIODS else 1) * DAY_MS
            failed_only = context.typed("todas") != "1"
            count = await desk.resend(webhook, since, None, failed_only=failed_only)
    except CallerError as wrong:
        return await _one(context, account, base, 422, alert=problem_of(wrong).message)
    return context.redirect(f"{base}/{webhook.webhook_id}", feito="reenvio" if count else "nada")


async def rotate(context: PageContext, account: Account, base: str) -> Response:
    """Replace the secret, and show the new one, once."""
    webhook, hours = await _found(context, account), context.typed("horas") or str(ROTATION_HOURS)
    if not filters.is_number(hours) or int(hours) > ROTATION_HOURS_MAX:
        complaints = {"horas": f"Use um número inteiro, de 0 a {ROTATION_HOURS_MAX}."}
        return await _one(context, account, base, 422, complaints=complaints)
    signed = context.signature(context.typed("form_id"))
    try:
        shown = await context.tools.webhooks.rotate(
            account.account_id, webhook.webhook_id, int(hours), signed
        )
    except FormDone:
        return context.redirect(f"{base}/{webhook.webhook_id}", feito="ja")
    return _secret(context, account, base, shown.webhook, shown.secret, 200)


async def ask_to_remove(context: PageContext, account: Account, base: str) -> Response:
    """Ask before a webhook is removed."""
    webhook = await _found(context, account)
    return context.page("webhook_remover.html", account=account, path=base, webhook=webhook)


async def remove(context: PageContext, account: Account, base: str) -> Response:
    """Remove a webhook. Idempotent per form."""
    webhook = await _found(context, account)
    signed = context.signature(context.typed("form_id"))
    try:
        await context.tools.webhooks.remove(account.account_id, webhook.webhook_id, signed)
    except FormDone:
        return context.redirect(base, feito="ja")
    return context.redirect(base, feito="removido")


async def _found(context: PageContext, account: Account) -> Webhook:
    number = context.request.path_params["webhook_id"]
    try:
        return await context.tools.webhooks.one(account.account_id, number)
    except WebhookNotFound:
        raise context.not_found("Webhook não encontrado", WebhookNotFound.message) from None


def _refusal(wrong: BalcaoError) -> Mapping[str, object]:
    """Return an error as template values: at its field, or as an alert if it has none."""
    field, _, text = wrong.detail.partition(": ")
    if isinstance(wrong, WebhookAddressRefused):
        return {"complaints": {"url": wrong.message[:1].upper() + wrong.message[1:]}}
    if field in _FIELDS:
        return {"complaints": {field: text[:1].upper() + text[1:]}}
    return {"alert": problem_of(wrong).message}


def _secret(  # noqa: PLR0917
    context: PageContext, account: Account, base: str, webhook: Webhook, secret: str, status: int
) -> Response:
    return context.page(
        "webhook_segredo.html",
        status,
        account=account,
        path=base,
        webhook=webhook,
        secret=secret,
        is_new=status == 201,
    )


async def _listed(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    return context.page(
        "webhooks.html",
        status,
        account=account,
        path=base,
        webhooks=await context.tools.webhooks.all(account.account_id),
        webhooks_max=WEBHOOKS_MAX,
        states=STATES,
        url_max=URL_CHARACTERS_MAX,
        description_max=DESCRIPTION_CHARACTERS_MAX,
        **values,
    )


async def _one(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    webhook = await _found(context, account)
    state, before = context.query("estado"), context.query("antes")
    wanted = msgspec.convert(state, DeliveryState) if state in DELIVERY_STATES else None
    found = await context.tools.webhooks.deliveries(
        webhook,
        state=wanted,
        before=int(before) if filters.is_number(before) else 0,
        limit=DELIVERIES_SHOWN + 1,
    )
    shown, address = found[:DELIVERIES_SHOWN], f"{base}/{webhook.webhook_id}"
    kept = f"estado={wanted}&" if wanted else ""
    return context.page(
        "webhook.html",
        status,
        account=account,
        path=base,
        address=address,
        webhook=webhook,
        states=STATES,
        reasons=REASONS,
        deliveries=[(each, event_id(each.event_id), DELIVERY_WORDS[each.state]) for each in shown],
        older=f"{address}?{kept}antes={shown[-1].delivery_id}"
        if len(found) > DELIVERIES_SHOWN
        else None,
        tabs=[
            ("Todas", address, wanted is None),
            *(
                (DELIVERY_WORDS[each].text.capitalize(), f"{address}?estado={each}", each == wanted)
                for each in DELIVERY_STATES
            ),
        ],
        periods=[*PERIODS.items()],
        kept_days=DELIVERIES_KEPT_DAYS,
        hours=ROTATION_HOURS,
        url_max=URL_CHARACTERS_MAX,
        description_max=DESCRIPTION_CHARACTERS_MAX,
        **values,
    )
