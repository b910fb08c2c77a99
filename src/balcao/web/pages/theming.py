"""`/app/tema`: what this browser shows pages in."""

from starlette.responses import Response

from balcao.web.kit import guard, returning, theme
from balcao.web.kit.context import Visit

_YEAR_SECONDS = 365 * 86_400


async def choose(visit: Visit) -> Response:
    """Remember it in the browser, and go back to the page."""
    chosen = visit.typed("tema")
    response = visit.redirect(returning.inside(visit.typed("para")))
    guard.set_cookie(
        response,
        theme.COOKIE,
        chosen if chosen in theme.THEMES else "system",
        secure=visit.is_secure,
        max_age=_YEAR_SECONDS,
    )
    return response
