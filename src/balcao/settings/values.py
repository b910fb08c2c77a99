"""Types of single settings, with the checks of their values. Their messages are Portuguese."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, PlainValidator, SecretStr

from balcao.core.federation import UFS
from balcao.providers.fields import Uf, web_address


def _in_order(ufs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the UFs in the contract's order, in which BR asks, answers and charges.

    Raises `ValueError` for a repeated one.
    """
    if len(set(ufs)) < len(ufs):
        raise ValueError("repete uma UF")
    return tuple(uf for uf in UFS if uf in ufs)


Ufs: TypeAlias = Annotated[tuple[Uf, ...], AfterValidator(_in_order)]


def _origin(text: str) -> str:
    """Return an address as browsers write it: scheme and host in lower case, no default port."""
    parts = urlsplit(web_address(text).rstrip("/"))
    if not parts.hostname:
        return ""
    if parts.path or parts.query or parts.fragment or parts.username:
        raise ValueError("deve ter só o nome da máquina e a porta, sem caminho")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


Origin: TypeAlias = Annotated[str, AfterValidator(_origin)]


def _page(text: str) -> str:
    """Return the address of a page or folder. Raises `ValueError` if it has a password."""
    text = web_address(text)
    parts = urlsplit(text)
    if parts.username or parts.password:
        raise ValueError("não deve ter usuário nem senha")
    return text


Page: TypeAlias = Annotated[str, AfterValidator(_page)]
# Texts like an address: a word and a colon, a store's name and two slashes, or `://` anywhere (an
# environment file's quotes may have become part of the value).
_LIKE_AN_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*:|(s3a?|gs|az|adl|azure|abfss?|https?|file)[^\w/]?//|.*://", re.I
)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://(?=\S)(.*)", re.I)


def _place(text: str) -> str:
    """Return a folder's path or an address.

    Raises `ValueError` for what is neither, which would become a folder of that name.
    """
    if address := _ADDRESS.fullmatch(text.strip()):
        return f"{address[1].lower()}://{address[2]}"
    if _LIKE_AN_ADDRESS.match(text):
        raise ValueError(
            "parece um endereço mal escrito: use s3://bucket/prefixo, com dois pontos e duas"
            " barras e sem aspas, ou o caminho de uma pasta, com / ou ./ no início"
        )
    return text


Place: TypeAlias = Annotated[str, AfterValidator(_place)]


def _network(text: object) -> IPv4Network | IPv6Network:
    """Return a network; a single address is a network of one."""
    try:
        return ip_network(str(text))
    except ValueError:
        raise ValueError("deve ser um endereço ou uma rede, como 10.0.0.0/8") from None


Network: TypeAlias = Annotated[IPv4Network | IPv6Network, PlainValidator(_network)]


# A shorter token could be found by trying.
_TOKEN_CHARACTERS_MIN = 16
_TOKEN = re.compile(r"[!-~]*")


def _bearer_token(secret: SecretStr) -> SecretStr:
    """Return a token that fits into a header; empty: none is set.

    Raises `ValueError` for one that is short or has blanks or characters outside ASCII.
    """
    token = secret.get_secret_value()
    if token and (len(token) < _TOKEN_CHARACTERS_MIN or not _TOKEN.fullmatch(token)):
        raise ValueError(
            f"deve ter {_TOKEN_CHARACTERS_MIN} caracteres ou mais, sem espaços nem acentos; vazio:"
            " nenhum texto"
        )
    return secret


BearerToken: TypeAlias = Annotated[SecretStr, AfterValidator(_bearer_token)]
