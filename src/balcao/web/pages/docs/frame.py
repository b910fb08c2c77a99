"""The frame of the documentation's pages: navigation beside them, and the search."""

from starlette.responses import Response

from balcao.web.kit.context import PageContext


def page(context: PageContext, template: str, status: int = 200, **values: object) -> Response:
    """A page of the documentation. `template` extends `docs/frame.html`."""
    here = context.request.url.path
    return context.page(
        template, status, chapters=context.tools.documentation.chapters, here=here, **values
    )
