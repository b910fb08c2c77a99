"""Classification of texts in certificates and in portals' messages, the same for every source.

The body of a valid certificate contains words that would deny another: debts "com exigibilidade
suspensa", erasures that "invalidarão este documento", a copy without code "sem validade". So a
certificate is denied by its title, type and status; by its free text only if it has neither code
nor validity (contract 9.12).
"""

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum, auto

from balcao.core.certificates import CertificateType
from balcao.core.text import clean

_EFFECTS = re.compile("COM EFEITOS? DE (CERTIDAO )?NEGATIVA")

# Not issued, and not in force: texts are matched as `words` returns them.
_REFUSAL = re.compile(
    "\\bNAO (?:(?:E|FOI|PODE|SER|SERA) )*(?:NEGATIVA|EMITI|POSSIVEL|LIBERADA|VALIDA)"
    "|\\b(?:IMPOSSI|INDEFERI|INSUFICIEN)"
)
_NOT_IN_FORCE = re.compile(
    "\\b(?:INVALID|VENCID|EXPIRAD|CANCELAD|CASSAD|ANULAD|REVOGAD|SUSPENS|SUBSTITUID|BLOQUEAD)"
    "|\\bNULA\\b|\\bSEM (?:EFEITO|VALIDADE)\\b|\\bINATIV"
)

# "Não constam débitos" is in good certificates.
_DEBTS = re.compile(
    "(?<!NAO )\\b(?:CONSTAM?|EXISTEM?|HA|POSSUI) (?:OS SEGUINTES )?(?:DEBITOS?|PENDENCIAS?)"
)
# Debts that do not prevent a certificate: Código Tributário Nacional, articles 151 and 206.
_HARMLESS_DEBTS = re.compile(
    "EXIGIBILIDADE (?:ESTA |ESTEJA )?SUSPENSA|SUSPENSA A EXIGIBILIDADE|AINDA NAO VENCID"
    "|COM EFEITOS? DE (?:CERTIDAO )?NEGATIVA"
)

_NAMED_KIND = re.compile(r"\bCERTIDAO (?:\w+ ){0,3}?(POSITIVA|NEGATIVA)\b")

_INAPT = re.compile(r"\bINAPT[AO]\b|EMISSAO DE CERTIDAO NAO PERMITIDA")
_UNDER_WAY = re.compile(
    r"ESTAMOS ANALISANDO|RETORNE EM ALGUNS (?:MINUTOS|INSTANTES)|EM (?:ANALISE|PROCESSAMENTO)\b"
    r"|\bSENDO PROCESSAD"
)
# The portal's messages 023, 033 and 106; a longer number is a document.
_LATER = re.compile(
    r"INDISPON|\bTENTE (?:NOVAMENTE|MAIS TARDE|OUTRA VEZ)|MANUTENCAO|FORA DO AR"
    r"|^(?:(?:COD(?:IGO)?|ERRO|MSG|MENSAGEM) )?(?:023|033|106)\b(?! \d)"
)
_NOT_REGISTERED = re.compile(
    r"\bNAO (?:(?:E|ESTA|FOI|FORAM|SE ENCONTRA|HA) )*(?:CADASTRAD|ENCONTRAD|INSCRIT|LOCALIZAD)"
    r"|\bNAO CONSTA (?:D?[AO]S? |EM |N[AO]S? )*(?:CADASTRO|BASE)|\bINEXISTENTE"
    r"|\bNENHUM (?:REGISTRO|CONTRIBUINTE|CADASTRO)"
)
_IN_FORCE_ALREADY = re.compile(
    r"\b(?:SEGUNDA|2|2A) VIA\b|\b2VIA\b|CERTIDAO (?:\w+ ){0,8}EM VIGOR|CERTIDAO (?:AINDA )?VALIDA"
)
# An explicit finding about the taxpayer: the portal worked.
_NAMED_FAULT = re.compile(
    r"(?<!NAO )\b(?:CONSTAM?|EXISTEM?|HA|POSSUI"
    r"|FORAM (?:CONSTATAD|ENCONTRAD|IDENTIFICAD|VERIFICAD)[AO]S)"
    r" (?:(?:[AO]S|SEGUINTES) ){0,2}(?:DEBITO|PENDENCIA|IRREGULARIDADE)"
    r"|\bINFORMACOES (?:\w+ ){0,20}INSUFICIEN"
)
_TROUBLE = re.compile(r"\bTENTE|\bERRO|\bTEMPO\b|PROCESSAD|PROCESSAMENTO|\bSISTEMA")
_TAXPAYER = re.compile("DEBITO|PENDEN|IRREGULAR|POSSIVEL EMITIR|INSCRI|CONTRIBUINTE|INSUFICIEN")


class Reason(Enum):
    """The reason for an answer without data."""

    INAPT = auto()  # the registration's status forbids it: final
    UNDER_WAY = auto()  # it is being issued: no other source may be asked
    LATER = auto()  # the portal is down or asks to retry later
    NOT_REGISTERED = auto()  # the portal does not have this document
    TROUBLE = auto()  # a failure of the portal
    TAXPAYER = auto()  # a finding about the taxpayer
    UNKNOWN = auto()

    @property
    def is_of_the_portal(self) -> bool:
        """Whether the reason is about the portal, so that the answer is not a result."""
        return self in (Reason.UNDER_WAY, Reason.LATER, Reason.TROUBLE)


# In this order: a portal that is down may also report that it found nothing, and one that reports
# debts may also name the system where they are paid.
_REASONS = (
    (_INAPT, Reason.INAPT),
    (_UNDER_WAY, Reason.UNDER_WAY),
    (_LATER, Reason.LATER),
    (_NOT_REGISTERED, Reason.NOT_REGISTERED),
    (_NAMED_FAULT, Reason.TAXPAYER),
    (_TROUBLE, Reason.TROUBLE),
    (_TAXPAYER, Reason.TAXPAYER),
)


def words(raw: str | None) -> str:
    """Return upper-case letters, digits and single spaces: no accents, no punctuation."""
    decomposed = unicodedata.normalize("NFD", clean(raw or "").upper())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(re.sub(r"[^0-9A-Z]+", " ", plain).split())


def kind(*texts: str | None) -> CertificateType | None:
    """Return the type named by the first of these titles or types; a denial ends the search.

    "Positiva" counts before "negativa": "Positiva (não negativa)" is a CPD, unless the effects are
    named, as in "Positiva de débitos com efeitos de negativa".
    """
    for text in texts:
        plain = words(text)
        if denies(text):
            return "CPD" if "POSITIVA" in plain else None
        if "POSITIVA" in plain:
            return "CPEND" if _EFFECTS.search(plain) else "CPD"
        if "NEGATIVA" in plain:
            return "CND"
    return None


def kind_in_prose(*texts: str | None) -> CertificateType | None:
    """Return the type that a certificate's free text names."""
    for text in texts:
        plain = words(text)
        if _EFFECTS.search(plain):
            return "CPEND"
        named = _NAMED_KIND.search(plain)
        if plain.startswith("POSITIVA") or (named is not None and named[1] == "POSITIVA"):
            return "CPD"
        if named is not None and not _REFUSAL.search(plain):
            return "CND"
    return None


def says_positive(text: str | None) -> bool:
    """Return whether a text says "positiva" without the effects of a negative certificate."""
    plain = words(text)
    return "POSITIVA" in plain and _EFFECTS.search(plain) is None


def denies(headline: str | None) -> bool:
    """Return whether a title, type or status denies that a certificate is issued and in force."""
    plain = words(headline)
    return _REFUSAL.search(plain) is not None or _NOT_IN_FORCE.search(plain) is not None


def refuses(prose: str | None) -> bool:
    """Return whether a free text refuses the issuance."""
    return _REFUSAL.search(words(prose)) is not None


def is_denied(
    headlines: Iterable[str | None], prose: Iterable[str | None], *, identified: bool
) -> bool:
    """Return whether the words of an answer deny its certificate.

    `identified`: a code or a validity is there, so the free text is that of a certificate.
    """
    if any(map(denies, headlines)):
        return True
    return not identified and any(map(denies, prose))


def claims_debts(text: str | None) -> bool:
    """Return whether a text claims debts that prevent a negative certificate."""
    plain = words(text)
    return _DEBTS.search(plain) is not None and _HARMLESS_DEBTS.search(plain) is None


def reason_of(reasons: str | None) -> Reason:
    """Return the reason given in the text of an answer without data."""
    plain = words(reasons)
    return next((each for pattern, each in _REASONS if pattern.search(plain)), Reason.UNKNOWN)


def is_in_force_already(reasons: str | None) -> bool:
    """Return whether an issuance was refused because a certificate is in force."""
    return _IN_FORCE_ALREADY.search(words(reasons)) is not None
