"""A natural person as the subject of data (LGPD: titular), and the marks that stand for a CPF.

What is kept for long knows a person by a keyed hash only. Each place has a hash of its own, so
that what lies in one of them tells nothing about another without the installation's secret.
"""

import hashlib

import msgspec

from balcao.core.documents import Cpf

# What stands in a request's details where a person's document was.
ERASED = "apagado"


class DataSubject(msgspec.Struct, frozen=True):
    """Somebody whose data is looked for, or erased. Prints no CPF."""

    cpf: Cpf
    document_hash: bytes  # in traces and receipts' records
    erasure_mark: str  # in the audit log

    @property
    def written(self) -> tuple[bytes, bytes]:
        """The CPF as answers have it: digits alone, and punctuated."""
        return self.cpf.text.encode(), self.cpf.punctuated.encode()


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


def _keyed(pepper: bytes, text: str, place: bytes) -> bytes:
    return hashlib.blake2b(text.encode(), key=pepper, digest_size=16, person=place).digest()
