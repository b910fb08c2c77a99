"""The configured sources, for pages."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from balcao.core.questions import Subject
from balcao.examination.inventory import SNAPSHOT, SUBJECTS, Inventory, ListedSource
from balcao.settings import Settings
from balcao.web.kit.cached import Cached
from balcao.web.kit.tools import Tools

# Settings are fixed; the imported month and the expiry of certificates change.
CACHED_MS = 60_000


@dataclass(frozen=True, slots=True)
class OnlineSource:
    """A source called over the network."""

    name: str
    is_on: bool
    remark: str  # its address, or what is missing to switch it on
    subjects: Sequence[Subject]
    block: str  # an example for `balcao.toml`


@dataclass(frozen=True, slots=True)
class ConfiguredSources:
    """The live sources of each subject, in the order of asking."""

    online: Sequence[OnlineSource]
    sources: Mapping[Subject, Sequence[ListedSource]]
    asked: Mapping[Subject, Sequence[str]]  # the UFs of subjects that are asked by UF

    def served(self, subject: Subject) -> Sequence[str]:
        """Return the UFs that at least one source takes."""
        return [
            uf
            for uf in self.asked.get(subject, ())
            if any(uf in source.ufs for source in self.sources[subject])
        ]

    def is_on(self, subject: Subject) -> bool:
        """Return whether any source answers this subject."""
        return any(source.is_on for source in self.sources[subject])

    @property
    def is_offline(self) -> bool:
        """Whether nothing is asked online: answers come from the imported month, if any."""
        return not any(
            source.is_on and source.name != SNAPSHOT
            for sources in self.sources.values()
            for source in sources
        )


def _read(settings: Settings) -> ConfiguredSources:
    seen = Inventory(settings, datetime.now(UTC), _why)
    sources = {subject: tuple(seen.sources(subject)) for subject in SUBJECTS}
    found: dict[str, tuple[ListedSource, list[Subject]]] = {}
    for subject, listed in sources.items():
        for source in listed:
            if source.name != SNAPSHOT:
                found.setdefault(source.name, (source, []))[1].append(subject)
    online = [
        OnlineSource(name, source.is_on, source.remark, subjects, seen.block(name))
        for name, (source, subjects) in found.items()
    ]
    return ConfiguredSources(online, sources, seen.ufs)


def _why(error: Exception) -> str:
    """Return a remark about an unreadable month; `balcao doctor` reports the details."""
    return f"o mês não pode ser lido ({type(error).__name__}). Veja o motivo com balcao doctor"


async def _read_in_thread(tools: Tools) -> ConfiguredSources:
    return await asyncio.to_thread(_read, tools.settings)


CONFIGURED: Cached[ConfiguredSources] = Cached(_read_in_thread, CACHED_MS)
