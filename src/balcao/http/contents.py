"""Contents of requests and answers, as the OpenAPI document describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec


@dataclass(frozen=True, slots=True)
class Json:
    """A body in JSON: an example, whose type is the schema.

    `name` and `text` name and describe the schema where they differ from the type's own; that type
    may then be a part of other bodies.
    """

    example: msgspec.Struct
    name: str = ""
    text: str = ""
    envelope: bool = False  # `free_answer` puts the fields of every answer before these
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Text:
    """A body of plain text."""

    media_type: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A body of any bytes."""

    media_type: str


Content: TypeAlias = Json | Text | File


@dataclass(frozen=True, slots=True)
class Result:
    """Another successful answer of a route."""

    status: int
    outcome: str
    contents: Sequence[Content]


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body that a request may have, in one of several forms."""

    contents: Sequence[Content]
    required: bool = True
    text: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """A header that a successful answer always has."""

    text: str
    schema: Mapping[str, object]
