"""Bodies of the addresses that are no lookups, for the OpenAPI document: fields and examples."""

from collections.abc import Mapping
from typing import Any

from balcao.core.tariff import REFUSED
from balcao.http.openapi.errors import SCHEMAS
from balcao.operations import tariff

_UUID = {"type": "string", "format": "uuid"}
_COUNT = {"type": "integer", "minimum": 0}
_REQUEST_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8"
_OPERATION_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b7"

_DONE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "request_id": (_UUID, "Identificador desta requisição."),
    "success": ({"type": "boolean"}, "Sempre `true` nesta resposta."),
    "error": ({"type": "boolean"}, "Sempre `false` nesta resposta."),
}
_DAY = {"type": "string", "format": "date"}
INSTANT = {"type": "string", "format": "date-time"}


def nullable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same, or nothing."""
    return {**schema, "type": [schema["type"], "null"]}


_RULE = "federal_certificate/online"

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
        nullable({"type": "integer"}),
        "Saldo, com o que está reservado; nulo: pós-pago, que não tem saldo.",
        9_800,
    ),
    "creditos_reservados": (_COUNT, "Reservados por consultas em andamento.", 2),
    "creditos_disponiveis": (
        nullable({"type": "integer"}),
        "O que se pode gastar agora; nulo: pós-pago sem teto.",
        9_798,
    ),
    "teto_mensal_creditos": (nullable(_COUNT), "Teto do mês no pós-pago, se há um.", None),
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
    "chave": (nullable({"type": "string"}), "Nome da chave que consultou.", "erp"),
    "origem": ({"type": "string", "enum": ["cache", "online"]}, "De onde veio.", "online"),
    "consultas": (_COUNT, "Consultas cobradas.", 3),
    "creditos": (_COUNT, "Créditos que custaram.", 6),
    "cliente": (nullable({"type": "string"}), "O `X-Cliente` delas; nulo: sem ele.", "loja-7"),
    "referencia": (
        nullable({"type": "string"}),
        "O `X-Referencia` delas, se `agrupar=referencia` foi pedido; senão nulo.",
        None,
    ),
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
        nullable({"type": "string"}),
        "A regra da tabela de preços que fez o preço, ou por que nada foi cobrado, em palavras, que"
        " podem mudar; nulo enquanto está em andamento.",
        tariff.sentence(_RULE),
    ),
    "regra_codigo": (
        nullable({"type": "string"}),
        "O código da regra, que não muda; podem surgir outros: "
        + ", ".join(f"`{code}`" for code in tariff.RULES if code != REFUSED)
        + ".",
        _RULE,
    ),
    "origem": (
        {"type": ["string", "null"], "enum": ["cache", "online", None]},
        "De onde veio o resultado; nulo enquanto não há nenhum.",
        "online",
    ),
    "chave": (nullable({"type": "string"}), "Nome da chave que consultou.", "erp"),
    "iniciada_em": (INSTANT, "Início.", "2026-08-08T10:15:30.120-03:00"),
    "concluida_em": (
        nullable(INSTANT),
        "Fim; nulo enquanto está em andamento.",
        "2026-08-08T10:15:34.330-03:00",
    ),
    "cliente": (nullable({"type": "string"}), "O `X-Cliente` dela, se houve.", "loja-7"),
    "referencia": (
        nullable({"type": "string"}),
        "O `X-Referencia` dela, se houve.",
        "pedido:2026/1017",
    ),
}
_OPERATIONS: _Fields = {
    "itens": (
        {"type": "array", "items": {"$ref": f"{SCHEMAS}OperacaoAchada"}},
        "As mais novas primeiro.",
        [{name: example for name, (_, _, example) in _OPERATION.items()}],
    ),
    "cursor": (
        nullable({"type": "string"}),
        "Para pedir as que vêm depois destas; nulo: não há mais.",
        None,
    ),
}


_CONSUMPTION: _Fields = {
    "de": (_DAY, "Primeiro dia.", "2026-08-01"),
    "ate": (_DAY, "Último dia.", "2026-08-08"),
    "total_consultas": (_COUNT, "Soma das linhas.", 3),
    "total_creditos": (_COUNT, "Soma das linhas.", 6),
    "linhas": (
        {"type": "array", "items": {"$ref": f"{SCHEMAS}LinhaConsumo"}},
        "Por dia, operação, chave, origem e cliente.",
        [{name: example for name, (_, _, example) in _LINE.items()}],
    ),
}
_ALIVE: _Fields = {"status": ({"type": "string", "enum": ["ok"]}, "Sempre `ok`.", "ok")}
_READY: _Fields = {
    **_ALIVE,
    "gravação": ({"type": "boolean"}, "Sempre `true`: o banco de dados aceita gravações.", True),
    "relógio": (
        {"type": "string"},
        "`certo`, ou o que há com ele; a hora em que se confia não muda com um salto.",
        "certo",
    ),
    "dados_abertos": (
        {
            "type": "object",
            "additionalProperties": {"type": ["string", "null"], "format": "date"},
        },
        "Dia de extração da cópia do cadastro, por modo.",
        {"live": "2026-07-12", "test": None},
    ),
}


def result(fields: _Fields) -> _Fields:
    """The envelope, and these fields."""
    values = zip(_DONE.items(), (_REQUEST_ID, True, False), strict=True)
    return {name: (schema, text, value) for (name, (schema, text)), value in values} | dict(fields)


# By name in the document: what it is, and its fields.
_SCHEMAS: Mapping[str, tuple[str, _Fields]] = {
    "RespostaSaldo": ("O que a conta ainda pode gastar.", result(_BALANCE)),
    "RespostaConsumo": ("O que foi cobrado em um período.", result(_CONSUMPTION)),
    "LinhaConsumo": (
        "O que foi cobrado em um dia, por operação, chave, origem e cliente.",
        _LINE,
    ),
    "RespostaOperacao": ("O que foi feito de uma requisição.", result(_OPERATION)),
    "RespostaOperacoes": ("Requisições e o que foi feito delas.", result(_OPERATIONS)),
    "OperacaoAchada": ("O que foi feito de uma requisição.", _OPERATION),
    "Vida": ("O processo responde.", _ALIVE),
    "Prontidao": ("O serviço pode receber requisições.", _READY),
}


def schemas() -> dict[str, Any]:
    """What these addresses answer, by name in the document."""
    return {
        name: {
            "type": "object",
            "description": description,
            "properties": {
                field: {**schema, "description": text}
                for field, (schema, text, _) in fields.items()
            },
            "required": list(fields),
        }
        for name, (description, fields) in _SCHEMAS.items()
    }


def example(name: str) -> dict[str, Any]:
    """A body by its name in the document."""
    _, fields = _SCHEMAS[name]
    return {field: value for field, (_, _, value) in fields.items()}
