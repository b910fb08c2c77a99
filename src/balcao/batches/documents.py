"""Documents as spreadsheets leave them: read, mended where that is certain, else refused.

A mask goes, letters stay; zeros come back only where the check digits then fit (decision 0045).
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from typing import Literal, TypeAlias

import msgspec

from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cnpj, Cpf
from balcao.errors import InvalidCnpj, InvalidCpf

DocumentKind: TypeAlias = Literal["cnpj", "cpf"]
DocumentFlaw: TypeAlias = Literal[
    "sem_documento",
    "documento_invalido",
    "documento_de_outro_tipo",
    "cpf_em_coluna_de_cnpj",  # the same, where the operation takes both: the column does not
    "cnpj_em_coluna_de_cpf",
    "documento_ambiguo",
    "numero_cortado_pela_planilha",
]

_CHARACTERS_MAX = 64  # longer text is no document
# Three figures are the least that a document has left: 191 is the Banco do Brasil.
_DIGITS_LEAST = 3

_SCIENTIFIC = re.compile(r"[0-9]+(?:[.,][0-9]+)?E\+?[0-9]{1,3}", re.ASCII)
_WHOLE = re.compile(r"([0-9]{3,14})[.,]0{1,2}", re.ASCII)  # a number with the decimals of a price
_NAMED = re.compile(r"(?:CNPJ|CPF)(?:/MF)?(?:\s*:|\s)\s*(?:N[O.]+\s*)?(?=[0-9A-Z])")
_SIGNS = re.compile(r"[\s./\\'\u2010-\u2015\u2212_\-]")  # all sorts of hyphens, too
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


class Mended(msgspec.Struct, frozen=True, gc=False):
    """A document, and whether zeros were put back."""

    document: Cnpj | Cpf
    padded: bool = False


def mend(text: str, kinds: Collection[DocumentKind], *, only: bool = True) -> Mended | DocumentFlaw:
    """The document in a cell, of the kinds that may be asked about; or what is wrong with it.

    `only`: the column's name says that it has no others. Where it does not, a whole document of
    another kind is never taken for a shortened one of these.
    """
    if len(text) == CNPJ_CHARACTERS and text.isascii() and text.isdigit():
        bare = text  # nearly all
    else:
        bare = _bare(text)
    if not bare:
        return "sem_documento"
    if _SCIENTIFIC.fullmatch(bare):
        return "numero_cortado_pela_planilha"
    exact = _as(bare)
    if exact is not None and kind_of(exact) in kinds:
        return Mended(exact)
    padded = _padded(bare)
    allowed = [each for each in padded if kind_of(each) in kinds]
    if len(allowed) == 1 and (only or exact is None):
        return Mended(allowed[0], padded=True)
    if allowed:
        return "documento_ambiguo"
    return "documento_de_outro_tipo" if exact or padded else "documento_invalido"


def kind_of(document: Cnpj | Cpf) -> DocumentKind:
    """What it is called in parameters and columns."""
    return "cnpj" if isinstance(document, Cnpj) else "cpf"


def _bare(text: str) -> str:
    """Without mask, blanks, and what stands around documents; numbers as spreadsheets say them."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    text = text.strip()
    if len(text) > _CHARACTERS_MAX:
        return text
    if text.isascii():
        text = text.upper()  # of other letters `upper` makes other letters
    if _SCIENTIFIC.fullmatch(text):
        return text
    if (number := _WHOLE.fullmatch(text)) is not None:
        return number[1]
    return _SIGNS.sub("", _NAMED.sub("", text, count=1))


def _as(bare: str) -> Cnpj | Cpf | None:
    if len(bare) == CNPJ_CHARACTERS:
        return _parsed(Cnpj.parse, bare)
    if len(bare) == CPF_CHARACTERS:
        return _parsed(Cpf.parse, bare)
    return None


def _padded(bare: str) -> list[Cnpj | Cpf]:
    """The documents that it is with zeros before it. With letters a spreadsheet cuts none off."""
    if not (len(bare) >= _DIGITS_LEAST and bare.isascii() and bare.isdigit()):
        return []
    found: list[Cnpj | Cpf | None] = []
    if len(bare) < CNPJ_CHARACTERS:
        found.append(_parsed(Cnpj.parse, bare.zfill(CNPJ_CHARACTERS)))
    if len(bare) < CPF_CHARACTERS:
        found.append(_parsed(Cpf.parse, bare.zfill(CPF_CHARACTERS)))
    return [each for each in found if each is not None]


def _parsed(parse: Callable[[str], Cnpj | Cpf], text: str) -> Cnpj | Cpf | None:
    try:
        return parse(text)
    except (InvalidCnpj, InvalidCpf):
        return None
