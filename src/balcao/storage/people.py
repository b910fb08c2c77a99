"""Records of users, their links and sessions, terms of accounts, and filters of requests."""

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
    """A user to be created. `account_id` is None exactly for operators."""

    email: str
    name: str
    role: Role
    account_id: int | None

    def __repr__(self) -> str:
        return f"NewUser({self.role}, ***)"


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of an account that operators may change."""

    plan: Plan
    certificates: bool
    partner_optin: bool
    ceiling_credits: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """A one-time link that is still valid. `user` is None for the first operator's."""

    purpose: LinkPurpose
    user: User | None
    expires_ms: int


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session as shown to its user."""

    session_id: int
    opened_ms: int
    seen_ms: int
    browser: str | None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log."""

    entry_id: int
    at_ms: int
    channel: Channel
    user_id: int | None
    user_name: str | None  # the present one; None: no user signed in, or the user was removed
    action: Action
    account_id: int | None
    account_name: str | None
    target: str
    detail: str


@dataclass(frozen=True, slots=True)
class FailedSignIn:
    """A failed sign-in of the audit log; `detail` has the reason, the network and the browser."""

    at_ms: int
    detail: str


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """A filter of an account's requests; None: any value.

    `charged`: requests that were charged in the period, whenever they were made; else those that
    were made in it. Their credits add up to the totals of the same filter (ADR 0050).
    0 as a key or user, and an empty UF or client, select requests without one.
    """

    from_ms: int
    to_ms: int
    operation: str | None = None
    key_id: int | None = None
    user_id: int | None = None
    origin: Origin | None = None
    document: str | None = None  # a CNPJ
    document_hash: bytes | None = None  # of a CPF
    errors_only: bool = False  # refusals and failures
    client: str | None = None
    reference: str | None = None
    uf: str | None = None  # as asked
    charged: bool = False
    own_copy: bool | None = None  # answered by our copy of the registry; not for cached answers
    words: Sequence[str] = ()  # of the company's name, in upper case
    results: Sequence[str] = ()  # any of these: a certificate's verdict, or a result's code
