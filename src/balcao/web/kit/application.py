"""The web application: routes, access checks, and headers and events of every response.

A page is a coroutine that takes a `PageContext` and returns a response. `routes.py` gives each page
its address and audience; there is no other way to a route.
"""

import contextlib
import gzip
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

import structlog
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from balcao.accounts.links import new_token
from balcao.batches.tables.contract import BOUNDS
from balcao.core.errors import (
    BalcaoError,
    InvalidRequest,
    RateLimited,
    RequestTooLarge,
    StorageFailed,
    UnsupportedMediaType,
)
from balcao.core.outcomes import Reply
from balcao.core.problems import problem_of
from balcao.http import read
from balcao.http.read import BodyLimit
from balcao.web.kit import guard, returning
from balcao.web.kit.context import Audience, EarlyResponse, OnReply, PageContext, Visitor
from balcao.web.kit.throttle import wait_message
from balcao.web.kit.tools import Tools
from balcao.web.kit.upload import UploadedFile, read_upload

log = structlog.get_logger()

FORM_TYPE = "application/x-www-form-urlencoded"
FORM = BodyLimit(32_768, (FORM_TYPE.encode(),))
# A form with a file: its fields are kept in memory, the file is streamed.
UPLOAD_FIELDS_BYTES_MAX = 2_000_000
UPLOAD_BYTES_MAX = BOUNDS.file_bytes + UPLOAD_FIELDS_BYTES_MAX + 10_000
FIELDS_MAX = 140  # a page of search results has a hundred checkboxes
FILES = "/app/arquivos/{name}"
SECOND_FACTOR = "/app/eu/segundo-fator"
PATH_CHARACTERS_MAX = 512  # longer than any address here; bounds the numbers in addresses

_MONTH_SECONDS = 30 * 86_400

Answer: TypeAlias = Callable[[PageContext], Awaitable[Response]]
# Returns the form fields that may be in an address, to fill the form again after signing in.
Refill: TypeAlias = Callable[[PageContext], Mapping[str, str]]


def _no_fields(context: PageContext) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Page:
    """An address, its audience and its handler. The name is for events and metrics."""

    path: str
    name: str
    audience: Audience
    answer: Answer
    method: str = "GET"
    refill: Refill = _no_fields
    upload: bool = False  # its form has a file
    # Open to signed-in people who have yet to set up their second factor (contract 7.9).
    without_second_factor: bool = False
    # Forms of any program are accepted: the address is the proof, and fields are ignored.
    open_to_programs: bool = False

    @property
    def body_bytes_max(self) -> int:
        """Largest allowed size of its form."""
        if self.method == "GET":
            return 0
        return UPLOAD_BYTES_MAX if self.upload else FORM.bytes_max

    def __post_init__(self) -> None:
        """Check that only operators may use addresses below `/app/operador`."""
        assert self.audience == "operator" or not self.path.startswith("/app/operador"), self.path


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # an Origin for our own forms, no referrer for other sites
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "cache-control": "no-store",
}
# Compresses a page of 40 kB to a fifth in a third of a millisecond.
_GZIP_LEVEL = 4
_GZIP_BYTES_MIN = 1_000


class WebApplication:
    """The ASGI application behind `/app`, `/docs` and `/status`."""

    def __init__(self, tools: Tools, pages: Sequence[Page], observe: OnReply) -> None:
        self._tools = tools
        self._observe = observe
        self._pages = pages
        self._get_paths = {each.path for each in pages if each.method == "GET"}
        routes: list[BaseRoute] = [self._route(path, of) for path, of in _by_path(pages).items()]
        routes.append(Route(FILES, self._file, methods=["GET"]))
        self._router = Router(routes, redirect_slashes=False, default=self._not_found)

    def addresses(self) -> Iterator[tuple[str, str, Callable[..., Any], int]]:
        """Yield method, path, handler and largest form size of every address."""
        for page in self._pages:
            yield page.method, page.path, page.answer, page.body_bytes_max
        yield "GET", FILES, self._file, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request: add the common headers and report one event."""
        started = time.perf_counter()
        request_id = self._tools.new_id()
        facts = _EventFacts(request_id)
        scope["balcao"] = facts

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts.status, facts.begun = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY.items():
                    headers.setdefault(name, value)
                headers["x-request-id"] = request_id
            await send(message)

        try:
            if len(scope["path"]) > PATH_CHARACTERS_MAX:
                await self._not_found(scope, receive, send_marked)
            else:
                await self._router(scope, receive, send_marked)
        except ClientDisconnect:
            return
        except Exception as error:  # outside pages, which have error pages of their own
            if facts.begun:  # part of the response was sent; the browser notices that it is cut off
                log.warning("answer.broken", request_id=request_id, kind=type(error).__name__)
                return
            log.exception("page.bug", request_id=request_id, page=facts.name)
            await PlainTextResponse(_MESSAGES[500][1], 500)(scope, receive, send_marked)
        reply = facts.reply or Reply(request_id, facts.status, b"", 0)
        self._observe(facts.name, reply, facts.account_id, time.perf_counter() - started)

    def _route(self, path: str, of: Mapping[str, Page]) -> Route:
        async def answer(request: Request) -> Response:
            page = of.get("GET" if request.method == "HEAD" else request.method)
            if page is None:
                raise HTTPException(405)
            return await self._respond(request, page)

        return Route(path, answer, methods=sorted(of))

    async def _respond(self, request: Request, page: Page) -> Response:
        facts: _EventFacts = request.scope["balcao"]
        facts.name = page.name
        tools = self._tools
        secure = guard.is_secure(request, tools)
        storage_error: StorageFailed | None = None
        try:
            visitor = await guard.visitor_of(request, tools)
        except StorageFailed as error:  # the session cannot be read
            visitor, storage_error = None, error
        first_visit = None
        if visitor is not None:
            facts.account_id = visitor.user.account_id
            cookie = request.cookies[guard.cookie_name(guard.SESSION, secure=secure)]
        else:
            name = guard.cookie_name(guard.FIRST_VISIT, secure=secure)
            cookie = request.cookies.get(name) or (first_visit := new_token())
        context = PageContext(
            request, facts.request_id, tools, visitor, secure, cookie, report=self._observe
        )
        try:
            if storage_error is not None and page.audience != "anyone":
                raise storage_error  # signing in would not help
            response = await self._checked_response(context, page)
        except EarlyResponse as early:
            response = early.response
        except BalcaoError as error:
            response = error_page(context, error)
        except ClientDisconnect:
            raise
        except Exception:
            log.exception("page.bug", request_id=facts.request_id, page=page.name)
            response = _problem(context, 500, *_MESSAGES[500])
        html = response.headers.get("content-type", "").startswith("text/html")
        if first_visit is not None and page.audience == "anyone" and html:
            name = guard.FIRST_VISIT
            guard.set_cookie(response, name, first_visit, secure=secure, max_age=_MONTH_SECONDS)
        facts.reply = context.reply
        return _compressed(request, response)

    async def _checked_response(self, context: PageContext, page: Page) -> Response:
        request = context.request
        if page.method != "GET" and not page.open_to_programs:
            try:
                form, upload = await _form(request, page)
            except InvalidRequest as error:
                return context.problem(error.status, *_MESSAGES[413])
            except UnsupportedMediaType:
                return context.problem(415, *_MESSAGES[413])
            except RequestTooLarge:
                return context.problem(413, *_MESSAGES["upload" if page.upload else 413])
            except ValueError:
                return context.problem(413, *_MESSAGES[413])
            token = form.get("csrf", "")
            if not guard.is_our_own_form(request, context.tools, context.cookie, token):
                return context.problem(403, *_MESSAGES["form"])
            context.form, context.upload = form, upload
        if page.audience != "anyone":
            if context.visitor is None:
                return _to_sign_in(context, page, self._get_paths)
            if context.visitor.lacks_second_factor and not page.without_second_factor:
                return _to_second_factor(context)
            if not context.visitor.may_use(page.audience):
                return context.problem(403, *_MESSAGES[_refusal_key(context.visitor)])
        try:
            return await page.answer(context)
        finally:
            if context.upload is not None:
                with contextlib.suppress(ValueError):  # the form ended within the file
                    await context.upload.drain()

    async def _file(self, request: Request) -> Response:
        facts: _EventFacts = request.scope["balcao"]
        facts.name = "app:arquivo"
        file = self._tools.pages.assets.named(request.path_params["name"])
        if file is None:
            return Response(status_code=404)
        scope = request.scope
        asked = read.Request(scope["method"], scope["path"], b"", dict(scope["headers"]))
        status, headers, content = await file(asked)
        return Response(content, status, {key.decode(): text.decode() for key, text in headers})

    async def _not_found(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond 404, for signed-in and other visitors.

        A page's address with a trailing slash is redirected to the page.
        """
        if (address := self._without_slash(scope)) is not None:
            await RedirectResponse(address, 308)(scope, receive, send)
            return

        async def nothing(context: PageContext) -> Response:
            return context.problem(404, *_MESSAGES[404])

        request = Request(scope, receive)
        response = await self._respond(request, Page("", "app:404", "anyone", nothing))
        await response(scope, receive, send)

    def _without_slash(self, scope: Scope) -> str | None:
        path = scope["path"].rstrip("/")
        if path == scope["path"] or scope["method"] not in ("GET", "HEAD"):
            return None
        meant = {**scope, "path": path}
        if all(route.matches(meant)[0] is not Match.FULL for route in self._router.routes):
            return None
        query = scope["query_string"].decode("latin-1")
        return quote(path) + (f"?{query}" if query else "")


@dataclass(slots=True)
class _EventFacts:
    """Facts about a request, collected for its log event."""

    request_id: str
    name: str = "app:outros"
    status: int = 500
    begun: bool = False
    account_id: int | None = None
    reply: Reply | None = None


def _wants_gzip(request: Request) -> bool:
    header = request.headers.get("accept-encoding")
    return header is not None and read.accepts_gzip(header.encode("latin-1"))


def _compressed(request: Request, response: Response) -> Response:
    """Compress the text of a response, if the browser accepts that; files stay as they are."""
    text = response.headers.get("content-type", "").startswith(("text/html", "application/json"))
    if not text or isinstance(response, StreamingResponse):
        return response
    response.headers.add_vary_header("accept-encoding")
    if len(response.body) < _GZIP_BYTES_MIN or not _wants_gzip(request):
        return response
    response.body = gzip.compress(response.body, _GZIP_LEVEL, mtime=0)
    response.headers["content-encoding"] = "gzip"
    response.headers["content-length"] = str(len(response.body))
    return response


def _by_path(pages: Sequence[Page]) -> Mapping[str, Mapping[str, Page]]:
    found: dict[str, dict[str, Page]] = {}
    for each in pages:
        methods = found.setdefault(each.path, {})
        assert each.method not in methods, f"{each.method} {each.path} twice"
        methods[each.method] = each
    return found


async def _form(request: Request, page: Page) -> tuple[Mapping[str, str], UploadedFile | None]:
    """Return the fields of a form (the first of each name) and its file, if any.

    Raises as `BodyLimit.read`, and `ValueError`.
    """
    kind = request.headers.get("content-type", "")
    if page.upload and not kind.startswith(FORM_TYPE):  # forms without a file come URL-encoded
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit() or int(announced[:10]) > UPLOAD_BYTES_MAX:
            raise RequestTooLarge(body_bytes_max=UPLOAD_BYTES_MAX)
        return await read_upload(kind, request.stream(), UPLOAD_FIELDS_BYTES_MAX)
    body = await FORM.read(dict(request.scope["headers"]), request.stream())
    pairs = parse_qsl(
        body.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
    )
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields, None


def _refusal_key(visitor: Visitor) -> int | str:
    """Return the key of the message (`_MESSAGES`) for a visitor who may not see the page."""
    if not visitor.session.runs_the_service:
        return 403
    return "seated" if visitor.session.membership is not None else "operator"


def _to_sign_in(context: PageContext, page: Page, get_paths: Set[str]) -> Response:
    """Redirect to sign-in, and from there back to this page, or to the page of the posted form.

    `fim`: the session ended before the form was sent.
    """
    path, form = context.request.url.path, page.path
    ended = {} if page.method == "GET" else {"fim": "1"}
    if page.method == "GET":
        back = f"{path}?{context.request.url.query}"
    elif form in get_paths:
        back = returning.address(path, page.refill(context))
    elif form.rpartition("/")[0] in get_paths:
        back = returning.address(path.rpartition("/")[0], page.refill(context))
    else:
        back = returning.HOME
    address = returning.address("/app/entrar", {"para": returning.local_address(back), **ended})
    if not context.is_fragment:
        return RedirectResponse(address, 303)
    if page.method == "GET":  # a polled fragment: the whole page goes to sign-in
        return Response(status_code=401, headers={"hx-redirect": address})
    # The visitor is filling in a form: keep it and its contents.
    return context.page("preco.html", 401, sign_in=address)


def _to_second_factor(context: PageContext) -> Response:
    """Redirect to the page that sets up the second factor."""
    if context.is_fragment:
        return Response(status_code=403, headers={"hx-redirect": SECOND_FACTOR})
    return RedirectResponse(SECOND_FACTOR, 303)


def error_page(context: PageContext, error: BalcaoError) -> Response:
    """Return the page for an error, with the message that the API returns for it."""
    problem = problem_of(error)
    title, text = _TITLES.get(problem.status, "Não foi possível"), problem.message
    code: str | None = problem.code
    if isinstance(error, RateLimited):  # the API's text and code page address programs
        text, code = wait_message(error.retry_in_seconds), None
    response = _problem(context, problem.status, title, text, code)
    if problem.retry_after_seconds is not None:
        response.headers["retry-after"] = str(problem.retry_after_seconds)
    return response


def _problem(
    context: PageContext, status: int, title: str, text: str, code: str | None = None
) -> Response:
    """Return an error page; for a script's request, a fragment that fits in its place."""
    template = "_problema.html" if context.is_fragment else "problema.html"
    return context.page(template, status, title=title, text=text, code=code)


_TITLES: Mapping[int, str] = {
    402: "Créditos insuficientes",
    403: "Sem permissão",
    404: "Não encontrado",
    429: "Muitas tentativas em pouco tempo",
    503: "Indisponível no momento",
}
_MESSAGES: Mapping[int | str, tuple[str, str]] = {
    403: ("Sem permissão", "Esta página não é para o seu tipo de usuário."),
    404: (
        "Página não encontrada",
        "Não há nada neste endereço. Confira o endereço ou volte ao início.",
    ),
    413: ("Formulário recusado", "O formulário enviado não pôde ser lido. Volte e tente de novo."),
    "upload": (
        "Grande demais",
        "O arquivo pode ter até 100 MB (10 MB no plano gratuito). A lista colada pode ter até 2"
        " MB; se for maior, envie como arquivo. Nada foi enviado nem cobrado.",
    ),
    500: (
        "Erro interno",
        "Algo deu errado do nosso lado. Se era uma consulta, veja no histórico se ela foi feita e"
        " cobrada. Se o erro se repetir, informe o número abaixo ao operador do serviço.",
    ),
    "seated": (
        "Página só para operadores",
        "Você está usando uma conta. No menu com o seu nome, volte a ser operador ou troque de"
        " conta e abra a página de novo.",
    ),
    "operator": (
        "Página só para usuários da conta",
        "Esta página é para usuários de uma conta. Se você tem acesso a uma conta, troque para"
        " ela no menu com o seu nome. Se não tem, adicione-se na página de usuários da conta.",
    ),
    "form": (
        "Formulário recusado",
        "O formulário não veio de uma página aberta neste navegador e, por segurança, não foi"
        " executado. Volte, recarregue a página e envie de novo.",
    ),
}
