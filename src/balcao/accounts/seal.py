"""Encryption of values that leave the service and return, or are stored in the database.

The key is derived from the installation's secret and the purpose: a value encrypted for one purpose
does not open for another.
"""

import base64
import contextlib
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from balcao.core.secrets import Secrets

# Purposes of stored values, which are sealed again when the secret is replaced.
TOTP_SECRET = b"totp secret"
MAIL_CONTENT = b"mail"
WALLET_PERSON = b"wallet person"
WEBHOOK_SECRET = b"webhook secret"

_KEY_BYTES = 32
_SALT_DIGITS = 16


class Seal:
    """Authenticated encryption and keyed digests from the installation's secrets (ADR 0106).

    The current secret encrypts; a replaced one decrypts until its rotation is finished. Digests use
    the first secret, since they cannot be made again.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def close(self, purpose: bytes, value: bytes) -> bytes:
        """Encrypt a value; the result is safe in a form's field."""
        return _fernet(self._secrets.ring.current, purpose).encrypt(value)

    def open(self, purpose: bytes, sealed: bytes, ttl_seconds: int | None = None) -> bytes | None:
        """Decrypt a value. None: foreign, for another purpose, modified, or expired."""
        for secret in self._secrets.ring.accepted:
            with contextlib.suppress(InvalidToken):
                return _fernet(secret, purpose).decrypt(sealed, ttl=ttl_seconds)
        return None

    def renew(self, purpose: bytes, sealed: bytes) -> bytes | None:
        """Encrypt a value again with the current secret. None: it is, or cannot be decrypted."""
        fernets = [_fernet(secret, purpose) for secret in self._secrets.ring.accepted]
        try:
            fernets[0].decrypt(sealed)
        except InvalidToken:
            with contextlib.suppress(InvalidToken):
                return MultiFernet(fernets).rotate(sealed)
        return None

    def digest(self, purpose: bytes, value: bytes) -> bytes:
        """Return a keyed digest of a value, for comparison only."""
        key = hashlib.blake2b(
            purpose, key=self._secrets.ring.first, digest_size=_KEY_BYTES, person=b"balcao-digest"
        ).digest()
        return hashlib.blake2b(value, key=key, digest_size=_KEY_BYTES).digest()

    def token_for(self, cookie: str) -> str:
        """Return a form token bound to a browser's cookie (see `guard.is_our_own_form`).

        It differs each time: pages are compressed, and a constant text could be guessed letter by
        letter from their sizes (BREACH).
        """
        salt = secrets.token_hex(_SALT_DIGITS // 2)
        return _salted(self._secrets.ring.current, salt, cookie)

    def is_token_of(self, cookie: str, token: str) -> bool:
        """Return whether a form was made for this browser."""
        salt = token[:_SALT_DIGITS]
        return any(
            hmac.compare_digest(_salted(secret, salt, cookie).encode(), token.encode())
            for secret in self._secrets.ring.accepted
        )


def _salted(secret: bytes, salt: str, cookie: str) -> str:
    digest = hashlib.blake2b(f"{salt}:{cookie}".encode(), key=secret, person=b"balcao-form")
    return salt + digest.hexdigest()[:32]


def _fernet(secret: bytes, purpose: bytes) -> Fernet:
    key = hashlib.blake2b(purpose, key=secret, digest_size=_KEY_BYTES, person=b"balcao-seal")
    return Fernet(base64.urlsafe_b64encode(key.digest()))
