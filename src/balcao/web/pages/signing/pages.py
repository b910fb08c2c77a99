"""Signing in and out: password, second factor, and one-time links for setting a password.

An unknown address, a wrong password and a suspended user get the same response, in the same time. A
link made in the terminal by `balcao open` signs in its operator without a password, though not
without the second factor.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from starlette.responses import Response

from balcao.accounts.links import (
    SIGN_IN_MINUTES,
    SignInTicket,
    new_token,
    open_ticket,
    token_digest,
)
from balcao.accounts.recovery import code_digest
from balcao.accounts.seal import TOTP_SECRET
from balcao.core.addresses import rate_limit_address
from balcao.core.errors import EmailTaken, FormDone, RateLimited, StorageFailed
from balcao.core.names import name_problem
from balcao.core.people import (
    NAME_CHARACTERS_MAX,
    Credentials,
    Signature,
    User,
    is_email,
    normal_email,
    password_problem,
)
from balcao.core.rate_limit import Limit
from balcao.storage.people import Link, NewUser
from balcao.web.kit import guard, throttle
from balcao.web.kit.context import PageContext
from balcao.web.kit.returning import HOME, local_address
from balcao.web.pages.signing import second_factor
from balcao.web.pages.signing.browsers import name_of
from balcao.web.pages.signing.failures import note_failure
from balcao.web.pages.status import ANSWERS

_WRONG = "E-mail ou senha incorretos."
_WRONG_CODE = "Código incorreto ou já usado. Aguarde o próximo no aplicativo autenticador."
_HALFWAY = b"sign-in halfway"
_HALFWAY_SECONDS = 300
_BROWSER = b"known browser"
_BROWSER_SECONDS = 180 * 24 * 3600


class _PendingSignIn(msgspec.Struct, frozen=True):
    """A sign-in that awaits its second factor, stored encrypted in the form."""

    user_id: int
    email: str
    password: str  # a digest of its hash: a new password makes this invalid
    to: str
    number: str | None = None  # of the link used in place of a password


class _KnownBrowser(msgspec.Struct, frozen=True):
    """A browser in which a person has signed in, stored encrypted in a cookie."""

    email: str  # a digest
    number: str


async def show(context: PageContext) -> Response:
    """Show the form, or redirect those who are signed in."""
    if context.visitor is not None:
        return context.redirect(local_address(context.query("para")))
    if not await ANSWERS.of(context.tools):
        raise StorageFailed("nobody could sign in")  # report it before a password is typed
    ended = context.query("fim") == "1"
    return _form(context, to=local_address(context.query("para")), ended=ended)


def _form(context: PageContext, status: int = 200, **values: object) -> Response:
    """Return the form; `sends`: a forgotten password can be replaced by e-mail."""
    common = {"email": "", "sends": context.tools.outbox is not None}
    return context.page("entrar.html", status, **{**common, **values})


async def enter(context: PageContext) -> Response:
    """Check e-mail and password."""
    people, tools = context.desk.people, context.tools
    email, password = normal_email(context.typed("email")), context.form.get("senha", "")
    to, ended = local_address(context.typed("para")), context.typed("fim") == "1"
    missing = {} if email else {"email": "Informe o e-mail."}
    missing |= {} if password else {"senha": "Informe a senha."}
    if missing:
        return _form(context, 422, email=email, to=to, ended=ended, complaints=missing)
    tries = [
        *_email_limits(context, digest(email)),
        *address_limits(context, throttle.ADDRESS_LIMIT),
    ]
    count_tries(context, *tries)
    known = people.credentials(email) if is_email(email) else None
    if not await tools.passwords.verify(known.password_hash if known else None, password):
        if known is not None:
            note_failure(context, known.user, "senha incorreta", _address(context))
        email = context.typed("email")
        return _form(context, 403, email=email, to=to, ended=ended, alert=_WRONG)
    assert known is not None
    assert known.password_hash is not None
    tools.throttle.refund(*tries)
    if tools.passwords.is_outdated(known.password_hash):
        renewed = await tools.passwords.hash(password)
        await people.rehash_password(
            known.user.user_id, renewed, replaces=known.password_hash, now_ms=tools.now_ms()
        )
    if known.totp_secret is not None:
        return _ask_for_code(context, known.user, email, known.password_hash, to=to)
    return await _signed_in(context, known.user, to)


def _email_limits(context: PageContext, email: str) -> Sequence[tuple[Limit, str]]:
    """Return the limits of guesses at this person's password (contract 7.7).

    Others may use up the limit of an e-mail, so it does not apply where this person has signed in
    before: in this browser, which has its own limit, or from this address.
    """
    browser, address = _known_browser(context, email), _address(context)
    if browser is not None:
        return [(throttle.BROWSER_LIMIT, browser)]
    of_both = (throttle.EMAIL_AND_ADDRESS_LIMIT, f"{email} {address}")
    if context.tools.throttle.has_succeeded(email, address):
        return [of_both]
    return [of_both, (throttle.EMAIL_LIMIT, email)]


def _known_browser(context: PageContext, email: str) -> str | None:
    """Return the number of this browser, if this person has signed in with it before."""
    name = guard.cookie_name(guard.KNOWN_BROWSER, secure=context.is_secure)
    sealed = context.request.cookies.get(name, "")
    opened = context.tools.seal.open(_BROWSER, sealed.encode(), _BROWSER_SECONDS)
    if opened is None:
        return None
    known = msgspec.json.decode(opened, type=_KnownBrowser)
    return known.number if known.email == email else None


def _ask_for_code(
    context: PageContext,
    user: User,
    email: str,
    password_hash: str,
    *,
    to: str,
    number: str | None = None,
) -> Response:
    pending = _PendingSignIn(user.user_id, normal_email(email), digest(password_hash), to, number)
    sealed = context.tools.seal.close(_HALFWAY, msgspec.json.encode(pending))
    return context.page("codigo.html", sealed=sealed.decode())


async def confirm(context: PageContext) -> Response:
    """Check the code of the second factor."""
    people, tools = context.desk.people, context.tools
    sealed = context.typed("passo")
    opened = tools.seal.open(_HALFWAY, sealed.encode(), _HALFWAY_SECONDS)
    if opened is None:
        return _too_late(context)
    pending = msgspec.json.decode(opened, type=_PendingSignIn)
    codes = str(pending.user_id)
    tries = [(limit, codes) for limit in throttle.CODES_LIMITS]
    count_tries(context, *tries)
    known = people.credentials(pending.email)
    if known is None or not _is_unchanged(known, pending):
        return _too_late(context)
    if not await is_second_factor(context, known, context.typed("codigo")):
        note_failure(context, known.user, "segundo fator incorreto", _address(context))
        complaints = {"codigo": _WRONG_CODE}
        return context.page("codigo.html", 403, sealed=sealed, complaints=complaints)
    tools.throttle.refund(*tries)
    return await _signed_in(context, known.user, pending.to, pending.number)


async def is_second_factor(context: PageContext, known: Credentials, code: str) -> bool:
    """Use up a code of the phone, or a recovery code, whose owner is notified; False: wrong."""
    tools, user, now = context.tools, known.user, context.now_ms()
    assert known.totp_secret is not None
    if not second_factor.looks_like_code(code):
        digest_ = code_digest(tools.seal, user.user_id, code)
        compose = None if tools.outbox is None else partial(tools.outbox.recovery_code, user, now)
        return await tools.desk.recovery_codes.use(user.user_id, digest_, now, compose)
    secret = tools.seal.open(TOTP_SECRET, known.totp_secret)
    step = secret and second_factor.step_of(secret, code, now)
    return bool(step) and await tools.desk.people.use_totp_step(user.user_id, int(step or 0))


def _too_late(context: PageContext) -> Response:
    text = "O tempo para entrar terminou. Comece de novo."
    return _form(context, 403, to=HOME, ended=False, alert=text)


async def leave(context: PageContext) -> Response:
    """Sign out of this browser."""
    if context.visitor is not None:
        await context.desk.people.close_session(context.visitor.token_digest)
    response = context.redirect("/app/entrar")
    guard.drop_cookie(response, guard.SESSION, secure=context.is_secure)
    # Also pages that the browser kept for its back button; not cookies, which hold choices.
    response.headers["clear-site-data"] = '"cache", "storage"'
    return response


async def invitation(context: PageContext) -> Response:
    """Show the form of a one-time link."""
    link = _link(context)
    if link is not None:
        return context.page("convite.html", link=link, name="", email="")
    ticket, operator = _ticket(context)
    if ticket is None or operator is None:
        return context.page("convite.html", 404, link=None)
    return context.page("abrir.html", operator=operator, minutes=SIGN_IN_MINUTES)


async def accept(context: PageContext) -> Response:
    """Set the password of a one-time link; the first operator also gives name and e-mail."""
    tools = context.tools
    link = _link(context)
    if link is None:
        return await _accept_ticket(context)
    name, email = context.typed("nome"), context.typed("email")
    first = None
    if link.user is None:
        first = NewUser(email, name, "operator", None)
    else:
        email = link.user.email
    names = [name] if link.user is None else names_of(context, link.user)
    complaints = await _complaints(context, email, first, names)
    if not complaints:
        hashed = await tools.passwords.hash(context.form.get("senha", ""))
        try:
            user = await tools.desk.people.claim_link(
                token_digest(_token(context)), hashed, tools.now_ms(), first
            )
        except EmailTaken:
            complaints = {"email": "Esse e-mail já está em uso."}
        else:
            if user is None:
                return context.page("convite.html", 404, link=None)
            if user.has_totp:  # having the link does not prove having the phone
                return _ask_for_code(context, user, email, hashed, to=HOME)
            return await _signed_in(context, user, "/app")
    return context.page(
        "convite.html", 422, link=link, name=name, email=email, complaints=complaints
    )


async def _accept_ticket(context: PageContext) -> Response:
    """Sign in the operator of a link, once; with a second factor, after its code."""
    ticket, operator = _ticket(context)
    if ticket is None or operator is None:
        return context.page("convite.html", 404, link=None)
    if operator.has_totp:  # having the link does not prove having the phone
        known = context.desk.people.credentials(normal_email(operator.email))
        if known is None or known.password_hash is None:
            return context.page("convite.html", 404, link=None)
        email, hashed = operator.email, known.password_hash
        return _ask_for_code(context, operator, email, hashed, to=HOME, number=ticket.number)
    return await _signed_in(context, operator, HOME, ticket.number)


def _ticket(context: PageContext) -> tuple[SignInTicket | None, User | None]:
    """Return the link's content, and the operator that it signs in, if valid."""
    tools = context.tools
    ticket = open_ticket(tools.seal, _token(context), tools.now_ms())
    if ticket is None:
        return None, None
    operators = tools.desk.people.users(None)
    found = (each for each in operators if each.user_id == ticket.user_id)
    return ticket, next((each for each in found if each.suspended_ms is None), None)


async def _complaints(
    context: PageContext, email: str, first: NewUser | None, names: Sequence[str]
) -> Mapping[str, str]:
    """Return the errors of a one-time link's form by field."""
    found: dict[str, str] = {}
    if first is not None and (problem := name_problem(first.name, NAME_CHARACTERS_MAX)):
        found["nome"] = f"O nome {problem}"
    if not is_email(email):
        found["email"] = "Informe um e-mail completo."
    return found | dict(await new_password_problems(context, email, names))


async def new_password_problems(
    context: PageContext, email: str, names: Sequence[str]
) -> Mapping[str, str]:
    """Return the error in `senha` or in its repetition `de_novo`, by field.

    `names`: of the person and of the account.
    """
    password = context.form.get("senha", "")
    if password != context.form.get("de_novo", ""):
        return {"de_novo": "As duas senhas não são iguais."}
    problem = await asyncio.to_thread(password_problem, password, email, names)
    return {} if problem is None else {"senha": problem}


def names_of(context: PageContext, user: User) -> Sequence[str]:
    """Return the names of a person and of their account, which no password may consist of."""
    if user.account_id is None:
        return [user.name]
    return [user.name, context.desk.account(user.account_id).name]


def _link(context: PageContext) -> Link | None:
    count_tries(context, *address_limits(context, throttle.LINKS_LIMIT))
    return context.desk.people.link(token_digest(_token(context)), context.now_ms())


def _token(context: PageContext) -> str:
    token: str = context.request.path_params["token"]
    return token


async def _signed_in(
    context: PageContext, user: User, to: str, number: str | None = None
) -> Response:
    """Open a new session and redirect; operators get an entry in the audit log.

    `number`: of a link, which is valid once.
    """
    try:
        response = await with_session(context, user, context.redirect(to), number)
    except FormDone:
        return context.page("convite.html", 404, link=None)
    if context.visitor is not None:
        await context.desk.people.close_session(context.visitor.token_digest)
    return response


async def with_session(
    context: PageContext, user: User, response: Response, number: str | None = None
) -> Response:
    """Return the response with a new session for this person.

    Raises `FormDone` if this form submission has already opened a session.
    """
    tools, token, signed = context.tools, new_token(), Signature("web", user.user_id, number)
    browser = name_of(context.request.headers.get("user-agent", ""))
    await tools.desk.people.open_session(
        user.user_id, token_digest(token), signed, tools.now_ms(), browser
    )
    guard.set_cookie(response, guard.SESSION, token, secure=context.is_secure)
    _remember_browser(context, user, response)
    return response


def _remember_browser(context: PageContext, user: User, response: Response) -> None:
    email = digest(normal_email(user.email))
    context.tools.throttle.note_success(email, _address(context))
    known = _KnownBrowser(email, new_token())
    sealed = context.tools.seal.close(_BROWSER, msgspec.json.encode(known)).decode()
    name, age = guard.KNOWN_BROWSER, _BROWSER_SECONDS
    guard.set_cookie(response, name, sealed, secure=context.is_secure, max_age=age)


def _is_unchanged(known: Credentials, pending: _PendingSignIn) -> bool:
    return (
        known.user.user_id == pending.user_id
        and known.password_hash is not None
        and digest(known.password_hash) == pending.password
        and known.totp_secret is not None
    )


def count_tries(context: PageContext, *tries: tuple[Limit, str]) -> None:
    """Count tries. Raises `RateLimited` when there were too many."""
    wait = context.tools.throttle.wait_seconds(tries, context.now_ms())
    if wait:
        raise RateLimited(wait, "entrada")


def digest(text: str) -> str:
    """Return a digest of a value that must not be stored itself."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def address_limits(context: PageContext, limit: Limit) -> Sequence[tuple[Limit, str]]:
    """Return the limit of the browser's address; none for a proxy's, which many share."""
    address = _address(context)
    return ((limit, address),) if address else ()


def _address(context: PageContext) -> str:
    """Return the browser's address as rate limits count it; empty behind an unknown proxy."""
    client = context.request.client
    address = context.settings.proxies.client_address(
        client.host if client is not None else "",
        context.request.headers.getlist("x-forwarded-for"),
    )
    return rate_limit_address(address)
