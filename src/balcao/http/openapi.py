"""The OpenAPI 3.1 document, made from the code that answers.

Operations, parameters and the problems each may answer are data of `subjects`; bodies of the
examples are made by the same functions that make real ones; words are in `openapi_texts`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from balcao import errors
from balcao.core.idempotency import KEY_CHARACTERS_MAX, KEY_CHARACTERS_MIN
from balcao.core.outcomes import Conclusion, reply_of
from balcao.core.problems import Problem, problem_of
from balcao.core.questions import Subject
from balcao.core.receipts import Numbering
from balcao.http import openapi_pages
from balcao.http import openapi_texts as texts
from balcao.http import openapi_types as types
from balcao.http.front import PREFIX
from balcao.subjects import OPERATIONS, envelope
from balcao.subjects.contract import Circumstances, Operation, Parameter

_REQUEST_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b7"
_JSON = "application/json"
_CIRCUMSTANCES = Circumstances(1_786_158_000_000, 1, Numbering(b"exemplo"))  # 2026-08-08
_SCHEMAS = "#/components/schemas/"
_ERROR = "Erro"


def document(
    version: str,
    public_url: str = "",
    idempotency_hours: int = 96,
    operations: Mapping[Subject, Operation] = OPERATIONS,
) -> dict[str, Any]:
    """The whole document. `public_url` is offered as a second server, when known."""
    servers = [{"url": "/", "description": "Este servidor"}]
    if public_url:
        servers.append({"url": public_url.rstrip("/"), "description": "Endereço público"})
    paths: dict[str, Any] = {}
    for operation in operations.values():
        address = f"{PREFIX}{operation.path}"
        if operation.document:
            address += f"/{{{operation.document}}}"
        paths[address] = {"get": _lookup(operation, idempotency_hours)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": texts.TITLE,
            "version": version,
            "description": texts.introduction(idempotency_hours),
        },
        "servers": servers,
        "tags": [{"name": name, "description": text} for name, text in texts.TAGS.items()],
        "externalDocs": {"url": "/docs/sandbox", "description": "Documentos do sandbox"},
        "paths": paths | openapi_pages.paths(_refusals, _page_headers_of_results),
        "components": {
            "securitySchemes": {
                "chave": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": texts.SECURITY,
                }
            },
            "schemas": _schemas(operation.answer for operation in operations.values()),
            "headers": {
                name: {"description": text.description, "schema": dict(text.schema)}
                for name, text in texts.HEADERS.items()
                if text.sometimes
            },
        },
    }


def samples(kind: type[errors.BalcaoError]) -> Sequence[errors.BalcaoError]:
    """Instances of an error that stand for all of its faces."""
    if kind is errors.RateLimited:
        return (errors.RateLimited(12, "minuto"),)
    if kind is errors.InsufficientCredits:
        return (errors.InsufficientCredits(1, 0),)
    if kind is errors.StillRunning:
        return (errors.StillRunning(26),)
    if kind is errors.RequestTooLarge:
        return (errors.RequestTooLarge(headers=False), errors.RequestTooLarge(headers=True))
    return (kind(),)


# Lookups.


def _lookup(operation: Operation, idempotency_hours: int) -> dict[str, Any]:
    return {
        "operationId": operation.path.replace("-", "_"),
        "tags": [texts.TAG_LOOKUPS],
        "summary": operation.title,
        "description": operation.description,
        "security": [{"chave": []}],
        "parameters": [
            *map(_parameter, operation.parameters),
            _idempotency_key(idempotency_hours),
        ],
        "responses": _responses(operation),
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
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
    return described


def _idempotency_key(hours: int) -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "description": texts.idempotency_key(hours),
        "required": False,
        "schema": {
            "type": "string",
            "minLength": KEY_CHARACTERS_MIN,
            "maxLength": KEY_CHARACTERS_MAX,
            "pattern": "^[!-~]+$",
        },
    }


def _responses(operation: Operation) -> dict[str, Any]:
    results = _results(operation)
    problems = _problems(operation.problems)
    responses: dict[str, Any] = {}
    for status in sorted({*results, *problems}):
        schemas: list[dict[str, Any]] = []
        examples: dict[str, Any] = {}
        if status in results:
            schemas.append({"$ref": _SCHEMAS + types.TYPES[operation.answer.__name__].name})
            examples |= results[status]
        if status in problems:
            schemas.append(_error_schema(problems[status], _fields_of(operation)))
            examples |= _problem_examples(_fields_of(operation), problems[status])
        responses[str(status)] = {
            "description": texts.STATUSES[status],
            "headers": _headers(status),
            "content": {
                _JSON: {
                    "schema": schemas[0] if len(schemas) == 1 else {"oneOf": schemas},
                    "examples": examples,
                }
            },
        }
    return responses


def _results(operation: Operation) -> dict[int, dict[str, Any]]:
    """Examples of results, by status."""
    by_status: dict[int, dict[str, Any]] = {}
    for example in operation.examples:
        reply = reply_of(
            _REQUEST_ID, operation.conclude(example.question, example.outcomes, _CIRCUMSTANCES)
        )
        body = msgspec.json.decode(reply.body)
        named = {example.name: {"summary": example.summary, "value": body}}
        by_status.setdefault(reply.status, {}).update(named)
    return by_status


def _problems(kinds: Sequence[type[errors.BalcaoError]]) -> dict[int, list[Problem]]:
    """Everything that can go wrong, by status. A bug of ours always can."""
    faces = [problem_of(error) for kind in kinds for error in samples(kind)]
    faces.append(problem_of(RuntimeError()))
    by_status: dict[int, list[Problem]] = {}
    for problem in faces:
        by_status.setdefault(problem.status, []).append(problem)
    return by_status


def _fields_of(operation: Operation) -> Callable[[Problem], bytes]:
    """An operation's errors, about the document of its examples."""
    document = str(operation.parameters[0].example)  # also where it is in the query
    return lambda problem: operation.error_fields(problem, document)


def _problem_examples(
    fields_of: Callable[[Problem], bytes], problems: Sequence[Problem]
) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    for problem in problems:
        name, number = problem.code, 1
        while name in examples:
            number += 1
            name = f"{problem.code}-{number}"
        body = _body(problem, fields_of(problem))
        examples[name] = {"summary": f"{problem.code}: {problem.message}", "value": body}
    return examples


def _body(problem: Problem, fields: bytes) -> Any:
    conclusion = Conclusion(problem.status, fields, credits=0, rule="erro", code=problem.code)
    return msgspec.json.decode(reply_of(_REQUEST_ID, conclusion).body)


def _error_schema(
    problems: Sequence[Problem], fields_of: Callable[[Problem], bytes]
) -> dict[str, Any]:
    """The error envelope, with the codes of these problems and the operation's further fields."""
    codes = sorted({problem.code for problem in problems})
    message = {"type": "string"}
    known: dict[str, Any] = {}
    properties: dict[str, Any] = {
        "error_message": {
            "type": "object",
            "properties": {"message": message, "code": {"type": "string", "enum": codes}},
        }
    }
    for name, value in _body(problems[0], fields_of(problems[0])).items():
        if isinstance(value, int) and not isinstance(value, bool):
            properties[name] = {"type": "integer", "minimum": 0}
        elif isinstance(value, str) and name not in _error()["properties"]:
            known[name] = {"type": "string"}  # the document, where it is known
        elif name not in _error()["properties"]:
            properties[name] = {"const": value}  # null, or an empty list
    narrowed = {
        "type": "object",
        "properties": properties | known,
        "required": sorted(properties),
    }
    return {"allOf": [{"$ref": _SCHEMAS + _ERROR}, narrowed]}


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


def _schemas(answers: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components(answers, ref_template=_SCHEMAS + "{name}")
    schemas: dict[str, Any] = {_ERROR: _error()}
    for name, schema in components.items():
        text = types.TYPES[name]
        properties = {
            field: _renamed(of_field) | _field(text.fields[field])
            for field, of_field in schema["properties"].items()
        }
        schemas[text.name] = {
            "type": "object",
            "description": text.description,
            "properties": properties,
            "required": list(schema["required"]),
        }
    return schemas


def _field(text: types.FieldText) -> dict[str, Any]:
    return {"description": text.description, **text.schema}


def _renamed(schema: Any) -> Any:
    """A schema with our names in its references, and without the defaults of Python."""
    if isinstance(schema, Mapping):
        return {
            key: _SCHEMAS + types.TYPES[value.removeprefix(_SCHEMAS)].name
            if key == "$ref"
            else _renamed(value)
            for key, value in schema.items()
            if key != "default"
        }
    if isinstance(schema, (list, tuple)):
        return [_renamed(item) for item in schema]
    return schema


def _error() -> dict[str, Any]:
    fields = types.ENVELOPE
    return {
        "type": "object",
        "description": "Recusa ou falha técnica. Nada foi cobrado.",
        "properties": {
            "request_id": {"type": "string", **_field(fields["request_id"])},
            "success": {"type": "boolean", "const": False, **_field(fields["success"])},
            "error": {"type": "boolean", "const": True, **_field(fields["error"])},
            "error_message": {
                "type": "object",
                "properties": {
                    "message": {"type": "string", "description": "Texto para pessoas."},
                    "code": {"type": "string", "description": "Código estável, para programas."},
                },
                "required": ["message", "code"],
            },
            "message": {"type": "string", "description": "Igual a `error_message.message`."},
        },
        "required": ["request_id", "success", "error", "error_message", "message"],
    }


# Addresses that are no lookups.


def _refusals(kinds: Sequence[type[errors.BalcaoError]], keyed: bool) -> dict[str, Any]:
    """Responses to what goes wrong there, by status."""
    return {
        str(status): {
            "description": texts.STATUSES[status],
            "headers": _page_headers(status) if keyed else _unlimited(_page_headers(status)),
            "content": {
                _JSON: {
                    "schema": _error_schema(problems, envelope.error_fields),
                    "examples": _problem_examples(envelope.error_fields, problems),
                }
            },
        }
        for status, problems in sorted(_problems(kinds).items())
    }


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
