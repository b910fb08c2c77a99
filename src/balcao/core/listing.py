"""What company search knows of one establishment, and the tokens by which it is found.

Contract 14.1 and 14.2. Every filter by a code is one line of `CODED`: how its values are written
in a request, and which of them a record has. The index holds the tokens of these lines, a request
asks for them, and a record is checked by the same line, so the three cannot differ.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import msgspec

from balcao.core.federation import UFS
from balcao.core.personal import mask_cpf_in_free_text
from balcao.core.text import unaccented
from balcao.core.words import indexed_words_of

# Sole traders, and natural persons who have a CNPJ (`legal` natures 4xxx): contract 14.4.
SOLE_TRADER = "2135"
_NATURAL = "4"

# In place of an activity that is not known: of no division and no section, although there is a
# division 88 (contract 14.1).
ACTIVITY_NOT_INFORMED = "8888888"


class Listed(msgspec.Struct, frozen=True, gc=False):
    """One establishment as it can be looked for. Codes are the registry's; days YYYY-MM-DD."""

    cnpj: str
    name: str  # as published: mask CPFs before showing it
    trade_name: str
    nature: str  # 4 digits
    size: str  # 01, 03, 05 or nothing
    capital: Decimal | None  # reais
    head: bool
    status: str  # 01, 02, 03, 04, 08
    status_day: str | None
    reason: str
    opened: str | None
    activity: str  # 7 digits
    others: tuple[str, ...]
    cep: str  # 8 digits or nothing
    uf: str
    city: str  # the Receita's own code, 4 digits
    area_codes: tuple[str, ...]
    domain: str  # of the e-mail, small letters
    simples: bool
    mei: bool

    @property
    def person(self) -> bool:
        """Whether a natural person is behind it (contract 14.4)."""
        return is_person(self.nature)


class ListedPartner(msgspec.Struct, frozen=True, gc=False):
    """One partner of a company, and the establishment that stands for it. As published."""

    cnpj: str
    company: str
    name: str
    document: str  # a CNPJ, a CPF as `***456789**`, or nothing
    qualification: str  # a code
    entered: str | None


def is_person(nature: str) -> bool:
    """Whether this legal nature is a natural person's (contract 14.4)."""
    return nature == SOLE_TRADER or nature.startswith(_NATURAL)


def division_of(activity: str) -> str:
    """Return the division of the CNAE that an activity belongs to; nothing where it has none."""
    return "" if activity == ACTIVITY_NOT_INFORMED else activity[:2]


class CodedFilter(msgspec.Struct, frozen=True):
    """A filter by one of several codes."""

    prefix: str  # of its tokens
    read: Callable[[str], str | None]  # a value as it is sent, or None: it is none
    of: Callable[[Listed], Sequence[str]]  # what a record has
    words: str  # what its values are, for people


def _form(pattern: str) -> Callable[[str], str | None]:
    known = re.compile(pattern, re.ASCII)
    return lambda text: text if known.fullmatch(text) else None


def _word(words: Mapping[str, str]) -> Callable[[str], str | None]:
    return lambda text: words.get(unaccented(text))


def _without(marks: str, pattern: str) -> Callable[[str], str | None]:
    reads, drop = _form(pattern), str.maketrans("", "", marks)
    return lambda text: reads(text.translate(drop))


def _yes(said: bool) -> Sequence[str]:
    return ("1",) if said else ("0",)


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
_ACTIVITY_WORDS = "CNAEs de 7 dígitos"

CODED: Mapping[str, CodedFilter] = {
    "uf": CodedFilter("uf", _word(_UFS), lambda of: (of.uf,), "siglas de UF, ou EX"),
    "municipio": CodedFilter("mu", _form("[0-9]{4}"), lambda of: (of.city,), "municípios"),
    "cnae": CodedFilter(
        "ca", _without("-/.", "[0-9]{7}"), lambda of: (of.activity, *of.others), _ACTIVITY_WORDS
    ),
    "cnae_principal": CodedFilter(
        "cn", _without("-/.", "[0-9]{7}"), lambda of: (of.activity,), _ACTIVITY_WORDS
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
MEI_WITHOUT_PERSON = "mj"  # both are common, and hardly anybody is both
POSTAL = "ce"
POSTAL_DIGITS = 6  # with all eight, hardly two establishments would share a token
OPENED, STATUS_CHANGED = "ab", "sd"
YEAR_MIN = 1850  # of its days: what lies before is a slip of the pen
YEAR_MAX = 2039  # what lies behind is found too, and takes longer
CAPITAL = "kc"
CAPITAL_CLASS_MAX = 31
CAPITAL_CLASSES = [f"{number:02d}" for number in range(CAPITAL_CLASS_MAX + 1)]
PARTNER_CPF, PARTNER_ROOT = "pf", "pj"

_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.ASCII)


def domain_of(email: str) -> str:
    """Return the part behind the @, in small letters; empty for no domain or one with a CPF."""
    domain = email.rpartition("@")[2].strip().lower()
    if not _DOMAIN.fullmatch(domain) or mask_cpf_in_free_text(domain) != domain:
        return ""
    return domain


def token(prefix: str, value: str) -> str:
    """A code as the index has it. No word of a name begins with its first character."""
    return f"_{prefix}{value.lower()}"


def capital_class(amount: Decimal) -> int:
    """A number that never falls as the amount grows: two for each digit of its reais, 0 to 31.

    A range of amounts is so some classes, of which the first and the last are checked.
    """
    if amount < 1:
        return 0
    reais = str(int(amount))
    return min(2 * len(reais) - 1 + (reais[0] >= "3"), CAPITAL_CLASS_MAX)


def tokens_of(record: Listed) -> str:
    """All by which it is found, with blanks between."""
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
            found.update((token(prefix, day[:4]), token(prefix, day[:4] + day[5:7])))
    if record.capital is not None:
        found.add(token(CAPITAL, CAPITAL_CLASSES[capital_class(record.capital)]))
    return " ".join(found)


def partner_tokens(name: str, document: str) -> Sequence[str]:
    """All by which a partner is found: the name's words, the six digits or the company's root."""
    found = list(indexed_words_of(name))
    if (known := document_token(document)) is not None:
        found.append(known)
    return found


_SIX_DIGITS = re.compile(r"\*{3}([0-9]{6})\*{2}")
_COMPANY = re.compile(r"[0-9A-Z]{12}[0-9]{2}", re.ASCII)


def document_token(document: str) -> str | None:
    """Of a partner's document as it is published; None: nobody could look for it."""
    if (six := _SIX_DIGITS.fullmatch(document)) is not None:
        return token(PARTNER_CPF, six[1])
    if _COMPANY.fullmatch(document):
        return token(PARTNER_ROOT, document[:8])
    return None
