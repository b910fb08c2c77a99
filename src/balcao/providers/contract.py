"""The interface of a provider: each folder defines one `Provider`.

The object is cheap to import. The modules of the folder are imported on first use, so that the
command line starts quickly:

- `settings`: `SETTINGS`, a subclass of `ProviderSettings`
- `adapter`: `sources(settings, now)`, the sources that are enabled
- `simulator`: `simulators(faults, clock)`, its simulators by path prefix; with `by_certificate`,
  also `mutual_tls(folder, now)`
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
    from balcao.providers.simulation.faults import FaultInjector
    from balcao.providers.simulation.messages import Simulator
    from balcao.sources.online import Adapter
    from balcao.sources.upstream import Layer


@dataclass(frozen=True, slots=True)
class Offer:
    """A source that a provider offers, as operators see and order it."""

    name: str
    title: str  # for people
    subjects: tuple[Subject, ...]
    switches: tuple[str, ...] = ()  # the provider's settings that enable it
    probe_cost: str = ""  # a sentence for operators: what a probe costs


@dataclass(frozen=True, slots=True)
class EnabledSource:
    """A source that the settings enable: its adapter, address, layer and TLS."""

    name: str
    adapter: "Adapter"
    address_for: Callable[[Inquiry], str]
    layer: "Layer | None" = None
    tls: "ssl.SSLContext | None" = None  # with our certificate; None: the default context
    by_uf: bool = False  # each UF has its own service


@dataclass(frozen=True, slots=True)
class MutualTls:
    """Fictitious certificates, for a simulator that requires client certificates."""

    server: Path  # the server's certificate and key, PEM
    authority: Path  # the issuer of client certificates, PEM
    settings: Mapping[str, object]  # the provider's settings for a client
    notes: Sequence[str]  # on the other files of the folder, for people


@dataclass(frozen=True, slots=True)
class Provider:
    """An external service that answers inquiries over the network."""

    name: str  # of its folder, its table in the settings and its variables
    description: str  # of that table, for operators
    offers: tuple[Offer, ...]
    credentials: tuple[str, ...] = ()  # settings that must be set all or none
    by_certificate: bool = False  # it authenticates us by a client certificate

    @property
    def settings_class(self) -> "type[ProviderSettings]":
        found: type[ProviderSettings] = self._part("settings").SETTINGS
        return found

    def settings_in(self, settings: object) -> Any:
        """Return the provider's part of all settings, or None."""
        return getattr(settings, self.name)

    def variable(self, setting: str) -> str:
        """Return the environment variable of one of its settings."""
        return f"BALCAO_{self.name}__{setting}".upper()

    def sources(self, settings: "ProviderSettings", now: datetime) -> Sequence[EnabledSource]:
        """Return the enabled sources; `now` is aware. Raises `ProviderUnusable`."""
        found: Sequence[EnabledSource] = self._part("adapter").sources(settings, now)
        return found

    def simulators(
        self, faults: "FaultInjector", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulator]":
        """Return its simulators by path prefix; `clock` returns aware times."""
        found: Mapping[str, Simulator] = self._part("simulator").simulators(faults, clock)
        return found

    def mutual_tls(self, folder: Path, now: datetime) -> MutualTls:
        """Return the certificates of its simulator, created if missing."""
        found: MutualTls = self._part("simulator").mutual_tls(folder, now)
        return found

    def _part(self, name: str) -> Any:
        return import_module(f"{__package__}.{self.name}.{name}")


def uf_of(inquiry: Inquiry) -> str:
    """Return the UF of an inquiry about registrations or a state certificate."""
    assert inquiry.uf is not None, "such an inquiry names one UF"
    return inquiry.uf


def fixed_address(url: str) -> Callable[[Inquiry], str]:
    """Return a function that gives every inquiry the same address."""
    return lambda inquiry: url
