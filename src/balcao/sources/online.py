"""A source that is asked over the network: an adapter and its upstreams.

Every adapter's record is checked here: it is about the inquiry, complete enough to be stored and
not too large, its texts are clean, and personal data are masked as the inquiry requires.
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

# A provider's service for one subject in one UF has its own circuit: if one state treasury is
# down, the others are still asked.
UpstreamFor: TypeAlias = Callable[[Inquiry], Upstream]

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The inquiries that a provider can answer."""

    subjects: frozenset[Subject]
    alphanumeric: bool = False  # CNPJ with letters (`cnpj-alfanumerico.md` section 5)
    full_partners: bool = False  # partners' documents unmasked (the opt-in)
    parts: frozenset[Part] = frozenset()  # optional parts of registrations that it provides
    ufs: frozenset[str] | None = None  # None: all
    cpf_ufs: frozenset[str] | None = None  # UFs in which it takes a CPF; None: all it serves
    certificate_ufs: frozenset[str] | None = None  # like `ufs`, for state certificates
    from_dated_copy: bool = False  # a copy of the registry, which lacks newer companies
    reissues: bool = False  # it issues a new certificate while one is in force

    def include(self, inquiry: Inquiry) -> bool:
        """Return whether such an inquiry may be asked."""
        return (
            inquiry.subject in self.subjects
            and (self.full_partners or not inquiry.full_partners)
            and (self.reissues or not inquiry.reissue)
            and self._accepts_document(inquiry)
            and self._serves_uf(inquiry)
        )

    def _accepts_document(self, inquiry: Inquiry) -> bool:
        if isinstance(inquiry.document, Cnpj):
            return self.alphanumeric or inquiry.document.text.isdecimal()
        return self.cpf_ufs is None or inquiry.uf in self.cpf_ufs

    def _serves_uf(self, inquiry: Inquiry) -> bool:
        ufs = self.certificate_ufs if inquiry.subject == "state_certificate" else self.ufs
        return ufs is None or inquiry.uf is None or inquiry.uf in ufs


class Adapter(Protocol):
    """The protocol of one provider, without a socket or a clock."""

    @property
    def capabilities(self) -> Capabilities:
        """The inquiries that it can answer."""
        ...

    @property
    def conclusive_absence(self) -> bool:
        """Whether its "not found" proves absence, by documentation or because it verifies."""
        ...

    def converse(self, inquiry: Inquiry) -> Conversation:
        """Converse about an inquiry that `capabilities` include."""
        ...

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Prove, at the least cost, that such inquiries would be answered.

        `inquiry` gives subject and UF. Free of charge if the provider offers a free request.
        Returns a sentence for the operator, without personal data.
        """
        ...


@runtime_checkable
class PricedAdapter(Protocol):
    """An adapter that reads the price of a call from its reply."""

    def cost_micros(self, reply: HttpReply) -> int:
        """Return the price of a reply in millionths of a real; 0 if it has none."""
        ...


class AdapterSource:
    """An `OnlineSource` (see `contract.py`)."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        upstream_for: UpstreamFor,
        *,
        now: Callable[[], datetime],
        layer: Layer | None = None,
    ) -> None:
        self.name = name
        self._adapter = adapter
        self._upstream_for = upstream_for
        self._now = now
        self._layer = layer
        self._cost_of = adapter.cost_micros if isinstance(adapter, PricedAdapter) else None

    @property
    def parts(self) -> frozenset[Part]:
        return self._adapter.capabilities.parts

    def serves(self, inquiry: Inquiry) -> bool:
        return self._adapter.capabilities.include(inquiry)

    async def ask(self, inquiry: Inquiry, deadline: float = inf) -> Answer:
        asked_at = self._now()
        record: Record | None = await self._upstream_for(inquiry).run(
            self._adapter.converse(inquiry),
            deadline,
            layer=self._layer,
            check=partial(validated_and_masked, self.name, inquiry=inquiry),
            cost_of=self._cost_of,
        )
        if record is None:
            return Absent(
                self.name,
                conclusive=self._adapter.conclusive_absence,
                so_far=self._adapter.capabilities.from_dated_copy,
            )
        return Found(record, self.name, asked_at)

    async def probe(self, inquiry: Inquiry) -> str:
        """Check that such inquiries would be answered. Raises like `ask`."""
        sentence = await self._upstream_for(inquiry).run(
            self._adapter.probe(inquiry), layer=self._layer, cost_of=self._cost_of
        )
        return sentence or "respondeu"


def validated_and_masked(source: str, record: AnyRecord, inquiry: Inquiry) -> AnyRecord:
    """Return the validated record, masked as the inquiry requires. Raises `SourceFailed`."""
    return validated(source, record, inquiry).as_allowed(inquiry)


def validated(source: str, record: AnyRecord, inquiry: Inquiry) -> AnyRecord:
    """Return the record with clean texts.

    Raises `SourceFailed` if it is not about the inquiry, incomplete or too large.
    """
    try:
        record = cleaned(record)
    except TextTooLong:
        raise SourceFailed(f"{source}: resposta com um texto grande demais") from None
    if (flaw := record.flaw(inquiry)) is not None:
        raise SourceFailed(f"{source}: {flaw}")
    return record
