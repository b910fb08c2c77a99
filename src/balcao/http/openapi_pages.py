"""The addresses of the OpenAPI document that are no lookups: receipts, the account, the service.

They cost nothing. Their bodies are few and fixed, so they stand here as data; how errors look is
handed in by `openapi.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from balcao import errors
from balcao.http import openapi_texts as texts
from balcao.http.account import OPERATION_DAYS, PREFIX
from balcao.http.front import PREFIX as LOOKUPS
from balcao.statement import DAYS_DEFAULT, DAYS_MAX
from balcao.subjects import federal_certificate, state_certificate

JSON = "application/json"

# Responses to what goes wrong, by status: of these kinds, and whether a key is asked for.
Refusals = Callable[[Sequence[type[errors.BalcaoError]], bool], dict[str, Any]]
HeadersOf = Callable[[int], dict[str, Any]]

_KEYED = (errors.KeyRefused, errors.RateLimited, errors.RequestTooLarge)
_UUID = {"type": "string", "format": "uuid"}
_COUNT = {"type": "integer", "minimum": 0}
_REQUEST_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
_OPERATION_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b7"

_DONE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "request_id": (_UUID, "Identificador desta requisição."),
    "success": ({"type": "boolean", "const": True}, "Sempre `true` nesta resposta."),
    "error": ({"type": "boolean", "const": False}, "Sempre `false` nesta resposta."),
}
_DAY = {"type": "string", "format": "date"}
_INSTANT = {"type": "string", "format": "date-time"}
_DAY_OR_NONE = {"anyOf": [_DAY, {"type": "string", "maxLength": 0}]}  # empty counts as omitted


def paths(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    """All of them."""
    return _receipts(refusals, headers) | _account(refusals, headers) | _service(refusals, headers)


# Receipts.


def _receipts(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    problems = (errors.ReceiptNotFound, errors.StorageFailed)
    return {
        f"{LOOKUPS}{federal_certificate.PATH}/print/{{receipt_id}}": {
            "get": {
                "operationId": "comprovante_federal",
                "tags": [texts.TAG_RECEIPTS],
                "summary": "Comprovante de uma certidão federal",
                "description": texts.FEDERAL_RECEIPT,
                "security": [{"chave": []}],
                "parameters": [_id("receipt_id", "O fim do endereço em `print`.")],
                "responses": {
                    "200": {
                        "description": "O documento, como a fonte o emitiu.",
                        "headers": headers(200) | _file_headers("private, no-store", html=True),
                        "content": _file("application/pdf") | _file("text/html"),
                    },
                    **refusals((*_KEYED, *problems), True),
                },
            }
        },
        f"{LOOKUPS}{state_certificate.PATH}/print/{{receipt_id}}": {
            "get": {
                "operationId": "comprovante_estadual",
                "tags": [texts.TAG_RECEIPTS],
                "summary": "Comprovante de uma certidão estadual",
                "description": texts.STATE_RECEIPT,
                "security": [],
                "parameters": [_id("receipt_id", "O fim do endereço em `print`.")],
                "responses": {
                    "200": {
                        "description": "O documento, como a fonte o emitiu.",
                        "headers": {"X-Request-Id": headers(200)["X-Request-Id"]}
                        | _file_headers("public, max-age=86400, immutable", html=False),
                        "content": _file("application/pdf"),
                    },
                    **refusals((errors.RequestTooLarge, *problems), False),
                },
            }
        },
    }


def _file(media_type: str) -> dict[str, Any]:
    return {media_type: {"schema": {"type": "string", "contentMediaType": media_type}}}


def _file_headers(caching: str, *, html: bool) -> dict[str, Any]:
    found = {
        "Content-Disposition": (
            "Nome do arquivo; HTML vem como anexo (`attachment`)."
            if html
            else "Nome do arquivo, aberto no navegador (`inline`).",
            {"type": "string"},
        ),
        "X-Content-Type-Options": ("O tipo não deve ser adivinhado.", {"const": "nosniff"}),
        "Cache-Control": ("Quem pode guardar o arquivo.", {"const": caching}),
    }
    return {
        name: {"required": True, "description": text, "schema": schema}
        for name, (text, schema) in found.items()
    }


# The account.


def _account(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    def window(
        name: str,
        summary: str,
        description: str,
        content: dict[str, Any],
        *,
        parameters: Sequence[dict[str, Any]] = (),
        problems: Sequence[type[errors.BalcaoError]] = (),
    ) -> dict[str, Any]:
        return {
            "get": {
                "operationId": name,
                "tags": [texts.TAG_ACCOUNT],
                "summary": summary,
                "description": description,
                "security": [{"chave": []}],
                "parameters": list(parameters),
                "responses": {
                    "200": {
                        "description": f"{summary}.",
                        "headers": headers(200),
                        "content": content,
                    },
                    **refusals((*_KEYED, *problems), True),
                },
            }
        }

    return {
        f"{PREFIX}saldo": window("saldo", "Saldo da conta", texts.BALANCE, _json(_BALANCE)),
        f"{PREFIX}consumo": window(
            "consumo",
            "Consumo da conta em um período",
            texts.consumption(DAYS_DEFAULT, DAYS_MAX),
            _json(_CONSUMPTION) | {"text/csv": {"schema": {"type": "string"}}},
            parameters=(
                _query("de", f"Primeiro dia; padrão: {DAYS_DEFAULT} dias até `ate`.", _DAY_OR_NONE),
                _query("ate", "Último dia, incluído; padrão: hoje, em Brasília.", _DAY_OR_NONE),
                _query(
                    "formato",
                    "JSON, ou CSV com ponto e vírgula para planilhas. Sem ele decide o cabeçalho"
                    " Accept (`text/csv`); o padrão é JSON.",
                    {"type": "string", "enum": ["json", "csv", ""]},
                ),
            ),
            problems=(errors.InvalidParameter, errors.RepeatedParameter),
        ),
        f"{PREFIX}operacoes/{{request_id}}": window(
            "operacoes",
            "Uma operação: se foi cobrada",
            texts.operation(OPERATION_DAYS),
            _json(_OPERATION),
            parameters=(
                _id("request_id", "O `request_id` da resposta, ou do cabeçalho `X-Request-Id`."),
            ),
            problems=(errors.OperationNotFound,),
        ),
    }


def _id(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "description": description,
        "required": True,
        "schema": dict(_UUID),
    }


def _query(name: str, description: str, schema: Mapping[str, object]) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "required": False,
        "schema": dict(schema),
    }


def _nullable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


# Field: schema, meaning, example.
_Fields = Mapping[str, tuple[Mapping[str, Any], str, object]]

_BALANCE: _Fields = {
    "conta": ({"type": "string"}, "Nome da conta.", "acme"),
    "plano": (
        {"type": "string", "enum": ["gratuito", "pre_pago", "pos_pago"]},
        "Plano.",
        "pre_pago",
    ),
    "modo": ({"type": "string", "enum": ["live", "test"]}, "Produção ou teste.", "live"),
    "saldo_creditos": (
        _nullable({"type": "integer"}),
        "Saldo, com o que está reservado; nulo: pós-pago, que não tem saldo.",
        9_800,
    ),
    "creditos_reservados": (_COUNT, "Reservados por consultas em andamento.", 2),
    "creditos_disponiveis": (
        _nullable({"type": "integer"}),
        "O que se pode gastar agora; nulo: pós-pago sem teto.",
        9_798,
    ),
    "teto_mensal_creditos": (_nullable(_COUNT), "Teto do mês no pós-pago, se há um.", None),
    "mes": ({"type": "string", "pattern": r"^\d{4}-\d{2}$"}, "Mês em Brasília.", "2026-08"),
    "creditos_gastos_no_mes": (_COUNT, "Cobrados neste mês.", 200),
}
_LINE: _Fields = {
    "dia": (_DAY, "Dia em Brasília.", "2026-08-08"),
    "operacao": (
        {"type": "string"},
        "Operação, como no endereço.",
        "certidao-negativa-de-debitos-federal",
    ),
    "chave": (_nullable({"type": "string"}), "Nome da chave que consultou.", "erp"),
    "origem": ({"type": "string", "enum": ["cache", "online"]}, "De onde veio.", "online"),
    "consultas": (_COUNT, "Consultas cobradas.", 3),
    "creditos": (_COUNT, "Créditos que custaram.", 6),
}
_OPERATION: _Fields = {
    "operacao_id": (_UUID, "O identificador perguntado.", _OPERATION_ID),
    "operacao": (
        {"type": "string"},
        "Operação, como no endereço.",
        "certidao-negativa-de-debitos-federal",
    ),
    "estado": (
        {"type": "string", "enum": ["em_andamento", "cobrada", "nao_cobrada"]},
        "O que foi feito dela.",
        "cobrada",
    ),
    "creditos": (_COUNT, "Cobrados.", 2),
    "creditos_reservados": (_COUNT, "Reservados enquanto ela está em andamento.", 0),
    "regra": (
        {"type": "string"},
        "A regra da tabela de preços que fez o preço, ou por que nada foi cobrado.",
        federal_certificate.RULES["online"],
    ),
    "origem": (
        {"type": ["string", "null"], "enum": ["cache", "online", None]},
        "De onde veio o resultado; nulo enquanto não há nenhum.",
        "online",
    ),
    "chave": (_nullable({"type": "string"}), "Nome da chave que consultou.", "erp"),
    "iniciada_em": (_INSTANT, "Início.", "2026-08-08T10:15:30.120-03:00"),
    "concluida_em": (
        _nullable(_INSTANT),
        "Fim; nulo enquanto está em andamento.",
        "2026-08-08T10:15:34.330-03:00",
    ),
}


def _object(fields: _Fields) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {**schema, "description": text} for name, (schema, text, _) in fields.items()
        },
        "required": list(fields),
    }


_CONSUMPTION: _Fields = {
    "de": (_DAY, "Primeiro dia.", "2026-08-01"),
    "ate": (_DAY, "Último dia.", "2026-08-08"),
    "total_consultas": (_COUNT, "Soma das linhas.", 3),
    "total_creditos": (_COUNT, "Soma das linhas.", 6),
    "linhas": (
        {"type": "array", "items": _object(_LINE)},
        "Por dia, operação, chave e origem.",
        [{name: example for name, (_, _, example) in _LINE.items()}],
    ),
}


def _json(fields: _Fields) -> dict[str, Any]:
    """A result's content: the envelope, and these fields."""
    done: _Fields = {
        name: (schema, text, value)
        for (name, (schema, text)), value in zip(
            _DONE.items(), (_REQUEST_ID, True, False), strict=True
        )
    }
    whole = {**done, **fields}
    example = {name: value for name, (_, _, value) in whole.items()}
    return {JSON: {"schema": _object(whole), "example": example}}


# The service itself: no key, no credits.


def _service(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    status = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
    alive = {JSON: {"schema": status, "example": {"status": "ok"}}}
    ready: dict[str, Any] = {
        JSON: {
            "schema": {
                "type": "object",
                "properties": {
                    "status": {"const": "ok"},
                    "gravação": {
                        "const": True,
                        "description": "O banco de dados aceita gravações.",
                    },
                    "dados_abertos": {
                        "type": "object",
                        "description": "Dia de extração da cópia do cadastro, por modo.",
                        "additionalProperties": {"type": ["string", "null"], "format": "date"},
                    },
                },
                "required": ["status", "gravação", "dados_abertos"],
            },
            "example": {
                "status": "ok",
                "gravação": True,
                "dados_abertos": {"live": "2026-07-12", "test": None},
            },
        }
    }
    measured = {"text/plain": {"schema": {"type": "string"}}}
    unready = {"503": refusals((errors.StorageFailed,), False)["503"]}

    def page(
        name: str, summary: str, content: dict[str, Any], more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        good = {
            "description": summary + ".",
            "headers": {"X-Request-Id": headers(200)["X-Request-Id"]},
            "content": content,
        }
        return {
            "get": {
                "operationId": name,
                "tags": [texts.TAG_SERVICE],
                "summary": summary,
                "security": [],
                "responses": {"200": good, **(more or {})},
            }
        }

    return {
        "/livez": page("livez", "O processo responde", alive),
        "/readyz": page("readyz", "O serviço pode receber requisições", ready, unready),
        "/metrics": page("metrics", "Medidas no formato de texto do Prometheus", measured),
    }
