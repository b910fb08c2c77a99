"""Errors about the API key, and about the rights of its account."""

from balcao.core.errors.base import CallerError, InvalidInput


class KeyRefused(CallerError):
    """The API key is missing, unknown, revoked or expired."""

    status = 401
    code = "API_KEY_INVALIDA"
    message = "A chave de API está ausente, expirou ou é inválida. Envie-a no cabeçalho x-api-key."
    short = "Chave de API inválida"


class AddressNotAllowed(CallerError):
    """The key may not be used from this address (contract 11.3), which is unknown if empty."""

    status = 403
    code = "ENDERECO_NAO_PERMITIDO"
    message = (
        "Esta chave não pode ser usada a partir do endereço desta requisição, que o serviço não"
        " conhece: há um proxy à frente que a configuração não nomeia."
    )
    short = "Endereço não permitido para a chave"
    sample_arguments = ({"address": "203.0.113.9"},)

    def __init__(self, address: str = "") -> None:
        super().__init__()
        if address:
            self.message = f"Esta chave não pode ser usada a partir de {address}."


class OperationNotAllowed(CallerError):
    """The key may not use this operation (contract 11.3)."""

    status = 403
    code = "OPERACAO_NAO_PERMITIDA"
    message = "Esta chave não pode fazer esta consulta: as operações dela são outras."
    short = "Operação não permitida para a chave"


class AdminKeyRequired(CallerError):
    """The key may not read or change data of the whole account (contract 12.2)."""

    status = 403
    code = "CHAVE_NAO_ADMINISTRA"
    message = "Esta chave não administra a conta: isto pede uma chave com `administra`."
    short = "Chave sem permissão de administração"


class ClientRequired(InvalidInput):
    """A lookup with this key must have `X-Cliente` (contract 11.3)."""

    code = "CLIENTE_OBRIGATORIO"
    message = "Esta chave exige o cabeçalho X-Cliente em cada consulta: diga para quem ela é."
    short = "X-Cliente ausente"


class RateLimited(CallerError):
    """A limit of the account or key was reached. `retry_in_seconds` is exact."""

    status = 429
    code = "LIMITE_EXCEDIDO"
    message = "Limite de requisições atingido. Aguarde o tempo indicado em Retry-After e repita."
    short = "Limite atingido"
    sample_arguments = ({"retry_in_seconds": 12, "window": "minuto"},)

    def __init__(self, retry_in_seconds: int, window: str) -> None:
        super().__init__(window)
        self.retry_in_seconds: int = retry_in_seconds
        self.window = window


class CertificatesNotEnabled(CallerError):
    """The account's plan does not include the certificates."""

    status = 403
    code = "CND_POS_PAGO_NAO_HABILITADO"
    message = (
        "As certidões não estão habilitadas para esta conta: é preciso um plano pago ou um"
        " contrato que as inclua."
    )
    short = "Certidões não habilitadas"


class OptInNotEnabled(CallerError):
    """The account may not see partners' documents."""

    status = 403
    code = "OPTIN_NAO_HABILITADO"
    message = "O CPF dos sócios (optin=1) não está habilitado para esta conta."
    short = "CPF dos sócios não habilitado"
    field = "optin"
    hint = "O CPF dos sócios não está habilitado para esta conta."


class PeopleNotEnabled(CallerError):
    """The account may not search natural persons (contract 14.4).

    `detail`: the parameter that requires it, as it was sent.
    """

    status = 403
    code = OptInNotEnabled.code
    message = "A busca de pessoas (pessoas=true, sócios) não está habilitada para esta conta."
    short = OptInNotEnabled.short

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        if detail:
            self.message = f"A busca de pessoas ({detail}) não está habilitada para esta conta."
