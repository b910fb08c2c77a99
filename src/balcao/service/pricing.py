"""What a lookup would cost, said by another process than the one that serves."""

import time
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from balcao.core.access import Account, Caller
from balcao.core.questions import Mode
from balcao.errors import RouteNotFound
from balcao.home import Home
from balcao.http.quotes import PREFIX, QuoteAnswer, Quotes
from balcao.http.read import Request
from balcao.http.routes import Routes
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.source_log import SourceLog
from balcao.opendata.current import CurrentSnapshot
from balcao.service.compose import MODES, parts_of
from balcao.service.provider_factory import ProviderFactory
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of

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
    place, pepper = place_of(settings), home.pepper()
    caches: dict[Mode, Cache] = {
        mode: place.open_cache(mode, pepper=pepper, now_ms=now_ms) for mode in MODES
    }
    snapshots = {mode: CurrentSnapshot(home.opendata(mode), time.monotonic) for mode in MODES}
    factory = ProviderFactory(
        settings=settings,
        snapshots=snapshots,
        blobs=open_blobs(settings.receipts or home.receipts),
        metrics=Metrics(),
        health=Health(),
        source_log=SourceLog(time.monotonic),
        now_ms=now_ms,
        live_transport=None,
    )
    sent = urlsplit(lookup)
    try:
        parts = parts_of(settings, desk, caches, factory, now_ms, pepper)
        quotes = Quotes(parts, factory.standings)
        route, rest = Routes(quotes.routes()).find(PREFIX + unquote(sent.path))
        if route is None or route.quotes is None:
            raise RouteNotFound
        caller = _caller(account)
        query = sent.query.encode()
        request = Request("GET", sent.path, query, {}, rest=rest, caller=caller)
        return await quotes.answer(route.quotes, request)
    finally:
        for cache in caches.values():
            cache.close()
        for snapshot in snapshots.values():
            snapshot.close()


def _caller(account: Account) -> Caller:
    """The account by itself, with no key's own limits."""
    return Caller(
        account.account_id,
        None,
        account.plan,
        account.mode,
        account.certificates,
        account.partner_optin,
        None,
        None,
        None,
    )
