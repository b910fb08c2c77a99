"""Passwords: argon2id with the profile that OWASP recommends, at most two at a time."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from balcao.core.errors import Overloaded

T = TypeVar("T")

# OWASP's password storage cheat sheet: 19 MiB, two passes, one lane. 128 bits of salt.
MEMORY_KIB, PASSES, LANES = 19_456, 2, 1

# Each takes 19 MiB and some tens of milliseconds of a core, which lookups need more.
AT_ONCE = 2
WAITING_MAX = 64


class Passwords:
    """Hashes and verifies in threads, behind a semaphore."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(PASSES, MEMORY_KIB, LANES)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._dummy_hash = ""  # made at the first use

    async def hash(self, password: str) -> str:
        """Return a new hash in argon2's usual notation. Raises `Overloaded`."""
        return await self._limited(lambda: self._hasher.hash(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether it is right; as slow without a hash. Raises `Overloaded`."""
        if not self._dummy_hash:  # compared with the password of an unknown user
            self._dummy_hash = await self.hash("nobody has this password")
        compared = password_hash or self._dummy_hash
        found = await self._limited(lambda: self._matches(compared, password))
        return found and password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Return whether a hash was made with other parameters than today's."""
        return self._hasher.check_needs_rehash(password_hash)

    def _matches(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerifyMismatchError, VerificationError, InvalidHashError):
            return False

    async def _limited(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING_MAX:
            raise Overloaded(1)
        self._waiting += 1
        try:
            async with self._places:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
