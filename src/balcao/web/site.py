"""The web application put together, with its metrics and request log."""

from balcao.core.outcomes import Reply
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.web.kit.application import WebApplication
from balcao.web.kit.tools import Tools
from balcao.web.routes import PAGES


def build_site(tools: Tools, metrics: Metrics, request_log: RequestLog) -> WebApplication:
    """Return the application over the parts of the service."""

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

    return WebApplication(tools, PAGES, observe)
