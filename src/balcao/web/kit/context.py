"""The context of one page request: visitor, form fields, and ways to respond."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from balcao.core.access import Account, Caller
from balcao.core.calendar import civil_month
from balcao.core.errors import CommitUncertain, InvalidParameter
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Trace, available_credits
from balcao.core.outcomes import Reply
from balcao.core.people import Session, Signature, User
from balcao.settings import Settings
from balcao.storage.desk.desk import Desk
from balcao.web.kit import theme
from balcao.web.kit.exports import FileKind
from balcao.web.kit.returning import address
from balcao.web.kit.templates import navigation
from balcao.web.kit.tools import Tools
from balcao.web.kit.upload import UploadedFile

# Who may use a page: `account` are the users of an account, `manager` those of them who also see
# money and keys, `operator` those who run the service.
Audience: TypeAlias = Literal["anyone", "signed_in", "account", "manager", "operator"]


# Receives the page's name, the reply, the account and the duration in seconds.
OnReply: TypeAlias = Callable[[str, Reply, int | None, float], None]

FORM_ID_CHARACTERS_MAX = 64


def _ignore(name: str, reply: Reply, account_id: int | None, seconds: float) -> None: ...


class EarlyResponse(Exception):
    """Raised to send a response at once, from any depth below the page's coroutine."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


@dataclass(frozen=True, slots=True)
class ActingRole:
    """A role that an operator may act in: operator, or member of an account (contract 7.6)."""

    account_id: int | None  # None: as an operator
    name: str
    note: str
    current: bool


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in person, in the role they act in."""

    user: User
    session: Session
    token_digest: bytes  # of this browser's session
    account: Account | None  # None: an operator, or a person who lacks the second factor
    # Of an operator with a membership: all roles, including the current one.
    acting_roles: Sequence[ActingRole] = ()
    # They use only public pages, and those that are open `without_second_factor`.
    lacks_second_factor: bool = False

    @property
    def is_operator(self) -> bool:
        """Whether they act as an operator, in no account."""
        return self.user.role == "operator"

    @property
    def is_manager(self) -> bool:
        """Whether they see the account's money and keys."""
        return self.user.role == "manager"

    def may_use(self, audience: Audience) -> bool:
        """Return whether a page for this audience is open to this person."""
        match audience:
            case "account":
                return self.account is not None
            case "manager" | "operator":
                return self.user.role == audience
            case _:
                return True

    @property
    def own_only(self) -> int | None:
        """The only user with visible requests (a consultant: themself); None: all users."""
        return None if self.is_manager else self.user.user_id

    def sees(self, asked_by: int | None) -> bool:
        """Return whether they may see a request of this user, or of a program (None)."""
        return self.own_only in (None, asked_by)

    def caller(self) -> Caller:
        """Return the caller of a lookup for this account and person, without an API key."""
        account = self.account
        assert account is not None, "operators ask nothing"
        return account.caller(self.user.user_id)


@dataclass(slots=True)
class PageContext:
    """The request, the visitor and the shared tools of one page request."""

    request: Request
    request_id: str
    tools: Tools
    visitor: Visitor | None
    is_secure: bool  # whether the browser came by HTTPS
    cookie: str  # ties forms to this browser: its session, or its first visit
    form: Mapping[str, str] = field(default_factory=dict)  # of a POST
    upload: UploadedFile | None = None  # of a form with a file, if one was chosen
    reply: Reply | None = None  # of a lookup, for the event
    report: OnReply = _ignore  # for lookups that outlive the page: each has its own event

    @property
    def desk(self) -> Desk:
        return self.tools.desk

    @property
    def settings(self) -> Settings:
        return self.tools.settings

    def now_ms(self) -> int:
        return self.tools.now_ms()

    @property
    def person(self) -> Visitor:
        """The visitor, on pages that require signing in."""
        assert self.visitor is not None
        return self.visitor

    @property
    def account(self) -> Account:
        """The visitor's account, on pages for the users of an account."""
        assert self.visitor is not None
        assert self.visitor.account is not None
        return self.visitor.account

    @property
    def available(self) -> int | None:
        """Credits that the account can spend now; None: no limit."""
        return available_credits(self.account, civil_month(self.now_ms()))

    @property
    def _role(self) -> str | None:
        visitor = self.visitor
        return None if visitor is None or visitor.lacks_second_factor else visitor.user.role

    @property
    def csrf(self) -> str:
        return self.tools.seal.token_for(self.cookie)

    async def export(
        self,
        write: Callable[[IO[bytes]], None],
        kind: FileKind,
        name: str,
        account: Account | None = None,
    ) -> Response:
        """Return a file of the visitor's account, or of `account`. Raises `FileRunning`."""
        account_id = (account or self.account).account_id
        return await self.tools.exports.answer(account_id, write, kind, name)

    @property
    def is_fragment(self) -> bool:
        """Whether a script asked for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    def query(self, name: str) -> str:
        """Return a stripped parameter of the address; empty if it is missing."""
        return self.request.query_params.get(name, "").strip()

    def typed(self, name: str) -> str:
        """Return a stripped field of the form; empty if it is missing."""
        return self.form.get(name, "").strip()

    def signature(self, form_id: str | None = None) -> Signature:
        """Return this person's signature for an action, valid once per `form_id`.

        Raises `InvalidParameter` for a form id that no form of ours has.
        """
        if form_id and len(form_id) > FORM_ID_CHARACTERS_MAX:
            raise InvalidParameter("O formulário chegou alterado e nada foi feito.")
        return Signature("web", self.person.user.user_id, form_id or None)

    async def recorded(self, trace: Trace) -> RecordedAnswer | None:
        """Return a request's recorded answer; None once it is gone.

        After a refusal, the idempotency key may hold a later request's answer.
        """
        if trace.key_digest is None:
            return None
        attempt = await self.desk.find_attempt(trace.account_id, trace.key_digest, self.now_ms())
        recorded = None if attempt is None else attempt.recorded
        if recorded is None or recorded.erased or recorded.request_id != trace.request_id:
            return None
        return recorded

    def page(self, template: str, status: int = 200, **values: object) -> Response:
        """Return a rendered page or fragment."""
        return HTMLResponse(self.html(template, values), status)

    def html(self, template: str, values: Mapping[str, object]) -> str:
        """Render a template with these values and the common ones."""
        request, visitor = self.request, self.visitor
        common: Mapping[str, object] = {
            "visitor": visitor,
            "nav": navigation(self._role, request.url.path),
            "csrf": self.csrf,
            "request_id": self.request_id,
            "now_ms": self.now_ms(),
            "theme": theme.of(request),
            "theme_back": theme.back(request),
            "message": None,
            "alert": None,
            "typed": self.form,
            "complaints": {},
        }
        return self.tools.pages.render(template, {**common, **values})

    def form_id_values(self, code: str | None) -> Mapping[str, Callable[[], str]]:
        """Return the template values that keep a refused form's number.

        A form with an uncertain commit keeps its number: sent again, it is the same request
        (contract 6.4). Others get a new number, and need no value.
        """
        return (
            {"new_form_id": lambda: self.typed("form_id")} if code == CommitUncertain.code else {}
        )

    def problem(self, status: int, title: str, text: str) -> Response:
        """Return a page with an explanation."""
        return self.page("problema.html", status, title=title, text=text)

    def not_found(self, title: str, text: str) -> "EarlyResponse":
        """Return the exception to raise when there is nothing at the address."""
        return EarlyResponse(self.problem(404, title, text))

    def redirect(self, path: str, **query: str) -> Response:
        """Redirect with GET, so that a reload posts nothing again."""
        return RedirectResponse(address(path, query), 303)
