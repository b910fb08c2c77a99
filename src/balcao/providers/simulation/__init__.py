"""Simulated providers of the sandbox, with the real protocols.

The service calls them through `transport.SimulatorTransport`. `app.create_app()` is an ASGI
application for clients in the same process (`httpx2.ASGITransport`), `app.create_server_app()` one
for a server such as uvicorn. `docs/sandbox.md` lists the answer for each document.
"""
