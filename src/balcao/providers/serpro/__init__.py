"""SERPRO, by contract: Consulta CNPJ v2 (company registry) and Consulta CND (certificates)."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from balcao.providers.contract import Offer, Provider, SwitchedOn, always

if TYPE_CHECKING:
    from balcao.providers.serpro.settings import SerproSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage

_CREDENTIALS = ("consumer_key", "consumer_secret")


class _Serpro(Provider["SerproSettings"]):
    name = "serpro"
    description = "SERPRO, Consulta CNPJ v2, por contrato."
    offers = (
        Offer("serpro", "SERPRO (Consulta CNPJ)", ("company",), _CREDENTIALS),
        Offer(
            "serpro_cnd",
            "SERPRO (Consulta CND)",
            ("federal_certificate",),
            ("cnd", *_CREDENTIALS),
        ),
    )
    credentials = _CREDENTIALS

    @property
    def settings(self) -> "type[SerproSettings]":
        from balcao.providers.serpro.settings import SerproSettings

        return SerproSettings

    def sources(self, settings: "SerproSettings", now: datetime) -> Sequence[SwitchedOn]:
        from balcao.providers.serpro.adapter import SerproAdapter
        from balcao.providers.serpro.cnd import SerproCndAdapter
        from balcao.sources.oauth import ClientCredentials

        token = ClientCredentials(
            "serpro",
            key=settings.consumer_key.get_secret_value(),
            secret=settings.consumer_secret.get_secret_value(),
            clock=time.monotonic,
        )
        letters = settings.accepts_alphanumeric
        registry = SerproAdapter(settings.product, settings.full_partners, letters)
        found = [SwitchedOn("serpro", registry, always(settings.url), token)]
        if settings.cnd:
            issuer = SerproCndAdapter(settings.cnd_product, letters)
            found.append(SwitchedOn("serpro_cnd", issuer, always(settings.url), token))
        return found

    def simulated(self, base: str) -> "SerproSettings":
        return self.settings(
            url=f"{base}/serpro",
            consumer_key="sandbox",
            consumer_secret="sandbox",  # noqa: S106
            full_partners=True,
            cnd=True,
        )

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        from balcao.providers.serpro.simulator import SimulatedSerpro

        return {"/serpro": SimulatedSerpro(stage, clock)}


PROVIDER = _Serpro()
