"""The addresses of the OpenAPI document that are no lookups: receipts, the account, the service.

They cost nothing. Their bodies are few and fixed, so they stand here as data; how errors look is
handed in by `openapi.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from balcao.accounts.statement import COLUMNS, DAYS_DEFAULT, DAYS_MAX
from balcao.core import errors
from balcao.core.csv_table import as_csv
from balcao.http.account import LINES_MAX, OPERATION_DAYS, PAGE_DEFAULT, PAGE_MAX, PREFIX
from balcao.http.openapi import bodies, texts
from balcao.http.openapi.errors import JSON, SCHEMAS
from balcao.http.routes import PREFIX as LOOKUPS
from balcao.operations.federal_certificate.operation import FederalCertificateLookup
from balcao.operations.state_certificate.operation import StateCertificateLookup

# Responses to what goes wrong, by status: of these kinds, and whether a key is asked for.
Refusals = Callable[[Sequence[type[errors.BalcaoError]], bool], dict[str, Any]]
HeadersOf = Callable[[int], dict[str, Any]]

_KEYED = (
    errors.KeyRefused,
    errors.AddressNotAllowed,
    errors.RateLimited,
    errors.RequestTooLarge,
)
_UUID = {"type": "string", "format": "uuid"}
# Empty counts as omitted. A pattern and no `format`: clients have one type for all of it.
_DAY_OR_NONE = {
    "type": "string",
    "pattern": "^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$",
}


def paths(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    """All of them."""
    return _receipts(refusals, headers) | _account(refusals, headers) | _service(refusals, headers)


# Receipts.


def _receipts(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    problems = (errors.ReceiptNotFound, errors.StorageFailed)

    def receipt(of: str, description: str, *, public: bool) -> dict[str, Any]:
        numbered = headers(200) if not public else {"X-Request-Id": headers(200)["X-Request-Id"]}
        caching = "public, max-age=86400, immutable" if public else "private, no-store"
        usual = (errors.RequestTooLarge,) if public else (*_KEYED, errors.OperationNotAllowed)
        return {
            "get": {
                "operationId": f"comprovante_{of}",
                "tags": [texts.TAG_RECEIPTS],
                "summary": f"Comprovante de uma certidão {of}",
                "description": description,
                "security": [] if public else [{"chave": []}],
                "parameters": [_id("receipt_id", "O fim do endereço em `print`.")],
                "responses": {
                    "200": {
                        "description": "O documento, como a fonte o emitiu.",
                        "headers": numbered | _file_headers(caching, html=not public),
                        "content": _file("application/pdf")
                        | ({} if public else _file("text/html")),
                    },
                    **refusals((*usual, *problems), not public),
                },
            }
        }

    federal, state = FederalCertificateLookup.path, StateCertificateLookup.path
    return {
        f"{LOOKUPS}{federal}/print/{{receipt_id}}": receipt(
            "federal", texts.FEDERAL_RECEIPT, public=False
        ),
        f"{LOOKUPS}{state}/print/{{receipt_id}}": receipt(
            "estadual", texts.STATE_RECEIPT, public=True
        ),
    }


def _file(media_type: str) -> dict[str, Any]:
    # `binary` is of older versions of OpenAPI; without it clients read documents as text.
    schema = {"type": "string", "format": "binary", "contentMediaType": media_type}
    return {media_type: {"schema": schema}}


def _file_headers(caching: str, *, html: bool) -> dict[str, Any]:
    found = {
        "Content-Disposition": (
            "Nome do arquivo; HTML vem como anexo (`attachment`)."
            if html
            else "Nome do arquivo, aberto no navegador (`inline`).",
            {"type": "string"},
        ),
        "X-Content-Type-Options": (
            "O tipo não deve ser adivinhado.",
            {"type": "string", "const": "nosniff"},
        ),
        "Cache-Control": ("Quem pode guardar o arquivo.", {"type": "string", "const": caching}),
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
        f"{PREFIX}saldo": window("saldo", "Saldo da conta", texts.BALANCE, _json("RespostaSaldo")),
        f"{PREFIX}consumo": window(
            "consumo",
            "Consumo da conta em um período",
            texts.consumption(DAYS_DEFAULT, DAYS_MAX),
            _json("RespostaConsumo") | _csv(),
            parameters=(
                _query(
                    "de",
                    f"Primeiro dia, `AAAA-MM-DD`; padrão: {DAYS_DEFAULT} dias até `ate`.",
                    _DAY_OR_NONE,
                ),
                _query(
                    "ate",
                    "Último dia, incluído, `AAAA-MM-DD`; padrão: hoje, em Brasília.",
                    _DAY_OR_NONE,
                ),
                _query(
                    "formato",
                    "JSON, ou CSV com ponto e vírgula para planilhas. Sem ele decide o cabeçalho"
                    " Accept (`text/csv`); o padrão é JSON.",
                    {"type": "string", "enum": ["json", "csv", ""]},
                ),
                _query("cliente", "Só as linhas deste `X-Cliente`.", {"type": "string"}),
                _query(
                    "agrupar",
                    "`referencia`: uma linha também por `X-Referencia`; no máximo"
                    f" {LINES_MAX} linhas. Sem ele as referências não separam linhas.",
                    {"type": "string", "enum": ["referencia", ""]},
                ),
            ),
            problems=(errors.InvalidParameter, errors.RepeatedParameter),
        ),
        f"{PREFIX}operacoes": window(
            "operacoes_de",
            "Operações de uma Idempotency-Key ou de uma referência",
            texts.operations(OPERATION_DAYS),
            _json("RespostaOperacoes"),
            parameters=(
                _query(
                    "idempotency_key",
                    "A `Idempotency-Key` da requisição: acha uma ou nenhuma.",
                    {"type": "string", "minLength": 1},
                ),
                _query(
                    "referencia",
                    "O `X-Referencia` das requisições.",
                    {"type": "string", "minLength": 1},
                ),
                _query(
                    "limite",
                    f"Quantas por página, de 1 a {PAGE_MAX}; padrão: {PAGE_DEFAULT}.",
                    {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": PAGE_MAX,
                        "default": PAGE_DEFAULT,
                    },
                ),
                _query("cursor", "O `cursor` da página anterior.", {"type": "string"}),
            ),
            problems=(errors.InvalidParameter, errors.RepeatedParameter),
        ),
        f"{PREFIX}operacoes/{{request_id}}": window(
            "operacoes",
            "Uma operação: se foi cobrada",
            texts.operation(OPERATION_DAYS),
            _json("RespostaOperacao"),
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


def _json(name: str) -> dict[str, Any]:
    """A result's content."""
    return {JSON: {"schema": {"$ref": SCHEMAS + name}, "example": bodies.example(name)}}


def _csv() -> dict[str, Any]:
    """The same lines as `LinhaConsumo`."""
    example = as_csv(COLUMNS, [list(bodies.example("LinhaConsumo").values())]).decode()
    return {"text/csv": {"schema": {"type": "string"}, "example": example}}


# The service itself: no key, no credits.


def _service(refusals: Refusals, headers: HeadersOf) -> dict[str, Any]:
    measured = {"text/plain": {"schema": {"type": "string"}}}

    def page(
        name: str,
        summary: str,
        description: str,
        content: dict[str, Any],
        *problems: type[errors.BalcaoError],
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
                "description": description,
                "security": [],
                "responses": {
                    "200": good,
                    **refusals((errors.RequestTooLarge, *problems), False),
                },
            }
        }

    return {
        "/livez": page("livez", "O processo responde", texts.ALIVE, _json("Vida")),
        "/readyz": page(
            "readyz",
            "O serviço pode receber requisições",
            texts.READY,
            _json("Prontidao"),
            errors.StorageFailed,
        ),
        "/metrics": page(
            "metrics",
            "Medidas no formato de texto do Prometheus",
            texts.MEASURED,
            measured,
            errors.RouteNotFound,
        ),
    }
