"""A natural person as the subject of data (LGPD: titular), and the marks that stand for a CPF.

What is kept for long knows a person by a keyed hash only. Each place has a hash of its own, so
that what lies in one of them tells nothing about another without the installation's secret.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, Cpf

_DIGITS_MIN = 8
# Between digits of one number, as the reader of documents passes over them; a line end is between
# two numbers.
_SIGNS = (
    "[. \t\u00a0\u2000-\u200f\u202f\u2060\ufeff\u00ad/\u2044\u2215\uff0f\\\\_\uff0e"
    "\u2010-\u2015\u2212\uff0d-]{0,3}"
)
_ANY_DIGIT = "0-9\uff10-\uff19"

# Who is looked up again and again is hashed twice each time, which takes longer than all else that
# a person's answer needs and a company's does not.
_HASHES_MAX = 16_384

# What stands in a request's details where a person's document was.
ERASED = "apagado"


class DataSubject(msgspec.Struct, frozen=True):
    """Somebody whose data is looked for, or erased. Prints no CPF."""

    cpf: Cpf
    document_hash: bytes  # in traces and receipts' records
    erasure_mark: str  # in the audit log

    @property
    def written(self) -> tuple[bytes, bytes]:
        """The CPF as entries of caches have it: digits alone, and punctuated."""
        return self.cpf.text.encode(), self.cpf.punctuated.encode()


class AnswerAbout(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An answer about a person that an account may have received. Holds no CPF."""

    account_id: int
    operation: str
    uf: str  # as asked; empty: none
    document_hash: bytes
    # Whether only a certificate counts: the birth date is asked for too, and only a certificate
    # proves that it was right.
    certificate: bool


class Naming:
    """Where texts name a person by their CPF, however it is written: `123.456.789-09`, with
    blanks, inside a sentence, without the zeros at its beginning, which spreadsheets cut off, or
    with more of them, up to the length of a CNPJ, say, unless that is a company's.

    Fewer than eight digits name nobody: such numbers are everywhere.
    """

    def __init__(self, cpf: Cpf) -> None:
        text = cpf.text
        parts = _SIGNS.join(map(_digit, text))
        short = text.lstrip("0")
        cut = _SIGNS.join(map(_digit, short))
        bare = f"|{cut}" if _DIGITS_MIN <= len(short) < len(text) else ""
        padded = text.zfill(CNPJ_CHARACTERS)
        zeros = "{0,2}" if cnpj_check_digits(padded[:-2]) == padded[-2:] else "*"
        self._pattern = re.compile(
            f"(?<![{_ANY_DIGIT}]){_digit('0')}{zeros}(?:{parts}{bare})(?![{_ANY_DIGIT}])"
        )
        # In whatever names them; where one is missing, nobody needs to read further.
        self.groups = text[3:6].encode(), text[6:9].encode()

    def is_in(self, text: str) -> bool:
        """Whether this does."""
        return self._pattern.search(text) is not None

    def is_in_any(self, texts: Iterable[str]) -> bool:
        """Whether one of these does."""
        return self.is_in("\n\n".join(texts))

    def without(self, text: str) -> str:
        """The same with `ERASED` in the place of each."""
        return self._pattern.sub(ERASED, text)


def _digit(digit: str) -> str:
    """A digit, full-width as well."""
    return f"[{digit}{chr(0xFF10 + int(digit))}]"


def data_subject(pepper: bytes, cpf: Cpf) -> DataSubject:
    """The person of this CPF, as this installation knows them."""
    return DataSubject(
        cpf,
        document_hash(pepper, cpf.text),
        _keyed(pepper, cpf.text, b"balcao-erasure").hex(),
    )


def document_hash(pepper: bytes, cpf: str) -> bytes:
    """By which a person's requests are found without their number being kept."""
    return _keyed(pepper, cpf, b"balcao-trace")


def cache_mark(pepper: bytes, text: str) -> str:
    """What stands in the cache's keys for a CPF, or for a CPF with its birth date."""
    return _keyed(pepper, text, b"balcao-cache").hex()


@lru_cache(maxsize=_HASHES_MAX)
def _keyed(pepper: bytes, text: str, place: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), key=pepper, digest_size=16, person=place).digest()


def forget_hashes() -> None:
    """Remember no CPF: somebody was erased."""
    _keyed.cache_clear()
