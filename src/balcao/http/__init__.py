"""The HTTP API: a plain ASGI application. `front` is where a request comes in."""
