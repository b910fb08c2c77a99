"""What pages are made with, handed in by `compose`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from balcao.accounts.seal import Seal
from balcao.batches.desk import BatchDesk
from balcao.batches.results import Results
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.http.authenticator import Authenticator
from balcao.http.searches import Searches
from balcao.lookup.context import Parts
from balcao.observability.health import Health
from balcao.settings import Settings
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk
from balcao.web.kit.examinations import Examinations
from balcao.web.kit.exports import Exports
from balcao.web.kit.passwords import Passwords
from balcao.web.kit.streams import Streams
from balcao.web.kit.templates import Pages
from balcao.web.kit.throttle import Throttle
from balcao.web.kit.under_way import UnderWay
from balcao.web.pages.docs.contents import Documentation


@dataclass(frozen=True, slots=True)
class Tools:
    """Parts of the service that pages use."""

    parts: Parts
    desk: Desk
    blobs: Blobs
    authenticator: Authenticator
    settings: Settings
    home: Home
    health: Health
    circuits: Callable[[], Mapping[tuple[str, str, str], str]]  # of live sources' lines
    seal: Seal
    new_id: Callable[[], str]
    batches: BatchDesk
    results: Results
    examinations: Examinations
    searches: Searches
    make_documentation: Callable[[], Documentation]  # the same one each time
    passwords: Passwords = field(default_factory=Passwords)
    throttle: Throttle = field(default_factory=Throttle)
    pages: Pages = field(default_factory=Pages)
    streams: Streams = field(default_factory=Streams)
    under_way: UnderWay = field(default_factory=UnderWay)

    @property
    def exports(self) -> Exports:
        """Files of statements, in turn with results of batches."""
        return Exports(self.results.turns)

    @property
    def now_ms(self) -> Callable[[], int]:
        """The clock."""
        return self.parts.now_ms

    @property
    def documentation(self) -> Documentation:
        """The pages of the API, made when it is first looked at."""
        return self.make_documentation()

    def store(self, mode: Mode) -> Path:
        """The folder of imported months."""
        return self.home.opendata(mode)
