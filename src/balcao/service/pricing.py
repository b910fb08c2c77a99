"""What a lookup would cost, said by another process than the one that serves."""

from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from balcao.core.access import Account
from balcao.core.errors import RouteNotFound
from balcao.home import Home
from balcao.http.quotes import PREFIX, QuoteAnswer, Quotes
from balcao.http.read import Request
from balcao.http.routes import Routes
from balcao.service.beside import parts_beside
from balcao.settings import Settings
from balcao.storage.desk.desk import Desk

Price: TypeAlias = QuoteAnswer


async def price(  # noqa: PLR0917  # a data folder that is open, and what is asked of it
    settings: Settings,
    home: Home,
    desk: Desk,
    now_ms: Callable[[], int],
    account: Account,
    lookup: str,
) -> Price:
    """What `GET /cotacoes/v2/` answers to an account; `lookup` as it would stand behind that.

    Beside a running service or without one: how sources are doing is not known here. Raises
    `CallerError`.
    """
    sent = urlsplit(lookup)
    with parts_beside(settings, home, desk, now_ms) as (parts, factory):
        quotes = Quotes(parts, factory.now)
        route, rest = Routes(quotes.routes()).find(PREFIX + unquote(sent.path))
        if route is None or route.quotes is None:
            raise RouteNotFound
        caller = account.caller()
        query = sent.query.encode()
        request = Request("GET", sent.path, query, {}, rest=rest, caller=caller)
        return await quotes.answer(route.quotes, request)
