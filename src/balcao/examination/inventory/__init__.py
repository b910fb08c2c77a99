"""The configured sources of each subject, for the command line and for operators' pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pydantic.fields import FieldInfo

from balcao.core.addresses import shown_address
from balcao.core.federation import UFS
from balcao.core.questions import Subject
from balcao.examination.inventory import configured
from balcao.examination.inventory.probing import ufs_served
from balcao.home import Home
from balcao.opendata.errors import OpenDataError
from balcao.opendata.store import published
from balcao.operations import ALL_OPERATIONS, OPERATIONS
from balcao.providers import PROVIDERS, opendata
from balcao.providers.contract import EnabledSource, Provider
from balcao.providers.fields import ProviderSettings
from balcao.settings import Settings
from balcao.sources.online import Capabilities

SNAPSHOT = opendata.SNAPSHOT.name

SUBJECTS: Mapping[Subject, str] = {each.subject: each.sources_title for each in ALL_OPERATIONS}

# Provider of each source, and the variables that switch it on.
_OWNERS: Mapping[str, Provider] = {
    offer.name: provider for provider in PROVIDERS for offer in provider.offers
}
SWITCHES: Mapping[str, Sequence[str]] = {
    offer.name: tuple(map(provider.variable, offer.switches))
    for provider in PROVIDERS
    for offer in provider.offers
}

# The registry publishes partners' documents masked: no opt-in.
_OF_THE_MONTH = Capabilities(frozenset(opendata.SNAPSHOT.subjects), alphanumeric=True)


@dataclass(frozen=True, slots=True)
class ListedSource:
    """A source in the order of a subject."""

    name: str
    is_on: bool
    remark: str  # its address; what is missing if it is off
    capabilities: Capabilities | None = None  # None: off
    ufs: tuple[str, ...] = ()  # UFs of the subject that it serves


@dataclass(frozen=True)
class Inventory:
    """All sources of one configuration. Sends nothing over the network.

    It reads files, such as certificates: some hundred milliseconds, not for an event loop's thread.
    `explain` describes errors of the imported month.
    """

    settings: Settings
    now: datetime
    explain: Callable[[Exception], str | None]

    @cached_property
    def _usable(self) -> tuple[Sequence[EnabledSource], Mapping[str, str]]:
        found: list[EnabledSource] = []
        out_of_use: dict[str, str] = {}
        for provider, own in configured.switched_on(self.settings):
            if why := own.out_of_use(self.now):
                out_of_use |= {offer.name: why for offer in provider.offers}
            else:
                found += provider.sources(own, self.now)
        return found, out_of_use

    @property
    def providers(self) -> Sequence[EnabledSource]:
        """Sources that can be asked."""
        return self._usable[0]

    @property
    def out_of_use(self) -> Mapping[str, str]:
        """Sources that are switched on but cannot be asked, with the reason."""
        return self._usable[1]

    def sources(self, subject: Subject) -> Iterator[ListedSource]:
        """Yield a subject's sources, in the order of asking."""
        for name in configured.order(self.settings)[subject]:
            yield self._month() if name == SNAPSHOT else self._online(name, subject)

    def _month(self) -> ListedSource:
        store = Home(self.settings.home).opendata("live")
        try:
            snapshot = published(store)
        except (OSError, OpenDataError) as error:
            return ListedSource(SNAPSHOT, False, self.explain(error) or "")
        if snapshot is None:
            return ListedSource(SNAPSHOT, False, "nada importado (opendata build)")
        with closing(snapshot):
            extracted = snapshot.extraction_date
        return ListedSource(SNAPSHOT, True, f"mês de {extracted:%d/%m/%Y}", _OF_THE_MONTH)

    def _online(self, name: str, subject: Subject) -> ListedSource:
        provider = next((each for each in self.providers if each.name == name), None)
        if provider is None:
            return ListedSource(name, False, self.off_reason(name))
        served = tuple(ufs_served(provider, subject, self.ufs))
        return ListedSource(name, True, self.address(name), provider.adapter.capabilities, served)

    def off_reason(self, name: str) -> str:
        """Return what a disabled source is missing."""
        *others, last = SWITCHES[name]
        switches = f"{', '.join(others)} e {last}" if others else last
        return self.out_of_use.get(name) or f"ative com {switches}"

    def block(self, name: str) -> str:
        """Return the section of `balcao.toml` that switches a source on, without its keys."""
        provider = _OWNERS[name]
        offer = next(each for each in provider.offers if each.name == name)
        fields = provider.settings_class.model_fields
        lines = [f"{each} = {_example(fields[each])}" for each in offer.switches]
        return "\n".join([f"[{provider.name}]", *lines])

    def probe_cost(self, name: str) -> str:
        offers = _OWNERS[name].offers
        return next(offer.probe_cost for offer in offers if offer.name == name)

    def address(self, name: str) -> str:
        """Return the address of an enabled source, without secrets."""
        return shown_address(self._settings_of(name).address)

    def brings_receipts(self, name: str) -> bool:
        """Return whether an enabled source of certificates can provide receipts."""
        return self._settings_of(name).missing_receipts_notice is None

    def addresses(self, name: str) -> Mapping[str, str]:
        known = self._settings_of(name).addresses
        return {uf: shown_address(address) for uf, address in known.items()}

    def missing_receipts_notice(self, subject: Subject) -> str | None:
        """Return a warning if certificates would come without receipts."""
        if not OPERATIONS[subject].issues:
            return None
        on = (self._settings_of(each.name) for each in self.sources(subject) if each.is_on)
        return next(
            (each.missing_receipts_notice for each in on if each.missing_receipts_notice), None
        )

    def _settings_of(self, name: str) -> ProviderSettings:
        own: ProviderSettings = _OWNERS[name].settings_in(self.settings)
        return own

    @property
    def ufs(self) -> Mapping[Subject, Sequence[str]]:
        """UFs of the subjects that are asked by UF; all of them, where that is no setting."""
        every = {each.subject: UFS for each in ALL_OPERATIONS if each.by_uf}
        return {**every, **configured.ufs(self.settings)}

    def unserved(self, subject: Subject) -> Sequence[str]:
        """Return the UFs of the subject that no source serves."""
        served = {uf for source in self.sources(subject) for uf in source.ufs}
        return [uf for uf in self.ufs.get(subject, ()) if uf not in served]


def _example(field: FieldInfo) -> str:
    """Return a value in TOML: the default, else an obvious placeholder."""
    if field.annotation is bool:
        return "true"
    usual = field.default
    return f'"{usual}"' if isinstance(usual, str) and usual else '"…"'


def ufs_text(ufs: Sequence[str], asked: Sequence[str] = UFS) -> str:
    """Describe UFs by the shorter of two lists, relative to those asked."""
    missing = [uf for uf in asked if uf not in ufs]
    if not missing:
        return f"todas ({len(ufs)})"
    if len(missing) < len(ufs):
        return f"{len(ufs)} UFs (menos {', '.join(missing)})"
    return ", ".join(ufs) or "nenhuma"
