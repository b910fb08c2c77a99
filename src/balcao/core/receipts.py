"""Receipts: who has which, under what number, and whether the bytes may be kept at all.

Contract 7.3. Bytes are stored once, by their content; what an account gets is a number of its
own for them, so that a number never links accounts. Numbers are drawn from a secret, so that
nobody can guess one, and the same receipt has the same number whenever it is delivered again.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from balcao.core.certificates import (
    CertificateGiven,
    CertificateType,
    MediaType,
    StoredReceipt,
    Verdict,
)

# The kind of job that deletes a receipt's bytes, by their digest, if no record names them.
DELETE_BYTES = "delete_receipt_bytes"

RECEIPT_BYTES_MAX = 10_000_000

_EXTENSIONS: Mapping[MediaType, str] = {"application/pdf": "pdf", "text/html": "html"}
_PROVEN: Mapping[Verdict | None, CertificateType] = {"CND": "CND", "CPEND": "CPEND", "CPD": "CPD"}
_CPF = re.compile(r"(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)")
_NAME_CHARACTERS_MAX = 20  # whole words: enough to tell thirty files apart


class About(msgspec.Struct, frozen=True):
    """What a receipt is about, for people: from the newest request that brought it."""

    document: str  # the CNPJ that the certificate names, or a masked CPF
    uf: str | None  # of a state's certificate
    verdict: Verdict | None
    validity: str | None
    name: str | None


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A receipt as the desk records it. `account_id` is None for those that are public."""

    receipt_id: str
    account_id: int | None
    digest: str
    media_type: MediaType
    size_bytes: int
    about: About | None = None  # None: nobody remembers
    cnpj: str | None = None  # of a company's federal certificate: the one that it names


class Numbering(msgspec.Struct, frozen=True):
    """Numbers for receipts, drawn from the installation's secret, and where they are fetched."""

    pepper: bytes
    base_url: str = ""  # empty: addresses are relative to the service

    def private(self, account_id: int, stored: StoredReceipt, cnpj: str | None = None) -> Receipt:
        """A federal receipt: every account that obtained it has its own number for it.

        `cnpj`: the one that the certificate names; None: it is a person's.
        """
        number = _number(self.pepper, f"account:{account_id}", stored.digest)
        return Receipt(
            number, account_id, stored.digest, stored.media_type, stored.size_bytes, cnpj=cnpj
        )

    def public(self, cnpj: str, uf: str, stored: StoredReceipt) -> Receipt:
        """A state receipt: one number per CNPJ, UF and certificate, the same for everybody."""
        number = _number(self.pepper, f"public:{cnpj}:{uf}", stored.digest)
        return Receipt(number, None, stored.digest, stored.media_type, stored.size_bytes)

    def address(self, operation: str, receipt: Receipt) -> str:
        """Where it is fetched: the value of `print` (specification, "Receipt download")."""
        return f"{self.base_url}/consultas/v2/{operation}/print/{receipt.receipt_id}"


def given(
    verdict: Verdict,
    validity: str | None,
    name: str | None,
    receipt: Receipt | None,
    issued_on: str | None,
) -> CertificateGiven:
    """What a request that brought this certificate, and this receipt, is remembered with."""
    if receipt is None:
        return CertificateGiven(verdict, validity, name, None, None, issued_on)
    number, media_type = receipt.receipt_id, receipt.media_type
    return CertificateGiven(verdict, validity, name, number, media_type, issued_on)


def file_name(receipt: Receipt) -> str:
    """What a saved receipt is called: ASCII that every file system takes, no whole CPF.

    `CND-federal_90010001000100_EMPRESA-ATIVA_vale-2027-02-15.pdf`; by its number where nobody
    remembers what it is about. As a header has it, it needs no quoting (RFC 6266, RFC 8187).
    """
    about, extension = receipt.about, extension_of(receipt)
    if about is None:
        return f"certidao-{receipt.receipt_id}.{extension}"
    kind = _PROVEN.get(about.verdict, "certidao")
    parts = (
        f"{kind}-estadual-{about.uf}" if about.uf else f"{kind}-federal",
        about.document.replace("*", "x"),
        short_name(about.name or ""),
        f"vale-{about.validity[:10]}" if about.validity else "",
    )
    return "_".join(part for part in parts if part) + f".{extension}"


def extension_of(receipt: Receipt) -> str:
    """How its file's name ends, without the dot."""
    return _EXTENSIONS[receipt.media_type]


def short_name(name: str) -> str:
    """The first words of a name, in ASCII and upper case, with hyphens.

    Without the CPF that ends the names of many sole traders.
    """
    name = _CPF.sub(" ", name)
    decomposed = unicodedata.normalize("NFD", name.upper())
    words = re.findall("[0-9A-Z]+", decomposed.encode("ascii", "ignore").decode())
    short = ""
    for word in words:
        longer = f"{short}-{word}" if short else word
        if short and len(longer) > _NAME_CHARACTERS_MAX:
            break
        short = longer
    return short[:_NAME_CHARACTERS_MAX]


def digest_of(content: bytes) -> str:
    """The name of these bytes in the store: BLAKE2b-256, hexadecimal."""
    seen = hashing()
    seen.update(content)
    return seen.hexdigest()


def hashing() -> hashlib.blake2b:
    """The same, for bytes that come in pieces."""
    return hashlib.blake2b(digest_size=32)


# The same receipts are delivered again and again.
@lru_cache(maxsize=4096)
def _number(pepper: bytes, owner: str, digest: str) -> str:
    keyed = hashlib.blake2b(
        f"{owner}:{digest}".encode(), digest_size=16, key=pepper, person=b"balcao-receipt"
    )
    digits = keyed.hexdigest()
    # As a UUID of version 8, whose other bits are free (RFC 9562).
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
