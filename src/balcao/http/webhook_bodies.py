"""Bodies of the API of webhooks (contract 19.4)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, get_args

import msgspec

from balcao.core.described import described, doc
from balcao.core.webhook_addresses import URL_CHARACTERS_MAX
from balcao.core.webhooks import (
    DESCRIPTION_CHARACTERS_MAX,
    FILTERS_MAX,
    ROTATION_HOURS,
    ROTATION_HOURS_MAX,
    DeliveryState,
    OffReason,
    WebhookState,
)
from balcao.http.texts import COUNT, WHEN

_URL = doc("Endereço que recebe os eventos, com https.", format="uri", maxLength=URL_CHARACTERS_MAX)
_KINDS = doc(
    "Tipos de evento enviados, ou grupos como `certidao.*`. Nulo: todos.", maxItems=FILTERS_MAX
)
_CLIENTS = doc(
    "Só eventos dos itens destes clientes (`X-Cliente`). Nulo: todos os eventos.",
    maxItems=FILTERS_MAX,
)
_DESCRIPTION = doc("Descrição para pessoas.", maxLength=DESCRIPTION_CHARACTERS_MAX)
_ON = doc("Se os eventos são enviados.")


@described("NovoWebhook", "Um webhook a criar.")
class NewWebhookBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that creates a webhook."""

    url: Annotated[str, _URL]
    tipos: Annotated[tuple[str, ...] | None, _KINDS] = None
    clientes: Annotated[tuple[str, ...] | None, _CLIENTS] = None
    descricao: Annotated[str | None, _DESCRIPTION] = None


@described("MudancaDeWebhook", "As alterações de um webhook.")
class WebhookChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that changes a webhook. Members that are left out stay as they are."""

    url: Annotated[str | msgspec.UnsetType, _URL] = msgspec.UNSET
    tipos: Annotated[tuple[str, ...] | msgspec.UnsetType | None, _KINDS] = msgspec.UNSET
    clientes: Annotated[tuple[str, ...] | msgspec.UnsetType | None, _CLIENTS] = msgspec.UNSET
    descricao: Annotated[str | msgspec.UnsetType | None, _DESCRIPTION] = msgspec.UNSET
    ativo: Annotated[bool | msgspec.UnsetType, _ON] = msgspec.UNSET


@described("TrocaDeSegredo", "A troca do segredo de um webhook.")
class RotationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that replaces a secret."""

    horas: Annotated[
        int,
        doc(
            "Por quantas horas o segredo anterior também assina.",
            minimum=0,
            maximum=ROTATION_HOURS_MAX,
        ),
    ] = ROTATION_HOURS


@described(
    "Reenvio", "O que reenviar: uma entrega (`entrega`) ou as de um período (`desde` e `ate`)."
)
class ResendBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that repeats one delivery, or those of a period."""

    entrega: Annotated[str | None, doc("O `id` de uma entrega.")] = None
    desde: Annotated[datetime | None, doc("Início do período.")] = None
    ate: Annotated[datetime | None, doc("Fim do período. Nulo: agora.")] = None
    somente: Annotated[
        Literal["falhas", "todas"] | None,
        doc("`falhas` (padrão): só o que não foi entregue, inclusive enquanto esteve desativado."),
    ] = None


@described("Webhook", "Um webhook e seu estado.")
class WebhookAnswer(msgspec.Struct, frozen=True):
    """An endpoint. `segredo` stands only in the answer of the request that made it."""

    id: Annotated[str, doc("Identificador do webhook.", format="uuid")]
    url: Annotated[str, _URL]
    tipos: Annotated[Sequence[str] | None, _KINDS]
    clientes: Annotated[Sequence[str] | None, _CLIENTS]
    descricao: Annotated[str | None, _DESCRIPTION]
    ativo: Annotated[bool, _ON]
    estado: Annotated[
        WebhookState, doc("`falhando`: 12 horas de falhas. `desligado`: nada é enviado.")
    ]
    motivo: Annotated[
        OffReason | None,
        doc(
            "Por que está desligado: por um usuário, porque o endereço respondeu 410 ou depois de"
            " 5 dias sem entrega.",
            enum=[*get_args(OffReason), None],
        ),
    ]
    criado_em: Annotated[str, doc("Quando foi criado.", **WHEN)]
    ultima_entrega_em: Annotated[str | None, doc("A última entrega com sucesso.", **WHEN)]
    proxima_tentativa_em: Annotated[str | None, doc("Quando é a próxima tentativa.", **WHEN)]
    em_espera: Annotated[int, doc("Entregas que aguardam uma tentativa.", **COUNT)]
    segredo: Annotated[
        str | None, doc("O segredo das assinaturas. Só aparece na resposta que o criou.")
    ]
    segredo_final: Annotated[str, doc("Os quatro últimos caracteres do segredo.")]


@described("RespostaWebhooks", "Os webhooks da conta.")
class WebhooksAnswer(msgspec.Struct, frozen=True):
    """A page of endpoints."""

    itens: Annotated[Sequence[WebhookAnswer], doc("Os webhooks, do mais antigo ao mais recente.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


@described("Entrega", "A entrega de um evento a um webhook.")
class DeliveryAnswer(msgspec.Struct, frozen=True):
    """A delivery. Results are of the last attempt."""

    id: Annotated[str, doc("Identificador da entrega.")]
    evento: Annotated[str, doc("O `id` do evento, enviado em `webhook-id`.")]
    tipo: Annotated[str | None, doc("Tipo do evento. Nulo se o evento já foi apagado.")]
    tentativa: Annotated[int, doc("Quantas tentativas já foram feitas.", **COUNT)]
    em: Annotated[str | None, doc("Quando foi a última tentativa.", **WHEN)]
    estado: Annotated[
        DeliveryState,
        doc(
            "`esperando`: nenhuma tentativa ainda. `falhou`: nova tentativa em `proxima_em`."
            " `desistiu`: não há mais tentativas."
        ),
    ]
    status: Annotated[int | None, doc("Status HTTP da resposta.")]
    duracao_ms: Annotated[int | None, doc("Duração da tentativa, em milissegundos.", **COUNT)]
    resposta: Annotated[
        str | None, doc("Os 200 primeiros caracteres da resposta, ou o que impediu a entrega.")
    ]
    proxima_em: Annotated[str | None, doc("Quando é a próxima tentativa.", **WHEN)]


@described("RespostaEntregas", "Uma página de entregas.")
class DeliveriesAnswer(msgspec.Struct, frozen=True):
    """A page of deliveries."""

    itens: Annotated[Sequence[DeliveryAnswer], doc("As entregas, da mais recente à mais antiga.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


@described("RespostaTeste", "O evento de teste.")
class PingAnswer(msgspec.Struct, frozen=True):
    """The event of a test."""

    evento: Annotated[str, doc("O `id` do evento `balcao.ping`.")]


@described("RespostaReenvio", "O reenvio pedido.")
class ResendAnswer(msgspec.Struct, frozen=True):
    """The number of deliveries to repeat."""

    a_reenviar: Annotated[int, doc("Quantas entregas serão reenviadas.", **COUNT)]
