"""Replacement of the secret while serving: this process follows file and database (ADR 0106)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog

from balcao.accounts.seal import MAIL_CONTENT, TOTP_SECRET, WALLET_PERSON, WEBHOOK_SECRET, Seal
from balcao.core.errors import HomeDamaged, PepperDiffers
from balcao.core.secrets import Secrets, ring_of, secret_id
from balcao.home import Home
from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.secrets import SealedKind

log = structlog.get_logger()

EVERY_SECONDS = 2.0
# How often stored values are sealed again while a replaced secret is accepted.
_RESEAL_EVERY = 30

_PURPOSES: Mapping[SealedKind, bytes] = {
    "totp": TOTP_SECRET,
    "mail": MAIL_CONTENT,
    "wallet": WALLET_PERSON,
    "webhook": WEBHOOK_SECRET,
    "webhook_old": WEBHOOK_SECRET,
}


async def reseal(desk: Desk, seal: Seal) -> int:
    """Seal stored values with the current secret. Return how many were sealed with another one."""
    changed = 0
    for value in await desk.secrets.sealed_values():
        renewed = seal.renew(_PURPOSES[value.kind], value.sealed)
        if renewed is not None:
            await desk.secrets.reseal(value, renewed)
            changed += 1
    return changed


class SecretFollower:
    """Reads `secret.key` again when it changes, reports it, and puts a new secret into use."""

    def __init__(
        self,
        home: Home,
        desk: Desk,
        secrets: Secrets,
        seal: Seal,
        now_ms: Callable[[], int],
    ) -> None:
        self._home, self._desk, self._secrets, self._seal = home, desk, secrets, seal
        self._now_ms = now_ms
        self._version: tuple[int, ...] | None = None  # of the file, as read last
        self._in_file: Sequence[bytes] = secrets.ring.secrets
        self._until_reseal = 0

    def periodic(self) -> Periodic:
        """Return the periodic work."""
        return Periodic("secrets", self.follow, EVERY_SECONDS)

    async def follow(self) -> None:
        """Follow file and database once."""
        await self._read_file()
        await self._take_roles()
        ring = self._secrets.ring
        if ring.pending is not None and ring.previous is None:
            pending = secret_id(ring.pending)
            if await self._desk.secrets.activate(pending, self._now_ms()):
                log.info("secret.activated", secret_id=pending)
            await self._take_roles()
        if self._secrets.ring.previous is None:
            self._until_reseal = 0
        elif self._until_reseal > 0:
            self._until_reseal -= 1
        else:
            self._until_reseal = _RESEAL_EVERY
            if count := await reseal(self._desk, self._seal):
                log.info("secret.resealed", count=count)

    async def _read_file(self) -> None:
        version = _version_of(self._home.secret)
        if version == self._version:
            return
        try:
            in_file = self._home.read_secrets()
        except (HomeDamaged, OSError) as error:
            self._version = version  # reported once
            log.error("secret.unreadable", kind=type(error).__name__)
            return
        if in_file[0] != self._secrets.ring.first:
            self._version = version
            log.error("secret.foreign")
            return
        await self._desk.engine.report_secrets([secret_id(each) for each in in_file])
        self._version, self._in_file = version, in_file

    async def _take_roles(self) -> None:
        newest = await self._desk.secrets.read_newest()
        try:
            ring = ring_of(self._in_file, newest)
        except PepperDiffers:
            if not self._secrets.incomplete:
                log.error("secret.missing")
            self._secrets.incomplete = True
            return
        self._secrets.incomplete = False
        if ring != self._secrets.ring:
            self._secrets.replace(ring)


def _version_of(path: Path) -> tuple[int, ...] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_ctime_ns, facts.st_size  # a change of permissions counts
