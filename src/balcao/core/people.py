"""Users of the web application: roles, memberships, sessions, and actions of the audit log.

A user belongs to one account (a consultant does lookups, a manager also sees charges and keys) or
is an operator, who belongs to none and may be a member of some (contract 7.6). Times are
milliseconds since 1970 (UTC).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from balcao.core.access import Caller
from balcao.core.password_strength import is_easily_guessed

Role: TypeAlias = Literal["consultant", "manager", "operator"]

ROLE_WORDS: Mapping[Role, str] = {
    "consultant": "consultor",
    "manager": "gestor",
    "operator": "operador",
}

# The role of an operator in an account.
MembershipRole: TypeAlias = Literal["consultant", "manager"]

# The interface through which an action was done.
Channel: TypeAlias = Literal["web", "cli", "start", "api"]

# Actions in the audit log; pages translate them.
Action: TypeAlias = Literal[
    "account.create",
    "account.change",
    "account.suspend",
    "account.resume",
    "account.notice",  # the threshold of the low-balance notice was changed
    "credit.add",
    "key.create",
    "key.change",
    "key.revoke",
    "budget.create",
    "budget.change",
    "budget.end",
    "webhook.create",
    "webhook.change",
    "webhook.rotate",  # another secret
    "webhook.delete",
    "batch.pause",
    "batch.resume",
    "batch.stop",
    "batch.repeat",
    "batch.erase",
    "user.create",
    "user.change",
    "user.suspend",
    "user.resume",
    "user.link",  # a one-time link for setting a password was created
    "user.password",  # the person set a password
    "user.totp",  # the person turned the second factor on or off
    "user.recovery",  # recovery codes were made, or one was used
    "user.sign_in",  # of operators only
    "user.sign_in_failed",  # a wrong password or second factor; a few a day (contract 7.7)
    "seat.give",  # an operator became a member of an account
    "seat.change",
    "seat.take",
    "extension.add",  # an act extended the validity of certificates
    "extension.remove",
    "source.check",  # providers were called as a test, which may cost money
    "checklist.close",  # the operators' first steps are no longer shown
    "opendata.rollback",
    "opendata.fetch",  # a download of the newest month was requested
    "backup.create",  # a backup was requested
    "secret.rotate",  # a secret was added, or the replaced one is not accepted any more
    "subject.erase",  # the data of a natural person was erased
]

# Who needs a second factor in the web application (contract 7.9).
SecondFactorRule: TypeAlias = Literal["operators", "all", "optional"]

# The purpose of a one-time link.
LinkPurpose: TypeAlias = Literal["set_password", "reset_password", "first_operator"]


class Signature(msgspec.Struct, frozen=True, gc=False):
    """The author of an action.

    `form_id`: a form with the same id is carried out only once. `key_id`: the API key, if it was
    done through the API.
    """

    channel: Channel
    user_id: int | None = None
    form_id: str | None = None
    key_id: int | None = None


AT_THE_TERMINAL = Signature("cli")


def signed_by(caller: Caller) -> Signature:
    """Return the signature of an action through the API."""
    return Signature("api", key_id=caller.key_id)


@dataclass(frozen=True, slots=True, repr=False)
class User:
    """A user. Its `repr` shows neither e-mail address nor name."""

    user_id: int
    account_id: int | None  # None: an operator
    email: str  # as it was typed, without spaces around
    name: str
    role: Role
    has_password: bool
    has_totp: bool
    created_ms: int
    seen_ms: int | None  # when a session of theirs was last used, to a minute
    suspended_ms: int | None

    def __repr__(self) -> str:
        return f"User({self.user_id}, {self.role})"


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """A user's password hash and second factor."""

    user: User
    password_hash: str | None  # argon2id in its usual notation; None: never set
    totp_secret: bytes | None  # sealed with the installation's secret; None: no second factor
    totp_step: int  # the last time step used: a code is valid once


@dataclass(frozen=True, slots=True)
class Membership:
    """An operator's membership of an account, with the rights of one of its users."""

    seat_id: int
    user_id: int
    account_id: int
    role: MembershipRole
    given_ms: int


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser. Only the browser has the token itself.

    `user` has the account and role of `membership`, if the session acts by one.
    """

    session_id: int
    user: User
    opened_ms: int
    seen_ms: int
    membership: Membership | None = None
    browser: str | None = None  # its name, for people

    @property
    def runs_the_service(self) -> bool:
        """Whether the user is an operator, also while acting by a membership."""
        return self.membership is not None or self.user.role == "operator"


def must_set_up_second_factor(
    rule: SecondFactorRule, session: Session, *, only_test_accounts: bool
) -> bool:
    """Return whether this person may use nothing before they have a second factor (contract 7.9).

    `only_test_accounts`: the service holds fictitious data alone.
    """
    if session.user.has_totp or only_test_accounts:
        return False
    return rule == "all" or (rule == "operators" and session.runs_the_service)


PASSWORD_CHARACTERS_MIN = 12
PASSWORD_CHARACTERS_MAX = 200
EMAIL_CHARACTERS_MAX = 254
NAME_CHARACTERS_MAX = 100

_EMAIL = re.compile(r"[^\s@<>\"]+@[^\s@<>\"]+\.[^\s@<>\"]+")


def normal_email(text: str) -> str:
    """Return an e-mail address in the form by which users are found: trimmed, lower case."""
    return text.strip().casefold()


def is_email(text: str) -> bool:
    """Return whether a text has the form of an e-mail address."""
    plain = text.isascii() and text.isprintable()  # no look-alike letters
    return plain and len(text) <= EMAIL_CHARACTERS_MAX and bool(_EMAIL.fullmatch(text.strip()))


def password_problem(password: str, email: str, names: Sequence[str] = ()) -> str | None:
    """Return the error in a new password, in words for its owner, or None.

    `names`: of the person and of the account; they count as easily guessed.
    """
    if len(password) < PASSWORD_CHARACTERS_MIN:
        return f"A senha deve ter pelo menos {PASSWORD_CHARACTERS_MIN} caracteres."
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return f"A senha pode ter no máximo {PASSWORD_CHARACTERS_MAX} caracteres."
    if len(set(password.casefold())) < _DIFFERENT_CHARACTERS_MIN:
        return "A senha repete muito os mesmos caracteres."
    if password.casefold() in (normal_email(email), normal_email(email).partition("@")[0] * 2):
        return "A senha não pode ser o e-mail."
    if is_easily_guessed(password, email, names):
        return _SOON_GUESSED
    return None


_DIFFERENT_CHARACTERS_MIN = 5
_SOON_GUESSED = (
    "Essa senha é fácil de adivinhar. Evite senhas comuns, nomes, datas, sequências do teclado, o"
    " seu e-mail e o seu nome, mesmo com números no fim. Junte três ou quatro palavras sem"
    " relação entre si."
)
