"""`/`: what this is, what it answers, and where to go on. For machines, where everything is."""

import msgspec
from starlette.responses import Response

from balcao import __version__
from balcao.http import read
from balcao.web.docs.reference import Entry
from balcao.web.visit import Visit

# The lookup that everybody understands.
_FIRST = "cnpj-receita-federal"
_HTML, _JSON = b"text/html", b"application/json"


async def show(visit: Visit) -> Response:
    """The page; JSON for who does not ask for one, as programs do not."""
    scope = visit.request.scope
    asked = read.Request(scope["method"], scope["path"], b"", dict(scope["headers"]))
    if asked.preferred((_JSON, _HTML)) == _JSON:
        response = Response(_whereabouts(visit), media_type=_JSON.decode())
    else:
        response = _page(visit)
    response.headers["vary"] = "accept, accept-encoding"
    return response


def _page(visit: Visit) -> Response:
    library, operations = visit.tools.library, visit.tools.parts.operations.values()
    first: Entry = library.entries[_FIRST]
    return visit.page(
        "entrada.html",
        first=dict(first.requests)["curl"],
        offered=[
            (library.entries[each.path].title, each.path, each.form.price_sentence)
            for each in operations
            if each.path in library.entries
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
