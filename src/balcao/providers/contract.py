"""What everybody else knows of a provider: its folder ends in one `Provider`.

Looking at one is cheap. Its settings, its adapters and its simulator are imported by the method
that wants them, so that the command line starts at once and nobody loads what is not used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from balcao.core.questions import Inquiry, Subject

if TYPE_CHECKING:
    import ssl

    from balcao.providers.fields import ProviderSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage
    from balcao.sources.call import Layer
    from balcao.sources.online import Adapter

S = TypeVar("S", bound="ProviderSettings")

# What `balcao doctor` says of something: its name, how it is, and the text with the remedy.
Remark: TypeAlias = tuple[str, Literal["ok", "warn", "fail"], str]


@dataclass(frozen=True, slots=True)
class Offer:
    """A source, as operators put it into an order and see it."""

    name: str
    title: str  # what people call it
    subjects: tuple[Subject, ...]
    switches: tuple[str, ...] = ()  # the provider's settings that turn it on


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """A source in use: its adapter, and what stands between that and the network."""

    name: str
    adapter: "Adapter"
    address_for: Callable[[Inquiry], str]
    layer: "Layer | None" = None
    tls: "ssl.SSLContext | None" = None  # with our certificate; None: the usual one
    by_uf: bool = False  # whether each UF has a service of its own


@dataclass(frozen=True, slots=True)
class MutualTls:
    """Fictitious certificates, for a simulator that asks for its clients'."""

    server: Path  # its own with its key, PEM
    authority: Path  # who signs the clients', PEM
    settings: Mapping[str, object]  # of the provider: what a client shows and trusts
    notes: Sequence[str]  # what else is in the folder, for people


class Provider(ABC, Generic[S]):
    """Somebody who is asked over the network. `settings` is always the provider's own part."""

    name: str  # its table in the settings, its variables and its place in the simulator
    description: str  # of its settings, for operators
    offers: tuple[Offer, ...]
    credentials: tuple[str, ...] = ()  # its settings that are wanted all or none

    @property
    @abstractmethod
    def settings(self) -> type[S]:
        """The class of its settings."""

    @abstractmethod
    def sources(self, settings: S, now: datetime) -> Sequence[SwitchedOn]:
        """The sources that are switched on; `now` is aware. Raises `ProviderUnusable`."""

    @abstractmethod
    def simulated(self, base: str) -> S:
        """Settings that switch everything on, at the simulator of this address."""

    @abstractmethod
    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> Mapping[str, "Simulated"]:
        """Its simulator, by the path below which it is; more than one where it has doubles."""

    def address(self, settings: S) -> str:
        """Where it is asked, in an address or in words."""
        return settings.url

    def addresses(self, settings: S) -> Mapping[str, str]:
        """The address by UF, where each has its own."""
        return {}

    def check(self, settings: S) -> None:
        """Find out before anything is made. Raises `ProviderUnusable`."""

    def out_of_use(self, settings: S, now: datetime) -> str | None:
        """Why it cannot be asked although it is switched on."""
        return None

    def remarks(self, settings: S, now: datetime) -> Iterator[Remark]:
        """What `balcao doctor` should say of it beside its address and keys."""
        return iter(())

    def receipt_origins(self, settings: S) -> Sequence[str]:
        """From where the receipts of its certificates are fetched, where they do not come along."""
        return ()

    def without_receipts(self, settings: S) -> str | None:
        """What to say where its certificates come without their receipts."""
        return None

    def mutual_tls(self, folder: Path, now: datetime) -> "MutualTls | None":
        """What its simulator needs to know clients by their certificate; made where missing."""
        return None

    def of(self, settings: object) -> S | None:
        """Its own part of all settings; None: there is none."""
        own: S | None = getattr(settings, self.name)
        return own

    def variable(self, setting: str) -> str:
        """The environment's name of one of its settings."""
        return f"BALCAO_{self.name}__{setting}".upper()


def always(url: str) -> Callable[[Inquiry], str]:
    """One address for every inquiry."""
    return lambda inquiry: url
