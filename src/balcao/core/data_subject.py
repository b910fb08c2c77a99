"""A natural person as data subject (LGPD: titular), and the keyed hashes of a CPF.

Data that is stored for long identifies a person by a keyed hash only. Each place has a hash of its
own, so that entries of different places cannot be linked without the installation's secret.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, Cpf

_DIGITS_MIN = 8
# Characters between digits of one number that `document_reader` ignores; not line ends.
_SIGNS = (
    "[. \t\u00a0\u2000-\u200f\u202f\u2060\ufeff\u00ad/\u2044\u2215\uff0f\\\\_\uff0e"
    "\u2010-\u2015\u2212\uff0d-]{0,3}"
)
_ANY_DIGIT = "0-9\uff10-\uff19"

# A lookup of a person hashes the CPF twice, which is the largest part of its extra cost.
_HASHES_MAX = 16_384

# Replaces an erased person's document in the details of requests.
ERASED = "apagado"


class DataSubject(msgspec.Struct, frozen=True):
    """A person whose data is to be found or erased. Its `repr` shows no CPF."""

    cpf: Cpf
    document_hash: bytes  # in traces and records of receipts
    erasure_hash: str  # in the audit log

    @property
    def written(self) -> tuple[bytes, bytes]:
        """The CPF as in cache entries: without and with punctuation."""
        return self.cpf.text.encode(), self.cpf.punctuated.encode()


class AnswerAbout(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An answer about a person that an account may have received. Contains no CPF."""

    account_id: int
    operation: str
    uf: str  # as requested; empty: none
    document_hash: bytes
    # Only certificates count: they also need the birth date, and only a certificate proves that it
    # was right.
    certificate: bool


class CpfFinder:
    """Finds a CPF in texts in any spelling: punctuated, with blanks, within a sentence, without its
    leading zeros (spreadsheets remove them), or with more zeros, unless it is then a valid CNPJ.

    Without leading zeros at least eight digits must be left: shorter numbers are too common.
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
        # Both are in every spelling of the CPF: a cheap filter before the pattern.
        self.groups = text[3:6].encode(), text[6:9].encode()

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the CPF."""
        return self._pattern.search(text) is not None

    def is_in_any(self, texts: Iterable[str]) -> bool:
        """Return whether one of the texts contains the CPF."""
        return self.is_in("\n\n".join(texts))

    def redact(self, text: str) -> str:
        """Return the text with `ERASED` in place of the CPF."""
        return self._pattern.sub(ERASED, text)


def _digit(digit: str) -> str:
    """Return a pattern for a digit, full-width as well."""
    return f"[{digit}{chr(0xFF10 + int(digit))}]"


def data_subject(pepper: bytes, cpf: Cpf) -> DataSubject:
    """Return the person with this CPF, with the hashes of this installation."""
    return DataSubject(
        cpf,
        document_hash(pepper, cpf.text),
        _keyed(pepper, cpf.text, b"balcao-erasure").hex(),
    )


def document_hash(pepper: bytes, cpf: str) -> bytes:
    """Return the hash by which a person's requests are found, as their CPF is not stored."""
    return _keyed(pepper, cpf, b"balcao-trace")


def cache_hash(pepper: bytes, text: str) -> str:
    """Return the hash in cache keys for a CPF, or for a CPF with its birth date."""
    return _keyed(pepper, text, b"balcao-cache").hex()


@lru_cache(maxsize=_HASHES_MAX)
def _keyed(pepper: bytes, text: str, place: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), key=pepper, digest_size=16, person=place).digest()


def clear_hashes() -> None:
    """Clear the memo of hashes, which contains CPFs, after a person was erased."""
    _keyed.cache_clear()
