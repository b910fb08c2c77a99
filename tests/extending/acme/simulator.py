"""Simulator of the provider, which also answers where the others simulate failures."""

from collections.abc import Callable, Mapping
from datetime import datetime

from starlette.types import Receive

from balcao.providers.simulation.exchange import (
    Simulated,
    SimulatedReply,
    SimulatedRequest,
    json_reply,
)
from balcao.providers.simulation.staging import Stage


class _Acme:
    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        if request.headers.get("authorization") != "sandbox":
            return json_reply(401, {})
        cnpj = request.path.rpartition("/")[2]
        return json_reply(200, {"id": cnpj, "name": "COMPANHIA DA ACME FICTICIA"})


def simulators(stage: Stage, clock: Callable[[], datetime]) -> Mapping[str, Simulated]:
    return {"/acme": _Acme()}
