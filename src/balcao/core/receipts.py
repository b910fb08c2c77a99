"""Receipts: who has which, under what number, and whether the bytes may be kept at all.

Decisions 7.3. Bytes are stored once, by their content; what an account gets is a number of its
own for them, so that a number never links accounts. Numbers are drawn from a secret, so that
nobody can guess one, and the same receipt has the same number whenever it is delivered again.
"""

import hashlib
from functools import lru_cache

import msgspec

from balcao.core.certificates import MediaType, StoredReceipt

RECEIPT_BYTES_MAX = 10_000_000


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A receipt as the desk records it. `account_id` is None for those that are public."""

    receipt_id: str
    account_id: int | None
    digest: str
    media_type: MediaType
    size_bytes: int


class Numbering(msgspec.Struct, frozen=True):
    """Numbers for receipts, drawn from the installation's secret, and where they are fetched."""

    secret: bytes
    base_url: str = ""  # empty: addresses are relative to the service

    def private(self, account_id: int, stored: StoredReceipt) -> Receipt:
        """A federal receipt: every account that obtained it has its own number for it."""
        number = _number(self.secret, f"account:{account_id}", stored.digest)
        return Receipt(number, account_id, stored.digest, stored.media_type, stored.size_bytes)

    def public(self, cnpj: str, uf: str, stored: StoredReceipt) -> Receipt:
        """A state receipt: one number per CNPJ, UF and certificate, the same for everybody."""
        number = _number(self.secret, f"public:{cnpj}:{uf}", stored.digest)
        return Receipt(number, None, stored.digest, stored.media_type, stored.size_bytes)

    def address(self, operation: str, receipt: Receipt) -> str:
        """Where it is fetched: the value of `print` (specification, "Receipt download")."""
        return f"{self.base_url}/consultas/v2/{operation}/print/{receipt.receipt_id}"


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
def _number(secret: bytes, owner: str, digest: str) -> str:
    keyed = hashlib.blake2b(
        f"{owner}:{digest}".encode(), digest_size=16, key=secret, person=b"balcao-receipt"
    )
    digits = keyed.hexdigest()
    # As a UUID of version 8, whose other bits are free (RFC 9562).
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
