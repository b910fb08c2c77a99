"""The installation's secrets, and which of them is used for what (ADR 0106)."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from balcao.core.errors import PepperDiffers

_IDENTIFIED = b"which secret is this"


@dataclass(frozen=True, slots=True)
class SecretRotation:
    """A replacement of the secret. `previous_id`: of the replaced one; None: the first."""

    secret_id: str
    previous_id: str | None
    activated_ms: int
    finished_ms: int | None  # None: the replaced secret is still accepted


@dataclass(frozen=True, slots=True, repr=False)
class SecretRing:
    """The secrets of `secret.key`, oldest first, with the roles that the database gives them."""

    secrets: Sequence[bytes]
    current: bytes  # for everything new
    previous: bytes | None  # replaced, and accepted until the rotation is finished
    pending: bytes | None  # not in use yet; another node may use it already

    @property
    def first(self) -> bytes:
        """The secret of hashes by which data is found; it never changes."""
        return self.secrets[0]

    @property
    def accepted(self) -> Sequence[bytes]:
        """The secrets whose keys and seals are valid, the current one first."""
        others = (self.previous, self.pending)
        return (self.current, *(one for one in others if one is not None))

    @property
    def stored_id(self) -> str | None:
        """The id to store with what the current secret makes; None: the first one's."""
        return None if self.current == self.first else secret_id(self.current)

    def by_id(self, stored_id: str | None) -> bytes:
        """Return the secret with a stored id. Raises `PepperDiffers`."""
        if stored_id is None:
            return self.first
        return _find(self.secrets, stored_id)


class Secrets:
    """The secrets as this process uses them; `replace` is called when a rotation advances."""

    def __init__(self, ring: SecretRing) -> None:
        self.ring = ring
        self.on_change: list[Callable[[], None]] = []
        # The secret in use is missing here: unknown keys may be valid ones.
        self.incomplete = False

    def replace(self, ring: SecretRing) -> None:
        """Use other secrets from now on."""
        self.ring = ring
        for callback in self.on_change:
            callback()


def single(secret: bytes) -> Secrets:
    """Return the secrets of an installation that has never replaced its secret."""
    return Secrets(SecretRing((secret,), secret, None, None))


def secret_id(secret: bytes) -> str:
    """Return the id of a secret, which reveals nothing about it."""
    return hashlib.blake2b(_IDENTIFIED, key=secret, digest_size=8).hexdigest()


def ring_of(secrets: Sequence[bytes], newest: SecretRotation | None) -> SecretRing:
    """Return the secrets of a file with their roles.

    `newest`: the database's last rotation. Raises `PepperDiffers` if the secret in use, or one
    that is still accepted, is missing.
    """
    if newest is None:
        current, previous = secrets[0], None
    else:
        current = _find(secrets, newest.secret_id)
        previous = None
        if newest.finished_ms is None:
            known = newest.previous_id
            previous = secrets[0] if known is None else _find(secrets, known)
    last = secrets[-1]
    pending = last if secrets.index(last) > secrets.index(current) else None
    return SecretRing(tuple(secrets), current, previous, pending)


def _find(secrets: Sequence[bytes], wanted: str) -> bytes:
    for secret in secrets:
        if secret_id(secret) == wanted:
            return secret
    raise PepperDiffers
