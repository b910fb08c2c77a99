"""Failures of this service itself: storage, load, clock, search index."""

from balcao.core.errors.base import UNAVAILABLE_RETRY_SECONDS_MAX, BalcaoError
from balcao.core.errors.sources import SourceUnavailable
from balcao.core.notices import Notice


class StorageFailed(BalcaoError):
    """The storage cannot be written (disk full, file damaged); nothing was stored or charged."""

    status = 503
    code = SourceUnavailable.code
    message = "O serviço não consegue gravar no momento. Nada foi cobrado; tente mais tarde."
    # A full disk needs an operator; contention is over by then.
    retry_in_seconds = 30
    short = SourceUnavailable.short
    notice = Notice(
        "bad",
        "Serviço indisponível",
        "O serviço não consegue gravar no momento e, por isso, não faz consultas.",
        "Tente mais tarde.",
    )
    operator_hint = (
        "Não foi possível gravar no banco de dados ({detail}). Nada foi alterado. Verifique o"
        " disco: {program} doctor."
    )


class CommitUncertain(StorageFailed):
    """The connection to the database was lost in a commit, whose outcome is not yet known.

    Raised only if several nodes share a database. The request may have been executed and charged:
    it is safe to repeat only with the same Idempotency-Key (contract 6.4).
    """

    code = "COBRANCA_INCERTA"
    message = (
        "O serviço perdeu a ligação com o banco de dados e não sabe ainda se esta requisição foi"
        " executada e cobrada. Repita-a com a mesma Idempotency-Key, que nunca é cobrada duas"
        " vezes, ou procure por ela em /conta/v1/operacoes."
    )
    # After the promotion of a standby the outcome is known within a second.
    retry_in_seconds = 5
    short = "Cobrança incerta"
    notice = Notice(
        "bad",
        "Não foi possível confirmar a consulta",
        "O serviço perdeu a conexão com o banco de dados enquanto gravava a consulta. Ela pode"
        " ter sido feita e cobrada.",
        "Espere alguns segundos e envie este mesmo formulário de novo. Ele nunca é cobrado duas"
        " vezes. Se a consulta já foi feita, o resultado aparece.",
    )


class ClockOff(BalcaoError):
    """This node's clock differs from the database's by more than is allowed (contract 9.8)."""

    status = 503
    code = SourceUnavailable.code
    message = (
        "O relógio desta máquina difere do relógio do banco de dados em mais de 5 segundos."
        " Acerte os dois (NTP)."
    )
    short = SourceUnavailable.short


class Overloaded(BalcaoError):
    """The service has too many requests in progress."""

    status = 503
    code = SourceUnavailable.code
    message = "O serviço está sobrecarregado. Nada foi cobrado; repita em instantes."
    short = SourceUnavailable.short
    notice = Notice(
        "warn",
        "Serviço sobrecarregado",
        "Há consultas demais em andamento. Esta não foi feita.",
        "Tente de novo em instantes.",
    )

    def __init__(self, retry_in_seconds: int = 1) -> None:
        super().__init__()
        self.retry_in_seconds: int = retry_in_seconds


class SearchUnavailable(BalcaoError):
    """The month in use has no search index, or no month is in use (contract 14.7)."""

    status = 503
    code = "BUSCA_INDISPONIVEL"
    message = "O índice de busca do mês em uso não está pronto. Nada foi cobrado; tente mais tarde."
    retry_in_seconds = UNAVAILABLE_RETRY_SECONDS_MAX
    short = "Busca indisponível"
