"""What the OpenAPI document says in words, in Portuguese: introduction, fields, headers."""

from collections.abc import Mapping
from dataclasses import dataclass

TITLE = "Balcão: consultas a registros de empresas"
CONTACT = "Quem mantém este serviço"

_INTRODUCTION = """\
Cada operação é um `GET` em `/consultas/v2/` e responde JSON. O serviço consulta a fonte ou reusa
um resultado guardado; cada consulta concluída custa créditos, erros não custam nada.

## Como ler a resposta

1. Olhe primeiro `error`. `true`: a requisição foi recusada ou houve falha técnica. Nada foi
   cobrado; `error_message.code` é um código estável, `error_message.message` (repetida em
   `message`) é o texto para pessoas.
2. Com `error: false`, `success` diz o resultado da consulta: `true` é positivo; `false` é uma
   consulta concluída com resultado negativo, que não é indisponibilidade e é cobrada.
3. `request_id` identifica a operação, também no cabeçalho `X-Request-Id`. Informe-o ao suporte.

Ignore campos que não conhece: novos podem aparecer. Uma falha da fonte nunca vira uma resposta
vazia.

## Chave

Toda requisição leva o cabeçalho `x-api-key`. Chaves `balcao_test_…` são de contas de teste,
respondidas pelo [sandbox](/docs/sandbox), cujos documentos têm respostas conhecidas e custam só
créditos de teste.

## Créditos

O cabeçalho `X-Creditos-Cobrados` diz quanto a resposta custou (0 em erros e em reenvios). Antes
de consultar uma fonte o serviço reserva o maior preço possível e depois cobra o real ou devolve
tudo. Quem desliga antes da resposta não interrompe a consulta: ela termina, é guardada e cobrada.
Para recebê-la, repita com a mesma `Idempotency-Key`.

Quanto uma consulta custaria agora diz, de graça, o mesmo endereço em `/cotacoes/v2/`. Para nunca
passar de um valor, envie `X-Creditos-Maximos`: acima dele a resposta é 402 `TETO_DA_REQUISICAO`, e
nada é consultado.

## Certidões

| Resposta | O que houve |
|---|---|
| 200, `success: true` | CND ou CPEND; da fazenda estadual, uma certidão negativa |
| 404, `error: false` | a consulta terminou sem ela: CPD, impossível, outro resultado |
| 400 `FALHA_TECNICA` | a fonte foi consultada e falhou; a emissão pode ter começado |
| 503 `SERVICO_INDISPONIVEL` | ninguém aceitou a consulta: nada começou |

Os dois primeiros são resultados, e custam 1 crédito do cache ou 2 da fonte; o 404 estadual nunca é
guardado e custa 2. Erros não custam nada. Um 404 com `error: false` não é falha da API: não o
repita antes que o contribuinte regularize a sua situação. `certificate_type` é `CND`, `CPEND` ou
`CPD`; as palavras da fonte, quando não cabe em nenhum deles; nulo, quando nada pôde ser emitido.

`effective_validity` é a maior entre validade e prorrogação. O cache serve a certidão até
`valid_until`, o dia anterior; resultados que não são CND nem CPEND, por no máximo 60 minutos. Uma
certidão vencida nunca é entregue como válida.

`preferencia_emissao=2via` (padrão) deixa a fonte achar a certidão em vigor; `nova` pede uma
emissão. `nova` e `atualizar_online=true` vão sempre à fonte. `SO_CACHE` nunca vai: sem resultado
guardado, 400 `SEM_RESULTADO_EM_CACHE`.

**Depois de um tempo esgotado não repita sem `Idempotency-Key`:** a emissão pode estar em andamento.
Envie uma em cada pedido de certidão e repita com a mesma. Se a resposta dela foi `FALHA_TECNICA`, é
essa que se repete: espere, e peça a 2ª via com uma chave nova. Se algo foi cobrado, dizem
`GET /conta/v1/operacoes/{request_id}` e `GET /conta/v1/consumo`.

## Uma UF, ou todas

As inscrições estaduais custam 1 crédito por UF que respondeu, venha a resposta da fonte ou do
cache, e mais 1 por requisição, não por UF, com `endereco=true`. Uma lista vazia é um resultado, e é
cobrada.

`uf=BR` consulta todas as UFs da operação ao mesmo tempo. O campo `ufs` diz de onde veio cada uma:
`online`, `cache` ou `indisponivel`. As indisponíveis não são cobradas, e das suas inscrições nada
se sabe. Só quando todas falham a resposta é um erro. `is_cache` é `true` quando nada veio da fonte.

## Cache e estratégias

| `cache_strategy` | Primeiro | Se não der |
|---|---|---|
| `CACHE_SE_EXISTIR` | resultado guardado, de qualquer idade | consulta a fonte |
| `CACHE_PREFERENCIAL` | resultado guardado há no máximo `cache` dias | consulta a fonte |
| `SO_ONLINE` | consulta a fonte | devolve a falha |
| `ONLINE_PREFERENCIAL` (padrão) | consulta a fonte | resultado guardado há no máximo `cache` dias |

`cache` sozinho não muda a prioridade: indique também a estratégia. `Cache-Status` e `Age` dizem
se a resposta veio do cache e há quantos segundos a fonte foi consultada. O cache é comum a todos
os clientes e nunca mostra quem consultou.

Nas inscrições estaduais o cache e a estratégia valem para cada UF em separado. Um resultado
guardado sem endereços não serve a `endereco=true`. Com `error_fallback=true`, quando a fonte falha
é aceito um resultado guardado de qualquer idade, seja qual for a estratégia.

`suframa` não tem estratégia: um resultado guardado há no máximo `cache` dias, senão a fonte.

## Repetir sem pagar duas vezes

Envie `Idempotency-Key` (8 a 128 caracteres visíveis, por exemplo um UUID) e, em dúvida, repita a
mesma requisição com a mesma chave, durante HORAS. Uma consulta terminada é reenviada igual,
byte a byte, com `Idempotent-Replayed: true` e sem custo, falhas técnicas incluídas. Se ainda está
em andamento, a resposta é 409 com `Retry-After`. Recusas (400, 401, 402, 403, 409, 429) não
ocupam a chave; uma fonte que foi consultada e falhou, sim (400 `FALHA_TECNICA` e
`DADOS_RECUSADOS_PELA_FONTE`, 500, 503): essa resposta é a que se repete, e outra tentativa pede
outra chave. De muitas requisições iguais que chegam juntas com uma chave, uma é executada e
cobrada; as outras recebem a sua resposta, ou 409, e nunca 402.

## Limites de requisições

`RateLimit-Policy` e `RateLimit` dizem as cotas da conta e quanto resta. Depois de um 429 aguarde
os segundos de `Retry-After`: uma requisição enviada então não é recusada pelo mesmo motivo.

## Serviço indisponível

Um 503 diz em `Retry-After` quando vale a pena voltar: no máximo 300 segundos, mesmo quando a
espera é mais longa. Num 503 reenviado (`Idempotent-Replayed: true`) são os segundos que a chave
ainda vale, também 300 no máximo: a mesma resposta se repete até lá, e outra tentativa pede outra
chave.
"""


def introduction(idempotency_hours: int) -> str:
    """What stands before the operations."""
    return _INTRODUCTION.replace("HORAS", _hours(idempotency_hours))


TAG_LOOKUPS = "Consultas"
TAG_QUOTES = "Custos"
TAG_RECEIPTS = "Comprovantes"
TAG_ACCOUNT = "Conta"
TAG_SERVICE = "Monitoramento"  # tags are ASCII: generators name files and classes by them
TAGS: Mapping[str, str] = {
    TAG_LOOKUPS: "As operações que custam créditos.",
    TAG_QUOTES: "O que cada consulta custaria agora, sem consultar nem cobrar nada.",
    TAG_RECEIPTS: "Os documentos das certidões, no endereço que `print` indica; sem custo.",
    TAG_ACCOUNT: "O que a própria conta gastou; com chave, sem custo.",
    TAG_SERVICE: "Saúde e medidas do serviço; sem chave, sem custo.",
}

QUOTE = (
    "O que a mesma consulta custaria agora, com os mesmos parâmetros: nada é consultado nem"
    " cobrado. Enquanto nada muda, a cobrança fica entre o mínimo e o máximo, e é igual a eles"
    " quando `exato`. De uma pessoa sobre a qual esta conta ainda não teve resposta, diz só o"
    " intervalo."
)
FEDERAL_RECEIPT = (
    "PDF ou HTML. Pede uma chave da conta que fez a consulta; com a de outra conta a resposta é"
    " 404, como se não existisse. HTML vem como arquivo anexo, sem nada que rode em um navegador."
)
STATE_RECEIPT = (
    "PDF, público: não pede chave e é o mesmo para todos que consultam o CNPJ na UF. Quem não"
    " conhece o endereço não o adivinha."
)
BALANCE = (
    "O que a conta ainda pode gastar, agora. Reservas são de consultas em andamento: o que sobra"
    " delas volta quando terminam."
)


def consumption(days_default: int, days_max: int) -> str:
    """What the account's consumption is."""
    return (
        "O que foi cobrado, por dia, operação, chave e origem. Sem `de` nem `ate`, os últimos"
        f" {days_default} dias; no máximo {days_max} dias de uma vez."
    )


def operation(days: int) -> str:
    """What becomes of one request."""
    return (
        "Responde “esta consulta foi cobrada?”: o estado, os créditos e a regra que fez o preço."
        f" Só da própria conta, por {days} dias. Recusas e reenvios por `Idempotency-Key` não são"
        " operações."
    )


ALIVE = "Para quem reinicia o processo; nada diz daquilo de que ele depende."
READY = "Para quem distribui requisições: o banco de dados precisa aceitar gravações, senão 503."
MEASURED = "Para o Prometheus e programas que o leem."

SECURITY = "Chave da conta. Contas de teste usam chaves `balcao_test_…`, as demais `balcao_live_…`."


def idempotency_key(hours: int) -> str:
    """What the request header is for."""
    return (
        f"Repete a mesma consulta sem executá-la nem cobrá-la de novo, durante {_hours(hours)}. O"
        " valor exato é a chave, própria de cada conta; use-a só com a mesma operação e os mesmos"
        " parâmetros."
    )


def _hours(count: int) -> str:
    return "1 hora" if count == 1 else f"{count} horas"


STATUSES: Mapping[int, str] = {
    200: "Consulta concluída: leia `success` e `error`.",
    400: "A requisição não pode ser atendida como foi enviada, ou a consulta falhou.",
    401: "A chave está ausente, expirou, foi revogada ou é inválida.",
    402: "Não há créditos disponíveis para o caminho necessário.",
    403: "A conta não inclui o que foi pedido.",
    404: "Não existe, ou o resultado da consulta é negativo (veja `error`).",
    409: "A requisição anterior com esta `Idempotency-Key` não terminou ou não pode ser reenviada.",
    413: "A requisição traz um corpo.",
    429: "Cota de requisições por minuto ou por dia atingida.",
    431: "A linha e os cabeçalhos da requisição são longos demais.",
    500: "Falha da fonte consultada ou do próprio serviço. Nada foi cobrado.",
    503: "A fonte ou o serviço está indisponível no momento. Nada foi cobrado.",
}


@dataclass(frozen=True, slots=True)
class HeaderText:
    """One response header: statuses that always carry it, and those that may."""

    description: str
    schema: Mapping[str, object]
    always: frozenset[int] = frozenset()
    sometimes: frozenset[int] = frozenset()


_ALL = frozenset(STATUSES)
_COUNTED = frozenset({200, 400, 402, 403, 404, 409, 429})  # after the key was recognised
_RESULTS = frozenset({200, 404})

HEADERS_OF_PAGES = (
    "X-Request-Id",
    "X-Creditos-Cobrados",
    "RateLimit-Policy",
    "RateLimit",
    "Retry-After",
)

HEADERS: Mapping[str, HeaderText] = {
    "X-Request-Id": HeaderText("Igual a `request_id`.", {"type": "string", "format": "uuid"}, _ALL),
    "X-Creditos-Cobrados": HeaderText(
        "Créditos que esta resposta custou.", {"type": "integer", "minimum": 0}, _ALL
    ),
    "RateLimit-Policy": HeaderText(
        "As cotas: quantas requisições (`q`) em quantos segundos (`w`).",
        {"type": "string", "examples": ['"minuto";q=300;w=60, "dia";q=50000;w=86400']},
        always=_COUNTED,
        sometimes=frozenset({500, 503}),
    ),
    "RateLimit": HeaderText(
        "Quantas requisições restam (`r`) e em quantos segundos a cota volta a ser inteira (`t`).",
        {"type": "string", "examples": ['"minuto";r=299;t=1, "dia";r=49999;t=2']},
        always=_COUNTED,
        sometimes=frozenset({500, 503}),
    ),
    "Retry-After": HeaderText(
        "Segundos a aguardar antes de repetir; em 503, no máximo 300.",
        {"type": "integer", "minimum": 1},
        always=frozenset({429, 503}),
        sometimes=frozenset({409}),
    ),
    "Cache-Status": HeaderText(
        "Se o resultado veio do cache (RFC 9211).",
        {"type": "string", "examples": ["Balcao; hit", "Balcao; fwd=miss"]},
        sometimes=_RESULTS,
    ),
    "Age": HeaderText(
        "Há quantos segundos a fonte foi consultada.",
        {"type": "integer", "minimum": 0},
        sometimes=_RESULTS,
    ),
    "Idempotent-Replayed": HeaderText(
        "`true`: a resposta foi gravada antes sob a mesma Idempotency-Key.",
        {"type": "string", "enum": ["true"]},
        sometimes=frozenset({200, 400, 404, 500, 503}),
    ),
    "Deprecation": HeaderText(
        "A requisição usou uma forma antiga (RFC 9745): envie `cache` na consulta.",
        {"type": "string", "examples": ["@1767225600"]},
        sometimes=_ALL - {401, 413, 429, 431},
    ),
}
