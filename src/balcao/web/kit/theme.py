"""Light or dark theme, chosen per browser in a cookie and written into every page."""

from starlette.requests import Request

from balcao.web.kit import returning

COOKIE = "balcao-tema"
THEMES = ("light", "dark")
_SECURE_COOKIE = f"__Host-{COOKIE}"


def of(request: Request) -> str | None:
    """Return the theme chosen in this browser; None: the system's."""
    chosen = request.cookies.get(_SECURE_COOKIE) or request.cookies.get(COOKIE)
    return chosen if chosen in THEMES else None


def back(request: Request) -> str:
    """Return the address to go back to after choosing a theme; after a POST, the home page."""
    if request.method != "GET":
        return returning.HOME
    query = request.url.query
    return returning.local_address(request.url.path + (f"?{query}" if query else ""))
