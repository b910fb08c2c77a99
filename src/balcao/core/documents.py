"""CNPJ and CPF, the Brazilian documents. `parse` validates; an instance is valid.

Rules: contract 2.1 and 2.2; `cnpj-alfanumerico.md` sections 1 to 3.
"""

import re

import msgspec

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits
from balcao.core.errors import InvalidCnpj, InvalidCpf

_CNPJ = re.compile(r"[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}/?[0-9A-Z]{4}-?[0-9]{2}", re.ASCII)
_CPF = re.compile(r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}", re.ASCII)
_CPF_WITHIN = re.compile(
    r"(?<![0-9A-Za-z])[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}(?![0-9A-Za-z])", re.ASCII
)
CNPJ_CHARACTERS, CPF_CHARACTERS = 14, 11
_FIRST_ORDER = "0001"

_PUNCTUATION = str.maketrans("", "", "./-")

# A document with its punctuation and generous white space; longer text is not one.
_RAW_CHARACTERS_MAX = 64


class Cnpj(msgspec.Struct, frozen=True, gc=False):
    """A company's number: 12 characters `[0-9A-Z]` and 2 check digits, no punctuation."""

    text: str

    @property
    def root(self) -> str:
        """The 8 characters shared by all establishments of a company."""
        return self.text[:8]

    @property
    def first_establishment(self) -> "Cnpj":
        """The establishment of the same company with order 0001: mostly its head office."""
        if self.text[8:12] == _FIRST_ORDER:
            return self
        return Cnpj(first_establishment(self.root))

    @property
    def punctuated(self) -> str:
        t = self.text
        return f"{t[:2]}.{t[2:5]}.{t[5:8]}/{t[8:12]}-{t[12:]}"

    @classmethod
    def parse(cls, raw: str) -> "Cnpj":
        """Return the CNPJ in a text. Raises `InvalidCnpj`."""
        text = raw if len(raw) == 14 and raw.isascii() and raw.isdigit() else _bare_cnpj(raw)
        if cnpj_check_digits(text[:12]) != text[12:] or text == text[0] * 14:
            raise InvalidCnpj
        return cls(text)


def first_establishment(root: str) -> str:
    """Return the CNPJ of a root's establishment with order 0001."""
    base = root + _FIRST_ORDER
    return base + cnpj_check_digits(base)


class Cpf(msgspec.Struct, frozen=True, gc=False):
    """A person's number, 11 digits. `str` and `repr` show it masked."""

    text: str

    @property
    def masked(self) -> str:
        """`***456789**`: the form of the registry (contract 8)."""
        return f"***{self.text[3:9]}**"

    @property
    def punctuated(self) -> str:
        t = self.text
        return f"{t[:3]}.{t[3:6]}.{t[6:9]}-{t[9:]}"

    @classmethod
    def parse(cls, raw: str) -> "Cpf":
        """Return the CPF in a text. Raises `InvalidCpf`."""
        text = raw if len(raw) == 11 and raw.isascii() and raw.isdigit() else _bare_cpf(raw)
        if cpf_check_digits(text[:9]) != text[9:] or text == text[0] * 11:
            raise InvalidCpf
        return cls(text)

    def __str__(self) -> str:
        return self.masked

    def __repr__(self) -> str:
        return f"Cpf({self.masked})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("masked", self.masked)]


def without_cpf(name: str) -> str:
    """Return a company's name without a CPF: names of older sole traders end with their owner's."""
    return " ".join(_CPF_WITHIN.sub(" ", name).split())


def _bare_cpf(raw: str) -> str:
    text = raw.strip()
    if len(raw) > _RAW_CHARACTERS_MAX or not _CPF.fullmatch(text):
        raise InvalidCpf
    return text.translate(_PUNCTUATION)


def _bare_cnpj(raw: str) -> str:
    text = raw.strip()
    if len(raw) > _RAW_CHARACTERS_MAX or not text.isascii():  # upper() makes an S of a long s
        raise InvalidCnpj
    text = text.upper()
    if not _CNPJ.fullmatch(text):
        raise InvalidCnpj
    return text.translate(_PUNCTUATION)
