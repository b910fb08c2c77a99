"""The pages below `/docs` except operations: first steps, guides, errors, search."""

from collections.abc import Mapping
from itertools import groupby

import msgspec
from starlette.responses import Response

from balcao.web.kit.context import PageContext
from balcao.web.kit.snippets import KEY, for_reader
from balcao.web.pages.docs import event_pages, markdown, synonyms
from balcao.web.pages.docs.contents import Documentation, documentation_of
from balcao.web.pages.docs.language import language_of, other_address
from balcao.web.pages.docs.navigation import find

_RULES = (
    ("Endereços", "Redes de onde a chave pode ser usada", "403 ENDERECO_NAO_PERMITIDO"),
    ("Operações", "Consultas que a chave pode fazer", "403 OPERACAO_NAO_PERMITIDA"),
    (
        "Cliente obrigatório",
        "Toda consulta precisa informar `X-Cliente`",
        "400 CLIENTE_OBRIGATORIO",
    ),
    ("Limites", "Limite próprio de requisições por minuto ou por dia", "429 LIMITE_EXCEDIDO"),
    ("Orçamentos", "Limite de gasto por dia, por mês ou único", "402 TETO_DA_CHAVE"),
    ("Validade", "Último dia de validade da chave", "401 API_KEY_INVALIDA"),
    (
        "Administra",
        "Ver e alterar orçamentos da conta inteira",
        "403 CHAVE_NAO_ADMINISTRA, sem esta permissão",
    ),
)

# The common meaning of a status's codes.
STATUSES: Mapping[int, str] = {
    400: "Requisição inválida ou falha na consulta",
    401: "Chave não reconhecida",
    402: "Créditos ou limite insuficientes",
    403: "Sem permissão",
    404: "Não existe",
    405: "Não aqui",
    409: "Conflito com o estado atual",
    410: "Apagado",
    413: "Grande demais",
    415: "Tipo de conteúdo não aceito",
    429: "Limite de requisições atingido",
    500: "Falhou",
    503: "Indisponível no momento",
}


async def framed(context: PageContext, template: str, **values: object) -> Response:
    """Return a page with the navigation and the search. `template` extends `docs/frame.html`."""
    here = context.request.url.path
    language = language_of(here)
    return context.page(
        template,
        200,
        chapters=(await _documentation(context)).chapters,
        here=here,
        language=language,
        lang=language.tag,
        root=language.root,
        say=language.say,
        other=other_address(here),
        site=context.settings.address,
        **values,
    )


async def _documentation(context: PageContext) -> Documentation:
    return await documentation_of(context.tools, language_of(context.request.url.path))


async def _whole(context: PageContext, name: str, **values: object) -> Response:
    """Return a page that has a template of its own in each language."""
    folder = language_of(context.request.url.path).folder
    return await framed(context, f"{folder}/{name}.html", **values)


async def show_start(context: PageContext) -> Response:
    """Show the way from the key to the first answer, in three steps."""
    entry = (await _documentation(context)).first
    _, answer = entry.answers[0].examples[0]
    first = dict(entry.sample.requests())["curl"]
    return await _whole(context, "inicio", key=KEY, first=first, answer=answer)


async def show_keys(context: PageContext) -> Response:
    """Show kinds and restrictions of keys, and how to get one."""
    return await _whole(context, "chaves", address=context.settings.address, rules=_RULES)


async def show_sandbox(context: PageContext) -> Response:
    """Show the documents of the sandbox with known answers."""
    return await _whole(context, "sandbox")


async def show_programs(context: PageContext) -> Response:
    """Show example programs with this service's address in them, and the clients."""
    programs = for_reader(context.settings.address)
    requests = (await _documentation(context)).first.sample.requests()
    return await _whole(
        context, "programas", programs=programs, clients=requests[-2:], placeholder=KEY
    )


async def show_guide(context: PageContext) -> Response:
    """Show one guide."""
    guide = (await _documentation(context)).guides.get(context.request.path_params["name"])
    if guide is None:
        raise context.not_found("Guia não encontrado", "Não existe um guia com este nome.")
    return await framed(context, "docs/guia.html", guide=guide)


async def show_errors(context: PageContext) -> Response:
    """Show all error codes, by HTTP status."""
    codes = (await _documentation(context)).codes.values()
    groups = [
        (status, STATUSES[status], list(pages))
        for status, pages in groupby(codes, key=lambda page: page.statuses[0])
    ]
    return await framed(context, "docs/erros.html", groups=groups, line=markdown.line)


async def show_error(context: PageContext) -> Response:
    """Show one error code: its meaning, what to do, and how to see it in the sandbox."""
    page = (await _documentation(context)).codes.get(context.request.path_params["code"])
    if page is None:
        raise context.not_found("Código desconhecido", "Este código não existe nesta versão.")
    script = page.script(context.settings.address)
    return await framed(context, "docs/erro.html", page=page, script=script, line=markdown.line)


async def show_event_types(context: PageContext) -> Response:
    """Show all types of events, by group."""
    made = (await _documentation(context)).events
    groups = event_pages.groups(made, language_of(context.request.url.path))
    return await framed(context, "docs/eventos.html", groups=groups, line=markdown.line)


async def show_event_type(context: PageContext) -> Response:
    """Show one type of events: when it is written, an example, its data."""
    page = (await _documentation(context)).events.get(context.request.path_params["name"])
    if page is None:
        raise context.not_found("Tipo desconhecido", "Este tipo não existe nesta versão.")
    return await framed(context, "docs/evento.html", page=page, line=markdown.line)


async def search(context: PageContext) -> Response:
    """Show the pages that have the words of `q`."""
    sought = context.query("q")[:100]
    language = language_of(context.request.url.path)
    meant = synonyms.PORTUGUESE if language.is_source else synonyms.ENGLISH
    found = find((await _documentation(context)).indexed, sought, meant)
    return await framed(context, "docs/busca.html", sought=sought, found=found, line=markdown.line)


async def search_index(context: PageContext) -> Response:
    """Return the whole search index as JSON."""
    body = [
        {
            "titulo": each.leaf.title,
            "endereco": each.leaf.href,
            "capitulo": each.chapter,
            "resumo": each.leaf.summary,
            "palavras": each.words.strip(),
        }
        for each in (await _documentation(context)).indexed
    ]
    return Response(msgspec.json.encode(body), media_type="application/json")
