"""The meaning of the codes (`cStat`) of "Consulta Cadastro".

The codes are from the taxpayer's manual of the NF-e (`sefaz-consulta-cadastro.md` section 6). The
text of a code (`xMotivo`) is ignored: it may contain the document.
"""

from collections.abc import Mapping
from enum import Enum, auto

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.sources import replies

PAUSED_RETRY_SECONDS = 60  # 108: "momentarily, short term"
STOPPED_RETRY_SECONDS = 600  # 109: "without forecast"
ABUSE_RETRY_SECONDS = 3600  # 656: further requests prolong it
NEVER_RETRY_SECONDS = 3600  # unsupported by the UF: an early retry is useless


class StatusMeaning(Enum):
    """The meaning of a code."""

    FOUND = auto()  # registrations follow
    NONE = auto()  # not registered in this UF: a valid answer
    REFUSED = auto()  # our certificate, or its company: only the operator can fix it
    UNAVAILABLE = auto()  # temporary, on their side
    UNSUPPORTED = auto()  # this UF does not answer such inquiries; another source may
    THROTTLED = auto()  # too many requests
    MISTAKE = auto()  # our message is rejected
    ARGUMENT = auto()  # the document is taken for invalid, although we validated it


_CODES: Mapping[StatusMeaning, str] = {
    StatusMeaning.FOUND: "111 112",
    StatusMeaning.NONE: "259 261 264",
    StatusMeaning.REFUSED: "257 280 281 282 283 284 285",
    StatusMeaning.UNAVAILABLE: "108 109 286 999",
    StatusMeaning.UNSUPPORTED: "262 265",
    StatusMeaning.THROTTLED: "656",
    StatusMeaning.MISTAKE: "214 215 238 239 242 243 299 402 404 409 410 411 516 517 545 587 588",
    StatusMeaning.ARGUMENT: "258 260 263",
}
MEANINGS: Mapping[str, StatusMeaning] = {
    code: meaning for meaning, codes in _CODES.items() for code in codes.split()
}

# Causes of a refusal, for the operator; others are "certificado recusado".
_REFUSALS: Mapping[str, str] = {
    "257": "a empresa do certificado não é emissora autorizada de NF-e",
    "281": "certificado fora do prazo de validade",
    "282": "certificado sem CNPJ (use um e-CNPJ)",
    "284": "certificado revogado",
}
_WAITS: Mapping[str, int] = {"108": PAUSED_RETRY_SECONDS, "109": STOPPED_RETRY_SECONDS}


def has_registrations(source: str, code: str) -> bool:
    """Return whether registrations follow (True) or there are none in this UF (False).

    Raises `SourceUnavailable` or `SourceFailed` for every other code.
    """
    meaning = MEANINGS.get(code)
    if meaning in (StatusMeaning.FOUND, StatusMeaning.NONE):
        return meaning is StatusMeaning.FOUND
    raise _error(source, code, meaning)


def _error(source: str, code: str, meaning: StatusMeaning | None) -> SourceError:
    match meaning:
        case StatusMeaning.REFUSED:
            why = _REFUSALS.get(code, "certificado recusado")
            return replies.misconfigured(source, f"{why} (cStat {code})")
        case StatusMeaning.UNAVAILABLE:
            wait = _WAITS.get(code, replies.RETRY_SECONDS)
            return SourceUnavailable(f"{source}: indisponível, segundo a UF (cStat {code})", wait)
        case StatusMeaning.UNSUPPORTED:
            why = "não consulta CPF" if code == "262" else "não é atendida neste endereço"
            return SourceUnavailable(f"{source}: a UF {why} (cStat {code})", NEVER_RETRY_SECONDS)
        case StatusMeaning.THROTTLED:
            why = "consumo indevido, segundo a UF"
            return SourceUnavailable(f"{source}: {why} (cStat {code})", ABUSE_RETRY_SECONDS)
        case StatusMeaning.MISTAKE:
            return SourceFailed(f"{source}: nossa mensagem foi rejeitada (cStat {code})")
        case StatusMeaning.ARGUMENT:
            return SourceFailed(f"{source}: tomou o documento por inválido (cStat {code})")
        case _:
            return SourceFailed(f"{source}: cStat desconhecido ({_shown(code)})")


def _shown(code: str) -> str:
    # anything but three digits could be personal data, so it is not repeated
    return code if len(code) == 3 and code.isascii() and code.isdecimal() else "fora do formato"
