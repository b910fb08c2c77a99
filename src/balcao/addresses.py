"""Addresses as people see them: where the service is, and what they may see of others'."""

import re
import shlex
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from balcao.settings import Settings
    from balcao.subjects.contract import Operation, Parameter

HIDDEN = "***"

# A document that is not in the path is a parameter that is not required: there may be another.
_DOCUMENTS = ("cnpj", "cpf")

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}  # noqa: S104 - recognised only

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


def address(settings: "Settings") -> str:
    """Where the service is reached, for links and examples."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = settings.host
    host = _ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    scheme = "https" if settings.tls_certificate is not None else "http"
    return f"{scheme}://{host}:{settings.port}"


def curl_line(operation: "Operation", key: str, base: str) -> str:
    """One request of an operation, ready to be pasted into a shell."""
    path = operation.path
    query: dict[str, str] = {}
    for parameter in operation.parameters:
        example = parameter.example
        if parameter.place == "path":
            path += f"/{quote(str(example), safe='')}"
        elif parameter.place == "query" and example is not None and _shown(parameter):
            query[parameter.name] = str(example)
    url = f"{base}/consultas/v2/{path}" + (f"?{urlencode(query)}" if query else "")
    return f"curl -sS -H {shlex.quote(f'x-api-key: {key}')} {shlex.quote(url)}"


def _shown(parameter: "Parameter") -> bool:
    return parameter.required or parameter.name in _DOCUMENTS


def invitation(base: str, token: str) -> str:
    """The address of a one-time link."""
    return f"{base}/app/convite/{token}"
