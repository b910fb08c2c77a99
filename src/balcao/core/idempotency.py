"""The same request twice is one lookup and one charge (contract 6)."""

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

# After the sources' deadline an execution has only its commit left to do.
COMMIT_SECONDS = 1


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """A finished execution's answer, to be sent again byte for byte."""

    request_id: str
    status: int
    body: bytes
    fresh_ms: int | None = None  # from when the content's age counts; None: it has no content

    @property
    def erased(self) -> bool:
        """Whether it was about a person whose data was erased; no answer is empty."""
        return not self.body


@dataclass(frozen=True, slots=True)
class Attempt:
    """What we know of an idempotency key of an account."""

    fingerprint: str
    state: Literal["running", "finished", "died"]
    recorded: Recorded | None
    bound_ms: int = field(default=0, compare=False)  # when the first execution took the key
    expires_ms: int = field(default=0, compare=False)  # then the key is free again

    def replay_wait_seconds(self, now_ms: int) -> int | None:
        """`Retry-After` of a replay. None: it carries none, since only a 503 does.

        The source may be back by now, but under this key the same is said until it runs out.
        """
        if self.recorded is None or self.recorded.status != 503:
            return None
        left = -(-(self.expires_ms - now_ms) // 1000)
        return min(max(1, left), UNAVAILABLE_RETRY_SECONDS_MAX)


def admit(
    earlier: Attempt | None, fingerprint: str, now_ms: int, deadline_ms: int
) -> Recorded | None:
    """None: go on. A recorded answer: send it again. Raises what forbids both.

    `IdempotencyKeyReused` for another request under the same key, `StillRunning` while the
    first execution runs, `ResultUnavailable` when it died with its process, `ResultErased` when
    a person's data was erased, and the fingerprint of what was asked with it.
    """
    if earlier is None:
        return None
    if earlier.recorded is not None and earlier.recorded.erased:
        raise ResultErased
    if earlier.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    if earlier.state == "running":
        # Most are over much sooner, but this wait is never refused again (contract 1.8).
        left_ms = earlier.bound_ms + deadline_ms - now_ms
        raise StillRunning(max(0, -(-left_ms // 1000)) + COMMIT_SECONDS)
    if earlier.recorded is None:
        raise ResultUnavailable
    return earlier.recorded


def is_valid_key(key: str) -> bool:
    """8 to 128 visible ASCII characters; the raw value is the key (contract 2.9)."""
    return KEY_CHARACTERS_MIN <= len(key) <= KEY_CHARACTERS_MAX and all(
        "!" <= character <= "~" for character in key
    )


def digest(text: str) -> str:
    """A short digest of what a request is; holds no personal data in readable form."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
