"""The OpenAPI 3.1 document, made from the code that answers.

Operations, parameters and the problems each may answer are data of `operations`; bodies of the
examples are made by the same functions that make real ones, schemas of their types.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from balcao.core import errors
from balcao.core.described import described_type, description_of
from balcao.core.idempotency import KEY_CHARACTERS_MAX, KEY_CHARACTERS_MIN
from balcao.core.outcomes import reply_of
from balcao.core.questions import Subject
from balcao.core.receipts import Numbering
from balcao.http.openapi import batches as openapi_batches
from balcao.http.openapi import bodies as openapi_bodies
from balcao.http.openapi import budgets as openapi_budgets
from balcao.http.openapi import compat as openapi_compat
from balcao.http.openapi import errors as openapi_errors
from balcao.http.openapi import pages as openapi_pages
from balcao.http.openapi import searches, texts
from balcao.http.openapi.errors import JSON, REQUEST_ID, SCHEMAS
from balcao.http.quotes import EXAMPLE, QuoteAnswer
from balcao.http.quotes import PREFIX as QUOTES
from balcao.http.routes import PREFIX
from balcao.operations import OPERATIONS
from balcao.operations.contract import EXAMPLE_MS, Circumstances, Operation
from balcao.operations.parameters import Parameter

_CIRCUMSTANCES = Circumstances(EXAMPLE_MS, 1, Numbering(b"exemplo"))
_RESPONSES = "#/components/responses/"
_SENTENCE = f"{SCHEMAS}Texto"  # what is no JSON, where it has to be named


def document(
    version: str,
    address: str = "http://127.0.0.1:8000",
    idempotency_hours: int = 96,
    operations: Mapping[Subject, Operation] = OPERATIONS,
    *,
    public: bool = False,
) -> dict[str, Any]:
    """The whole document. `address` is where this service is, for links, which must be absolute;
    a `public` one is offered as a second server."""
    address = address.rstrip("/")
    servers = [{"url": "/", "description": "Este servidor"}]
    if public:
        servers.append({"url": address, "description": "Endereço público"})
    paths: dict[str, Any] = {}
    for operation in operations.values():
        paths[_address(operation, PREFIX)] = {"get": _lookup(operation, idempotency_hours)}
    for operation in operations.values():
        paths[_address(operation, QUOTES)] = {"get": _quote(operation)}
    headers = {status: _headers(status) for status in texts.STATUSES}
    paths |= searches.paths(headers, _idempotency_key(idempotency_hours))
    if (company := operations.get("company")) is not None:
        described = _lookup(company, idempotency_hours)["parameters"]
        paths |= openapi_compat.paths(company, headers, described)
    paths |= openapi_pages.paths(_refusals, _page_headers_of_results)
    paths |= openapi_batches.paths(
        _refusals, _page_headers, _idempotency_key(idempotency_hours, texts.creating)
    )
    paths |= openapi_budgets.paths(
        _refusals, _page_headers, _idempotency_key(idempotency_hours, texts.creating)
    )
    kinds = [operation.answer for operation in operations.values()]
    answers = _answers([*kinds, QuoteAnswer, *searches.ANSWERS, *openapi_batches.ANSWERS])
    refused = openapi_errors.schemas(list(operations.values()), answers)
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
        "components": {
            "securitySchemes": {
                "chave": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": texts.SECURITY,
                }
            },
            # New fields may appear in any answer: without this word, generated clients of some
            # languages refuse an answer with a field that they do not know.
            "schemas": {
                name: {**schema, "additionalProperties": True}
                for name, schema in (
                    refused
                    | answers
                    | openapi_batches.schemas(answers)
                    | openapi_bodies.schemas()
                    | openapi_budgets.schemas()
                    | openapi_compat.schemas()
                ).items()
            },
            "responses": shared,
            "headers": {
                name: {"description": text.description, "schema": dict(text.schema)}
                for name, text in texts.HEADERS.items()
                if text.sometimes
            },
        },
    }


def _share_responses(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Put what several addresses answer alike into one place, and references where it was.

    Returns these responses by name: schema and status, numbered where contents differ.
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
            schema = content["schema"].get("$ref", _SENTENCE)
            base, number = f"{schema.removeprefix(SCHEMAS)}{status}", 1
            name = base
            while name in shared:
                number += 1
                name = f"{base}_{number}"
            shared[name] = responses[status]
            for responses, status in alike:
                responses[status] = {"$ref": _RESPONSES + name}
    return shared


def _address(operation: Operation, prefix: str) -> str:
    return f"{prefix}{operation.path}" + (f"/{{{operation.document}}}" * bool(operation.document))


# Lookups.


def _lookup(operation: Operation, idempotency_hours: int) -> dict[str, Any]:
    return {
        "operationId": operation.path.replace("-", "_"),
        "tags": [texts.TAG_LOOKUPS],
        "summary": operation.title,
        "description": operation.description,
        "security": [{"chave": []}],
        "parameters": [
            *(_parameter(each, operation) for each in operation.parameters),
            _idempotency_key(idempotency_hours),
        ],
        "responses": _responses(operation),
    }


def _parameter(parameter: Parameter, operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "required": parameter.required,
        "schema": dict(parameter.schema),
    }
    if parameter.example is not None:
        described["example"] = parameter.example
    if parameter.deprecated:
        described["deprecated"] = True
    if parameter.place == "header" and parameter.name in operation.names:
        # Go has one name for a parameter, wherever it is sent; the one in the query keeps it.
        described["x-go-name"] = f"{parameter.name.capitalize()}Header"
    return described


def _idempotency_key(
    hours: int, text: Callable[[int], str] = texts.idempotency_key
) -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "description": text(hours),
        "required": False,
        "schema": {
            "type": "string",
            "minLength": KEY_CHARACTERS_MIN,
            "maxLength": KEY_CHARACTERS_MAX,
            "pattern": "^[!-~]+$",
        },
    }


def _responses(operation: Operation) -> dict[str, Any]:
    """Results and errors by status. No status carries both: a 404 is one or the other."""
    results = _results(operation)
    headers = {status: _headers(status) for status in texts.STATUSES}
    refused = openapi_errors.responses(
        operation.problems, openapi_errors.shape_of(operation), headers
    )
    assert not results.keys() & refused.keys()
    done = {
        status: {
            "description": texts.STATUSES[status],
            "headers": headers[status],
            "content": {
                JSON: {
                    "schema": {"$ref": SCHEMAS + description_of(operation.answer)[0]},
                    "examples": examples,
                }
            },
        }
        for status, examples in results.items()
    }
    return {str(status): response for status, response in sorted({**done, **refused}.items())}


# What they would cost.


def _quote(operation: Operation) -> dict[str, Any]:
    kinds = [kind for kind in operation.problems if issubclass(kind, _ASKING_A_PRICE)]
    headers = {status: _page_headers(status) for status in texts.STATUSES}
    refused = openapi_errors.responses(kinds, openapi_errors.shape_of(operation), headers)
    schema = {"$ref": SCHEMAS + description_of(QuoteAnswer)[0]}
    body = msgspec.structs.replace(EXAMPLE, operacao=operation.path)
    example = msgspec.json.decode(msgspec.json.encode(body))
    return {
        "operationId": f"cotacao_{operation.path.replace('-', '_')}",
        "tags": [texts.TAG_QUOTES],
        "summary": f"Quanto custaria: {operation.title}",
        "description": texts.QUOTE,
        "security": [{"chave": []}],
        "parameters": [_parameter(each, operation) for each in operation.parameters],
        "responses": {
            "200": {
                "description": "O que a consulta custaria agora.",
                "headers": headers[200],
                "content": {JSON: {"schema": schema, "example": example}},
            },
            **{str(status): response for status, response in refused.items()},
        },
    }


# Its own refusals are in the answer; these are told as the lookup tells them.
_ASKING_A_PRICE = (
    errors.KeyRefused,
    errors.RateLimited,
    errors.RequestTooLarge,
    errors.AddressNotAllowed,
    errors.OperationNotAllowed,
    errors.CertificatesNotEnabled,
    errors.OptInNotEnabled,
    errors.InvalidCnpj,
    errors.InvalidCpf,
    errors.InvalidParameter,
    errors.RepeatedParameter,
    errors.MarkWithCpf,
    errors.InvalidStrategy,
    errors.InvalidUf,
    errors.DocumentRequired,
    errors.DocumentsConflict,
    errors.BirthDateRequired,
    errors.InvalidBirthDate,
    errors.BirthDateInFuture,
    errors.ParametersConflict,
    errors.StorageFailed,
)


def _results(operation: Operation) -> dict[int, dict[str, Any]]:
    """Examples of results, by status."""
    by_status: dict[int, dict[str, Any]] = {}
    for example in operation.examples():
        reply = reply_of(
            REQUEST_ID, operation.conclude(example.question, example.outcomes, _CIRCUMSTANCES)
        )
        body = msgspec.json.decode(reply.body)
        named = {example.name: {"summary": example.summary, "value": body}}
        by_status.setdefault(reply.status, {}).update(named)
    return by_status


def _headers(status: int) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    for name, text in texts.HEADERS.items():
        if status in text.always:
            described = {"description": text.description, "schema": dict(text.schema)}
            headers[name] = {"required": True, **described}
        elif status in text.sometimes:
            headers[name] = {"$ref": f"#/components/headers/{name}"}
    return headers


# Schemas.


def _answers(answers: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    """The schemas of results and their parts, by our name: types and texts are the answers' own."""
    _, components = msgspec.json.schema_components(answers, ref_template=SCHEMAS + "{name}")
    schemas: dict[str, Any] = {}
    for name, schema in components.items():
        # What is left out where there is nothing is never null.
        silent = described_type(name).__struct_config__.omit_defaults
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
    """A schema with our names in its references, without the defaults of Python, and with `null`
    as one more type, which more programs understand than `anyOf`."""
    kept = {
        key: _plain(value) if isinstance(value, Mapping) else value
        for key, value in schema.items()
        if key not in ("default", "anyOf", "$ref")
    }
    if schema.get("format") == "decimal":  # written as a number, with all its digits
        return {"type": "number"}
    if "anyOf" in schema:
        (kind,) = [_plain(kind) for kind in schema["anyOf"] if kind != {"type": "null"}]
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
    if kept.get("type") == "null":  # alone, it has no name in most languages
        return {**kept, "type": ["object", "null"]}
    return {"type": "string", **kept} if "enum" in kept else kept  # all ours are of texts


# Addresses that are no lookups.


def _refusals(kinds: Sequence[type[errors.BalcaoError]], keyed: bool) -> dict[str, Any]:
    """Responses to what goes wrong there, by status."""
    headers = {
        status: _page_headers(status) if keyed else _unlimited(_page_headers(status))
        for status in texts.STATUSES
    }
    found = openapi_errors.responses(kinds, openapi_errors.PLAIN, headers)
    return {str(status): response for status, response in found.items()}


def _page_headers(status: int) -> dict[str, Any]:
    """Those of the headers that are not about a lookup's result."""
    headers = {name: _headers(status).get(name) for name in texts.HEADERS_OF_PAGES}
    return {name: header for name, header in headers.items() if header is not None}


def _unlimited(headers: dict[str, Any]) -> dict[str, Any]:
    return {name: header for name, header in headers.items() if "RateLimit" not in name}


def _page_headers_of_results(status: int) -> dict[str, Any]:
    """What is fetched costs nothing, and does not say so."""
    headers = _page_headers(status)
    del headers["X-Creditos-Cobrados"]
    return headers
