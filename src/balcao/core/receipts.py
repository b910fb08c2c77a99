"""Receipts: records, numbers, and names of files (contract 7.3).

Bytes are stored once, by the digest of their content. Each account has numbers of its own for them,
so that a number never links accounts. Numbers are derived with a secret, so they cannot be guessed,
and the same receipt always has the same number.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from balcao.core.certificates import (
    CertificateSummary,
    CertificateType,
    MediaType,
    StoredReceipt,
    Verdict,
)

# The job that deletes a receipt's bytes, by their digest, if no record refers to them.
DELETE_BYTES = "delete_receipt_bytes"

# In place of an operation's path, of files that were sent for certificates entered by hand.
UPLOADED = "carteira"

RECEIPT_BYTES_MAX = 10_000_000

_EXTENSIONS: Mapping[MediaType, str] = {"application/pdf": "pdf", "text/html": "html"}
_PROVEN: Mapping[Verdict | None, CertificateType] = {"CND": "CND", "CPEND": "CPEND", "CPD": "CPD"}
_CPF = re.compile(r"(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)")
_NAME_CHARACTERS_MAX = 20  # whole words: enough to distinguish thirty files


class ReceiptSubject(msgspec.Struct, frozen=True):
    """The subject of a receipt, for people: by the newest request that delivered it."""

    document: str  # the CNPJ in the certificate, or a masked CPF
    uf: str | None  # of a state's certificate
    verdict: Verdict
    validity: str | None
    name: str | None


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A receipt as recorded by the desk. `account_id` is None for public ones."""

    receipt_id: str
    account_id: int | None
    digest: str
    media_type: MediaType
    size_bytes: int
    about: ReceiptSubject | None = None  # None: no longer known
    cnpj: str | None = None  # the one named by a company's certificate
    operation: str = ""  # the path of the lookup that obtained it; empty: not read


class ReceiptNumbers(msgspec.Struct, frozen=True):
    """Numbers of receipts, derived with the installation's secret, and their addresses."""

    pepper: bytes
    base_url: str = ""  # empty: addresses are relative to the service

    def private(self, account_id: int, stored: StoredReceipt, cnpj: str | None = None) -> Receipt:
        """Return a private receipt; every account that obtained it has its own number for it.

        `cnpj`: the one in the certificate; None: it is a person's.
        """
        number = _number(self.pepper, f"account:{account_id}", stored.digest)
        return Receipt(
            number, account_id, stored.digest, stored.media_type, stored.size_bytes, cnpj=cnpj
        )

    def public(self, cnpj: str, uf: str, stored: StoredReceipt) -> Receipt:
        """Return a state receipt: one number per CNPJ, UF and certificate, for all accounts."""
        number = _number(self.pepper, f"public:{cnpj}:{uf}", stored.digest)
        return Receipt(number, None, stored.digest, stored.media_type, stored.size_bytes)

    def uploaded(self, account_id: int, paper_id: str, stored: StoredReceipt) -> Receipt:
        """Return the file of a certificate entered by hand, which is that certificate's alone."""
        number = _number(self.pepper, f"paper:{account_id}:{paper_id}", stored.digest)
        return Receipt(number, account_id, stored.digest, stored.media_type, stored.size_bytes)

    def address(self, operation: str, receipt: Receipt) -> str:
        """Return the URL of a receipt, as in the API's field `print` (specification)."""
        return self.address_of(operation, receipt.receipt_id)

    def address_of(self, operation: str, receipt_id: str) -> str:
        """Return the URL of a receipt with this number."""
        return f"{self.base_url}/consultas/v2/{operation}/print/{receipt_id}"


def certificate_summary(
    verdict: Verdict,
    validity: str | None,
    name: str | None,
    receipt: Receipt | None,
    issued_on: str | None,
) -> CertificateSummary:
    """Return the summary, for the trace, of a certificate delivered with this receipt."""
    if receipt is None:
        return CertificateSummary(verdict, validity, name, None, None, issued_on)
    number, media_type = receipt.receipt_id, receipt.media_type
    return CertificateSummary(verdict, validity, name, number, media_type, issued_on)


def proven(verdict: Verdict) -> str:
    """Return the type of certificate that a verdict stands for, or `certidao`."""
    return _PROVEN.get(verdict, "certidao")


def file_name(receipt: Receipt, kind: str) -> str:
    """Return the file name of a receipt: ASCII, valid on every file system, without a whole CPF.

    `CND-federal_90010001000100_EMPRESA-ATIVA_vale-2027-02-15.pdf`, of which `kind` is the
    beginning, or its number if its subject is unknown. In a header it needs no quoting (RFC 6266,
    RFC 8187).
    """
    about, extension = receipt.about, extension_of(receipt)
    if about is None:
        return f"certidao-{receipt.receipt_id}.{extension}"
    parts = (
        kind,
        about.document.replace("*", "x"),
        short_name(about.name or ""),
        f"vale-{about.validity[:10]}" if about.validity else "",
    )
    return "_".join(part for part in parts if part) + f".{extension}"


def extension_of(receipt: Receipt) -> str:
    """Return the extension of a receipt's file, without the dot."""
    return _EXTENSIONS[receipt.media_type]


def short_name(name: str) -> str:
    """Return the first words of a name, in ASCII and upper case, with hyphens and without a CPF."""
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
    """Return the name of these bytes in the store: BLAKE2b-256, hexadecimal."""
    digest = new_digest()
    digest.update(content)
    return digest.hexdigest()


def new_digest() -> hashlib.blake2b:
    """Return the hash object of `digest_of`, for bytes in several parts."""
    return hashlib.blake2b(digest_size=32)


# The same receipts are delivered many times.
@lru_cache(maxsize=4096)
def _number(pepper: bytes, owner: str, digest: str) -> str:
    keyed = hashlib.blake2b(
        f"{owner}:{digest}".encode(), digest_size=16, key=pepper, person=b"balcao-receipt"
    )
    digits = keyed.hexdigest()
    # As a UUID of version 8, whose other bits are free (RFC 9562).
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
