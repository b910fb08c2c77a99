"""Texts about paused batches, shared by the API, `balcao batch` and pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from balcao.core.errors import (
    CallerError,
    CeilingOfBatch,
    CeilingOfWallet,
    CeilingReached,
    errors_by_code,
)
from balcao.core.writing import credits, day, whole
from balcao.storage.batches import StoredBatch


@dataclass(frozen=True, slots=True)
class Pause:
    """The reason of a pause and its remedy, in Portuguese."""

    title: str
    text: str
    advice: str

    @property
    def message(self) -> str:
        """Reason and remedy in one text."""
        return f"{self.text} {self.advice}"


def pause_of(batch: StoredBatch, available: int | None) -> Pause | None:
    """Return why a batch is paused, or None. `available`: credits now, None if unlimited."""
    if batch.state != "pausado" or batch.reason is None:
        return None
    if batch.reason == "teto" and batch.code not in {None, CeilingOfBatch.code}:
        return _client_pause(batch, available)
    return _PAUSES[batch.reason](batch, available)


@cache
def messages() -> Mapping[str, str]:
    """Return the API's message for each code; the first one where errors share a code."""
    return {code: kind.message for code, kind in errors_by_code().items()}


def _ceiling_pause(batch: StoredBatch, _: int | None) -> Pause:
    held = f" e {credits(batch.held)} reservados" if batch.held else ""
    return Pause(
        "Pausado: o teto acabou",
        f"O limite de gasto de {credits(batch.ceiling)} não cobre a próxima linha. Já foram"
        f" gastos {credits(batch.spent)}{held}. As respostas já recebidas estão guardadas.",
        "Para continuar, aumente o limite e retome.",
    )


def ceiling_message(error: CallerError) -> str | None:
    """Return the figures of the budget that refused the next row, to store with the batch.

    They are stored because each row may have another budget. None for other errors and for the
    batch's own ceiling: its current figures are shown instead.
    """
    if not isinstance(error, CeilingReached) or isinstance(error, CeilingOfBatch):
        return None
    held = f" e {whole(error.held)} em reserva" if error.held else ""
    back = f". Próximo período: {day(error.back)}" if error.back else ""
    return (
        f"Quando o lote parou, o limite era de {whole(error.ceiling)}, com {whole(error.used)} em"
        f" uso{held}, e a linha precisava de {whole(error.needed)}{back}."
    )


def _with_numbers(text: str, batch: StoredBatch) -> str:
    return f"{text} {batch.message}" if batch.message else text


def _client_pause(batch: StoredBatch, _: int | None) -> Pause:
    whose = "da carteira" if batch.code == CeilingOfWallet.code else "do cliente"
    return Pause(
        f"Pausado: o teto {whose} acabou",
        _with_numbers(f"O orçamento {whose} não cobre a próxima linha.", batch),
        "Peça um limite maior ao gestor da conta ou espere o próximo período. Depois retome.",
    )


def _balance_pause(_: StoredBatch, available: int | None) -> Pause:
    left = "" if available is None else f" Disponíveis agora: {credits(max(available, 0))}."
    return Pause(
        "Pausado: faltam créditos",
        f"Os créditos disponíveis da conta não cobrem a próxima linha.{left}",
        "Peça créditos ao operador do serviço e depois retome o lote.",
    )


def _user_pause(_: StoredBatch, __: int | None) -> Pause:
    return Pause(
        "Pausado",
        "Alguém pausou este lote. Nada é consultado nem cobrado durante a pausa.",
        "Retome quando quiser. O lote continua de onde parou.",
    )


def _source_pause(_: StoredBatch, __: int | None) -> Pause:
    return Pause(
        "Pausado: a fonte não responde",
        "A fonte desta consulta está fora do ar. As linhas aguardam, sem custo.",
        "Não é preciso fazer nada. O lote continua sozinho quando a fonte voltar.",
    )


def _key_pause(batch: StoredBatch, _: int | None) -> Pause:
    known = messages().get(batch.code or "")
    return Pause(
        "Pausado: o autor do lote não pode mais consultar",
        _with_numbers(
            known or "A chave ou a conta do lote não está mais ativa ou atingiu um limite.", batch
        ),
        "Fale com o gestor da conta e depois retome.",
    )


_PAUSES: Mapping[str, Callable[[StoredBatch, int | None], Pause]] = {
    "teto": _ceiling_pause,
    "saldo": _balance_pause,
    "usuario": _user_pause,
    "fonte": _source_pause,
    "limite_da_chave": _key_pause,
}
