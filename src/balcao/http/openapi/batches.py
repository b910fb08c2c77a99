"""The batches' addresses in the OpenAPI document: bodies, examples, what goes wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balcao.batches.results import MEDIA
from balcao.batches.tables.contract import BOUNDS, MEDIA_TYPES
from balcao.batches.telling import BatchAnswer, BatchQuoteAnswer, RowAnswer, RowCounts
from balcao.core import errors
from balcao.core.batches import ROW_STATES
from balcao.http.batches import ADDRESS
from balcao.http.json_bodies import ITEMS_MAX, ITEMS_USUAL
from balcao.http.openapi import texts
from balcao.http.openapi.bodies import result
from balcao.http.openapi.errors import JSON, SCHEMAS
from balcao.http.openapi.pages import HeadersOf, Refusals
from balcao.lookup.whom import QuotedSource

# The types of the answers.
ANSWERS: Sequence[type[msgspec.Struct]] = (BatchAnswer, RowAnswer)

_KEYED = (errors.KeyRefused, errors.RateLimited, errors.RequestTooLarge)
_ONE = (errors.BatchNotFound, errors.OperationNotAllowed, errors.StorageFailed)
_WITH_DATA = (*_ONE, errors.BatchErased)
_DECIDING = (
    *_WITH_DATA,
    errors.BatchStateRefused,
    errors.InvalidParameter,
    errors.InvalidBody,
    errors.UnsupportedMediaType,
)
_CREATING = (
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.RepeatedParameter,
    errors.UnreadFilesCrowded,
    errors.OpenBatchesCrowded,
    errors.FileSpaceUsed,
    errors.NoFileSpace,
)
_NUMBER = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c0"
_WHEN = "2026-08-08T10:15:30.120-03:00"
_TEXT = {"type": "string"}

_EXAMPLE = BatchAnswer(
    id=_NUMBER,
    nome="fornecedores",
    operacao="certidao-negativa-de-debitos-federal",
    estado="cotado",
    motivo=None,
    codigo=None,
    mensagem=None,
    colunas=("coluna A «CNPJ» → documento",),
    linhas=RowCounts(30, 27, 2, 1, 27, 0, 0, 0, 0, 0),
    cotacao=BatchQuoteAnswer(
        "5f0c9a", 27, 54, None, 27, 0, 27, _WHEN, 946, 12, (QuotedSource("fonte", "respondendo"),)
    ),
    teto_creditos=None,
    creditos_gastos=0,
    creditos_reservados=0,
    repete=None,
    criado_em=_WHEN,
    confirmado_em=None,
    terminado_em=None,
    apagado_em="2026-09-07T10:15:30.120-03:00",
)
_ROW = RowAnswer(2, "c-17", "90010001000100", "concluida", _NUMBER, 2, None, None)
_CREATED = {"id": _NUMBER, "nome": "fornecedores", "operacao": _EXAMPLE.operacao}
_CREATED |= {"estado": "recebido"}

# What is sent: fields, and which of them must be there.
_BODIES: Mapping[str, tuple[str, Mapping[str, Any], Sequence[str], Mapping[str, object]]] = {
    "ConfirmacaoDeLote": (
        "O que se confirma, e até quantos créditos.",
        {
            "digest": {**_TEXT, "description": "O `digest` da cotação."},
            "teto_creditos": {
                "type": "integer",
                "minimum": 0,
                "description": "O máximo que o lote pode gastar: nem um crédito a mais.",
            },
        },
        ("digest", "teto_creditos"),
        {"digest": "5f0c9a", "teto_creditos": 54},
    ),
    "RetomadaDeLote": (
        "Um teto maior, se for o caso.",
        {
            "teto_creditos": {
                "type": ["integer", "null"],
                "minimum": 0,
                "description": "O novo teto; não pode ser menor.",
            }
        },
        (),
        {"teto_creditos": 80},
    ),
    "RepeticaoDeLote": (
        "Quais linhas.",
        {"somente": {**_TEXT, "enum": ["falhas"], "description": "Só as falhas se repetem."}},
        (),
        {"somente": "falhas"},
    ),
}


def _plain(example: msgspec.Struct) -> Any:
    """As it is sent."""
    return msgspec.json.decode(msgspec.json.encode(example))


def schemas(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The bodies, by name; of answers, the envelope and the types of `answers`."""
    batch = answers["Lote"]["properties"]
    created = {name: batch[name] for name in _CREATED}
    sent = {
        name: {
            "type": "object",
            "description": text,
            "properties": dict(fields),
            "required": list(required),
        }
        for name, (text, fields, required, _) in _BODIES.items()
    }
    return {
        **sent,
        "RespostaLote": _answer("Um lote.", batch),
        "RespostaLoteNovo": _answer("Um lote recebido.", created),
        "RespostaLotes": _answer("Uma página de lotes.", _page("Lote")),
        "RespostaLinhas": _answer("Uma página de linhas.", _page("LinhaDoLote")),
    }


def _page(of: str) -> dict[str, Any]:
    items = {"type": "array", "items": {"$ref": SCHEMAS + of}, "description": "Os itens."}
    cursor = {"type": ["string", "null"], "description": "Para a página seguinte; nulo: a última."}
    return {"itens": items, "cursor": cursor}


def _answer(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        **{
            name: {**schema, "description": meaning}
            for name, (schema, meaning, _) in result({}).items()
        },
        **fields,
    }
    return {
        "type": "object",
        "description": text,
        "properties": properties,
        "required": [*properties],
    }


def paths(refusals: Refusals, headers: HeadersOf, idempotency_key: Any) -> dict[str, Any]:
    """All of them."""
    key = {**idempotency_key, "required": True}
    number = _parameter("id", "path", "O `id` do lote.", {"type": "string", "format": "uuid"})
    examples: Mapping[str, Mapping[str, object]] = {
        "RespostaLote": _plain(_EXAMPLE),
        "RespostaLoteNovo": _CREATED,
        "RespostaLotes": {"itens": [_plain(_EXAMPLE)], "cursor": None},
        "RespostaLinhas": {"itens": [_plain(_ROW)], "cursor": None},
    }

    def told(name: str) -> dict[str, Any]:
        envelope = {field: value for field, (_, _, value) in result({}).items()}
        example = {**envelope, **examples[name]}
        return {JSON: {"schema": {"$ref": SCHEMAS + name}, "example": example}}

    def file(media_type: str) -> dict[str, Any]:
        schema = {"type": "string", "format": "binary", "contentMediaType": media_type}
        return {media_type: {"schema": schema}}

    def address(  # noqa: PLR0917 - a line of the document
        name: str,
        summary: str,
        content: dict[str, Any],
        problems: Sequence[type[errors.BalcaoError]],
        parameters: Sequence[Any] = (number,),
        body: str | None = None,
        status: int = 200,
        text: str = texts.BATCH,
    ) -> dict[str, Any]:
        described: dict[str, Any] = {
            "operationId": name,
            "tags": [texts.TAG_BATCHES],
            "summary": summary,
            "description": text,
            "security": [{"chave": []}],
            "parameters": list(parameters),
        }
        if body is not None:
            sent = {JSON: {"schema": {"$ref": SCHEMAS + body}, "example": dict(_BODIES[body][3])}}
            described["requestBody"] = {"required": body == "ConfirmacaoDeLote", "content": sent}
        good = {"description": f"{summary}.", "headers": headers(status), "content": content}
        described["responses"] = {str(status): good, **refusals((*_KEYED, *problems), True)}
        return described

    one, here = told("RespostaLote"), f"{ADDRESS}/{{id}}"
    receive = address(
        "criar_lote",
        "Um lote novo",
        told("RespostaLoteNovo"),
        (
            *_CREATING,
            errors.InvalidParameter,
            errors.InvalidUf,
            errors.InvalidStrategy,
            errors.UnsupportedMediaType,
            errors.OperationNotAllowed,
            errors.CertificatesNotEnabled,
            errors.MarkWithCpf,
            errors.StorageFailed,
            errors.CommitUncertain,
        ),
        [
            _parameter(
                "operacao",
                "query",
                "O que perguntar: o caminho de uma consulta.",
                _TEXT,
                required=True,
            ),
            _parameter("nome", "query", "Um nome para o lote.", _TEXT),
            *(
                _parameter(f"coluna_{role}", "query", texts.CHOSEN_COLUMN[role], _TEXT)
                for role in texts.CHOSEN_COLUMN
            ),
            key,
        ],
        status=201,
        text=texts.NEW_BATCH,
    )
    receive["requestBody"] = {
        "required": True,
        "description": f"O arquivo, até {BOUNDS.file_bytes // 1_000_000} MB.",
        "content": {kind: file(kind)[kind] for kind in MEDIA_TYPES},
    }
    deeds = {
        "confirmar": (
            "Um lote confirmado",
            "ConfirmacaoDeLote",
            (errors.QuoteChanged, errors.NotAdministering),
        ),
        "pausar": ("Um lote pausado", None, ()),
        "retomar": ("Um lote retomado", "RetomadaDeLote", (errors.NotAdministering,)),
        "encerrar": ("Um lote encerrado", None, ()),
    }
    files = {f"resultado.{form}": media.decode().partition(";")[0] for form, media in MEDIA.items()}
    files["recibos.zip"] = "application/zip"
    listing = (errors.InvalidParameter, errors.RepeatedParameter)
    return {
        ADDRESS: {
            "get": address(
                "lotes",
                "Os lotes da conta",
                told("RespostaLotes"),
                (*listing, errors.StorageFailed),
                _PAGES,
            ),
            "post": receive,
        },
        here: {
            "get": address("lote", "Um lote", one, _ONE),
            "delete": address(
                "apagar_lote", "Um lote apagado", one,
                (*_ONE, errors.NotAdministering, errors.BatchStateRefused),
                text=texts.ERASED_BATCH,
            ),
        },
        **{
            f"{here}/{verb}": {
                "post": address(f"{verb}_lote", summary, one, (*_DECIDING, *more), body=body)
            }
            for verb, (summary, body, more) in deeds.items()
        },
        f"{here}/repetir": {
            "post": address(
                "repetir_lote",
                "Um lote novo, das falhas de outro",
                told("RespostaLoteNovo"),
                (*_DECIDING, *_CREATING),
                (number, key),
                "RepeticaoDeLote",
                201,
            )
        },
        f"{here}/linhas": {
            "get": address(
                "linhas_do_lote",
                "As linhas de um lote",
                told("RespostaLinhas"),
                (*_WITH_DATA, *listing),
                [
                    number,
                    _parameter(
                        "estado", "query", "Só as linhas deste estado.",
                        {"type": "string", "enum": [*ROW_STATES]},
                    ),
                    *_PAGES,
                ],
            )
        },
        **{
            f"{here}/{name}": {
                "get": address(
                    name.replace(".", "_"),
                    f"O arquivo {name}",
                    file(media_type),
                    (*_WITH_DATA, errors.BatchStateRefused, errors.FileRunning, errors.NoFileSpace),
                    text=texts.BATCH_FILES,
                )
            }
            for name, media_type in files.items()
        },
    }  # fmt: skip


def _parameter(
    name: str, place: str, text: str, schema: Mapping[str, Any], *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "description": text,
        "required": required or place == "path",
        "schema": dict(schema),
    }


_PAGES = [
    _parameter(
        "limite",
        "query",
        f"Quantos por página, de 1 a {ITEMS_MAX}.",
        {"type": "integer", "minimum": 1, "maximum": ITEMS_MAX, "default": ITEMS_USUAL},
    ),
    _parameter("cursor", "query", "O `cursor` da página anterior.", _TEXT),
]
