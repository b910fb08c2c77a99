"""Simulator of the provider."""

from collections.abc import Callable, Mapping
from datetime import datetime

from starlette.types import Receive

from balcao.providers.simulation.faults import FaultInjector
from balcao.providers.simulation.messages import (
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    json_reply,
)

CNPJ, STRANGER = "90010001000100", "90010004000143"


class _Registro:
    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        cnpj = request.path.rpartition("/")[2]
        if cnpj == CNPJ:
            return json_reply(200, {"cnpj": cnpj, "optante": True, "desde": "2015-03-02"})
        return json_reply(404 if cnpj == STRANGER else 500, {})


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    return {"/registro": _Registro()}
