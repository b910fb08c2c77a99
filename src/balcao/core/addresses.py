"""Network addresses: of clients behind proxies, for rate limits, and as people may see them."""

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
    """Return an address with its user and password hidden."""
    return _USER_OF_ADDRESS.sub(HIDDEN, text)


def peer_address(host: str) -> IPv4Address | IPv6Address:
    """Return the peer address of a socket. Raises `ValueError`.

    Sockets that listen on `::` report IPv4 peers as IPv4-mapped addresses.
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
    """Return whether this is a loopback address."""
    try:
        return peer_address(host).is_loopback
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Return whether this is an address of this machine or of a private network."""
    try:
        peer = peer_address(host)
    except ValueError:
        return False
    return any(peer in network for network in _LOCAL)


def rate_limit_address(host: str) -> str:
    """Return the text under which limits count an address.

    A /64 of IPv6 counts as one client, since it has one owner. A port, which some proxies add, is
    ignored; a text that is not an address is returned unchanged.
    """
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    if ":" not in host:
        return host
    try:
        peer = peer_address(host)
    except ValueError:
        return host
    if isinstance(peer, IPv4Address):
        return str(peer)
    return f"{IPv6Address(int(peer) >> 64 << 64)}/64"


def network_of(address: str) -> str:
    """Return the network of a counted address (`rate_limit_address`), an IPv4 /24 or an IPv6 /48.

    It shows a person where a sign-in was tried, without identifying a machine. Empty for a text
    that is not an address.
    """
    try:
        host = ip_address(address.partition("/")[0])
    except ValueError:
        return ""
    return str(ip_network(f"{host}/{24 if host.version == 4 else 48}", strict=False))


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The proxies in front of the service whose `X-Forwarded-For` is trusted."""

    trusted: Sequence[IPv4Network | IPv6Network] = ()
    behind_proxy: bool = False  # all requests come through a proxy, since it terminates TLS

    def client_address(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the address of a request's client; empty if it came through an unknown proxy.

        `peer`: of the connection; `forwarded`: all `X-Forwarded-For` headers; a trusted proxy wrote
        the last entry.
        """
        try:
            host = peer_address(peer)
        except ValueError:
            return ""
        if any(host in network for network in self.trusted):
            return ",".join(forwarded).rpartition(",")[2].strip()[:64]
        return "" if self.behind_proxy and host.is_private else peer


def one_time_link(base: str, token: str) -> str:
    """Return the address of a one-time link."""
    return f"{base}/app/convite/{token}"
