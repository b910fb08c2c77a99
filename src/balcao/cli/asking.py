"""HTTP requests to a running service: with a key, or on the service's machine."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from balcao.cli.configuration import read_settings
from balcao.cli.failures import CommandFailed
from balcao.cli.office import Office, opened
from balcao.cli.output import program

if TYPE_CHECKING:
    from balcao.settings import Settings

# Where a program's key stands, as in the examples of the documentation; and where its service is.
KEY_VARIABLE, ADDRESS_VARIABLE = "BALCAO_KEY", "BALCAO_URL"

_CONNECT_SECONDS = 10.0
# Sources may take their whole deadline, and the service decides when that is over.
_ANSWER_SECONDS = 300.0

# The key of one consultation at the machine lives for as long as that may take, and a bit.
_KEY_MS = round(_ANSWER_SECONDS * 1000) + 60_000
_KEY_NAME = "balcao consultar"


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """An answer of the service."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes
    base: str = ""  # of the addresses in it

    @property
    def credits(self) -> int:
        """Credits that were charged."""
        text = self.headers.get("x-creditos-cobrados", "")
        return int(text) if text.isascii() and text.isdecimal() else 0

    @property
    def json(self) -> Any:
        """The body. Raises `CommandFailed` if it is not Balcão's."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise CommandFailed(
                f"Quem respondeu não é o Balcão (código HTTP {self.status}). Confira o endereço."
            ) from None


@dataclass(frozen=True, slots=True, repr=False)
class ServiceAccess:
    """A service's address and a key for it, which is not part of the repr."""

    base: str
    key: str
    is_own: bool = False  # of this machine: its certificate is for the name that others call it by

    def get(self, path: str, headers: Mapping[str, str]) -> ServiceReply:
        """Send a GET as the key's account. Raises `CommandFailed`."""
        sent = {**headers, "x-api-key": self.key}
        return fetched(self.base, path, sent, is_own=self.is_own)


def fetched(base: str, path: str, headers: Mapping[str, str], *, is_own: bool) -> ServiceReply:
    """Send one GET, once. Raises `CommandFailed`, without the address: it may name a person."""
    import httpx2

    timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    try:
        with httpx2.Client(verify=not is_own, timeout=timeout, trust_env=not is_own) as client:
            said = client.get(f"{base}{path}", headers=headers)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL) as error:
        raise CommandFailed(
            f"Não houve conexão com o serviço ({type(error).__name__}). Nada foi consultado."
        ) from error
    except httpx2.HTTPError as error:
        raise CommandFailed(
            f"A resposta não chegou ({type(error).__name__}). A consulta pode ter sido feita e"
            " cobrada: veja o consumo da conta antes de repetir."
        ) from error
    return ServiceReply(said.status_code, dict(said.headers), said.content, base)


def access_of_key(url: str | None) -> ServiceAccess | None:
    """Return the access by the key in the environment, if there is one. Raises `CommandFailed`."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable():
        raise CommandFailed(f"{KEY_VARIABLE} não tem a forma de uma chave.")
    base = (url or os.environ.get(ADDRESS_VARIABLE, "")).strip().rstrip("/")
    if not base:
        settings = read_settings()
        return ServiceAccess(_own_address(settings), key, is_own=True)
    if not base.startswith(("http://", "https://")):
        raise CommandFailed("O endereço do serviço deve começar com http:// ou https://.")
    return ServiceAccess(base, key)


@contextmanager
def at_the_machine() -> Iterator[tuple[Office, str]]:
    """Open the data folder, with the address of its running service. Raises `CommandFailed`."""
    with opened() as office:
        yield office, _own_address(office.settings)


@contextmanager
def access_of_account(
    office: Office, base: str, account: str, operation: str
) -> Iterator[ServiceAccess]:
    """Yield an access as this account, for the operator of the service.

    A key for this operation alone is issued and afterwards revoked. So limits, circuits and the log
    are those of any request, and the account's list of keys shows who asked.
    """
    from balcao.accounts.keys import issue_key
    from balcao.core.access import KeyDoor

    found, now = office.account(account), office.now_ms()
    door = KeyDoor(operations=(operation,))
    text, key = issue_key(
        office.desk, office.home, found, _KEY_NAME, now, expires_ms=now + _KEY_MS, door=door
    )
    try:
        yield ServiceAccess(base, text, is_own=True)
    finally:
        office.desk.revoke_key(key.key_id, office.now_ms())


def _own_address(settings: "Settings") -> str:
    from balcao.examination.service import running_address
    from balcao.home import Home

    address = running_address(settings, Home(settings.home))
    if address is None:
        raise CommandFailed(
            f"O serviço não está no ar nesta máquina, e é ele que consulta. Inicie-o:"
            f" {program()} serve. Se ele está em outra: {KEY_VARIABLE} e {ADDRESS_VARIABLE}."
        )
    return address
