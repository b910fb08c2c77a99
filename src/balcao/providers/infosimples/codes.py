"""The provider's result codes and their meaning for us (`infosimples.md` section 3).

The texts are ours: the provider's, above all `errors[]`, may contain the document.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from balcao.sources.replies import RETRY_SECONDS


class CodeMeaning(StrEnum):
    """The meaning of a code."""

    FOUND = "found"
    NOTHING = "nothing"  # the origin was asked and has nothing: an answer
    MISCONFIGURED = "misconfigured"  # only the operator can fix it
    UNAVAILABLE = "unavailable"  # temporarily down
    FAILED = "failed"  # it was asked, and failed or refuses to answer this
    MISTAKE = "mistake"  # our request was wrong; the origin was not asked


@dataclass(frozen=True, slots=True)
class Code:
    """A code's meaning, and its text for the operator."""

    meaning: CodeMeaning
    text: str
    retry_seconds: int = RETRY_SECONDS  # of an unavailable one


CODES: Mapping[int, Code] = {
    200: Code(CodeMeaning.FOUND, "um resultado"),
    201: Code(CodeMeaning.FOUND, "vários resultados"),
    600: Code(CodeMeaning.FAILED, "erro inesperado do fornecedor"),
    601: Code(CodeMeaning.MISCONFIGURED, "token recusado"),
    602: Code(CodeMeaning.MISCONFIGURED, "serviço desconhecido ou retirado"),
    603: Code(
        CodeMeaning.MISCONFIGURED,
        "token inativo, esgotado ou sem autorização para este serviço",
    ),
    604: Code(CodeMeaning.MISTAKE, "consulta não validada"),
    605: Code(CodeMeaning.FAILED, "tempo esgotado na origem"),
    606: Code(CodeMeaning.MISTAKE, "parâmetro obrigatório não enviado"),
    607: Code(CodeMeaning.MISTAKE, "parâmetro inválido"),
    608: Code(CodeMeaning.FAILED, "dados recusados pela origem"),
    609: Code(CodeMeaning.UNAVAILABLE, "tentativas na origem excedidas"),
    610: Code(CodeMeaning.UNAVAILABLE, "CAPTCHA da origem não resolvido"),
    611: Code(CodeMeaning.FAILED, "dados incompletos na origem"),
    612: Code(CodeMeaning.NOTHING, "nenhum dado na origem"),
    613: Code(CodeMeaning.UNAVAILABLE, "bloqueio pela origem"),
    614: Code(CodeMeaning.UNAVAILABLE, "erro inesperado da origem"),
    615: Code(CodeMeaning.UNAVAILABLE, "origem indisponível"),
    616: Code(CodeMeaning.UNAVAILABLE, "erro da origem"),
    617: Code(CodeMeaning.UNAVAILABLE, "fornecedor sobrecarregado", 120),
    618: Code(CodeMeaning.UNAVAILABLE, "origem sobrecarregada"),
    619: Code(CodeMeaning.FAILED, "parâmetro alterado na origem"),
    620: Code(CodeMeaning.FAILED, "erro permanente da origem"),
    621: Code(CodeMeaning.FAILED, "comprovante não gerado"),
    # the same query too often within a minute: it was not processed
    622: Code(CodeMeaning.UNAVAILABLE, "consulta repetida demais", 300),
}
