"""The provider's result codes and what each means for us (`infosimples.md` section 3).

The texts are ours: theirs, and above all `errors[]`, may name the document.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from balcao.sources.replies import RETRY_SECONDS


class Meaning(StrEnum):
    """What follows from a code."""

    FOUND = "found"
    NOTHING = "nothing"  # the origin was asked and has nothing: an answer
    MISCONFIGURED = "misconfigured"  # only the operator can mend it
    UNAVAILABLE = "unavailable"  # nobody answers at the moment
    FAILED = "failed"  # it was asked, and failed or refuses to answer this
    MISTAKE = "mistake"  # our request was wrong; the origin was not asked


@dataclass(frozen=True, slots=True)
class Code:
    """One code: what follows, and a sentence for the operator."""

    meaning: Meaning
    text: str
    retry_seconds: int = RETRY_SECONDS  # of an unavailable one


CODES: Mapping[int, Code] = MappingProxyType(
    {
        200: Code(Meaning.FOUND, "um resultado"),
        201: Code(Meaning.FOUND, "vários resultados"),
        600: Code(Meaning.FAILED, "erro inesperado do fornecedor"),
        601: Code(Meaning.MISCONFIGURED, "token recusado"),
        602: Code(Meaning.MISCONFIGURED, "serviço desconhecido ou retirado"),
        603: Code(
            Meaning.MISCONFIGURED, "token inativo, esgotado ou sem autorização para este serviço"
        ),
        604: Code(Meaning.MISTAKE, "consulta não validada"),
        605: Code(Meaning.FAILED, "tempo esgotado na origem"),
        606: Code(Meaning.MISTAKE, "parâmetro obrigatório não enviado"),
        607: Code(Meaning.MISTAKE, "parâmetro inválido"),
        608: Code(Meaning.FAILED, "dados recusados pela origem"),
        609: Code(Meaning.UNAVAILABLE, "tentativas na origem excedidas"),
        610: Code(Meaning.UNAVAILABLE, "CAPTCHA da origem não resolvido"),
        611: Code(Meaning.FAILED, "dados incompletos na origem"),
        612: Code(Meaning.NOTHING, "nenhum dado na origem"),
        613: Code(Meaning.UNAVAILABLE, "bloqueio pela origem"),
        614: Code(Meaning.UNAVAILABLE, "erro inesperado da origem"),
        615: Code(Meaning.UNAVAILABLE, "origem indisponível"),
        616: Code(Meaning.UNAVAILABLE, "erro da origem"),
        617: Code(Meaning.UNAVAILABLE, "fornecedor sobrecarregado", 120),
        618: Code(Meaning.UNAVAILABLE, "origem sobrecarregada"),
        619: Code(Meaning.FAILED, "parâmetro alterado na origem"),
        620: Code(Meaning.FAILED, "erro permanente da origem"),
        621: Code(Meaning.FAILED, "comprovante não gerado"),
        # The same query too often within a minute: it was not taken, and later it will be.
        622: Code(Meaning.UNAVAILABLE, "consulta repetida demais", 300),
    }
)
