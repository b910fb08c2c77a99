"""Descriptions of types and fields for the OpenAPI document, in the source of each type."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=type[msgspec.Struct])

_NAMED: dict[str, type[msgspec.Struct]] = {}


def doc(text: str, **schema: object) -> msgspec.Meta:
    """Return a field's description in Portuguese, with additions to the schema of its type."""
    return msgspec.Meta(description=text, extra_json_schema=schema or None)


def described(name: str, text: str) -> Callable[[T], T]:
    """Decorate a type with its name in the document and its description, in Portuguese."""

    def decorate(kind: T) -> T:
        kind.__document__ = (name, text)  # type: ignore[attr-defined]
        _NAMED[kind.__name__] = kind
        return kind

    return decorate


def description_of(kind: type[msgspec.Struct]) -> tuple[str, str]:
    """Return name and description of a `described` type. Raises `KeyError` for another one."""
    found: tuple[str, str] = vars(kind)["__document__"]
    return found


def described_type(python_name: str) -> type[msgspec.Struct]:
    """Return the `described` type with this unique Python name. Raises `KeyError`."""
    return _NAMED[python_name]
