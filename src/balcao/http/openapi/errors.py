"""Refusals and failures in the OpenAPI document: few named schemas, many examples.

Generators make a class of every schema, so a form of error is one component for all statuses and
codes. The codes of a status are in its description and examples only, so that a new code does not
break clients that were generated before it (ADR 0027).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from balcao.core import errors
from balcao.core.described import description_of
from balcao.core.outcomes import Conclusion, reply_of
from balcao.core.problems import Problem, problem_of
from balcao.core.tariff import ERROR
from balcao.http import texts
from balcao.operations import envelope
from balcao.operations.contract import Operation
from balcao.operations.envelope import ErrorFields

JSON = "application/json"
REQUEST_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b7"
SCHEMAS = "#/components/schemas/"

# Fields of all errors, and of some.
_ENVELOPE = ("request_id", "success", "error", "error_message", "message")
_FURTHER: Mapping[str, str] = {
    "cnpj": "CNPJ consultado, sem pontuação, quando é conhecido.",
    "cpf": "CPF consultado, sem pontuação, quando é conhecido.",
    "inscricoes_estaduais": "Sempre vazia: não há dados de inscrições.",
    "response": "Sempre nulo: não há dados.",
}
_CREDITS: Mapping[str, str] = {
    "creditos_necessarios": "Só com status 402: o preço máximo da consulta, em créditos.",
    "creditos_disponiveis": "Só com `SALDO_INSUFICIENTE`: os créditos disponíveis na conta.",
    "creditos_maximos": "Só com `TETO_DA_REQUISICAO`: o máximo enviado em X-Creditos-Maximos.",
}

_OF_CEILINGS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "teto": ({"type": "integer", "minimum": 0}, "O limite do orçamento que recusou a consulta."),
    "usado": ({"type": "integer", "minimum": 0}, "O valor usado no período."),
    "reservado": (
        {"type": "integer", "minimum": 0},
        "O valor reservado por consultas em andamento.",
    ),
    "necessario": ({"type": "integer", "minimum": 0}, "O preço máximo da consulta."),
    "volta_em": (
        {"type": ["string", "null"], "format": "date-time"},
        "Quando começa o próximo período. Nulo: nunca.",
    ),
}

_PLAIN = "Erro"
_DETAIL = "DetalheErro"


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """The body of errors at some addresses: the schema's name, and the function that makes it."""

    name: str
    fields_of: ErrorFields
    document: str = ""  # of the examples, which are about the document of the results

    def body(self, problem: Problem) -> Any:
        """Return an example of the whole body."""
        return _body(problem, self.fields_of, self.document)


PLAIN = ErrorShape(_PLAIN, envelope.plain_error_fields)


def shape_of(operation: Operation) -> ErrorShape:
    """Return the shape of an operation's errors: the plain one if it adds no fields."""
    document = str(operation.parameters[0].example)  # also where it is in the query
    if not _further(operation.error_fields, document):
        return ErrorShape(_PLAIN, operation.error_fields, document)
    name = description_of(operation.answer)[0].replace("Resposta", _PLAIN)
    return ErrorShape(name, operation.error_fields, document)


def schemas(
    operations: Sequence[Operation], answers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the schemas of all shapes, by name. `answers`: the schemas of results."""
    found = {_PLAIN: _schema({}, ()), _DETAIL: _detail()}
    for operation in operations:
        form = shape_of(operation)
        if form.name in found:
            continue
        result = answers[description_of(operation.answer)[0]]
        properties = {
            name: {**_empty(value, result["properties"][name]), "description": _FURTHER[name]}
            for name, value in _further(form.fields_of, form.document).items()
        }
        found[form.name] = _schema(properties, _further(form.fields_of, ""))
    return found


def responses(
    kinds: Sequence[type[errors.BalcaoError]], form: ErrorShape, headers: Mapping[int, Any]
) -> dict[int, Any]:
    """Return the responses for these errors, and for a bug, by status."""
    return {
        status: {
            "description": _description(status, problems),
            "headers": headers[status],
            "content": {
                JSON: {
                    "schema": {"$ref": SCHEMAS + form.name},
                    "examples": _examples(form, problems),
                }
            },
        }
        for status, problems in sorted(_problems(kinds).items())
    }


def _problems(kinds: Sequence[type[errors.BalcaoError]]) -> dict[int, list[Problem]]:
    variants = [problem_of(error) for kind in kinds for error in kind.samples()]
    variants.append(problem_of(RuntimeError()))
    by_status: dict[int, list[Problem]] = {}
    for problem in variants:
        by_status.setdefault(problem.status, []).append(problem)
    return by_status


def _description(status: int, problems: Sequence[Problem]) -> str:
    codes = ", ".join(f"`{code}`" for code in sorted({problem.code for problem in problems}))
    return f"{texts.STATUSES[status]} `error_message.code`: {codes}."


def _examples(form: ErrorShape, problems: Sequence[Problem]) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    for problem in problems:
        name, number = problem.code, 1
        while name in examples:
            number += 1
            name = f"{problem.code}-{number}"
        examples[name] = {
            "summary": f"{problem.code}: {problem.message}",
            "value": form.body(problem),
        }
    return examples


def _body(problem: Problem, fields_of: ErrorFields, document: str) -> Any:
    fields = fields_of(problem, document)
    conclusion = Conclusion(problem.status, fields, credits=0, rule=ERROR, code=problem.code)
    return msgspec.json.decode(reply_of(REQUEST_ID, conclusion).body)


# Schemas.


def _further(fields_of: ErrorFields, document: str) -> dict[str, Any]:
    """Return an example of the fields that an operation's errors add to the envelope."""
    body = _body(problem_of(RuntimeError()), fields_of, document)
    return {name: value for name, value in body.items() if name not in _ENVELOPE}


def _empty(value: object, of_result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a field that is always empty in errors."""
    if value is None:  # never `null` alone: no language has such a type
        return {"type": ["object", "null"]}
    if isinstance(value, list):
        return {**of_result, "maxItems": 0}
    return {"type": "string"}


def _schema(properties: Mapping[str, Any], required: Mapping[str, Any] | Sequence[str]) -> Any:
    count = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "description": "Recusa ou falha técnica. Nada foi cobrado.",
        "properties": {
            "request_id": {
                "type": "string",
                "format": "uuid",
                "description": "Identificador único da operação.",
            },
            "success": {"type": "boolean", "description": "Sempre `false` nesta resposta."},
            "error": {"type": "boolean", "description": "Sempre `true` nesta resposta."},
            "error_message": {"$ref": SCHEMAS + _DETAIL, "description": "O erro."},
            "message": {"type": "string", "description": "Igual a `error_message.message`."},
            **properties,
            **{name: {**count, "description": text} for name, text in _CREDITS.items()},
            **{
                name: {**schema, "description": f"Só com `TETO_…` de um orçamento: {text}"}
                for name, (schema, text) in _OF_CEILINGS.items()
            },
            "cursor_mais_antigo": {
                "type": "string",
                "description": "Só com `CURSOR_VENCIDO`: o cursor do evento mais antigo.",
            },
        },
        "required": [*_ENVELOPE, *required],
    }


def _detail() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "O erro, para pessoas e para programas.",
        "properties": {
            "message": {"type": "string", "description": "Texto para pessoas."},
            "code": {
                "type": "string",
                "pattern": "^[A-Z][A-Z0-9_]+$",
                "description": (
                    "Código estável, para programas. Podem aparecer novos. Os códigos de cada"
                    " status estão na descrição das respostas."
                ),
            },
        },
        "required": ["message", "code"],
    }
