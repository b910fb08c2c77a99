"""The record of an establishment in company search, and the tokens by which it is indexed.

Contract 14.1 and 14.2. Every filter by a code is one entry of `CODED`: how to read its values from
a request, and the values of a record. Index, query and the check of a record all use this entry, so
they cannot differ.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import msgspec

from balcao.core.federation import UFS
from balcao.core.personal import mask_cpf_in_free_text
from balcao.core.text import unaccented
from balcao.core.words import indexed_words_of

# Sole traders, and natural persons with a CNPJ (legal natures 4xxx): contract 14.4.
SOLE_TRADER = "2135"
_NATURAL = "4"

# The code of an unknown activity: it has no division, although there is a division 88 (14.1).
ACTIVITY_NOT_INFORMED = "8888888"


class SearchRecord(msgspec.Struct, frozen=True, gc=False):
    """A searchable establishment. Codes are the registry's; days are YYYY-MM-DD."""

    cnpj: str
    name: str  # as published: mask CPFs before showing it
    trade_name: str
    nature: str  # 4 digits
    size: str  # 01, 03, 05 or empty
    capital: Decimal | None  # reais
    head: bool
    status: str  # 01, 02, 03, 04, 08
    status_day: str | None
    reason: str
    opened: str | None
    activity: str  # 7 digits
    others: tuple[str, ...]
    cep: str  # 8 digits or empty
    uf: str
    city: str  # the Receita's code, 4 digits
    area_codes: tuple[str, ...]
    domain: str  # of the e-mail, lower case
    simples: bool
    mei: bool

    @property
    def person(self) -> bool:
        """Whether it is a natural person (contract 14.4)."""
        return is_person(self.nature)


class PartnerSearchRecord(msgspec.Struct, frozen=True, gc=False):
    """A partner as published, with an establishment that represents the company."""

    cnpj: str
    company: str
    name: str
    document: str  # a CNPJ, a CPF as `***456789**`, or empty
    qualification: str  # a code
    entered: str | None


def is_person(nature: str) -> bool:
    """Return whether this legal nature is a natural person's (contract 14.4)."""
    return nature == SOLE_TRADER or nature.startswith(_NATURAL)


def division_of(activity: str) -> str:
    """Return the CNAE division of an activity; empty for an unknown activity."""
    return "" if activity == ACTIVITY_NOT_INFORMED else activity[:2]


class CodedFilter(msgspec.Struct, frozen=True):
    """A filter by one of several codes."""

    prefix: str  # of its tokens
    read: Callable[[str], str | None]  # from a request; None: invalid
    of: Callable[[SearchRecord], Sequence[str]]  # the values of a record
    words: str  # description of its values, for people


def _form(pattern: str) -> Callable[[str], str | None]:
    known = re.compile(pattern, re.ASCII)
    return lambda text: text if known.fullmatch(text) else None


def _word(words: Mapping[str, str]) -> Callable[[str], str | None]:
    return lambda text: words.get(unaccented(text))


def _without(signs: str, pattern: str) -> Callable[[str], str | None]:
    reads, drop = _form(pattern), str.maketrans("", "", signs)
    return lambda text: reads(text.translate(drop))


def _yes(flag: bool) -> Sequence[str]:
    return ("1",) if flag else ("0",)


_STATUSES = {
    "nula": "01", "ativa": "02", "suspensa": "03", "inapta": "04", "baixada": "08",
    "01": "01", "02": "02", "03": "03", "04": "04", "08": "08", "1": "01", "2": "02", "3": "03",
    "4": "04", "8": "08",
}  # fmt: skip
_SIZES = {
    "me": "01", "micro empresa": "01", "01": "01", "1": "01", "epp": "03", "03": "03", "3": "03",
    "empresa de pequeno porte": "03", "demais": "05", "05": "05", "5": "05",
}  # fmt: skip
_FLAGS = {"true": "1", "1": "1", "false": "0", "0": "0"}
_UFS = {uf.lower(): uf for uf in (*UFS, "EX")}
_FLAG_WORDS = "true ou false"
# A division, group or class is the beginning of the codes of its activities.
_ACTIVITY = "[0-9]{2,7}"
_ACTIVITY_WORDS = "CNAEs de 7 dígitos ou os seus primeiros dígitos, de 2 a 6"

ACTIVITY_FILTERS = ("cnae", "cnae_principal")
CODED: Mapping[str, CodedFilter] = {
    "uf": CodedFilter("uf", _word(_UFS), lambda of: (of.uf,), "siglas de UF, ou EX"),
    "municipio": CodedFilter("mu", _form("[0-9]{4}"), lambda of: (of.city,), "municípios"),
    "cnae": CodedFilter(
        "ca", _without("-/.", _ACTIVITY), lambda of: (of.activity, *of.others), _ACTIVITY_WORDS
    ),
    "cnae_principal": CodedFilter(
        "cn", _without("-/.", _ACTIVITY), lambda of: (of.activity,), _ACTIVITY_WORDS
    ),
    "divisao": CodedFilter(
        "cd", _form("[0-9]{2}"), lambda of: (division_of(of.activity),),
        "divisões da CNAE, de 2 dígitos",
    ),
    "natureza": CodedFilter(
        "nj", _without("-", "[0-9]{4}"), lambda of: (of.nature,), "naturezas de 4 dígitos"
    ),
    "situacao": CodedFilter(
        "st", _word(_STATUSES), lambda of: (of.status,),
        "ATIVA, BAIXADA, INAPTA, SUSPENSA, NULA ou seus códigos",
    ),
    "motivo": CodedFilter("mt", _form("[0-9]{2}"), lambda of: (of.reason,), "motivos de 2 dígitos"),
    "porte": CodedFilter("po", _word(_SIZES), lambda of: (of.size,), "ME, EPP ou DEMAIS"),
    "matriz": CodedFilter("hq", _word(_FLAGS), lambda of: _yes(of.head), _FLAG_WORDS),
    "simples": CodedFilter("sx", _word(_FLAGS), lambda of: _yes(of.simples), _FLAG_WORDS),
    "mei": CodedFilter("me", _word(_FLAGS), lambda of: _yes(of.mei), _FLAG_WORDS),
    "ddd": CodedFilter("dd", _form("[1-9][0-9]"), lambda of: of.area_codes, "DDDs de 2 dígitos"),
    "dominio": CodedFilter(
        "dm",
        lambda text: domain_of("@" + text) or None,
        lambda of: (of.domain,),
        "domínios de e-mail, como exemplo.com.br",
    ),
}  # fmt: skip
PERSON = "pe"
MEI_WITHOUT_PERSON = "mj"  # each is common, and few are both: intersecting them would be slow
POSTAL = "ce"
POSTAL_DIGITS = 6  # with all eight, hardly two establishments would share a token
OPENED, STATUS_CHANGED = "ab", "sd"
YEAR_MIN = 1850  # earlier days are typing errors
YEAR_MAX = 2039  # later days are found too, but slower
CAPITAL = "kc"
CAPITAL_CLASS_MAX = 31
CAPITAL_CLASSES = [f"{number:02d}" for number in range(CAPITAL_CLASS_MAX + 1)]
CAPITAL_STEP = "ks"
NEGATIVE_STEP = "-"
PARTNER_CPF, PARTNER_ROOT = "pf", "pj"

_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.ASCII)


def domain_of(email: str) -> str:
    """Return the part after the @ in lower case; empty if it is not a domain or contains a CPF."""
    domain = email.rpartition("@")[2].strip().lower()
    if not _DOMAIN.fullmatch(domain) or mask_cpf_in_free_text(domain) != domain:
        return ""
    return domain


def token(prefix: str, value: str) -> str:
    """Return the index token of a code. It begins with a character that names do not have."""
    return f"_{prefix}{value.lower()}"


def capital_class(amount: Decimal) -> int:
    """Return the class of an amount, 0 to 31: two classes for each number of digits in reais.

    Classes grow with the amount, so a range of amounts is a range of classes; records of the first
    and the last one are checked.
    """
    if amount < 1:
        return 0
    reais = str(int(amount))
    return min(2 * len(reais) - 1 + (reais[0] >= "3"), CAPITAL_CLASS_MAX)


def capital_step(amount: Decimal) -> str:
    """Return the step of an amount within its class.

    That is the number of its digits, the first two, and `0` if only zeros follow, else `1`. Steps
    of a class grow with the amount; `-` is a negative amount.
    """
    if amount < 0:
        return NEGATIVE_STEP
    reais = str(int(amount))
    firsts = reais[:2].ljust(2, "0")
    round_amount = int(firsts) * 10 ** (len(reais) - 2) if len(reais) > 1 else int(reais)
    return f"{len(reais):02d}{firsts}{int(amount != round_amount)}"


def steps_of_class(number: int) -> Sequence[str]:
    """Return the steps of a class of amounts, in order."""
    if number == 0:
        return (NEGATIVE_STEP, "01000", "01001")
    digits, firsts = (number + 1) // 2, range(30, 100) if number % 2 == 0 else range(10, 30)
    steps = firsts if digits > 1 else firsts[::10]
    return [f"{digits:02d}{first}{more}" for first in steps for more in "01"]


def tokens_of(record: SearchRecord) -> str:
    """Return all index tokens of a record, separated by blanks."""
    found = {*indexed_words_of(record.name), *indexed_words_of(record.trade_name)}
    for coded in CODED.values():
        found.update([token(coded.prefix, value) for value in coded.of(record) if value])
    if not record.person:
        found.add(token(PERSON, "0"))
        if record.mei:
            found.add(token(MEI_WITHOUT_PERSON, "1"))
    if record.cep:
        found.add(token(POSTAL, record.cep[:POSTAL_DIGITS]))
    for prefix, day in ((OPENED, record.opened), (STATUS_CHANGED, record.status_day)):
        if day:
            # Its decade, its year, its month.
            codes = (day[:3], day[:4], day[:4] + day[5:7])
            found.update([token(prefix, code) for code in codes])
        else:  # the token of no code, so that ranges can exclude it
            found.add(token(prefix, ""))
    amount = record.capital
    if amount is None:
        found.add(token(CAPITAL, ""))
    else:
        found.add(token(CAPITAL, CAPITAL_CLASSES[capital_class(amount)]))
        found.add(token(CAPITAL_STEP, capital_step(amount)))
    return " ".join(found)


def partner_tokens(name: str, document: str) -> Sequence[str]:
    """Return the index tokens of a partner: words of the name, six digits of a CPF or a root."""
    found = list(indexed_words_of(name))
    if (known := document_token(document)) is not None:
        found.append(known)
    return found


_SIX_DIGITS = re.compile(r"\*{3}([0-9]{6})\*{2}")
_COMPANY = re.compile(r"[0-9A-Z]{12}[0-9]{2}", re.ASCII)


def document_token(document: str) -> str | None:
    """Return the token of a partner's published document; None if it cannot be searched."""
    if (six := _SIX_DIGITS.fullmatch(document)) is not None:
        return token(PARTNER_CPF, six[1])
    if _COMPANY.fullmatch(document):
        return token(PARTNER_ROOT, document[:8])
    return None
