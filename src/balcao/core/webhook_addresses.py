"""Addresses that webhooks may be sent to (contract 19.4). Resolving names is not done here.

Any member of an account may choose an address, so it must not lead into the network of the service:
every address of the name is checked, and the connection is made to one that was checked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from balcao.core.errors import WebhookAddressRefused

Network: TypeAlias = IPv4Network | IPv6Network
Address: TypeAlias = IPv4Address | IPv6Address

URL_CHARACTERS_MAX: Final = 2_000
_PORTS = {"https": 443, "http": 80}
_FIRST_FREE_PORT = 1_024

# A host as URLs write it after IDNA: no characters that parsers read differently.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]")
_PRINTABLE = re.compile(r"[!-~]+")

# Forms of IPv6 that carry an address of IPv4: the network and the first bit of the address.
_CARRIERS: Sequence[tuple[IPv6Network, int]] = (
    (IPv6Network("::ffff:0:0/96"), 96),  # mapped
    (IPv6Network("::ffff:0:0:0/96"), 96),  # translated (SIIT)
    (IPv6Network("::/96"), 96),  # compatible, obsolete
    (IPv6Network("64:ff9b::/96"), 96),  # NAT64
    (IPv6Network("2002::/16"), 16),  # 6to4
)
# Global by the registry of Python's library, in some versions, but never a receiver's.
_NEVER: Sequence[Network] = (
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv6Network("2001::/23"),  # Teredo and other protocols
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),  # documentation
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of an address that decide where a delivery goes."""

    scheme: str
    host: str  # without the brackets of IPv6
    port: int


def endpoint_of(url: str) -> Endpoint:
    """Return scheme, host and port of a webhook's URL. Raises `WebhookAddressRefused`.

    http is accepted here, and refused by `check_addresses` unless all addresses are private.
    """
    if len(url) > URL_CHARACTERS_MAX:
        raise WebhookAddressRefused(f"O endereço pode ter até {URL_CHARACTERS_MAX} caracteres.")
    if _PRINTABLE.fullmatch(url) is None or "\\" in url:
        raise WebhookAddressRefused("Use um endereço como https://exemplo.com.br/webhooks.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WebhookAddressRefused("O endereço não é válido.") from None
    if parts.scheme not in _PORTS:
        raise WebhookAddressRefused("O endereço deve começar com https://.")
    if "@" in parts.netloc:
        raise WebhookAddressRefused("O endereço não pode ter usuário nem senha.")
    if "#" in url:
        raise WebhookAddressRefused("O endereço não pode ter fragmento (#).")
    named, _, after = parts.netloc.rpartition(":")
    host_text = named if named and (after.isdigit() or not after) else parts.netloc
    if _HOST.fullmatch(host_text) is None or not parts.hostname:
        raise WebhookAddressRefused("O nome do servidor não é válido.")
    found = port if port is not None else _PORTS[parts.scheme]
    usual = (443, 80) if parts.scheme == "http" else (443,)
    if found not in usual and found < _FIRST_FREE_PORT:
        raise WebhookAddressRefused("A porta deve ser 443 ou a partir de 1024.")
    return Endpoint(parts.scheme, parts.hostname, found)


def check_addresses(
    endpoint: Endpoint, addresses: Sequence[str], private: Sequence[Network]
) -> None:
    """Check all addresses of the endpoint's name. Raises `WebhookAddressRefused`.

    `private`: the networks that the operator has allowed.
    """
    if not addresses:
        raise WebhookAddressRefused("O nome do servidor não tem endereço.")
    for text in addresses:
        if _is_private(text, private):
            continue
        if endpoint.scheme == "http":
            raise WebhookAddressRefused("O endereço deve começar com https://.")
        if not is_public(text):
            raise WebhookAddressRefused("O nome do servidor leva a um endereço que não é público.")


def is_public(text: str) -> bool:
    """Return whether an address is globally routable, judged by the one it carries, if any."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        inside = _carried(address)
        if inside is not None:
            return _is_public(inside)
        if address not in _GLOBAL_UNICAST:
            return False
    return _is_public(address)


def _is_public(address: Address) -> bool:
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(
        address in network for network in _NEVER if network.version == address.version
    )


def _carried(address: IPv6Address) -> IPv4Address | None:
    for network, first_bit in _CARRIERS:
        if address in network:
            return IPv4Address(int(address) >> (96 - first_bit) & 0xFFFF_FFFF)
    return None


def _is_private(text: str, private: Sequence[Network]) -> bool:
    """Return whether an address, or the one it carries, is in one of these networks."""
    try:
        address: Address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in private if network.version == address.version)
