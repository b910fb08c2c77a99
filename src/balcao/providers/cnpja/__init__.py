"""CNPJá's commercial API: company registry, state registrations, free-trade-zone registry."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from balcao.providers.contract import Offer, Provider, SwitchedOn, always

if TYPE_CHECKING:
    from balcao.providers.cnpja.settings import CnpjaSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage


class _Cnpja(Provider["CnpjaSettings"]):
    name = "cnpja"
    description = "CNPJá, API comercial."
    offers = (
        Offer(
            "cnpja",
            "CNPJá",
            ("company", "state_registration", "rural_producer", "suframa"),
            ("key",),
        ),
    )
    credentials = ("key",)

    @property
    def settings(self) -> "type[CnpjaSettings]":
        from balcao.providers.cnpja.settings import CnpjaSettings

        return CnpjaSettings

    def sources(self, settings: "CnpjaSettings", now: datetime) -> Sequence[SwitchedOn]:
        from balcao.providers.cnpja.adapter import CnpjaAdapter

        adapter = CnpjaAdapter(
            settings.key.get_secret_value(),
            settings.accepts_alphanumeric,
            all_ufs=settings.all_ufs,
        )
        return (SwitchedOn("cnpja", adapter, always(settings.url)),)

    def simulated(self, base: str) -> "CnpjaSettings":
        return self.settings(url=f"{base}/cnpja", key="sandbox", accepts_alphanumeric=True)

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        from balcao.providers.cnpja.simulator import SimulatedCnpja

        return {"/cnpja": SimulatedCnpja(stage, clock)}


PROVIDER = _Cnpja()
