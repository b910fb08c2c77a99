"""Idempotency keys: a repeated request is one lookup and one charge (contract 6)."""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from balcao.core.errors import (
    UNAVAILABLE_RETRY_SECONDS_MAX,
    IdempotencyKeyReused,
    ResultErased,
    ResultUnavailable,
    StillRunning,
)

KEY_CHARACTERS_MIN = 8
KEY_CHARACTERS_MAX = 128

# After the sources' deadline only the commit is left.
COMMIT_SECONDS = 1


class RecordedAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer of a finished execution, returned byte for byte to a repeated request."""

    request_id: str
    status: int
    body: bytes
    fresh_ms: int | None = None  # the content's age counts from here; None: it has no content

    @property
    def erased(self) -> bool:
        """Whether the body was erased at a person's request; no other answer is empty."""
        return not self.body


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The stored state of an account's idempotency key."""

    fingerprint: str
    state: Literal["running", "finished", "died"]
    recorded: RecordedAnswer | None
    bound_ms: int = field(default=0, compare=False)  # when the first execution took the key
    expires_ms: int = field(default=0, compare=False)  # then the key is free again

    def replay_wait_seconds(self, now_ms: int) -> int | None:
        """Return the `Retry-After` of a replay; None: only a recorded 503 has one.

        It is the time until the key expires, since the same answer is returned until then.
        """
        if self.recorded is None or self.recorded.status != 503:
            return None
        left = -(-(self.expires_ms - now_ms) // 1000)
        return min(max(1, left), UNAVAILABLE_RETRY_SECONDS_MAX)


def admit(
    earlier: IdempotencyRecord | None, fingerprint: str, now_ms: int, deadline_ms: int
) -> RecordedAnswer | None:
    """Return the recorded answer to send again, or None to execute the request.

    Raises `IdempotencyKeyReused` for another request under the same key, `StillRunning` while the
    first execution runs, `ResultUnavailable` if it died with its process, and `ResultErased` if a
    person's data was erased (with the request's fingerprint).
    """
    if earlier is None:
        return None
    if earlier.recorded is not None and earlier.recorded.erased:
        raise ResultErased
    if earlier.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    if earlier.state == "running":
        # Most finish much sooner, but after this wait the answer is final (contract 1.8).
        left_ms = earlier.bound_ms + deadline_ms - now_ms
        raise StillRunning(max(0, -(-left_ms // 1000)) + COMMIT_SECONDS)
    if earlier.recorded is None:
        raise ResultUnavailable
    return earlier.recorded


def is_valid_key(key: str) -> bool:
    """Return whether a key has 8 to 128 visible ASCII characters (contract 2.9)."""
    return KEY_CHARACTERS_MIN <= len(key) <= KEY_CHARACTERS_MAX and all(
        "!" <= character <= "~" for character in key
    )


def keyed_digest(secret: bytes, text: str) -> str:
    """Return a digest that reveals no short personal text to those without the secret."""
    return hashlib.blake2b(
        text.encode(), key=secret, digest_size=16, person=b"balcao-creation"
    ).hexdigest()


def digest(text: str) -> str:
    """Return a short digest of a request's description, which hides personal data."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
