"""Errors about the portfolio (contract 20)."""

from collections.abc import Sequence

from balcao.core.errors.base import CallerError, NotFound


class WalletFull(CallerError):
    """The portfolio has as many items as its plan allows. `items_max`: 0 if unknown."""

    status = 409
    code = "CARTEIRA_CHEIA"
    message = (
        "A carteira já tem tantos itens quantos o plano permite. Remova alguns e envie de novo."
    )
    short = "Carteira cheia"
    sample_arguments: Sequence[dict[str, object]] = ({"items_max": 10_000},)

    def __init__(self, items_max: int = 0) -> None:
        super().__init__()
        if items_max:
            self.message = (
                f"A carteira passaria de {items_max} itens, o máximo do plano. Nada mudou. Remova"
                " alguns e envie de novo."
            )


class ItemNotFound(NotFound):
    """The account's portfolio has no such item."""

    code = "ITEM_NAO_ENCONTRADO"
    message = "Não há um item com este id na carteira desta conta."
    short = "Item não encontrado"


class ClockMoving(CallerError):
    """The clock of a test portfolio is still moving."""

    status = 409
    code = "RELOGIO_AVANCANDO"
    message = "O relógio ainda está avançando. Tente de novo quando ele chegar."
    short = "Relógio avançando"


class PaperNotFound(NotFound):
    """The item has no such certificate."""

    code = "CERTIDAO_NAO_ENCONTRADA"
    message = "Este item não tem uma certidão com este id."
    short = "Certidão não encontrada"


class CalendarNotFound(NotFound):
    """The account has no such calendar."""

    code = "CALENDARIO_NAO_ENCONTRADO"
    message = "Não há um calendário com este id nesta conta."
    short = "Calendário não encontrado"


class TooManyCalendars(CallerError):
    """The account has as many calendars as it may have."""

    status = 409
    code = "CALENDARIOS_DEMAIS"
    message = "A conta já tem 50 calendários. Remova um antes de criar outro."
    short = "Calendários demais"
