"""What the OpenAPI document says of a type and its fields, written where the type is."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=type[msgspec.Struct])

_NAMED: dict[str, type[msgspec.Struct]] = {}


def said(text: str, **schema: object) -> msgspec.Meta:
    """A field's meaning, in Portuguese, and what its type does not say of its schema."""
    return msgspec.Meta(description=text, extra_json_schema=schema or None)


def described(name: str, text: str) -> Callable[[T], T]:
    """A type's own name in the document and its meaning, in Portuguese."""

    def decorate(kind: T) -> T:
        kind.__document__ = (name, text)  # type: ignore[attr-defined]
        _NAMED[kind.__name__] = kind
        return kind

    return decorate


def description_of(kind: type[msgspec.Struct]) -> tuple[str, str]:
    """Name and meaning of a `described` type. Raises `KeyError` where it has none of its own."""
    found: tuple[str, str] = vars(kind)["__document__"]
    return found


def described_type(python_name: str) -> type[msgspec.Struct]:
    """The `described` type of that name, which no other has. Raises `KeyError`."""
    return _NAMED[python_name]
