"""Recovery codes: ten single-use codes in place of the second factor, stored as keyed digests."""

import base64
import secrets
from collections.abc import Sequence

from balcao.accounts.seal import Seal

CODES = 10
_BYTES = 15  # 120 bits, 24 characters: a plain digest suffices from 112 bits on (ASVS 6.5.2)
_PURPOSE = b"recovery code of "
_ALIKE = str.maketrans("018", "OIB")  # base 32 has none of these digits


def new_codes() -> Sequence[str]:
    """Draw codes, in groups of four letters and digits."""
    texts = (base64.b32encode(secrets.token_bytes(_BYTES)).decode().lower() for _ in range(CODES))
    return ["-".join(text[at : at + 4] for at in range(0, len(text), 4)) for text in texts]


def code_digest(seal: Seal, user_id: int, code: str) -> bytes:
    """Return the stored digest of a code as a person types it."""
    plain = "".join(code.replace("-", "").split()).upper().translate(_ALIKE)
    return seal.digest(_PURPOSE + str(user_id).encode(), plain.encode())
