"""A source that is asked over the network: an adapter and the upstream it speaks to.

What every adapter's answer must pass is checked here, once: it is about what was asked, it is
complete enough to be kept and not too large, its texts are clean, and it shows persons as the
inquiry allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from math import inf
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from balcao.core.documents import Cnpj
from balcao.core.errors import SourceFailed
from balcao.core.questions import Inquiry, Part, Record, Subject
from balcao.core.text import TextTooLong, cleaned
from balcao.sources.contract import Absent, Answer, Conversation, Exchange, Found, HttpReply
from balcao.sources.upstream import Layer, Upstream

# A provider's service for one subject in one UF has a circuit of its own: where one state
# treasury is down, the others go on being asked.
UpstreamFor: TypeAlias = Callable[[Inquiry], Upstream]

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What may be asked of a provider."""

    subjects: frozenset[Subject]
    alphanumeric: bool = False  # CNPJ with letters (`cnpj-alfanumerico.md` section 5)
    full_partners: bool = False  # partners' documents unmasked (the opt-in)
    parts: frozenset[Part] = frozenset()  # what it knows of registrations
    ufs: frozenset[str] | None = None  # None: all
    cpf_ufs: frozenset[str] | None = None  # where it takes a CPF; None: wherever it serves
    certificate_ufs: frozenset[str] | None = None  # the same as `ufs`, of state certificates
    of_a_copy: bool = False  # it knows the registry as of some day: not who is younger
    reissues: bool = False  # whether it issues a new certificate while one is in force

    def include(self, inquiry: Inquiry) -> bool:
        """Whether such an inquiry may be asked."""
        return (
            inquiry.subject in self.subjects
            and (self.full_partners or not inquiry.full_partners)
            and (self.reissues or not inquiry.reissue)
            and self._takes(inquiry)
            and self._knows(inquiry)
        )

    def _takes(self, inquiry: Inquiry) -> bool:
        """Whether it takes the document."""
        if isinstance(inquiry.document, Cnpj):
            return self.alphanumeric or inquiry.document.text.isdecimal()
        return self.cpf_ufs is None or inquiry.uf in self.cpf_ufs

    def _knows(self, inquiry: Inquiry) -> bool:
        """Whether it serves the UF."""
        ufs = self.certificate_ufs if inquiry.subject == "state_certificate" else self.ufs
        return ufs is None or inquiry.uf is None or inquiry.uf in ufs


class Adapter(Protocol):
    """How one provider is spoken to; no socket, no clock."""

    @property
    def capabilities(self) -> Capabilities:
        """What it may be asked."""
        ...

    @property
    def conclusive_absence(self) -> bool:
        """Whether its "not found" proves absence: its documentation says so, or it makes sure."""
        ...

    def converse(self, inquiry: Inquiry) -> Conversation:
        """The conversation about an inquiry that `capabilities` include."""
        ...

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """The cheapest conversation that proves that such inquiries would be answered.

        Free of charge wherever the provider has something free; `inquiry` says subject and UF.
        Returns a sentence for the operator, without personal data.
        """
        ...


@runtime_checkable
class Charging(Protocol):
    """An adapter whose provider says in each reply what it charges for it."""

    def cost_micros(self, reply: HttpReply) -> int:
        """Return the price of a reply in millionths of a real; 0 if it has none."""
        ...


class Online:
    """An `OnlineSource` (see `contract.py`)."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
        through: Layer | None = None,
    ) -> None:
        self.name = name
        self._adapter = adapter
        self._upstream_for = upstream_for
        self._now = now
        self._through = through
        self._cost_of = adapter.cost_micros if isinstance(adapter, Charging) else None

    @property
    def parts(self) -> frozenset[Part]:
        """What it knows of registrations."""
        return self._adapter.capabilities.parts

    def serves(self, inquiry: Inquiry) -> bool:
        """Whether this source can answer such an inquiry."""
        return self._adapter.capabilities.include(inquiry)

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        """Ask it. Raises `SourceUnavailable` or `SourceFailed`, nothing else."""
        asked_at = self._now()
        record: Record | None = await self._upstream_for(inquiry).hold(
            self._adapter.converse(inquiry),
            until,
            through=self._through,
            check=partial(usable, self.name, inquiry=inquiry),
            cost_of=self._cost_of,
        )
        if record is None:
            return Absent(
                self.name,
                conclusive=self._adapter.conclusive_absence,
                so_far=self._adapter.capabilities.of_a_copy,
            )
        return Found(record, self.name, asked_at)

    async def probe(self, inquiry: Inquiry) -> str:
        """Whether such inquiries would be answered. Raises like `ask`."""
        said = await self._upstream_for(inquiry).hold(
            self._adapter.probe(inquiry), through=self._through, cost_of=self._cost_of
        )
        return said or "respondeu"


def usable(source: str, record: AnyRecord, inquiry: Inquiry) -> AnyRecord:
    """The record as it is answered and kept. Raises `SourceFailed` where it may be neither."""
    return sound(source, record, inquiry).as_allowed(inquiry)


def sound(source: str, record: AnyRecord, inquiry: Inquiry) -> AnyRecord:
    """The record with clean texts, if it is about what was asked, complete and not too large."""
    try:
        record = cleaned(record)
    except TextTooLong:
        raise SourceFailed(f"{source}: resposta com um texto grande demais") from None
    if (flaw := record.flaw(inquiry)) is not None:
        raise SourceFailed(f"{source}: {flaw}")
    return record
