"""The web application put together: every file's pages, and what is told of each request."""

from collections.abc import Callable, Mapping

from balcao.core.outcomes import Reply
from balcao.home import Home
from balcao.http.authenticator import Authenticator
from balcao.lookup.context import Parts
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.settings import Settings
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk
from balcao.web import (
    answered,
    consult,
    history,
    home,
    keys,
    members,
    myself,
    receipts,
    request,
    signing,
    statement,
    status,
)
from balcao.web.application import WebApplication
from balcao.web.exports import Exports
from balcao.web.operator import (
    account,
    accounts,
    audit,
    opendata,
    operators,
    overview,
    sources,
)
from balcao.web.pages import Assets, Pages
from balcao.web.passwords import Passwords
from balcao.web.seal import Seal
from balcao.web.throttle import Throttle
from balcao.web.tools import Tools

PAGES = (
    *signing.pages(),
    *myself.pages(),
    *consult.pages(),
    *answered.pages(),
    *receipts.pages(),
    *home.pages(),
    *statement.pages(),
    *history.pages(),
    *request.pages(),
    *keys.pages(),
    *members.pages(),
    *overview.pages(),
    *accounts.pages(),
    *account.pages(),
    *operators.pages(),
    *sources.pages(),
    *opendata.pages(),
    *audit.pages(),
    *status.pages(),
)


def build_site(
    *,
    parts: Parts,
    desk: Desk,
    blobs: Blobs,
    authenticator: Authenticator,
    settings: Settings,
    home: Home,
    health: Health,
    circuits: Callable[[], Mapping[tuple[str, str, str], str]],
    pepper: bytes,
    new_id: Callable[[], str],
    metrics: Metrics,
    request_log: RequestLog,
) -> WebApplication:
    """The application over the parts of the service."""
    assets = Assets()
    tools = Tools(
        parts=parts,
        desk=desk,
        blobs=blobs,
        authenticator=authenticator,
        settings=settings,
        home=home,
        health=health,
        circuits=circuits,
        seal=Seal(pepper),
        passwords=Passwords(),
        throttle=Throttle(),
        pages=Pages(assets),
        exports=Exports(),
        new_id=new_id,
    )

    def observe(name: str, reply: Reply, account_id: int | None, seconds: float) -> None:
        metrics.request(name, reply.status, reply.origin or "nenhuma", seconds, reply.credits)
        request_log.note(
            RequestEvent(
                reply.request_id,
                name,
                reply.status,
                reply.code,
                account_id,
                None,
                reply.origin,
                reply.source,
                reply.credits,
                reply.replayed,
                round(seconds * 1000, 2),
            )
        )

    return WebApplication(tools, assets, PAGES, observe)
