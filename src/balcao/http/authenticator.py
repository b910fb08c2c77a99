"""Authentication of keys, and rate limits (contract 2.10, 7.1, 7.2)."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

import msgspec

from balcao.core.access import Caller, Plan, is_well_formed, key_hash
from balcao.core.errors import KeyRefused, RateLimited, StorageFailed
from balcao.core.ledger import Change, Touch
from balcao.core.rate_limit import Limit, Verdict, refused
from balcao.core.secrets import SecretRing, Secrets
from balcao.settings import Limits
from balcao.storage.desk.desk import Desk
from balcao.storage.engine import OnCharged

# The last use of a key is shown to people; a minute is precise enough.
LAST_USE_EVERY_MS = 60_000

_MINUTE_MS = 60_000
_DAY_MS = 86_400_000

# Checking and hashing a key is the most expensive part of authentication. The hashes are kept only
# in the memory of this process.
_HASHES_MAX = 10_000


class Authenticator:
    """Authenticates callers and counts their requests."""

    def __init__(self, desk: Desk, secrets: Secrets, limits: Mapping[Plan, Limits]) -> None:
        self._desk = desk
        self._secrets = secrets
        self._hashes: dict[bytes, bytes] = {}
        secrets.on_change.append(self._hashes.clear)
        self._used: dict[int, int] = {}  # when each key's use was last written
        self._writing: set[asyncio.Task[None]] = set()
        self._plan_limits: Mapping[Plan, Sequence[Limit]] = {
            plan: (
                Limit("minuto", of_plan.per_minute, _MINUTE_MS),
                Limit("dia", of_plan.per_day, _DAY_MS),
            )
            for plan, of_plan in limits.items()
        }

    async def recognise(self, header: bytes | None, now_ms: int) -> Caller:
        """Return the caller of an `x-api-key` header. Raises `KeyRefused`."""
        if header is None:
            raise KeyRefused
        hashed = self._hashes.get(header)
        caller = None if hashed is None else await self._desk.caller(hashed, now_ms)
        if caller is None:  # unknown here, revoked, or hashed again since
            caller = await self._find(header, now_ms)
        if caller is None or (caller.expires_ms is not None and caller.expires_ms <= now_ms):
            raise KeyRefused
        return caller

    async def _find(self, header: bytes, now_ms: int) -> Caller | None:
        """Return the caller of a key by any accepted secret, and remember its hash.

        Raises `KeyRefused` for a malformed key, and `StorageFailed` while this node lacks the
        secret in use.
        """
        key = header.decode("latin-1")
        if not is_well_formed(key):
            raise KeyRefused
        ring = self._secrets.ring
        hashes = [key_hash(key, secret) for secret in ring.accepted]
        # Not cached during a rotation: an absent hash may be stored in the next moment.
        for hashed in hashes:
            if len(hashes) == 1:
                caller = await self._desk.caller(hashed, now_ms)
            else:
                caller = await self._desk.engine.caller(hashed)
            if caller is not None:
                self._remember(header, hashed, ring)
                if hashed != hashes[0] and ring.previous is not None:
                    self._rehash_soon(header, hashed, hashes[0], ring.stored_id)
                return caller
        for hashed in hashes[:-1]:  # it may have been hashed again between these reads
            caller = await self._desk.engine.caller(hashed)
            if caller is not None:
                self._remember(header, hashed, ring)
                return caller
        if self._secrets.incomplete:
            raise StorageFailed("the secret in use is missing in secret.key")
        return None

    def _remember(self, header: bytes, hashed: bytes, ring: SecretRing) -> None:
        if ring is not self._secrets.ring:
            return  # replaced while the key was read: the next request has it hashed again
        if len(self._hashes) >= _HASHES_MAX:
            self._hashes.clear()
        self._hashes[header] = hashed  # unknown keys are not remembered

    def _rehash_soon(self, header: bytes, old: bytes, new: bytes, secret_id: str | None) -> None:
        """Store the key's hash by the current secret, in the background."""

        async def rehash() -> None:
            with contextlib.suppress(StorageFailed):  # the next request tries again
                await self._desk.secrets.rehash_key(old, new, secret_id)
            self._hashes.pop(header, None)

        task = asyncio.create_task(rehash())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def count(self, caller: Caller, now_ms: int) -> Sequence[Verdict]:
        """Count one request against every limit, and return the limits' verdicts."""
        key_id = caller.key_id
        if key_id is not None and self._is_to_be_noted(key_id, now_ms):
            self._used[key_id] = now_ms
            # Written in the background.
            noting = asyncio.create_task(self._note_use(key_id, now_ms))
            self._writing.add(noting)
            noting.add_done_callback(self._writing.discard)
        verdicts = await self._desk.spend(caller, self.limits_of(caller), now_ms)
        for verdict in verdicts:
            if not verdict.allowed:
                return [_not_spent(verdict) for verdict in verdicts]
        return verdicts

    def remembered(self, header: bytes, now_ms: int) -> Caller | None:
        """Return the caller from memory, without waiting; None: call `recognise`.

        Also None if the key's use has to be written.
        """
        hashed = self._hashes.get(header)
        caller = None if hashed is None else self._desk.cached_caller(hashed, now_ms)
        if caller is None or (caller.expires_ms is not None and caller.expires_ms <= now_ms):
            return None
        if caller.key_id is not None and self._is_to_be_noted(caller.key_id, now_ms):
            return None
        return caller

    def pay_soon(
        self, caller: Caller, now_ms: int, changes: Sequence[Change], told: OnCharged
    ) -> None:
        """Count a request and commit its charge, without waiting (`Engine.pay`).

        If a limit refuses, nothing is counted.
        """
        self._desk.charge_nowait(caller, self.limits_of(caller), now_ms, changes, told)

    def _is_to_be_noted(self, key_id: int, now_ms: int) -> bool:
        return now_ms - self._used.get(key_id, 0) > LAST_USE_EVERY_MS

    async def _note_use(self, key_id: int, now_ms: int) -> None:
        try:
            await self._desk.commit([Touch(key_id, now_ms)])
        except StorageFailed:
            self._used.pop(key_id, None)  # the next request tries again

    def limits_of(self, caller: Caller) -> Sequence[Limit]:
        """Return the limits that a request of this caller is counted against, in their order."""
        limits = self._plan_limits[caller.plan]
        if caller.key_per_minute is None and caller.key_per_day is None:
            return limits
        own = list(limits)
        if caller.key_per_minute is not None:
            own.append(Limit("chave-minuto", caller.key_per_minute, _MINUTE_MS, of_key=True))
        if caller.key_per_day is not None:
            own.append(Limit("chave-dia", caller.key_per_day, _DAY_MS, of_key=True))
        return own


def _not_spent(verdict: Verdict) -> Verdict:
    """Return the verdict with this request not counted, since another limit refused it."""
    if not verdict.allowed:
        return verdict
    interval_ms = verdict.limit.window_ms / verdict.limit.quota
    return msgspec.structs.replace(
        verdict, remaining=verdict.remaining + 1, reset_ms=verdict.reset_ms - interval_ms
    )


def must_wait(verdicts: Sequence[Verdict]) -> RateLimited | None:
    """Return the error if a limit was exceeded, with the time to wait; None: none was."""
    worst = refused(verdicts)
    if worst is None:
        return None
    return RateLimited(max(1, -int(-worst.retry_ms // 1000)), worst.limit.name)
