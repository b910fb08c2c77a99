"""The API's addresses as one table: who answers each, by which methods, and what it may be sent."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from balcao.http.compat.dressing import Dressing, ReadDetail, addresses
from balcao.http.read import BodyLimit, Request
from balcao.http.write import Headers, Pieces
from balcao.lookup.story import look_up
from balcao.operations.contract import Operation

PREFIX = "/consultas/v2/"

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

Answer: TypeAlias = tuple[int, Headers, bytes | Pieces]
Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """An address and who answers it. It costs no credits, unless it is an operation's.

    `path` may end with a name in braces: what a request has in its place is its `rest`, slashes
    and all. Where a key is wanted, the request counts against the limits of key and account.
    """

    path: str
    name: str  # in the event and the measurements
    handler: Callable[..., Awaitable[Any]]  # a `Handler`; of lookups, `look_up`
    methods: tuple[str, ...] = ("GET", "HEAD")
    body: BodyLimit | None = None  # None: there must be none
    needs_key: bool = False
    of_api: bool = True  # callable from any page, says its request's number
    operation: Operation | None = None  # a lookup
    quotes: Operation | None = None  # what a lookup would cost
    dressing: Dressing | None = None  # of a lookup: the face in whose shape it is answered
    charged: bool = False  # its handler charges, and gives a `Reply` with the headers of one
    level: str = "info"  # of the event
    in_pieces: bool = False  # a body that the handler takes as it comes

    @property
    def told_as(self) -> Operation | None:
        """Whose form errors have here; None: the plain one."""
        return self.operation or self.quotes

    def reads_body(self, method: str) -> bool:
        """Whether a request of this method may have a body here."""
        return self.body is not None and method in _WITH_BODY

    @property
    def allow(self) -> bytes:
        """The header `Allow`."""
        return allowing(self.methods)


def allowing(methods: Sequence[str]) -> bytes:
    """The header `Allow` of what takes these."""
    return ", ".join((*methods, "OPTIONS")).encode()


class Routes:
    """All of them, found by a request's path in a few steps however many there are."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.all = tuple(routes)
        self._exact = {route.path: route for route in self.all if "{" not in route.path}
        self._below = {
            route.path.partition("{")[0]: route for route in self.all if "{" in route.path
        }
        assert len(self._exact) + len(self._below) == len(self.all), "an address twice"
        self._places = {route.path.split("/", 2)[1] for route in self.all}
        self._depth = max((prefix.count("/") for prefix in self._below), default=0)

    def has_below(self, path: str) -> bool:
        """Whether anything is where the path begins: a mistyped address of the API, then."""
        return path.lstrip("/").split("/", 1)[0] in self._places

    def find(self, path: str) -> tuple[Route | None, str]:
        """Whose path it is, the longest one if there are several, and what follows it."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, ""
        at = path.rfind("/") + 1  # nearly always: no slash follows
        found, rest = self._below.get(path[:at]), path[at:]
        if found is None:
            found, rest = self._deepest(path)
        if found is not None and found.told_as is not None and not rest:
            return None, ""  # there is no lookup without a document, nor a price of it
        return found, rest

    def _deepest(self, path: str) -> tuple[Route | None, str]:
        found, rest, at = None, "", 0
        for _ in range(self._depth):
            at = path.find("/", at) + 1
            if at == 0:
                break
            below = self._below.get(path[:at])
            if below is not None:
                found, rest = below, path[at:]
        return found, rest


def lookups(operations: Iterable[Operation]) -> Iterable[Route]:
    """Where the operations are asked."""
    for operation in operations:
        for path in paths_of(operation, PREFIX):
            yield Route(path, operation.path, look_up, ("GET",), None, True, True, operation)


def faces(company: Operation, read: ReadDetail) -> Iterable[Route]:
    """Where the company lookup is asked in the shapes of other services (decisions 16.1)."""
    for face, address in addresses():
        yield Route(
            f"{address}{{cnpj}}",
            f"compat-{face.name}",
            look_up,
            ("GET",),
            needs_key=True,
            operation=company,
            dressing=Dressing(face, read),
        )


def paths_of(operation: Operation, prefix: str) -> Sequence[str]:
    """Its addresses below a prefix. A slash may stand inside a CNPJ (2.1)."""
    path, document = f"{prefix}{operation.path}", operation.document
    return (f"{path}/{{{document}}}",) if document else (path, f"{path}/")
