"""`/`: what this is, what it answers, and where to go on. For machines, where everything is."""

import msgspec
from starlette.responses import Response

from balcao import __version__
from balcao.http.read import wants_page
from balcao.web.kit.context import Visit
from balcao.web.kit.snippets import KEY


async def show(visit: Visit) -> Response:
    """The page; JSON for who does not ask for one (decisions 1.13)."""
    if wants_page(dict(visit.request.scope["headers"])):
        response = _page(visit)
    else:
        response = Response(_whereabouts(visit), media_type="application/json")
    response.headers.add_vary_header("accept")
    return response


def _page(visit: Visit) -> Response:
    documentation, operations = visit.tools.documentation, visit.tools.parts.operations.values()
    return visit.page(
        "entrada.html",
        key=KEY,
        first=dict(documentation.first.requests)["curl"],
        offered=[
            (documentation.entries[each.path].title, each.path, each.form.price_sentence)
            for each in operations
        ],
    )


def _whereabouts(visit: Visit) -> bytes:
    address = visit.tools.settings.address
    return msgspec.json.encode(
        {
            "servico": "Balcão",
            "versao": __version__,
            "openapi": f"{address}/openapi.json",
            "documentacao": f"{address}/docs",
            "situacao": f"{address}/status/estado.json",
        }
    )
