"""Simulator of the treasuries' web service CadConsultaCadastro4 (`sefaz-consulta-cadastro.md`).

`treasuries.py` has the paths and quirks of each state, `request_reader.py` reads requests,
`requester.py` checks client certificates, `response_writer.py` writes replies; `service.py`
combines them.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from balcao.providers.sefaz.simulator.certificates import mutual_tls
from balcao.providers.sefaz.simulator.service import SimulatedSefaz
from balcao.providers.simulation.faults import FaultInjector
from balcao.providers.simulation.messages import Simulator

__all__ = ["mutual_tls", "simulators"]


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    """Return the simulator by its path prefix."""
    return {"/sefaz": SimulatedSefaz(faults, clock)}
