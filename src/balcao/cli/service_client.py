"""HTTP client for a running service: with an API key, or on the service's own machine."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.installation import Installation, open_installation
from balcao.cli.output import program

if TYPE_CHECKING:
    from balcao.settings import Settings

# Variables with the API key, as in the documentation's examples, and the service's address.
KEY_VARIABLE, ADDRESS_VARIABLE = "BALCAO_KEY", "BALCAO_URL"

_CONNECT_SECONDS = 10.0
# Longer than any deadline of sources: the service enforces those.
_ANSWER_SECONDS = 300.0

# Validity of the key that is issued for one lookup on the service's machine.
_KEY_MS = round(_ANSWER_SECONDS * 1000) + 60_000
_KEY_NAME = "balcao consultar"


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """A response of the service."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    base: str = ""  # base of relative addresses in it

    @property
    def credits(self) -> int:
        """Charged credits."""
        text = self.headers.get("x-creditos-cobrados", "")
        return int(text) if text.isascii() and text.isdecimal() else 0

    @property
    def json(self) -> Any:
        """The body, decoded. Raises `CommandFailed` if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise CommandFailed(
                f"A resposta não é do Balcão (código HTTP {self.status}). Confira o endereço."
            ) from None


@dataclass(frozen=True, slots=True, repr=False)
class ServiceAccess:
    """A service's address with an API key, which is left out of the repr."""

    base: str
    key: str
    is_local: bool = False  # on this machine: its certificate has the public name

    def get(self, path: str, headers: Mapping[str, str]) -> ServiceReply:
        """Send a GET as the key's account. Raises `CommandFailed`."""
        sent = {**headers, "x-api-key": self.key}
        return fetch(self.base, path, sent, is_local=self.is_local)


def fetch(base: str, path: str, headers: Mapping[str, str], *, is_local: bool) -> ServiceReply:
    """Send a GET, without retries. Raises `CommandFailed`; its text omits the address (a CPF)."""
    import httpx2

    timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    try:
        with httpx2.Client(verify=not is_local, timeout=timeout, trust_env=not is_local) as client:
            response = client.get(f"{base}{path}", headers=headers)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL) as error:
        raise CommandFailed(
            f"Não houve conexão com o serviço ({type(error).__name__}). Nada foi consultado."
        ) from error
    except httpx2.HTTPError as error:
        raise CommandFailed(
            f"A resposta não chegou ({type(error).__name__}). A consulta pode ter sido feita e"
            " cobrada. Veja o consumo da conta antes de repetir."
        ) from error
    return ServiceReply(response.status_code, dict(response.headers), response.content, base)


def access_with_key(url: str | None) -> ServiceAccess | None:
    """Return the access with the key of the environment, if any. Raises `CommandFailed`."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable():
        raise CommandFailed(f"{KEY_VARIABLE} não tem a forma de uma chave.")
    base = (url or os.environ.get(ADDRESS_VARIABLE, "")).strip().rstrip("/")
    if not base:
        settings = read_settings()
        return ServiceAccess(_local_address(settings), key, is_local=True)
    if not base.startswith(("http://", "https://")):
        raise CommandFailed("O endereço do serviço deve começar com http:// ou https://.")
    return ServiceAccess(base, key)


@contextmanager
def local_service() -> Iterator[tuple[Installation, str]]:
    """Open the installation and yield its running service's address. Raises `CommandFailed`."""
    with open_installation() as local:
        yield local, _local_address(local.settings)


@contextmanager
def access_as_account(
    local: Installation, base: str, account: str, operation: str
) -> Iterator[ServiceAccess]:
    """Yield an access as this account, for the operator of the service.

    Issues a key for this operation and revokes it afterwards, so that limits, circuits and logs
    apply as to any request, and the account's list of keys shows the lookup's origin.
    """
    from balcao.accounts.keys import issue_key
    from balcao.core.access import KeyRestrictions

    found, now = local.account(account), local.now_ms()
    restrictions = KeyRestrictions(operations=(operation,))
    text, key = issue_key(
        local.desk,
        local.home,
        found,
        _KEY_NAME,
        now,
        expires_ms=now + _KEY_MS,
        restrictions=restrictions,
    )
    try:
        yield ServiceAccess(base, text, is_local=True)
    finally:
        local.desk.revoke_key(key.key_id, local.now_ms())


def _local_address(settings: "Settings") -> str:
    from balcao.examination.service import running_address
    from balcao.home import Home

    address = running_address(settings, Home(settings.home))
    if address is None:
        raise CommandFailed(
            f"O serviço não está em funcionamento nesta máquina. Inicie com {program()} serve. Se"
            f" ele está em outra máquina, defina {KEY_VARIABLE} e {ADDRESS_VARIABLE}."
        )
    return address
