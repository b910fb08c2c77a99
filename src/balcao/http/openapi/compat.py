"""Compatible faces in the OpenAPI document (decisions 16): whose clients exist, and need no schema.

What is answered is the original's to define; its shape is shown by an example of each.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balcao.core import errors
from balcao.core.company import Company
from balcao.core.faces import FACE_TITLES
from balcao.core.month_detail import NO_DETAIL
from balcao.core.problems import Problem, problem_of
from balcao.http.compat.dressing import addresses
from balcao.http.compat.face import Dressed, Face, RefusedLookup, ToldCompany
from balcao.http.openapi import texts
from balcao.http.openapi.errors import JSON, SCHEMAS
from balcao.operations.contract import Operation

_RESULT, _ERROR = "RespostaDeFace", "ErroDeFace"
_TEXT = "text/plain"

# What only the lookup's own parameters can bring about.
_NOT_HERE = (errors.InvalidStrategy, errors.OptInNotEnabled)

_DESCRIPTION = (
    "A consulta de dados cadastrais na forma de {title}: mesmas chaves e tipos, com letras no CNPJ."
    " Custa o mesmo, e aparece no extrato como `cnpj-receita-federal`. Erros vêm na forma do"
    " original, com o nosso código no cabeçalho `X-Codigo-Erro`. Programas que não enviam"
    " cabeçalhos usam uma chave de face no endereço: `/compat/k/CHAVE/{name}/…`."
)
_DAYS = {
    "name": "dias",
    "in": "path",
    "description": "Idade máxima, em dias, de um resultado guardado.",
    "required": True,
    "schema": {"type": "integer", "minimum": 0, "maximum": 365},
    "example": 30,
}


def schemas() -> dict[str, Any]:
    """Two open objects."""
    return {
        _RESULT: {
            "type": "object",
            "description": "Os dados cadastrais na forma do serviço original; veja o exemplo.",
            "properties": {},
        },
        _ERROR: {
            "type": "object",
            "description": "Uma recusa ou falha na forma do serviço original; veja os exemplos.",
            "properties": {},
        },
    }


def paths(
    company: Operation, headers: Mapping[int, Any], parameters: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The addresses. `parameters`: of the lookup; those of its query are none here."""
    kept = [each for each in parameters if each["in"] != "query" and each["name"] != "cache"]
    found: dict[str, Any] = {}
    for face, address in addresses():
        found[f"{address}{{cnpj}}"] = {"get": _lookup(company, face, headers, kept)}
        if face.name == "receitaws":
            of_age = _lookup(company, face, headers, [kept[0], _DAYS, *kept[1:]])
            of_age["operationId"] += "_dias"
            of_age["summary"] += ", com a idade máxima"
            found[f"{address}{{cnpj}}/days/{{dias}}"] = {"get": of_age}
    return found


def _lookup(
    company: Operation,
    face: Face,
    headers: Mapping[int, Any],
    parameters: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    title = FACE_TITLES[face.name]
    return {
        "operationId": f"compat_{face.name}",
        "tags": [texts.TAG_FACES],
        "summary": f"Dados cadastrais, na forma de {title}",
        "description": _DESCRIPTION.format(title=title, name=face.name),
        "security": [{"chave": []}],
        "parameters": [dict(each) for each in parameters],
        "responses": _responses(company, face, headers),
    }


def _responses(company: Operation, face: Face, headers: Mapping[int, Any]) -> dict[str, Any]:
    told: dict[int, list[tuple[Problem, Dressed]]] = {}
    kinds = [kind for kind in company.problems if kind not in _NOT_HERE]
    faced = [problem_of(error) for kind in kinds for error in kind.samples()]
    for problem in [*faced, problem_of(RuntimeError())]:
        asked = company.parameters[0].example
        dressed = face.refuse(
            RefusedLookup(problem.status, problem.code, problem.message, str(asked))
        )
        told.setdefault(dressed.status, []).append((problem, dressed))
    found = {status: _refused(status, each, headers) for status, each in sorted(told.items())}
    result = {
        "description": texts.STATUSES[200],
        "headers": headers[200],
        "content": {
            JSON: {
                "schema": {"$ref": SCHEMAS + _RESULT},
                "examples": {
                    "encontrada": {"summary": "A empresa existe", "value": _example(company, face)}
                },
            }
        },
    }
    if 200 in told:  # of these, errors too
        result["description"] += (
            f' Erros sobre o CNPJ também, com `status` "ERROR": {_codes(told[200])}.'
        )
        result["content"][JSON]["examples"] |= found[200]["content"][JSON]["examples"]
    return {str(status): each for status, each in sorted({**found, 200: result}.items())}


def _refused(
    status: int, told: Sequence[tuple[Problem, Dressed]], headers: Mapping[int, Any]
) -> dict[str, Any]:
    text = not told[0][1].media_type.startswith(JSON.encode())
    examples: dict[str, Any] = {}
    for problem, dressed in told:
        value = dressed.body.decode() if text else msgspec.json.decode(dressed.body)
        examples.setdefault(problem.code, {"summary": problem.code, "value": value})
    schema = {"type": "string"} if text else {"$ref": SCHEMAS + _ERROR}
    return {
        "description": f"{texts.STATUSES[status]} `X-Codigo-Erro`: {_codes(told)}.",
        "headers": headers[status],
        "content": {_TEXT if text else JSON: {"schema": schema, "examples": examples}},
    }


def _codes(told: Sequence[tuple[Problem, Dressed]]) -> str:
    return ", ".join(f"`{code}`" for code in sorted({problem.code for problem, _ in told}))


def _example(company: Operation, face: Face) -> Any:
    record = company.example_record(Company)
    told = ToldCompany(record, NO_DETAIL, "2026-08-08", free=False, kept=True)
    return msgspec.json.decode(face.dress(told).body)
