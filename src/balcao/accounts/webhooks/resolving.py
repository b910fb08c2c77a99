"""Resolution of webhooks' names. Slow names share a pool of their own threads."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from balcao.core.webhook_addresses import Endpoint, Network, check_addresses, endpoint_of

# A name server that does not respond holds a thread for some seconds.
_THREADS = 64
RESOLVE_SECONDS = 5.0
_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="webhook-names")
_under_way: dict[tuple[str, int], "asyncio.Future[Sequence[str]]"] = {}

# Returns all addresses of a name; empty: it has none, or did not resolve in time.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return all addresses of a name, IPv4 first. Concurrent calls share one look-up."""
    loop = asyncio.get_running_loop()
    found = _under_way.get((host, port))
    if found is None or found.get_loop() is not loop:
        found = loop.run_in_executor(_pool, _addresses, host, port)
        _under_way[host, port] = found
        found.add_done_callback(lambda _: _under_way.pop((host, port), None))
    try:
        return await asyncio.wait_for(asyncio.shield(found), RESOLVE_SECONDS)
    except TimeoutError:
        return ()


def _addresses(host: str, port: int) -> Sequence[str]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    rows.sort(key=lambda row: row[0] != socket.AF_INET)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


async def checked(
    url: str, private: Sequence[Network], resolve: Resolve = resolve
) -> tuple[Endpoint, Sequence[str]]:
    """Return the parts of a webhook's address with all addresses of its name, each of them checked.

    Raises `WebhookAddressRefused`.
    """
    endpoint = endpoint_of(url)
    addresses = await resolve(endpoint.host, endpoint.port)
    check_addresses(endpoint, addresses, private)
    return endpoint, addresses
