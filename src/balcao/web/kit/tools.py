"""The parts of the service that pages use, passed in by `compose`."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from balcao.accounts.calendars import PaperCalendars
from balcao.accounts.mail.outbox import Outbox
from balcao.accounts.seal import Seal
from balcao.accounts.webhooks.desk import WebhookDesk
from balcao.batches.desk import BatchDesk
from balcao.batches.paper_files import PaperFiles
from balcao.batches.paper_purchases import PaperPurchases
from balcao.batches.results import Results
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.http.authenticator import Authenticator
from balcao.http.searches import Searches
from balcao.lookup.context import Parts
from balcao.lookup.wallet import WalletDesk
from balcao.observability.health import Health
from balcao.opendata.current import CurrentSnapshot
from balcao.settings import Settings
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk
from balcao.web.kit.examinations import Examinations
from balcao.web.kit.exports import Exports
from balcao.web.kit.passwords import Passwords
from balcao.web.kit.running_lookups import RunningLookups
from balcao.web.kit.streams import Streams
from balcao.web.kit.templates import Pages
from balcao.web.kit.throttle import Throttle

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tools:
    """Parts of the service, and the state of this process that pages share."""

    parts: Parts
    desk: Desk
    blobs: Blobs
    authenticator: Authenticator
    settings: Settings
    home: Home
    health: Health
    circuits: Callable[[], Mapping[tuple[str, str, str], str]]  # circuit states of live sources
    seal: Seal
    outbox: Outbox | None  # None: no mail server is configured
    new_id: Callable[[], str]
    batches: BatchDesk
    results: Results
    examinations: Examinations
    searches: Searches
    wallet: WalletDesk
    months: Mapping[Mode, CurrentSnapshot]
    webhooks: WebhookDesk
    document: Mapping[str, Any]  # the content of `/openapi.json`
    passwords: Passwords = field(default_factory=Passwords)
    throttle: Throttle = field(default_factory=Throttle)
    pages: Pages = field(default_factory=Pages)
    streams: Streams = field(default_factory=Streams)
    running_lookups: RunningLookups = field(default_factory=RunningLookups)
    writing: set[asyncio.Task[None]] = field(default_factory=set)  # entries that no response awaits
    _made: dict[Callable[["Tools"], Any], Any] = field(default_factory=dict)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def exports(self) -> Exports:
        """Writer of statement files; shares its concurrency limit with results of batches."""
        return Exports(self.results.slots)

    @property
    def purchases(self) -> PaperPurchases:
        """Purchases of certificates on request."""
        return PaperPurchases(self.batches, self.wallet)

    @property
    def paper_files(self) -> PaperFiles:
        """Files of certificates."""
        return PaperFiles(self.parts, self.results)

    @property
    def calendars(self) -> PaperCalendars:
        """The calendars of certificates."""
        return PaperCalendars(self.desk, self.settings.address, self.now_ms, self.new_id)

    @property
    def now_ms(self) -> Callable[[], int]:
        return self.parts.now_ms

    def once(self, make: Callable[["Tools"], T]) -> T:
        """Return `make(self)`, made at the first call and kept for this application."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    async def once_in_thread(self, make: Callable[["Tools"], T]) -> T:
        """Return `once(make)`; a thread makes what takes long."""
        if make not in self._made:
            async with self._making:
                return await asyncio.to_thread(self.once, make)
        return self.once(make)

    def store(self, mode: Mode) -> Path:
        """Return the folder of imported months."""
        return self.home.opendata(mode)
