"""The pages of the codes of errors: all of them, and each with what to do about it."""

from collections.abc import Mapping
from itertools import groupby

from starlette.responses import Response

from balcao.core.problems import PAGES
from balcao.web.kit.context import PageContext
from balcao.web.pages.docs import frame, markdown
from balcao.web.pages.docs.codes import CodePage
from balcao.web.pages.docs.leaves import Chapter, Leaf

_ALL = PAGES.removesuffix("/")

# What the codes of a status have in common.
_STATUSES: Mapping[int, str] = {
    400: "A requisição não serve como foi enviada, ou a consulta falhou",
    401: "Não se sabe de quem é",
    402: "Custaria mais do que pode",
    403: "Não é permitido",
    404: "Não existe",
    405: "Não aqui",
    409: "Não combina com o que já há",
    410: "Não existe mais",
    413: "Grande demais",
    415: "De um tipo que não serve",
    429: "Rápido demais",
    500: "Falhou",
    503: "Indisponível no momento",
}


def chapter(pages: Mapping[str, CodePage]) -> Chapter:
    """As the navigation and the search know them."""
    every = Leaf(
        _ALL, "Códigos de erro", "O que cada um quer dizer, quando repetir e como vê-lo na sandbox."
    )
    return Chapter("Erros", (every, *map(_leaf, pages.values())))


def _leaf(page: CodePage) -> Leaf:
    statuses = " ".join(map(str, page.statuses))
    words = markdown.plain(f"{statuses} {page.words.when} {page.words.todo}")
    return Leaf(page.href, page.code, f"{page.title}.", words, listed=False)


async def show_all(context: PageContext) -> Response:
    """All codes, by status."""
    codes = context.tools.documentation.codes.values()
    groups = [
        (status, _STATUSES[status], list(those))
        for status, those in groupby(codes, key=lambda page: page.statuses[0])
    ]
    return frame.page(context, "docs/erros.html", groups=groups, line=markdown.line)


async def show(context: PageContext) -> Response:
    """One code."""
    page = context.tools.documentation.codes.get(context.request.path_params["code"])
    if page is None:
        raise context.missing("Código desconhecido", "Nenhum erro desta versão tem este código.")
    script = page.script(context.tools.settings.address)
    return frame.page(
        context, "docs/erro.html", page=page, script=script, index=_ALL, line=markdown.line
    )
