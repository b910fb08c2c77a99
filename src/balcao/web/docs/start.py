"""Where one begins: three steps, keys, and the documents that the sandbox knows."""

from starlette.responses import Response

from balcao.web.docs import frame
from balcao.web.docs.leaves import Chapter, Leaf
from balcao.web.snippets import KEY, for_reader
from balcao.web.visit import Visit

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


async def show(visit: Visit) -> Response:
    """Three steps."""
    address = visit.tools.settings.address
    return frame.page(visit, "docs/inicio.html", address=address, key=KEY)


async def show_keys(visit: Visit) -> Response:
    """What a key is, and how to come by one."""
    return frame.page(visit, "docs/chaves.html", address=visit.tools.settings.address, key=KEY)


async def show_sandbox(visit: Visit) -> Response:
    """Documents with promised answers."""
    return frame.page(visit, "docs/sandbox.html")


async def show_programs(visit: Visit) -> Response:
    """Little programs with this service's address in them."""
    programs = for_reader(visit.tools.settings.address)
    return frame.page(visit, "docs/programas.html", programs=programs, placeholder=KEY)
