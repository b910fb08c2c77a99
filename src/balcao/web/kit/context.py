"""One request of the web application: its person, its fields, and ways to answer it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from balcao.core.access import Account, Caller
from balcao.core.calendar import civil_month
from balcao.core.errors import CommitUncertain, InvalidParameter
from balcao.core.idempotency import Recorded
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

# Who may come in: `account` are the users of an account, `manager` those of them who also see
# money and keys, `operator` those who run the service.
Who: TypeAlias = Literal["anyone", "signed_in", "account", "manager", "operator"]


# Takes the name of the page, the reply, the account and the seconds of a request.
OnReply: TypeAlias = Callable[[str, Reply, int | None, float], None]

FORM_ID_CHARACTERS_MAX = 64


def _ignore(name: str, reply: Reply, account_id: int | None, seconds: float) -> None:
    """Do nothing."""


class EarlyResponse(Exception):
    """Raised to answer at once, from any depth below the page's coroutine."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


@dataclass(frozen=True, slots=True)
class ActingRole:
    """A role that an operator may act in: operator, or a seat in an account (contract 7.6)."""

    account_id: int | None  # None: as an operator
    name: str
    note: str
    current: bool


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in person: as they act, which may be by a seat in an account."""

    user: User
    session: Session
    token_digest: bytes  # of this browser's session
    account: Account | None  # None: an operator
    # Those of an operator with a seat somewhere, the current one among them.
    acting_roles: Sequence[ActingRole] = ()

    @property
    def is_operator(self) -> bool:
        """Runs the service, and acts as one who does: in no account."""
        return self.user.role == "operator"

    @property
    def is_manager(self) -> bool:
        """Sees an account's money and keys."""
        return self.user.role == "manager"

    def is_one_of(self, who: Who) -> bool:
        """Whether a page for these is for this person."""
        match who:
            case "account":
                return self.account is not None
            case "manager" | "operator":
                return self.user.role == who
            case _:
                return True

    @property
    def own_only(self) -> int | None:
        """The user whose requests they may see: a consultant's own; None: the whole account's."""
        return None if self.is_manager else self.user.user_id

    def sees(self, asked_by: int | None) -> bool:
        """Whether a request of this person, or of a program, is for their eyes."""
        return self.own_only in (None, asked_by)

    def caller(self) -> Caller:
        """Return the caller of a lookup: the account, through no key."""
        account = self.account
        assert account is not None, "operators ask nothing"
        return account.caller(self.user.user_id)


@dataclass(slots=True)
class PageContext:
    """The request, the signed-in person and the tools, as pages take them."""

    request: Request
    request_id: str
    tools: Tools
    visitor: Visitor | None
    is_secure: bool  # whether the browser came by HTTPS
    cookie: str  # what ties forms to this browser: its session, or its first visit
    form: Mapping[str, str] = field(default_factory=dict)  # of a POST
    upload: UploadedFile | None = None  # of a form with a file, if one was chosen
    reply: Reply | None = None  # of a lookup, for the event
    tell: OnReply = _ignore  # of lookups that go on beside the page: each has an event of its own

    @property
    def desk(self) -> Desk:
        """Accounts and the ledger."""
        return self.tools.desk

    @property
    def settings(self) -> Settings:
        """The settings of the service."""
        return self.tools.settings

    def now_ms(self) -> int:
        """Return the clock's time."""
        return self.tools.now_ms()

    @property
    def person(self) -> Visitor:
        """The signed-in person, on pages that are for nobody else."""
        assert self.visitor is not None
        return self.visitor

    @property
    def account(self) -> Account:
        """The visitor's account, on pages that are for the users of one."""
        assert self.visitor is not None
        assert self.visitor.account is not None
        return self.visitor.account

    @property
    def available(self) -> int | None:
        """Credits that the account can spend now; None: there is no limit."""
        return available_credits(self.account, civil_month(self.now_ms()))

    @property
    def csrf(self) -> str:
        """The token for this browser's forms."""
        return self.tools.seal.token_for(self.cookie)

    async def export(
        self,
        write: Callable[[IO[bytes]], None],
        kind: FileKind,
        name: str,
        account: Account | None = None,
    ) -> Response:
        """A file of an account, the visitor's unless another is named. Raises `FileRunning`."""
        account_id = (account or self.account).account_id
        return await self.tools.exports.answer(account_id, write, kind, name)

    @property
    def is_fragment(self) -> bool:
        """Asked by a script for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    def query(self, name: str) -> str:
        """A parameter of the address, without spaces around; empty if there is none."""
        return self.request.query_params.get(name, "").strip()

    def typed(self, name: str) -> str:
        """A field of the form, without spaces around; empty if there is none."""
        return self.form.get(name, "").strip()

    def signed(self, form_id: str | None = None) -> Signature:
        """This person's signature under what is done, once per `form_id`.

        Raises `InvalidParameter` for what is no number of a form of ours.
        """
        if form_id and len(form_id) > FORM_ID_CHARACTERS_MAX:
            raise InvalidParameter("O formulário chegou alterado, e nada foi feito.")
        return Signature("web", self.person.user.user_id, form_id or None)

    async def recorded(self, trace: Trace) -> Recorded | None:
        """A request's answer, while it is kept.

        A key that a refusal left free may hold a later one's.
        """
        if trace.key_digest is None:
            return None
        attempt = await self.desk.earlier(trace.account_id, trace.key_digest, self.now_ms())
        recorded = None if attempt is None else attempt.recorded
        if recorded is None or recorded.erased or recorded.request_id != trace.request_id:
            return None
        return recorded

    def page(self, template: str, status: int = 200, **values: object) -> Response:
        """Return a rendered page, or a fragment of one."""
        return HTMLResponse(self.html(template, values), status)

    def html(self, template: str, values: Mapping[str, object]) -> str:
        """Render a template with these values and those that every page has."""
        request, visitor = self.request, self.visitor
        common: Mapping[str, object] = {
            "visitor": visitor,
            "nav": navigation(visitor.user.role if visitor else None, request.url.path),
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

    def form_of(self, code: str | None) -> Mapping[str, Callable[[], str]]:
        """The number of the form that a refused one is shown as, as values of its page.

        Its own where it may have been carried out and charged (contract 6.4): sent again it is the
        same request. Else a new one, which needs no value.
        """
        return (
            {"new_form_id": lambda: self.typed("form_id")} if code == CommitUncertain.code else {}
        )

    def problem(self, status: int, title: str, text: str) -> Response:
        """Return a page with an explanation in place of the page asked for."""
        return self.page("problema.html", status, title=title, text=text)

    def missing(self, title: str, text: str) -> "EarlyResponse":
        """Return the exception to raise when the address names nothing."""
        return EarlyResponse(self.problem(404, title, text))

    def redirect(self, path: str, **query: str) -> Response:
        """Go on there with a GET: what was posted is not posted again by a reload."""
        return RedirectResponse(address(path, query), 303)
