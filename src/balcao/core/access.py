"""Who is calling, and what their account includes (contract 7.1, 7.2)."""

import hashlib
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, TypeAlias

import msgspec

from balcao.core.addresses import of_peer
from balcao.core.faces import face_among
from balcao.core.questions import Mode

Plan: TypeAlias = Literal["gratuito", "pre_pago", "pos_pago"]
PLANS: tuple[Plan, ...] = ("gratuito", "pre_pago", "pos_pago")


@dataclass(frozen=True, slots=True)
class Account:
    """One account. `balance_credits` of a post-paid one is what it owes, below zero."""

    account_id: int
    name: str
    plan: Plan
    mode: Mode
    certificates: bool
    partner_optin: bool
    ceiling_credits: int | None  # post-paid only: the most a civil month may cost
    balance_credits: int
    held_credits: int
    month_credits: int  # posted in `month`
    created_ms: int
    month: str = ""  # civil month of the last entry; empty before the first one
    suspended_ms: int | None = None  # since when its keys are refused and its users ask nothing

    @property
    def certifies(self) -> bool:
        """See `certifies`."""
        return certifies(self.plan, self.certificates)

    def caller(self, user_id: int | None = None) -> "Caller":
        """The account by itself, through no key: at the terminal, or one of its users."""
        return Caller(
            self.account_id,
            None,
            self.plan,
            self.mode,
            self.certificates,
            self.partner_optin,
            expires_ms=None,
            key_per_minute=None,
            key_per_day=None,
            user_id=user_id,
        )


class KeyDoor(msgspec.Struct, frozen=True):
    """What one key may be used for (contract 11.3). One that nobody restricts has none."""

    networks: tuple[str, ...] = ()  # in CIDR notation; none: from anywhere
    operations: tuple[str, ...] | None = None  # paths of them; None: all
    client_required: bool = False  # a lookup must say whom it is for
    administers: bool = False  # may see and change what belongs to the whole account

    @property
    def face(self) -> str | None:
        """The face that it is of, and may ask alone; None: it is no face key (contract 16.4)."""
        return face_among(self.operations)

    def admits(self, address: str) -> bool:
        """Whether it may be used from here. What is no address is in no network.

        A face key stands in addresses, where many see it: without networks it is good nowhere.
        """
        if not self.networks:
            return self.face is None
        try:
            host = of_peer(address)
        except ValueError:
            return False
        return any(host in network for network in _networks(self.networks))

    def serves(self, path: str, face: str | None = None) -> bool:
        """Whether this operation may be asked, at the face's address if it is asked there."""
        if self.face is not None:
            return self.face == face
        return self.operations is None or path in self.operations


OPEN = KeyDoor()
NETWORKS_MAX = 50


def network_text(text: str) -> str:
    """A network or one address as it is stored, in CIDR notation. Raises `ValueError`.

    So it does for what is set beyond the prefix (`10.0.0.7/8`): nobody knows which of the two
    was meant.
    """
    return str(ip_network(text.strip()))


@lru_cache(maxsize=1_024)
def _networks(texts: tuple[str, ...]) -> Sequence[IPv4Network | IPv6Network]:
    return tuple(map(ip_network, texts))


@dataclass(frozen=True, slots=True)
class Key:
    """One API key, without its secret, which nobody keeps."""

    key_id: int
    account_id: int
    name: str
    prefix: str  # the first characters, to tell keys apart by sight
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None
    last_used_ms: int | None
    per_minute: int | None
    per_day: int | None
    door: KeyDoor | None = None  # None: for everything, from anywhere


def certifies(plan: Plan, by_contract: bool) -> bool:
    """Certificates: always prepaid, by contract postpaid, never free (contract 7.1)."""
    return plan == "pre_pago" or (plan == "pos_pago" and by_contract)


class Caller(msgspec.Struct, frozen=True):
    """An account through one of its keys, or one of its users: what a request may do."""

    account_id: int
    key_id: int | None  # None: in the web application
    plan: Plan
    mode: Mode
    certificates: bool  # by contract; see `certifies`
    partner_optin: bool
    expires_ms: int | None
    key_per_minute: int | None
    key_per_day: int | None
    user_id: int | None = None  # who asks, in the web application
    door: KeyDoor | None = None  # None: a key without any rule

    @property
    def administers(self) -> bool:
        """Whether the key may change what is the whole account's (contract 11.3)."""
        return self.door is not None and self.door.administers

    @property
    def operations_seen(self) -> tuple[str, ...] | None:
        """The operations whose batches and receipts the key may look at; None: all of them."""
        return None if self.door is None or self.administers else self.door.operations

    @property
    def certifies(self) -> bool:
        """See `certifies`."""
        return certifies(self.plan, self.certificates)


_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_CHARACTERS = 43  # 43 * log2(62) = 256 bits
_CHECKSUM_CHARACTERS = 6  # 62**6 > 2**32: room for a CRC-32
_KEY_CHARACTERS = len("balcao_live_") + _SECRET_CHARACTERS + _CHECKSUM_CHARACTERS
PREFIX_CHARACTERS = len("balcao_live_") + 6


def new_key(mode: Mode) -> str:
    """A fresh API key: 256 bits of chance and a checksum against typing errors."""
    secret = "".join(secrets.choice(_BASE62) for _ in range(_SECRET_CHARACTERS))
    body = f"balcao_{mode}_{secret}"
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Whether this can be one of our keys at all; a typo is refused without a read."""
    if len(key) != _KEY_CHARACTERS or not key.startswith(("balcao_live_", "balcao_test_")):
        return False
    if not key.isascii():
        return False
    return _checksum(key[:-_CHECKSUM_CHARACTERS]) == key[-_CHECKSUM_CHARACTERS:]


def key_hash(key: str, pepper: bytes) -> bytes:
    """What is stored of a key: 32 bytes that are useless without the pepper."""
    return hashlib.blake2b(key.encode(), key=pepper, digest_size=32).digest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits: list[str] = []
    for _ in range(_CHECKSUM_CHARACTERS):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))


def names_of_keys(keys: Sequence[Key]) -> Mapping[int | None, str]:
    """Names by number, for statements. None is the web application, which needs no key."""
    return {None: "aplicação web"} | {key.key_id: key.name for key in keys}


def find_account(accounts: Sequence[Account], wanted: str) -> Account | None:
    """The account of this name, or with this number."""
    for account in accounts:
        if account.name == wanted or str(account.account_id) == wanted:
            return account
    return None
