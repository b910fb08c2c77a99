"""Minha Receita, and BrasilAPI, which answers in the same form: the open data as a service."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from balcao.providers.contract import Offer, Provider, SwitchedOn, always

if TYPE_CHECKING:
    from balcao.providers.minha_receita.settings import MinhaReceitaSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage


class _MinhaReceita(Provider["MinhaReceitaSettings"]):
    name = "minha_receita"
    description = "Minha Receita, ou BrasilAPI, que responde na mesma forma."
    offers = (Offer("minha_receita", "Minha Receita", ("company",), ("url",)),)

    @property
    def settings(self) -> "type[MinhaReceitaSettings]":
        from balcao.providers.minha_receita.settings import MinhaReceitaSettings

        return MinhaReceitaSettings

    def sources(self, settings: "MinhaReceitaSettings", now: datetime) -> Sequence[SwitchedOn]:
        from balcao.providers.minha_receita import adapter
        from balcao.sources.remembering import Remembering

        day_of_data = Remembering(
            adapter.UPDATED,
            usable=lambda reply: adapter.day_of_data(reply) is not None,
            clock=time.monotonic,
        )
        spoken = adapter.MinhaReceitaAdapter(flavour=settings.flavour)
        return (SwitchedOn("minha_receita", spoken, always(settings.url), day_of_data),)

    def simulated(self, base: str) -> "MinhaReceitaSettings":
        return self.settings(url=f"{base}/minha-receita")

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        from balcao.providers.minha_receita.simulator import (
            SimulatedBrasilApi,
            SimulatedMinhaReceita,
        )

        return {
            "/minha-receita": SimulatedMinhaReceita(stage, clock),
            "/brasilapi": SimulatedBrasilApi(stage),
        }


PROVIDER = _MinhaReceita()
