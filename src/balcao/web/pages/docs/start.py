"""Where one begins: three steps, keys, and the documents that the sandbox knows."""

from starlette.responses import Response

from balcao.web.kit.context import PageContext
from balcao.web.kit.snippets import KEY, for_reader
from balcao.web.pages.docs import frame
from balcao.web.pages.docs.leaves import Chapter, Leaf

CHAPTER = Chapter(
    "Começar",
    (
        Leaf("/docs", "Três passos", "Da chave à primeira resposta."),
        Leaf("/docs/chaves", "Chaves", "De teste e de produção, o que cada uma pode, como trocar."),
        Leaf(
            "/docs/sandbox",
            "Documentos da sandbox",
            "CNPJs e CPFs fictícios com respostas conhecidas, uma para cada caminho.",
            "teste homologação massa de dados cnpj de teste cpf de teste",
        ),
        Leaf("/docs/programas", "Programas prontos", "Em onze linguagens, para copiar."),
    ),
)

_RULES = (
    ("Endereços", "De que redes ela pode ser usada", "403 ENDERECO_NAO_PERMITIDO"),
    ("Operações", "Que consultas ela pode fazer", "403 OPERACAO_NAO_PERMITIDA"),
    ("Cliente obrigatório", "Cada consulta diz para quem é", "400 CLIENTE_OBRIGATORIO"),
    ("Limites", "Menos requisições por minuto ou por dia", "429 LIMITE_EXCEDIDO"),
    ("Orçamentos", "Um teto por dia, por mês ou de uma vez", "402 TETO_DA_CHAVE"),
    ("Validade", "O último dia em que ela vale", "401 API_KEY_INVALIDA"),
    ("Administra", "Vê e muda orçamentos da conta inteira", "403 CHAVE_NAO_ADMINISTRA, sem ela"),
)


async def show(context: PageContext) -> Response:
    """Three steps."""
    entry = context.tools.documentation.first
    _, answer = entry.answers[0].examples[0]
    first = dict(entry.requests)["curl"]
    return frame.page(context, "docs/inicio.html", key=KEY, first=first, answer=answer)


async def show_keys(context: PageContext) -> Response:
    """What a key is, and how to come by one."""
    address = context.tools.settings.address
    return frame.page(context, "docs/chaves.html", address=address, rules=_RULES)


async def show_sandbox(context: PageContext) -> Response:
    """Documents with promised answers."""
    return frame.page(context, "docs/sandbox.html")


async def show_programs(context: PageContext) -> Response:
    """Little programs with this service's address in them."""
    programs = for_reader(context.tools.settings.address)
    return frame.page(context, "docs/programas.html", programs=programs, placeholder=KEY)
