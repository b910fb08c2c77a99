"""Encryption of values that leave the service and return, or are stored in the database.

The key is derived from the installation's secret and the purpose: a value encrypted for one purpose
does not open for another.
"""

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken

_KEY_BYTES = 32
_SALT_DIGITS = 16


class Seal:
    """Authenticated encryption and keyed digests from one secret."""

    def __init__(self, pepper: bytes) -> None:
        self._pepper = pepper

    def close(self, purpose: bytes, value: bytes) -> bytes:
        """Encrypt a value; the result is safe in a form's field."""
        return self._fernet(purpose).encrypt(value)

    def open(self, purpose: bytes, sealed: bytes, ttl_seconds: int | None = None) -> bytes | None:
        """Decrypt a value. None: foreign, for another purpose, modified, or expired."""
        try:
            return self._fernet(purpose).decrypt(sealed, ttl=ttl_seconds)
        except InvalidToken:
            return None

    def digest(self, purpose: bytes, value: bytes) -> bytes:
        """Return a keyed digest of a value, for comparison only."""
        key = hashlib.blake2b(
            purpose, key=self._pepper, digest_size=_KEY_BYTES, person=b"balcao-digest"
        ).digest()
        return hashlib.blake2b(value, key=key, digest_size=_KEY_BYTES).digest()

    def token_for(self, cookie: str) -> str:
        """Return a form token bound to a browser's cookie (see `guard.is_our_own_form`).

        It differs each time: pages are compressed, and a constant text could be guessed letter by
        letter from their sizes (BREACH).
        """
        return self._salted(secrets.token_hex(_SALT_DIGITS // 2), cookie)

    def is_token_of(self, cookie: str, token: str) -> bool:
        """Return whether a form was made for this browser."""
        expected = self._salted(token[:_SALT_DIGITS], cookie)
        return hmac.compare_digest(expected.encode(), token.encode())

    def _salted(self, salt: str, cookie: str) -> str:
        digest = hashlib.blake2b(
            f"{salt}:{cookie}".encode(), key=self._pepper, person=b"balcao-form"
        )
        return salt + digest.hexdigest()[:32]

    def _fernet(self, purpose: bytes) -> Fernet:
        key = hashlib.blake2b(
            purpose, key=self._pepper, digest_size=_KEY_BYTES, person=b"balcao-seal"
        )
        return Fernet(base64.urlsafe_b64encode(key.digest()))
