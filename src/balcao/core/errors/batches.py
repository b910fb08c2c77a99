"""Errors about batches and their files."""

from balcao.core.errors.base import (
    UNAVAILABLE_RETRY_SECONDS_MAX,
    BalcaoError,
    CallerError,
    InvalidInput,
    NotFound,
)
from balcao.core.file_limits import MEGABYTE

# 50,000 rows are written or read in about this time.
_FILE_SECONDS = 10

_MAKE_ROOM = "Apague os dados de lotes que já terminaram e envie o arquivo de novo."


class TooManyUnreadFiles(CallerError):
    """Too many files of this account are waiting to be read."""

    status = 429
    code = "ARQUIVOS_NA_FILA"
    message = (
        "Os últimos arquivos desta conta ainda não foram lidos. Espere que um deles seja lido e"
        " repita."
    )
    retry_in_seconds = _FILE_SECONDS
    short = "Arquivos na fila"


class TooManyOpenBatches(CallerError):
    """The account has as many open batches as its plan allows."""

    status = 409
    code = "LOTES_ABERTOS_DEMAIS"
    message = (
        "A conta já tem tantos lotes abertos quantos o plano permite. Conclua, encerre ou apague um"
        " deles."
    )
    short = "Lotes abertos demais"


class FileSpaceUsed(CallerError):
    """The account's files and rows use all the space of its plan."""

    status = 409
    code = "ESPACO_DA_CONTA"
    message = f"Os lotes da conta já ocupam o espaço que o plano permite. {_MAKE_ROOM}"
    short = "Espaço da conta esgotado"

    def __init__(self, kept_bytes: int = 0, kept_bytes_max: int = 0) -> None:
        super().__init__()
        if kept_bytes_max:
            self.message = (
                f"Os lotes da conta ocupam {kept_bytes // MEGABYTE} MB, e este não cabe nos"
                f" {kept_bytes_max // MEGABYTE} MB do plano. {_MAKE_ROOM}"
            )


class FileRunning(BalcaoError):
    """Other files of this account, or of all accounts, are being written or downloaded."""

    status = 503
    code = "ARQUIVO_EM_PREPARO"
    message = (
        "Outro arquivo desta conta ainda está sendo feito ou baixado. Espere que ele termine e"
        " repita."
    )
    retry_in_seconds = _FILE_SECONDS
    short = "Outro arquivo em preparo"
    tone = "warn"


class NoFileSpace(BalcaoError):
    """The space for the files of all accounts is used up, or the disk is full."""

    status = 503
    code = "SEM_ESPACO"
    message = (
        "O serviço não tem espaço para mais arquivos no momento. As consultas continuam; envie o"
        " arquivo mais tarde."
    )
    retry_in_seconds = UNAVAILABLE_RETRY_SECONDS_MAX
    short = "Sem espaço para arquivos"


class FileUnreadable(InvalidInput):
    """The file cannot be read as a table.

    `detail` has the line or column and the remedy, without any content of a cell. `reason` is a
    code for programs. `line` is the line in the file; None: the error is about the whole file.
    """

    code = "ARQUIVO_ILEGIVEL"
    message = "O arquivo não pôde ser lido como tabela."
    detail_is_message = True
    short = "Arquivo ilegível"

    def __init__(self, reason: str = "", detail: str = "", line: int | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.line = line


class BatchNotFound(NotFound):
    """This account has no such batch."""

    code = "LOTE_NAO_ENCONTRADO"
    message = "Esta conta não tem um lote com este id."
    short = "Lote não encontrado"


class BatchStateRefused(CallerError):
    """The batch's state does not allow this (contract 13.2)."""

    status = 409
    code = "ESTADO_DO_LOTE"
    message = "neste estado isto não é possível."
    short = "Lote em outro estado"
    sample_arguments = ({"state": "concluido"},)

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.message = f"O lote está no estado {state}: {self.message}"


class QuoteChanged(CallerError):
    """The confirmed quote is no longer the batch's quote (contract 13.3)."""

    status = 409
    code = "COTACAO_MUDOU"
    message = (
        "O preço ou as linhas do lote mudaram, ou o digest não é o da cotação: confira a cotação"
        " que vem nesta resposta e confirme-a."
    )
    short = "A cotação mudou"


class BatchErased(CallerError):
    """The batch's data were deleted, or have expired (contract 13.6)."""

    status = 410
    code = "LOTE_APAGADO"
    message = "Os dados deste lote foram apagados; o que ele custou continua nos extratos."
    short = "Lote apagado"
    tone = "info"
