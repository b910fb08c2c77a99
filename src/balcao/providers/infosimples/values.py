"""Texts and dates as the provider copies them from the origins' pages."""

import datetime
import re
import unicodedata
from typing import TypeAlias

from balcao.core.certificates import CertificateType, classify
from balcao.core.documents import Cnpj, Cpf
from balcao.errors import SourceFailed
from balcao.providers.infosimples.envelope import Envelope
from balcao.sources import replies
from balcao.sources.replies import text

_MOMENT = "%d/%m/%Y %H:%M:%S"

_EFFECTS = re.compile("COM EFEITOS? DE (CERTIDAO )?NEGATIVA")
_DENIAL = re.compile(
    "\\bNAO (?:(?:E|FOI|PODE|SER|SERA) )*(?:NEGATIVA|EMITI|POSSIVEL|LIBERADA|VALIDA)"
    "|\\b(?:IMPOSSI|INDEFERI|INSUFICIEN|INVALID|VENCID|EXPIRAD|CANCELAD|CASSAD|ANULAD|REVOGAD"
    "|SUSPENS|SUBSTITUID|BLOQUEAD)|\\bNULA\\b|\\bSEM (?:EFEITO|VALIDADE)\\b|\\bINATIV"
)
# "Não constam débitos" is what good certificates say.
_DEBTS = re.compile(
    "(?<!NAO )\\b(?:CONSTAM?|EXISTEM?|HA|POSSUI) (?:OS SEGUINTES )?(?:DEBITOS?|PENDENCIAS?)"
)
# Of reasons that speak of the origin and not of the taxpayer.
_TROUBLE = re.compile(
    "INDISPON|TENTE|\\bERRO|MANUTEN|TEMPO|PROCESSAD|PROCESSAMENTO|SISTEMA|FORA DO AR"
)
_TAXPAYER = re.compile("DEBITO|PENDEN|IRREGULAR|POSSIVEL EMITIR|INSCRI|CONTRIBUINTE|INSUFICIEN")

Texts: TypeAlias = tuple[str | None, ...]


def stated(raw: str | None) -> str | None:
    """A text; nothing where there is nothing, which the pages also write as asterisks."""
    said = text(raw)
    return None if said is None or not said.strip("*") else said


def first(*raws: str | None) -> str | None:
    """The first text that is there, of several fields for the same thing."""
    return next((said for raw in raws if (said := stated(raw)) is not None), None)


def words(raw: str | None) -> str:
    """Upper-case letters and single spaces: no accents, no punctuation."""
    decomposed = unicodedata.normalize("NFD", (text(raw) or "").upper())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(re.sub(r"[^0-9A-Z]+", " ", plain).split())


def day(source: str, raw: str | None) -> str | None:
    """`YYYY-MM-DD` of `dd/mm/yyyy`. Raises `SourceFailed` for anything else."""
    at = _read(source, raw, "%d/%m/%Y")
    return None if at is None else at.date().isoformat()


def day_if_valid(raw: str | None) -> str | None:
    """A date that a record may lack: in another form it is absent (decisions 9.6)."""
    try:
        return day("", raw)
    except SourceFailed:
        return None


def moment_if_valid(raw: str | None) -> str | None:
    """`YYYY-MM-DD HH:mm:ss` of `dd/mm/yyyy HH:MM:SS`: both are Brasília's civil time.

    None for anything else: nothing is lost over the time at which it was looked for.
    """
    try:
        at = _read("", raw, _MOMENT)
    except SourceFailed:
        return None
    return None if at is None else at.isoformat(" ", "seconds")


def kind(*texts: str | None) -> CertificateType | None:
    """The type by the first text that says one; a text that denies it ends the search.

    A text that says "positiva" is positive, whatever else it says, unless it names the effects:
    "Positiva de débitos com efeitos de negativa", and "Positiva (não negativa)".
    """
    for said in texts:
        plain = words(said)
        if denies(said):
            return "CPD" if "POSITIVA" in plain else None
        if "POSITIVA" in plain:
            return "CPEND" if _EFFECTS.search(plain) else "CPD"
        if (found := classify(said, None)) is not None:
            return found
    return None


def denies(said: str | None) -> bool:
    """Whether a text says that a certificate was not issued, or is not in force."""
    return _DENIAL.search(words(said)) is not None


def claims_debts(said: str | None) -> bool:
    """Whether a text says that there are debts."""
    return _DEBTS.search(words(said)) is not None


def is_verdict(reasons: str | None) -> bool:
    """Whether the reasons speak of the taxpayer: an outage is no result, and not charged."""
    plain = words(reasons)
    return _TAXPAYER.search(plain) is not None and _TROUBLE.search(plain) is None


def is_trouble(reasons: str | None) -> bool:
    """Whether the reasons speak of an outage of the origin."""
    return _TROUBLE.search(words(reasons)) is not None


def document(said: Envelope, asked: Cnpj | Cpf, cnpjs: Texts, cpfs: Texts) -> str:
    """Whom an answer is about; wherever anybody else is named, it is about them.

    They repeat the document they were asked. Where nothing names any, the one that was asked.
    """
    if isinstance(asked, Cnpj):
        named, heard, same = _plain(*cnpjs) or _plain(*cpfs), "cnpj", asked.root
    else:
        named, heard, same = _plain(*cpfs) or _plain(*cnpjs), "cpf", asked.text
    named += _plain(said.parameters.get(heard))
    strangers = (each for each in named if not each.startswith(same))
    others = (each for each in named if each not in (asked.text, same))  # establishments
    return next(strangers, None) or next(others, None) or asked.text


def _plain(*raws: str | None) -> list[str]:
    return [plain for raw in raws if (plain := replies.plain(raw)) is not None]


def _read(source: str, raw: str | None, form: str) -> datetime.datetime | None:
    said = stated(raw)
    if said is None or not said.strip("0/: "):  # 00/00/0000
        return None
    try:
        return datetime.datetime.strptime(said, form)  # noqa: DTZ007 - civil time in, and out
    except ValueError:
        raise SourceFailed(f"{source}: data em outra forma") from None
