"""`/`: the service's front page; for programs, the addresses of its documents."""

import msgspec
from starlette.responses import Response

from balcao import __version__
from balcao.http.read import prefers_page
from balcao.web.kit.context import PageContext
from balcao.web.kit.snippets import KEY
from balcao.web.pages.docs import documentation_of


async def show(context: PageContext) -> Response:
    """Show the page, or JSON to clients that do not accept HTML (contract 1.13)."""
    if prefers_page(dict(context.request.scope["headers"])):
        response = await _page(context)
    else:
        response = Response(_addresses(context), media_type="application/json")
    response.headers.add_vary_header("accept")
    return response


async def _page(context: PageContext) -> Response:
    documentation = await documentation_of(context.tools)
    return context.page(
        "entrada.html",
        key=KEY,
        first=dict(documentation.first.sample.requests())["curl"],
        offered=[
            (documentation.entries[each.path].title, each.path, each.form.price_sentence)
            for each in context.tools.parts.operations.values()
        ],
    )


def _addresses(context: PageContext) -> bytes:
    address = context.settings.address
    return msgspec.json.encode(
        {
            "servico": "Balcão",
            "versao": __version__,
            "openapi": f"{address}/openapi.json",
            "documentacao": f"{address}/docs",
            "situacao": f"{address}/status/estado.json",
        }
    )
