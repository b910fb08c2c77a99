"""A source that is asked over the network: an adapter and the upstream it speaks to.

What every adapter's answer must pass is checked here, once: it is about what was asked, it is
complete enough to be kept, and it shows persons as the inquiry allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from balcao.core.company import Company, hides_a_partner, masked
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry, Subject
from balcao.errors import SourceFailed
from balcao.sources.call import Layer, Upstream
from balcao.sources.contract import Absent, Answer, Conversation, Found


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What may be asked of a provider."""

    subjects: frozenset[Subject]
    alphanumeric: bool = False  # CNPJ with letters (`cnpj-alfanumerico.md` section 5)
    full_partners: bool = False  # partners' documents unmasked (the opt-in)

    def include(self, inquiry: Inquiry) -> bool:
        """Whether such an inquiry may be asked."""
        return (
            inquiry.subject in self.subjects
            and isinstance(inquiry.document, Cnpj)
            and (self.alphanumeric or inquiry.document.text.isdecimal())
            and (self.full_partners or not inquiry.full_partners)
        )


class Adapter(Protocol):
    """How one provider is spoken to; no socket, no clock."""

    @property
    def capabilities(self) -> Capabilities:
        """What it may be asked."""
        ...

    @property
    def conclusive_absence(self) -> bool:
        """Whether its documentation says that its "not found" proves absence."""
        ...

    def converse(self, inquiry: Inquiry) -> Conversation:
        """The conversation about an inquiry that `capabilities` include."""
        ...


class Online:
    """An `OnlineSource` (see `contract.py`)."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        upstream: Upstream,
        *,
        now: Callable[[], datetime],
        through: Layer | None = None,
    ) -> None:
        self.name = name
        self._adapter = adapter
        self._upstream = upstream
        self._now = now
        self._through = through

    def serves(self, inquiry: Inquiry) -> bool:
        """Whether this source can answer such an inquiry."""
        return self._adapter.capabilities.include(inquiry)

    async def ask(self, inquiry: Inquiry) -> Answer:
        """Ask it. Raises `SourceUnavailable` or `SourceFailed`, nothing else."""
        asked_at = self._now()
        record = await self._upstream.hold(
            self._adapter.converse(inquiry),
            through=self._through,
            check=lambda found: must_be_usable(self.name, found, inquiry),
        )
        if record is None:
            return Absent(self.name, conclusive=self._adapter.conclusive_absence)
        return Found(record if inquiry.full_partners else masked(record), self.name, asked_at)


def must_be_usable(source: str, company: Company, inquiry: Inquiry) -> None:
    """Raises `SourceFailed` for a record that must neither be answered nor kept (decisions 4.4)."""
    if company.cnpj != inquiry.document.text:
        raise SourceFailed(f"{source}: respondeu sobre outro documento")
    for field in ("nome_empresarial", "situacao_cadastral"):
        if getattr(company, field) is None:
            raise SourceFailed(f"{source}: resposta incompleta, sem {field}")
    if inquiry.full_partners and hides_a_partner(company):
        raise SourceFailed(f"{source}: ocultou documentos de sócios que deveria informar")
