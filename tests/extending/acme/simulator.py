"""Simulator of the provider, which also answers where the others simulate failures."""

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


class _Acme:
    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        if request.headers.get("authorization") != "sandbox":
            return json_reply(401, {})
        cnpj = request.path.rpartition("/")[2]
        return json_reply(200, {"id": cnpj, "name": "COMPANHIA DA ACME FICTICIA"})


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    return {"/acme": _Acme()}
