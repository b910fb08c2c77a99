"""The sources that are switched on, for pages."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from balcao.core.questions import Subject
from balcao.examination.inventory import SNAPSHOT, SUBJECTS, Inventory, ListedSource
from balcao.settings import Settings
from balcao.web.kit.remembered import Remembered
from balcao.web.kit.tools import Tools

# Settings are read at the start; what changes is the month, and whether a certificate expired.
LOOKED_AT_MS = 60_000


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source that is asked over the network, whatever it answers."""

    name: str
    is_on: bool
    remark: str  # where it is asked; what is missing where it is off
    subjects: Sequence[Subject]
    block: str  # for `balcao.toml`


@dataclass(frozen=True, slots=True)
class Configured:
    """The live sources of each subject, in the order of asking."""

    online: Sequence[KnownSource]
    sources: Mapping[Subject, Sequence[ListedSource]]
    asked: Mapping[Subject, Sequence[str]]  # UFs, of subjects that are asked by UF

    def served(self, subject: Subject) -> Sequence[str]:
        """The UFs that some source takes."""
        return [
            uf
            for uf in self.asked.get(subject, ())
            if any(uf in source.ufs for source in self.sources[subject])
        ]

    def is_on(self, subject: Subject) -> bool:
        """Whether anybody answers at all."""
        return any(source.is_on for source in self.sources[subject])

    @property
    def asks_nobody(self) -> bool:
        """Whether the imported month, if that, is all there is: nothing is asked online."""
        return not any(
            source.is_on and source.name != SNAPSHOT
            for sources in self.sources.values()
            for source in sources
        )


def _look(settings: Settings) -> Configured:
    seen = Inventory(settings, datetime.now(UTC), _why)
    sources = {subject: tuple(seen.sources(subject)) for subject in SUBJECTS}
    found: dict[str, tuple[ListedSource, list[Subject]]] = {}
    for subject, listed in sources.items():
        for source in listed:
            if source.name != SNAPSHOT:
                found.setdefault(source.name, (source, []))[1].append(subject)
    online = [
        KnownSource(name, source.is_on, source.remark, subjects, seen.block(name))
        for name, (source, subjects) in found.items()
    ]
    return Configured(online, sources, seen.ufs)


def _why(error: Exception) -> str:
    """Return a remark about an unreadable month; `balcao doctor` reports the details."""
    return f"o mês não pode ser lido ({type(error).__name__}): balcao doctor diz por quê"


async def _looked(tools: Tools) -> Configured:
    return await asyncio.to_thread(_look, tools.settings)


CONFIGURED: Remembered[Configured] = Remembered(_looked, LOOKED_AT_MS)
