"""`/webhooks/v1`: an account's webhooks, through keys that administer it (contract 19.4)."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from balcao.accounts.webhooks.desk import Shown, WebhookDesk
from balcao.core import errors
from balcao.core.access import Caller
from balcao.core.budgets import iso_instant
from balcao.core.events import event_id
from balcao.core.people import signed_by
from balcao.core.webhooks import (
    DELIVERIES_KEPT_DAYS,
    DELIVERY_STATES,
    WEBHOOKS_MAX,
    DeliveryState,
)
from balcao.http.contents import Json, RequestBody
from balcao.http.creating import CREATION_KEY, Creation
from balcao.http.json_bodies import (
    JSON_BODY,
    OPTIONAL_JSON_BODY,
    PAGE_PARAMETERS,
    body_of,
    free_answer,
    id_cursor,
    instant_of,
    limit_of,
    page_of,
)
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WEBHOOKS, UUID_SCHEMA
from balcao.http.webhook_bodies import (
    DeliveriesAnswer,
    DeliveryAnswer,
    NewWebhookBody,
    PingAnswer,
    ResendAnswer,
    ResendBody,
    RotationBody,
    WebhookAnswer,
    WebhookChangeBody,
    WebhooksAnswer,
)
from balcao.lookup.context import Parts
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.desk.recorded_answer import MakeAnswer
from balcao.storage.webhooks import Delivery, Webhook

_ADDRESS: Final = "/webhooks/v1"
_PAGE_USUAL, _PAGE_MAX = 100, 1_000

_EXAMPLE = WebhookAnswer(
    id="0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9",
    url="https://erp.exemplo.com.br/balcao",
    tipos=["certidao.*", "empresa.situacao"],
    clientes=None,
    descricao="ERP da matriz",
    ativo=True,
    estado="ativo",
    motivo=None,
    criado_em="2026-08-08T10:15:30.120-03:00",
    ultima_entrega_em="2026-08-09T08:00:01.480-03:00",
    proxima_tentativa_em=None,
    em_espera=0,
    segredo=None,
    segredo_final="Laj4",
)
_NEW = msgspec.structs.replace(
    _EXAMPLE,
    ultima_entrega_em=None,
    segredo="whsec_bm90IGEgcmVhbCBzZWNyZXQsIGp1c3QgYW4gZXhhbXBsZSE=",
    segredo_final="ZSE=",
)
_DELIVERY = DeliveryAnswer(
    id="81",
    evento="evt_0000000004711",
    tipo="certidao.a_vencer",
    tentativa=2,
    em="2026-08-09T08:00:01.480-03:00",
    estado="falhou",
    status=503,
    duracao_ms=212,
    resposta="Em manutenção",
    proxima_em="2026-08-09T08:05:03.100-03:00",
)
_ONE = Json(_EXAMPLE, "RespostaWebhook", "Um webhook.", envelope=True)
_SECRET = Json(_NEW, "RespostaWebhook", "Um webhook.", envelope=True)
_ID = Parameter("id", "O `id` do webhook.", UUID_SCHEMA, place="path", required=True)
_STATE = Parameter(
    "estado", "Só entregas neste estado.", {"type": "string", "enum": [*DELIVERY_STATES]}
)
_READING = (errors.AdminKeyRequired, errors.StorageFailed)
_WRITING = (
    *_READING,
    errors.CommitUncertain,
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
)
_ONCE = (errors.InvalidIdempotencyKey, errors.IdempotencyKeyReused, errors.StillRunning)
_WebhookRoute = partial(Route, needs_key=True, tag=TAG_WEBHOOKS)
_WITH_KEY = " Precisa de uma chave de administração."


@dataclass(frozen=True, slots=True)
class WebhookRoutes:
    """The routes of webhooks."""

    parts: Parts
    webhooks: WebhookDesk

    @_WebhookRoute(
        _ADDRESS,
        "webhooks",
        id="webhooks",
        summary="Listar webhooks",
        text="Os webhooks da conta, com seu estado." + _WITH_KEY,
        parameters=PAGE_PARAMETERS,
        gives=[Json(WebhooksAnswer([_EXAMPLE], None), envelope=True)],
        problems=(*_READING, errors.InvalidParameter, errors.RepeatedParameter),
    )
    async def list_webhooks(self, request: Request) -> Answer:
        """Return a page of the account's webhooks."""
        caller = _administering(request)
        parameters = Parameters(request.query, request.headers, ("limite", "cursor"))
        limit = limit_of(parameters.text("limite"), _PAGE_USUAL, _PAGE_MAX)
        after = id_cursor(parameters.text("cursor")) or ""
        found = await self.webhooks.all(caller.account_id)
        left = [one for one in found if one.webhook_id > after]
        cursor = left[limit - 1].webhook_id if len(left) > limit else None
        return free_answer(WebhooksAnswer([answer_of(one) for one in left[:limit]], cursor))

    @_WebhookRoute(
        _ADDRESS,
        "webhooks",
        method="POST",
        body=JSON_BODY,
        id="criar_webhook",
        summary="Criar webhook",
        text=(
            f"Cria um webhook, até {WEBHOOKS_MAX} por conta. Os eventos seguintes da conta são"
            " enviados por POST, assinados com `segredo`, que só aparece nesta resposta: com a"
            " mesma `Idempotency-Key`, ela se repete com `segredo` nulo. O endereço deve ser"
            " https e público." + _WITH_KEY
        ),
        parameters=(CREATION_KEY,),
        takes=RequestBody(
            [
                Json(
                    NewWebhookBody(
                        "https://erp.exemplo.com.br/balcao",
                        tipos=("certidao.*", "empresa.situacao"),
                        descricao="ERP da matriz",
                    )
                )
            ]
        ),
        gives=[_SECRET],
        status=201,
        problems=(
            *_WRITING,
            *_ONCE,
            errors.WebhookAddressRefused,
            errors.TagWithCpf,
            errors.TooManyWebhooks,
        ),
    )
    async def create(self, request: Request) -> Answer:
        caller, body = _administering(request), body_of(request, NewWebhookBody)

        async def make(keep: MakeAnswer[Shown]) -> Shown:
            return await self.webhooks.create(
                caller.account_id,
                body.url,
                signed_by(caller),
                kinds=body.tipos,
                clients=body.clientes,
                description=body.descricao,
                keep=lambda made: keep(Shown(made, "")),
            )

        def answer(shown: Shown) -> Answer:
            where = (b"location", f"{_ADDRESS}/{shown.webhook.webhook_id}".encode())
            return free_answer(answer_of(shown.webhook, shown.secret or None), 201, where)

        return await Creation(self.parts).once(request, make, answer)

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}",
        "webhook",
        id="webhook",
        summary="Consultar webhook",
        text="Um webhook e seu estado." + _WITH_KEY,
        parameters=(_ID,),
        gives=[_ONE],
        problems=(*_READING, errors.WebhookNotFound),
    )
    async def show(self, request: Request) -> Answer:
        caller = _administering(request)
        return free_answer(answer_of(await self.webhooks.one(caller.account_id, request.rest)))

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}",
        "webhook",
        method="PATCH",
        body=JSON_BODY,
        id="mudar_webhook",
        summary="Alterar webhook",
        text=(
            "Campos não enviados não mudam. Com `ativo` falso, nada mais é enviado e nada se"
            " perde: ativado de novo, o webhook recebe os eventos seguintes, e o reenvio entrega"
            " os anteriores." + _WITH_KEY
        ),
        parameters=(_ID,),
        takes=RequestBody([Json(WebhookChangeBody(ativo=False))]),
        gives=[_ONE],
        problems=(
            *_WRITING,
            errors.WebhookNotFound,
            errors.WebhookAddressRefused,
            errors.TagWithCpf,
        ),
    )
    async def change(self, request: Request) -> Answer:
        caller, body = _administering(request), body_of(request, WebhookChangeBody)
        after = await self.webhooks.change(
            caller.account_id,
            request.rest,
            signed_by(caller),
            url=body.url,
            kinds=body.tipos,
            clients=body.clientes,
            description=body.descricao,
            on=body.ativo,
        )
        return free_answer(answer_of(after))

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}",
        "webhook",
        method="DELETE",
        id="remover_webhook",
        summary="Remover webhook",
        text=(
            "Remove o webhook e suas entregas para sempre. A resposta mostra o último estado."
            + _WITH_KEY
        ),
        parameters=(_ID,),
        gives=[_ONE],
        problems=(*_READING, errors.CommitUncertain, errors.WebhookNotFound),
    )
    async def remove(self, request: Request) -> Answer:
        caller = _administering(request)
        last = await self.webhooks.remove(caller.account_id, request.rest, signed_by(caller))
        return free_answer(answer_of(last))

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}/girar-segredo",
        "webhook_segredo",
        method="POST",
        body=OPTIONAL_JSON_BODY,
        id="girar_segredo_do_webhook",
        summary="Trocar o segredo",
        text=(
            "Cria outro segredo, que só aparece nesta resposta. Por `horas`, cada envio tem as"
            " assinaturas dos dois. 0: o anterior deixa de valer na hora." + _WITH_KEY
        ),
        parameters=(_ID, CREATION_KEY),
        takes=RequestBody([Json(RotationBody(24))], required=False),
        gives=[_SECRET],
        problems=(*_WRITING, *_ONCE, errors.WebhookNotFound),
    )
    async def rotate(self, request: Request) -> Answer:
        caller = _administering(request)
        body = body_of(request, RotationBody) if request.body else RotationBody()

        async def make(keep: MakeAnswer[Shown]) -> Shown:
            return await self.webhooks.rotate(
                caller.account_id,
                request.rest,
                body.horas,
                signed_by(caller),
                keep=lambda made: keep(Shown(made, "")),
            )

        return await Creation(self.parts).once(
            request,
            make,
            lambda shown: free_answer(answer_of(shown.webhook, shown.secret or None)),
        )

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}/testar",
        "webhook_teste",
        method="POST",
        id="testar_webhook",
        summary="Testar webhook",
        text=(
            "Envia agora um `balcao.ping` só a este webhook, mesmo desativado. O resultado aparece"
            " nas entregas. Uma falha não é repetida." + _WITH_KEY
        ),
        parameters=(_ID, CREATION_KEY),
        gives=[Json(PingAnswer("evt_0000000004712"), envelope=True)],
        status=202,
        problems=(*_READING, errors.CommitUncertain, *_ONCE, errors.WebhookNotFound),
    )
    async def test(self, request: Request) -> Answer:
        caller = _administering(request)
        return await Creation(self.parts).once(
            request,
            partial(self.webhooks.ping, caller.account_id, request.rest),
            lambda number: free_answer(PingAnswer(number), 202),
        )

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}/entregas",
        "webhook_entregas",
        id="entregas_do_webhook",
        summary="Listar entregas",
        text=(
            f"As entregas dos últimos {DELIVERIES_KEPT_DAYS} dias, uma por evento, da mais recente"
            " à mais antiga. Os resultados são os da última tentativa." + _WITH_KEY
        ),
        parameters=(_ID, _STATE, *PAGE_PARAMETERS),
        gives=[Json(DeliveriesAnswer([_DELIVERY], None), envelope=True)],
        problems=(
            *_READING,
            errors.InvalidParameter,
            errors.RepeatedParameter,
            errors.WebhookNotFound,
        ),
    )
    async def deliveries(self, request: Request) -> Answer:
        caller, page = _administering(request), page_of(request, ("estado",))
        state = Parameters(request.query, request.headers, ("limite", "cursor", "estado")).text(
            "estado"
        )
        if state and state not in DELIVERY_STATES:
            raise errors.InvalidParameter(f"estado: um de {', '.join(DELIVERY_STATES)}.")
        webhook = await self.webhooks.one(caller.account_id, request.rest)
        found = await self.webhooks.deliveries(
            webhook,
            state=msgspec.convert(state, DeliveryState) if state else None,
            before=page.after,
            limit=page.limit + 1,
        )
        cursor = page.cursor([one.delivery_id for one in found])
        shown = [_delivery_answer(one) for one in found[: page.limit]]
        return free_answer(DeliveriesAnswer(shown, cursor))

    @_WebhookRoute(
        f"{_ADDRESS}/{{id}}/reenviar",
        "webhook_reenvio",
        method="POST",
        body=JSON_BODY,
        id="reenviar_do_webhook",
        summary="Reenviar entregas",
        text=(
            "Reenvia uma entrega, ou as de um período, da mais antiga à mais recente, com os"
            " mesmos `webhook-id`. Só o que foi ou deveria ter sido enviado a este webhook nos"
            f" últimos {DELIVERIES_KEPT_DAYS} dias. Um reenvio por vez." + _WITH_KEY
        ),
        parameters=(_ID, CREATION_KEY),
        takes=RequestBody(
            [
                Json(
                    ResendBody(
                        desde=datetime.fromisoformat("2026-08-01T00:00:00-03:00"),
                        somente="falhas",
                    )
                )
            ]
        ),
        gives=[Json(ResendAnswer(12), envelope=True)],
        status=202,
        problems=(
            *_WRITING,
            *_ONCE,
            errors.WebhookNotFound,
            errors.DeliveryNotFound,
            errors.ResendUnderWay,
            errors.WebhookIsOff,
        ),
    )
    async def resend(self, request: Request) -> Answer:
        caller, body = _administering(request), body_of(request, ResendBody)
        webhook = await self.webhooks.one(caller.account_id, request.rest)
        match body:
            case ResendBody(entrega=str(number), desde=None, ate=None, somente=None):
                if not (number.isascii() and number.isdigit() and len(number) <= 18):
                    raise errors.DeliveryNotFound
                make = partial(self.webhooks.resend_one, webhook, int(number))
            case ResendBody(entrega=None, desde=datetime() as since):
                make = partial(
                    self.webhooks.resend,
                    webhook,
                    instant_of("desde", since),
                    None if body.ate is None else instant_of("ate", body.ate),
                    failed_only=body.somente != "todas",
                )
            case _:
                raise errors.InvalidParameter("entrega: informe `entrega` ou `desde`.")
        return await Creation(self.parts).once(
            request,
            lambda keep: make(keep=keep),
            lambda count: free_answer(ResendAnswer(count), 202),
        )


def answer_of(webhook: Webhook, secret: str | None = None) -> WebhookAnswer:
    """Return the API's representation of an endpoint."""
    return WebhookAnswer(
        id=webhook.webhook_id,
        url=webhook.url,
        tipos=webhook.kinds,
        clientes=webhook.clients,
        descricao=webhook.description,
        ativo=webhook.is_on,
        estado=webhook.state,
        motivo=webhook.reason,
        criado_em=iso_instant(webhook.created_ms) or "",
        ultima_entrega_em=iso_instant(webhook.success_ms),
        proxima_tentativa_em=iso_instant(webhook.next_ms),
        em_espera=webhook.waiting,
        segredo=secret,
        segredo_final=webhook.secret_tail,
    )


def _delivery_answer(delivery: Delivery) -> DeliveryAnswer:
    return DeliveryAnswer(
        id=str(delivery.delivery_id),
        evento=event_id(delivery.event_id),
        tipo=delivery.kind,
        tentativa=delivery.attempts,
        em=iso_instant(delivery.at_ms),
        estado=delivery.state,
        status=delivery.status,
        duracao_ms=delivery.duration_ms,
        resposta=delivery.response,
        proxima_em=iso_instant(delivery.next_ms),
    )


def _administering(request: Request) -> Caller:
    """Return the caller. Raises `AdminKeyRequired`."""
    caller = request.caller
    assert caller is not None, "the route wants a key"
    if not caller.administers:
        raise errors.AdminKeyRequired
    return caller
