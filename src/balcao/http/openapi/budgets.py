"""The budgets' addresses in the OpenAPI document: bodies, examples, what goes wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from balcao.core import errors
from balcao.core.budgets import CEILING_MAX, NAME_CHARACTERS_MAX, PERIOD_KINDS, WARN_PERCENT
from balcao.http.account import PREFIX
from balcao.http.json_bodies import ITEMS_MAX, ITEMS_USUAL
from balcao.http.openapi import texts
from balcao.http.openapi.bodies import INSTANT, nullable, result
from balcao.http.openapi.errors import JSON, SCHEMAS
from balcao.http.openapi.pages import HeadersOf, Refusals

_KEYED = (errors.KeyRefused, errors.RateLimited, errors.RequestTooLarge)
_WRITING = (
    errors.NotAdministering,
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
    errors.StorageFailed,
    errors.CommitUncertain,
    errors.MarkWithCpf,
)
_CREATING = (
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.StillRunning,
    errors.BudgetsCrowded,
)
_TEXT = {"type": "string"}
_CEILING = {"type": "integer", "minimum": 0, "maximum": CEILING_MAX}
_COUNT = {"type": "integer", "minimum": 0}
_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b9"
_OWNER = {"$ref": f"{SCHEMAS}DonoDeOrcamento"}

# Field: schema, meaning, example.
_Fields = Mapping[str, tuple[Mapping[str, Any], str, object]]

_OWNED: _Fields = {
    "tipo": (
        {"type": "string", "enum": ["chave", "lote", "carteira", "cliente"]},
        "O que tem o orçamento; criam-se os de `chave` e de `cliente`.",
        "chave",
    ),
    "id": (_TEXT, "O número da chave, do lote ou da carteira.", "3"),
    "valor": (_TEXT, "O cliente, como em `X-Cliente`.", "loja-7"),
}
_CHANGEABLE: _Fields = {
    "nome": (
        {"type": "string", "minLength": 1, "maxLength": NAME_CHARACTERS_MAX},
        "Para reconhecê-lo.",
        "Loja da esquina",
    ),
    "teto_creditos": (nullable(_CEILING), "Teto em créditos; nulo: nenhum.", 500),
    "teto_consultas": (
        nullable(_CEILING),
        "Teto em consultas que custam créditos; nulo: nenhum.",
        None,
    ),
    "operacoes": (
        {"type": ["array", "null"], "items": _TEXT},
        "As operações que contam, como no endereço; nulo: todas.",
        None,
    ),
    "aviso_percentual": (
        {"type": "integer", "minimum": 1, "maximum": 100},
        f"Em que parte do teto há um aviso; padrão: {WARN_PERCENT}.",
        WARN_PERCENT,
    ),
}
_PERIOD: _Fields = {
    "de": (_OWNER, "De quem é.", {"tipo": "chave", "id": "3"}),
    "periodo": (
        {"type": "string", "enum": [*PERIOD_KINDS]},
        "Quando recomeça, em Brasília: nunca, todo dia ou todo mês.",
        "mes",
    ),
}
_BUDGET: _Fields = {
    "id": ({"type": "string", "format": "uuid"}, "Identificador do orçamento.", _ID),
    **_PERIOD,
    **_CHANGEABLE,
    "usado_creditos": (_COUNT, "Gastos no período.", 120),
    "reservado_creditos": (_COUNT, "Reservados por consultas em andamento.", 2),
    "usadas_consultas": (_COUNT, "Cobradas no período, e em andamento.", 61),
    "volta_em": (
        nullable(INSTANT),
        "Quando o período recomeça; nulo: nunca.",
        "2026-09-01T00:00:00.000-03:00",
    ),
    "criado_em": (INSTANT, "Quando foi criado.", "2026-08-08T10:15:30.120-03:00"),
}
_LIST: _Fields = {
    "itens": (
        {"type": "array", "items": {"$ref": f"{SCHEMAS}Orcamento"}},
        "Os orçamentos em vigor, os mais antigos primeiro.",
        [{name: value for name, (_, _, value) in _BUDGET.items()}],
    ),
    "cursor": (nullable(_TEXT), "Para a página seguinte; nulo: é a última.", None),
}
_SCHEMAS: Mapping[str, tuple[str, _Fields, Sequence[str]]] = {
    "DonoDeOrcamento": ("De quem é um orçamento.", _OWNED, ("tipo",)),
    "Orcamento": ("Um teto, e o que dele foi usado.", _BUDGET, [*_BUDGET]),
    "RespostaOrcamento": ("Um orçamento.", result(_BUDGET), [*result(_BUDGET)]),
    "RespostaOrcamentos": ("Uma página de orçamentos.", result(_LIST), [*result(_LIST)]),
    "NovoOrcamento": (
        "Um orçamento a criar: com `teto_creditos`, `teto_consultas` ou os dois.",
        {**_PERIOD, **_CHANGEABLE},
        [*_PERIOD],
    ),
    "MudancaDeOrcamento": ("O que muda em um orçamento.", _CHANGEABLE, ()),
}
_SENT: Mapping[str, Mapping[str, object]] = {
    "NovoOrcamento": {
        "de": {"tipo": "chave", "id": "3"},
        "periodo": "mes",
        "teto_creditos": 500,
        "nome": "Loja da esquina",
    },
    "MudancaDeOrcamento": {"teto_creditos": 800},
}


def schemas() -> dict[str, Any]:
    """The bodies, by name in the document."""
    return {
        name: {
            "type": "object",
            "description": description,
            "properties": {
                field: {**schema, "description": text}
                for field, (schema, text, _) in fields.items()
            },
            "required": list(required),
        }
        for name, (description, fields, required) in _SCHEMAS.items()
    }


def paths(refusals: Refusals, headers: HeadersOf, idempotency_key: Any) -> dict[str, Any]:
    """Both of them."""

    def address(  # noqa: PLR0917 - a line of the document
        name: str,
        summary: str,
        text: str,
        answer: str,
        problems: Sequence[type[errors.BalcaoError]],
        parameters: Sequence[Any] = (),
        body: str | None = None,
        status: int = 200,
    ) -> dict[str, Any]:
        described: dict[str, Any] = {
            "operationId": name,
            "tags": [texts.TAG_BUDGETS],
            "summary": summary,
            "description": text,
            "security": [{"chave": []}],
            "parameters": list(parameters),
        }
        if body is not None:
            schema = {"$ref": SCHEMAS + body}
            content = {JSON: {"schema": schema, "example": dict(_SENT[body])}}
            described["requestBody"] = {"required": True, "content": content}
        fields = _SCHEMAS[answer][1]
        example = {field: value for field, (_, _, value) in fields.items()}
        content = {JSON: {"schema": {"$ref": SCHEMAS + answer}, "example": example}}
        good = {"description": f"{summary}.", "headers": headers(status), "content": content}
        described["responses"] = {str(status): good, **refusals((*_KEYED, *problems), True)}
        return described

    one = [
        {
            "name": "id",
            "in": "path",
            "description": "O `id` do orçamento.",
            "required": True,
            "schema": {"type": "string", "format": "uuid"},
        }
    ]
    unknown = (errors.BudgetNotFound,)
    listing = (errors.InvalidParameter, errors.RepeatedParameter, errors.StorageFailed)
    return {
        f"{PREFIX}orcamentos": {
            "get": address(
                "orcamentos",
                "Os orçamentos em vigor",
                texts.BUDGETS,
                "RespostaOrcamentos",
                listing,
                _PAGES,
            ),
            "post": address(
                "criar_orcamento",
                "Um orçamento novo",
                texts.NEW_BUDGET,
                "RespostaOrcamento",
                (*_WRITING, *_CREATING),
                [idempotency_key],
                "NovoOrcamento",
                201,
            ),
        },
        f"{PREFIX}orcamentos/{{id}}": {
            "get": address(
                "orcamento",
                "Um orçamento",
                texts.BUDGETS,
                "RespostaOrcamento",
                (*unknown, errors.StorageFailed),
                one,
            ),
            "patch": address(
                "mudar_orcamento",
                "Um orçamento mudado",
                texts.CHANGED_BUDGET,
                "RespostaOrcamento",
                (*_WRITING, *unknown, errors.BudgetsCrowded),
                one,
                "MudancaDeOrcamento",
            ),
            "delete": address(
                "remover_orcamento",
                "Um orçamento removido",
                texts.ENDED_BUDGET,
                "RespostaOrcamento",
                (
                    errors.NotAdministering,
                    *unknown,
                    errors.BudgetOfItsOwner,
                    errors.StorageFailed,
                    errors.CommitUncertain,
                ),
                one,
            ),
        },
    }


_PAGES = [
    {
        "name": "limite",
        "in": "query",
        "description": f"Quantos por página, de 1 a {ITEMS_MAX}.",
        "required": False,
        "schema": {"type": "integer", "minimum": 1, "maximum": ITEMS_MAX, "default": ITEMS_USUAL},
    },
    {
        "name": "cursor",
        "in": "query",
        "description": "O `cursor` da página anterior.",
        "required": False,
        "schema": _TEXT,
    },
]
