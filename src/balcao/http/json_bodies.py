"""JSON bodies of requests, pages of lists, and the answers that cost nothing.

A body is a type. Unknown, missing and invalid members are refused by their names.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from balcao.core.calendar import to_ms
from balcao.core.errors import InvalidBody, InvalidParameter
from balcao.http.read import BodyLimit, Request
from balcao.http.texts import TEXT
from balcao.http.write import Headers
from balcao.operations.parameters import Parameter, Parameters

T = TypeVar("T")

# The limits of a body, unless its route sets others (contract 12.6).
JSON_BODY: Final = BodyLimit(65_536, (b"application/json",))

OPTIONAL_JSON_BODY: Final = BodyLimit(JSON_BODY.bytes_max, JSON_BODY.media_types, may_be_empty=True)

ITEMS_MAX: Final = 1_000
ITEMS_USUAL: Final = 100

_JSON = (b"content-type", b"application/json; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")
_FREE = (b"x-creditos-cobrados", b"0")

# `limite` and `cursor` as `page_of` reads them.
PAGE_PARAMETERS: Final = (
    Parameter(
        "limite",
        f"Quantos por página, de 1 a {ITEMS_MAX}.",
        {"type": "integer", "minimum": 1, "maximum": ITEMS_MAX, "default": ITEMS_USUAL},
    ),
    Parameter("cursor", "O `cursor` da página anterior.", TEXT),
)

_encode = msgspec.json.Encoder().encode
# msgspec's messages.
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<member>[^`]*)`")
_MISSING = re.compile(r"Object missing required field `(?P<member>[^`]*)`")
_PLACE = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`")
_MEMBER_CHARACTERS_MAX = 60
# No database stores it in a text. An escaped backslash before it makes it plain text.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

_ITEMS_AT_ONCE = 400  # some 60 kB


def body_of(request: Request, kind: type[T]) -> T:
    """Decode the body into this type, a struct that forbids unknown fields.

    Raises `InvalidBody`, `InvalidParameter` with the member's name.
    """
    if b"\\u0000" in request.body and _NUL.search(request.body):
        raise InvalidParameter("O corpo não pode ter o caractere nulo (\\u0000).")
    try:
        return msgspec.json.decode(request.body, type=kind)
    except msgspec.ValidationError as error:
        raise body_refusal(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidBody from None


def body_refusal(message: str, within: str = "") -> InvalidParameter | InvalidBody:
    """Return the error for msgspec's message about a body, or about the member `within` it."""
    place = _PLACE.search(message)
    path = ".".join(filter(None, (within, place["path"] if place else "")))
    for pattern, what in (
        (_UNKNOWN, "não existe neste corpo"),
        (_MISSING, "é obrigatório"),
    ):
        if (match := pattern.search(message)) is not None:
            member = ".".join(filter(None, (path, match["member"])))[:_MEMBER_CHARACTERS_MAX]
            return InvalidParameter(f"{member}: {what}.")
    if not path:
        return InvalidBody()  # a list, a number, ...
    return InvalidParameter(f"{path[:_MEMBER_CHARACTERS_MAX]}: o valor não serve.")


def instant_of(name: str, at: datetime) -> int:
    """Return an instant of a body as milliseconds. Raises `InvalidParameter` without an offset."""
    if at.tzinfo is None:
        raise InvalidParameter(f"{name}: informe o fuso, como em -03:00.")
    return to_ms(at)


class ListPage(msgspec.Struct, frozen=True):
    """A requested page of a list: at most `limit` items, after the number `after`."""

    limit: int
    after: int

    def cursor(self, numbers: Sequence[int]) -> str | None:
        """Return the cursor of the next page, or None after the last one.

        `numbers`: of up to `limit` + 1 items; the additional one proves that there is a next page.
        """
        return str(numbers[self.limit - 1]) if len(numbers) > self.limit else None


def page_of(request: Request, names: Sequence[str] = ()) -> ListPage:
    """Read `limite` and `cursor` of a list. Raises `InvalidParameter`, `RepeatedParameter`.

    Fetch one item more than `limit` to know whether there are more.
    """
    parameters = Parameters(request.query, request.headers, ("limite", "cursor", *names))
    cursor = parameters.text("cursor")
    if cursor and not _is_number(cursor):
        raise _invalid_cursor()
    limit = limit_of(parameters.text("limite"), ITEMS_USUAL, ITEMS_MAX)
    return ListPage(limit, int(cursor) if cursor else 0)


def id_cursor(text: str | None) -> str | None:
    """Read the cursor of a list whose items have ids. Raises `InvalidParameter`."""
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        raise _invalid_cursor() from None


def _invalid_cursor() -> InvalidParameter:
    return InvalidParameter("O parâmetro cursor deve ser o que veio com a página anterior.")


def limit_of(text: str | None, usual: int, most: int) -> int:
    """Read the length of a page, 1 to `most`; by default `usual`. Raises `InvalidParameter`."""
    if text is None:
        return usual
    if not (_is_number(text) and 1 <= int(text) <= most):
        raise InvalidParameter(f"O parâmetro limite deve ser um número de 1 a {most}.")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def free_answer(
    answer: msgspec.Struct, status: int = 200, *more: tuple[bytes, bytes]
) -> tuple[int, Headers, bytes]:
    """Return an answer that costs nothing: `success`, `error` and these fields.

    The front adds the `request_id`.
    """
    return status, [_JSON, _NO_STORE, _FREE, *more], enveloped(answer)


def enveloped(answer: msgspec.Struct) -> bytes:
    """Encode a successful answer, without its `request_id`."""
    return b'{"success":true,"error":false,' + _encode(answer)[1:]


def json_pieces(empty: bytes, items: Iterable[msgspec.Struct]) -> Iterator[bytes]:
    """Yield an answer in pieces: `empty`, which ends with an empty list, with these items in it."""
    yield empty[: -len("]}")]
    items, comma = iter(items), b""
    while some := list(islice(items, _ITEMS_AT_ONCE)):
        yield comma + _encode(some)[1:-1]
        comma = b","
    yield b"]}"
