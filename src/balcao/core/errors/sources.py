"""Errors of the sources. Nothing is charged."""

from balcao.core.errors.base import BalcaoError
from balcao.core.notices import Notice


class SourceError(BalcaoError):
    """A source failed or refused. `detail` is for the log, without personal data."""


class SourceUnavailable(SourceError):
    """The source is down, in maintenance, or its circuit is open: the next one may answer."""

    status = 503
    code = "SERVICO_INDISPONIVEL"
    message = "A fonte está fora do ar ou em manutenção. Nada foi cobrado; tente mais tarde."
    short = "Indisponível"
    notice = Notice(
        "bad",
        "Fonte indisponível",
        "A fonte desta consulta está fora do ar ou em manutenção.",
        "Tente mais tarde. Acompanhe na página de situação das fontes.",
    )

    def __init__(self, detail: str = "", retry_in_seconds: int = 30) -> None:
        super().__init__(detail)
        self.retry_in_seconds: int = retry_in_seconds


class NotServed(SourceUnavailable):
    """No configured source answers such a question; the operator has to change that."""

    message = (
        "Nenhuma fonte deste serviço responde esta consulta (operação, UF ou documento). Nada foi"
        " cobrado; fale com quem o opera."
    )
    notice = Notice(
        "bad",
        "Consulta não atendida",
        "Nenhuma fonte deste serviço atende esta operação, UF ou documento.",
        "Fale com o operador do serviço.",
    )


class SourceFailed(SourceError):
    """The source was asked, and failed, timed out, or returned an unusable answer."""

    message = "A fonte foi consultada e falhou. Nada foi cobrado; tente novamente em instantes."
    notice = Notice(
        "bad",
        "A fonte falhou",
        "A fonte foi consultada e não deu uma resposta válida.",
        "Tente de novo em instantes ou aceite um resultado guardado.",
    )


class SourceRefused(SourceError):
    """The source works but refuses the question as such: no other source is asked."""

    status = 400
    tone = "warn"


class DataRefused(SourceRefused):
    """The source refuses the data: the birth date is not that of the CPF."""

    code = "DADOS_RECUSADOS_PELA_FONTE"
    message = (
        "A fonte recusou os dados: confira se a data de nascimento é a do CPF. Nada foi cobrado."
    )
    short = "Dados recusados pela fonte"
    notice = Notice(
        "warn",
        "A fonte recusou os dados",
        "A data de nascimento não é a registrada na Receita Federal para este CPF.",
        "Confira o CPF e a data e consulte de novo.",
    )


class NewIssueRefused(SourceRefused):
    """The source issues no new certificate; one may be in force, available as second copy."""

    code = "NOVA_EMISSAO_RECUSADA"
    message = (
        "A fonte recusou uma emissão nova: pode haver uma certidão em vigor. Peça a 2ª via, com"
        " `preferencia_emissao=2via`. Nada foi cobrado."
    )
    short = "Emissão nova recusada"
    notice = Notice(
        "warn",
        "A fonte recusou uma emissão nova",
        "A fonte não emite outra certidão enquanto houver uma com efeitos de negativa em vigor.",
        "Consulte de novo e escolha a 2ª via.",
    )


class CertificateFailed(BalcaoError):
    """`SourceFailed` in the form of the certificates: 400 instead of 500 (contract 3)."""

    status = 400
    code = "FALHA_TECNICA"
    message = (
        "A fonte foi consultada e falhou, ou recusou a emissão. Nada foi cobrado. Não repita logo:"
        " uma emissão pode ter começado; peça a 2ª via mais tarde."
    )
    short = "A fonte falhou"
    notice = Notice(
        "bad",
        "A fonte falhou",
        "A fonte foi consultada e não deu uma resposta válida.",
        "Espere alguns minutos antes de repetir. A Receita Federal pode ter começado a emitir a"
        " certidão, que a próxima consulta encontrará.",
    )
