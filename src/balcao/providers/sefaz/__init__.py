"""State registrations from the state treasuries themselves, by "Consulta Cadastro" (SOAP).

`adapter.py` holds the conversation, `message.py` writes and reads XML, `status.py` knows their
codes, `endpoints.py` their addresses, `certificate.py` the client certificate they ask for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from balcao.providers.contract import MutualTls, Offer, Provider, Remark, SwitchedOn

if TYPE_CHECKING:
    from balcao.providers.sefaz.settings import SefazSettings
    from balcao.providers.simulation.exchange import Simulated
    from balcao.providers.simulation.staging import Stage


class _Sefaz(Provider["SefazSettings"]):
    name = "sefaz"
    description = "Consulta Cadastro das secretarias da fazenda, com certificado A1."
    offers = (
        Offer(
            "sefaz",
            "SEFAZ (Consulta Cadastro)",
            ("state_registration", "rural_producer"),
            ("certificate", "password"),
        ),
    )

    @property
    def settings(self) -> "type[SefazSettings]":
        from balcao.providers.sefaz.settings import SefazSettings

        return SefazSettings

    def sources(self, settings: "SefazSettings", now: datetime) -> Sequence[SwitchedOn]:
        from balcao.providers.sefaz.adapter import treasuries

        return treasuries(settings, now)

    def address(self, settings: "SefazSettings") -> str:
        if settings.url:
            return settings.url
        kind = "produção" if settings.environment == "production" else "homologação"
        return f"o de cada UF, em {kind}"

    def addresses(self, settings: "SefazSettings") -> Mapping[str, str]:
        from balcao.providers.sefaz.endpoints import addresses

        return addresses(settings)

    def check(self, settings: "SefazSettings") -> None:
        from balcao.providers.sefaz.certificate import certificate_of, client_context

        if (certificate := certificate_of(settings)) is not None:
            client_context(certificate, settings.ca_file)

    def out_of_use(self, settings: "SefazSettings", now: datetime) -> str | None:
        from balcao.providers.sefaz.examination import out_of_use

        return out_of_use(settings, now)

    def remarks(self, settings: "SefazSettings", now: datetime) -> Iterator[Remark]:
        from balcao.providers.sefaz.examination import remarks

        return remarks(settings, now)

    def simulated(self, base: str) -> "SefazSettings":
        return self.settings(url=f"{base}/sefaz")

    def simulators(
        self, stage: "Stage", clock: Callable[[], datetime]
    ) -> "Mapping[str, Simulated]":
        from balcao.providers.sefaz.simulator import SimulatedSefaz

        return {"/sefaz": SimulatedSefaz(stage, clock)}

    def mutual_tls(self, folder: Path, now: datetime) -> MutualTls:
        from balcao.providers.sefaz.simulator.certificates import mutual_tls

        return mutual_tls(folder, now)


PROVIDER = _Sefaz()
