"""The OpenAPI document of this service, and the address that serves it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balcao import __version__
from balcao.core.questions import Subject
from balcao.http.account import AccountRoutes
from balcao.http.assets import ASK_AGAIN, Asset
from balcao.http.batches import BatchRoutes
from balcao.http.budgets import BudgetRoutes
from balcao.http.compat_routes import compat_routes
from balcao.http.deprecated_uses import DeprecatedUseRoutes
from balcao.http.events import EventRoutes
from balcao.http.health import Probes
from balcao.http.openapi.document import build
from balcao.http.quotes import Quotes, quotes_of
from balcao.http.receipts import ReceiptRoutes
from balcao.http.routes import Route, lookups, routes_of
from balcao.http.searches import Searches
from balcao.http.wallet import WalletRoutes
from balcao.http.wallet_calendars import WalletCalendarRoutes
from balcao.http.wallet_changes import WalletChangeRoutes
from balcao.http.wallet_clock import WalletClockRoutes
from balcao.http.wallet_files import WalletFileRoutes
from balcao.http.wallet_lists import WalletListRoutes
from balcao.http.wallet_papers import WalletPaperRoutes
from balcao.http.wallet_purchases import WalletPurchaseRoutes
from balcao.http.webhooks import WebhookRoutes
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.settings import Settings

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"access-control-allow-origin", b"*"),
]


def declared_routes(operations: Mapping[Subject, Operation]) -> Sequence[Route]:
    """Return all routes of the API, in the document's order. Their handlers are not bound."""
    company = operations.get("company")
    return [
        *lookups(operations.values()),
        *quotes_of(operations.values(), Quotes.quoted),
        *routes_of(Searches),
        *(compat_routes(company, lambda mode, cnpj: None) if company is not None else ()),
        *routes_of(ReceiptRoutes),
        *routes_of(AccountRoutes),
        *routes_of(DeprecatedUseRoutes),
        *routes_of(Probes),
        *routes_of(BatchRoutes),
        *routes_of(BudgetRoutes),
        *routes_of(EventRoutes),
        *routes_of(WalletRoutes),
        *routes_of(WalletListRoutes),
        *routes_of(WalletPaperRoutes),
        *routes_of(WalletChangeRoutes),
        *routes_of(WalletCalendarRoutes),
        *routes_of(WalletPurchaseRoutes),
        *routes_of(WalletFileRoutes),
        *routes_of(WalletClockRoutes),
        *routes_of(WebhookRoutes),
    ]


def document(
    version: str,
    address: str = "http://127.0.0.1:8000",
    idempotency_hours: int = 96,
    operations: Mapping[Subject, Operation] = OPERATIONS,
    *,
    public: bool = False,
) -> dict[str, Any]:
    """Return the document of the API.

    `address` is this service's own, for links, which must be absolute; a `public` one is a second
    server in the document.
    """
    routes = declared_routes(operations)
    return build(routes, version, address, idempotency_hours, public=public)


def document_of(
    settings: Settings, operations: Mapping[Subject, Operation] = OPERATIONS
) -> Mapping[str, Any]:
    """Return the document of a service with these settings."""
    return document(
        __version__,
        settings.address,
        settings.idempotency_hours,
        operations,
        public=bool(settings.public_url),
    )


def documentation(document: Mapping[str, Any]) -> Sequence[Route]:
    """Return the route of `/openapi.json`."""
    path, media_type = "/openapi.json", b"application/json; charset=utf-8"
    asset = Asset(msgspec.json.encode(document), media_type, ASK_AGAIN, _HEADERS)
    return [Route(path, path, asset, of_api=False)]
