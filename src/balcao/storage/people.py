"""What storage promises of people: users, their sessions and links, and the log of deeds.

Implemented by the same engines as the desk, in the same file or database. Everything that is
written here is durable when it returns, and raises `StorageFailed` when it cannot be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from balcao.core.access import Account, Plan
from balcao.core.ledger import Origin, Trace
from balcao.core.people import (
    Action,
    Channel,
    Credentials,
    LinkPurpose,
    Role,
    Session,
    Signature,
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
    """Which requests of an account are wanted; None: all of them."""

    from_ms: int
    to_ms: int
    operation: str | None = None
    key_id: int | None = None
    web_only: bool = False  # asked in the web application (these have no key)
    user_id: int | None = None
    origin: Origin | None = None
    document: str | None = None  # a CNPJ
    document_hash: bytes | None = None  # of a CPF
    errors_only: bool = False


class People(Protocol):
    """Users, sessions, one-time links, the audit log, and what is remembered of requests.

    What is signed is done in one commit with its entry in the audit log. What changes nothing
    (suspending somebody who is suspended) is not logged.
    """

    # Users.

    def user(self, user_id: int) -> User | None:
        """One user."""
        ...

    def users(self, account_id: int | None) -> Sequence[User]:
        """An account's users by name; None: the operators."""
        ...

    def has_operator(self) -> bool:
        """Whether anybody who is an operator ever set a password."""
        ...

    def credentials(self, email: str) -> Credentials | None:
        """By e-mail address, whatever its case. None: unknown or suspended."""
        ...

    async def add_user(self, new: NewUser, signed: Signature, now_ms: int) -> User:
        """Let somebody in, still without a password. Raises `EmailTaken`, `FormDone`."""
        ...

    async def change_user(
        self, user_id: int, name: str, role: Role, signed: Signature, now_ms: int
    ) -> None:
        """Another name or role; an operator stays one and nobody becomes one.

        Sessions that are open have the new role at once. Raises `LookupError` (also for such a
        role), `FormDone`.
        """
        ...

    async def suspend_user(
        self, user_id: int, suspended: bool, signed: Signature, now_ms: int
    ) -> None:
        """Keep somebody out (their sessions and links end), or let them in again.

        Raises `LookupError`, `FormDone`, and `LastOperator` rather than lock everybody out.
        """
        ...

    async def set_password(
        self, user_id: int, password_hash: str, signed: Signature, now_ms: int
    ) -> None:
        """Set it; all sessions and links of this user end. Raises `LookupError`, `FormDone`."""
        ...

    async def rehash_password(
        self, user_id: int, password_hash: str, *, replaces: str, now_ms: int
    ) -> None:
        """The same password under newer parameters: nothing ends, nothing is logged.

        Nothing happens when the hash is no longer `replaces`: another password was set meanwhile.
        """
        ...

    async def set_totp(
        self, user_id: int, sealed: bytes | None, signed: Signature, now_ms: int
    ) -> None:
        """Turn the second factor on, or off (None). Raises `LookupError`, `FormDone`."""
        ...

    async def use_totp_step(self, user_id: int, step: int) -> bool:
        """Take a time step. False: it, or a later one, was taken before."""
        ...

    # Sessions: a token is known by its digest only.

    async def open_session(
        self, user_id: int, token_digest: bytes, signed: Signature, now_ms: int
    ) -> None:
        """Remember a browser that signed in. An operator's sign-in is a deed for the log.

        Somebody who was suspended meanwhile is not let in, and the token stays unknown. Raises
        `LookupError`, `FormDone`.
        """
        ...

    def session(
        self, token_digest: bytes, now_ms: int, idle_ms: int, lifetime_ms: int
    ) -> Session | None:
        """Whose it is. None: unknown, idle for too long, too old, or its user was suspended."""
        ...

    async def touch_session(self, session_id: int, now_ms: int) -> None:
        """It was used (told about once a minute)."""
        ...

    async def close_session(self, token_digest: bytes) -> None:
        """Sign out. Fine if there is none."""
        ...

    async def close_other_sessions(self, user_id: int, token_digest: bytes) -> int:
        """Sign this user out everywhere else. Count."""
        ...

    # One-time links.

    async def make_link(
        self,
        token_digest: bytes,
        purpose: LinkPurpose,
        user_id: int | None,
        *,
        signed: Signature,
        now_ms: int,
        expires_ms: int,
    ) -> None:
        """Remember a link; earlier ones for the same purpose and user are void.

        Raises `FormDone`, `LookupError` for an unknown user.
        """
        ...

    def link(self, token_digest: bytes, now_ms: int) -> Link | None:
        """What it is good for. None: unknown, used, void, too old, or its user is suspended.

        The first operator's is void as soon as any operator has a password.
        """
        ...

    async def claim_link(
        self, token_digest: bytes, password_hash: str, now_ms: int, operator: NewUser | None = None
    ) -> User | None:
        """Use it, once: set the password of its user, or make the first operator.

        All in one commit; the user's sessions end. None: it is not good any more. Raises
        `EmailTaken`; then the link stays good.
        """
        ...

    # The office: accounts and keys are made by the desk's own functions.

    async def change_account(
        self, account_id: int, terms: Terms, signed: Signature, now_ms: int
    ) -> Account:
        """Another plan, other features. In force everywhere within a second.

        Raises `TermsRefused` (a prepaid plan with debts, a ceiling below what is spent),
        `LookupError`, `FormDone`.
        """
        ...

    async def suspend_account(
        self, account_id: int, suspended: bool, signed: Signature, now_ms: int
    ) -> Account:
        """Refuse its keys and its users' lookups, or accept them again; within a second.

        Raises `LookupError`, `FormDone`.
        """
        ...

    def audit(
        self,
        limit: int,
        before_id: int | None = None,
        account_id: int | None = None,
        action: Action | None = None,
    ) -> Sequence[AuditEntry]:
        """What was done, newest first, in pages: `before_id` is the last one seen."""
        ...

    # What is remembered of requests.

    def trace(self, account_id: int, request_id: str) -> Trace | None:
        """One request of this account. Never refused ones that did not get as far as a lookup."""
        ...

    def traces(
        self, account_id: int, wanted: TraceFilter, limit: int, before_id: str | None = None
    ) -> Sequence[Trace]:
        """Requests of an account, newest first, in pages: `before_id` is the last one seen.

        Newest is what has the greatest number. A rare document is looked for in all of them: a
        second for a million. May be called in any thread.
        """
        ...

    def owner_of(self, request_id: str) -> int | None:
        """The account of a request, for the operator who is told its number."""
        ...

    def moved_credits(self, account_id: int, from_ms: int, to_ms: int) -> Mapping[str, int]:
        """Sum of the balance's changes in [from, to) by kind of entry: top_up, charge, post.

        May be called in any thread.
        """
        ...

    async def purge_people(
        self,
        now_ms: int,
        oldest_trace_ms: int,
        oldest_session_ms: int,
        oldest_certificate_ms: int,
    ) -> int:
        """Remove some of what has run out: sessions, links, traces. Count; 0: none left.

        Sessions unused since before `oldest_session_ms`, traces of requests before
        `oldest_trace_ms`, those that brought a certificate before `oldest_certificate_ms`; the
        oldest first.
        """
        ...
