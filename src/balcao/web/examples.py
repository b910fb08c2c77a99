"""`/app/exemplos`: little programs that ask this service, with its address in them."""

from starlette.responses import Response

from balcao.web.snippets import KEY, for_reader
from balcao.web.visit import Visit


async def show(visit: Visit) -> Response:
    """All of them. No key is known here: one is shown once, when it is made."""
    programs = for_reader(visit.tools.settings.address)
    return visit.page("exemplos.html", programs=programs, placeholder=KEY)
