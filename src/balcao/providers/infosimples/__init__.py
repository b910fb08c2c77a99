"""Infosimples: automated consultations of the states' own pages, and of the federal one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from balcao.providers.contract import Offer, Provider, SwitchedOn, always

if TYPE_CHECKING:
    from balcao.providers.infosimples.settings import InfosimplesSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage


class _Infosimples(Provider["InfosimplesSettings"]):
    name = "infosimples"
    description = "Infosimples, por contrato."
    offers = (
        Offer(
            "infosimples",
            "Infosimples",
            ("state_registration", "rural_producer", "federal_certificate", "state_certificate"),
            ("token",),
        ),
    )
    credentials = ("token",)

    @property
    def settings(self) -> "type[InfosimplesSettings]":
        from balcao.providers.infosimples.settings import InfosimplesSettings

        return InfosimplesSettings

    def sources(self, settings: "InfosimplesSettings", now: datetime) -> Sequence[SwitchedOn]:
        from balcao.providers.infosimples.adapter import InfosimplesAdapter

        ufs, certificate_ufs = settings.ufs, settings.certificate_ufs
        adapter = InfosimplesAdapter(
            settings.token.get_secret_value(),
            ufs=None if ufs is None else frozenset(ufs),
            certificate_ufs=None if certificate_ufs is None else frozenset(certificate_ufs),
            accepts_alphanumeric=settings.accepts_alphanumeric,
        )
        return (SwitchedOn("infosimples", adapter, always(settings.url)),)

    def receipt_origins(self, settings: "InfosimplesSettings") -> Sequence[str]:
        return settings.receipt_origins

    def without_receipts(self, settings: "InfosimplesSettings") -> str | None:
        if settings.receipt_origins:
            return None
        return f"{self.name} vem sem comprovantes: falta {self.variable('receipt_origins')}"

    def simulated(self, base: str) -> "InfosimplesSettings":
        return self.settings(
            url=f"{base}/infosimples",
            token="sandbox",  # noqa: S106
            accepts_alphanumeric=True,
            receipt_origins=(base,),
        )

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        from balcao.providers.infosimples.simulator import SimulatedInfosimples

        return {"/infosimples": SimulatedInfosimples(stage, clock)}


PROVIDER = _Infosimples()
