"""The OpenAPI 3.1 document, built from the routes of the API.

Paths, parameters, texts and problems are those of the routes. Schemas are those of the types of
bodies; examples of lookups are encoded by the code that answers requests.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from balcao.core.company import Company
from balcao.core.described import described_type, description_of
from balcao.core.errors import (
    AddressNotAllowed,
    BalcaoError,
    KeyRefused,
    RateLimited,
    RequestTooLarge,
)
from balcao.core.month_detail import NO_DETAIL
from balcao.core.outcomes import reply_of
from balcao.core.problems import Problem, problem_of
from balcao.core.receipts import ReceiptNumbers
from balcao.http import texts
from balcao.http.compat.api import CompatAnswer, CompatApi, CompatInput, RefusedLookup
from balcao.http.contents import Content, File, Json, Text
from balcao.http.openapi import errors, events
from balcao.http.openapi.errors import JSON, REQUEST_ID, SCHEMAS
from balcao.http.routes import Route
from balcao.operations.contract import EXAMPLE_MS, AnswerContext, Operation
from balcao.operations.parameters import Parameter

_ANSWER_CONTEXT = AnswerContext(EXAMPLE_MS, 1, ReceiptNumbers(b"exemplo"))
_EXAMPLE_DAY = "2026-08-08"  # of the data
_RESPONSES = "#/components/responses/"
_PLAIN_TEXT = "text/plain"
_TEXT_SCHEMA_NAME = f"{SCHEMAS}Texto"  # in names of shared responses that are not JSON
_FACE_RESULT, _FACE_ERROR = "RespostaDeFace", "ErroDeFace"
_FACE_SCHEMAS: Mapping[str, str] = {
    _FACE_RESULT: "Os dados cadastrais no formato do serviço original. Veja o exemplo.",
    _FACE_ERROR: "Uma recusa ou falha no formato do serviço original. Veja os exemplos.",
}

# The fields that `free_answer` adds: schema, meaning, example.
_ENVELOPE: Mapping[str, tuple[Mapping[str, object], str, object]] = {
    "request_id": (
        texts.UUID_SCHEMA,
        "Identificador desta requisição.",
        "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8",
    ),
    "success": ({"type": "boolean"}, "Sempre `true` nesta resposta.", True),
    "error": ({"type": "boolean"}, "Sempre `false` nesta resposta.", False),
}
# Errors of all routes with or without a key.
_WITH_KEY = (KeyRefused, AddressNotAllowed, RateLimited, RequestTooLarge)
_WITHOUT_KEY = (RequestTooLarge,)

_encode = msgspec.json.Encoder(decimal_format="number").encode


def build(
    routes: Iterable[Route], version: str, address: str, idempotency_hours: int, *, public: bool
) -> dict[str, Any]:
    """Return the document of these routes. Routes without an id are left out."""
    routes = [route for route in routes if route.id]
    address = address.rstrip("/")
    servers = [{"url": "/", "description": "Este servidor"}]
    if public:
        servers.append({"url": address, "description": "Endereço público"})
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _route(route, idempotency_hours)
    shared = _share_responses(paths)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": texts.TITLE,
            "version": version,
            "description": texts.introduction(idempotency_hours),
            "contact": {"name": texts.CONTACT, "url": f"{address}/"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": servers,
        "tags": [{"name": name, "description": text} for name, text in texts.TAGS.items()],
        "externalDocs": {"url": f"{address}/docs/sandbox", "description": "Documentos da sandbox"},
        "paths": paths,
        "webhooks": events.webhooks(),
        "components": {
            "securitySchemes": {
                "chave": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": texts.SECURITY,
                }
            },
            # Later versions may add fields to any answer. Without this, generated clients of some
            # languages refuse answers with unknown fields.
            "schemas": {
                name: {**schema, "additionalProperties": True}
                for name, schema in _schemas(routes).items()
            },
            "responses": shared,
            "headers": {
                name: {"description": text.description, "schema": dict(text.schema)}
                for name, text in texts.HEADERS.items()
                if text.sometimes
            },
        },
    }


# Routes.


def _route(route: Route, idempotency_hours: int) -> dict[str, Any]:
    in_query = {each.name for each in route.parameters if each.place == "query"}
    described: dict[str, Any] = {
        "operationId": route.id,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.text,
        "security": [{"chave": []}] if route.needs_key else [],
        "parameters": [_parameter(each, in_query, idempotency_hours) for each in route.parameters],
    }
    if (takes := route.takes) is not None:
        text = {"description": takes.text} if takes.text else {}
        content = _contents(takes.contents)
        described["requestBody"] = {"required": takes.required, **text, "content": content}
    responses = _responses(route)
    described["responses"] = {str(status): each for status, each in sorted(responses.items())}
    return described


def _parameter(
    parameter: Parameter, in_query: Collection[str], idempotency_hours: int
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "description": texts.with_hours(parameter.description, idempotency_hours),
        "required": parameter.required,
        "schema": dict(parameter.schema),
    }
    if parameter.example is not None:
        described["example"] = parameter.example
    if parameter.deprecated:
        described["deprecated"] = True
    if parameter.place == "header" and parameter.name in in_query:
        # Go has one name for a parameter, wherever it is sent; the one in the query keeps it.
        described["x-go-name"] = f"{parameter.name.capitalize()}Header"
    return described


def _contents(contents: Iterable[Content]) -> dict[str, Any]:
    return {each.media_type: _content(each) for each in contents}


def _content(content: Content) -> dict[str, Any]:
    match content:
        case Json():
            example = msgspec.json.decode(_encode(content.example))
            if content.envelope:
                example = {name: value for name, (_, _, value) in _ENVELOPE.items()} | example
            return {"schema": {"$ref": SCHEMAS + _name_of(content)}, "example": example}
        case Text():
            example = {"example": content.example} if content.example else {}
            return {"schema": dict(texts.TEXT), **example}
        case File():
            # `binary` is of older versions of OpenAPI; without it clients read files as text.
            kind = {"format": "binary", "contentMediaType": content.media_type}
            return {"schema": {**texts.TEXT, **kind}}


def _responses(route: Route) -> dict[int, Any]:
    """Return results and errors by status."""
    kinds = list(route.problems)
    if route.errors_of is None:  # an operation lists all its problems
        kinds = [*(_WITH_KEY if route.needs_key else _WITHOUT_KEY), *kinds]
    if route.operation is not None and route.compat is not None:
        return _compat_responses(route.operation, route.compat.api, kinds)
    form = errors.PLAIN if route.errors_of is None else errors.shape_of(route.errors_of)
    refused = errors.responses(
        kinds, form, {status: _error_headers(route, status) for status in texts.STATUSES}
    )
    done = {
        route.status: {
            "description": route.outcome or f"{route.summary}.",
            "headers": _result_headers(route),
            "content": _contents(route.gives),
        }
    }
    for other in route.other_results:
        contents = _contents(other.contents)
        done[other.status] = {
            **done[route.status],
            "description": other.outcome,
            "content": contents,
        }
    if route.operation is not None:
        done = _results(route.operation)
    # No status is both: a 404 is a result or an error.
    assert not done.keys() & refused.keys(), f"{route.path} has a result and an error of one status"
    return {**done, **refused}


def _results(operation: Operation) -> dict[int, dict[str, Any]]:
    """Return the responses with results of a lookup, by status."""
    by_status: dict[int, dict[str, Any]] = {}
    for example in operation.examples():
        reply = reply_of(
            REQUEST_ID, operation.conclude(example.question, example.outcomes, _ANSWER_CONTEXT)
        )
        body = msgspec.json.decode(reply.body)
        named = {example.name: {"summary": example.summary, "value": body}}
        by_status.setdefault(reply.status, {}).update(named)
    schema = {"$ref": SCHEMAS + description_of(operation.answer)[0]}
    return {
        status: {
            "description": texts.STATUSES[status],
            "headers": _headers(status),
            "content": {JSON: {"schema": schema, "examples": examples}},
        }
        for status, examples in by_status.items()
    }


# Lookups in the shapes of other services.


def _compat_responses(
    company: Operation, api: CompatApi, kinds: Sequence[type[BalcaoError]]
) -> dict[int, Any]:
    """Return the responses of a lookup in the shape of another service, by status."""
    by_status: dict[int, list[tuple[Problem, CompatAnswer]]] = {}
    document = str(company.parameters[0].example)
    problems = [problem_of(error) for kind in kinds for error in kind.samples()]
    for problem in [*problems, problem_of(RuntimeError())]:
        refusal = RefusedLookup(problem.status, problem.code, problem.message, document)
        compat = api.refuse(refusal)
        by_status.setdefault(compat.status, []).append((problem, compat))
    found = {status: _compat_refusal(status, each) for status, each in by_status.items()}
    record = company.example_record(Company)
    company_found = CompatInput(
        record, NO_DETAIL, _EXAMPLE_DAY, _EXAMPLE_DAY, free=False, kept=True
    )
    value = msgspec.json.decode(api.render(company_found).body)
    description = texts.STATUSES[200]
    examples = {"encontrada": {"summary": "A empresa existe", "value": value}}
    if 200 in by_status:  # the original answers errors with this status too
        codes = _codes(by_status[200])
        description += f' Erros sobre o CNPJ também, com `status` "ERROR": {codes}.'
        examples |= found[200]["content"][JSON]["examples"]
    content = {JSON: {"schema": {"$ref": SCHEMAS + _FACE_RESULT}, "examples": examples}}
    result = {"description": description, "headers": _headers(200), "content": content}
    return {**found, 200: result}


def _compat_refusal(
    status: int, refusals: Sequence[tuple[Problem, CompatAnswer]]
) -> dict[str, Any]:
    text = not refusals[0][1].media_type.startswith(JSON.encode())
    examples: dict[str, Any] = {}
    for problem, compat in refusals:
        value = compat.body.decode() if text else msgspec.json.decode(compat.body)
        examples.setdefault(problem.code, {"summary": problem.code, "value": value})
    schema = {"type": "string"} if text else {"$ref": SCHEMAS + _FACE_ERROR}
    return {
        "description": f"{texts.STATUSES[status]} `X-Codigo-Erro`: {_codes(refusals)}.",
        "headers": _headers(status),
        "content": {_PLAIN_TEXT if text else JSON: {"schema": schema, "examples": examples}},
    }


def _codes(refusals: Sequence[tuple[Problem, CompatAnswer]]) -> str:
    return ", ".join(f"`{code}`" for code in sorted({problem.code for problem, _ in refusals}))


# Headers.


def _headers(status: int) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    for name, text in texts.HEADERS.items():
        if status in text.always:
            described = {"description": text.description, "schema": dict(text.schema)}
            headers[name] = {"required": True, **described}
        elif status in text.sometimes:
            headers[name] = {"$ref": f"#/components/headers/{name}"}
    return headers


def _result_headers(route: Route) -> dict[str, Any]:
    headers = _headers(route.status)
    if route.charged:
        return headers
    names: Collection[str] = texts.HEADERS_OF_PAGES if route.needs_key else ("X-Request-Id",)
    kept = {
        name: headers[name]
        for name in names
        if name in headers and (route.tells_cost or name != "X-Creditos-Cobrados")
    }
    return kept | {
        name: {"required": True, "description": header.text, "schema": dict(header.schema)}
        for name, header in route.headers.items()
    }


def _error_headers(route: Route, status: int) -> dict[str, Any]:
    headers = _headers(status)
    if route.operation is not None or route.charged:
        return headers
    return {
        name: headers[name]
        for name in texts.HEADERS_OF_PAGES
        if name in headers and (route.needs_key or "RateLimit" not in name)
    }


# Schemas.


def _schemas(routes: Sequence[Route]) -> dict[str, Any]:
    operations = [*dict.fromkeys(each.operation for each in routes if each.operation is not None)]
    takes = (each for route in routes if route.takes is not None for each in route.takes.contents)
    others = (other.contents for route in routes for other in route.other_results)
    gives = (each for some in (*(route.gives for route in routes), *others) for each in some)
    bodies = [each for each in (*gives, *takes) if isinstance(each, Json)]
    answers = [operation.answer for operation in operations]
    found = _schemas_of([*answers, *(type(body.example) for body in bodies)])
    named = {_name_of(body): _body_schema(body, found) for body in bodies}
    shapes = {
        name: {"type": "object", "description": text, "properties": {}}
        for name, text in _FACE_SCHEMAS.items()
    }
    return errors.schemas(operations, found) | found | named | shapes


def _name_of(body: Json) -> str:
    return body.name or description_of(type(body.example))[0]


def _body_schema(body: Json, schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    name, text = description_of(type(body.example))
    of_type = schemas[name]
    envelope = {
        field: {**schema, "description": meaning}
        for field, (schema, meaning, _) in _ENVELOPE.items()
        if body.envelope
    }
    return {
        "type": "object",
        "description": body.text or text,
        "properties": envelope | of_type["properties"],
        "required": [*envelope, *of_type["required"]],
    }


def _schemas_of(types: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """Return the schemas of these types and of their parts, by their name in the document."""
    _, components = msgspec.json.schema_components(types, ref_template=SCHEMAS + "{name}")
    schemas: dict[str, Any] = {}
    for name, schema in components.items():
        # A member that answers leave out without a value is never null. Requests may send a null.
        config = described_type(name).__struct_config__
        silent = config.omit_defaults and not config.forbid_unknown_fields
        title, description = description_of(described_type(name))
        schemas[title] = {
            "type": "object",
            "description": description,
            "properties": {
                field: _plain(
                    of_field,
                    nullable=not (silent and of_field.get("default", ...) is None),
                )
                for field, of_field in schema["properties"].items()
            },
            "required": list(schema["required"]),
        }
    return schemas


def _plain(schema: Mapping[str, Any], *, nullable: bool = True) -> dict[str, Any]:
    """Simplify a schema generated by msgspec.

    References get the document's names, defaults are dropped, and `null` becomes one more type,
    which more tools support than `anyOf`.
    """
    kept = {
        key: _plain(value) if isinstance(value, Mapping) else value
        for key, value in schema.items()
        if key not in ("default", "anyOf", "$ref")
    }
    if schema.get("format") == "decimal":  # a number with all its digits
        return {"type": "number"}
    if "anyOf" in schema and "type" not in kept:
        kind, *others = [_plain(kind) for kind in schema["anyOf"] if kind != {"type": "null"}]
        if others:
            null = [{"type": "null"}] if {"type": "null"} in schema["anyOf"] else []
            return {"anyOf": [kind, *others, *null], **kept}
        if not nullable:
            return {**kind, **kept}
        if "enum" in kind:
            kind["enum"] = [*kind["enum"], None]
        if "type" in kind:
            return {**kind, **kept, "type": [kind["type"], "null"]}
        return {"anyOf": [kind, {"type": "null"}], **kept}
    if "$ref" in schema:
        name, _ = description_of(described_type(schema["$ref"].removeprefix(SCHEMAS)))
        return {"$ref": SCHEMAS + name, **kept}
    if kept.get("type") == "null":  # most languages have no name for it alone
        return {**kept, "type": ["object", "null"]}
    if "enum" not in kept:
        return kept
    if False in kept["enum"]:  # generators cannot restrict a boolean
        del kept["enum"]
        return {"type": "boolean", **kept}
    return {"type": "string", **kept}


def _share_responses(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Replace responses that several routes share by references, and return them by name.

    A name is schema and status, numbered where contents differ.
    """
    places: dict[bytes, list[tuple[dict[str, Any], str]]] = {}
    for described in (each for methods in paths.values() for each in methods.values()):
        responses = described["responses"]
        for status, response in responses.items():
            places.setdefault(msgspec.json.encode(response), []).append((responses, status))
    shared: dict[str, Any] = {}
    for alike in places.values():
        if len(alike) > 1:
            responses, status = alike[0]
            content = next(iter(responses[status]["content"].values()))
            schema = content["schema"].get("$ref", _TEXT_SCHEMA_NAME)
            base, number = f"{schema.removeprefix(SCHEMAS)}{status}", 1
            name = base
            while name in shared:
                number += 1
                name = f"{base}_{number}"
            shared[name] = responses[status]
            for responses, status in alike:
                responses[status] = {"$ref": _RESPONSES + name}
    return shared
