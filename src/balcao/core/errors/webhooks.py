"""Errors about webhooks (contract 19.4)."""

from balcao.core.errors.base import CallerError, InvalidInput, NotFound


class WebhookAddressRefused(InvalidInput):
    """The service does not send webhooks to this address, or to what its name leads to."""

    code = "ENDERECO_DO_WEBHOOK"
    message = "O endereço do webhook não pode ser usado."
    detail_is_message = True
    short = "Endereço de webhook recusado"
    field = "url"
    hint = "Use um endereço https:// público."


class TooManyWebhooks(CallerError):
    """The account has the largest number of webhooks."""

    status = 409
    code = "WEBHOOKS_DEMAIS"
    message = "Esta conta já tem 10 webhooks: remova um deles antes de criar outro."
    short = "Webhooks demais"


class WebhookNotFound(NotFound):
    """This account has no such webhook."""

    code = "WEBHOOK_NAO_ENCONTRADO"
    message = "Esta conta não tem um webhook com este id."
    short = "Webhook não encontrado"


class DeliveryNotFound(NotFound):
    """This webhook has no such delivery."""

    code = "ENTREGA_NAO_ENCONTRADA"
    message = "Este webhook não tem uma entrega com este id nos últimos 30 dias."
    short = "Entrega não encontrada"


class ResendUnderWay(CallerError):
    """Deliveries of this webhook are being repeated; one repetition runs at a time."""

    status = 409
    code = "REENVIO_EM_ANDAMENTO"
    message = "Um reenvio deste webhook ainda está em andamento. Aguarde o fim para pedir outro."
    short = "Reenvio em andamento"


class WebhookIsOff(CallerError):
    """Nothing is sent to a webhook that is off, except a test."""

    status = 409
    code = "WEBHOOK_DESLIGADO"
    message = "Este webhook está desativado. Ative-o com `ativo` antes de reenviar."
    short = "Webhook desativado"
