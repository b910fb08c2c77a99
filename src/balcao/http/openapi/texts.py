"""What the OpenAPI document says in words, in Portuguese; its introduction is `introduction.md`."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

TITLE = "Balcão: consultas a registros de empresas"
CONTACT = "Quem mantém este serviço"


def introduction(idempotency_hours: int) -> str:
    """What stands before the operations."""
    text = resources.files("balcao.http.openapi").joinpath("introduction.md").read_text("utf-8")
    return text.replace("HORAS", _hours(idempotency_hours))


TAG_LOOKUPS = "Consultas"
TAG_QUOTES = "Custos"
TAG_SEARCHES = "Buscas"
TAG_FACES = "Faces"
TAG_RECEIPTS = "Comprovantes"
TAG_ACCOUNT = "Conta"
TAG_BUDGETS = "Orcamentos"
TAG_BATCHES = "Lotes"
TAG_SERVICE = "Monitoramento"  # tags are ASCII: generators name files and classes by them
TAGS: Mapping[str, str] = {
    TAG_LOOKUPS: "As operações que custam créditos.",
    TAG_QUOTES: "O que cada consulta custaria agora, sem consultar nem cobrar nada.",
    TAG_SEARCHES: "Empresas dos dados abertos do CNPJ por nome, lugar, atividade e outros filtros.",
    TAG_FACES: "Os dados cadastrais na forma de outros serviços, para programas que já existem.",
    TAG_RECEIPTS: "Os documentos das certidões, no endereço que `print` indica; sem custo.",
    TAG_ACCOUNT: "O que a própria conta gastou; com chave, sem custo.",
    TAG_BUDGETS: "Tetos para o que uma chave ou um cliente gasta; com chave, sem custo.",
    TAG_BATCHES: "Uma consulta para cada linha de um arquivo; só as linhas consultadas custam.",
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
        "O que foi cobrado, por dia, operação, chave, origem e cliente (`X-Cliente`). Sem `de` nem"
        f" `ate`, os últimos {days_default} dias; no máximo {days_max} dias de uma vez."
    )


def operation(days: int) -> str:
    """What becomes of one request."""
    return (
        "Responde “esta consulta foi cobrada?”: o estado, os créditos e a regra que fez o preço."
        f" Só da própria conta, por {days} dias. Recusas e reenvios por `Idempotency-Key` não são"
        " operações."
    )


def operations(days: int) -> str:
    """Requests by what the caller knows of them."""
    return (
        "Acha requisições sem o `request_id`: pela `Idempotency-Key` ou pelo `X-Referencia` com que"
        f" foram feitas, as mais novas primeiro, por {days} dias. Cada uma como em"
        " `/conta/v1/operacoes/{request_id}`: o que não reservou nem custou nada não é operação."
    )


ALIVE = "Para quem reinicia o processo; nada diz daquilo de que ele depende."
READY = "Para quem distribui requisições: o banco de dados precisa aceitar gravações, senão 503."
MEASURED = "Para o Prometheus e programas que o leem, da própria máquina ou de uma rede privada."

SECURITY = "Chave da conta. Contas de teste usam chaves `balcao_test_…`, as demais `balcao_live_…`."


def idempotency_key(hours: int) -> str:
    """What the request header is for."""
    return (
        f"Repete a mesma consulta sem executá-la nem cobrá-la de novo, durante {_hours(hours)}. O"
        " valor exato é a chave, própria de cada conta; use-a só com a mesma operação e os mesmos"
        " parâmetros."
    )


def creating(hours: int) -> str:
    """What the request header is for where something is created."""
    return (
        f"Cria uma vez só, durante {_hours(hours)}: a mesma chave com o mesmo corpo recebe de novo"
        " a primeira resposta; com outro corpo, 400."
    )


NEW_BATCH = (
    "Recebe um arquivo com uma linha por consulta. Os demais parâmetros da operação valem para"
    " todas as linhas; colunas do arquivo prevalecem, mas um valor que a operação não aceita é"
    " recusado aqui. As colunas são reconhecidas, e `colunas` diz como; `coluna_` e um papel (um"
    " destes, ou um parâmetro da operação) diz qual é, pelo nome no cabeçalho ou pela letra da"
    " planilha. O arquivo é lido e cotado em seguida: acompanhe `estado` até `cotado` ou"
    " `recusado`. Nada é consultado nem cobrado antes da confirmação. A mesma `Idempotency-Key` com"
    " o mesmo arquivo dá o mesmo lote, com a primeira resposta."
)
CHOSEN_COLUMN = {
    "documento": "A coluna do documento, de qualquer tipo: nome ou letra.",
    "cnpj": "A coluna do CNPJ: nome ou letra; vazio, nenhuma.",
    "cpf": "A coluna do CPF: nome ou letra; vazio, nenhuma.",
    "data_nascimento": "A coluna do nascimento: nome ou letra; vazio, nenhuma.",
    "uf": "A coluna da UF: nome ou letra; vazio, nenhuma.",
    "ref": "A coluna da sua referência: nome ou letra; vazio, nenhuma.",
    "cliente": "A coluna do cliente: nome ou letra; vazio, nenhuma.",
}
BATCH = (
    "Estados: `recebido`, `validando`, `cotado` ou `recusado`; confirmado, `executando`, `pausado`"
    " (com o motivo) e `concluido`; ou `encerrando` e `encerrado`; `expirado`, se a cotação não foi"
    " confirmada em 24 horas. O teto e o saldo nunca são ultrapassados, nem por um crédito; cada"
    " linha é cobrada no máximo uma vez, e só se foi respondida."
)
ERASED_BATCH = (
    "Apaga o arquivo e os resultados de um lote terminado, ou cotado e não confirmado. O que ele"
    " custou continua no extrato. Só pela chave que enviou o arquivo, ou por uma que administra."
)
BATCH_FILES = (
    "A qualquer momento, como está agora: as colunas do arquivo, na ordem dele, e depois as"
    " nossas, que começam com `balcao_`."
)
BUDGETS = (
    "Uma chave que administra vê os da conta inteira; outra, só os dela. Com o que foi usado no"
    " período corrente."
)
NEW_BUDGET = (
    "De uma chave (`de.id`) ou de um cliente marcado por `X-Cliente` (`de.valor`). O que passaria"
    " do teto é recusado com 402, sem consulta nem cobrança, já na próxima consulta. Pede uma chave"
    " que administra."
)
CHANGED_BUDGET = (
    "O que não vem fica como está; o que já foi usado também. Um teto abaixo do uso vale: nada mais"
    " passa até o período recomeçar. Pede uma chave que administra."
)
ENDED_BUDGET = (
    "Para sempre; a resposta diz como ele estava. Pede uma chave que administra. O de um lote ou de"
    " uma carteira termina com ele."
)


def _hours(count: int) -> str:
    return "1 hora" if count == 1 else f"{count} horas"


STATUSES: Mapping[int, str] = {
    200: "Consulta concluída: leia `success` e `error`.",
    201: "Criado.",
    400: "A requisição não pode ser atendida como foi enviada, ou a consulta falhou.",
    401: "A chave está ausente, expirou, foi revogada ou é inválida.",
    402: "Não há créditos disponíveis para o caminho necessário.",
    403: "A conta não inclui o que foi pedido.",
    404: "Não existe, ou o resultado da consulta é negativo (veja `error`).",
    409: "A requisição anterior com esta `Idempotency-Key` não terminou ou não pode ser reenviada.",
    410: "O que se pede não existe mais.",
    413: "A requisição traz um corpo que o endereço não aceita, ou um grande demais.",
    415: "O corpo é de um tipo que o endereço não aceita.",
    429: "Cota de requisições por minuto ou por dia atingida.",
    431: "A linha e os cabeçalhos da requisição são longos demais.",
    500: "Falha da fonte consultada ou do próprio serviço. Nada foi cobrado.",
    503: "A fonte ou o serviço está indisponível no momento. Nada foi cobrado, exceto talvez com"
    " `COBRANCA_INCERTA`: repita então com a mesma `Idempotency-Key`.",
}


@dataclass(frozen=True, slots=True)
class HeaderText:
    """One response header: statuses that always carry it, and those that may."""

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
        "Créditos que esta resposta custou. Falta só com `COBRANCA_INCERTA`.",
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
        "Quantas requisições restam (`r`) e em quantos segundos a cota volta a ser inteira (`t`).",
        {"type": "string", "examples": ['"minuto";r=299;t=1, "dia";r=49999;t=2']},
        always=_COUNTED,
        sometimes=_PERHAPS_COUNTED,
    ),
    "Retry-After": HeaderText(
        "Segundos a aguardar antes de repetir; em 503, no máximo 300.",
        {"type": "integer", "minimum": 1},
        always=frozenset({429, 503}),
        sometimes=frozenset({409}),
    ),
    "Link": HeaderText(
        'A página que explica o código do erro (`rel="help"`, RFC 8288): o que houve, quando'
        " repetir, o que fazer. O endereço é relativo a este serviço.",
        {"type": "string", "examples": ['</docs/erros/CNPJ_INVALIDO>; rel="help"']},
        always=_ALL - {200, 201, 404},
        sometimes=frozenset({404}),
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
        sometimes=frozenset({200, 201, 400, 404, 500, 503}),
    ),
    "Deprecation": HeaderText(
        "A requisição usou uma forma antiga (RFC 9745): envie `cache` na consulta.",
        {"type": "string", "examples": ["@1767225600"]},
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
