"""The state treasuries' web service CadConsultaCadastro4 (`sefaz-consulta-cadastro.md`).

`treasuries.py` says who answers where and with which manners, `reading.py` what was asked,
`requester.py` by whom, `writing.py` how answers look; `service.py` puts them together.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from balcao.providers.sefaz.simulator.certificates import mutual_tls
from balcao.providers.sefaz.simulator.service import SimulatedSefaz
from balcao.providers.simulation.exchange import Simulated
from balcao.providers.simulation.staging import Stage

__all__ = ["mutual_tls", "simulators"]


def simulators(stage: Stage, clock: Callable[[], datetime]) -> Mapping[str, Simulated]:
    """Where it is."""
    return {"/sefaz": SimulatedSefaz(stage, clock)}
