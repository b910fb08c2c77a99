"""`/app/tema`: what this browser shows pages in."""

from starlette.responses import Response

from balcao.web.kit import guard, returning, theme
from balcao.web.kit.context import PageContext

_YEAR_SECONDS = 365 * 86_400


async def choose(context: PageContext) -> Response:
    """Remember it in the browser, and go back to the page."""
    chosen = context.typed("tema")
    response = context.redirect(returning.inside(context.typed("para")))
    guard.set_cookie(
        response,
        theme.COOKIE,
        chosen if chosen in theme.THEMES else "system",
        secure=context.is_secure,
        max_age=_YEAR_SECONDS,
    )
    return response
