"""The frame of the documentation's pages: navigation beside them, and the search."""

from starlette.responses import Response

from balcao.web.kit.context import Visit


def page(visit: Visit, template: str, status: int = 200, **values: object) -> Response:
    """A page of the documentation. `template` extends `docs/frame.html`."""
    here = visit.request.url.path
    return visit.page(
        template, status, chapters=visit.tools.documentation.chapters, here=here, **values
    )
