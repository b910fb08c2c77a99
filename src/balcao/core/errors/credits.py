"""Errors about the balance, and about budgets (*tetos*)."""

from balcao.core.errors.base import CallerError, NotFound
from balcao.core.notices import Notice


class InsufficientCredits(CallerError):
    """The available balance does not cover the highest possible price of the request."""

    status = 402
    code = "SALDO_INSUFICIENTE"
    message = "Saldo insuficiente: esta consulta precisa de mais créditos do que há disponíveis."
    short = "Créditos insuficientes"
    notice = Notice(
        "warn",
        "Créditos insuficientes",
        "O preço da consulta era maior que os créditos disponíveis.",
        "Peça créditos ao gestor da conta e consulte de novo.",
    )
    sample_arguments = ({"needed_credits": 1, "available_credits": 0},)

    def __init__(self, needed_credits: int, available_credits: int) -> None:
        super().__init__()
        self.extra = {
            "creditos_necessarios": needed_credits,
            "creditos_disponiveis": available_credits,
        }


class CeilingOfRequest(CallerError):
    """The request may cost more than its `X-Creditos-Maximos` (contract 10.2)."""

    status = 402
    code = "TETO_DA_REQUISICAO"
    message = (
        "Esta consulta pode custar mais créditos do que o máximo enviado com ela"
        " (X-Creditos-Maximos ou creditos_maximos). Nada foi consultado nem cobrado."
    )
    short = "Acima do máximo da requisição"
    notice = Notice(
        "warn",
        "Acima do máximo permitido",
        "O preço da consulta podia passar do máximo enviado com ela.",
        "Envie um máximo maior em X-Creditos-Maximos ou aceite um resultado guardado.",
    )
    sample_arguments = ({"needed_credits": 2, "ceiling_credits": 1},)

    def __init__(self, needed_credits: int, ceiling_credits: int) -> None:
        super().__init__()
        self.extra = {"creditos_necessarios": needed_credits, "creditos_maximos": ceiling_credits}


class CeilingReached(CallerError):
    """A budget does not cover the request (contract 12.3).

    Amounts are credits, or operations if the budget counts these; then `held` is 0. `back`: the
    start of its next period, ISO 8601.
    """

    status = 402
    sample_arguments = (
        {
            "ceiling": 1_000,
            "used": 998,
            "held": 1,
            "needed": 2,
            "back": "2026-09-01T00:00:00.000-03:00",
        },
    )

    def __init__(
        self,
        ceiling: int = 0,
        used: int = 0,
        held: int = 0,
        needed: int = 1,
        back: str | None = None,
    ) -> None:
        super().__init__()
        self.ceiling = ceiling
        self.used = used
        self.held = held
        self.needed = needed
        self.back = back
        self.extra = {
            "teto": ceiling,
            "usado": used,
            "reservado": held,
            "necessario": needed,
            "volta_em": back,
        }


class CeilingOfKey(CeilingReached):
    """A budget of the key does not cover the request."""

    code = "TETO_DA_CHAVE"
    message = "O teto desta chave não comporta a consulta. Nada foi consultado nem cobrado."
    short = "Orçamento da chave esgotado"
    notice = Notice(
        "warn",
        "Orçamento da chave esgotado",
        "O valor restante no orçamento desta chave era menor que o preço da consulta.",
        "Espere o próximo período ou peça um limite maior ao gestor da conta.",
    )


class CeilingOfBatch(CeilingReached):
    """The batch's budget does not cover the request."""

    code = "TETO_DO_LOTE"
    message = "O teto do lote não comporta a consulta. Nada foi consultado nem cobrado."
    short = "Limite de gasto do lote atingido"
    notice = Notice(
        "warn",
        "Limite de gasto do lote atingido",
        "O valor restante no limite deste lote era menor que o preço da consulta.",
        "Aumente o limite de gasto do lote e retome.",
    )


class CeilingOfWallet(CeilingReached):
    """The wallet's budget does not cover the request."""

    code = "TETO_DA_CARTEIRA"
    message = "O teto da carteira não comporta a consulta. Nada foi consultado nem cobrado."
    short = "Orçamento da carteira esgotado"
    notice = Notice(
        "warn",
        "Orçamento da carteira esgotado",
        "O valor restante no orçamento da carteira era menor que o preço da consulta.",
        "Espere o próximo período ou aumente o limite da carteira.",
    )


class CeilingOfClient(CeilingReached):
    """The budget of the end client in `X-Cliente` does not cover the request."""

    code = "TETO_DO_CLIENTE"
    message = (
        "O teto do cliente enviado em X-Cliente não comporta a consulta. Nada foi consultado nem"
        " cobrado."
    )
    short = "Orçamento do cliente esgotado"
    notice = Notice(
        "warn",
        "Orçamento do cliente esgotado",
        "O valor restante no orçamento deste cliente era menor que o preço da consulta.",
        "Espere o próximo período ou peça um limite maior ao gestor da conta.",
    )


class TooManyBudgets(CallerError):
    """The owner has the largest number of budgets for this operation (contract 12.1)."""

    status = 409
    code = "ORCAMENTOS_DEMAIS"
    message = (
        "Já há tantos orçamentos deste dono para a mesma operação quantos pode haver: mude ou"
        " remova um deles."
    )
    short = "Orçamentos demais"


class BudgetBoundToOwner(CallerError):
    """The budget of a batch or wallet cannot be ended before its owner (contract 12.2).

    Nor can the daily budget of a compatible API's key (contract 16.4).
    """

    status = 409
    code = "ORCAMENTO_COM_DONO"
    message = (
        "O orçamento de um lote, de uma carteira ou o diário de uma chave de face nasce e termina"
        " com ele; mude o teto."
    )
    short = "Orçamento de um lote ou carteira"


class BudgetNotFound(NotFound):
    """No such budget is in force, or this key may not see it."""

    code = "ORCAMENTO_NAO_ENCONTRADO"
    message = "Não há um orçamento com este id entre os que esta chave pode ver."
    short = "Orçamento não encontrado"
