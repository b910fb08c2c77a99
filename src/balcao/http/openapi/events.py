"""The `webhooks` of the OpenAPI document: the delivered body of each type of event.

Their schemas are not components: generators make a class of each of those.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from balcao.core.event_types import EVENT_TYPES, EventType
from balcao.http.openapi.errors import JSON

_EXAMPLE_INSTANT = "2026-08-08T10:15:30.120-03:00"
_DEFINITIONS = "#/$defs/"


def webhooks() -> Mapping[str, Any]:
    """Return the `webhooks` of the document, by the types' names."""
    return {name: {"post": _delivery(each)} for name, each in EVENT_TYPES.items()}


def data_schema(kind: EventType) -> dict[str, Any]:
    """Return the schema of a type's `dados`, with nothing to look up elsewhere."""
    whole = msgspec.json.schema(type(kind.example))
    return _resolved(whole, whole.get("$defs", {}))


def _delivery(kind: EventType) -> dict[str, Any]:
    return {
        "operationId": f"evento_{kind.name.replace('.', '_')}",
        "summary": kind.name,
        "description": kind.when,
        "requestBody": {"required": True, "content": {JSON: _body(kind)}},
        "responses": {"2XX": {"description": "Recebido. Outra resposta é uma falha."}},
    }


def _body(kind: EventType) -> dict[str, Any]:
    when = {"type": "string", "format": "date-time"}
    return {
        "schema": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": kind.name, "description": "O tipo do evento."},
                "timestamp": {**when, "description": "Quando o evento foi gravado."},
                "data": {
                    "description": "Os dados, como `dados` na lista de eventos.",
                    **data_schema(kind),
                },
            },
            "required": ["type", "timestamp", "data"],
            "additionalProperties": True,
        },
        "example": {
            "type": kind.name,
            "timestamp": _EXAMPLE_INSTANT,
            "data": msgspec.json.decode(msgspec.json.encode(kind.example)),
        },
    }


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of msgspec with its references replaced, and `null` as one more type."""
    if "$ref" in schema:
        found = definitions[schema["$ref"].removeprefix(_DEFINITIONS)]
        more = {name: value for name, value in schema.items() if name not in ("$ref", "$defs")}
        return {**_resolved(found, definitions), **more}
    if "anyOf" in schema:
        (kind,) = (each for each in schema["anyOf"] if each != {"type": "null"})
        one = _resolved(kind, definitions)
        if "enum" in one:
            one["enum"] = [*one["enum"], None]
        more = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**one, "type": [one.get("type", "string"), "null"], **more}
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        match name:
            case "properties":
                kept[name] = {each: _resolved(of, definitions) for each, of in value.items()}
            case "items" | "additionalProperties" if isinstance(value, Mapping):
                kept[name] = _resolved(value, definitions)
            case "title" | "default" | "$defs" | "prefixItems":
                continue
            case _:
                kept[name] = value
    if "enum" in kept:
        kept.setdefault("type", "string")
    if kept.get("type") == "object" and "properties" in kept:
        kept["additionalProperties"] = True
        kept.pop("description", None)  # a docstring
    return kept
