"""Who answers what, as the settings say it: for the command line and for operators' pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from balcao.core.addresses import shown_address
from balcao.core.calendar import BRASILIA
from balcao.core.federation import UFS
from balcao.core.questions import Subject
from balcao.errors import CertificateUnusable
from balcao.home import Home
from balcao.opendata.errors import OpenDataError
from balcao.opendata.store import published
from balcao.operations import ALL_OPERATIONS, OPERATIONS
from balcao.providers import configured
from balcao.providers.configured import Provider
from balcao.providers.probing import ufs_served
from balcao.settings import Settings
from balcao.sources.online import Capabilities

SNAPSHOT = "snapshot"

SUBJECTS: Mapping[Subject, str] = {each.subject: each.sources_title for each in ALL_OPERATIONS}

# The variables that switch a source on.
SWITCHES: Mapping[str, Sequence[str]] = {
    "minha_receita": ("BALCAO_MINHA_RECEITA__URL",),
    "cnpja": ("BALCAO_CNPJA__KEY",),
    "serpro": ("BALCAO_SERPRO__CONSUMER_KEY", "BALCAO_SERPRO__CONSUMER_SECRET"),
    "serpro_cnd": (
        "BALCAO_SERPRO__CND",
        "BALCAO_SERPRO__CONSUMER_KEY",
        "BALCAO_SERPRO__CONSUMER_SECRET",
    ),
    "sefaz": ("BALCAO_SEFAZ__CERTIFICATE", "BALCAO_SEFAZ__PASSWORD"),
    "infosimples": ("BALCAO_INFOSIMPLES__TOKEN",),
}

# Sources that share a provider's settings.
_SETTINGS_OF: Mapping[str, str] = {"serpro_cnd": "serpro"}

# The registry publishes partners' documents masked: no opt-in.
_OF_THE_MONTH = Capabilities(frozenset({"company"}), alphanumeric=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """One source, as it stands in the order of a subject."""

    name: str
    is_on: bool
    remark: str  # the address where it is asked; what is missing where it is off
    capabilities: Capabilities | None = None  # None: off
    ufs: tuple[str, ...] = ()  # of those the subject is asked for


@dataclass(frozen=True)
class Inventory:
    """All sources of one configuration. Looking asks nobody over the network.

    It reads files, the certificate's among them: some hundred milliseconds, not for an event
    loop's thread. `explain` says what is wrong with the imported month, for whoever looks.
    """

    settings: Settings
    now: datetime
    explain: Callable[[Exception], str | None]

    @cached_property
    def _usable(self) -> tuple[Sequence[Provider], Mapping[str, str]]:
        sefaz = self.settings.sefaz
        try:
            certificate = configured.certificate_of(sefaz) if sefaz is not None else None
            if certificate is None or not certificate.expired(self.now):
                return configured.configured(self.settings, self.now), {}
            why = f"o certificado A1 venceu em {day(certificate.not_after)}"
        except CertificateUnusable as error:
            why = error.detail
        without = self.settings.model_copy(update={"sefaz": None})
        return configured.configured(without, self.now), {"sefaz": why}

    @property
    def providers(self) -> Sequence[Provider]:
        """Those that can be asked."""
        return self._usable[0]

    @property
    def out_of_use(self) -> Mapping[str, str]:
        """Those that are switched on and cannot be asked, and why."""
        return self._usable[1]

    def sources(self, subject: Subject) -> Iterator[Seen]:
        """A subject's sources, in the order of asking."""
        for name in configured.order(self.settings)[subject]:
            yield self._month() if name == SNAPSHOT else self._online(name, subject)

    def _month(self) -> Seen:
        store = Home(self.settings.home).opendata("live")
        try:
            snapshot = published(store)
        except (OSError, OpenDataError) as error:
            return Seen(SNAPSHOT, False, self.explain(error) or "")
        if snapshot is None:
            return Seen(SNAPSHOT, False, "nada importado (opendata build)")
        with closing(snapshot):
            extracted = snapshot.extraction_date
        return Seen(SNAPSHOT, True, f"mês de {extracted:%d/%m/%Y}", _OF_THE_MONTH)

    def _online(self, name: str, subject: Subject) -> Seen:
        provider = next((each for each in self.providers if each.name == name), None)
        if provider is None:
            return Seen(name, False, self.why_off(name))
        served = tuple(ufs_served(provider, subject, self.ufs))
        return Seen(name, True, self.address(name), provider.adapter.capabilities, served)

    def why_off(self, name: str) -> str:
        """What a source that is not asked is missing."""
        *others, last = SWITCHES[name]
        switches = f"{', '.join(others)} e {last}" if others else last
        return self.out_of_use.get(name) or f"ligue com {switches}"

    def address(self, name: str) -> str:
        """Where a source that is on is asked, without what may be secret in it."""
        if name == "sefaz" and (sefaz := self.settings.sefaz) is not None and not sefaz.url:
            kind = "produção" if sefaz.environment == "production" else "homologação"
            return f"o de cada UF, em {kind}"
        return shown_address(getattr(self.settings, _SETTINGS_OF.get(name, name)).url)

    def brings_receipts(self, name: str) -> bool:
        """Whether a source of certificates that is on can have their receipts."""
        if name != "infosimples":
            return True  # they come with the answer
        return self.settings.infosimples is not None and bool(
            self.settings.infosimples.receipt_origins
        )

    def addresses(self, name: str) -> Mapping[str, str]:
        """The address by UF, where each has its own."""
        if name != "sefaz" or self.settings.sefaz is None:
            return {}
        known = configured.treasury_addresses(self.settings.sefaz)
        return {uf: shown_address(address) for uf, address in known.items()}

    def without_receipts(self, subject: Subject) -> str | None:
        """What to say where certificates would come without their receipts."""
        if not OPERATIONS[subject].issues:
            return None
        on = [source.name for source in self.sources(subject) if source.is_on]
        if all(self.brings_receipts(name) for name in on):
            return None
        return "infosimples vem sem comprovantes: falta BALCAO_INFOSIMPLES__RECEIPT_ORIGINS"

    @property
    def ufs(self) -> Mapping[Subject, Sequence[str]]:
        """The UFs of those subjects that are asked by UF; all, where that is no setting."""
        every = {each.subject: UFS for each in ALL_OPERATIONS if each.by_uf}
        return {**every, **configured.ufs(self.settings)}

    def unserved(self, subject: Subject) -> Sequence[str]:
        """The UFs that the subject is asked for and nobody serves."""
        served = {uf for source in self.sources(subject) for uf in source.ufs}
        return [uf for uf in self.ufs.get(subject, ()) if uf not in served]


def day(at: datetime) -> str:
    """A civil day in Brasília, for people."""
    return at.astimezone(BRASILIA).strftime("%d/%m/%Y")


def ufs_text(ufs: Sequence[str], asked: Sequence[str] = UFS) -> str:
    """So many of those asked, by the shorter of two lists."""
    missing = [uf for uf in asked if uf not in ufs]
    if not missing:
        return f"todas ({len(ufs)})"
    if len(missing) < len(ufs):
        return f"{len(ufs)} UFs (menos {', '.join(missing)})"
    return ", ".join(ufs) or "nenhuma"
