"""Price of a lookup, computed outside the serving process."""

from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from balcao.core.access import Account
from balcao.core.errors import RouteNotFound
from balcao.home import Home
from balcao.http.quotes import PREFIX, QuoteAnswer, Quotes
from balcao.http.read import Request
from balcao.http.routes import Routes
from balcao.service.standalone import standalone_parts
from balcao.settings import Settings
from balcao.storage.desk.desk import Desk

Price: TypeAlias = QuoteAnswer


async def price(  # noqa: PLR0917  # an open data folder, and the lookup
    settings: Settings,
    home: Home,
    desk: Desk,
    now_ms: Callable[[], int],
    account: Account,
    lookup: str,
) -> Price:
    """Return the answer of `GET /cotacoes/v2/LOOKUP` to an account. Raises `CallerError`.

    Needs no running service; the status of sources is unknown here.
    """
    sent = urlsplit(lookup)
    with standalone_parts(settings, home, desk, now_ms) as (parts, factory):
        quotes = Quotes(parts, factory.now)
        route, rest = Routes(quotes.routes()).find(PREFIX + unquote(sent.path))
        if route is None or route.quotes is None:
            raise RouteNotFound
        caller = account.caller()
        query = sent.query.encode()
        request = Request("GET", sent.path, query, {}, rest=rest, caller=caller)
        return await quotes.answer(route.quotes, request)
