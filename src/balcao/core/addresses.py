"""Addresses as people see them: where the service is, and what they may see of others'."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

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


def invitation(base: str, token: str) -> str:
    """The address of a one-time link."""
    return f"{base}/app/convite/{token}"
