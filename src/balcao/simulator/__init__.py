"""The providers of the sandbox, who speak their real protocols.

The service asks them by `SimulatorTransport`. As one ASGI application they are for everybody else:
`create_app()` for a client within the process (`httpx2.ASGITransport`), `create_server_app()` for
a server such as uvicorn. What each document gets: `docs/sandbox.md`.
"""

from balcao.providers.simulation.exchange import ConnectionCut
from balcao.simulator.app import create_app, create_server_app

__all__ = ["ConnectionCut", "create_app", "create_server_app"]
