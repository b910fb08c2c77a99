"""Company search in the OpenAPI document (decisions 14)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balcao.core import errors
from balcao.core.described import description_of
from balcao.core.search import LIMIT_MAX, NAMES, PARTNER_NAMES
from balcao.http.openapi import errors as openapi_errors
from balcao.http.openapi import texts
from balcao.http.openapi.errors import JSON, SCHEMAS
from balcao.http.searches import COMPANIES, COUNT, EXAMPLES, OPERATIONS, PARTNERS, PREFIX
from balcao.operations.parameters import CREDITS_MAX, CREDITS_MAX_HEADER

ANSWERS = tuple(type(example) for example in EXAMPLES.values())

_TITLES: Mapping[str, str] = {
    COMPANIES: "Busca de empresas",
    COUNT: "Quantas empresas são",
    PARTNERS: "Busca de sócios",
}
_DESCRIPTIONS: Mapping[str, str] = {
    COMPANIES: (
        "Os estabelecimentos do mês dos dados abertos em uso que atendem a todos os filtros; ao"
        " menos um é preciso, e vários valores de um filtro, separados por vírgula, são"
        " alternativas. Em ordem de CNPJ; com `q` sozinho, por relevância entre os primeiros"
        " 1.000. Empresários individuais (natureza 2135), MEI e outras pessoas físicas (4xxx) só"
        " com `pessoas=true`; `inclui_pessoas` diz se estão incluídas. Uma página com resultados"
        " custa o preço da busca (padrão: 1 crédito); vazia, nada."
    ),
    COUNT: (
        "Os mesmos filtros, e só o número: exato até 10.000. Custa o preço da busca; contar nenhum"
        " não custa nada."
    ),
    PARTNERS: (
        "Sócios pelo nome ou pelo que é publicado do documento, para contas com a busca de pessoas"
        " habilitada. De um CPF nunca se vê mais do que a Receita Federal publica. Custa o preço da"
        " busca, se há resultado."
    ),
}
_TEXT: Mapping[str, object] = {"type": "string"}
_DAY: Mapping[str, object] = {"type": "string", "format": "date"}
_FLAG: Mapping[str, object] = {"type": "boolean"}
_REAIS: Mapping[str, object] = {"type": "number", "minimum": 0}
_PARAMETERS: Mapping[str, tuple[str, Mapping[str, object], object]] = {
    "q": (
        "Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a última pode"
        " terminar em `*`, depois de ao menos três letras.",
        _TEXT,
        "padaria pra*",
    ),
    "uf": ("Siglas de UF; `EX`, exterior.", _TEXT, "SP"),
    "municipio": (
        "Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7 dígitos).",
        _TEXT,
        None,
    ),
    "cnae": ("Atividades principais ou secundárias, 7 dígitos.", _TEXT, None),
    "cnae_principal": ("Atividades principais, 7 dígitos.", _TEXT, None),
    "divisao": ("Divisões da atividade principal, 2 dígitos.", _TEXT, None),
    "natureza": ("Naturezas jurídicas, 4 dígitos.", _TEXT, None),
    "situacao": ("`ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.", _TEXT, "ATIVA"),
    "motivo": ("Motivos da situação, 2 dígitos.", _TEXT, None),
    "porte": ("`ME`, `EPP`, `DEMAIS`.", _TEXT, None),
    "matriz": ("`true`: só matrizes; `false`: só filiais.", _FLAG, None),
    "simples": ("Optante pelo Simples Nacional.", _FLAG, None),
    "mei": (
        "Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos são"
        " empresários individuais, que só `pessoas=true` inclui.",
        _FLAG,
        None,
    ),
    "ddd": ("DDDs dos telefones.", _TEXT, None),
    "dominio": ("Domínios do e-mail de contato.", _TEXT, None),
    "aberta_desde": ("Primeiro dia de abertura.", _DAY, None),
    "aberta_ate": ("Último dia de abertura.", _DAY, None),
    "situacao_desde": ("Primeiro dia da situação cadastral.", _DAY, None),
    "situacao_ate": ("Último dia da situação cadastral.", _DAY, None),
    "capital_min": ("Menor capital social, em reais.", _REAIS, None),
    "capital_max": ("Maior capital social, em reais.", _REAIS, None),
    "cep": ("CEPs, ou como começam: de 5 a 8 dígitos.", _TEXT, None),
    "raiz": ("Raízes de CNPJ, 8 caracteres.", _TEXT, None),
    "pessoas": ("Também pessoas físicas; para contas habilitadas.", _FLAG, None),
    "nome": ("Palavras do nome do sócio.", _TEXT, None),
    "documento": (
        "Os seis dígitos publicados de um CPF (`***456789**`), um CNPJ ou a sua raiz.",
        _TEXT,
        "***456789**",
    ),
    "limite": (
        "Resultados por página.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_MAX},
        None,
    ),
    "cursor": ("O `cursor` da página anterior.", _TEXT, None),
}
_PROBLEMS: Sequence[type[errors.BalcaoError]] = (
    errors.InvalidParameter,
    errors.RepeatedParameter,
    errors.FilterRequired,
    errors.InvalidIdempotencyKey,
    errors.IdempotencyKeyReused,
    errors.KeyRefused,
    errors.InsufficientCredits,
    errors.CeilingOfRequest,
    errors.PeopleNotEnabled,
    errors.StillRunning,
    errors.ResultUnavailable,
    errors.RequestTooLarge,
    errors.RateLimited,
    errors.SearchUnavailable,
    errors.Overloaded,
    errors.StorageFailed,
    errors.CommitUncertain,
)


def paths(headers: Mapping[int, Any], idempotency_key: Mapping[str, Any]) -> dict[str, Any]:
    """The three addresses; `headers` of responses, by status."""
    return {PREFIX + path: {"get": _search(path, headers, idempotency_key)} for path in OPERATIONS}


def _search(
    path: str, headers: Mapping[int, Any], idempotency_key: Mapping[str, Any]
) -> dict[str, Any]:
    example = EXAMPLES[path]
    names = PARTNER_NAMES if path == PARTNERS else NAMES
    kinds = [*_PROBLEMS, *((errors.CursorOfAnotherMonth,) if path == COMPANIES else ())]
    refused = openapi_errors.responses(kinds, openapi_errors.PLAIN, headers)
    schema = {"$ref": SCHEMAS + description_of(type(example))[0]}
    body = msgspec.json.decode(msgspec.json.Encoder(decimal_format="number").encode(example))
    return {
        "operationId": OPERATIONS[path].replace("-", "_"),
        "tags": [texts.TAG_SEARCHES],
        "summary": _TITLES[path],
        "description": _DESCRIPTIONS[path],
        "security": [{"chave": []}],
        "parameters": [
            *map(_parameter, names),
            *(
                {
                    "name": each.name,
                    "in": each.place,
                    "description": each.description,
                    "required": False,
                    "schema": dict(each.schema),
                }
                for each in (CREDITS_MAX, CREDITS_MAX_HEADER)
            ),
            dict(idempotency_key),
        ],
        "responses": {
            "200": {
                "description": f"{_TITLES[path]}.",
                "headers": headers[200],
                "content": {JSON: {"schema": schema, "example": body}},
            },
            **{str(status): response for status, response in refused.items()},
        },
    }


def _parameter(name: str) -> dict[str, Any]:
    description, schema, example = _PARAMETERS[name]
    described = {
        "name": name,
        "in": "query",
        "description": description,
        "required": False,
        "schema": dict(schema),
    }
    return described if example is None else described | {"example": example}
