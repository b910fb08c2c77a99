"""What everybody else knows of a provider: its folder ends in one `Provider`.

Looking at one is cheap. What is heavy are modules of its folder, imported when they are wanted, so
that the command line starts at once and nobody loads what is not used:

- `settings`: its part of the settings, a `ProviderSettings` called `SETTINGS`
- `adapter`: `sources(settings, now)`, its sources that are switched on
- `simulator`: `simulators(stage, clock)`, its simulator by the path below which it is (more than
  one where it has doubles); where it knows clients `by_certificate`, also `mutual_tls(folder, now)`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from balcao.core.questions import Inquiry, Subject

if TYPE_CHECKING:
    import ssl

    from balcao.providers.fields import ProviderSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage
    from balcao.sources.online import Adapter
    from balcao.sources.upstream import Layer


@dataclass(frozen=True, slots=True)
class Offer:
    """A source, as operators put it into an order and see it."""

    name: str
    title: str  # what people call it
    subjects: tuple[Subject, ...]
    switches: tuple[str, ...] = ()  # the provider's settings that turn it on
    probe_cost: str = ""  # what the provider asks for being probed, for operators


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


@dataclass(frozen=True, slots=True)
class Provider:
    """Somebody who is asked over the network."""

    name: str  # its folder, its table in the settings and its variables
    description: str  # of that table, for operators
    offers: tuple[Offer, ...]
    credentials: tuple[str, ...] = ()  # its settings that are wanted all or none
    by_certificate: bool = False  # whether it knows us by our certificate

    @property
    def settings(self) -> "type[ProviderSettings]":
        """The class of its settings."""
        found: type[ProviderSettings] = self._part("settings").SETTINGS
        return found

    def of(self, settings: object) -> Any:
        """Its own part of all settings; None: there is none."""
        return getattr(settings, self.name)

    def variable(self, setting: str) -> str:
        """The environment's name of one of its settings."""
        return f"BALCAO_{self.name}__{setting}".upper()

    def sources(self, settings: "ProviderSettings", now: datetime) -> Sequence[SwitchedOn]:
        """The sources that are switched on; `now` is aware. Raises `ProviderUnusable`."""
        found: Sequence[SwitchedOn] = self._part("adapter").sources(settings, now)
        return found

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        """Its simulator, by the path below which it is; `clock` returns aware times."""
        found: Mapping[str, Simulated] = self._part("simulator").simulators(stage, clock)
        return found

    def mutual_tls(self, folder: Path, now: datetime) -> MutualTls:
        """What its simulator needs to know clients `by_certificate`; made where missing."""
        found: MutualTls = self._part("simulator").mutual_tls(folder, now)
        return found

    def _part(self, name: str) -> Any:
        return import_module(f"{__package__}.{self.name}.{name}")


def uf_of(inquiry: Inquiry) -> str:
    """The UF of an inquiry about registrations or about a state's certificate."""
    assert inquiry.uf is not None, "one state is asked, so somebody must have said which"
    return inquiry.uf


def always(url: str) -> Callable[[Inquiry], str]:
    """One address for every inquiry."""
    return lambda inquiry: url
