"""Texts and schemas of the OpenAPI document that no single address owns, in Portuguese.

The introduction is `introduction.md`; the texts of an address are in its `Route`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from balcao.core.idempotency import KEY_CHARACTERS_MAX, KEY_CHARACTERS_MIN

TITLE = "Balcão: consultas a registros de empresas"
CONTACT = "Responsável por este serviço"


def introduction(idempotency_hours: int) -> str:
    """Return the text that precedes the operations."""
    text = resources.files("balcao.http.openapi").joinpath("introduction.md").read_text("utf-8")
    return with_hours(text, idempotency_hours)


TAG_LOOKUPS = "Consultas"
TAG_QUOTES = "Custos"
TAG_SEARCHES = "Buscas"
TAG_FACES = "Faces"
TAG_RECEIPTS = "Comprovantes"
TAG_ACCOUNT = "Conta"
TAG_BUDGETS = "Orcamentos"
TAG_BATCHES = "Lotes"
TAG_EVENTS = "Eventos"
TAG_WALLET = "Carteira"
TAG_WEBHOOKS = "Webhooks"
TAG_SERVICE = "Monitoramento"  # tags are ASCII: generators name files and classes by them
TAGS: Mapping[str, str] = {
    TAG_LOOKUPS: "Consultas a empresas, inscrições e certidões.",
    TAG_QUOTES: "O preço atual de cada consulta, sem consultar nem cobrar.",
    TAG_SEARCHES: "Busca de empresas nos dados abertos do CNPJ por nome, localização, atividade e"
    " outros filtros.",
    TAG_FACES: "Os dados cadastrais no formato de outros serviços, para programas já existentes.",
    TAG_RECEIPTS: "Os documentos das certidões, no endereço indicado em `print`. Sem custo.",
    TAG_ACCOUNT: "Saldo e consumo da própria conta. Com chave, sem custo.",
    TAG_BUDGETS: "Limites de gasto por chave ou por cliente. Com chave, sem custo.",
    TAG_BATCHES: "A mesma consulta para cada linha de um arquivo. Só as linhas respondidas são"
    " cobradas.",
    TAG_EVENTS: "O que aconteceu na conta e com os itens da carteira. Com chave, sem custo.",
    TAG_WALLET: "As empresas e pessoas que a conta acompanha. Com chave, sem custo.",
    TAG_WEBHOOKS: "Endereços do cliente que recebem os eventos da conta, assinados. Com chave, sem"
    " custo.",
    TAG_SERVICE: "Saúde e métricas do serviço. Sem chave, sem custo.",
}

SECURITY = (
    "Chave da conta. Contas de teste usam chaves `balcao_test_…`; as demais, `balcao_live_…`."
)


# Schemas that several modules use.
TEXT: Mapping[str, object] = {"type": "string"}
UUID_SCHEMA: Mapping[str, object] = {"type": "string", "format": "uuid"}
WHEN: Mapping[str, object] = {"format": "date-time"}  # of a text
COUNT: Mapping[str, object] = {"minimum": 0}  # of an integer
IDEMPOTENCY_KEY_SCHEMA: Mapping[str, object] = {
    "type": "string",
    "minLength": KEY_CHARACTERS_MIN,
    "maxLength": KEY_CHARACTERS_MAX,
    "pattern": "^[!-~]+$",
}


def with_hours(text: str, count: int) -> str:
    """Return a text with `HORAS` replaced by the time for which idempotency keys are kept."""
    return text.replace("HORAS", "1 hora" if count == 1 else f"{count} horas")


STATUSES: Mapping[int, str] = {
    200: "Consulta concluída: leia `success` e `error`.",
    201: "Criado.",
    400: "Requisição inválida ou falha na consulta.",
    401: "A chave está ausente, expirou, foi revogada ou é inválida.",
    402: "Créditos ou limite de gasto insuficientes.",
    403: "A conta ou a chave não tem permissão para esta requisição.",
    404: "Não existe ou o resultado da consulta é negativo (veja `error`).",
    409: "A requisição anterior com esta `Idempotency-Key` não terminou ou a resposta não pode"
    " ser reenviada.",
    410: "O item não existe mais.",
    413: "O endereço não aceita corpo, ou o corpo é grande demais.",
    415: "O tipo do corpo não é aceito neste endereço.",
    429: "Cota de requisições por minuto ou por dia atingida.",
    431: "A linha ou os cabeçalhos da requisição são longos demais.",
    500: "Falha da fonte consultada ou do próprio serviço. Nada foi cobrado.",
    503: "A fonte ou o serviço está indisponível no momento. Nada foi cobrado. Exceção:"
    " `COBRANCA_INCERTA`. Nesse caso, repita com a mesma `Idempotency-Key`.",
}


@dataclass(frozen=True, slots=True)
class HeaderText:
    """A response header, the statuses that always have it, and those that may."""

    description: str
    schema: Mapping[str, object]
    always: frozenset[int] = frozenset()
    sometimes: frozenset[int] = frozenset()


_ALL = frozenset(STATUSES)
_COUNTED = frozenset({200, 201, 400, 402, 404, 409, 410, 429})  # after the key was recognised
_PERHAPS_COUNTED = frozenset({403, 415, 500, 503})
_RESULTS = frozenset({200, 404})

HEADERS_OF_PAGES = (
    "X-Request-Id",
    "X-Creditos-Cobrados",
    "RateLimit-Policy",
    "RateLimit",
    "Retry-After",
    "Link",
)

HEADERS: Mapping[str, HeaderText] = {
    "X-Request-Id": HeaderText("Igual a `request_id`.", {"type": "string", "format": "uuid"}, _ALL),
    "X-Creditos-Cobrados": HeaderText(
        "Créditos cobrados por esta resposta. Ausente só com `COBRANCA_INCERTA`.",
        {"type": "integer", "minimum": 0},
        always=_ALL - {503},
        sometimes=frozenset({503}),
    ),
    "RateLimit-Policy": HeaderText(
        "As cotas: quantas requisições (`q`) em quantos segundos (`w`).",
        {"type": "string", "examples": ['"minuto";q=300;w=60, "dia";q=50000;w=86400']},
        always=_COUNTED,
        sometimes=_PERHAPS_COUNTED,
    ),
    "RateLimit": HeaderText(
        "Quantas requisições restam (`r`) e em quantos segundos a cota é renovada (`t`).",
        {"type": "string", "examples": ['"minuto";r=299;t=1, "dia";r=49999;t=2']},
        always=_COUNTED,
        sometimes=_PERHAPS_COUNTED,
    ),
    "Retry-After": HeaderText(
        "Segundos a aguardar antes de repetir. Em 503, no máximo 300.",
        {"type": "integer", "minimum": 1},
        always=frozenset({429, 503}),
        sometimes=frozenset({409}),
    ),
    "Link": HeaderText(
        'A página que explica o código do erro (`rel="help"`, RFC 8288) ou o recurso obsoleto'
        ' (`rel="deprecation"`). O endereço é relativo a este serviço.',
        {"type": "string", "examples": ['</docs/erros/CNPJ_INVALIDO>; rel="help"']},
        always=_ALL - {200, 201, 404},
        sometimes=_RESULTS,
    ),
    "Cache-Status": HeaderText(
        "Indica se a resposta é um resultado guardado (RFC 9211).",
        {"type": "string", "examples": ["Balcao; hit", "Balcao; fwd=miss"]},
        sometimes=_RESULTS,
    ),
    "Age": HeaderText(
        "Segundos desde a consulta à fonte.",
        {"type": "integer", "minimum": 0},
        sometimes=_RESULTS,
    ),
    "Idempotent-Replayed": HeaderText(
        "`true`: resposta reenviada de uma requisição anterior com a mesma Idempotency-Key.",
        {"type": "string", "enum": ["true"]},
        sometimes=frozenset({200, 201, 400, 404, 500, 503}),
    ),
    "Deprecation": HeaderText(
        "A requisição usou um recurso obsoleto: desde quando, em segundos desde 1970 (RFC 9745). A"
        ' explicação está no endereço de `Link` com `rel="deprecation"`.',
        {"type": "string", "examples": ["@1767225600"]},
        sometimes=_ALL - {401, 413, 429, 431},
    ),
    "Sunset": HeaderText(
        "Quando o recurso obsoleto pode deixar de funcionar (RFC 8594).",
        {"type": "string", "examples": ["Mon, 01 Jan 2029 00:00:00 GMT"]},
        sometimes=_ALL - {401, 413, 429, 431},
    ),
    "X-Cliente": HeaderText(
        "O `X-Cliente` da requisição.",
        {"type": "string", "examples": ["loja-7"]},
        sometimes=_ALL - {413, 431},
    ),
    "X-Referencia": HeaderText(
        "A `X-Referencia` da requisição.",
        {"type": "string", "examples": ["pedido:2026/1017"]},
        sometimes=_ALL - {413, 431},
    ),
}
