"""Bodies that are JSON, for every address that takes one; and the answers that go with them.

A body is a type: what is not in it is refused by its name. So is what lacks or has another form.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from balcao.core.errors import InvalidBody, InvalidParameter
from balcao.http.read import BodyLimit, Request
from balcao.http.write import Headers
from balcao.operations.parameters import Parameters

T = TypeVar("T")

# What an address takes, where nothing else is said (decisions 12.6).
JSON_BODY: Final = BodyLimit(65_536, (b"application/json",))

ITEMS_MAX: Final = 1_000
ITEMS_USUAL: Final = 100

_JSON = (b"content-type", b"application/json; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")
_FREE = (b"x-creditos-cobrados", b"0")

_encode = msgspec.json.Encoder().encode
# As msgspec tells of what it refuses.
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<member>[^`]*)`")
_MISSING = re.compile(r"Object missing required field `(?P<member>[^`]*)`")
_PLACE = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`")
_MEMBER_CHARACTERS_MAX = 60


def body_of(request: Request, kind: type[T]) -> T:
    """The body as a value of this type, a struct that forbids unknown fields.

    Raises `InvalidBody`, `InvalidParameter` with the member's name.
    """
    try:
        return msgspec.json.decode(request.body, type=kind)
    except msgspec.ValidationError as error:
        raise _told(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidBody from None


def _told(said: str) -> InvalidParameter | InvalidBody:
    place = _PLACE.search(said)
    path = place["path"] if place else ""
    for pattern, what in (
        (_UNKNOWN, "não existe neste corpo"),
        (_MISSING, "é obrigatório"),
    ):
        if (match := pattern.search(said)) is not None:
            member = ".".join(filter(None, (path, match["member"])))[:_MEMBER_CHARACTERS_MAX]
            return InvalidParameter(f"{member}: {what}.")
    if not path:
        return InvalidBody()  # a list, a number, ...
    return InvalidParameter(f"{path[:_MEMBER_CHARACTERS_MAX]}: o valor não serve.")


class ListPage(msgspec.Struct, frozen=True):
    """Which part of a list is wanted: so many, after that one."""

    limit: int
    after: int

    def cursor(self, numbers: Sequence[int]) -> str | None:
        """The cursor behind these: None where there are no more than these."""
        return str(numbers[self.limit - 1]) if len(numbers) > self.limit else None


def page_of(request: Request, names: Sequence[str] = ()) -> ListPage:
    """`limite` and `cursor` of a list. Raises `InvalidParameter`, `RepeatedParameter`.

    Ask for one more than `limit`, which tells whether there are more.
    """
    parameters = Parameters(request.query, request.headers, ("limite", "cursor", *names))
    cursor = parameters.text("cursor")
    if cursor and not _is_number(cursor):
        raise _strange_cursor()
    limit = limit_of(parameters.text("limite"), ITEMS_USUAL, ITEMS_MAX)
    return ListPage(limit, int(cursor) if cursor else 0)


def id_cursor(text: str | None) -> str | None:
    """The cursor of a list whose items are told by their ids. Raises `InvalidParameter`."""
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        raise _strange_cursor() from None


def _strange_cursor() -> InvalidParameter:
    return InvalidParameter("O parâmetro cursor deve ser o que veio com a página anterior.")


def limit_of(text: str | None, usual: int, most: int) -> int:
    """How many a page has, 1 to `most`; `usual` if nothing is said. Raises `InvalidParameter`."""
    if text is None:
        return usual
    if not (_is_number(text) and 1 <= int(text) <= most):
        raise InvalidParameter(f"O parâmetro limite deve ser um número de 1 a {most}.")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def free_answer(
    fields: Mapping[str, object], status: int = 200, *more: tuple[bytes, bytes]
) -> tuple[int, Headers, bytes]:
    """An answer that costs nothing: the envelope and these fields. The front adds its number."""
    body = _encode({"success": True, "error": False} | dict(fields))
    return status, [_JSON, _NO_STORE, _FREE, *more], body
