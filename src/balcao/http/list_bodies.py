"""JSON bodies with long lists in `itens`, decoded off the event loop, one item at a time.

One call that decodes four megabytes would keep the interpreter from everything else for 30 ms.
"""

import asyncio
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from balcao.core.errors import InvalidBody
from balcao.http.json_bodies import JSON_BODY, body_of, body_refusal
from balcao.http.read import Request
from balcao.http.wallet_types import ItemBody, NewItemsBody, SyncBody

ListBody = TypeVar("ListBody", NewItemsBody, SyncBody)

_LIST = "itens"


async def list_body_of(request: Request, kind: type[ListBody]) -> ListBody:
    """Decode a body as `body_of` does. Raises the same errors."""
    if len(request.body) <= JSON_BODY.bytes_max:
        return body_of(request, kind)
    return await asyncio.to_thread(_decoded, request, kind)


def _decoded(request: Request, kind: type[ListBody]) -> ListBody:
    rough = body_of(request, _undecoded(kind))
    values = {name: getattr(rough, name) for name in kind.__struct_fields__}
    if values[_LIST] is not UNSET:
        values[_LIST] = tuple(_item(at, raw) for at, raw in enumerate(values[_LIST]))
    return kind(**values)


def _item(at: int, raw: msgspec.Raw) -> ItemBody:
    try:
        return _decode_item(raw)
    except msgspec.ValidationError as error:
        raise body_refusal(str(error), f"{_LIST}[{at}]") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidBody from None


@lru_cache
def _undecoded(kind: type[msgspec.Struct]) -> type[Any]:
    """Return the same body with a list of items that are not decoded."""
    fields = [
        (each.name, list[msgspec.Raw] | UnsetType, UNSET)
        if each.name == _LIST
        else (each.name, each.type, msgspec.field(default=each.default))
        for each in msgspec.structs.fields(kind)
    ]
    return msgspec.defstruct(f"Undecoded{kind.__name__}", fields, forbid_unknown_fields=True)


_decode_item = msgspec.json.Decoder(ItemBody).decode
