"""Accounts, API keys and callers, and what each may do (contract 7.1, 7.2)."""

import hashlib
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, TypeAlias

import msgspec

from balcao.core.addresses import peer_address
from balcao.core.compat_apis import compat_api_among
from balcao.core.questions import Mode

Plan: TypeAlias = Literal["gratuito", "pre_pago", "pos_pago"]
PLANS: tuple[Plan, ...] = ("gratuito", "pre_pago", "pos_pago")
PLAN_WORDS: Mapping[Plan, str] = {
    "gratuito": "gratuito",
    "pre_pago": "pré-pago",
    "pos_pago": "pós-pago",
}


@dataclass(frozen=True, slots=True)
class Account:
    """An account. A post-paid one has a negative `balance_credits`: its debt."""

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
    suspended_ms: int | None = None  # keys and lookups of users are refused since then
    watched: int = 0  # items of its portfolio

    @property
    def has_certificates(self) -> bool:
        return has_certificates(self.plan, self.certificates)

    def caller(self, user_id: int | None = None) -> "Caller":
        """Return a caller without a key: the terminal, or one of the account's users."""
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
            watches=self.watched > 0,
        )


class KeyRestrictions(msgspec.Struct, frozen=True):
    """Restrictions and rights of one key (contract 11.3)."""

    networks: tuple[str, ...] = ()  # in CIDR notation; empty: any address
    operations: tuple[str, ...] | None = None  # their paths; None: all
    client_required: bool = False  # lookups must have `X-Cliente`
    administers: bool = False  # may see and change everything of the account

    @property
    def compat_api(self) -> str | None:
        """The only compatible API the key can be used for; None: it is an ordinary key (16.4)."""
        return compat_api_among(self.operations)

    def allows_address(self, address: str) -> bool:
        """Return whether the key may be used from this address; an invalid one is in no network.

        The key of a compatible API is part of a URL, where others can read it: it needs networks.
        """
        if not self.networks:
            return self.compat_api is None
        try:
            host = peer_address(address)
        except ValueError:
            return False
        return any(host in network for network in _networks(self.networks))

    def allows_operation(self, path: str, compat_api: str | None = None) -> bool:
        """Return whether the key may use this operation, through a compatible API if given."""
        if self.compat_api is not None:
            return self.compat_api == compat_api
        return self.operations is None or path in self.operations


UNRESTRICTED = KeyRestrictions()
NETWORKS_MAX = 50


def network_text(text: str) -> str:
    """Return a network or a single address in CIDR notation. Raises `ValueError`.

    Bits set beyond the prefix (`10.0.0.7/8`) are an error: the intention is unclear.
    """
    return str(ip_network(text.strip()))


@lru_cache(maxsize=1_024)
def _networks(texts: tuple[str, ...]) -> Sequence[IPv4Network | IPv6Network]:
    return tuple(map(ip_network, texts))


@dataclass(frozen=True, slots=True)
class Key:
    """An API key. Its secret is not stored."""

    key_id: int
    account_id: int
    name: str
    prefix: str  # the first characters, for recognising keys
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None
    last_used_ms: int | None
    per_minute: int | None
    per_day: int | None
    restrictions: KeyRestrictions | None = None


def has_certificates(plan: Plan, by_contract: bool) -> bool:
    """Return whether certificates are included: prepaid always, post-paid by contract (7.1)."""
    return plan == "pre_pago" or (plan == "pos_pago" and by_contract)


class Caller(msgspec.Struct, frozen=True):
    """The account behind a request, with the key or user it came through, and its rights."""

    account_id: int
    key_id: int | None  # None: in the web application
    plan: Plan
    mode: Mode
    certificates: bool  # by contract; see `has_certificates`
    partner_optin: bool
    expires_ms: int | None
    key_per_minute: int | None
    key_per_day: int | None
    user_id: int | None = None  # in the web application
    restrictions: KeyRestrictions | None = None
    watches: bool = False  # the account's portfolio has items

    @property
    def administers(self) -> bool:
        """Whether the key may change everything of the account (contract 11.3)."""
        return self.restrictions is not None and self.restrictions.administers

    @property
    def visible_operations(self) -> tuple[str, ...] | None:
        """The operations whose batches and receipts the key may read; None: all."""
        return (
            None if self.restrictions is None or self.administers else self.restrictions.operations
        )

    @property
    def has_certificates(self) -> bool:
        return has_certificates(self.plan, self.certificates)


_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_CHARACTERS = 43  # 43 * log2(62) = 256 bits
_CHECKSUM_CHARACTERS = 6  # 62**6 > 2**32: a CRC-32 fits
_KEY_CHARACTERS = len("balcao_live_") + SECRET_CHARACTERS + _CHECKSUM_CHARACTERS
PREFIX_CHARACTERS = len("balcao_live_") + 6


def new_key(mode: Mode) -> str:
    """Return a new API key: 256 random bits and a checksum against typing errors."""
    body = f"balcao_{mode}_{new_secret()}"
    return body + _checksum(body)


def new_secret() -> str:
    """Return 256 random bits as letters and digits."""
    return "".join(secrets.choice(_BASE62) for _ in range(SECRET_CHARACTERS))


def is_well_formed(key: str) -> bool:
    """Return whether a text has the form and checksum of a key: typos need no database read."""
    if len(key) != _KEY_CHARACTERS or not key.startswith(("balcao_live_", "balcao_test_")):
        return False
    if not key.isascii():
        return False
    return _checksum(key[:-_CHECKSUM_CHARACTERS]) == key[-_CHECKSUM_CHARACTERS:]


def key_hash(key: str, pepper: bytes) -> bytes:
    """Return the stored hash of a key: 32 bytes, useless without the pepper."""
    return hashlib.blake2b(key.encode(), key=pepper, digest_size=32).digest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits: list[str] = []
    for _ in range(_CHECKSUM_CHARACTERS):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))


def key_names(keys: Sequence[Key]) -> Mapping[int | None, str]:
    """Return the names of keys by number; None stands for the web application."""
    return {None: "aplicação web"} | {key.key_id: key.name for key in keys}


def find_account(accounts: Sequence[Account], wanted: str) -> Account | None:
    """Return the account with this name or number."""
    for account in accounts:
        if account.name == wanted or str(account.account_id) == wanted:
            return account
    return None
