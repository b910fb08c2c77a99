"""What is told and asked of people: users, their links, the terms of accounts, requests."""

from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.access import Plan
from balcao.core.ledger import Origin
from balcao.core.people import (
    Action,
    Channel,
    LinkPurpose,
    Role,
    User,
)


@dataclass(frozen=True, slots=True, repr=False)
class NewUser:
    """A person to be let in. `account_id` is None exactly for operators."""

    email: str
    name: str
    role: Role
    account_id: int | None

    def __repr__(self) -> str:
        return f"NewUser({self.role}, ***)"


@dataclass(frozen=True, slots=True)
class Terms:
    """What an operator may change of an account."""

    plan: Plan
    certificates: bool
    partner_optin: bool
    ceiling_credits: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link that is still good. `user` is None for the first operator's."""

    purpose: LinkPurpose
    user: User | None
    expires_ms: int


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A browser in which somebody is signed in, as its owner is shown it."""

    session_id: int
    opened_ms: int
    seen_ms: int
    browser: str | None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One deed, as it is read again."""

    entry_id: int
    at_ms: int
    channel: Channel
    user_id: int | None
    user_name: str | None  # of today; None: nobody signed in, or the person was removed
    action: Action
    account_id: int | None
    account_name: str | None
    target: str
    detail: str


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """Which requests of an account are wanted; None: all of them.

    `charged`: those that were charged in the period, whenever they were asked; else those that
    were asked in it. Their credits add up to what the totals tell of the same (ADR 0050).
    0 as a key or user, an empty UF or client: those without one.
    """

    from_ms: int
    to_ms: int
    operation: str | None = None
    key_id: int | None = None
    user_id: int | None = None
    origin: Origin | None = None
    document: str | None = None  # a CNPJ
    document_hash: bytes | None = None  # of a CPF
    errors_only: bool = False  # refusals and failures: no result that is charged
    client: str | None = None
    reference: str | None = None
    uf: str | None = None  # as asked
    charged: bool = False
    own_copy: bool | None = None  # of answers that were not from the cache
    words: Sequence[str] = ()  # of the company's name, in upper case
    results: Sequence[str] = ()  # one of these: a certificate's verdict, or the code of a gist
