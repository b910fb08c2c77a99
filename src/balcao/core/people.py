"""People: who may sign in to the web application, as what, and what is said of their deeds.

A user belongs to one account (a consultant asks, a manager also sees the money and the keys) or
is an operator, who belongs to none and may hold a seat in some of them (contract 7.6). Times are
milliseconds since 1970 (UTC).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from balcao.core.access import Caller
from balcao.core.guessing import is_soon_guessed

Role: TypeAlias = Literal["consultant", "manager", "operator"]

ROLE_WORDS: Mapping[Role, str] = {
    "consultant": "consultor",
    "manager": "gestor",
    "operator": "operador",
}

# What one may be in an account, by a seat.
SeatRole: TypeAlias = Literal["consultant", "manager"]

# Through which door something was done.
Channel: TypeAlias = Literal["web", "cli", "start", "api"]

# What is done in the office. The audit log keeps these words; pages translate them.
Action: TypeAlias = Literal[
    "account.create",
    "account.change",
    "account.suspend",
    "account.resume",
    "credit.add",
    "key.create",
    "key.change",
    "key.revoke",
    "budget.create",
    "budget.change",
    "budget.end",
    "batch.pause",
    "batch.resume",
    "batch.stop",
    "batch.repeat",
    "batch.erase",
    "user.create",
    "user.change",
    "user.suspend",
    "user.resume",
    "user.link",  # a one-time link was made, by which a password can be set
    "user.password",  # the person set a password
    "user.totp",  # the person turned the second factor on or off
    "user.sign_in",  # of operators only
    "seat.give",  # an operator may act in an account, too
    "seat.change",
    "seat.take",
    "extension.add",  # an act extended the validity of certificates
    "extension.remove",
    "source.check",  # providers were asked whether they would answer, which may be charged for
    "checklist.close",  # the operators' first steps are shown no longer
    "opendata.rollback",
    "subject.erase",  # what is kept about a natural person was erased
]

# What a one-time link is for.
LinkPurpose: TypeAlias = Literal["set_password", "first_operator"]


class Signature(msgspec.Struct, frozen=True, gc=False):
    """Who does something in the office. `form_id` is the form's own number: carried out once.

    `key_id`: of the API's key, where it was a program.
    """

    channel: Channel
    user_id: int | None = None
    form_id: str | None = None
    key_id: int | None = None


AT_THE_TERMINAL = Signature("cli")


def signed_by(caller: Caller) -> Signature:
    """What a program does, by the API."""
    return Signature("api", key_id=caller.key_id)


@dataclass(frozen=True, slots=True, repr=False)
class User:
    """One person. Does not print the e-mail address or the name."""

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
    """What a sign-in is checked against."""

    user: User
    password_hash: str | None  # argon2id in its usual notation; None: never set
    totp_secret: bytes | None  # sealed with the installation's secret; None: no second factor
    totp_step: int  # the last time step that was used: a code is good once


@dataclass(frozen=True, slots=True)
class Seat:
    """A place that an operator has in an account, with the rights of one of its users."""

    seat_id: int
    user_id: int
    account_id: int
    role: SeatRole
    given_ms: int


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in browser. The token itself is known to the browser only.

    `user` is the person as they act in it: of the account and the role of the seat that they
    wear, where they wear one.
    """

    session_id: int
    user: User
    opened_ms: int
    seen_ms: int
    seat: Seat | None = None
    browser: str | None = None  # in words, as its owner would call it

    @property
    def runs_the_service(self) -> bool:
        """Whether the person is an operator, whatever they wear."""
        return self.seat is not None or self.user.role == "operator"


PASSWORD_CHARACTERS_MIN = 12
PASSWORD_CHARACTERS_MAX = 200
EMAIL_CHARACTERS_MAX = 254
NAME_CHARACTERS_MAX = 100

_EMAIL = re.compile(r"[^\s@<>\"]+@[^\s@<>\"]+\.[^\s@<>\"]+")


def normal_email(text: str) -> str:
    """By which a user is found: case does not count."""
    return text.strip().casefold()


def is_email(text: str) -> bool:
    """Whether this looks like an address. Whether it works, only a letter would tell."""
    plain = text.isascii() and text.isprintable()  # letters that look alike are another address
    return plain and len(text) <= EMAIL_CHARACTERS_MAX and bool(_EMAIL.fullmatch(text.strip()))


def password_problem(password: str, email: str, names: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a new password, in words for its owner, or None.

    `names`: of the person and of the account; they are tried first.
    """
    if len(password) < PASSWORD_CHARACTERS_MIN:
        return f"A senha deve ter pelo menos {PASSWORD_CHARACTERS_MIN} caracteres."
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return f"A senha pode ter no máximo {PASSWORD_CHARACTERS_MAX} caracteres."
    if len(set(password.casefold())) < _DIFFERENT_CHARACTERS_MIN:
        return "A senha repete demais os mesmos caracteres."
    if password.casefold() in (normal_email(email), normal_email(email).partition("@")[0] * 2):
        return "A senha não pode ser o e-mail."
    if is_soon_guessed(password, email, names):
        return _SOON_GUESSED
    return None


_DIFFERENT_CHARACTERS_MIN = 5
_SOON_GUESSED = (
    "Essa senha é fácil de adivinhar: senhas muito usadas, nomes, datas, sequências do teclado, o"
    " próprio e-mail e o próprio nome são tentados primeiro, também com números no fim. Junte"
    " três ou quatro palavras sem relação entre si."
)
