"""Routes of the API: the methods of its addresses, their handlers and their descriptions."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from balcao.core.errors import BalcaoError
from balcao.http import texts
from balcao.http.compat.route import CompatRoute
from balcao.http.contents import Content, Header, RequestBody, Result
from balcao.http.read import BodyLimit, Request
from balcao.http.write import Headers, Pieces
from balcao.lookup.execution import look_up
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameter

PREFIX = "/consultas/v2/"

Answer: TypeAlias = tuple[int, Headers, bytes | Pieces]
Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Awaitable[Any]])


async def _no_handler(request: Request) -> Answer:
    raise NotImplementedError("the route has no handler")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path: its handler, what it accepts, and its description.

    As a decorator it makes a method the handler; `routes_of` collects those of an object.

    A path may have one parameter in braces, at its end or in the middle. `Request.rest` is its
    value; at the end of a path it may contain slashes. A path may have a second parameter, after a
    segment of its own: then `Request.rest` is both values, with a slash between them.

    A route costs no credits, unless it belongs to an operation or is `charged`. Where a key is
    needed, the request counts against the limits of key and account.
    """

    path: str
    name: str  # in the request event and the metrics
    handler: Callable[..., Awaitable[Any]] = _no_handler  # a `Handler`; of lookups, `look_up`
    method: str = "GET"  # GET routes answer HEAD too, unless they cost credits
    body: BodyLimit | None = None  # None: a request with a body is refused
    needs_key: bool = False
    of_api: bool = True  # callable from any web page; the answer has a `request_id`
    operation: Operation | None = None  # a lookup
    quotes: Operation | None = None  # a quote of what this lookup would cost
    compat: CompatRoute | None = None  # of a lookup in the shape of another service
    charged: bool = False  # its handler charges credits and returns a `Reply`
    level: str = "info"  # of the request event
    in_pieces: bool = False  # the handler reads the body in pieces
    described_only: bool = False  # the route of its beginning serves it
    allowed: tuple[str, ...] = ()  # all methods of the path; set by `Routes`

    # The description, in the OpenAPI document; none without an id.
    id: str = ""  # `operationId`
    tag: str = ""
    summary: str = ""
    text: str = ""
    parameters: Sequence[Parameter] = ()
    takes: RequestBody | None = None
    gives: Sequence[Content] = ()
    status: int = 200  # of the successful answer
    outcome: str = ""  # describes that answer; empty: the summary
    other_results: Sequence[Result] = ()  # with other statuses
    headers: Mapping[str, Header] = field(default_factory=dict)  # that answer's own
    tells_cost: bool = True  # that answer has `X-Creditos-Cobrados`
    problems: Sequence[type[BalcaoError]] = ()  # besides those of all routes with or without a key

    def __call__(self, handler: AnyHandler) -> AnyHandler:
        """Make a method of a class the handler of this route (decorator)."""
        vars(handler).setdefault("api_routes", []).insert(0, self)
        return handler

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that this route answers."""
        costs = self.operation is not None or self.charged
        return ("GET", "HEAD") if self.method == "GET" and not costs else (self.method,)

    @property
    def errors_of(self) -> Operation | None:
        """The operation in whose form errors are answered; None: the common form."""
        return self.operation or self.quotes

    def reads_body(self, method: str) -> bool:
        """Return whether a request of this method may have a body here."""
        return self.body is not None and method == self.method

    @property
    def allow(self) -> bytes:
        return ", ".join((*self.allowed, "OPTIONS")).encode()


_PARAMETER = re.compile(r"\{[^}]*\}")

_Methods: TypeAlias = dict[str, Route]  # the routes of one path by method


class Routes:
    """All routes. Finding one takes the same number of steps however many there are."""

    def __init__(self, routes: Iterable[Route]) -> None:
        by_path: dict[str, list[Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, []).append(route)
        self._exact: dict[str, _Methods] = {}
        self._below: dict[str, _Methods] = {}  # by what precedes the parameter at the end
        # By what precedes it, and what follows, where a second parameter is an asterisk.
        self._around: dict[str, dict[str, _Methods]] = {}
        every_route: list[Route] = []
        for path, of_path in by_path.items():
            allowed = tuple(method for route in of_path for method in route.methods)
            assert len(set(allowed)) == len(allowed), f"a method of {path} has two routes"
            known = [replace(route, allowed=allowed) for route in of_path]
            every_route += known
            if known[0].described_only:
                continue
            self._place(path, {method: route for route in known for method in route.methods})
        self.all = tuple(every_route)
        self._first_segments = {route.path.split("/", 2)[1] for route in self.all}
        prefixes = (*self._below, *self._around)
        self._depth = max((prefix.count("/") for prefix in prefixes), default=0)

    def _place(self, path: str, methods: _Methods) -> None:
        before, brace, parameter = path.partition("{")
        after = parameter.partition("}")[2].removeprefix("/")
        if not brace:
            self._exact[path] = methods
        elif not after:
            assert before not in self._below, f"{path} has two names of its parameter"
            self._below[before] = methods
        else:
            self._around.setdefault(before, {})[_PARAMETER.sub("*", after)] = methods

    def has_below(self, path: str) -> bool:
        """Return whether the API has addresses with the first segment of this path."""
        return path.lstrip("/").split("/", 1)[0] in self._first_segments

    def find(self, path: str, method: str = "GET") -> tuple[Route | None, str]:
        """Return the route of a path and the value of its parameter; of several, the longest.

        Where the path does not take this method, returns another route of the path.
        """
        exact = self._exact.get(path)
        if exact is not None:
            return _choose(exact, method), ""
        at = path.rfind("/") + 1  # nearly always: no slash follows
        methods, rest = self._below.get(path[:at]), path[at:]
        if methods is None:
            methods, rest = self._deepest(path)
            if methods is None:
                return None, ""
        route = _choose(methods, method)
        if route.errors_of is not None and not rest:
            return None, ""  # neither lookups nor quotes exist without a document
        return route, rest

    def _deepest(self, path: str) -> tuple[_Methods | None, str]:
        start, at = 0, 0
        for _ in range(self._depth):
            at = path.find("/", at) + 1
            if at == 0:
                break
            if path[:at] in self._below or path[:at] in self._around:
                start = at
        before, rest = path[:start], path[start:]
        around = self._around.get(before)
        if around is None or "/" not in rest:
            return self._below.get(before), rest
        value, _, after = rest.partition("/")
        if (methods := around.get(after)) is not None:
            return methods, value
        segment, _, others = after.partition("/")
        second, slash, after = others.partition("/")
        return around.get(f"{segment}/*{slash}{after}"), f"{value}/{second}"


def _choose(methods: _Methods, method: str) -> Route:
    return methods.get(method) or next(iter(methods.values()))


def routes_of(pages: object) -> Sequence[Route]:
    """Return the routes that decorate an object's methods, in the order of its class.

    Of a class, the handlers are not bound: enough to describe the routes.
    """
    members = vars(pages if isinstance(pages, type) else type(pages))
    return [
        replace(route, handler=getattr(pages, name))
        for name, member in members.items()
        for route in getattr(member, "api_routes", ())
    ]


IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "Permite repetir a mesma consulta sem nova execução nem cobrança, durante HORAS. O valor é"
    " próprio de cada conta. Use a mesma chave só com a mesma operação e os mesmos parâmetros.",
    texts.IDEMPOTENCY_KEY_SCHEMA,
    place="header",
)


def lookups(operations: Iterable[Operation]) -> Iterable[Route]:
    """Return the routes of the operations."""
    for operation in operations:
        described, *others = (
            Route(path, operation.path, look_up, needs_key=True, operation=operation)
            for path in paths_of(operation, PREFIX)
        )
        yield replace(
            described,
            id=operation.path.replace("-", "_"),
            tag=texts.TAG_LOOKUPS,
            summary=operation.title,
            text=operation.description,
            parameters=(*operation.parameters, IDEMPOTENCY_KEY),
            problems=operation.problems,
        )
        yield from others


def paths_of(operation: Operation, prefix: str) -> Sequence[str]:
    """Return an operation's paths below a prefix. A CNPJ in the path may contain a slash (2.1)."""
    path, document = f"{prefix}{operation.path}", operation.document
    return (f"{path}/{{{document}}}",) if document else (path, f"{path}/")
