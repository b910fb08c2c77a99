"""Addresses as people see them: where the service is, and what they may see of others'."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

HIDDEN = "***"

_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def shown_address(text: str) -> str:
    """An address without the user and password it may carry."""
    return _USER_OF_ADDRESS.sub(HIDDEN, text)


def of_peer(host: str) -> IPv4Address | IPv6Address:
    """Whom a socket names as the other side. Raises `ValueError`.

    Where we listen on `::`, whoever comes by IPv4 has an address within IPv6.
    """
    peer = ip_address(host.partition("%")[0])
    if isinstance(peer, IPv6Address) and peer.ipv4_mapped is not None:
        return peer.ipv4_mapped
    return peer


_LOCAL = tuple(
    map(
        ip_network,
        (
            *("127.0.0.0/8", "::1/128"),
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"),
            *("fc00::/7", "fe80::/10"),
        ),
    )
)


def is_loopback(host: str) -> bool:
    """Return whether this is an address of the machine for itself. Of what is none: no."""
    try:
        return of_peer(host).is_loopback
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Return whether this is an address of the machine or of a private network."""
    try:
        peer = of_peer(host)
    except ValueError:
        return False
    return any(peer in network for network in _LOCAL)


def counted_as(host: str) -> str:
    """Return the name under which limits count an address.

    Who owns an address of IPv6 owns the 2^64 beside it: they count as one. A port, which some
    proxies add, does not count, and what is no address counts as it is.
    """
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    if ":" not in host:
        return host
    try:
        peer = of_peer(host)
    except ValueError:
        return host
    if isinstance(peer, IPv4Address):
        return str(peer)
    return f"{IPv6Address(int(peer) >> 64 << 64)}/64"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where requests come from, as far as the proxies in front are known."""

    trusted: Sequence[IPv4Network | IPv6Network] = ()  # proxies that tell whom they speak for
    behind_proxy: bool = False  # everybody comes by one, since it ends TLS and not we

    def address_of(self, peer: str, forwarded: Sequence[str]) -> str:
        """The address that a caller has towards us; empty: it is unknown.

        `peer`: of the connection; `forwarded`: all of `X-Forwarded-For`, of which a proxy that is
        trusted has written the last. Unknown is who comes by a proxy that nobody names.
        """
        try:
            host = of_peer(peer)
        except ValueError:
            return ""
        if any(host in network for network in self.trusted):
            return ",".join(forwarded).rpartition(",")[2].strip()[:64]
        return "" if self.behind_proxy and host.is_private else peer


def invitation(base: str, token: str) -> str:
    """The address of a one-time link."""
    return f"{base}/app/convite/{token}"
