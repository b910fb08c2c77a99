"""Checks before any page: the session, the browser and the origin of forms.

Cross-site requests are recognised by Fetch Metadata (OWASP, "Cross-Site Request Forgery
Prevention"): browsers state the origin of a request, and pages cannot change it. Without these
headers (plain HTTP to another machine, old browsers) the Origin must be ours; without an Origin,
the form's token must belong to the browser's cookie.
"""

import contextlib
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from balcao.accounts.links import token_digest
from balcao.core.errors import StorageFailed
from balcao.core.people import Session, must_set_up_second_factor
from balcao.web.kit.context import ActingRole, Visitor
from balcao.web.kit.tools import Tools
from balcao.web.kit.words.vocabulary import MODES, ROLES

_SECURE_PREFIX = "__Host-"
SESSION, FIRST_VISIT = "balcao", "balcao-visita"
NEW_LINK = "balcao-convite"  # a one-time link that the next page shows
KNOWN_BROWSER = "balcao-navegador"  # a person has signed in here before

MINUTE_MS = 60_000
_SEEN_EVERY_MS = MINUTE_MS

_OURS = frozenset({"same-origin", "none"})


def is_secure(request: Request, tools: Tools) -> bool:
    """Return whether the browser came by HTTPS, to us or to a proxy in front of us."""
    return request.url.scheme == "https" or tools.settings.public_url.startswith("https:")


def cookie_name(name: str, *, secure: bool) -> str:
    """Return a cookie's name; under TLS with `__Host-`, so that no other host can set it."""
    return _SECURE_PREFIX + name if secure else name


def set_cookie(
    response: Response, name: str, token: str, *, secure: bool, max_age: int | None = None
) -> None:
    """Store a token in this browser, until it is closed or for `max_age` seconds."""
    name = cookie_name(name, secure=secure)
    response.set_cookie(name, token, max_age, secure=secure, httponly=True, samesite="lax")


def drop_cookie(response: Response, name: str, *, secure: bool) -> None:
    """Remove a cookie of ours from this browser."""
    name = cookie_name(name, secure=secure)
    response.delete_cookie(name, secure=secure, httponly=True, samesite="lax")


async def visitor_of(request: Request, tools: Tools) -> Visitor | None:
    """Return the person signed in in this browser, or None."""
    name = cookie_name(SESSION, secure=is_secure(request, tools))
    token = request.cookies.get(name)
    if not token:
        return None
    digest = token_digest(token)
    now = tools.now_ms()
    settings, people = tools.settings, tools.desk.people
    session = people.session(
        digest,
        now,
        settings.session_idle_minutes * MINUTE_MS,
        settings.session_hours * 60 * MINUTE_MS,
    )
    if session is None:
        return None
    if now - session.seen_ms > _SEEN_EVERY_MS and not _is_automatic(request):
        with contextlib.suppress(StorageFailed):  # pages open even if the database refuses writes
            await people.touch_session(session.session_id, now)
    if not session.user.has_totp and must_set_up_second_factor(
        settings.second_factor,
        session,
        only_test_accounts=tools.desk.has_only_test_accounts(),
    ):
        return Visitor(session.user, session, digest, None, lacks_second_factor=True)
    number = session.user.account_id
    account = None if number is None else tools.desk.account(number)
    return Visitor(session.user, session, digest, account, _acting_roles(session, tools))


def _acting_roles(session: Session, tools: Tools) -> Sequence[ActingRole]:
    """Return the roles of an operator with memberships; others have just one role."""
    if not session.runs_the_service:
        return ()
    user, current = session.user, session.membership
    memberships = [
        ActingRole(
            membership.account_id,
            name,
            f"{ROLES[membership.role]}, {MODES[mode]}",
            membership == current,
        )
        for membership, name, mode in tools.desk.memberships.places_of(user.user_id)
    ]
    return (
        [ActingRole(None, "Operador", "administra o serviço", current is None), *memberships]
        if memberships
        else ()
    )


def _is_automatic(request: Request) -> bool:
    """Return whether an open page asks for updates by itself, perhaps without its user."""
    if request.method != "GET":
        return False
    streams = request.headers.get("accept", "").startswith("text/event-stream")
    return streams or request.headers.get("hx-request") == "true"


def is_our_own_form(request: Request, tools: Tools, cookie: str, token: str) -> bool:
    """Return whether a POST comes from a page of ours."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in _OURS
    origin = request.headers.get("origin")
    if origin is not None:
        return origin.lower() in _origins(request, tools)
    return tools.seal.is_token_of(cookie, token)


def _origins(request: Request, tools: Tools) -> set[str]:
    """Return the origins of our own pages: the public address, or that of this request."""
    if tools.settings.public_url:
        return {tools.settings.public_url}
    return {f"{request.url.scheme}://{request.headers.get('host', '')}".lower()}
